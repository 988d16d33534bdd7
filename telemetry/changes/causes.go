package changes

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/decision"
)

// Added describes the first sight of an object; initial is set where the first list shows
// it.
func Added(kind string, o metav1.Object, initial bool, now time.Time) telemetry.Cause {
	c := telemetry.Cause{Kind: telemetry.CauseAdded, At: now, Object: kind + " " + o.GetName(), NewRV: o.GetResourceVersion()}
	if initial {
		c.Kind = telemetry.CauseStart
	}
	return c
}

// Modified describes a change of an object, or a resync where nothing changed. fields are
// what changed, and manager who did it, "" where that is not known.
func Modified(kind string, old, new metav1.Object, fields []decision.Change, manager string, now time.Time) telemetry.Cause {
	c := telemetry.Cause{
		Kind: telemetry.CauseModified, At: now, Object: kind + " " + new.GetName(),
		OldRV: old.GetResourceVersion(), NewRV: new.GetResourceVersion(), Fields: fields, Manager: manager,
	}
	if c.OldRV == c.NewRV {
		c.Kind = telemetry.CauseResync
	}
	return c
}

// Deleted describes the end of an object; tombstone is set where its last state was missed.
func Deleted(kind string, o metav1.Object, tombstone bool, now time.Time) telemetry.Cause {
	c := telemetry.Cause{Kind: telemetry.CauseDeleted, At: now, Object: kind + " " + o.GetName(), OldRV: o.GetResourceVersion()}
	if tombstone {
		c.Kind = telemetry.CauseTombstone
	}
	return c
}

// Unwrap takes the object out of a delete event, whose last state may be
// unknown. ok is false for anything that is not a T.
func Unwrap[T metav1.Object](obj any) (o T, tombstone, ok bool) {
	if t, is := obj.(cache.DeletedFinalStateUnknown); is {
		o, ok = t.Obj.(T)
		return o, true, ok
	}
	o, ok = obj.(T)
	return o, false, ok
}
