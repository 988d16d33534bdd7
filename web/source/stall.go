package source

import (
	"time"

	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/prose"
	"github.com/loopscope/loopscope/views"
)

// stallNotice says that nobody writes what is due, and whether the other controller writes at all.
func stallNotice(stall *telemetry.Stall, started, now time.Time) *views.Notice {
	who := prose.Clip(stall.Manager, 60)
	n := &views.Notice{Tone: views.Waiting, Title: who + " does not seem to run"}
	n.Text = views.Text{}.Link(prose.Count(stall.Decisions, "decision")+prose.Plural(stall.Decisions, " that is due has", " that are due have")+" not been written", "/shadow").
		Plain(prose.Plural(stall.Decisions, ", for ", ", the first for ")).Since(stall.Since)
	switch {
	case !stall.Idle(now):
		n.Title = "Decisions that are due are not written"
		n.Text = n.Text.Plain(". " + who + " does run, as it wrote something else ").Since(stall.Wrote).Plain(" ago: it may be behind, be refused, or decide otherwise; its log says more.")
	case stall.Wrote.IsZero():
		n.Text = n.Text.Plain(". " + who + " has written nothing since this process started at ").Clock(started).Plain(" UTC: check that it runs, and that its loops are not switched off.")
	default:
		n.Text = n.Text.Plain(". " + who + " last wrote something ").Since(stall.Wrote).Plain(" ago: check that it runs.")
	}
	return n
}
