package object

import (
	"slices"
	"time"

	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/decision"
	"github.com/loopscope/loopscope/views"
	"github.com/loopscope/loopscope/web/address"
	"github.com/loopscope/loopscope/web/facts"
	"github.com/loopscope/loopscope/web/subject"
	"github.com/loopscope/loopscope/web/syncs"
	"github.com/loopscope/loopscope/web/words"
)

// olderLooks are the timers of syncs before the newest that still run: the queue
// keeps the earliest of a key until one of them rings, and a ring ends them all.
func olderLooks(x *subject.Subject, now time.Time) []views.Look {
	seen := slices.Clone(x.Newest.Timers)
	var list []views.Look
	for i := len(x.Kept) - 1; i >= 0; i-- {
		t := x.Kept[i]
		if t.Epoch != x.Newest.Epoch || t.Seq > x.Newest.Seq {
			continue
		}
		for _, m := range t.Timers {
			if !m.At.After(now) || slices.ContainsFunc(seen, func(k decision.Timer) bool { return k.Code == m.Code && k.At.Equal(m.At) }) {
				continue
			}
			seen = append(seen, m)
			list = append(list, olderLook(x.Newest, t, m))
		}
		if slices.ContainsFunc(t.Causes, func(c telemetry.Cause) bool { return rang(t, &c) }) {
			break
		}
	}
	return list
}

// olderLook is a timer m of an earlier sync t.
func olderLook(newest, t *telemetry.Trace, m decision.Timer) views.Look {
	v := views.Look{At: m.At, Question: m.Question}
	if v.Leftover = isLeftover(newest, m); v.Leftover {
		v.Why = views.Text{}.Until(m.At).Plain(": an older timer, left over from ").Link("sync "+words.Digits(t.Seq), address.Sync(t)).Plain(", which will find nothing to do.")
		return v
	}
	v.Why = syncs.LookWhy(m).Plain(" An older timer, of ").Link("sync "+words.Digits(t.Seq), address.Sync(t)).Plain(": the queue keeps the earlier of two.")
	return v
}

// isLeftover reports whether the newest sync came to its end without setting such a timer:
// what m would look at is over.
func isLeftover(newest *telemetry.Trace, m decision.Timer) bool {
	concluded := newest.Failure == nil && (newest.Report != nil || newest.FoundGone())
	return concluded && !slices.ContainsFunc(newest.Timers, func(k decision.Timer) bool { return k.Code == m.Code })
}

// rang reports whether a cause is a timer whose time had come.
func rang(t *telemetry.Trace, c *telemetry.Cause) bool {
	return (c.Kind == telemetry.CauseTimer || c.Kind == telemetry.CauseBackoff) && !facts.Early(t, *c)
}

// looksNow are all timers that run now, soonest first. Those of an earlier run have ended with it.
func looksNow(x *subject.Subject, now time.Time) []views.Look {
	if x.Unseen() {
		return nil
	}
	list := syncs.Looks(x.Newest)
	if older := olderLooks(x, now); len(older) > 0 && older[soonestLook(older)].At.Before(firstLook(list)) {
		list = append([]views.Look{older[soonestLook(older)]}, list...) // Later ones would find out nothing that the newest does not.
	}
	return list
}

func soonestLook(list []views.Look) int {
	best := 0
	for i := range list {
		if list[i].At.Before(list[best].At) {
			best = i
		}
	}
	return best
}

// firstLook is the first of a sorted list, and for none a time after all others.
func firstLook(list []views.Look) time.Time {
	if len(list) == 0 {
		return time.Unix(1<<40, 0)
	}
	return list[0].At
}
