package recall

import (
	"math/rand/v2"
	"testing"
)

// memory has no text twice.
const memory = "abcdefghijklmnopqrstuvwxyz"

// What is known is right, however often slots are taken over, and a text in the
// same memory that is longer, or has another beside it, is another one.
func TestPairs(t *testing.T) {
	table, rng := NewPairs[string](3), rand.New(rand.NewPCG(1, 2))
	recalled := 0
	part := func() string { from := rng.IntN(8); return memory[from : from+1+rng.IntN(2)] }
	for range 10_000 {
		a, b := part(), part()
		place, known := table.Find(a, b)
		want := a + "|" + b
		switch {
		case !known && *place != "":
			t.Fatalf("an unknown text has %q", *place)
		case known && *place != want:
			t.Fatalf("%q is recalled as %q", want, *place)
		case known:
			recalled++
		}
		*place = want
	}
	if recalled < 100 {
		t.Errorf("only %d of 10,000 texts were recalled", recalled)
	}
	table.Clear()
	if place, known := table.Find(memory[:2], memory[:3]); known || *place != "" {
		t.Errorf("%q is known after all was forgotten", *place)
	}
}

func TestTable(t *testing.T) {
	table, rng := New[string](3), rand.New(rand.NewPCG(3, 4))
	recalled := 0
	for range 10_000 {
		from, size := rng.IntN(16), rng.IntN(4)
		a := memory[from : from+size]
		place, known := table.Find(a)
		switch {
		case !known && *place != "":
			t.Fatalf("an unknown text has %q", *place)
		case known && *place != a:
			t.Fatalf("%q is recalled as %q", a, *place)
		case known:
			recalled++
		}
		*place = a
	}
	if recalled < 100 {
		t.Errorf("only %d of 10,000 texts were recalled", recalled)
	}
	for i, s := range table.slots {
		if s.a == nil {
			t.Errorf("slot %d was never used", i)
		}
	}
	table.Clear()
	if place, known := table.Find(memory[:2]); known || *place != "" {
		t.Errorf("%q is known after all was forgotten", *place)
	}
}

// An empty table knows no text, and no empty one either.
func TestNoTextIsOne(t *testing.T) {
	var none, read string
	for name, known := range map[string]func() bool{
		"Pairs": func() bool { p := NewPairs[int](4); _, known := p.Find(none, read); return known },
		"Table": func() bool { p := New[int](4); _, known := p.Find(none); return known },
	} {
		if known() {
			t.Errorf("%s knows what nobody has asked for", name)
		}
	}
}
