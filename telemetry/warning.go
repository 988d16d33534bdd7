package telemetry

import "time"

// Warning is a Warning event of an object, as evidence beside what was decided. No
// decision rests on one.
type Warning struct {
	// At is when it was last seen, Count how often.
	At      time.Time `json:"at"`
	Count   int64     `json:"count"`
	Object  string    `json:"object"` // "Pod web-7d4b9c6f5x-jtzz9"
	Reason  string    `json:"reason"`
	Message string    `json:"message"`
}
