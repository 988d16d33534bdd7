package telemetry

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/loopscope/loopscope/telemetry/decision"
)

// Snapshot is what a sync decided on: a value of the loop's own package, packed,
// or its versioned JSON where that is all there is. The zero value is none.
type Snapshot struct {
	value Packed[any]
	text  json.RawMessage
}

// Packed is a value that is kept in less memory, and with less work for the
// garbage collector, than it would take itself. Its methods are safe for concurrent use.
type Packed[T any] interface {
	// Bytes is how much memory it takes.
	Bytes() int
	// Unpack makes a new value of it. The error is that of bytes that nobody has packed.
	Unpack() (T, error)
}

// SnapshotOf is of a packed value: a pointer to what its loop's package calls a snapshot.
func SnapshotOf(value Packed[any]) Snapshot { return Snapshot{value: value} }

// SnapshotText is of a value's versioned JSON, which may be anybody's.
func SnapshotText(text json.RawMessage) Snapshot { return Snapshot{text: text} }

// IsZero reports whether there is none.
func (s Snapshot) IsZero() bool { return s.value == nil && len(s.text) == 0 }

// Value is the packed value, nil where there is only its text.
func (s Snapshot) Value() Packed[any] { return s.value }

// Bytes is how much memory it takes.
func (s Snapshot) Bytes() int {
	if s.value != nil {
		return s.value.Bytes()
	}
	return len(s.text)
}

// JSON is the value's versioned text, nil where there is none.
func (s Snapshot) JSON() (json.RawMessage, error) {
	if s.value == nil {
		return s.text, nil
	}
	value, err := s.value.Unpack()
	if err != nil {
		return nil, err
	}
	return json.Marshal(value)
}

// MarshalJSON writes the value itself.
func (s Snapshot) MarshalJSON() ([]byte, error) {
	if s.IsZero() {
		return []byte("null"), nil
	}
	return s.JSON()
}

// UnmarshalJSON keeps the text: what it says is for its loop's package to read.
func (s *Snapshot) UnmarshalJSON(text []byte) error {
	*s = Snapshot{}
	if string(text) != "null" {
		s.text = append(s.text, text...)
	}
	return nil
}

// ErrNoSnapshot is the error of a sync whose snapshot was not recorded, or is of a loop
// that this program does not know.
var ErrNoSnapshot = errors.New("the trace has no snapshot that this program can read")

// Decided is what the sync decided on, as a new value of its loop's package. It is not
// checked: what decides on it once more reads its JSON with the loop's Decode.
func (t *Trace) Decided(loops decision.Loops) (decision.Snapshot, error) {
	loop, s := loops.Of(t.Loop), t.Snapshot
	if loop.New == nil || s.IsZero() {
		return nil, ErrNoSnapshot
	}
	if s.value == nil {
		value := loop.New()
		return value, json.Unmarshal(s.text, value)
	}
	value, err := s.value.Unpack()
	if err != nil {
		return nil, err
	}
	if value, ok := value.(decision.Snapshot); ok {
		return value, nil
	}
	return nil, fmt.Errorf("a snapshot of loop %s is a %T", t.Loop, value)
}
