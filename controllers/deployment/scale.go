package deployment

import (
	"cmp"
	"slices"

	"github.com/loopscope/loopscope/controllers/rollout"
	"github.com/loopscope/loopscope/telemetry/decision"
)

// scaled is [D-10]: does an active ReplicaSet remember another wanted number?
func (t *decider) scaled() bool {
	facts := append(make([]decision.Fact, 0, 4), decision.Count("wanted", t.s.Want))
	event := false
	for _, rs := range t.active() {
		n, ok := desired(rs)
		if !ok {
			continue
		}
		event = event || n != t.s.Want
		facts = append(facts, decision.Count("desired", n))
	}
	return t.ask(qScaled, event, facts...)
}

// scale is [S-1] to [S-3]. It reports whether anything is written.
func (t *decider) scale() bool {
	switch {
	case t.oneActive(): // [S-1]
		t.scaleOne()
	case t.saturated(): // [S-2]
		for _, rs := range t.activeOld() {
			t.resize(leafSteps, qSaturated, rs, 0)
		}
	case t.s.Strategy == rollingUpdate: // [S-3]
		t.scaleProportionally()
	default:
		t.refreshAnnotations()
	}
	return len(t.verdict.Actions) > 0
}

func (t *decider) oneActive() bool {
	active := t.active()
	facts := []decision.Fact{decision.Count("active", int64(len(active)))}
	if only := t.only(); only != nil && len(active) <= 1 {
		facts = append(facts, decision.Text("replicaSet", only.Name))
	}
	return t.ask(qOneActive, len(active) <= 1, facts...)
}

// only is the ReplicaSet that [S-1] scales: the active one, or else the new
// one, or else the newest old one; nil if there is none.
func (t *decider) only() *ReplicaSet {
	switch active := t.active(); {
	case len(active) > 0:
		return active[0]
	case t.newSet != nil:
		return t.newSet
	case len(t.old) > 0:
		return t.old[len(t.old)-1]
	default:
		return nil
	}
}

func (t *decider) scaleOne() {
	rs := t.only()
	if rs == nil {
		return
	}
	if !t.ask(qOneSize, rs.Replicas == t.s.Want, sizes(rs, t.s.Want)...) {
		t.resize(leafScales, qOneSize, rs, t.s.Want)
		return
	}
	// Kubernetes stops here, and as the stale annotation keeps D-10 true, the
	// rollout never goes on. Writing the annotation alone ends that.
	n, known := desired(rs)
	if t.ask(qOneStale, known && rs.Replicas > 0 && n != t.s.Want, decision.Text("desired", rs.Desired)) {
		t.resize(leafIdle, qOneStale, rs, rs.Replicas)
	}
}

// saturated is [S-2]: has the new ReplicaSet all the pods, available?
func (t *decider) saturated() bool {
	if t.newSet == nil {
		return t.ask(qSaturated, false)
	}
	n, known := desired(t.newSet)
	full := known && n == t.s.Want && t.newSet.Replicas == t.s.Want && t.newAvailable() == t.s.Want
	facts := []decision.Fact{decision.Text("new", t.newSet.Name), decision.Count("size", t.newSet.Replicas),
		decision.Count("available", t.newAvailable()), decision.Count("wanted", t.s.Want)}
	if full {
		old := t.activeOld()
		facts = append(facts, moves(old, make([]int64, len(old)))...)
	}
	return t.ask(qSaturated, full, facts...)
}

// scaleProportionally is proportional scaling ([S-3]). Its writes refresh the annotations even
// where the size stays, so that the next sync sees no scaling any more. Those that
// take pods go first: in Kubernetes' order, one that grows first can pass the ceiling
// until the others have shrunk.
func (t *decider) scaleProportionally() {
	sets := t.active()
	toAdd := -t.total
	if t.s.Want > 0 {
		toAdd += t.bounds.Ceiling()
	}
	proportionalOrder(sets, toAdd)
	members := make([]rollout.Member, len(sets))
	for i, rs := range sets {
		members[i] = rollout.Member{Size: rs.Replicas, Base: t.proportionalBase(rs)}
	}
	to := rollout.Proportional(members, t.s.Want, t.bounds.Surge)
	facts := []decision.Fact{decision.Count("wanted", t.s.Want), decision.Count("total", t.total), decision.Count("moved", max(toAdd, -toAdd))}
	for i, rs := range sets {
		facts = append(facts, sizes(rs, to[i])...)
	}
	t.verdict.Path.Count(qProportional, toAdd, facts...)
	for _, shrinks := range []bool{true, false} {
		for i, rs := range sets {
			if (to[i] < rs.Replicas) == shrinks {
				t.resize(leafProportional, qProportional, rs, to[i])
			}
		}
	}
}

