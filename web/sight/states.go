package sight

import (
	"context"
	"slices"

	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/decision"
)

// Loops are the states of the loops with what the viewer may see of their keys. What they have done
// and filled since the start is counted of all objects.
func (s *Scope) Loops(all func() []telemetry.LoopState) func() []telemetry.LoopState {
	if s == nil {
		return all
	}
	return func() []telemetry.LoopState {
		list := slices.Clone(all())
		// Loops share what they wait for, and nothing in it says whose it is or in which namespace.
		whole := !slices.ContainsFunc(list, func(l telemetry.LoopState) bool { return !s.Whole(l.Name) })
		for i := range list {
			l := &list[i]
			l.Queue = s.queue(l.Name, l.Queue)
			if !whole {
				l.Echoes = nil
			}
			if s.Whole(l.Name) {
				continue
			}
			l.Caches = slices.Clone(l.Caches)
			for j := range l.Caches {
				l.Caches[j].Objects = nil
			}
			l.Expectations = slices.DeleteFunc(slices.Clone(l.Expectations), func(e telemetry.ExpectationState) bool { return !s.seesKey(l.Name, e.Key) })
		}
		return list
	}
}

// Queue is the queue of a loop with the keys that the viewer may see.
func (s *Scope) Queue(all func(loop string) telemetry.QueueState) func(loop string) telemetry.QueueState {
	if s == nil {
		return all
	}
	return func(loop string) telemetry.QueueState { return s.queue(loop, all(loop)) }
}

func (s *Scope) seesKey(loop, key string) bool {
	namespace, name := telemetry.SplitKey(key)
	return s.Sees(telemetry.Object{Loop: loop, Namespace: namespace, Name: name})
}

func (s *Scope) queue(loop string, q telemetry.QueueState) telemetry.QueueState {
	keys := make([]telemetry.KeyState, 0, len(q.Keys))
	for i := range q.Keys {
		if s.seesKey(loop, q.Keys[i].Key) {
			keys = append(keys, s.key(loop, q.Keys[i]))
		}
	}
	if q.Keys = keys; s.Whole(loop) {
		return q
	}
	q.Busy, q.Ready, q.Waiting, q.Dirty = 0, 0, 0, 0
	for i := range keys {
		switch keys[i].Phase {
		case telemetry.KeyReady:
			q.Ready++
		case telemetry.KeyWaiting:
			q.Waiting++
		case telemetry.KeyProcessing:
			q.Busy++
		case telemetry.KeyDirty:
			q.Busy++
			q.Dirty++
		}
	}
	return q
}

// key is a key without the causes that the viewer may not see, which are counted.
func (s *Scope) key(loop string, k telemetry.KeyState) telemetry.KeyState {
	namespace, name := telemetry.SplitKey(k.Key)
	o := telemetry.Object{Loop: loop, Namespace: namespace, Name: name}
	seen := slices.DeleteFunc(slices.Clone(k.Causes), func(c telemetry.Cause) bool { return !s.seesNamed(o, c.Object) })
	k.Folded += len(k.Causes) - len(seen)
	k.Causes = seen
	return k
}

// Shadow is how decisions compare, with the differences that the viewer may see. They are counted of
// all objects.
func (s *Scope) Shadow(all func() telemetry.ShadowState) func() telemetry.ShadowState {
	if s == nil || all == nil {
		return all
	}
	return func() telemetry.ShadowState {
		st := all()
		st.Differences = slices.DeleteFunc(slices.Clone(st.Differences), func(d telemetry.Difference) bool {
			return !s.Sees(d.Object) || d.Aspect == decision.AspectEvent && !s.seesEvents(d.Object.Namespace)
		})
		return st
	}
}

// Due is what nobody has written yet of an object and of those that it controls, as far as the viewer may see them.
func (s *Scope) Due(all func(telemetry.Object) []telemetry.Difference) func(telemetry.Object) []telemetry.Difference {
	if s == nil || all == nil {
		return all
	}
	return func(o telemetry.Object) []telemetry.Difference {
		return slices.DeleteFunc(all(o), func(d telemetry.Difference) bool { return !s.Sees(d.Object) })
	}
}

func (s *Scope) seesEvents(namespace string) bool {
	return s.may(question{resource: decision.Events}) || s.may(question{resource: decision.Events, namespace: namespace})
}

// Rival is another process that acts. What it wrote last is not named to whom may not see that.
func (s *Scope) Rival(all func() telemetry.Rival) func() telemetry.Rival {
	if s == nil {
		return all
	}
	return func() telemetry.Rival {
		r := all()
		if kind, namespace, _, named := (telemetry.Object{}).Called(r.Object); named && !s.seesKind(kind, namespace) {
			r.Object = ""
		}
		return r
	}
}

// Warnings reads those events that the viewer may see.
func (s *Scope) Warnings(all func(ctx context.Context, namespace string, pods []string) ([]telemetry.Warning, error)) func(ctx context.Context, namespace string, pods []string) ([]telemetry.Warning, error) {
	if s == nil || all == nil {
		return all
	}
	return func(ctx context.Context, namespace string, pods []string) ([]telemetry.Warning, error) {
		if !s.seesEvents(namespace) {
			return nil, nil
		}
		return all(ctx, namespace, pods)
	}
}

// Others are those syncs of other runs that the viewer may see.
func (s *Scope) Others(all func(o telemetry.Object, epoch string) []*telemetry.Trace) func(o telemetry.Object, epoch string) []*telemetry.Trace {
	if s == nil || all == nil {
		return all
	}
	return func(o telemetry.Object, epoch string) []*telemetry.Trace {
		return slices.DeleteFunc(all(o, epoch), func(t *telemetry.Trace) bool { return !s.SeesSync(t) })
	}
}
