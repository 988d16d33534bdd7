package telemetry

import "time"

// KeyPhase is where a key of a work queue is.
type KeyPhase string

// The phases of a key.
const (
	KeyWaiting    KeyPhase = "waiting"    // for its due time
	KeyReady      KeyPhase = "ready"      // for a worker
	KeyProcessing KeyPhase = "processing" // a worker has it
	KeyDirty      KeyPhase = "dirty"      // a worker has it, and queued again
	KeyUnknown    KeyPhase = "unknown"    // only the process knows that has the queue
)

// KeyState is one key of a queue as it stands now.
type KeyState struct {
	Key      string    `json:"key"`
	Phase    KeyPhase  `json:"phase"`
	Since    time.Time `json:"since"`          // in this phase
	Taken    time.Time `json:"taken,omitzero"` // by the worker that has it
	Due      time.Time `json:"due,omitzero"`   // of a waiting key
	Attempts int       `json:"attempts"`       // failures since the last success
	Code     string    `json:"code,omitempty"`
	// Backoff is the delay that the rate limiter gave last.
	Backoff time.Duration `json:"backoff,omitempty"`
	// Causes are those that the next sync will take.
	Causes []Cause `json:"causes,omitempty"`
	Folded int     `json:"folded,omitempty"`
	// Spent is how long it has been in each phase since it came into the queue,
	// the present one included.
	Spent Spent `json:"spent,omitzero"`
}

// Spent is the time of a key in each phase. Processing and queued again counts as
// a worker has it.
type Spent struct {
	Waiting    time.Duration `json:"waiting,omitempty"`
	Ready      time.Duration `json:"ready,omitempty"`
	Processing time.Duration `json:"processing,omitempty"`
}

// Add returns the sum with a time in one phase.
func (s Spent) Add(phase KeyPhase, d time.Duration) Spent {
	switch phase {
	case KeyWaiting:
		s.Waiting += d
	case KeyReady:
		s.Ready += d
	case KeyProcessing, KeyDirty:
		s.Processing += d
	}
	return s
}

// QueueState is a work queue as it stands now.
type QueueState struct {
	Name    string `json:"name"`
	Workers int    `json:"workers"`
	Busy    int    `json:"busy"`
	Ready   int    `json:"ready"`
	Waiting int    `json:"waiting"`
	Dirty   int    `json:"dirty"`
	Adds    uint64 `json:"adds"`
	Errors  uint64 `json:"errors"`
	Timers  uint64 `json:"timers"`
	// Keys are sorted, unless whoever made the state says otherwise.
	Keys []KeyState `json:"keys"`
}

// EchoState is a write of ours that its cache does not show yet.
type EchoState struct {
	Object  string    `json:"object"`
	Written string    `json:"written"`
	Cached  string    `json:"cached"`
	Since   time.Time `json:"since"`
	Check   time.Time `json:"check"`
}

// ExpectationState is the creations and deletions of a key that are not seen yet.
type ExpectationState struct {
	Key     string    `json:"key"`
	Creates int64     `json:"creates"`
	Deletes int64     `json:"deletes"`
	Since   time.Time `json:"since"`
	Expires time.Time `json:"expires"`
}

// CacheState is one informer's cache.
type CacheState struct {
	Resource string `json:"resource"`
	Synced   bool   `json:"synced"`
	// Objects is how many it holds; nil where it was not counted, or the reader may not know.
	Objects *int `json:"objects,omitempty"`
	// Error is why it cannot be filled, or is no longer kept up to date; "" for nothing.
	Error string `json:"error,omitempty"`
	// Unserved is set where the API server knows no such resource.
	Unserved bool `json:"unserved,omitempty"`
	// RV is what the store has shown, Handled that of the newest event that this
	// loop has handled, and Event when it did: a handler that falls behind its
	// store stays at an older one.
	RV      string    `json:"rv,omitempty"`
	Handled string    `json:"handled,omitempty"`
	Event   time.Time `json:"event,omitzero"`
}

// The modes of a loop that does nothing in this process.
const (
	ModeOff     = "off"     // nobody asked for it
	ModeSkipped = "skipped" // the API server does not serve what it works on
)

// Off is why a loop does not run that could. The zero value is one that the list of controllers leaves out.
type Off struct {
	// Gate is a feature that it needs and that is not on; "" where that is not why.
	Gate string `json:"gate,omitempty"`
	// ByDefault is set where it only runs if somebody names it.
	ByDefault bool `json:"byDefault,omitempty"`
}

// LoopState is one control loop as it stands now.
type LoopState struct {
	Name    string `json:"name"`
	Mode    string `json:"mode"` // act, watch, standby, off or skipped
	Running bool   `json:"running"`
	// Lag is how long keys have lately been ready before a worker took them.
	Lag          time.Duration      `json:"lag"`
	Queue        QueueState         `json:"queue"`
	Echoes       []EchoState        `json:"echoes,omitempty"`
	Expectations []ExpectationState `json:"expectations,omitempty"`
	Caches       []CacheState       `json:"caches,omitempty"`
	// Off is why its mode is that; nil in any other mode.
	Off *Off `json:"off,omitempty"`
}

// ServerState is what is known of the API server.
type ServerState struct {
	// Reachable is whether it serves, which is assumed until a request says otherwise.
	Reachable bool `json:"reachable"`
	// Awaited is whether it has not served this process at all yet.
	Awaited bool `json:"awaited,omitempty"`
	// Since is when it began to serve, or last did where it does not.
	Since time.Time `json:"since"`
	Lack  Lack      `json:"lack,omitempty"`
	Error string    `json:"error,omitempty"`
	// Release is what it runs.
	Release Release `json:"release,omitzero"`
	// Over are the newest outages that are over, oldest first.
	Over []Outage `json:"over,omitempty"`
}
