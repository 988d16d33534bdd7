package engine

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/loopscope/loopscope/telemetry/decision"
)

// Guarded sends a write of the object that stood at decidedOn, unless a newer
// write of ours to it exists. send returns what the object stands at by it.
func (l *Loop) Guarded(uid types.UID, decidedOn string, send func() (Entry, error)) decision.Outcome {
	var o decision.Outcome
	superseded := l.opts.Ledger.guarded(uid, decidedOn, func() {
		written, err := send()
		switch {
		case err != nil:
		case written.RV == decidedOn: // Nothing was stored: the version is not by this write, and there is no echo of it.
			written.RV = ""
		default:
			l.opts.Ledger.Written(written)
		}
		o = OutcomeOf(written.RV, err)
	})
	if superseded {
		return decision.Outcome{State: decision.Superseded}
	}
	return o
}

// Put sends a guarded write of the object that a sync is about. other names who
// was first where it conflicts.
func (l *Loop) Put(was metav1.Object, send func() (Entry, error), other func() *decision.Writer) decision.Outcome {
	clock := l.stopwatch()
	o := IgnoreNotFound(l.Guarded(was.GetUID(), was.GetResourceVersion(), send))
	if o.State == decision.Conflicted {
		o.Other = other()
	}
	o.Took = clock()
	return o
}

// IgnoreNotFound tolerates that the object is gone: its delete event ends the matter.
func IgnoreNotFound(o decision.Outcome) decision.Outcome {
	if o.Failure != nil && o.Failure.Reason == string(metav1.StatusReasonNotFound) {
		o.State = decision.Tolerated
	}
	return o
}

// OtherWriter names who wrote an object before us, by one live read. It is nil
// where the read fails; the conflict stands either way.
func OtherWriter[T metav1.Object](l *Loop, was T, read func() (T, error), fields func(old, new T) []decision.Change) *decision.Writer {
	live, err := read()
	if err != nil {
		return nil
	}
	changed := fields(was, live)
	manager := l.others(l.opts.Managers.WroteSince(was, live, changed))
	return &decision.Writer{Manager: manager, RV: live.GetResourceVersion(), Fields: names(changed)}
}

func names(changed []decision.Change) []string {
	list := make([]string, 0, len(changed))
	for _, c := range changed {
		list = append(list, c.Field)
	}
	return list
}
