package replicaset

import (
	"slices"
	"time"

	"github.com/loopscope/loopscope/controllers/diagnosis"
	"github.com/loopscope/loopscope/telemetry/decision"
	"github.com/loopscope/loopscope/telemetry/prose"
)

// factEnded is the name of the fact that counts deleted pods that have ended and are not gone.
const factEnded = "terminatingEnded"

// leaving are the pods of an object that were deleted and are not gone.
type leaving struct {
	decision.Finding
	fact string // that counts them
	// held is one that more than a grace period holds, nil for none, and ends what ends that, whatever holds others.
	held *decision.TerminatingPod
	ends decision.Words
	// beside are the other ones: that have ended, or that have not; nil for none.
	beside *leaving
}

// leavingOf are those that a sentence tells of, where the object has no other pods, nil for none: those that have ended,
// which do not count as terminating, only where they need somebody more than the others do. It notes in next, unless it
// is nil, when the clock alone makes something else of it.
func leavingOf(s *Snapshot, next *time.Time) *leaving {
	all := allLeaving(s, next)
	switch {
	case len(all) == 0:
		return nil
	case len(all) == 1:
		return all[0]
	case all[1].urgency() > all[0].urgency():
		slices.Reverse(all)
	}
	all[0].beside = all[1]
	return all[0]
}

// allLeaving are those that are still running, and those that have ended.
func allLeaving(s *Snapshot, next *time.Time) (all []*leaving) {
	t := count(s)
	if t.pods > 0 || s.Deleting {
		return nil
	}
	w := diagnosis.Pods{Namespace: s.Namespace, Now: s.Now, Next: next}
	tell := func(n int64, fact string, described []decision.TerminatingPod) {
		if n > 0 {
			all = append(all, &leaving{Finding: w.Terminating(described, n, n), fact: fact,
				held: w.Stuck(described), ends: w.Terminating(described, 1, 1).Unblocks})
		}
	}
	tell(t.terminating, "terminating", s.described(false))
	tell(t.ended, factEnded, s.described(true))
	return all
}

// described are the terminating pods that are described and have ended, or have not.
func (s *Snapshot) described(ended bool) (list []decision.TerminatingPod) {
	for _, p := range s.TerminatingPods {
		if slices.ContainsFunc(s.Pods, func(q Pod) bool { return q.Name == p.Name && q.finished() == ended }) {
			list = append(list, p)
		}
	}
	return list
}

// urgency is higher where somebody has to act, and where more than a grace period holds them.
func (l *leaving) urgency() int {
	switch {
	case l.NeedsAction:
		return 2
	case l.held != nil:
		return 1
	default:
		return 0
	}
}

// stuckPods are the pods that more than their grace period holds, where nothing else is to be had of the object: it
// wants none, or its namespace is being deleted.
func stuckPods(s *Snapshot, rounds []decision.Round) (found []decision.Finding) {
	if s.Want > 0 && !s.Learnt.NamespaceTerminating && !refusedForGood(rounds) {
		return nil
	}
	for _, l := range allLeaving(s, nil) {
		if l.held != nil {
			found = append(found, l.Finding)
		}
	}
	return found
}

// clause is the pods, and why they are not gone; a single one is named.
func (l *leaving) clause() decision.Words {
	if l.Count == 1 && len(l.Pods) == 1 {
		return append(words("pod ").Name(l.Pods[0]), l.After...)
	}
	return append(l.many(), l.After...)
}

func (l *leaving) many() decision.Words {
	return decision.Words{}.Count(l.fact, l.Count).Say(prose.Plural(l.Count, " pod", " pods"))
}

// stay is before, the pods, why they are not gone, and that others are stuck, too, where there is room for it.
func (l *leaving) stay(before decision.Words) decision.Words {
	w := append(before.Say("; "), l.clause()...)
	if o := l.beside; o != nil && o.held != nil {
		others := slices.Clone(w).Say(prose.Plural(o.Count, "; another pod stays, too", "; other pods stay, too"))
		if fitted, ok := diagnosis.Fair(others, longLead); ok {
			return fitted
		}
	}
	return diagnosis.Fit(w, longLead)
}

