package deployment

import (
	"cmp"
	"slices"
	"time"

	"github.com/loopscope/loopscope/controllers/diagnosis"
	"github.com/loopscope/loopscope/telemetry/decision"
	"github.com/loopscope/loopscope/telemetry/prose"
)

// The codes of held writes, beside those of findings.
const (
	heldFloor   = "floor"
	heldCeiling = "ceiling"
	heldBehind  = "status-behind"
	heldPaused  = "paused"
	heldHistory = "history-busy"
)

// maxBlockers bounds the blockers that a held write names one by one.
const maxBlockers = 10

// holdOld refuses to shrink the oldest old ReplicaSet at all.
func (t *decider) holdOld(question string) {
	rs := t.activeOld()[0]
	t.holdSet(question, rs, rs.Replicas)
}

// holdRest refuses what is left of the old pods after some may go.
func (t *decider) holdRest(sets []*ReplicaSet, to []int64, question string) {
	for i, rs := range sets {
		if to[i] > 0 {
			t.holdSet(question, rs, to[i])
			return
		}
	}
}

func (t *decider) holdSet(question string, rs *ReplicaSet, from int64) {
	f := t.keeper()
	h := decision.Held{Code: heldFloor, Question: question, Kind: decision.UpdateReplicaSet, Target: t.ref(rs),
		Size: &decision.Size{From: from}, Equation: t.mayGoEquation()}
	h.Unblocks, h.When = t.oldUnblocks(f), t.oldRelease(f)
	f = cmp.Or(t.decisive(f), f)
	if f != nil {
		h.Code = f.Code
	}
	switch {
	case f == nil:
		h.Blockers, h.BlockerCount = t.blockers(rs), rs.Unavailable
	case diagnosis.IsRefusal(f.Code):
		h.Blockers, h.BlockerCount = []decision.Blocker{refuser(t.newSet, f)}, 1
	default:
		h.Blockers, h.BlockerCount = t.blockers(t.newSet), max(t.missing(), t.newSet.Unavailable)
	}
	t.hold(h)
}

// keeper is the finding about new pods that keeps old ones; nil where it is the
// floor alone.
func (v *view) keeper() *decision.Finding {
	list := v.relevant()
	i := slices.IndexFunc(list, func(f decision.Finding) bool { return !f.Old })
	if v.missing() <= 0 || i < 0 {
		return nil
	}
	return &list[i]
}

// oldRelease is what lets the next old pod go.
func (v *view) oldRelease(f *decision.Finding) decision.Unblock {
	r := decision.Unblock{Event: decision.PodsReady, Needed: max(1, v.needed())}
	if v.newSet != nil {
		r.Of = v.ref(v.newSet)
	}
	f = v.decisive(f)
	switch {
	case v.missing() <= 0:
		r.Event, r.Of = decision.PodsAvailable, v.self()
	case f == nil:
		r.Needed = min(r.Needed, v.missing())
	case f.Code == diagnosis.MinReady:
		r.Event, r.At = decision.PodsStayReady, firstAvailable(v.newSet, v.now)
	case f.Code == diagnosis.Quota:
		r.Event = decision.QuotaRoom
	case diagnosis.IsRefusal(f.Code):
		r.Event = decision.PodsCreated
	default:
		r.Needed = min(r.Needed, v.missing())
	}
	if r.Event == decision.PodsReady && v.newSet.MinReady > 0 {
		r.Event = decision.PodsAvailable
	}
	return r
}

// refuser is who refuses the pods of rs: the quota that its failure names, or
// whatever makes it fail.
func refuser(rs *ReplicaSet, f *decision.Finding) decision.Blocker {
	b := decision.Blocker{Kind: "ReplicaSet", Name: rs.Name, Message: f.Message, Since: f.Since}
	if rs.Failure != nil { // It has not said yet that the namespace is being deleted.
		b.Reason = rs.Failure.Reason
	}
	if f.Code == diagnosis.Quota {
		for _, p := range f.Before {
			if p.Kind == decision.Name {
				b.Kind, b.Name = "ResourceQuota", p.Text
			}
		}
	}
	return b
}

