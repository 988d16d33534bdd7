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
	// stuck is set where more than a grace period holds one of them.
	stuck bool
}

// leavingOf are those that a sentence tells of, where the object has no other pods, nil for none: those that have ended,
// which do not count as terminating, only where they need somebody more than the others do. It notes in next, unless it
// is nil, when the clock alone makes something else of it.
func leavingOf(s *Snapshot, next *time.Time) (most *leaving) {
	for _, l := range allLeaving(s, next) {
		if most == nil || l.urgency() > most.urgency() {
			most = l
		}
	}
	return most
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
			all = append(all, &leaving{Finding: w.Terminating(described, n, n), fact: fact, stuck: w.Stuck(described) != nil})
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
	case l.stuck:
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
		if l.stuck {
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
	t.out.Lead = diagnosis.Fit(append(words("its namespace is being deleted; "), l.clause()...), longLead)
	t.out.Then = words("The namespace is removed ")
	if l.NeedsAction {
		t.out.Then = words("Needs action: the namespace is removed ")
	}
	t.out.Then = diagnosis.Fit(append(t.out.Then, l.Unblocks...), longLead)
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
	case l.stuck:
		t.needs(l)
		t.out.Lead = diagnosis.Fit(append(t.out.Lead.Say("; "), l.clause()...), longLead)
		t.out.Then = diagnosis.Ends([]decision.Finding{l.Finding}, longLead)
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
