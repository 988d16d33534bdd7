package telemetry

import (
	"iter"
	"strings"
	"time"

	"github.com/loopscope/loopscope/telemetry/decision"
)

// TraceVersion is the version of the Trace's JSON ("loopscope.trace.v1+json").
const TraceVersion = 1

// Object names what a loop works on.
type Object struct {
	Loop      string `json:"loop"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
}

// Key is "namespace/name", as in the work queue, or "name" without a namespace.
func (o Object) Key() string { return o.In() + o.Name }

// In is "namespace/", "" without one.
func (o Object) In() string {
	if o.Namespace == "" {
		return ""
	}
	return o.Namespace + "/"
}

// SplitKey takes a key apart: "namespace/name", or "name" of what has no namespace.
func SplitKey(key string) (namespace, name string) {
	namespace, name, found := strings.Cut(key, "/")
	if !found {
		return "", key
	}
	return namespace, name
}

// NameOf is the name by which the record of a sync of o knows another object, with its
// namespace in front where that is another one.
func (o Object) NameOf(namespace, name string) string {
	if namespace == o.Namespace {
		return name
	}
	return Object{Namespace: namespace, Name: name}.Key()
}

// Call is what the record of a sync of o calls another object: its kind and its NameOf.
func (o Object) Call(kind, namespace, name string) string {
	return kind + " " + o.NameOf(namespace, name)
}

// Called takes apart what Call made; named is false for what names no object.
func (o Object) Called(object string) (kind, namespace, name string, named bool) {
	kind, name, named = strings.Cut(object, " ")
	if namespace, name, within := strings.Cut(name, "/"); within {
		return kind, namespace, name, named
	}
	return kind, o.Namespace, name, named
}

// Trace is the record of one sync. After it was recorded it is immutable and
// shared by all readers: nobody may change it or what it points to.
type Trace struct {
	Version int    `json:"v"`
	Epoch   string `json:"epoch"` // the run of the process; numbers start again with a new one
	Seq     uint64 `json:"seq"`   // set by the journal, from 1

	Object
	UID string `json:"uid,omitempty"`
	// Owner is the controller of the object, where it has one (the Deployment of a ReplicaSet):
	// the last known one where the sync failed before it saw the object.
	Owner string `json:"owner,omitempty"`

	// Causes is every coalesced cause since the last sync of this key, oldest
	// first; Folded counts those beyond the bound.
	Causes []Cause `json:"causes"`
	Folded int     `json:"folded,omitempty"`
	// TakenBy is the sync that took the causes, where this one found none.
	TakenBy uint64 `json:"takenBy,omitempty"`

	Worker int `json:"worker"`
	// Queued is when the key became ready, Started when a worker took it.
	Queued  time.Time `json:"queued"`
	Started time.Time `json:"started"`
	Ended   time.Time `json:"ended"`
	Phases  Phases    `json:"phases"`

	Rounds []decision.Round `json:"rounds,omitempty"`
	Report *decision.Report `json:"report,omitempty"`
	// Timers is everything that will wake this key by the clock.
	Timers []decision.Timer `json:"timers,omitempty"`

	Result   Result            `json:"result"`
	Try      decision.Try      `json:"try,omitzero"`
	Sentence decision.Sentence `json:"sentence"`
	Numbers  []decision.Fact   `json:"numbers,omitempty"`
	// Estimate is in recordings of versions before: it is folded when somebody asks.
	Estimate *decision.Estimate `json:"estimate,omitempty"`
	// Diagnosis is what keeps the pods of the object, as the sentence names it.
	Diagnosis decision.Diagnosis `json:"diagnosis,omitzero"`
	// Failure is the error of the sync as a whole, a recovered panic included.
	Failure *decision.Failure `json:"failure,omitempty"`
	// Gone is set when the object no longer exists, and on every difference of a comparison: the
	// board forgets it.
	Gone bool `json:"gone,omitempty"`

	// Snapshot is what was decided on.
	Snapshot Snapshot `json:"snapshot,omitzero"`
	// Standby is set where another process led: this is what would have been done in its
	// place, and nothing of it was written.
	Standby bool `json:"standby,omitempty"`
}

// Phases is how long each verb took. Act and publish are API time.
type Phases struct {
	Observe time.Duration `json:"observe"`
	Decide  time.Duration `json:"decide"`
	Act     time.Duration `json:"act"`
	Settle  time.Duration `json:"settle"`
	Publish time.Duration `json:"publish"`
}

// Result is how a sync ended.
type Result string

// The results. They are values of the metric label "outcome".
const (
	// ResultWrote: at least one write was taken by the API server.
	ResultWrote Result = "wrote"
	// ResultUnchanged: nothing to write, or nothing that this process writes.
	ResultUnchanged Result = "unchanged"
	// ResultWaiting: nothing decided, a write of our own is not in the cache yet.
	ResultWaiting Result = "waiting"
	// ResultSuperseded: a newer write of ours to the object exists; waits for its echo.
	ResultSuperseded Result = "superseded"
	// ResultStale: another writer was first.
	ResultStale Result = "stale"
	// ResultUnknown: a reply was lost.
	ResultUnknown Result = "unknown"
	// ResultFailed: an error, tried again later.
	ResultFailed Result = "failed"
	// ResultDropped: an error for the last allowed time.
	ResultDropped Result = "dropped"
	// ResultPanicked: a panic was recovered.
	ResultPanicked Result = "panicked"
)

// Results lists every Result, for metrics that start at zero and for filters.
var Results = []Result{ResultWrote, ResultUnchanged, ResultWaiting, ResultSuperseded, ResultStale, ResultUnknown, ResultFailed, ResultDropped, ResultPanicked}

// FoundGone reports whether the object no longer existed.
func (t *Trace) FoundGone() bool { return t.Gone && t.Loop != comparison }

// Path is the questions of the last round followed by those of the report.
func (t *Trace) Path() (p decision.Path) {
	for s := range t.Steps() {
		p = append(p, *s)
	}
	return p
}

// Steps are those of Path, and stay the trace's own.
func (t *Trace) Steps() iter.Seq[*decision.Step] {
	return func(yield func(*decision.Step) bool) {
		var last, report decision.Path
		if n := len(t.Rounds); n > 0 {
			last = t.Rounds[n-1].Verdict.Path
		}
		if t.Report != nil {
			report = t.Report.Path
		}
		for _, p := range [...]decision.Path{last, report} {
			for i := range p {
				if !yield(&p[i]) {
					return
				}
			}
		}
	}
}

// Leaf is the id of the last question that was decided in the last round, "" if none was.
func (t *Trace) Leaf() string {
	if n := len(t.Rounds); n > 0 {
		return t.Rounds[n-1].Verdict.Leaf()
	}
	return ""
}

// Wait is how long the key was ready before a worker took it.
func (t *Trace) Wait() time.Duration { return t.Started.Sub(t.Queued) }

// Took is how long the sync ran.
func (t *Trace) Took() time.Duration { return t.Ended.Sub(t.Started) }

// CauseKind says what made a key run.
type CauseKind string

// The kinds of cause.
const (
	CauseAdded     CauseKind = "added"
	CauseModified  CauseKind = "modified"
	CauseDeleted   CauseKind = "deleted"
	CauseTombstone CauseKind = "tombstone" // deleted, final state unknown
	CauseResync    CauseKind = "resync"
	CauseBackoff   CauseKind = "back-off"
	CauseTimer     CauseKind = "timer"
	CausePodReason CauseKind = "pod-reason"
	CauseStart     CauseKind = "start" // first list after start
	CauseLead      CauseKind = "lead"  // this process has become the leader
	CauseAsked     CauseKind = "asked" // enqueued by somebody who did not say why
)

// CauseKinds lists every CauseKind.
var CauseKinds = []CauseKind{CauseAdded, CauseModified, CauseDeleted, CauseTombstone, CauseResync, CauseBackoff, CauseTimer, CausePodReason, CauseStart, CauseLead, CauseAsked}

// Cause is one reason for a sync. Field values are recorded for counters and
// conditions of status alone.
type Cause struct {
	Kind CauseKind `json:"kind"`
	At   time.Time `json:"at"`
	// Object is what changed: "Deployment web", "ReplicaSet web-7d4b9c6f5x", "Pod ...".
	Object string `json:"object,omitempty"`
	OldRV  string `json:"oldRV,omitempty"`
	NewRV  string `json:"newRV,omitempty"`
	// Fields are the names of changed fields with their values where allowed.
	Fields []decision.Change `json:"fields,omitempty"`
	// Manager is the field manager that made the change, where it is known and is not
	// this process. Several that wrote unseen by each other stand beside each other:
	// Managers takes them apart.
	Manager string `json:"manager,omitempty"`
	// Sync is our own sync that wrote NewRV: the event is our echo.
	Sync uint64 `json:"sync,omitempty"`
	// Code is the reason of a timer or back-off ("deadline", "min-ready", "echo"), or CodeFirstLeader.
	Code string `json:"code,omitempty"`
	// Due is when a timer or back-off was meant to fire.
	Due time.Time `json:"due,omitzero"`
}

// BetweenManagers stands between the names of several managers in one cause.
const BetweenManagers = ", "

// Managers are the field managers that made the change.
func (c *Cause) Managers() []string {
	if c.Manager == "" {
		return nil
	}
	return strings.Split(c.Manager, BetweenManagers)
}