// oldUnblocks says when the next old pod may go: what is known of the pods that keep
// it, or else how many of them it takes.
func (v *view) oldUnblocks(f *decision.Finding) decision.Words {
	var w decision.Words
	missing, needed := v.missing(), max(1, v.needed())
	if missing <= 0 {
		return w.Say("when ").Count(fNeeded, needed).Say(" more ").Say(prose.Plural(needed, "pod becomes", "pods become")).Say(" available")
	}
	becomes, become := " becomes ready", " become ready"
	if v.newSet.MinReady > 0 {
		becomes, become = " becomes available", " become available"
	}
	if both := v.bothEnd(f); both != nil {
		return both
	}
	f = v.decisive(f)
	switch {
	case f != nil && f.Code == diagnosis.MinReady:
		return v.stayReady(needed)
	case f != nil && (f.NeedsAction || ownEnd[f.Code]):
		return f.Unblocks
	case v.newSet.Unavailable > missing && needed > missing: // It was scaled down, and its pods are not gone yet.
		return w.Say("when they").Say(become)
	case v.newSet.Unavailable > missing:
		return w.Say("when any ").Count(fNeeded, needed).Say(" of them").Say(prose.Plural(needed, becomes, become))
	case missing == 1 && f != nil && f.Code != diagnosis.Terminating && f.Code != diagnosis.Probe:
		return v.untilAvailable(f.Unblocks)
	case missing == 1:
		return w.Say("when it").Say(becomes)
	case needed >= missing:
		return w.Say("when all ").Count(fMissing, missing).Say(become)
	}
	w = w.Say("when any ").Count(fNeeded, needed).Say(" of the ").Count(fMissing, missing).Say(prose.Plural(needed, becomes, become))
	if at := v.firstToStay(); !at.IsZero() {
		w = w.Say(", the first in ").Until(at)
	}
	return w
}

// untilAvailable are words of a pod that becomes ready, which counts only minReadySeconds later.
func (v *view) untilAvailable(w decision.Words) decision.Words {
	w = slices.Clone(w)
	for i := range w {
		if v.newSet.MinReady > 0 && w[i].Text == " ready" {
			w[i].Text = " available"
		}
	}
	return w
}

// ownEnd are findings that say better what ends them than that pods become ready.
var ownEnd = map[string]bool{diagnosis.NodeGone: true, diagnosis.Gate: true, diagnosis.Init: true, diagnosis.Sidecar: true, diagnosis.Image: true, diagnosis.Namespace: true, diagnosis.Quota: true,
	diagnosis.Preempted: true, diagnosis.Rejected: true, diagnosis.Evicted: true, diagnosis.Node: true, diagnosis.Setup: true, diagnosis.Uncounted: true, diagnosis.SetTerminating: true}

func (v *view) stayReady(needed int64) decision.Words {
	w := decision.Words{}.Say("when ").Count(fNeeded, needed).Say(" of them ").Say(prose.Plural(needed, "has", "have")).
		Say(" stayed ready for ").Count(fMinReady, v.newSet.MinReady).Say(" ").Say(prose.Plural(v.newSet.MinReady, "second", "seconds"))
	if at := v.firstToStay(); !at.IsZero() {
		w = w.Say(", the first in ").Until(at)
	}
	return w
}

// firstToStay is when the first new pod has been ready for long enough, from when on
// something else is to be said; zero where none is ready.
func (v *view) firstToStay() time.Time {
	at := firstAvailable(v.newSet, v.now)
	v.pods().Before(at)
	return at
}

