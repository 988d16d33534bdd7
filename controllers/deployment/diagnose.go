package deployment

import (
	"slices"
	"time"

	"github.com/loopscope/loopscope/controllers/diagnosis"
	"github.com/loopscope/loopscope/telemetry/decision"
	"github.com/loopscope/loopscope/telemetry/prose"
)

// The bounds of how long a pod usually takes, and what is taken where none of the
// Deployment's pods has shown it.
const (
	leastUsual   = 10 * time.Second
	mostUsual    = 10 * time.Minute
	assumedUsual = 30 * time.Second
)

// Diagnose tells what keeps the pods that a Deployment wants from being available, with
// what its sync has learnt.
func Diagnose(s *Snapshot, learnt decision.Learnt) decision.Diagnosis {
	return newView(s, learnt, s.Now).diagnosis()
}

// diagnosis is made once for each look: the sentence, the held writes, the numbers
// and the estimate of a sync take their causes from it.
func (v *view) diagnosis() decision.Diagnosis {
	if v.found == nil {
		v.found = &decision.Diagnosis{Findings: v.findings()}
	}
	return *v.found
}

func (v *view) findings() []decision.Finding {
	if v.s.Deleting { // Its ReplicaSets are left to the garbage collector, and nothing follows them.
		return v.blockingNamespace()
	}
	list := v.ofAll()
	if v.namespaceTerminating() { // Its pods are not mended any more.
		list = slices.DeleteFunc(list, func(f decision.Finding) bool { return f.Code != diagnosis.Namespace && f.Code != diagnosis.Terminating })
	}
	for i := range list {
		for _, object := range v.s.Arrived {
			diagnosis.Arrived(&list[i], object)
		}
	}
	return list
}

// ofAll are the findings of all pods, the most fundamental first.
func (v *view) ofAll() []decision.Finding {
	var list []decision.Finding
	if v.newSet != nil {
		list = v.ofNew()
	}
	for _, rs := range v.old {
		if refused := old(v.refusals(rs)); !v.goesOn(refused) {
			list = append(list, refused...)
		}
		list = append(list, v.notDeleted(rs)...)
	}
	if v.missing() <= 0 || v.s.Paused { // Only old pods can be what is missed, or they are not replaced.
		list = append(list, v.ofOld()...)
	}
	if terminating := v.terminating(); terminating != nil {
		list = append(list, *terminating)
	}
	list = append(list, v.blockingNamespace()...)
	diagnosis.Rank(list)
	return append(list, v.beside()...)
}

// ofOld are the findings of pods of the old ReplicaSets.
func (v *view) ofOld() (list []decision.Finding) {
	for _, rs := range v.old {
		waiting := v.waiting(rs)
		list = append(append(list, old(waiting)...), old(v.disrupted(rs, waiting))...)
	}
	return list
}

// goesOn reports whether the rollout removes the old pods that are refused, instead of waiting for them.
func (v *view) goesOn(refused []decision.Finding) bool {
	return v.newSet != nil && !v.s.Paused && len(refused) > 0 && diagnosis.IsRefusal(refused[0].Code) && refused[0].Code != diagnosis.Namespace
}

// beside is what else keeps old pods. The rollout does not wait for its end: how many old pods may go depends on
// how many there are, available or not ([RR-3]), and those that do not exist go first ([RR-3a]).
func (v *view) beside() (list []decision.Finding) {
	if v.missing() > 0 && !v.s.Paused {
		list = slices.DeleteFunc(v.ofOld(), func(f decision.Finding) bool { return f.Usual || f.Code == diagnosis.MinReady })
	}
	for _, rs := range v.old {
		if refused := old(v.refusals(rs)); v.goesOn(refused) {
			list = append(list, refused...)
		}
	}
	list = append(list, v.staying()...)
	for i := range list {
		list[i].Beside = true
	}
	diagnosis.Rank(list)
	return list
}

