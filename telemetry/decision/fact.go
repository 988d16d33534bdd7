package decision

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/loopscope/loopscope/telemetry/prose"
)

// Fact is a named value that an answer rests on.
type Fact struct {
	Name  string
	Value Value
}

// Value is a count, a text, a truth, a duration or an instant. The zero value is an
// empty text. A trace has a hundred of them, so an instant is no time.Time here.
type Value struct {
	s    string
	n    int64 // count; truth as 0 or 1; duration in nanoseconds; instant in Unix seconds
	nano int32 // of an instant, beyond its second
	kind kind
}

type kind uint8

const (
	kindText kind = iota
	kindCount
	kindBool
	kindDuration
	kindInstant
)

var kindNames = [...]string{kindText: "text", kindCount: "count", kindBool: "truth", kindDuration: "duration", kindInstant: "instant"}

// Count is a fact that is a whole number.
func Count(name string, n int64) Fact { return Fact{name, Value{kind: kindCount, n: n}} }

// Text is a fact that is a name or another short string.
func Text(name, s string) Fact { return Fact{name, Value{kind: kindText, s: s}} }

// Bool is a fact that holds or does not.
func Bool(name string, b bool) Fact {
	v := Value{kind: kindBool}
	if b {
		v.n = 1
	}
	return Fact{name, v}
}

// Duration is a fact that is a length of time.
func Duration(name string, d time.Duration) Fact {
	return Fact{name, Value{kind: kindDuration, n: int64(d)}}
}

// Instant is a fact that is a point in time.
func Instant(name string, t time.Time) Fact {
	return Fact{name, instant(t)}
}

// Int returns the count and whether the value is one.
func (v Value) Int() (int64, bool) { return v.n, v.kind == kindCount }

// Text returns the text and whether the value is one.
func (v Value) Text() (string, bool) { return v.s, v.kind == kindText }

// Bool returns the truth and whether the value is one.
func (v Value) Bool() (truth, ok bool) { return v.n == 1, v.kind == kindBool }

// Time returns the instant and whether the value is one.
func (v Value) Time() (time.Time, bool) {
	if v.kind != kindInstant {
		return time.Time{}, false
	}
	return v.time(), true
}

func instant(t time.Time) Value {
	return Value{kind: kindInstant, n: t.Unix(), nano: int32(t.Nanosecond())}
}

func (v Value) time() time.Time { return time.Unix(v.n, int64(v.nano)).UTC() }

// Duration returns the length of time and whether the value is one.
func (v Value) Duration() (time.Duration, bool) {
	return time.Duration(v.n), v.kind == kindDuration
}

// Equal reports whether both are the same kind and value; instants compare as instants.
func (v Value) Equal(w Value) bool {
	return v.kind == w.kind && v.n == w.n && v.s == w.s && v.nano == w.nano
}

// String prints the value for people: counts in digits, durations by Span, instants in UTC.
func (v Value) String() string {
	switch v.kind {
	case kindCount:
		return strconv.FormatInt(v.n, 10)
	case kindBool:
		return word(v.n == 1)
	case kindDuration:
		return prose.Span(time.Duration(v.n))
	case kindInstant:
		return v.time().Format("15:04:05")
	default:
		return v.s
	}
}

type wireFact struct {
	Name  string          `json:"name"`
	Kind  string          `json:"kind,omitempty"`
	Value json.RawMessage `json:"value"`
}

// MarshalJSON writes {"name","value"}; durations (nanoseconds) and instants also
// say their kind. Traces are full of facts, so it is written out by hand.
func (f Fact) MarshalJSON() ([]byte, error) {
	b := append(make([]byte, 0, 64+len(f.Name)+len(f.Value.s)), `{"name":`...)
	b = appendText(b, f.Name)
	var err error
	switch f.Value.kind {
	case kindCount:
		b = strconv.AppendInt(append(b, `,"value":`...), f.Value.n, 10)
	case kindBool:
		b = strconv.AppendBool(append(b, `,"value":`...), f.Value.n == 1)
	case kindDuration:
		b = strconv.AppendInt(append(b, `,"kind":"duration","value":`...), f.Value.n, 10)
	case kindInstant:
		b, err = appendInstant(append(b, `,"kind":"instant","value":`...), f.Value.time())
	default:
		b = appendText(append(b, `,"value":`...), f.Value.s)
	}
	if err != nil {
		return nil, fmt.Errorf("fact %s: %w", f.Name, err)
	}
	return append(b, '}'), nil
}

