package telemetry

import "time"

// StartStep is a part of the start of a process.
type StartStep struct {
	// Name is what is waited for: "API server", "pods".
	Name string `json:"name"`
	// Took is how long after the start it was there; zero while it is not.
	Took time.Duration `json:"took,omitempty"`
	// Skipped is set where it is not waited for, as the API server does not serve it.
	Skipped bool `json:"skipped,omitempty"`
	// Error is why it is not there yet, where that is known.
	Error string `json:"error,omitempty"`
}

// Done reports whether nothing waits for it any more.
func (s StartStep) Done() bool { return s.Took > 0 || s.Skipped }
