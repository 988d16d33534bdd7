package syncs

import (
	"fmt"

	"github.com/loopscope/loopscope/controllers/replicaset"
	"github.com/loopscope/loopscope/controllers/rollingupdate"
	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/decision"
	"github.com/loopscope/loopscope/telemetry/prose"
	"github.com/loopscope/loopscope/views"
	"github.com/loopscope/loopscope/web/facts"
	"github.com/loopscope/loopscope/web/words"
)

// Expects is the creations and deletions that the newest sync had not seen.
func Expects(snap *replicaset.Snapshot) views.Text {
	e := snap.Expect
	if e.Creates <= 0 && e.Deletes <= 0 {
		return views.Say("None: the cache shows every pod that it created or deleted.")
	}
	t := views.Say("Waits to see ")
	switch {
	case e.Creates > 0 && e.Deletes > 0:
		t = t.Strong(prose.Count(e.Creates, "creation")).Plain(" and ").Strong(prose.Count(e.Deletes, "deletion"))
	case e.Creates > 0:
		t = t.Strong(prose.Count(e.Creates, "creation"))
	default:
		t = t.Strong(prose.Count(e.Deletes, "deletion"))
	}
	if !e.Since.IsZero() {
		t = t.Plain(", for ").Since(e.Since)
	}
	if !e.Expires.IsZero() {
		t = t.Plain("; stops waiting in ").Until(e.Expires)
	}
	return t.Plain(".")
}

// Headline says what the sync did, from its outcomes.
func (s *Teller) Headline(t *telemetry.Trace) views.Text {
	text := views.Say("Sync " + words.Digits(t.Seq) + " of ").Code(t.Key()).Plain(" ")
	switch {
	case t.Wrote(), t.Plans():
		text = text.Plain(words.Did(t))
	case t.Failure != nil && words.SyncMark(t) == words.StateMark(decision.Unanswered):
		text = text.Plain("got no answer: ").Code(prose.Clip(t.Failure.Message, 160))
	case t.Failure != nil:
		text = text.Plain(words.ResultMark(t.Result).Word + ": ").Code(prose.Clip(t.Failure.Message, 160))
	case t.Result == telemetry.ResultUnchanged:
		text = text.Plain("had nothing to write")
	default:
		text = text.Plain("wrote nothing: " + words.ResultMark(t.Result).Word)
	}
	if n := len(facts.Held(t)); n > 0 {
		text = text.Plain(", and held " + prose.Count(n, "write") + " back")
	}
	return text.Plain(".")
}

// Observed is what the caches held, in a few lines.
func (s *Teller) Observed(t *telemetry.Trace) []views.Line {
	if snap, err := facts.Deployment(s.Loops, t); err == nil {
		lines := []views.Line{{Label: "Deployment", Text: views.Sayf("rv %s, generation %d, wanted %d", prose.OrNone(snap.RV), snap.Generation, snap.Want)}}
		empty := 0
		for i := range snap.ReplicaSets {
			rs := &snap.ReplicaSets[i]
			if rs.Replicas == 0 && rs.StatusReplicas == 0 && !rs.SameTemplate {
				empty++
				continue
			}
			label := "old"
			if rs.SameTemplate {
				label = "new"
			}
			lines = append(lines, views.Line{Label: label, Text: views.Text{}.Code(rs.Name).
				Plain(fmt.Sprintf(" rv %s, size %d, %d available", rs.RV, rs.Replicas, rs.Available))})
		}
		if empty > 0 {
			lines = append(lines, views.Line{Label: "others", Text: views.Say(prose.Count(empty, "ReplicaSet") + " of size 0")})
		}
		return lines
	}
	if snap, err := facts.ReplicaSet(s.Loops, t); err == nil {
		return []views.Line{
			{Label: s.KindOf(t.Loop), Text: views.Sayf("rv %s, generation %d, wanted %d", prose.OrNone(snap.RV), snap.Generation, snap.Want)},
			{Label: "pods", Text: views.Say(prose.Count(len(snap.Pods), "pod") + ": its own and orphans")},
			{Label: "expects", Text: Expects(snap)},
		}
	}
	if snap, err := facts.RollingUpdate(s.Loops, t); err == nil {
		return observedUpdate(snap)
	}
	if !t.Snapshot.IsZero() {
		return []views.Line{{Label: "snapshot", Text: views.Say("as JSON, under Raw")}}
	}
	return []views.Line{{Label: "snapshot", Text: views.Say("not recorded")}}
}

// observedUpdate is what the caches held of a rolling update.
func observedUpdate(snap *rollingupdate.Snapshot) []views.Line {
	asked := views.Say("none")
	switch {
	case snap.RequestError != "":
		asked = views.Say("cannot be read")
	case snap.Request != nil:
		asked = views.Text{}.Code(prose.Clip(snap.Request.Text(), 300))
	}
	return []views.Line{{Label: "request", Text: asked}, controllerLine("new", snap.New), controllerLine("old", snap.Old)}
}

// controllerLine is one of its two ReplicationControllers.
func controllerLine(label string, c *rollingupdate.Controller) views.Line {
	if c == nil {
		return views.Line{Label: label, Text: views.Say("none")}
	}
	text := views.Text{}.Code(c.Name).Plain(fmt.Sprintf(" rv %s, size %d, %s", prose.OrNone(c.RV), c.Size, prose.Count(len(c.Pods), "pod")))
	if c.Deleting {
		text = text.Plain(", being deleted")
	}
	return views.Line{Label: label, Text: text}
}
