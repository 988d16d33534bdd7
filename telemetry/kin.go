package telemetry

import (
	"context"
	"slices"

	"github.com/loopscope/loopscope/telemetry/decision"
)

// Steered are the objects of other loops that the sync worked on, as far as its snapshot
// says that. It reads the snapshot.
func (t *Trace) Steered(loops decision.Loops) []Object {
	if !loops.Of(t.Loop).Steers() {
		return nil
	}
	decided, err := t.Decided(loops)
	if err != nil {
		return nil
	}
	var list []Object
	for _, r := range decided.(decision.Steering).Steers() {
		if loop := loops.Named(r.Kind); loop != "" {
			list = append(list, Object{Loop: loop, Namespace: r.Namespace, Name: r.Name})
		}
	}
	return list
}

// steered are those of a trace. Most loops steer nothing, and to ask one takes a snapshot of its own.
func (j *Journal) steered(t *Trace) []Object {
	if !j.steering[t.Loop] {
		return nil
	}
	return t.Steered(j.opts.Loops)
}

// kin are the objects whose syncs belong together: a head, those that it controls, and
// those of other loops that it worked on.
type kin struct {
	loops   decision.Loops
	head    Object
	steered map[Object]bool
}

// kinOf are those of a head by some syncs of it.
func kinOf(loops decision.Loops, head Object, syncs ...*Trace) *kin {
	k := &kin{loops: loops, head: head, steered: map[Object]bool{}}
	for _, t := range syncs {
		k.add(t)
	}
	return k
}

// add takes in what a sync worked on, if it is one of the head.
func (k *kin) add(t *Trace) {
	if t.Object != k.head {
		return
	}
	for _, o := range t.Steered(k.loops) {
		k.steered[o] = true
	}
}

// has reports whether an object with that owner is one of them.
func (k *kin) has(o Object, owner string) bool {
	return o == k.head || k.steered[o] || owner != "" && HeadOf(k.loops, o, owner) == k.head
}

// kins are those of several heads.
type kins []*kin

// has reports whether an object with that owner is one of any.
func (l kins) has(o Object, owner string) bool {
	return slices.ContainsFunc(l, func(k *kin) bool { return k.has(o, owner) })
}

// HeadOf is the object that controls another one; that one itself where none does.
func HeadOf(loops decision.Loops, o Object, owner string) Object {
	if loop := loops.Of(o.Loop).Owner; loop != "" && owner != "" {
		return Object{loop, o.Namespace, owner}
	}
	return o
}

// kinIn are the kin of a head by the syncs that an archive has of a time, as q says it, and
// those of what worked on it then.
func kinIn(ctx context.Context, loops decision.Loops, a Archive, head Object, q Query) (kins, error) {
	own := kinOf(loops, head)
	all := kins{own}
	for i := range loops {
		if !loops[i].Steers() {
			continue
		}
		others, n := map[Object]*kin{head: own}, 0
		q.Loop, q.Namespace = loops[i].Name, head.Namespace
		err := a.Each(ctx, q, func(t *Trace) error {
			if others[t.Object] == nil {
				others[t.Object] = kinOf(loops, t.Object)
			}
			others[t.Object].add(t)
			n++
			return enough(n >= maxCollected)
		})
		if err = ignoreEnough(err); err != nil {
			return nil, err
		}
		for _, k := range others {
			if k.steered[head] {
				all = append(all, k)
			}
		}
	}
	return all, nil
}