// ofNew are the findings of the ReplicaSet of the template.
func (v *view) ofNew() []decision.Finding {
	rs := v.newSet
	var list []decision.Finding
	switch n := v.notCreated(); {
	case !rs.Deleting:
		list = append(v.refusals(rs), v.lost(rs)...)
	case n > 0:
		list = append(list, v.notRecreated(n))
	}
	list = append(list, v.waiting(rs)...)
	if n := v.missing(); n > 0 && len(list) == 0 {
		list = append(list, v.unseen(n))
	}
	return append(list, v.disrupted(rs, list)...)
}

// waiting are the findings of the pods of a ReplicaSet that exist.
func (v *view) waiting(rs *ReplicaSet) []decision.Finding {
	w := v.podsOf(rs)
	w.Leaving = func(alike bool) diagnosis.Leaving {
		if alike {
			return v.room(rs, v.alike(rs))
		}
		return v.room(rs, v.children)
	}
	return w.Waiting(rs.Blocking)
}

// lost are the missing pods of a ReplicaSet whose pods do not match its selector once they exist.
func (v *view) lost(rs *ReplicaSet) []decision.Finding {
	n := v.missing()
	if rs.Lost == nil || n <= 0 {
		return nil
	}
	return []decision.Finding{diagnosis.Unmatched(n, rs.Name, rs.Lost)}
}

// disrupted are the pods of a ReplicaSet that the cluster took away, while some are
// missing.
func (v *view) disrupted(rs *ReplicaSet, known []decision.Finding) []decision.Finding {
	if counted(rs) >= rs.Replicas {
		return nil
	}
	return v.podsOf(rs).Disrupted(diagnosis.Gap{Lost: rs.Disrupted, Blocking: rs.Blocking, NotCreated: rs.Replicas - rs.StatusReplicas, Known: known})
}

// unseen are pods of which nothing is known but that they are not available.
func (v *view) unseen(n int64) decision.Finding {
	f := decision.Finding{Code: diagnosis.Probe, Count: n, Usual: v.pods().Before(v.s.LastProgress.Add(v.usual())), After: words(prose.Plural(n, " is not ready", " are not ready"))}
	if ready := v.uncounted(n); ready > 0 {
		f.Code, f.Count, f.Unblocks = diagnosis.Uncounted, ready, words("when the status counts "+prose.Plural(ready, "it", "them"))
		f.After = words(prose.Plural(ready, " is", " are") + " ready, and the status of ReplicaSet ").Name(v.newSet.Name).Say(" does not count " + prose.Plural(ready, "it", "them"))
		return f
	}
	unborn := v.notCreated()
	if unborn > 0 && v.namespaceTerminating() {
		return decision.Finding{Code: diagnosis.Namespace, Count: unborn, Since: v.s.NamespaceTerminating, Unblocks: words("when the namespace is gone and recreated"),
			After: words(" cannot be created: the namespace is being deleted")}
	}
	if unborn > 0 {
		f.Code, f.Count, f.After = diagnosis.Starting, unborn, words(prose.Plural(unborn, " is not created yet", " are not created yet"))
		if !f.Usual {
			return v.notMade(f)
		}
	}
	f.Unblocks = words("when ").Say(prose.Plural(f.Count, "it becomes", "they become")).Say(" ready")
	return f
}

// notMade are pods that the ReplicaSet of the template has not created for longer than that takes, while its status
// gives no reason: its controller does not run, or may not write the status.
func (v *view) notMade(f decision.Finding) decision.Finding {
	rs, it := v.newSet, prose.Plural(f.Count, "it", "them")
	f.Show = "kubectl -n " + v.s.Namespace + " describe replicaset " + rs.Name
	if rs.ObservedGeneration >= rs.Generation {
		f.After, f.Unblocks = f.After.Say(" by ReplicaSet ").Name(rs.Name), words("when ReplicaSet ").Name(rs.Name).Say(" creates "+it)
		return f
	}
	since := v.s.LastProgress
	f.After = words(prose.Plural(f.Count, " is not created", " are not created")).Say(": no controller has reported on ReplicaSet ").Name(rs.Name)
	if rs.ObservedGeneration > 0 {
		f.After = f.After.Say(" since it was changed")
	} else if since.Before(rs.Created) {
		since = rs.Created
	}
	f.NeedsAction = !since.IsZero() && !v.pods().Before(since.Add(unreported))
	f.Unblocks = words("when one runs and may create " + it)
	return f
}

