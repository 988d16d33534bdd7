package decision

import (
	"strconv"
	"strings"
	"time"
)

// ActionKind names a write. Each is done by one function of the acting layer.
type ActionKind string

// The kinds of write. Status is not among them: it is the Report of settle.
const (
	CreateReplicaSet ActionKind = "create-replicaset"
	UpdateReplicaSet ActionKind = "update-replicaset"
	DeleteReplicaSet ActionKind = "delete-replicaset"
	UpdateDeployment ActionKind = "update-deployment"
	CreatePods       ActionKind = "create-pods"
	DeletePods       ActionKind = "delete-pods"
	Adopt            ActionKind = "adopt"
	Release          ActionKind = "release"

	// These say what is done to any object; the target says to which.
	Create ActionKind = "create"
	Update ActionKind = "update"
	Scale  ActionKind = "scale"
	Delete ActionKind = "delete"
	Label  ActionKind = "label"
	// UpdateStatus is the status of an object beside the one that the sync is about.
	UpdateStatus ActionKind = "update-status"
)

// Verb is what a request of that kind does, as one says it before the name of an object:
// "update", or with a subresource behind a hyphen "update the status of".
func (k ActionKind) Verb() string {
	verb, sub, found := strings.Cut(string(k), "-")
	if !found {
		return verb
	}
	return verb + " the " + sub + " of"
}

// pasts are the verbs of requests when they are done.
var pasts = map[string]string{"create": "created", "update": "updated", "patch": "patched", "apply": "applied", "delete": "deleted", "scale": "scaled", "label": "labelled",
	"adopt": "adopted", "release": "released"}

// Past is the Verb when it is done: "updated the status of".
func (k ActionKind) Past() string {
	verb, rest, _ := strings.Cut(k.Verb(), " ")
	if past := pasts[verb]; past != "" {
		verb = past
	}
	if rest == "" {
		return verb
	}
	return verb + " " + rest
}

// Creates reports whether that makes an object.
func (k ActionKind) Creates() bool {
	return k == Create || k == CreatePods || k == CreateReplicaSet
}

// Deletes reports whether that ends an object. To evict a pod is to create its Eviction.
func (k ActionKind) Deletes() bool {
	return k == Delete || k == DeletePods || k == DeleteReplicaSet || k == "create-eviction"
}

// Discipline says how the actions of one verdict that share it are carried out.
type Discipline string

// The disciplines. Act executes them and never chooses one.
const (
	// VisitAll tries every action and collects the errors (claims).
	VisitAll Discipline = "visit-all"
	// StopAtFirst stops at the first failure (scaling, clean-up).
	StopAtFirst Discipline = "stop-at-first"
	// SlowStart creates in batches of 1, 2, 4, ... and stops after a batch with a failure.
	SlowStart Discipline = "slow-start"
	// AllAtOnce runs everything concurrently (pod deletion).
	AllAtOnce Discipline = "all-at-once"
)

// Ref names the object of an action as it was when it was decided on.
type Ref struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	UID       string `json:"uid,omitempty"`
	// RV is the resourceVersion that guards the write; empty for creates.
	RV string `json:"rv,omitempty"`
}

// Size is a change of spec.replicas.
type Size struct {
	From int64 `json:"from"`
	To   int64 `json:"to"`
}

// Stamp is the annotations a Deployment's ReplicaSet is given.
type Stamp struct {
	// Revision is deployment.kubernetes.io/revision; empty leaves it.
	Revision string `json:"revision,omitempty"`
	// History is deployment.kubernetes.io/revision-history; empty leaves it.
	History string `json:"history,omitempty"`
	// Desired and Max are desired-replicas and max-replicas; nil leaves them.
	Desired *int64 `json:"desired,omitempty"`
	Max     *int64 `json:"max,omitempty"`
	// Copy asks for the Deployment's other annotations to be copied ([G-1]).
	// Their values are taken from the cached object at the edge and never recorded.
	Copy bool `json:"copy,omitempty"`
}

// Action is one write that was decided, with all that acting needs: it leaves no choice.
type Action struct {
	Kind       ActionKind `json:"kind"`
	Target     Ref        `json:"target"`
	Discipline Discipline `json:"discipline"`
	// Question is the id of the question whose answer led here.
	Question string `json:"question"`
	// Size is set where spec.replicas changes (and, with From 0, on a create).
	Size *Size `json:"size,omitempty"`
	// Stamp is set where annotations of a ReplicaSet are written.
	Stamp *Stamp `json:"stamp,omitempty"`
	// MinReadySeconds is set where it is copied from the Deployment.
	MinReadySeconds *int64 `json:"minReadySeconds,omitempty"`
	// Hash is the pod-template-hash of a ReplicaSet to create.
	Hash string `json:"hash,omitempty"`
	// Count is the number of pods to create or delete.
	Count int64 `json:"count,omitempty"`
	// Victims are the pods to delete, in their order.
	Victims []Victim `json:"victims,omitempty"`
	// Restore is the ReplicaSet whose template a rollback takes; empty just
	// clears the request.
	Restore *Ref `json:"restore,omitempty"`
	// Changes is what the write changes, for people.
	Changes []Change `json:"changes,omitempty"`
}

