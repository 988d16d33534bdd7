package object

import (
	"slices"

	"github.com/loopscope/loopscope/controllers/deployment"
	"github.com/loopscope/loopscope/telemetry/prose"
	"github.com/loopscope/loopscope/views"
	"github.com/loopscope/loopscope/web/address"
	"github.com/loopscope/loopscope/web/subject"
	"github.com/loopscope/loopscope/web/words"
)

// lastEvents are the Events of the newest sync, up to the one under the cursor,
// that published any.
func lastEvents(x *subject.Subject) []views.Line {
	for _, t := range slices.Backward(x.UpToCursor()) {
		if t.Report == nil || len(t.Report.Events) == 0 {
			continue
		}
		e := t.Report.Events[len(t.Report.Events)-1]
		text := views.Text{}.Code(e.Reason).Plain(", ").Clock(t.Ended).Plain(", by ").Link("#"+words.Digits(t.Seq), address.Sync(t)).Plain(" ").Faint(prose.Clip(e.Message, 240))
		return []views.Line{{Label: "last event", Text: text}}
	}
	return []views.Line{{Label: "last event", Text: views.Say("none by a kept sync")}}
}

// kubectlLine is what people who wait with kubectl see meanwhile.
func kubectlLine(snap *deployment.Snapshot) views.Line {
	return views.Line{Label: "kubectl", Text: views.Text{}.Code("rollout status").Plain(" ").Join(words.Text(deployment.RolloutStatus(snap), false))}
}
