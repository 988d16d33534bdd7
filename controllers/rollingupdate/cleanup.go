package rollingupdate

import (
	"slices"
	"strconv"

	"github.com/loopscope/loopscope/telemetry/decision"
)

// tooLate is the answer where an update cannot be taken back any more.
const tooLate = "too late"

// isCleaning reports whether the new one is on its own already, and the old one still has to
// go: at that point kubectl, too, has removed its annotations from the new one.
func (t *decider) isCleaning() bool {
	old, n := t.s.Old, t.s.New
	return old != nil && n != nil && n.Source == "" && old.Original != nil && old.Size == 0 && (old.Next == "" || old.Next == n.Name)
}

func (t *decider) cleaning() bool { return t.v.Path.Ask("RU-10.cleaning", t.isCleaning()) }

// The ends of an update, beside the ways to clean up.
const takenBack = "taken back"

// cleanUp ends the update ([RU-10]).
func (t *decider) cleanUp() {
	old, n, policy := t.s.Old, t.s.New, t.s.Request.Cleanup
	if t.back {
		t.v.Path.Name("RU-10.cleanup", takenBack)
		if n != nil {
			t.remove(n)
			return
		}
		t.forget(old, Aborted)
		return
	}
	t.v.Path.Name("RU-10.cleanup", string(policy))
	switch {
	case policy == Rename:
		t.park()
	case n.Source != "" || n.Desired != nil:
		t.forget(n, Complete)
	case policy == Preserve:
		t.forget(old, Complete)
	default:
		t.remove(old)
	}
}

// remove deletes one of the two, which has no pods any more.
func (t *decider) remove(c *Controller) {
	if c == nil || c.Deleting {
		t.leaf = leafDeleting
		return
	}
	t.act(decision.Action{Kind: decision.Delete, Target: t.s.ref(c), Question: "RU-10.cleanup"})
}

// forget takes from one of the two what the update has written there, and leaves how it ended.
func (t *decider) forget(c *Controller, ended string) {
	a := decision.Action{Kind: decision.Update, Target: t.s.ref(c), Question: "RU-10.cleanup", Changes: t.forgotten(c, ended)}
	if ended == Aborted && c.Original != nil && c.Size != *c.Original {
		a.Size = &decision.Size{From: c.Size, To: *c.Original}
		a.Changes = append([]decision.Change{resized(c.Size, *c.Original)}, a.Changes...)
	}
	t.act(a)
}

// forgotten are the annotations that go and the one that comes.
func (t *decider) forgotten(c *Controller, ended string) []decision.Change {
	changes := []decision.Change{annotate(AnnotationResult, "", t.result(ended))}
	add := func(key, was string) {
		if was != "" {
			changes = append(changes, annotate(key, was, ""))
		}
	}
	if (t.s.Request != nil || t.s.RequestError != "") && (c == t.s.Old || t.s.Old == nil) {
		add(AnnotationRequest, "…")
	}
	add(AnnotationNext, c.Next)
	add(AnnotationOriginal, number(c.Original))
	add(AnnotationSource, c.Source)
	add(AnnotationDesired, number(c.Desired))
	add(AnnotationStepped, stamp(c.Stepped))
	return changes
}

func number(n *int64) string {
	if n == nil {
		return ""
	}
	return strconv.FormatInt(*n, 10)
}

func (t *decider) result(ended string) string {
	r := Result{Ended: ended, From: t.s.Name, To: t.s.NewName, At: t.s.Now}
	if p := t.s.parked(); p != nil {
		r.ID, r.To = p.ID, p.From
	} else if t.s.Request != nil {
		r.ID = t.s.Request.ID
	}
	return r.Text()
}

