package telemetry

import (
	"errors"
	"strings"
	"testing"

	"github.com/loopscope/loopscope/telemetry/decision"
)

// packedValue unpacks to what it holds.
type packedValue struct{ of any }

func (packedValue) Bytes() int             { return 7 }
func (p packedValue) Unpack() (any, error) { return p.of, nil }

// seen is a snapshot with one field.
type seen struct {
	decision.Snapshot `json:"-"`

	Name string `json:"name"`
}

// TestSnapshotForms: a snapshot is a packed value or its text, and both read alike.
func TestSnapshotForms(t *testing.T) {
	for name, c := range map[string]struct {
		snapshot Snapshot
		bytes    int
		text     string
		err      string // of the value
	}{
		"packed":        {SnapshotOf(packedValue{&seen{Name: "web"}}), 7, `{"name":"web"}`, ""},
		"text":          {SnapshotText([]byte(`{"name":"web"}`)), 14, `{"name":"web"}`, ""},
		"of another":    {SnapshotOf(packedValue{&struct{}{}}), 7, `{}`, "a snapshot of loop demo is a *struct {}"},
		"torn":          {SnapshotOf(unpackable{}), 1, "", "torn"},
		"no text":       {SnapshotText([]byte(`{"name"`)), 7, `{"name"`, "unexpected end of JSON input"},
		"there is none": {Snapshot{}, 0, "", "no snapshot"},
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
		if n := c.snapshot.Bytes(); n != c.bytes {
			t.Errorf("%s: %d bytes, want %d", name, n, c.bytes)
		}
		text, err := c.snapshot.JSON()
		if torn := name == "torn"; string(text) != c.text || torn != (err != nil) {
			t.Errorf("%s: %s, %v; want %s", name, text, err, c.text)
		}
	}
	none, err := Snapshot{}.MarshalJSON()
	if err != nil || string(none) != "null" {
		t.Errorf("none is written as %s, %v", none, err)
	}
	if _, err := SnapshotOf(unpackable{}).MarshalJSON(); err == nil {
		t.Error("what cannot be unpacked was written")
	}
	s := SnapshotText([]byte("7"))
	if err := s.UnmarshalJSON([]byte("null")); err != nil || !s.IsZero() {
		t.Errorf("null is read as %+v, %v", s, err)
	}
}
