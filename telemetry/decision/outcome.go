package decision

import (
	"strings"
	"time"
)

// State is how one action ended.
type State string

// The states of an action.
const (
	// Written: the API server took it; RV is the new resourceVersion.
	Written State = "written"
	// Partly: some of several objects were written; see Done, Failed, Untried.
	Partly State = "partly"
	// Refused: the API server said no.
	Refused State = "refused"
	// Unanswered: no API server was there, or able to serve; nothing was written.
	Unanswered State = "unanswered"
	// Conflicted: another writer was first (409 on a guarded write).
	Conflicted State = "conflict"
	// Superseded: nothing was sent, as a newer write of ours to that object exists.
	Superseded State = "superseded"
	// Unknown: the reply was lost, or was an internal error, and the write may have been done; a live read precedes
	// the next decision.
	Unknown State = "unknown"
	// Tolerated: refused in a way the rules ignore (already gone).
	Tolerated State = "tolerated"
	// NotTried: an earlier failure ended the round.
	NotTried State = "not-tried"
)

// Failure is an error as the record keeps it.
type Failure struct {
	// Code is the HTTP status, 0 where there was no reply.
	Code int `json:"code,omitempty"`
	// Reason is Kubernetes' machine-readable reason ("Forbidden", "Conflict").
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message"`
	// Terminal marks an error that no retry fixes (namespace terminating).
	Terminal bool `json:"terminal,omitempty"`
}

// Unreachable is the reason of a failure where no API server answered.
const Unreachable = "Unreachable"

// AlreadyExists is Kubernetes' reason of a create whose name is taken.
const AlreadyExists = "AlreadyExists"

// Down reports whether an API server was not there, or not able to serve: that
// says nothing about the object that was tried. Nor does one that does not accept the
// credentials of this process, which somebody has to renew. One that has lost its etcd answers
// with a server timeout, or passes etcd's error on as a 500 for which it has no
// reason; a webhook that fails is an internal error and does not count.
func (f *Failure) Down() bool {
	if f == nil {
		return false
	}
	switch f.Code {
	case 401, 502, 503, 504:
		return true
	case 500:
		return f.Reason == "" || f.Reason == "ServerTimeout"
	}
	return f.Reason == Unreachable
}

// WebhookFailed reports whether a webhook that has to be asked could not be. Webhooks are asked before anything is
// stored, so such a write was refused like any other.
func (f *Failure) WebhookFailed() bool {
	return f.Internal() && f.Reason == "InternalError" && strings.Contains(f.Message, `failed calling webhook "`)
}

// Internal reports whether the API server answered that it failed inside.
func (f *Failure) Internal() bool { return f != nil && f.Code == 500 }

// Writer names who else wrote an object.
type Writer struct {
	Manager string   `json:"manager,omitempty"`
	RV      string   `json:"rv,omitempty"`
	Fields  []string `json:"fields,omitempty"`
}

// Outcome is what became of Actions[i] of the same round.
type Outcome struct {
	State State `json:"state"`
	// RV is the resourceVersion that the write returned.
	RV string `json:"rv,omitempty"`
	// Names are created or deleted objects, the first 50, and RVs what the
	// creations returned, one for each name. A deletion returns none.
	Names  []string `json:"names,omitempty"`
	RVs    []string `json:"rvs,omitempty"`
	Done   int64    `json:"done,omitempty"`
	Failed int64    `json:"failed,omitempty"`
	// Untried is the number of objects never attempted after a failure.
	Untried int64         `json:"untried,omitempty"`
	Failure *Failure      `json:"failure,omitempty"`
	Other   *Writer       `json:"other,omitempty"`
	Took    time.Duration `json:"took,omitempty"`
	// Lost is why the end of some of several objects is unknown, where Failure is that of others.
	Lost *Failure `json:"lost,omitempty"`
}

// OK reports whether nothing stands in the way of going on.
func (o Outcome) OK() bool { return o.State == Written || o.State == Tolerated }

// LostReply is why it is not known whether a write was done, where that is so; Failure otherwise.
func (o *Outcome) LostReply() *Failure {
	if o.Lost != nil {
		return o.Lost
	}
	return o.Failure
}

