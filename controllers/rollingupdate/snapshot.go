package rollingupdate

import (
	"time"

	"github.com/loopscope/loopscope/telemetry/decision"
)

// SnapshotVersion is written into every snapshot. A reader refuses a newer one.
const SnapshotVersion = 1

// Snapshot is everything a sync of a rolling update decides on. It is immutable and
// canonically ordered (pods by name), so that the same cluster gives the same bytes.
type Snapshot struct {
	Version int       `json:"v"`
	Now     time.Time `json:"now"`

	// Echo is our own writes that the caches do not show yet ([RU-2]).
	Echo []Echo `json:"echo,omitempty"`

	Namespace string `json:"namespace"`
	// Name is that of the old ReplicationController, by which the update is known.
	Name string `json:"name"`
	// Request is what is asked for, with its defaults; nil where nothing is, or where it
	// cannot be read, which RequestError says.
	Request      *Request `json:"request,omitempty"`
	RequestError string   `json:"requestError,omitempty"`
	// Result is how the last update ended that left something behind; nil for none.
	Result *Result `json:"result,omitempty"`

	// Old is the ReplicationController that is replaced, nil where it is gone; New is the one
	// that replaces it, nil where it does not exist yet, and NewName what it is called.
	Old     *Controller `json:"old,omitempty"`
	New     *Controller `json:"new,omitempty"`
	NewName string      `json:"newName,omitempty"`
	// OldKey and NewKey are the values of the label that tells their pods apart, where the
	// new one is made from the old one.
	OldKey string `json:"oldKey,omitempty"`
	NewKey string `json:"newKey,omitempty"`
	// Apart is set where the selector of the new one has a label that the old one's has with
	// another value.
	Apart bool `json:"apart,omitempty"`
	// Into is the ReplicationController that is updated to this old one; "" for none.
	Into string `json:"into,omitempty"`
	// Strays are pods without a controller that have the labels of the old one and not the
	// key: they were made between two writes of the split. Where the old one waits for pods
	// that it takes over, they are those that are not released yet.
	Strays []Pod `json:"strays,omitempty"`
	// Free are the pods that it takes over and that have been released.
	Free []Pod `json:"free,omitempty"`

	// LiveReads are the objects that were read live.
	LiveReads []string `json:"liveReads,omitempty"`
	// Refused is what the newest Event says of a write that was refused: for who looks on, as
	// the loop that writes has the answer itself. It is nil where there is none.
	Refused *Refused `json:"refused,omitempty"`
}

// Refused is a write that was refused, as an Event of one of the two says it.
type Refused struct {
	At      time.Time `json:"at"`
	Message string    `json:"message"`
}

// Echo is a write of ours that its cache does not show yet.
type Echo struct {
	Object  string    `json:"object"`
	Written string    `json:"written"`
	Cached  string    `json:"cached"`
	Since   time.Time `json:"since"`
	Check   time.Time `json:"check"`
}

// Controller is one of the two ReplicationControllers.
type Controller struct {
	Name       string `json:"name"`
	UID        string `json:"uid"`
	RV         string `json:"rv"`
	Generation int64  `json:"generation,omitempty"`
	Observed   int64  `json:"observed,omitempty"`
	Deleting   bool   `json:"deleting,omitempty"`
	// Deletion is what keeps it then, and Terminating are the first of its pods that are on their
	// way out then.
	Deletion    *decision.Deletion        `json:"deletion,omitempty"`
	Terminating []decision.TerminatingPod `json:"terminating,omitempty"`
	// Size is spec.replicas, and Replicas the number of pods that its status tells.
	Size     int64 `json:"size"`
	Replicas int64 `json:"replicas"`
	MinReady int64 `json:"minReadySeconds,omitempty"`

	// Next, Source, Desired and Original are the annotations of kubectl. What is no number
	// counts as none.
	Next     string `json:"next,omitempty"`
	Source   string `json:"source,omitempty"`
	Desired  *int64 `json:"desired,omitempty"`
	Original *int64 `json:"original,omitempty"`
	// Stepped is when it was last scaled by an update; zero where nobody says.
	Stepped time.Time `json:"stepped,omitzero"`
	// Parked is set where it waits for pods that it takes over.
	Parked *Parked `json:"parked,omitempty"`

	// TemplateKey and SelectorKey are the values of the label that tells the pods of the two
	// apart; "" where it has none.
	TemplateKey string `json:"templateKey,omitempty"`
	SelectorKey string `json:"selectorKey,omitempty"`
	// Containers are those of its template.
	Containers []Container `json:"containers,omitempty"`
	// Progress is its condition Progressing, as it was published; nil for none.
	Progress *decision.Condition `json:"progress,omitempty"`
	// Refusal is the message of its condition ReplicaFailure; "" for none. KeepsPods is set where
	// that is of pods that could not be deleted.
	Refusal   string `json:"refusal,omitempty"`
	KeepsPods bool   `json:"keepsPods,omitempty"`
	// Pods are its own pods that are neither finished nor on their way out.
	Pods []Pod `json:"pods,omitempty"`

	// TakenOver is the Deployment that a migration gives its pods to, or has given them to; "" for
	// none.
	TakenOver string `json:"takenOver,omitempty"`
	// Owner is whose it is, as "Kind name"; "" for nobody's.
	Owner string `json:"owner,omitempty"`
	// Given is the size that the update has given it last, nil where nobody says; Scaler is who
	// has written the one that it has, as far as that is signed.
	Given  *int64 `json:"given,omitempty"`
	Scaler string `json:"scaler,omitempty"`
	// Account is the ServiceAccount of its template.
	Account string `json:"account,omitempty"`
	// LetsGo is set where its selector matches no pod, so that its loop releases those it has.
	LetsGo bool `json:"letsGo,omitempty"`
	// Replaced is whom it has replaced, by the result that stands on it; "" for nobody.
	Replaced string `json:"replaced,omitempty"`
	// RefusedSince is since when its pods are refused; zero where nobody says.
	RefusedSince time.Time `json:"refusedSince,omitzero"`
}

