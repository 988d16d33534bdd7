// Package wire makes bytes of values and reads them back, in a fraction of the time that
// JSON takes. It walks over their types and knows none of them. It is for what the program
// itself keeps; what leaves it is JSON.
//
// A struct is a bit for each field, set where the field has a value, and those values in
// the order of the fields: one may be added behind the others, and none may move. Numbers are
// varints, lists and texts have their length in front, an instant is counted from the one before it.
package wire

import (
	"encoding"
	"encoding/binary"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"time"
)

// maxElements bounds the elements of all lists of a value: compressed, a thousand of them
// can stand in a byte, and each takes some hundred bytes of memory.
const maxElements = 1 << 18

// The years 0 to 9999 in seconds: JSON has no other ones, and nothing is kept that could
// not leave the program.
const firstSecond, lastSecond = -62_167_219_200, 253_402_300_799

var (
	errShort = errors.New("it ends too early or has a value out of bounds")
	errMore  = errors.New("it has more than was written by this release: use the release that wrote it")
	errLarge = fmt.Errorf("its lists have more than %d elements", maxElements)
	errYear  = errors.New("an instant is outside of the years 0 to 9999, which JSON ends with")
)

// Append appends what a pointer leads to. The error is that of a value which could not be
// read back, or not leave the program. The value is only read.
func Append(to []byte, value any) ([]byte, error) {
	v, w := reflect.ValueOf(value).Elem(), writer{data: to}
	formOf(v.Type()).write(&w, v)
	return w.data, w.err
}

// Read reads into what a pointer leads to, which has to be empty. Nothing may stand behind
// it. Instants are in UTC.
func Read(data []byte, value any) error {
	v, r := reflect.ValueOf(value).Elem(), reader{data: data, text: string(data)}
	formOf(v.Type()).read(&r, v)
	if len(r.data) > 0 { // Where reading failed, nothing is left.
		r.err = errShort
	}
	return r.err
}

type writer struct {
	data     []byte
	elements int
	second   int64 // of the last instant
	err      error
}

type reader struct {
	data     []byte // what is left
	text     string // all of it: texts are parts of that
	elements uint64
	second   int64
	err      error
}

// fail ends reading: what follows is empty.
func (r *reader) fail(err error) { r.err, r.data = err, nil }

func (r *reader) uvarint() uint64 {
	n, size := binary.Uvarint(r.data)
	if size <= 0 {
		r.fail(errShort)
		return 0
	}
	r.data = r.data[size:]
	return n
}

func (r *reader) varint() int64 {
	n := r.uvarint()
	return int64(n>>1) ^ -int64(n&1)
}

// next are the bytes of a text, and where they stand.
func (r *reader) next() (data []byte, from int) {
	n := r.uvarint()
	if n > uint64(len(r.data)) {
		r.fail(errShort)
		return nil, 0
	}
	from = len(r.text) - len(r.data)
	data, r.data = r.data[:n:n], r.data[n:]
	return data, from
}

// form is how values of a type are written and read. Traces are shared: what is written is
// only read.
type form struct {
	write func(*writer, reflect.Value)
	read  func(*reader, reflect.Value)
}

var known sync.Map // of *form by reflect.Type

func formOf(t reflect.Type) *form {
	if f, ok := known.Load(t); ok {
		return f.(*form)
	}
	f := makeForm(t)
	known.Store(t, f)
	return f
}

func makeForm(t reflect.Type) *form {
	pointer := reflect.PointerTo(t)
	switch {
	case t == reflect.TypeFor[time.Time]():
		return &form{writeTime, readTime}
	case pointer.Implements(reflect.TypeFor[encoding.BinaryAppender]()) && pointer.Implements(reflect.TypeFor[encoding.BinaryUnmarshaler]()):
		return &form{writeOwn, readOwn}
	}
	switch t.Kind() {
	case reflect.String:
		return &form{
			func(w *writer, v reflect.Value) {
				s := v.String()
				w.data = append(binary.AppendUvarint(w.data, uint64(len(s))), s...)
			},
			func(r *reader, v reflect.Value) {
				data, from := r.next()
				v.SetString(r.text[from : from+len(data)])
			},
		}
	case reflect.Bool: // False is no value.
		return &form{func(*writer, reflect.Value) {}, func(_ *reader, v reflect.Value) { v.SetBool(true) }}
	case reflect.Int, reflect.Int64:
		return &form{
			func(w *writer, v reflect.Value) { w.data = binary.AppendVarint(w.data, v.Int()) },
			func(r *reader, v reflect.Value) { v.SetInt(r.varint()) },
		}
	case reflect.Uint64:
		return &form{
			func(w *writer, v reflect.Value) { w.data = binary.AppendUvarint(w.data, v.Uint()) },
			func(r *reader, v reflect.Value) { v.SetUint(r.uvarint()) },
		}
	case reflect.Pointer: // None is no value.
		of := formIn(t)
		return &form{
			func(w *writer, v reflect.Value) { of.write(w, v.Elem()) },
			func(r *reader, v reflect.Value) {
				v.Set(reflect.New(t.Elem()))
				of.read(r, v.Elem())
			},
		}
	case reflect.Slice:
		return listForm(t, formIn(t))
	case reflect.Struct:
		return structForm(t)
	}
	panic(fmt.Sprintf("wire: a %v has no form", t)) // which every test of its type meets
}