// Learnt is what acting can find out that lets the same Snapshot be decided
// again. The set is closed. The zero value says that nothing was learnt.
type Learnt struct {
	// NameTaken: the name of the ReplicaSet to create exists already.
	NameTaken *NameTaken `json:"nameTaken,omitempty"`
	// Parent is "gone" or "deleting" by a live read before an adoption.
	Parent string `json:"parent,omitempty"`
	// ChildrenGone are UIDs that no longer exist (404 on adopt, 422 on release).
	ChildrenGone []string `json:"childrenGone,omitempty"`
	// NamespaceTerminating: nothing can be created any more.
	NamespaceTerminating bool `json:"namespaceTerminating,omitempty"`
	// Unkept: a write was taken, and nothing of it was stored.
	Unkept *Unkept `json:"unkept,omitempty"`
}

// Unkept is what an API server took of a write of a ReplicaSet and did not keep, as a policy or webhook
// takes it away again. The zero value says that it kept everything.
type Unkept struct {
	// Copy: an annotation of its Deployment is still missing or different.
	Copy     bool   `json:"copy,omitempty"`
	MinReady bool   `json:"minReadySeconds,omitempty"`
	Revision string `json:"revision,omitempty"` // that was written
}

// String names the fields.
func (u Unkept) String() string {
	var list []string
	if u.Copy {
		list = append(list, "annotations")
	}
	if u.MinReady {
		list = append(list, "minReadySeconds")
	}
	if u.Revision != "" {
		list = append(list, "revision")
	}
	return strings.Join(list, ", ")
}

// NameTaken is the live answer to "who has that name?".
type NameTaken struct {
	Name         string `json:"name"`
	UID          string `json:"uid"`
	Mine         bool   `json:"mine"`
	SameTemplate bool   `json:"sameTemplate"`
}

// IsZero reports whether nothing was learnt.
func (l Learnt) IsZero() bool {
	return l.NameTaken == nil && l.Parent == "" && len(l.ChildrenGone) == 0 && !l.NamespaceTerminating && l.Unkept == nil
}

// Round is one pass of decide and act.
type Round struct {
	// Learnt is what the round before had found out; empty in the first.
	Learnt   Learnt    `json:"learnt,omitzero"`
	Verdict  Verdict   `json:"verdict"`
	Outcomes []Outcome `json:"outcomes,omitempty"`
}

// Failed returns the first outcome that is not OK, nil if there is none.
func (r Round) Failed() *Outcome {
	for i := range r.Outcomes {
		if !r.Outcomes[i].OK() {
			return &r.Outcomes[i]
		}
	}
	return nil
}

// Event is a Kubernetes Event that the sync publishes, on its own object unless it says on which.
type Event struct {
	Type    string `json:"type"` // Normal or Warning
	Reason  string `json:"reason"`
	Message string `json:"message"`
	// On is the object that it is about where that is another one.
	On *Ref `json:"on,omitempty"`
}

// Condition is a condition of a Deployment or ReplicaSet.
type Condition struct {
	Type       string    `json:"type"`
	Status     string    `json:"status"`
	Reason     string    `json:"reason,omitempty"`
	Message    string    `json:"message,omitempty"`
	Updated    time.Time `json:"updated,omitzero"`
	Transition time.Time `json:"transition,omitzero"`
}

// Report is what settle returns for the record, whatever the loop's status type.
type Report struct {
	Path Path `json:"path,omitempty"`
	// Publish is set where a status write is due.
	Publish bool `json:"publish"`
	// Hold is set where the status differs but may wait: a timer brings it.
	Hold    bool     `json:"hold,omitempty"`
	Changes []Change `json:"changes,omitempty"`
	Events  []Event  `json:"events,omitempty"`
	Timers  []Timer  `json:"timers,omitempty"`
	// Outcome is how the status write ended; nil where there was none.
	Outcome *Outcome `json:"outcome,omitempty"`
}

// Try says where the worker stands with a key: pure packages put it into sentences.
type Try struct {
	// Number counts tries since the last success, from 1; 0 when the last one succeeded.
	Number int64 `json:"number,omitempty"`
	// Limit is the number after which the key is dropped; 0 for never.
	Limit int64 `json:"limit,omitempty"`
	// Next is when the key is tried again; zero when it is not.
	Next time.Time `json:"next,omitzero"`
	// Dropped is set when the limit was reached.
	Dropped bool `json:"dropped,omitempty"`
}
