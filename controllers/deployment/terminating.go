package deployment

import (
	"slices"
	"time"

	"github.com/loopscope/loopscope/controllers/diagnosis"
	"github.com/loopscope/loopscope/telemetry/decision"
	"github.com/loopscope/loopscope/telemetry/prose"
)

// staying are deleted pods that more than their grace period holds, and that no rollout waits for: with Recreate,
// one waits for old pods that have not ended.
func (v *view) staying() (list []decision.Finding) {
	if v.namespaceTerminating() {
		return nil
	}
	waits := v.s.Strategy == recreate && !v.s.Paused
	var pods []decision.TerminatingPod
	n, old := int64(0), true
	take := func(of []decision.TerminatingPod, count int64, ofOld bool) {
		if count > 0 && v.pods().Stuck(of) != nil {
			pods, n, old = append(pods, of...), n+count, old && ofOld
		}
	}
	for _, rs := range v.children {
		isNew := rs == v.newSet
		if rs.Deleting {
			continue
		}
		if isNew || !waits {
			take(rs.TerminatingPods, rs.TerminatingNow, !isNew)
		}
		take(rs.TerminatingEndedPods, rs.TerminatingEnded, !isNew)
	}
	if n == 0 {
		return nil
	}
	f := v.pods().Terminating(pods, n, n)
	f.Old = old
	return []decision.Finding{f}
}

// Stays reports whether more than its grace period holds a deleted pod.
func Stays(p decision.TerminatingPod, now time.Time) bool {
	return diagnosis.Pods{Now: now}.Stuck([]decision.TerminatingPod{p}) != nil
}

// notRecreated are pods that the ReplicaSet of the template creates no more, as it is being deleted. Another
// one is created when it is gone.
func (v *view) notRecreated(n int64) decision.Finding {
	rs := v.newSet
	f := decision.Finding{Code: diagnosis.SetTerminating, Count: n, Unblocks: words("when it is gone and the next one has created ").Say(prose.Plural(n, "it", "them")),
		After: words(prose.Plural(n, " is not created", " are not created")).Say(", as ReplicaSet ").Name(rs.Name).Say(" is being deleted"),
		Show:  v.showSet(rs)}
	v.kept(rs, &f)
	return f
}

// notDeleted are pods of an old ReplicaSet that was made smaller: one that is being deleted leaves its pods alone.
func (v *view) notDeleted(rs *ReplicaSet) []decision.Finding {
	if !leavesPods(rs) {
		return nil
	}
	n := rs.StatusReplicas
	f := decision.Finding{Code: diagnosis.Terminating, Old: true, Count: n, Unblocks: words("when it is gone, and with it ").Say(prose.Plural(n, "its pod", "its pods")),
		After: words(prose.Plural(n, " is not deleted", " are not deleted")).Say(", as ReplicaSet ").Name(rs.Name).Say(" is being deleted"),
		Show:  v.showSet(rs)}
	v.kept(rs, &f)
	return []decision.Finding{f}
}

func leavesPods(rs *ReplicaSet) bool {
	return rs.Deleting && rs.StatusReplicas > rs.Replicas && rs.ObservedGeneration >= rs.Generation
}

// kept adds what keeps a ReplicaSet that is being deleted: a finalizer of its own, or one of its pods.
func (v *view) kept(rs *ReplicaSet, f *decision.Finding) {
	if own := v.pods().Finalizer(rs.Deletion); own != nil {
		f.After = append(f.After.Say(" and "), own.After...)
		f.Unblocks, f.NeedsAction = own.Unblocks, own.NeedsAction
		return
	}
	held := v.pods().Stuck(rs.TerminatingPods)
	if held == nil || len(held.Finalizers) == 0 {
		return
	}
	f.NeedsAction, f.Pods = true, []string{held.Name}
	f.After = f.After.Say(" and a finalizer blocks the deletion of its pod ").Name(held.Name).Say(" (").Quote(diagnosis.Finalizers(held.Finalizers)).Say(")")
	f.Unblocks = diagnosis.Unfinalized(held.Finalizers)
}

// terminating are old pods that Recreate waits for; nil where it waits for none, as while it is
// paused, or where the whole namespace does, or where it is told already why they stay.
func (v *view) terminating() *decision.Finding {
	if v.s.Strategy != recreate || v.s.Paused || v.blockingNamespace() != nil || slices.ContainsFunc(v.old, leavesPods) {
		return nil
	}
	reported, running := v.oldRunningCounts()
	n := max(reported, running)
	if n == 0 {
		return nil
	}
	var pods []decision.TerminatingPod
	for _, rs := range v.old {
		pods = append(pods, rs.TerminatingPods...)
	}
	f := v.pods().Terminating(pods, n, v.oldTerminating())
	f.Old = true
	f.Unblocks = f.Unblocks.Say(", as Recreate starts no new pod before")
	return &f
}

// blockingNamespace are the pods that a namespace which is being deleted waits for, those that have ended included.
func (v *view) blockingNamespace() []decision.Finding {
	pods, terminating := v.allTerminating()
	for _, rs := range v.children {
		pods = append(pods, rs.TerminatingEndedPods...)
		terminating += rs.TerminatingEnded
	}
	if terminating == 0 || !v.namespaceTerminating() {
		return nil
	}
	return []decision.Finding{v.pods().Terminating(pods, terminating, terminating)}
}

// awaited is what the garbage collector waits for to delete the Deployment in the foreground: pods go
// before their ReplicaSets.
func (v *view) awaited() decision.Finding {
	for _, rs := range v.children {
		if f := v.pods().Finalizer(rs.Deletion); f != nil {
			f.Before, f.After = words("ReplicaSet ").Name(rs.Name), append(words(": "), f.After...)
			return *f
		}
	}
	pods, terminating := v.allTerminating()
	n := v.blocking()
	switch {
	case terminating > 0:
		return v.pods().Awaited(pods, n)
	case n > 0:
		return decision.Finding{Before: decision.Words{}.Count(decision.FactBlocking, n).Say(prose.Plural(n, " ReplicaSet", " ReplicaSets")), Unblocks: words(prose.Plural(n, "when it is gone", "when the last of them is gone"))}
	default:
		return diagnosis.Elsewhere()
	}
}

// blocking is how many pods that is, or else how many ReplicaSets.
func (v *view) blocking() int64 {
	if _, n := v.allTerminating(); n > 0 {
		return n
	}
	return v.s.Deletion.Blocking
}

// allTerminating are the terminating pods of its ReplicaSets.
func (v *view) allTerminating() (described []decision.TerminatingPod, n int64) {
	for _, rs := range v.children {
		described = append(described, rs.TerminatingPods...)
		n += rs.TerminatingNow
	}
	return described, n
}
