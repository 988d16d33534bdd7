package telemetry

import (
	"bytes"
	"encoding/json"
	"errors"

	"github.com/loopscope/loopscope/telemetry/decision"
)

// Snapshot is what a sync decided on, as versioned JSON: a trace that keeps no value keeps
// nothing else alive, and there is nothing in it for the garbage collector. The zero value
// is none.
type Snapshot struct{ text json.RawMessage }

// SnapshotOf is of a value of a loop's package, which may change afterwards. The error is
// that of one which JSON cannot hold.
func SnapshotOf(value decision.Snapshot) (Snapshot, error) {
	text, err := json.Marshal(value)
	return Snapshot{text}, err
}

// SnapshotText is of a value's versioned JSON, which may be anybody's.
func SnapshotText(text json.RawMessage) Snapshot { return Snapshot{text} }

// IsZero reports whether there is none.
func (s Snapshot) IsZero() bool { return len(s.text) == 0 }

// Bytes is how much memory it takes.
func (s Snapshot) Bytes() int { return len(s.text) }

// JSON is the value's versioned text, nil where there is none. Nobody may change it.
func (s Snapshot) JSON() json.RawMessage { return s.text }

// MarshalJSON writes the value itself.
func (s Snapshot) MarshalJSON() ([]byte, error) {
	if s.IsZero() {
		return []byte("null"), nil
	}
	return s.text, nil
}

// UnmarshalJSON keeps the text: what it says is for its loop's package to read.
func (s *Snapshot) UnmarshalJSON(text []byte) error {
	*s = Snapshot{}
	if string(text) != "null" {
		s.text = append(s.text, text...)
	}
	return nil
}

// AppendBinary appends the text.
func (s Snapshot) AppendBinary(to []byte) ([]byte, error) { return append(to, s.text...), nil }

// UnmarshalBinary keeps the text, and refuses what is no JSON: nobody is to find that later.
func (s *Snapshot) UnmarshalBinary(text []byte) error {
	if len(text) > 0 && !json.Valid(text) {
		return errors.New("the snapshot is no JSON")
	}
	*s = Snapshot{bytes.Clone(text)}
	return nil
}

// ErrNoSnapshot is the error of a sync whose snapshot was not recorded, or is of a loop
// that this program does not know.
var ErrNoSnapshot = errors.New("the trace has no snapshot that this program can read")

// Decided is what the sync decided on, as a new value of its loop's package. It is not
// checked: what decides on it once more reads its JSON with the loop's Decode.
func (t *Trace) Decided(loops decision.Loops) (decision.Snapshot, error) {
	loop := loops.Of(t.Loop)
	if loop.New == nil || t.Snapshot.IsZero() {
		return nil, ErrNoSnapshot
	}
	value := loop.New()
	return value, json.Unmarshal(t.Snapshot.text, value)
}