// formIn is the form of what a list or a pointer has. A bool or a pointer there could not
// be read back: only a field can be without a value.
func formIn(t reflect.Type) *form {
	if kind := t.Elem().Kind(); kind == reflect.Bool || kind == reflect.Pointer {
		panic(fmt.Sprintf("wire: a %v has no form", t))
	}
	return formOf(t.Elem())
}

// listForm keeps the difference between no list, which is no value, and an empty one.
func listForm(t reflect.Type, of *form) *form {
	return &form{
		func(w *writer, v reflect.Value) {
			n := v.Len()
			if w.elements += n; w.elements > maxElements {
				w.err = errLarge
				return
			}
			w.data = binary.AppendUvarint(w.data, uint64(n))
			for i := range n {
				of.write(w, v.Index(i))
			}
		},
		func(r *reader, v reflect.Value) {
			n := r.uvarint()
			if r.elements += n; n > maxElements || r.elements > maxElements {
				r.fail(errLarge)
				return
			}
			if n > uint64(len(r.data)) { // Each takes a byte at least.
				r.fail(errShort)
				return
			}
			v.Set(reflect.MakeSlice(t, int(n), int(n)))
			for i := 0; i < int(n) && r.err == nil; i++ {
				of.read(r, v.Index(i))
			}
		},
	}
}

func structForm(t reflect.Type) *form {
	fields := make([]*form, t.NumField())
	for i := range fields {
		if !t.Field(i).IsExported() || len(fields) > 64 {
			panic(fmt.Sprintf("wire: a %v has a field that is not exported, or more than 64", t))
		}
		fields[i] = formOf(t.Field(i).Type)
	}
	return &form{
		func(w *writer, v reflect.Value) {
			mask := uint64(0)
			for i := range fields {
				if !v.Field(i).IsZero() {
					mask |= 1 << i
				}
			}
			w.data = binary.AppendUvarint(w.data, mask)
			for i, f := range fields {
				if mask&(1<<i) != 0 {
					f.write(w, v.Field(i))
				}
			}
		},
		func(r *reader, v reflect.Value) {
			mask := r.uvarint()
			if mask>>len(fields) != 0 {
				r.fail(errMore)
			}
			for i, f := range fields {
				if mask&(1<<i) != 0 && r.err == nil {
					f.read(r, v.Field(i))
				}
			}
		},
	}
}

func writeTime(w *writer, v reflect.Value) {
	at := v.Addr().Interface().(*time.Time)
	second := at.Unix()
	if second < firstSecond || second > lastSecond {
		w.err = errYear
	}
	w.data = binary.AppendUvarint(binary.AppendVarint(w.data, second-w.second), uint64(at.Nanosecond()))
	w.second = second
}

func readTime(r *reader, v reflect.Value) {
	second, nano := r.second+r.varint(), r.uvarint()
	if second < firstSecond || second > lastSecond || nano >= uint64(time.Second) {
		r.fail(errYear)
		return
	}
	r.second = second
	*v.Addr().Interface().(*time.Time) = time.Unix(second, int64(nano)).UTC()
}

// writeOwn writes what a type makes of itself, its length in front, which is known afterwards.
func writeOwn(w *writer, v reflect.Value) {
	from := len(w.data)
	data, err := v.Addr().Interface().(encoding.BinaryAppender).AppendBinary(w.data)
	if err != nil {
		w.err = err
		return
	}
	var size [binary.MaxVarintLen64]byte
	n := binary.PutUvarint(size[:], uint64(len(data)-from))
	w.data = slices.Insert(data, from, size[:n]...)
}

func readOwn(r *reader, v reflect.Value) {
	data, _ := r.next()
	if r.err != nil {
		return
	}
	if err := v.Addr().Interface().(encoding.BinaryUnmarshaler).UnmarshalBinary(data); err != nil {
		r.fail(err)
	}
}
