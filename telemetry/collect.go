package telemetry

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/loopscope/loopscope/telemetry/decision"
)

// maxCollected bounds the syncs that Collect reads for one story.
const maxCollected = 50_000

// around is how far from a sync a chain of it is looked for in an archive.
const around = 10 * time.Minute

// errEnough ends a walk through an archive.
var errEnough = errors.New("enough")

// Collect reads from an archive what a Story of an object needs, that was
// under way at that moment or the last one before it: its syncs back to where it
// was settled and forward to where it was so again, and those of the objects that
// it controls or steers in between, and of what steers it. It returns the sync in force at that moment first, and
// ErrNotKept where there is none.
func Collect(ctx context.Context, loops decision.Loops, a Archive, o Object, at time.Time) (*Trace, []*Trace, error) {
	now, err := a.AsOf(ctx, o, at)
	if err != nil {
		return nil, nil, err
	}
	from, err := backToRest(ctx, a, o, now)
	if err != nil {
		return nil, nil, fmt.Errorf("read back from sync %d: %w", now.Seq, err)
	}
	to, err := onToRest(ctx, a, o, now)
	if err != nil {
		return nil, nil, fmt.Errorf("read on from sync %d: %w", now.Seq, err)
	}
	var list []*Trace
	q := Query{Namespace: o.Namespace, Since: from, Until: to.Add(2 * quietEnd), OldestFirst: true}
	kin, err := kinIn(ctx, loops, a, now.Object, q)
	if err != nil {
		return nil, nil, fmt.Errorf("read what belongs to %s: %w", o.Key(), err)
	}
	err = a.Each(ctx, q, func(t *Trace) error {
		if kin.has(t.Object, t.Owner) {
			list = append(list, t)
		}
		return enough(len(list) >= maxCollected)
	})
	if err = ignoreEnough(err); err != nil {
		return nil, nil, fmt.Errorf("read the syncs of %s: %w", o.Key(), err)
	}
	for _, t := range list { // The very one in the list, so that it can be found there.
		if idOf(t) == idOf(now) {
			return t, list, nil
		}
	}
	return now, append(list, now), nil
}

// Around reads from an archive the syncs of t's object, its owner and all that this
// one controls in the minutes before and after it, t itself among them.
func Around(ctx context.Context, loops decision.Loops, a Archive, t *Trace) ([]*Trace, error) {
	head := HeadOf(loops, t.Object, t.Owner)
	list := []*Trace{t}
	q := Query{Namespace: t.Namespace, Since: t.Started.Add(-around), Until: t.Started.Add(around), OldestFirst: true}
	kin, err := kinIn(ctx, loops, a, head, q)
	if err != nil {
		return list, err
	}
	err = a.Each(ctx, q, func(x *Trace) error {
		if idOf(x) != idOf(t) && (x.Object == t.Object || kin.has(x.Object, x.Owner)) {
			list = append(list, x)
		}
		return enough(len(list) >= maxCollected)
	})
	return list, ignoreEnough(err)
}

// backToRest is when the newest sync before t started in which the object was
// settled, having been unsettled after it, with those just before it, which may have led up to that.
func backToRest(ctx context.Context, a Archive, o Object, t *Trace) (time.Time, error) {
	from, moved, rested, n := t.Started, false, false, 0
	q := Query{Loop: o.Loop, Namespace: o.Namespace, Name: o.Name, Until: t.Started.Add(1)}
	err := a.Each(ctx, q, func(x *Trace) error {
		if rested && from.Sub(x.Ended) > sameBurst {
			return errEnough
		}
		over := rested && !settled(x)
		from, n = x.Started, n+1
		moved = moved || unsettled(x)
		rested = rested || moved && settled(x)
		return enough(over || n >= maxCollected)
	})
	return from, ignoreEnough(err)
}

// onToRest is when the first sync from t on started in which the object was settled, or gone.
func onToRest(ctx context.Context, a Archive, o Object, t *Trace) (time.Time, error) {
	to, n := t.Started, 0
	q := Query{Loop: o.Loop, Namespace: o.Namespace, Name: o.Name, Since: t.Started, OldestFirst: true}
	err := a.Each(ctx, q, func(x *Trace) error {
		to, n = x.Started, n+1
		return enough(settled(x) || x.FoundGone() || n >= maxCollected)
	})
	return to, ignoreEnough(err)
}

func enough(is bool) error {
	if is {
		return errEnough
	}
	return nil
}

func ignoreEnough(err error) error {
	if errors.Is(err, errEnough) {
		return nil
	}
	return err
}
