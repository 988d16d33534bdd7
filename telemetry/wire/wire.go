// Package wire makes bytes of traces and reads them back: CBOR, under the names that
// their JSON has. It is for what the program itself keeps; what leaves it is JSON.
package wire

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"reflect"
	"time"

	"github.com/fxamacker/cbor/v2"

	"github.com/loopscope/loopscope/telemetry"
)

// maxElements bounds the elements of all lists of a trace: compressed, a thousand of them
// can stand in a byte, and each takes some hundred bytes of memory.
const maxElements = 1 << 18

var (
	errShort = errors.New("it ends too early")
	errLarge = fmt.Errorf("its lists have more than %d elements", maxElements)
	errYear  = errors.New("an instant is outside of the years 0 to 9999, which JSON ends with")
)

var writing, _ = cbor.EncOptions{Time: cbor.TimeRFC3339Nano}.UserBufferEncMode() // Valid options are no error.

// Texts may be any bytes: messages come from elsewhere.
var reading, _ = cbor.DecOptions{
	DupMapKey: cbor.DupMapKeyEnforcedAPF, IndefLength: cbor.IndefLengthForbidden, TagsMd: cbor.TagsForbidden,
	UTF8: cbor.UTF8DecodeInvalid, FieldNameMatching: cbor.FieldNameMatchingCaseSensitive,
}.DecMode()

// Append appends a trace to bytes. The error is that of one which could not be read back,
// or not leave the program. The trace is only read.
func Append(to []byte, t *telemetry.Trace) ([]byte, error) {
	for _, at := range [...]time.Time{t.Queued, t.Started, t.Ended} { // Others come from JSON, or are near to these.
		if !inJSON(at) {
			return nil, errYear
		}
	}
	buffer := bytes.NewBuffer(to)
	if err := writing.MarshalToBuffer(t, buffer); err != nil {
		return nil, err
	}
	return buffer.Bytes(), measure(buffer.Bytes()[len(to):])
}

// Read reads the bytes of one trace, and nothing behind them. Its instants are in UTC.
func Read(data []byte) (*telemetry.Trace, error) {
	if err := measure(data); err != nil {
		return nil, err
	}
	t := new(telemetry.Trace)
	if err := reading.Unmarshal(data, t); err != nil {
		return nil, err
	}
	return t, inUTC(reflect.ValueOf(t).Elem())
}

// measure counts the elements of all lists before anything is made of them.
func measure(data []byte) error {
	const text, list, sizes = 3, 4, 24
	for elements := uint64(0); len(data) > 0; {
		kind, n := data[0]>>5, uint64(data[0]&31)
		data = data[1:]
		if n >= sizes {
			width := 1 << (n - sizes)
			if width > len(data) || width > 8 {
				return errShort
			}
			var number [8]byte
			copy(number[8-width:], data[:width])
			n, data = binary.BigEndian.Uint64(number[:]), data[width:]
		}
		switch kind {
		case text - 1, text:
			if n > uint64(len(data)) {
				return errShort
			}
			data = data[n:]
		case list:
			if elements += n; n > maxElements || elements > maxElements {
				return errLarge
			}
		}
	}
	return nil
}

func inJSON(t time.Time) bool { return t.Year() >= 0 && t.Year() <= 9999 }

// inUTC brings all instants to UTC: the clock of whoever recorded them may have had another zone.
func inUTC(v reflect.Value) error {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			return inUTC(v.Elem())
		}
	case reflect.Slice:
		for i := range v.Len() {
			if err := inUTC(v.Index(i)); err != nil {
				return err
			}
		}
	case reflect.Struct:
		if at, is := v.Addr().Interface().(*time.Time); is {
			if *at = at.UTC(); !inJSON(*at) {
				return errYear
			}
			return nil
		}
		for i := range v.NumField() {
			if field := v.Field(i); field.CanSet() {
				if err := inUTC(field); err != nil {
					return err
				}
			}
		}
	}
	return nil
}
