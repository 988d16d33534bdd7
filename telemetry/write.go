package telemetry

import (
	"slices"
	"time"

	"github.com/loopscope/loopscope/telemetry/decision"
)

// WriteStatus is the Write.Kind of the status that a sync's report publishes.
const WriteStatus = decision.UpdateStatus

// Write is one request of a sync to change one object, as it was answered.
// Events are no writes: they say what was done.
type Write struct {
	Kind decision.ActionKind `json:"kind"`
	// Object is what was written: "ReplicaSet web-7d4b9c6f5x". It is "Pod" alone
	// for pods that are only counted.
	Object string `json:"object"`
	// Count is how many objects this stands for where they have no names; 0 for one.
	Count int64          `json:"count,omitempty"`
	State decision.State `json:"state"`
	// On is the resourceVersion that was decided on, RV the one that came back.
	// A deletion brings none back.
	On string `json:"on,omitempty"`
	RV string `json:"rv,omitempty"`
	// Question is the id of the question whose answer led here; "" for a status.
	Question string            `json:"question,omitempty"`
	Changes  []decision.Change `json:"changes,omitempty"`
	Failure  *decision.Failure `json:"failure,omitempty"`
	Other    *decision.Writer  `json:"other,omitempty"`
	Took     time.Duration     `json:"took,omitempty"` // nanoseconds
}

// Taken reports whether the API server took it.
func (w *Write) Taken() bool { return w.State == decision.Written }

// Writes is every request to change something that the sync sent, in the order
// of its rounds, the status last. Of many pods each is one of its own. What was
// decided and never sent is not among them. The loops say of what kind its own object is.
func (t *Trace) Writes(loops decision.Loops) []Write {
	var list []Write
	t.outcomes(func(a *decision.Action, o *decision.Outcome) {
		switch {
		case o.State == decision.NotTried || o.State == decision.Superseded:
		case a != nil && ofPods(a):
			list = append(list, podWrites(a, o)...)
		default:
			list = append(list, t.request(loops, a, o))
		}
	})
	return list
}

// Planned is what a sync decided to write where nobody acts: in a process that watches or stands by. The
// status is the last.
func (t *Trace) Planned(loops decision.Loops) (list []Write) {
	t.planned(func(a *decision.Action) {
		o := &decision.Outcome{State: decision.NotTried}
		if a != nil && ofPods(a) {
			list = append(list, Write{Kind: a.Kind, Object: "Pod", Count: max(a.Count, int64(len(a.Victims))), State: o.State, Question: a.Question})
			return
		}
		list = append(list, t.request(loops, a, o))
	})
	return list
}

// Plans reports whether there is any of that.
func (t *Trace) Plans() (plans bool) {
	t.planned(func(*decision.Action) { plans = true })
	return plans
}

// plansOtherThan reports whether a sync decided to write, where nobody acts, what the one before it did not; nil is none.
func (t *Trace) plansOtherThan(before *Trace) bool {
	if !t.Plans() || before == nil {
		return t.Plans()
	}
	return !slices.EqualFunc(before.Planned(nil), t.Planned(nil), func(a, b Write) bool {
		return a.Kind == b.Kind && a.Object == b.Object && a.Count == b.Count && slices.Equal(a.Changes, b.Changes)
	})
}

// planned visits what was decided and never tried, and the status with nil.
func (t *Trace) planned(visit func(*decision.Action)) {
	n := len(t.Rounds)
	if t.Result != ResultUnchanged || t.Failure != nil || n == 0 || t.Loop == comparison {
		return
	}
	if last := &t.Rounds[n-1]; len(last.Outcomes) == 0 {
		for i := range last.Verdict.Actions {
			visit(&last.Verdict.Actions[i])
		}
	}
	if t.Report != nil && t.Report.Publish && t.Report.Outcome == nil {
		visit(nil)
	}
}

// Deleted reports whether the sync deleted that object.
func (t *Trace) Deleted(loops decision.Loops, kind, namespace, name string) bool {
	return t.did(loops, decision.ActionKind.Deletes, written{kind: kind, namespace: namespace, name: name})
}

// Created reports whether the sync created that object.
func (t *Trace) Created(loops decision.Loops, kind, namespace, name string) bool {
	return t.did(loops, decision.ActionKind.Creates, written{kind: kind, namespace: namespace, name: name})
}

func (t *Trace) did(loops decision.Loops, it func(decision.ActionKind) bool, to written) bool {
	for _, w := range t.Writes(loops) {
		what, ok := w.what(t.Object)
		if what.rv = ""; ok && what == to && it(w.Kind) {
			return true
		}
	}
	return false
}

// request is that of an action, or with none that of the status.
func (t *Trace) request(loops decision.Loops, a *decision.Action, o *decision.Outcome) Write {
	w := writeOf(o)
	if a == nil {
		w.Kind, w.Object, w.Changes = WriteStatus, t.title(loops), t.Report.Changes
	} else {
		w.Kind, w.Object, w.On, w.Question, w.Changes = a.Kind, t.Call(a.Target.Kind, a.Target.Namespace, nameOf(a, o)), a.Target.RV, a.Question, a.Changes
	}
	return w
}

func writeOf(o *decision.Outcome) Write {
	return Write{State: o.State, RV: o.RV, Failure: o.LostReply(), Other: o.Other, Took: o.Took}
}

// podWrites are the pods of one action: those with a name, then how many more
// were taken, then how many were not.
func podWrites(a *decision.Action, o *decision.Outcome) []Write {
	var list []Write
	for i, name := range o.Names {
		w := Write{Kind: a.Kind, Object: "Pod " + name, State: decision.Written, Question: a.Question}
		if i < len(o.RVs) {
			w.RV = o.RVs[i]
		}
		list = append(list, w)
	}
	if more := o.Done - int64(len(o.Names)); more > 0 {
		list = append(list, Write{Kind: a.Kind, Object: "Pod", Count: more, State: decision.Written, Question: a.Question})
	}
	if o.Failed > 0 {
		state := o.State
		switch {
		case state == decision.Partly && o.Failure.Down():
			state = decision.Unanswered
		case state == decision.Partly:
			state = decision.Refused
		}
		list = append(list, Write{Kind: a.Kind, Object: "Pod", Count: o.Failed, State: state, Question: a.Question, Failure: o.LostReply()})
	}
	return list
}
