package rollingupdate

import (
	"time"

	"github.com/loopscope/loopscope/controllers/diagnosis"
	"github.com/loopscope/loopscope/telemetry/decision"
)

// deleting asks [RU-4] whether somebody deletes one of the two.
func (t *decider) deleting() bool {
	old, n := t.s.Old, t.s.New
	switch {
	case old != nil && old.Deleting:
		t.going = old
	case n != nil && n.Deleting && !t.s.Request.Abort:
		t.going = n
	}
	if t.going == nil {
		return t.v.Path.Ask("RU-4.deleting", false)
	}
	return t.v.Path.Ask("RU-4.deleting", true, decision.Text("of", t.going.Name))
}

// waitForDeletion waits until the one is gone that somebody deletes. A pause goes on meanwhile.
func (t *decider) waitForDeletion() {
	if t.s.Request.Paused {
		if t.conditions(statusUnknown, reasonPaused) {
			t.leaf = leafDeleting
		}
		return
	}
	cleaning := t.isCleaning()
	t.back = t.s.Request.Abort && t.s.Old != nil && !cleaning
	t.desired = t.wanted()
	t.from, t.to = t.s.Old, t.s.New
	if t.from == nil {
		t.from = &Controller{Name: t.s.Name}
	}
	if t.to == nil {
		t.to = &Controller{Name: t.s.NewName}
	}
	if t.back {
		t.from, t.to = t.to, t.from
	}
	reason := t.goingReason()
	if cleaning {
		reason = reasonComplete
	}
	t.waitsAs(leafDeleting, reason)
}

// deletionSince is since when the one is being deleted that is waited for; zero where nobody says.
func (t *decider) deletionSince() time.Time {
	if t.going == nil || t.going.Deletion == nil {
		return time.Time{}
	}
	return t.going.Deletion.Since
}

// beingDeleted says which of the two is being deleted, and what keeps it.
func (t *teller) beingDeleted() {
	c, own := t.going, t.going == t.s.Old
	t.is(decision.ToneMoving, "deleting", "moving", words("").Name(c.Name).Say(" is being deleted"), words("Continues when it is gone"))
	switch {
	case own:
		t.is(decision.ToneNeutral, "deleting", "being deleted", words("the update waits for what becomes of it"), nil)
	case !t.back && t.s.Request.Image == "": // There is nothing to make it from again.
		t.out.Then = words("Continues when it is gone and was created again with loopscope rolling-update -f")
	}
	t.out.Since = t.deletionSince()
	if going := t.kept(c); going != nil {
		lead := going.Lead
		if !own {
			lead = append(t.out.Lead.Say("; "), going.Lead...)
		}
		t.out.Lead, t.out.Then = lead, going.Then
		if going.Tone == decision.ToneWaiting {
			t.out.Tone = going.Tone
			if !own {
				t.out.State = "waiting"
			}
		}
	}
	if own && t.isLate() {
		t.out.Lead = append(words("it is being deleted; "), t.out.Lead...)
	}
	t.tooLong()
}

// kept is what keeps one that is being deleted; nil where that is not known.
func (t *teller) kept(c *Controller) *diagnosis.Going {
	var next time.Time
	look := diagnosis.Pods{Namespace: t.s.Namespace, Now: t.s.Now, Next: &next}
	going := look.Deletion(diagnosis.Kept{Deletion: c.Deletion, Meanwhile: "; until then nothing is scaled", Awaited: func() decision.Finding {
		if n := c.Deletion.Blocking; n > 0 {
			return look.Awaited(c.Terminating, n)
		}
		return diagnosis.Elsewhere()
	}}, longLead)
	t.out.NoteChange(next, t.s.Now)
	return going
}
