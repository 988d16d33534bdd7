package rollingupdate

import (
	"time"

	"github.com/loopscope/loopscope/controllers/diagnosis"
	"github.com/loopscope/loopscope/telemetry/decision"
)

// assumedUsual is how long a pod takes to become ready where nothing is known of it.
const assumedUsual = 30 * time.Second

// numbers are the key numbers of the update as facts of this sync.
func (t *decider) numbers(waiting decision.Diagnosis) []decision.Fact {
	old, n := t.s.Old, t.s.New
	var oldPods, newPods, oldAvailable, newAvailable int64
	facts := make([]decision.Fact, 0, 8)
	if old != nil {
		oldPods = old.Size
		oldAvailable, _ = old.available(t.s.Now)
	}
	if n != nil {
		newPods = n.Size
		newAvailable, _ = n.available(t.s.Now)
	}
	if p := t.s.parked(); p != nil { // Its pods go from the one to the other.
		newPods = p.Size
		held, _ := old.availableOf(t.s.Strays, t.s.Now)
		free, _ := old.availableOf(t.s.Free, t.s.Now)
		newAvailable = held + free
		if p.Account != nil { // It has some of them.
			oldPods, newAvailable, oldAvailable = 0, newAvailable+oldAvailable, 0
		}
	}
	if t.s.TookOver() {
		oldPods, newPods, oldAvailable, newAvailable = 0, oldPods, 0, oldAvailable
	}
	wanted := t.wanted()
	facts = append(facts,
		decision.Count("wanted", wanted), decision.Count("new", newPods), decision.Count("old", oldPods),
		decision.Count("newAvailable", newAvailable), decision.Count("available", oldAvailable+newAvailable), decision.Count("pods", oldPods+newPods))
	if t.s.Request != nil {
		b := t.s.Request.bounds(wanted)
		facts = append(facts, decision.Count("floor", b.Floor()), decision.Count("ceiling", b.Ceiling()))
	}
	if g := t.going; g != nil && g.Deletion != nil {
		facts = append(facts, decision.Count(decision.FactBlocking, g.Deletion.Blocking))
	}
	return append(facts, waiting.Facts()...)
}

// wanted is how many pods there are to be at the end.
func (t *decider) wanted() int64 {
	old, n := t.s.Old, t.s.New
	switch {
	case t.s.parked() != nil:
		return t.s.parked().Size
	case t.to != nil:
		return t.desired
	case n != nil && n.Desired != nil:
		return *n.Desired
	case old != nil && old.Original != nil && *old.Original > old.Size:
		return *old.Original
	case old != nil && old.Size > 0:
		return old.Size
	case n != nil:
		return n.Size
	}
	return 0
}

// diagnosis is what keeps the pods from being available that the update waits for. next
// becomes the next instant at which the clock alone makes another of it.
func (t *decider) diagnosis(next *time.Time) decision.Diagnosis {
	c := t.to
	if c == nil || t.going != nil || t.s.parked() != nil { // What is taken over comes as it is.
		return decision.Diagnosis{}
	}
	look := diagnosis.Pods{Namespace: t.s.Namespace, Now: t.s.Now, Usual: assumedUsual, Next: next, Template: t.template()}
	var blocking []decision.Pod
	for i := range c.Pods {
		if at := c.availableAt(&c.Pods[i]); at.IsZero() || look.Before(at) {
			blocking = append(blocking, c.Pods[i].Pod)
		}
	}
	found := look.Waiting(blocking)
	if f := t.undeleted(); f != nil {
		found = append(found, *f)
	}
	if missing := c.Size - int64(len(c.Pods)); missing > 0 && c.Refusal != "" && !c.KeepsPods {
		found = append(found, diagnosis.OfRefusal(diagnosis.Refusal{Namespace: t.s.Namespace, Message: c.Refusal, Count: missing, Since: c.RefusedSince, Template: t.template()}))
	}
	diagnosis.Rank(found)
	return decision.Diagnosis{Findings: found}
}

// template is how another one reaches the pods that the update waits for.
func (t *decider) template() diagnosis.Template {
	if t.back || t.s.Old == nil { // There is no going back from here: only the template itself can change.
		return diagnosis.TemplateForNew
	}
	return diagnosis.TemplateStays
}

// undeleted is who refuses that pods are deleted which are to go; nil for nobody.
func (t *decider) undeleted() *decision.Finding {
	c := t.from
	n := c.Replicas - c.Size
	if n <= 0 || !c.KeepsPods || !c.reported() {
		return nil
	}
	f := diagnosis.OfDeletion(diagnosis.Refusal{Namespace: t.s.Namespace, Message: c.Refusal, Count: n, Since: c.RefusedSince})
	return &f
}
