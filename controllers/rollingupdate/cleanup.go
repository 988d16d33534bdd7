package rollingupdate

import (
	"strconv"

	"github.com/loopscope/loopscope/telemetry/decision"
)

// tooLate is the answer where an update cannot be taken back any more.
const tooLate = "too late"

// isCleaning reports whether the new one is on its own already, and the old one still has to
// go: at that point kubectl, too, has removed its annotations from the new one.
func (t *decider) isCleaning() bool {
	old, n := t.s.Old, t.s.New
	if old == nil || n == nil || n.Source != "" || old.Original == nil || old.Size > 0 || old.Next != "" && old.Next != n.Name {
		return false
	}
	return n.Replaced == old.Name || old.Stepped.IsZero() // kubectl leaves no result.
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
	if c.Deleting {
		t.going = c
		t.waitsAs(leafDeleting, t.endReason())
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
	add(AnnotationSize, number(c.Given))
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
		r.ID, r.To, r.TookOver = p.ID, p.From, true
	} else if t.s.Request != nil {
		r.ID = t.s.Request.ID
	}
	return r.Text()
}

// park gives the template of the new one to the one of the old name, with a selector that
// matches no pod yet ([RU-10]). So nothing is lost wherever this is interrupted.
func (t *decider) park() {
	old, n := t.s.Old, t.s.New
	p := Parked{Size: n.Size, From: n.Name, UID: n.UID, ID: t.s.Request.ID}
	a := decision.Action{
		Kind: decision.Update, Target: t.s.self(), Question: "RU-10.cleanup",
		Changes: append([]decision.Change{{Field: fieldTemplate, From: t.s.Name, To: n.Name}}, matching("", parkedValue, annotate(AnnotationParked, "", p.Text()))...),
	}
	if old == nil {
		a.Kind, a.Size = decision.Create, &decision.Size{}
	}
	t.act(a)
}

// matching are the changes that have a selector match no pod, or the pods again.
func matching(from, to string, more ...decision.Change) []decision.Change {
	return append([]decision.Change{
		{Field: labelField("spec.selector", LabelParked), From: from, To: to},
		{Field: labelField("spec.template.metadata.labels", LabelParked), From: from, To: to},
	}, more...)
}

// fieldTemplate is the Change of a template: To names the one that it is taken from.
const fieldTemplate = "spec.template"

// FieldAccount is the Change of a template's ServiceAccount.
const FieldAccount = "spec.template.spec.serviceAccountName"

// SealedAccount is a ServiceAccount that is not there: from a template that names it no pod can
// be made, as the API server refuses it.
const SealedAccount = "loopscope-sealed-no-pods-while-they-are-taken-over"

// TemplateFrom is whose template a write takes; "" where it takes none.
func TemplateFrom(a *decision.Action) string {
	if len(a.Changes) > 0 && a.Changes[0].Field == fieldTemplate {
		return a.Changes[0].To
	}
	return ""
}

// parkedValue is what [LabelParked] is set to.
const parkedValue = "true"

// parked asks [RU-10] whether the one of the old name waits for the pods.
func (t *decider) parked() bool {
	return t.v.Path.Ask("RU-10.parked", t.s.parked() != nil)
}

// takeOver gives the pods of the new one to the one of the old name ([RU-10]). The loop of
// ReplicationControllers may run elsewhere and lag: whatever it has not seen yet, it deletes no
// pod and makes none too many.
func (t *decider) takeOver() {
	old, p := t.s.Old, *t.s.Old.Parked
	t.from, t.to, t.desired = t.s.New, old, p.Size
	if t.from == nil {
		t.from = &Controller{Name: p.From} // It has gone already.
	}
	switch {
	case old.Deleting: // What is being deleted adopts nothing.
		t.going = old
		t.waits(leafDeleting)
		return
	case p.Account != nil:
		t.unseal()
		return
	}
	if !t.released() {
		return
	}
	p.Account = &old.Account
	t.act(decision.Action{
		Kind: decision.Update, Target: t.s.ref(old), Question: "RU-10.released", Size: &decision.Size{From: old.Size, To: p.Size},
		Changes: append([]decision.Change{resized(old.Size, p.Size)},
			matching(parkedValue, "", decision.Change{Field: FieldAccount, From: old.Account, To: SealedAccount}, annotate(AnnotationParked, old.Parked.Text(), p.Text()), t.stepped(old))...),
	})
}