// unreported is for how long the controller of ReplicaSets may take to report on one, until somebody has to look.
const unreported = time.Minute

// uncounted are those of n missing pods that are ready, for all that the cache of pods shows.
func (v *view) uncounted(n int64) int64 {
	if v.newSet.Startup == nil {
		return 0
	}
	return min(n, v.newSet.Startup.Pods-v.newAvailable())
}

func (v *view) showSet(rs *ReplicaSet) string {
	return "kubectl -n " + v.s.Namespace + " get replicaset " + rs.Name + " -o yaml"
}

func old(list []decision.Finding) []decision.Finding {
	for i := range list {
		list[i].Old = true
	}
	return list
}

// pods is what the pods are looked at with.
func (v *view) pods() diagnosis.Pods {
	p := diagnosis.Pods{Namespace: v.s.Namespace, Now: v.now, Usual: v.usual(), Next: &v.turns}
	if v.rolling(condition(v.s.Status.Conditions, condProgressing)) { // Otherwise a count that changed is a loss, and nothing that moves.
		p.Moved = v.s.LastProgress
	}
	return p
}

// podsOf is the same of the pods of a ReplicaSet.
func (v *view) podsOf(rs *ReplicaSet) diagnosis.Pods {
	p := v.pods()
	p.Template = v.template(rs)
	return p
}

// template is how another template reaches the pods of a ReplicaSet: in a pause, those of old ones have not got it yet.
func (v *view) template(rs *ReplicaSet) diagnosis.Template {
	if v.s.Paused && rs != v.newSet {
		return diagnosis.TemplateWaits
	}
	return diagnosis.TemplateApplies
}

// usual is how long a pod takes here until it is ready: as long as the slowest
// of the new template, or else of the old ones.
func (v *view) usual() time.Duration {
	slowest := time.Duration(0)
	for _, rs := range v.old {
		if rs.Startup != nil {
			slowest = max(slowest, rs.Startup.Slowest)
		}
	}
	if v.newSet != nil && v.newSet.Startup != nil {
		slowest = v.newSet.Startup.Slowest
	}
	if slowest == 0 {
		return assumedUsual
	}
	return min(max(slowest, leastUsual), mostUsual)
}

// refusals are what keeps a ReplicaSet from creating or deleting pods.
func (v *view) refusals(rs *ReplicaSet) []decision.Finding {
	off := rs.Replicas - rs.StatusReplicas
	switch f := rs.Failure; {
	case f == nil:
		return nil
	case f.Reason == "FailedDelete":
		return []decision.Finding{diagnosis.OfDeletion(diagnosis.Refusal{Namespace: v.s.Namespace, Message: f.Message, Count: max(1, -off), Since: f.Transition})}
	case off > 0:
		return []decision.Finding{diagnosis.OfRefusal(diagnosis.Refusal{Namespace: v.s.Namespace, Message: f.Message, Count: off, Since: f.Transition, Template: v.template(rs),
			Leaving: v.room(rs, v.children), Alike: v.room(rs, v.alike(rs))})}
	default:
		return nil
	}
}

// relevant are the findings that a sentence names.
func (v *view) relevant() []decision.Finding { return diagnosis.Relevant(v.diagnosis().Findings) }

// blocker is the finding that stands for all of them; nil where nothing keeps pods.
func (v *view) blocker() *decision.Finding {
	list := v.relevant()
	if len(list) == 0 {
		return nil
	}
	return &list[0]
}

// stuck is true where more keeps pods than what every pod goes through.
func (v *view) stuck() bool {
	f := v.blocker()
	return f != nil && !f.Usual
}
