package telemetry

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/loopscope/loopscope/telemetry/decision"
)

// seen is a snapshot with one field.
type seen struct {
	decision.Snapshot `json:"-"`

	Name string  `json:"name"`
	Part float64 `json:"part,omitempty"`
}

// TestSnapshotForms: a snapshot is the JSON of a value or of anybody, and all read alike.
func TestSnapshotForms(t *testing.T) {
	value := &seen{Name: "web"}
	of, err := SnapshotOf(value)
	if err != nil {
		t.Fatal(err)
	}
	value.Name = "changed"
	for name, c := range map[string]struct {
		snapshot Snapshot
		text     string
		err      string // of the value
	}{
		"a value":       {of, `{"name":"web"}`, ""},
		"text":          {SnapshotText([]byte(`{"name":"web"}`)), `{"name":"web"}`, ""},
		"of another":    {SnapshotText([]byte(`{"name":7}`)), `{"name":7}`, "cannot unmarshal number"},
		"no text":       {SnapshotText([]byte(`{"name"`)), `{"name"`, "unexpected end of JSON input"},
		"there is none": {Snapshot{}, "", "no snapshot"},
	} {
		x := &Trace{Object: Object{Loop: "demo"}, Snapshot: c.snapshot}
		value, err := x.Decided(decision.Loops{{Name: "demo", New: func() decision.Snapshot { return new(seen) }}})
		switch {
		case c.err == "" && (err != nil || value.(*seen).Name != "web"):
			t.Errorf("%s: %+v, %v", name, value, err)
		case c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)):
			t.Errorf("%s: %+v, %v; want the error %q", name, value, err, c.err)
		}
		if _, err := x.Decided(nil); !errors.Is(err, ErrNoSnapshot) {
			t.Errorf("%s of a loop that nobody declared: %v", name, err)
		}
		if none := name == "there is none"; c.snapshot.IsZero() != none {
			t.Errorf("%s: there is none: %t", name, !none)
		}
		if n := c.snapshot.Bytes(); n != len(c.text) {
			t.Errorf("%s: %d bytes, want %d", name, n, len(c.text))
		}
		if text := c.snapshot.JSON(); string(text) != c.text {
			t.Errorf("%s: %s; want %s", name, text, c.text)
		}
	}
	if s, err := SnapshotOf(&seen{Part: math.NaN()}); err == nil || !s.IsZero() {
		t.Errorf("what JSON cannot hold is %+v, %v", s, err)
	}
	none, err := Snapshot{}.MarshalJSON()
	if err != nil || string(none) != "null" {
		t.Errorf("none is written as %s, %v", none, err)
	}
	s := SnapshotText([]byte("7"))
	if err := s.UnmarshalJSON([]byte("null")); err != nil || !s.IsZero() {
		t.Errorf("null is read as %+v, %v", s, err)
	}
}

// TestSnapshotBytes: the text is kept as it is, by itself, and none that is no JSON.
func TestSnapshotBytes(t *testing.T) {
	for text, fits := range map[string]bool{"": true, `{"a":1}`: true, "null": true, `{"a"`: false, "{": false, "{} {}": false} {
		data, s := []byte(text), Snapshot{}
		err := s.UnmarshalBinary(data)
		if (err == nil) != fits {
			t.Errorf("%q: %v", text, err)
		}
		clear(data)
		if got, err := s.AppendBinary(nil); fits && (string(got) != text || err != nil) {
			t.Errorf("%q is read as %q, %v", text, got, err)
		}
	}
}