// released asks whether nobody has the pods any more, and sees to it.
func (t *decider) released() bool {
	old, n := t.s.Old, t.s.New
	size := int64(0)
	if n != nil {
		size = n.Size
	}
	free := n == nil && len(t.s.Strays) == 0 && old.Size == 0 && old.Replicas == 0 && old.reported()
	if t.v.Path.Ask("RU-10.released", free,
		decision.Bool("exists", n != nil), decision.Count("size", size), decision.Count("pods", int64(len(t.s.Strays))), decision.Count("own", old.Replicas)) {
		return true
	}
	switch p := old.Parked; {
	case n != nil && !n.Deleting && !n.LetsGo && n.Size != p.Size: // Somebody scaled it meanwhile.
		now := *p
		now.Size = n.Size
		t.act(decision.Action{
			Kind: decision.Update, Target: t.s.ref(old), Question: "RU-10.released", Changes: []decision.Change{annotate(AnnotationParked, p.Text(), now.Text())},
		})
	case n != nil && !n.Deleting && (!n.LetsGo || n.Size > 0): // Scaled after it let go, it would make others.
		t.act(decision.Action{
			Kind: decision.Update, Target: t.s.ref(n), Question: "RU-10.released", Size: &decision.Size{From: n.Size},
			Changes: append([]decision.Change{resized(n.Size, 0)}, matching("", parkedValue, t.stepped(n))...),
		})
	case old.Size > 0: // Somebody scaled it: its pods would be nobody's.
		t.scale(old, 0, "RU-10.released")
	case n != nil && !n.Deleting && n.reported() && n.Replicas == 0 && len(t.s.Strays) == 0:
		t.act(decision.Action{Kind: decision.Delete, Target: t.s.ref(n), Question: "RU-10.released"})
	default:
		t.holdTakeOver(leafReleasing, decision.Held{
			Code: heldReleasing, Question: "RU-10.released", Kind: decision.Scale, Size: &decision.Size{From: old.Size, To: old.Parked.Size},
			Unblocks: words("when the pods of ").Name(old.Parked.From).Say(" have no controller any more"),
			When:     decision.Unblock{Event: decision.PodsReleased, Of: decision.Ref{Kind: kindController, Namespace: t.s.Namespace, Name: old.Parked.From}},
		})
	}
	return false
}

// unseal waits until its own loop counts the pods that it takes over. Only then may it make
// pods again: before, it might replace some that it just had not seen.
func (t *decider) unseal() {
	old, own := t.s.Old, int64(len(t.s.Old.Pods))
	if !t.v.Path.Ask("RU-10.counted", old.reported() && len(t.s.Free) == 0 && old.Replicas == own,
		decision.Count("free", int64(len(t.s.Free))), decision.Count("own", own), decision.Count("counted", old.Replicas)) {
		t.holdTakeOver(leafCounting, decision.Held{
			Code: heldCounting, Question: "RU-10.counted", Kind: decision.Update,
			Unblocks: words("when the status of ").Name(old.Name).Say(" shows as many pods as it takes over"),
			When:     decision.Unblock{Event: decision.StatusObserved, Of: t.s.ref(old)},
		})
		return
	}
	if t.saysLate() && !t.conditions(statusTrue, reasonComplete) {
		return
	}
	changes := append([]decision.Change{annotate(AnnotationParked, old.Parked.Text(), "")}, t.forgotten(old, Complete)...)
	if old.Account == SealedAccount { // Else somebody has given it another one.
		changes = append([]decision.Change{{Field: FieldAccount, From: SealedAccount, To: *old.Parked.Account}}, changes...)
	}
	t.act(decision.Action{Kind: decision.Update, Target: t.s.ref(old), Question: "RU-10.counted", Changes: changes})
}

// inVain asks [RU-10] whether the new one has let go of its pods for one that somebody deletes,
// or has deleted, and has it select them again: it counts those that it still sees as its own, and
// adopts the others.
func (t *decider) inVain() bool {
	old, n := t.s.Old, t.s.New
	if n == nil || !n.LetsGo || n.Deleting {
		return false
	}
	if !t.v.Path.Ask("RU-10.vain", old == nil || old.Deleting) {
		return false
	}
	size := n.Size
	switch {
	case old != nil && old.Parked != nil:
		size = old.Parked.Size
	case n.Desired != nil:
		size = *n.Desired
	}
	t.act(decision.Action{
		Kind: decision.Update, Target: t.s.ref(n), Question: "RU-10.vain", Size: &decision.Size{From: n.Size, To: size},
		Changes: append([]decision.Change{resized(n.Size, size)}, matching(parkedValue, "", annotate(AnnotationSize, number(n.Given), strconv.FormatInt(size, 10)))...),
	})
	return true
}

// holdTakeOver holds what comes next, and looks again by the clock: the events of pods that
// nobody controls need not lead here.
func (t *decider) holdTakeOver(at leaf, h decision.Held) {
	h.Target = t.s.ref(t.s.Old)
	t.hold(h)
	t.timer(t.s.Now.Add(lookAgain), timerReleased, h.Question)
	t.waits(at)
}