// until is before, which is byAction where somebody has to act, and when all of them are gone.
func (l *leaving) until(before, byAction string) decision.Words {
	w := words(before)
	if l.NeedsAction {
		w = words(byAction)
	}
	const all = ", and all are gone"
	switch o := l.beside; {
	case l.held == nil, o == nil, o.held == nil && l.Count > 1: // Of several, all have to go anyway.
		w = append(w, l.Unblocks...)
	case o.held == nil:
		w = append(w, l.ends...).Say(prose.Plural(o.Count, ", and the other pod is gone", ", and the other pods are gone"))
	default:
		both := l.both()
		if l.Count+o.Count > 2 || slices.Equal(both, l.ends) || slices.Equal(both, o.ends) {
			both = slices.Clone(both).Say(all)
		}
		if fitted, ok := diagnosis.Fair(slices.Concat(w, both), longLead); ok {
			return fitted
		}
		w = append(w, l.ends...).Say(all)
	}
	return diagnosis.Fit(w, longLead)
}

// both is what ends what holds them and those beside them; the same is not said twice.
func (l *leaving) both() decision.Words {
	one, other := l.held, l.beside.held
	switch a, b := one.Finalizers, other.Finalizers; {
	case len(a) > 0 && len(b) > 0:
		more := slices.DeleteFunc(slices.Clone(b), func(f string) bool { return slices.Contains(a, f) })
		return diagnosis.Unfinalized(slices.Concat(a, more))
	case len(a)+len(b) == 0 && one.NodeGone == other.NodeGone:
		return l.ends
	default:
		return slices.Concat(l.ends, words(" and "), l.beside.ends)
	}
}

// leaving are those of the sentence, which changes with them.
func (t *teller) leaving() *leaving {
	var next time.Time
	l := leavingOf(t.s, &next)
	if l != nil {
		t.out.NoteChange(next, t.s.Now)
	}
	return l
}

// needs sets the tone of what waits for somebody.
func (t *teller) needs(l *leaving) {
	if l.NeedsAction {
		t.out.Tone = decision.ToneWaiting
	}
}

// namespaceTerminating names the pods that the namespace waits for.
func (t *teller) namespaceTerminating() bool {
	if t.leaf != leafNamespace && !refusedForGood(t.rounds) {
		return false
	}
	t.is(decision.ToneNeutral, "namespace-terminating", "stopped")
	l := t.leaving()
	if l == nil {
		t.out.Lead = words("its namespace is being deleted, so nothing can be created and nothing is retried")
		return true
	}
	t.needs(l)
	t.out.Lead = l.stay(words("its namespace is being deleted"))
	t.out.Then = l.until("The namespace is removed ", "Needs action: the namespace is removed ")
	return true
}

// scaledToZero names the pods that do not go.
func (t *teller) scaledToZero() bool {
	if t.s.Want > 0 || t.tally.pods > 0 {
		return false
	}
	t.is(decision.ToneNeutral, "scaled-to-zero", "scaled to zero")
	t.out.Lead = words("it wants no pods and has none")
	switch l := t.leaving(); {
	case l == nil:
	case l.held != nil:
		t.needs(l)
		t.out.Lead = l.stay(t.out.Lead)
		t.out.Then = l.until("Unblocks ", "Needs action: unblocks ")
	case l.fact != factEnded:
		t.out.Then = append(l.many(), l.After...)
	}
	return true
}

// refusedForGood reports whether creating failed in a way that no retry fixes.
func refusedForGood(rounds []decision.Round) bool {
	_, o := managed(rounds)
	return o != nil && o.Failure != nil && o.Failure.Terminal
}
