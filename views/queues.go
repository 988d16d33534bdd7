package views

import "time"

// Queues is the work queues as they stand now.
type Queues struct {
	Headline string `json:"headline"`
	// Mode and Leader say who may write: act, watch or standby, and who leads.
	Mode     string     `json:"mode"`
	Leader   string     `json:"leader,omitempty"`
	Then     Text       `json:"then,omitempty"`
	Queues   []Queue    `json:"queues"`
	Groups   []KeyGroup `json:"keys"`
	KeysNote string     `json:"-"`
	Unseen   []Unseen   `json:"notSeenYet"`
	Caches   []Cache    `json:"caches"`
	// Partly is set where there may be keys and waits that the reader may not see.
	Partly bool `json:"partly,omitempty"`
}

// Queue is one work queue.
type Queue struct {
	Name    string `json:"name"`
	Mode    string `json:"mode"`
	Workers string `json:"workers"`
	Ready   int    `json:"ready"`
	Waiting int    `json:"waiting"`
	Dirty   int    `json:"dirty"`
	Adds    uint64 `json:"adds"`
	Errors  uint64 `json:"errors"`
	Timers  uint64 `json:"timers"`
	// Lag is how long keys have lately been ready before a worker took them.
	Lag string `json:"lag"`
}

// KeyGroup is the keys that wait for the same kind of thing.
type KeyGroup struct {
	Name string   `json:"name"`
	Note string   `json:"note"`
	Keys []KeyRow `json:"keys"`
	More string   `json:"more,omitempty"`
}

// KeyRow is one key.
type KeyRow struct {
	State Mark   `json:"state"`
	Queue string `json:"queue"`
	Owner string `json:"namespace"`
	Own   string `json:"name"`
	Href  string `json:"href,omitempty"`
	For   Text   `json:"for"`
	Try   string `json:"try"`
	Why   Text   `json:"why"`
	More  Text   `json:"more,omitempty"`
	// Attempts are the failures since the last success, Due when it is its turn
	// again, and Spent its time in each phase.
	Attempts int        `json:"attempts"`
	Due      *time.Time `json:"due,omitempty"`
	Spent    string     `json:"spent,omitempty"`
}

// Unseen is something a loop asked for and has not seen.
type Unseen struct {
	Owner string `json:"owner"`
	Waits Text   `json:"waits"`
	For   Text   `json:"for"`
}

// Cache is one informer's cache.
type Cache struct {
	Loop    string `json:"loop"`
	Kind    string `json:"kind"`
	Objects *int   `json:"objects,omitempty"`
	RV      string `json:"rv,omitempty"`
	// Handled is the version of the newest event that the loop has handled, and
	// Event how long ago it did.
	Handled string `json:"handled,omitempty"`
	Event   Text   `json:"event,omitempty"`
	State   Mark   `json:"state"`
}
