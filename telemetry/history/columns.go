package history

import (
	"encoding/binary"
	"fmt"

	"github.com/loopscope/loopscope/telemetry"
)

// What a block's table of contents and its list say of its syncs stands in columns:
// one number or text of all of them beside each other, as bytes that are read at once.

// maxColumn bounds the values of a column that is read: no block has a tenth of it.
const maxColumn = 64 * 3 * syncsPerBlock

var errColumn = fmt.Errorf("%w: a column has more than %d values", errDamaged, maxColumn)

// numbers are written as the steps from one to the next, of which most take a byte or two.
type numbers[T ~int | ~int64 | ~uint64] []T

// MarshalBinary never fails.
func (n numbers[T]) MarshalBinary() ([]byte, error) {
	data, last := make([]byte, 0, 2*len(n)), T(0)
	for _, x := range n {
		data, last = binary.AppendVarint(data, int64(x-last)), x
	}
	return data, nil
}

// UnmarshalBinary takes what MarshalBinary gives.
func (n *numbers[T]) UnmarshalBinary(data []byte) error {
	count := 0
	for _, b := range data {
		if b < 0x80 { // the last byte of a number
			count++
		}
	}
	if count > maxColumn {
		return errColumn
	}
	list, last := make(numbers[T], 0, count), T(0)
	for len(data) > 0 {
		step, size := binary.Varint(data)
		if size <= 0 {
			return fmt.Errorf("%w: a number ends too early", errDamaged)
		}
		last += T(step)
		list, data = append(list, last), data[size:]
	}
	*n = list
	return nil
}

// texts are written as their sizes, and then all of them as one.
type texts []string

// MarshalBinary never fails.
func (s texts) MarshalBinary() ([]byte, error) {
	total := 0
	for _, text := range s {
		total += len(text)
	}
	data := binary.AppendUvarint(make([]byte, 0, 4+2*len(s)+total), uint64(len(s)))
	for _, text := range s {
		data = binary.AppendUvarint(data, uint64(len(text)))
	}
	for _, text := range s {
		data = append(data, text...)
	}
	return data, nil
}

// UnmarshalBinary takes what MarshalBinary gives.
func (s *texts) UnmarshalBinary(data []byte) error {
	fits := true
	next := func() (size int) {
		n, width := binary.Uvarint(data)
		if width <= 0 || n > uint64(len(data)) {
			fits = false
			return
		}
		data = data[width:]
		return int(n)
	}
	n, total := next(), 0
	if n > maxColumn {
		return errColumn
	}
	ends := make([]int, n)
	for i := range ends {
		total += next()
		ends[i] = total
	}
	if !fits || total != len(data) {
		return fmt.Errorf("%w: its texts do not fit together", errDamaged)
	}
	all, from, list := string(data), 0, make(texts, n)
	for i, end := range ends {
		list[i], from = all[from:end], end
	}
	*s = list
	return nil
}

// objects are three texts each.
type objects []telemetry.Object

// MarshalBinary never fails.
func (o objects) MarshalBinary() ([]byte, error) {
	list := make(texts, 0, 3*len(o))
	for _, x := range o {
		list = append(list, x.Loop, x.Namespace, x.Name)
	}
	return list.MarshalBinary()
}

// UnmarshalBinary takes what MarshalBinary gives.
func (o *objects) UnmarshalBinary(data []byte) error {
	var list texts
	if err := list.UnmarshalBinary(data); err != nil {
		return err
	}
	if len(list)%3 != 0 {
		return fmt.Errorf("%w: an object has three texts", errDamaged)
	}
	of := make(objects, 0, len(list)/3)
	for ; len(list) > 0; list = list[3:] {
		of = append(of, telemetry.Object{Loop: list[0], Namespace: list[1], Name: list[2]})
	}
	*o = of
	return nil
}