// blockers describes the first pods that rs waits for.
func (v *view) blockers(rs *ReplicaSet) []decision.Blocker {
	var list []decision.Blocker
	for i := range rs.Blocking[:min(len(rs.Blocking), maxBlockers)] {
		p := &rs.Blocking[i]
		b := decision.Blocker{Kind: "Pod", Name: p.Name, Reason: p.Reason, Message: p.Message, Since: v.pods().Since(p)}
		if p.Ready {
			b.Reason, b.Message = "Ready", ""
		}
		list = append(list, b)
	}
	return list
}

// holdNew refuses to grow the new ReplicaSet: there is no room under the ceiling.
func (t *decider) holdNew() {
	var w decision.Words
	names, count := setBlockers(t.activeOld())
	t.hold(decision.Held{Code: heldCeiling, Question: qNewRoom, Kind: decision.UpdateReplicaSet, Target: t.ref(t.newSet),
		Size: &decision.Size{From: t.newSet.Replicas, To: t.s.Want},
		Equation: decision.Subtract("room",
			decision.Term{Label: "ceiling", Value: t.bounds.Ceiling(), Origin: digits(t.s.Want) + " wanted + " + digits(t.bounds.Surge) + " surge"},
			decision.Term{Label: "total", Value: t.total, Origin: digits(t.newSize()) + " new + " + digits(t.oldTotal) + " old"}),
		Unblocks: w.Say("when an old pod has gone"), When: decision.Unblock{Event: decision.OldPodsGone, Of: t.self(), Needed: 1},
		Blockers: names, BlockerCount: count})
}

// holdBehind refuses to shrink old ReplicaSets on a status that is behind.
func (t *decider) holdBehind(rs *ReplicaSet) {
	var w decision.Words
	t.hold(decision.Held{Code: heldBehind, Question: qCaughtUp, Kind: decision.UpdateReplicaSet, Target: t.ref(rs),
		Size: &decision.Size{From: rs.Replicas},
		Equation: decision.Subtract("excess",
			decision.Term{Label: "reported available", Value: rs.Available, Origin: "status of " + rs.Name},
			decision.Term{Label: "size", Value: rs.Replicas, Origin: "spec.replicas"}),
		When:     decision.Unblock{Event: decision.StatusObserved, Of: t.ref(rs)},
		Blockers: []decision.Blocker{{Kind: "ReplicaSet", Name: rs.Name}}, BlockerCount: 1,
		Unblocks: w.Say("when the status of ").Name(rs.Name).Say(" has caught up with its size")})
}

// holdRecreate refuses to start new pods while old ones have not ended ([RC-3]).
func (t *decider) holdRecreate() {
	var w decision.Words
	reported, running := t.oldRunningCounts()
	h := decision.Held{Code: diagnosis.Terminating, Question: qOldRunning, Kind: decision.CreateReplicaSet,
		Target:   decision.Ref{Kind: "ReplicaSet", Namespace: t.s.Namespace, Name: t.s.NextName},
		Size:     &decision.Size{To: t.s.Want},
		Unblocks: w.Say("when the last old pod has ended"),
		When:     decision.Unblock{Event: decision.OldPodsGone, Of: t.self(), Needed: max(reported, running)}}
	if t.newSet != nil {
		h.Kind, h.Target, h.Size.From = decision.UpdateReplicaSet, t.ref(t.newSet), t.newSet.Replicas
		if t.newSet.Replicas == t.s.Want {
			return
		}
	}
	var left []*ReplicaSet
	for _, rs := range t.old {
		if rs.NonTerminal > 0 || rs.StatusReplicas > 0 {
			left = append(left, rs)
		}
	}
	h.Blockers, h.BlockerCount = setBlockers(left)
	t.hold(h)
}