// plain are the bytes that JSON writes as they are.
var plain = func() (is [256]bool) {
	for c := range utf8.RuneSelf {
		text, _ := json.Marshal(string(rune(c))) // Any string can be written.
		is[c] = string(text) == `"`+string(rune(c))+`"`
	}
	return is
}()

// appendText appends a string as JSON; what needs no escape is copied.
func appendText(b []byte, s string) []byte {
	for i := range len(s) {
		if !plain[s[i]] {
			quoted, _ := json.Marshal(s) // Any string can be written.
			return append(b, quoted...)
		}
	}
	return append(append(append(b, '"'), s...), '"')
}

func appendInstant(b []byte, t time.Time) ([]byte, error) {
	text, err := t.MarshalJSON()
	return append(b, text...), err
}

// UnmarshalJSON reads what MarshalJSON wrote and refuses anything else.
func (f *Fact) UnmarshalJSON(data []byte) error {
	var w wireFact
	if err := json.Unmarshal(data, &w); err != nil {
		return fmt.Errorf("fact: %w", err)
	}
	value, err := parseValue(w)
	if err != nil {
		return fmt.Errorf("fact %q: %w", w.Name, err)
	}
	*f = Fact{w.Name, value}
	return nil
}

func parseValue(w wireFact) (Value, error) {
	if len(w.Value) == 0 {
		return Value{}, errors.New("no value")
	}
	if string(w.Value) == "null" {
		return Value{}, errors.New("null is no value")
	}
	switch w.Kind {
	case kindNames[kindDuration]:
		v := Value{kind: kindDuration}
		return v, json.Unmarshal(w.Value, &v.n)
	case kindNames[kindInstant]:
		var t time.Time
		err := json.Unmarshal(w.Value, &t)
		return instant(t), err
	case "":
		return parsePlain(w.Value)
	default:
		return Value{}, fmt.Errorf("unknown kind %q", w.Kind)
	}
}

func parsePlain(raw json.RawMessage) (Value, error) {
	switch raw[0] {
	case '"':
		v := Value{kind: kindText}
		return v, json.Unmarshal(raw, &v.s)
	case 't', 'f':
		return Bool("", raw[0] == 't').Value, nil
	default:
		v := Value{kind: kindCount}
		return v, json.Unmarshal(raw, &v.n)
	}
}

// JSON has the years 0 to 9999, and nothing is kept that could not leave the program.
const firstSecond, lastSecond = -62_167_219_200, 253_402_300_799

var errBytes = errors.New("its bytes are of no fact, or of an instant that JSON cannot hold")

// AppendBinary appends the name, the kind, the numbers and the text.
func (f *Fact) AppendBinary(b []byte) ([]byte, error) {
	v := &f.Value
	b = append(append(binary.AppendUvarint(b, uint64(len(f.Name))), f.Name...), byte(v.kind))
	return append(binary.AppendUvarint(binary.AppendVarint(b, v.n), uint64(v.nano)), v.s...), v.check()
}

// UnmarshalBinary reads what AppendBinary wrote and refuses anything else.
func (f *Fact) UnmarshalBinary(data []byte) error {
	length, at := binary.Uvarint(data)
	if at <= 0 || length >= uint64(len(data)-at) {
		return errBytes
	}
	name, data := data[at:at+int(length)], data[at+int(length):]
	n, size := binary.Varint(data[1:])
	nano, more := binary.Uvarint(data[1+max(size, 0):])
	if size <= 0 || more <= 0 || nano >= uint64(time.Second) {
		return errBytes
	}
	v := Value{kind: kind(data[0]), n: n, nano: int32(nano), s: string(data[1+size+more:])}
	if err := v.check(); err != nil {
		return err
	}
	*f = Fact{string(name), v}
	return nil
}

// check refuses what no fact is.
func (v *Value) check() error {
	instant := v.kind == kindInstant
	if int(v.kind) >= len(kindNames) || v.kind == kindText && v.n != 0 || v.kind != kindText && v.s != "" || v.kind == kindBool && v.n&^1 != 0 ||
		!instant && v.nano != 0 || instant && (v.n < firstSecond || v.n > lastSecond) {
		return errBytes
	}
	return nil
}
