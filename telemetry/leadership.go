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
	// Following is how this process receives what the leader decides; nil while it leads
	// itself, or knows of no leader.
	Following *Following `json:"following,omitempty"`
	// Missed are the newest gaps in what this process received of leaders, oldest first.
	Missed []MissedSyncs `json:"missed,omitempty"`
	// Epoch is the run of this process, which its own syncs are of.
	Epoch string `json:"epoch,omitempty"`
	// Renewed is when this process last saw the Lease renewed, or renewed it, by its own clock.
	Renewed time.Time `json:"renewed,omitzero"`
	// Expires is when the Lease runs out unless it is renewed, by that clock.
	Expires time.Time `json:"expires,omitzero"`
	// Overdue is whether another process holds the Lease and should have renewed it by now: it may be gone.
	Overdue bool `json:"overdue,omitempty"`
	// Silent is whether this process stands by and does not know who leads: the Lease could not be
	// read, or nobody was seen to renew it for as long as it lasts. Leader has led.
	Silent bool `json:"silent,omitempty"`
}

// Held reports whether this process leads, or knows of another that does.
func (l *Leadership) Held() bool {
	return !l.StandsBy || l.Leader != "" && !l.Overdue && !l.Silent && l.Error == ""
}

// Following is a stream of the leader's syncs, as it stands now.
type Following struct {
	// Leader is whose syncs they are, From the address that they come from, "" where the
	// leader has published none.
	Leader string `json:"leader"`
	From   string `json:"from,omitempty"`
	// Connected is whether they come now, Since since when they do or do not.
	Connected bool      `json:"connected,omitempty"`
	Since     time.Time `json:"since"`
	// Shown is whether pages show what the leader decides. Otherwise it is what this process
	// would do in its place.
	Shown bool `json:"shown,omitempty"`
	// Error is why they do not come, "" where they do.
	Error string `json:"error,omitempty"`
}

// MissedSyncs is a gap in what was received of a leader.
type MissedSyncs struct {
	Leader string `json:"leader"`
	// From is when the last sync before the gap ended, To when the first one after it did; zero
	// where none came after it.
	From time.Time `json:"from"`
	To   time.Time `json:"to,omitzero"`
	// Count is how many there were, 0 where nobody can tell whether there were any.
	Count uint64 `json:"count,omitempty"`
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
