package telemetry

import (
	"context"
	"errors"
	"time"
)

// ErrNotKept is returned by an Archive for a sync that it does not hold: it is
// older than what is kept, was dropped, or never was.
var ErrNotKept = errors.New("history: no such sync is kept")

// ErrBadQuery is wrapped by an Archive's error where the query itself cannot be
// answered, such as one with a cursor that it did not give out. It is the
// caller's mistake and says what to change.
var ErrBadQuery = errors.New("history: the query cannot be read")

// Query says which syncs to find. The zero value finds all of them; every field
// that is set narrows it.
type Query struct {
	// Loop, Namespace and Name have to be equal; NamePart has to occur in the name.
	Loop, Namespace, Name, NamePart string
	// Results are the ends of a sync to find, any of them; none for all.
	Results []Result
	// Class is the first class that the sync belongs to.
	Class Class
	// Code is that of the sentence ("image-pull").
	Code string
	// Leaf is the last question of the last round.
	Leaf string
	// Question and Answer find what was asked on the path: any answer of the
	// question where Answer is "", the whole answer otherwise.
	Question, Answer string
	// Cause is the kind of one of the causes.
	Cause CauseKind
	// Text is part of an error's message, in any case.
	Text string
	// May, where it is set, leaves out the objects for which it is false.
	May func(Object) bool
	// Since and Until bound when the sync started: at Since or later, before Until.
	Since, Until time.Time
	// Limit is how many to return at most. Search has a bound of its own; Each
	// stops after that many, 0 for all.
	Limit int
	// After is the Next of the page before.
	After string
	// OldestFirst turns the order round, which is newest first.
	OldestFirst bool
}

// Hit is what a list says of one kept sync.
type Hit struct {
	Epoch string `json:"epoch"`
	Seq   uint64 `json:"seq"`
	Object
	Started time.Time     `json:"started"`
	Took    time.Duration `json:"took"` // nanoseconds
	Result  Result        `json:"result"`
	Class   Class         `json:"class"`
	Leaf    string        `json:"leaf,omitempty"`
	Code    string        `json:"code,omitempty"`
	// Text is the sentence as it read when the sync ended.
	Text string `json:"text"`
	// Error is the message of the sync's failure, "" where it did not fail.
	Error string `json:"error,omitempty"`
	// Plans is set where it decided to write, and nobody acts.
	Plans bool `json:"plans,omitempty"`
}

// Hits is a page of a search. It may hold fewer than were asked for, or none, and
// still have a Next: a search looks at so many syncs and no more at a time.
type Hits struct {
	Hits []Hit `json:"hits"`
	// Next is the cursor of the page that follows, "" at the end.
	Next string `json:"next,omitempty"`
}

// ArchiveState is an archive as it stands now. Counts of kept syncs and bytes
// may be a second old.
type ArchiveState struct {
	Path string `json:"path"`
	// Kept is how many syncs it holds, Bytes what its files take on the disk.
	Kept  uint64 `json:"kept"`
	Bytes int64  `json:"bytes"`
	// MaxBytes and MaxAge are its limits; 0 where this process does not write it.
	MaxBytes int64         `json:"maxBytes,omitempty"`
	MaxAge   time.Duration `json:"maxAge,omitempty"` // nanoseconds
	// Oldest is when the first kept sync started, Newest when the last one ended; zero where there is none.
	Oldest time.Time `json:"oldest,omitzero"`
	Newest time.Time `json:"newest,omitzero"`
	// Written and Dropped count the syncs that this process has kept, and those
	// that it could not; Expired those that made room.
	Written uint64 `json:"written"`
	Dropped uint64 `json:"dropped"`
	Expired uint64 `json:"expired"`
	// Errors counts failed writes of this process. Error says why the last one
	// failed and what to do, "" once one has succeeded again; ErrorSince is when
	// that began.
	Errors     uint64    `json:"errors"`
	Error      string    `json:"error,omitempty"`
	ErrorSince time.Time `json:"errorSince,omitzero"`
}

// Archive is the syncs that outlive the journal, and the process. It is read by
// pages and commands, which need not know where it keeps them. A trace that it
// returns was read back and belongs to the caller. All methods are safe for
// concurrent use.
type Archive interface {
	// Search lists a page of what the query finds, in the order in which the syncs were recorded. It
	// wraps ErrBadQuery for a query that cannot be answered.
	Search(ctx context.Context, q Query) (Hits, error)
	// Get reads one sync; ErrNotKept where there is none.
	Get(ctx context.Context, epoch string, seq uint64) (*Trace, error)
	// AsOf reads the newest sync of the object that had started at that moment;
	// ErrNotKept where there is none.
	AsOf(ctx context.Context, o Object, at time.Time) (*Trace, error)
	// Each calls visit with every sync that the query finds, whole, in its order,
	// until visit returns an error, which it returns. A sync that is kept while
	// it runs may be left out.
	Each(ctx context.Context, q Query, visit func(*Trace) error) error
	// State is how the archive stands now.
	State() ArchiveState
}
