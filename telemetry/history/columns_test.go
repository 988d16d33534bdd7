package history

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"reflect"
	"slices"
	"testing"
)

// FuzzColumns proves that bytes in the place of a column are refused as damaged, or
// read as what is written and read again alike.
func FuzzColumns(f *testing.F) {
	for _, x := range []interface{ MarshalBinary() ([]byte, error) }{
		numbers[int64]{}, numbers[int64]{math.MinInt64, math.MaxInt64, 0, -1}, numbers[uint64]{math.MaxUint64, 0, 1},
		texts{}, texts{""}, texts{"ä", "", "web"}, objects{{Loop: "deployment", Namespace: "shop", Name: "web"}, {}},
	} {
		data, err := x.MarshalBinary()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Add([]byte("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x01"))
	f.Add([]byte("\x02\xff\xff\xff\xff\xff\xff\xff\xff\x7f\x01x"))
	f.Fuzz(func(t *testing.T, data []byte) {
		var n, n2 numbers[int64]
		var s, s2 texts
		var o, o2 objects
		rewritten(t, data, &n, &n2, func() bool { return slices.Equal(n, n2) })
		rewritten(t, data, &s, &s2, func() bool { return slices.Equal(s, s2) })
		rewritten(t, data, &o, &o2, func() bool { return slices.Equal(o, o2) })
	})
}

// A column that no block can have is refused before there is room for it.
func TestColumnsHaveABound(t *testing.T) {
	many := make([]byte, 1<<20)
	for _, c := range []column{&numbers[int64]{}, &texts{}, &objects{}} {
		data := many
		if _, ok := c.(*numbers[int64]); !ok {
			data = append(binary.AppendUvarint(nil, uint64(len(many))), many...)
		}
		if err := c.UnmarshalBinary(data); !errors.Is(err, errColumn) {
			t.Errorf("%T of a million: %v", c, err)
		}
	}
}

type column interface {
	MarshalBinary() ([]byte, error)
	UnmarshalBinary([]byte) error
}

func rewritten(t *testing.T, data []byte, first, second column, equal func() bool) {
	if err := first.UnmarshalBinary(data); err != nil {
		if !errors.Is(err, errDamaged) {
			t.Errorf("%T of %q: %v", first, data, err)
		}
		return
	}
	written, err := first.MarshalBinary()
	if err == nil {
		err = second.UnmarshalBinary(written)
	}
	if err != nil || !equal() {
		t.Errorf("%T of %q: read %v, and again %v: %v", first, data, first, second, err)
	}
}

// The longest column is read, of numbers whose steps take two bytes, too; one of a value more is not.
func TestLongestColumn(t *testing.T) {
	longUnderRace(t)
	for _, more := range []int{0, 1} {
		steps := make(numbers[int64], maxColumn+more)
		for i := range steps {
			steps[i] = int64(64 * (i + 1)) // 0x80 0x01
		}
		long := texts(slices.Repeat([]string{"x"}, maxColumn+more))
		for _, c := range []struct{ of, into column }{{&steps, &numbers[int64]{}}, {&long, &texts{}}} {
			data, err := c.of.MarshalBinary()
			if err == nil {
				err = c.into.UnmarshalBinary(data)
			}
			if (more == 0) != (err == nil) || more > 0 && !errors.Is(err, errColumn) {
				t.Errorf("%T of %d: %v", c.of, maxColumn+more, err)
			}
		}
	}
}

func TestColumnsThatDoNotFit(t *testing.T) {
	texts4, err := texts{"a", "", "bc", "d"}.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		into column
		data []byte
	}{
		{&numbers[int]{}, []byte{0x80}}, {&numbers[int]{}, []byte{2, 0x80}}, {&numbers[int]{}, bytes.Repeat([]byte{0xff}, 11)},
		{&texts{}, nil}, {&texts{}, []byte{0x80}}, {&texts{}, texts4[:3]}, {&texts{}, texts4[:len(texts4)-1]}, {&texts{}, append(texts4, 'x')},
		{&texts{}, []byte{1, 200}}, {&texts{}, []byte{2, 0, 0xff, 0xff}}, {&objects{}, texts4}, {&objects{}, []byte{2, 0, 0}}, {&objects{}, []byte{1}},
	} {
		if err := c.into.UnmarshalBinary(c.data); !errors.Is(err, errDamaged) {
			t.Errorf("%T of %v: %v, %v", c.into, c.data, c.into, err)
		}
	}
}

// What columns are in files may not change.
func TestColumnsStayAsTheyAre(t *testing.T) {
	for want, c := range map[string]column{
		"\x02\x02\x03\x80\x01": &numbers[int]{1, 2, 0, 64}, "": &numbers[int]{},
		"\x03\x01\x00\x02abc":              &texts{"a", "", "bc"},
		"\x06\x01\x01\x01\x00\x00\x01lnaz": &objects{{Loop: "l", Namespace: "n", Name: "a"}, {Name: "z"}},
	} {
		data, err := c.MarshalBinary()
		if err != nil || string(data) != want {
			t.Errorf("%v is written as %q, %v", c, data, err)
		}
		again := reflect.New(reflect.TypeOf(c).Elem())
		if err := again.Interface().(column).UnmarshalBinary(data); err != nil || again.Elem().Len() != reflect.ValueOf(c).Elem().Len() {
			t.Errorf("%q is read as %v, %v", data, again.Elem(), err)
		}
	}
}
