package telemetry

import "encoding/json"

// Snapshot is what a sync decided on: the value of the loop's own package, or its
// versioned JSON where that is all there is. The zero value is none. It is shared
// by everybody who has the trace: nobody may change it.
type Snapshot struct {
	value Snapshotted
	text  json.RawMessage
}

// Snapshotted is a pointer to a value of a loop's package that is written as
// versioned JSON.
type Snapshotted interface {
	// Bytes is about how much memory it keeps. It has to be cheap rather than right.
	Bytes() int
}

// SnapshotOf is of a value that nobody changes any more.
func SnapshotOf(value Snapshotted) Snapshot { return Snapshot{value: value} }

// SnapshotText is of a value's versioned JSON, which may be anybody's.
func SnapshotText(text json.RawMessage) Snapshot { return Snapshot{text: text} }

// IsZero reports whether there is none.
func (s Snapshot) IsZero() bool { return s.value == nil && len(s.text) == 0 }

// Value is the value, nil where there is only its text.
func (s Snapshot) Value() Snapshotted { return s.value }

// Bytes is about how much memory it keeps.
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
	return json.Marshal(s.value)
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

// SnapshotAs is the snapshot as a value of a loop's package, which is read if
// there is only its text. It is not checked beyond that: what decides on it once
// more reads the JSON with its package's Decode.
func SnapshotAs[T any](s Snapshot) (*T, error) {
	if value, ok := any(s.value).(*T); ok {
		return value, nil
	}
	text, err := s.JSON()
	if err != nil {
		return nil, err
	}
	value := new(T)
	return value, json.Unmarshal(text, value)
}