// Container is a container of a template.
type Container struct {
	Name  string `json:"name"`
	Image string `json:"image"`
}

// Pod is one pod.
type Pod struct {
	UID string `json:"uid"`
	RV  string `json:"rv"`
	// Key is its label that tells the pods of the two apart; "" where it has none.
	Key string `json:"key,omitempty"`
	decision.Pod
}

// The kinds of what is written.
const (
	kindController = "ReplicationController"
	kindPod        = "Pod"
)

// self refers to the old ReplicationController, or where it is gone to its name.
func (s *Snapshot) self() decision.Ref {
	if s.Old != nil {
		return s.ref(s.Old)
	}
	return decision.Ref{Kind: kindController, Namespace: s.Namespace, Name: s.Name}
}

// TookOver reports whether the one of the old name has the pods of the update that has ended.
func (s *Snapshot) TookOver() bool {
	r := s.Result
	return s.Old != nil && s.New == nil && s.Request == nil && r != nil && r.Ended == Complete && r.TookOver && s.Old.Size > 0
}

func (s *Snapshot) ref(c *Controller) decision.Ref {
	return decision.Ref{Kind: kindController, Namespace: s.Namespace, Name: c.Name, UID: c.UID, RV: c.RV}
}

func (s *Snapshot) podRef(p *Pod) decision.Ref {
	return decision.Ref{Kind: kindPod, Namespace: s.Namespace, Name: p.Name, UID: p.UID, RV: p.RV}
}

// sourceID is what the new ReplicationController says of the old one ([RU-1]).
func (s *Snapshot) sourceID() string {
	if s.Old == nil {
		return ""
	}
	return s.Old.Name + ":" + s.Old.UID
}

// parked is what the one of the old name waits for; nil for nothing.
func (s *Snapshot) parked() *Parked {
	if s.Old == nil {
		return nil
	}
	return s.Old.Parked
}

// available are the pods that have been ready for long enough as of now ([P-1]), and next is
// when the first of the others will have been; zero where that takes more than time.
func (c *Controller) available(now time.Time) (n int64, next time.Time) {
	return c.availableOf(c.Pods, now)
}

// availableOf are those of these pods.
func (c *Controller) availableOf(pods []Pod, now time.Time) (n int64, next time.Time) {
	for i := range pods {
		at := c.availableAt(&pods[i])
		switch {
		case at.IsZero():
		case !now.Before(at):
			n++
		case next.IsZero() || at.Before(next):
			next = at
		}
	}
	return n, next
}

// availableAt is when the pod has been ready for long enough; zero where that takes more
// than time.
func (c *Controller) availableAt(p *Pod) time.Time {
	switch {
	case !p.Ready || c.MinReady > 0 && p.ReadySince.IsZero():
		return time.Time{}
	case c.MinReady <= 0:
		return p.Created
	default:
		return p.ReadySince.Add(time.Duration(c.MinReady) * time.Second)
	}
}

// reported is set where its own loop has seen its newest size.
func (c *Controller) reported() bool { return c.Observed >= c.Generation }

// chosen is the container of which the image is replaced; nil where the request leaves that open.
func (c *Controller) chosen(name string) *Container {
	if name == "" && len(c.Containers) == 1 {
		return &c.Containers[0]
	}
	for i := range c.Containers {
		if c.Containers[i].Name == name {
			return &c.Containers[i]
		}
	}
	return nil
}