// Victim is a pod chosen for deletion and the facts that ranked it.
type Victim struct {
	Name  string `json:"name"`
	UID   string `json:"uid"`
	Rank  int64  `json:"rank"`
	Facts []Fact `json:"facts,omitempty"`
}

// Change is one field that a write changes.
type Change struct {
	Field string `json:"field"`
	From  string `json:"from,omitempty"`
	To    string `json:"to,omitempty"`
}

// PutBack sets n to what it was before the change, as far as that is a number.
func (c *Change) PutBack(n *int64) {
	if was := c.Number(); was != nil {
		*n = *was
	}
}

// Number is what it was before the change; nil where that is no number.
func (c *Change) Number() *int64 {
	if n, err := strconv.ParseInt(c.From, 10, 64); err == nil {
		return &n
	}
	return nil
}

// Held is a write that was refused, with what would release it.
type Held struct {
	// Code is the stable reason code, e.g. "floor", "readiness", "min-ready".
	Code string `json:"code"`
	// Question is the id of the question that refused it.
	Question string     `json:"question"`
	Kind     ActionKind `json:"kind"`
	Target   Ref        `json:"target"`
	Size     *Size      `json:"size,omitempty"`
	Equation *Equation  `json:"equation,omitempty"`
	// Unblocks says in words what would release it, to be read after "unblocks":
	// "when any 1 of the 3 becomes ready".
	Unblocks Words `json:"unblocks,omitempty"`
	// When says the same for a program.
	When Unblock `json:"when"`
	// Blockers are the objects that hold it, the first few of BlockerCount.
	Blockers     []Blocker `json:"blockers,omitempty"`
	BlockerCount int64     `json:"blockerCount,omitempty"`
}

// Unblock is the condition that would release a held write.
type Unblock struct {
	Event UnblockEvent `json:"event"`
	// Of is the object that has to change, as far as there is one.
	Of Ref `json:"of,omitzero"`
	// Needed is how many pods it takes.
	Needed int64 `json:"needed,omitempty"`
	// At is when the clock alone may release it; zero where it cannot.
	At time.Time `json:"at,omitzero"`
}

// UnblockEvent is what releases a held write.
type UnblockEvent string

// The events that release a held write.
const (
	PodsAvailable  UnblockEvent = "pods-available"
	PodsReady      UnblockEvent = "pods-ready"
	PodsStayReady  UnblockEvent = "pods-stay-ready"
	PodsCreated    UnblockEvent = "pods-created"
	OldPodsGone    UnblockEvent = "old-pods-gone"
	QuotaRoom      UnblockEvent = "quota-room"
	StatusObserved UnblockEvent = "status-observed"
	Resumed        UnblockEvent = "resumed"
	WriteSeen      UnblockEvent = "write-seen"
	RequestsSeen   UnblockEvent = "requests-seen"
	ParentSeen     UnblockEvent = "parent-seen"
	Asked          UnblockEvent = "asked"
	PeriodOver     UnblockEvent = "period-over"
	PodsReleased   UnblockEvent = "pods-released"
	SizeRestored   UnblockEvent = "size-restored"
	Never          UnblockEvent = "never"
)

// Blocker is an object that stands in the way of a write.
type Blocker struct {
	Kind string `json:"kind"`
	Name string `json:"name"`
	// Reason is Kubernetes' own word (ImagePullBackOff, Unschedulable); Message its text.
	Reason  string    `json:"reason,omitempty"`
	Message string    `json:"message,omitempty"`
	Since   time.Time `json:"since,omitzero"`
}

// Timer is a moment at which the loop looks again even if nothing happens.
type Timer struct {
	At time.Time `json:"at"`
	// Code is the stable reason: "deadline", "min-ready", "echo", "back-off", "expectations".
	Code string `json:"code"`
	// Question is the id of the question that set it; empty for the worker's own.
	Question string `json:"question,omitempty"`
}

// Verdict is what decide returns: why, what to do, what not to do, when to look again.
type Verdict struct {
	Path    Path     `json:"path"`
	Actions []Action `json:"actions,omitempty"`
	Held    []Held   `json:"held,omitempty"`
	Timers  []Timer  `json:"timers,omitempty"`
	// Stop is set where the sync ends without a report (gone, waiting for an
	// echo, unreadable): nothing is settled or published.
	Stop bool `json:"stop,omitempty"`
	// Invalid is an error of the object itself, which a retry will meet again.
	Invalid string `json:"invalid,omitempty"`
}

// Leaf is the id of the last question asked, "" for an empty path.
func (v Verdict) Leaf() string {
	if last := v.Path.Last(); last != nil {
		return last.Question
	}
	return ""
}