// proportionalBase is the whole that the size of rs was a part of.
func (t *decider) proportionalBase(rs *ReplicaSet) int64 {
	if n, ok := annotated(rs.Max); ok && n > 0 {
		return n
	}
	return t.s.Status.Replicas
}

// proportionalOrder puts the largest first; ties in the order of age where pods go, and
// the other way round where they are added, names included.
func proportionalOrder(sets []*ReplicaSet, toAdd int64) {
	if toAdd == 0 {
		return
	}
	slices.SortStableFunc(sets, func(a, b *ReplicaSet) int {
		age := byAge(a, b)
		if toAdd > 0 {
			age = -age
		}
		return cmp.Or(cmp.Compare(b.Replicas, a.Replicas), age)
	})
}

// refreshAnnotations ends a scaling of several ReplicaSets under Recreate.
// Kubernetes does nothing there and stays in the scaling branch forever; with
// the annotations written the rollout sizes them.
func (t *decider) refreshAnnotations() {
	var stale []*ReplicaSet
	for _, rs := range t.active() {
		if n, ok := desired(rs); ok && n != t.s.Want {
			stale = append(stale, rs)
		}
	}
	if t.ask(qRecreateStale, len(stale) > 0, decision.Count("stale", int64(len(stale)))) {
		for _, rs := range stale {
			t.resize(leafIdle, qRecreateStale, rs, rs.Replicas)
		}
	}
}

// sizes are the facts of one change of size.
func sizes(rs *ReplicaSet, to int64) []decision.Fact {
	return []decision.Fact{decision.Text("replicaSet", rs.Name), decision.Count("from", rs.Replicas), decision.Count("to", to)}
}

// resize writes the size of rs and the two annotations that go with it, and is the
// leaf where that takes a write of the size.
func (t *decider) resize(at leaf, question string, rs *ReplicaSet, to int64) {
	want, ceiling := t.s.Want, t.bounds.Ceiling()
	a := decision.Action{Kind: decision.UpdateReplicaSet, Target: t.ref(rs), Discipline: decision.StopAtFirst,
		Question: question, Stamp: &decision.Stamp{Desired: new(want), Max: new(ceiling)}}
	if to != rs.Replicas {
		a.Size = &decision.Size{From: rs.Replicas, To: to}
		a.Changes = append(a.Changes, decision.Change{Field: "spec.replicas", From: digits(rs.Replicas), To: digits(to)})
	}
	if rs.Desired != digits(want) {
		a.Changes = append(a.Changes, decision.Change{Field: "metadata.annotations[" + annDesired + "]", From: rs.Desired, To: digits(want)})
	}
	if rs.Max != digits(ceiling) {
		a.Changes = append(a.Changes, decision.Change{Field: "metadata.annotations[" + annMax + "]", From: rs.Max, To: digits(ceiling)})
	}
	if a.Size != nil {
		t.leaf = at
	}
	if len(a.Changes) > 0 {
		t.write(a)
	}
}

// scaledTo is what scaling makes of the sizes.
type scaledTo struct {
	size, old int64 // those of the new ReplicaSet, and of all old ones
	scales    bool  // whether any is another one then
}

// afterScaling are the sizes once scaling is done, which waits for annotations that are to be written first.
func (v *view) afterScaling() scaledTo {
	t := newDecider(v)
	t.scale()
	to := scaledTo{size: v.newSize(), old: v.oldTotal}
	for i := range t.verdict.Actions {
		switch a := &t.verdict.Actions[i]; {
		case !resized(a):
			continue
		case v.newSet != nil && a.Target.UID == v.newSet.UID:
			to.size = a.Size.To
		default:
			to.old += a.Size.To - a.Size.From
		}
		to.scales = true
	}
	return to
}
