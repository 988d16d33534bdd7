package telemetry

import "time"

// Leadership is which of several managers acts, as far as this process knows. The zero value
// is that of a process that acts and was not elected.
type Leadership struct {
	// Lease is the namespace and name of the Lease that says who leads; "" where nobody looks
	// at one.
	Lease string `json:"lease,omitempty"`
	// Elected is whether this process takes part in the election.
	Elected bool `json:"elected,omitempty"`
	// Identity is what this process is called in the Lease.
	Identity string `json:"identity,omitempty"`
	// Leader is who holds the Lease, "" for nobody, and Since is when he took it.
	Leader string    `json:"leader,omitempty"`
	Since  time.Time `json:"since,omitzero"`
	// StandsBy is whether this process waits for its turn, and writes nothing meanwhile.
	StandsBy bool `json:"standsBy,omitempty"`
	// Changes are the newest changes of leader that this process has seen, oldest first.
	Changes []LeaderChange `json:"changes,omitempty"`
	// Error is why the Lease cannot be read or written, since ErrorSince.
	Error      string    `json:"error,omitempty"`
	ErrorSince time.Time `json:"errorSince,omitzero"`
}

// LeaderChange is that somebody took the Lease, or gave it back: To is then "".
type LeaderChange struct {
	At   time.Time `json:"at"`
	From string    `json:"from,omitempty"`
	To   string    `json:"to,omitempty"`
	// Last is when somebody was last known to lead before; zero where that is not known.
	Last time.Time `json:"last,omitzero"`
}

// Gap is for how long nobody was known to lead before; 0 where that is not known.
func (c *LeaderChange) Gap() time.Duration {
	if c.Last.IsZero() || c.To == "" {
		return 0
	}
	return max(0, c.At.Sub(c.Last))
}
