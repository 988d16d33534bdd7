package syncs

import (
	"slices"

	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/prose"
	"github.com/loopscope/loopscope/views"
	"github.com/loopscope/loopscope/web/address"
	"github.com/loopscope/loopscope/web/facts"
	"github.com/loopscope/loopscope/web/words"
)

// LastLine is the newest sync in one line: what triggered it, what it wrote, and
// when the loop looks again, the soonest of next that is not left over. It stands on the first screen, whatever else does.
func (s *Teller) LastLine(t *telemetry.Trace, next []views.Look, coming words.Coming) views.Text {
	line := views.Say("Last synced ").Since(t.Started).Plain(" ago").Join(s.syncOf(t))
	due := slices.IndexFunc(next, func(l views.Look) bool { return !l.Leftover })
	switch {
	case !coming.None():
		return line.Plain(".")
	case t.FoundGone():
		return line.Plain(". It is synced again when one of that name is created.")
	case len(next) == 0:
		return line.Plain(". No timer is set: the next change triggers a sync.")
	case due < 0:
		return line.Plain(". The next change triggers a sync. Otherwise one at ").Clock(next[0].At).Plain(", in ").Join(next[0].Why)
	}
	return line.Plain(". Looks again at ").Clock(next[due].At).Plain(", in ").Join(next[due].Why).Plain(" Or earlier, if anything changes.")
}

// LastKnownLine is the same of an object of which no newer sync is known: nobody knows whether
// anything will look again.
func (s *Teller) LastKnownLine(t *telemetry.Trace) views.Text {
	return views.Say("Last synced at " + words.DayAndTime(t.Started)).Join(s.syncOf(t)).Plain(".")
}

// syncOf is which sync that was, what triggered it and what it wrote.
func (s *Teller) syncOf(t *telemetry.Trace) views.Text {
	line := views.Say(" (").Link("sync "+words.Digits(t.Seq), address.Sync(t)).Plain("), triggered by ").Join(s.wokenBy(t)).Plain("; ")
	if t.Wrote() || t.Plans() {
		return line.Plain("it " + words.Did(t))
	}
	return line.Plain(words.SyncMark(t).Word)
}

// wokenBy is what woke a sync, and how many causes more there are.
func (s *Teller) wokenBy(t *telemetry.Trace) views.Text {
	c, ok := facts.WokeBy(t)
	if !ok {
		return views.Say("a cause that was not recorded")
	}
	v := s.causeOf(t, c)
	text := views.Say(v.Kind)
	if v.Object != "" {
		text = text.Plain(" ").Strong(v.Object)
	}
	if v.RV != "" {
		text = text.Plain(" at rv " + v.RV)
	}
	if len(v.Fields) > 0 {
		text = text.Plain(", ").Code(prose.Clip(v.Fields[0], 100))
	}
	if more := len(t.Causes) + t.Folded - 1; more > 0 {
		text = text.Plain(" and ").Link(prose.Count(more, "more cause"), address.Of(t.Object)+"#why")
	}
	return text
}