// park gives the template of the new one to the one of the old name, with a selector that
// matches no pod yet ([RU-10]). So nothing is lost wherever this is interrupted.
func (t *decider) park() {
	old, n := t.s.Old, t.s.New
	p := Parked{Key: t.s.Request.DeploymentKey, Value: parkedValue, Size: n.Size, From: n.Name, ID: t.s.Request.ID}
	if n.SelectorKey != "" {
		p.To = &n.SelectorKey
	}
	a := decision.Action{
		Kind: decision.Update, Target: t.s.self(), Question: "RU-10.cleanup",
		Changes: []decision.Change{
			{Field: fieldTemplate, From: t.s.Name, To: n.Name},
			{Field: labelField("spec.selector", p.Key), To: p.Value},
			{Field: labelField("spec.template.metadata.labels", p.Key), To: p.Value},
			annotate(AnnotationParked, "", p.Text()),
		},
	}
	if old == nil {
		a.Kind, a.Size = decision.Create, &decision.Size{}
	}
	t.act(a)
}

// fieldTemplate is the Change of a template: To names the one that it is taken from.
const fieldTemplate = "spec.template"

// TemplateFrom is whose template a write takes; "" where it takes none.
func TemplateFrom(a *decision.Action) string {
	if len(a.Changes) > 0 && a.Changes[0].Field == fieldTemplate {
		return a.Changes[0].To
	}
	return ""
}

// keptPods is the Change of a deletion that leaves the pods.
var keptPods = decision.Change{Field: "pods", To: "kept"}

// KeepsPods reports whether a deletion leaves the pods of what it deletes.
func KeepsPods(a *decision.Action) bool { return slices.Contains(a.Changes, keptPods) }

// parkedValue is a label that no pod has.
const parkedValue = "rolling-update-takes-over"

// parked asks [RU-10] whether the one of the old name waits for the pods.
func (t *decider) parked() bool {
	return t.v.Path.Ask("RU-10.parked", t.s.parked() != nil)
}

// takeOver gives the pods of the new one to the one of the old name ([RU-10]).
func (t *decider) takeOver() {
	old, n := t.s.Old, t.s.New
	gone := n == nil && len(t.s.Strays) == 0
	if !t.v.Path.Ask("RU-10.released", gone && old.Size == 0 && old.Replicas == 0 && old.reported(),
		decision.Bool("exists", n != nil), decision.Count("pods", int64(len(t.s.Strays))), decision.Count("own", old.Replicas)) {
		if gone && old.Size > 0 { // Somebody scaled it: its pods would be nobody's.
			t.scale(old, 0, "RU-10.released")
			return
		}
		if n != nil && !n.Deleting {
			t.act(decision.Action{Kind: decision.Delete, Target: t.s.ref(n), Question: "RU-10.released", Changes: []decision.Change{keptPods}})
			return
		}
		t.leaf = leafReleasing
		t.hold(decision.Held{
			Code: heldReleasing, Question: "RU-10.released", Kind: decision.Scale, Target: t.s.ref(old), Size: &decision.Size{From: old.Size, To: old.Parked.Size},
			Unblocks: words("when the garbage collector has released the pods of ").Name(old.Parked.From),
			When:     decision.Unblock{Event: decision.PodsReleased, Of: decision.Ref{Kind: kindController, Namespace: t.s.Namespace, Name: old.Parked.From}},
		})
		t.timer(t.s.Now.Add(lookAgain), timerReleased, "RU-10.released")
		return
	}
	p := old.Parked
	value := ""
	if p.To != nil {
		value = *p.To
	}
	t.act(decision.Action{
		Kind: decision.Update, Target: t.s.ref(old), Question: "RU-10.released", Size: &decision.Size{From: old.Size, To: p.Size},
		Changes: append([]decision.Change{
			resized(old.Size, p.Size),
			{Field: labelField("spec.selector", p.Key), From: p.Value, To: value},
			{Field: labelField("spec.template.metadata.labels", p.Key), From: p.Value, To: value},
			annotate(AnnotationParked, p.Text(), ""),
		}, t.forgotten(old, Complete)...),
	})
}
