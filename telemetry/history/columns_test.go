package history

import (
	"encoding/binary"
	"errors"
	"math"
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