// holdPaused refuses the rollout of a pending change ([D-8]), and not what scaling does by itself.
func (t *decider) holdPaused() {
	left := t.afterScaling()
	if t.newSet != nil && (left.old == 0 || left.scales && left.size == t.s.Want) { // A later sync tells which old pods are left.
		return
	}
	var w decision.Words
	h := decision.Held{Code: heldPaused, Question: qPaused, Kind: decision.CreateReplicaSet,
		Target:   decision.Ref{Kind: "ReplicaSet", Namespace: t.s.Namespace, Name: t.s.NextName},
		Size:     &decision.Size{To: t.s.Want},
		Unblocks: w.Say("when the Deployment is resumed"),
		When:     decision.Unblock{Event: decision.Resumed, Of: t.self()},
		Blockers: []decision.Blocker{{Kind: "Deployment", Name: t.s.Name, Reason: "Paused"}}, BlockerCount: 1}
	if c := condition(t.s.Status.Conditions, condProgressing); c != nil && c.Reason == reasonPaused {
		h.Blockers[0].Since = c.Updated
	}
	if t.newSet != nil {
		h.Kind, h.Target, h.Size.From = decision.UpdateReplicaSet, t.ref(t.newSet), left.size
	}
	if !left.scales { // Otherwise a later sync goes by other sizes.
		t.onceResumed(&h)
	}
	t.hold(h)
}

// onceResumed tells of the write that a pause holds how far it goes at first, and what it waits for besides.
func (t *decider) onceResumed(h *decision.Held) {
	reported, running := t.oldRunningCounts()
	switch rolls := t.s.Strategy == rollingUpdate; {
	case t.newSet != nil && h.Size.From == t.s.Want: // What is left are old pods.
		t.onceResumedOld(h)
	case !rolls && max(t.oldTotal, reported, running) > 0:
		h.Unblocks = h.Unblocks.Say(" and its old pods are gone")
	case !rolls || t.boundsErr != nil || h.Size.From > t.s.Want:
	case t.newSet != nil && t.bounds.NewSize(h.Size.From, t.total) == h.Size.From:
		h.Unblocks = h.Unblocks.Say(" and an old pod has gone")
	default:
		h.Size.To = t.bounds.NewSize(h.Size.From, t.total)
	}
}

// onceResumedOld tells of old pods, of which a rolling update removes what it may.
func (t *decider) onceResumedOld(h *decision.Held) {
	old := t.activeOld()
	first, to := old[0], int64(0)
	if t.s.Strategy == rollingUpdate && t.boundsErr == nil {
		behind := slices.IndexFunc(old, (*ReplicaSet).isBehind)
		switch {
		case t.budget() <= 0:
			h.Unblocks = h.Unblocks.Say(" and more pods are available")
		case behind >= 0:
			h.Unblocks = h.Unblocks.Say(" and the status of ").Name(old[behind].Name).Say(" has caught up with its size")
		default:
			first, to = t.nextOld()
		}
	}
	h.Target, h.Size = t.ref(first), &decision.Size{From: first.Replicas, To: to}
}

// holdHistory refuses to delete revisions that still have pods or an
// unobserved change ([H-1]).
func (t *decider) holdHistory(over int64, busy []*ReplicaSet) {
	var w decision.Words
	h := decision.Held{Code: heldHistory, Question: qHistory, Kind: decision.DeleteReplicaSet, Target: t.ref(busy[0]),
		Equation: decision.Subtract("still in use",
			decision.Term{Label: "over the limit", Value: over, Origin: "old revisions − revisionHistoryLimit"},
			decision.Term{Label: "may go", Value: over - int64(len(busy)), Origin: "without pods, and observed"}),
		Unblocks: w.Say("when its pods are gone and its size is observed"),
		When:     decision.Unblock{Event: decision.StatusObserved, Of: t.ref(busy[0])}}
	h.Blockers, h.BlockerCount = setBlockers(busy)
	t.hold(h)
}

// setBlockers names the first of some ReplicaSets that stand in the way.
func setBlockers(sets []*ReplicaSet) (first []decision.Blocker, count int64) {
	for _, rs := range sets[:min(len(sets), maxBlockers)] {
		first = append(first, decision.Blocker{Kind: "ReplicaSet", Name: rs.Name})
	}
	return first, int64(len(sets))
}
