package syncs

import (
	"fmt"
	"sort"
	"strings"
	"time"

	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/decision"
	"github.com/loopscope/loopscope/telemetry/prose"
	"github.com/loopscope/loopscope/views"
	"github.com/loopscope/loopscope/web/address"
	"github.com/loopscope/loopscope/web/facts"
	"github.com/loopscope/loopscope/web/words"
)

// Of is one sync in full. Facts of a past sync stay as they were.
func (s *Teller) Of(t *telemetry.Trace) views.Sync {
	v := views.Sync{Seq: t.Seq, Epoch: t.Epoch, Loop: t.Loop, At: t.Started, Result: words.SyncMark(t), Took: views.Took(t.Took()),
		Why: s.whyOf(t), Wrote: s.wroteOf(t), Next: Looks(t)}
	v.Rounds, v.Report = s.roundsOf(t)
	if t.Failure != nil {
		v.Failure = words.Failure(t.Failure)
	}
	return v
}

// whyOf is every cause that was coalesced into the sync.
func (s *Teller) whyOf(t *telemetry.Trace) views.Why {
	v := views.Why{Note: prose.Count(len(t.Causes)+t.Folded, "cause")}
	for _, c := range t.Causes {
		v.Causes = append(v.Causes, s.causeOf(t, c))
	}
	switch {
	case t.Folded > 0:
		v.More = views.Sayf("and %s more that are only counted.", prose.Thousands(t.Folded))
	case len(t.Causes) == 0 && t.TakenBy > 0:
		v.More = views.Say("Its cause was already handled by ").Join(s.toSync(t, "sync "+words.Digits(t.TakenBy), t.TakenBy)).Plain(", which was running when it arrived.")
	case len(t.Causes) == 0:
		v.More = views.Say("No cause was recorded.")
	}
	return v
}

func (s *Teller) causeOf(t *telemetry.Trace, c telemetry.Cause) views.Cause {
	v := views.Cause{Kind: words.CauseFor(c), Object: c.Object, At: c.At, RV: words.FromTo(c.OldRV, c.NewRV), By: s.causedBy(t, c)}
	if facts.Early(t, c) {
		v.Kind += ", not due yet"
	}
	for _, f := range c.Fields {
		v.Fields = append(v.Fields, words.Change(f))
	}
	return v
}

// causedBy says whose write the event is: our own, by its sync, or that of a manager.
func (s *Teller) causedBy(t *telemetry.Trace, c telemetry.Cause) views.Text {
	switch seq := s.causedIn(t, c); {
	case seq != 0:
		return s.toSync(t, s.writer(t, seq), seq)
	case c.Manager != "":
		return views.Say("by ").Code(c.Manager)
	case !c.Due.IsZero() && !c.Due.Equal(c.At):
		return views.Say("for ").Clock(c.Due)
	}
	return nil
}

// causedIn is the number of the sync whose write the event is, in the run of the sync that it woke;
// 0 where none is known.
func (s *Teller) causedIn(t *telemetry.Trace, c telemetry.Cause) uint64 {
	kind, namespace, name, ok := t.Called(c.Object)
	if c.Sync != 0 || !ok || !s.ofThisRun(t) {
		return c.Sync
	}
	if seq, ok := s.Journal.SyncOf(kind, namespace, name, c.NewRV); ok {
		return seq
	}
	if seq, ok := s.Journal.Named(kind, namespace, name); ok && s.turned(seq, c.Kind, kind, namespace, name) {
		return seq
	}
	return 0
}

// turned reports whether a sync created the object that the event says is new, or deleted the one
// that is gone. Of one that is kept no longer that is taken for granted with pods, whose names do
// not come back.
func (s *Teller) turned(seq uint64, by telemetry.CauseKind, kind, namespace, name string) bool {
	if by != telemetry.CauseAdded && by != telemetry.CauseDeleted {
		return false
	}
	t, ok := s.Journal.Get(seq)
	switch {
	case !ok:
		return kind == "Pod"
	case by == telemetry.CauseAdded:
		return t.Created(s.Loops, kind, namespace, name)
	}
	return t.Deleted(s.Loops, kind, namespace, name)
}

// writer names the sync that wrote an event, seen from the sync that it woke. Whose it was is known
// of one that is found alone.
func (s *Teller) writer(t *telemetry.Trace, seq uint64) string {
	w, ok := s.Journal.Get(seq)
	switch {
	case !s.ofThisRun(t):
		return fmt.Sprintf("written in sync #%d of that run", seq)
	case !ok:
		return fmt.Sprintf("written in sync #%d", seq)
	case w.Object != t.Object:
		return fmt.Sprintf("written by %s #%d", s.KindOf(w.Loop), seq)
	}
	return fmt.Sprintf("its own write, #%d", seq)
}

// toSync leads to a sync of the same run by its number alone, where it is found. Of an earlier run
// the number says nothing about where it is.
func (s *Teller) toSync(from *telemetry.Trace, words string, seq uint64) views.Text {
	if t, ok := s.Journal.Get(seq); ok && s.ofThisRun(from) {
		return views.Text{}.Link(words, address.Sync(t))
	}
	return views.Say(words)
}

// Looks is every timer of a sync, soonest first.
func Looks(t *telemetry.Trace) []views.Look {
	timers := append([]decision.Timer(nil), t.Timers...)
	sort.SliceStable(timers, func(i, j int) bool { return timers[i].At.Before(timers[j].At) })
	list := make([]views.Look, 0, len(timers))
	for _, x := range timers {
		list = append(list, views.Look{At: x.At, Question: x.Question, Why: LookWhy(x)})
	}
	return list
}

// lookWhys say what a timer finds out.
var lookWhys = map[string]string{
	"deadline":     "the progress deadline, which is only reported",
	"min-ready":    "a ready pod has then been ready for minReadySeconds",
	"echo":         "whether its own write has arrived in the cache",
	"back-off":     "tries again after the error",
	"expectations": "stops waiting for pods it has not seen",
	"status":       "publishes the deferred status",
	"period":       "the update period is over, so that old pods may go",
	"releasing":    "whether the pods have changed hands",
	"requeue":      "its controller asked to run again",
}

// LookWhy says what a timer finds out.
func LookWhy(t decision.Timer) views.Text {
	why, ok := lookWhys[t.Code]
	if !ok {
		why = t.Code
	}
	return views.Text{}.Until(t.At).Plain(": " + why + ".")
}

// Phases is where the time of a sync went, its wait included.
func Phases(t *telemetry.Trace) ([]views.Phase, string) {
	parts := []struct {
		name, shade string
		took        time.Duration
	}{
		{"wait", "a", max(0, t.Wait())}, {"observe", "b", t.Phases.Observe}, {"decide", "c", t.Phases.Decide},
		{"act", "b", t.Phases.Act}, {"settle", "c", t.Phases.Settle}, {"publish", "b", t.Phases.Publish},
	}
	var total time.Duration
	for _, p := range parts {
		total += p.took
	}
	const gap = 0.2 // of a hundred, so that neighbours can be told apart
	list := make([]views.Phase, 0, len(parts))
	words := make([]string, 0, len(parts))
	at := 0.0
	for _, p := range parts {
		width := 0.0
		if total > 0 {
			width = 100 * float64(p.took) / float64(total)
		}
		list = append(list, views.Phase{Name: p.name, Took: views.Took(p.took), Shade: p.shade, From: at, Width: max(0, width-gap)})
		words = append(words, p.name+" "+views.Took(p.took))
		at += width
	}
	return list, views.Took(total) + ": " + strings.Join(words, ", ")
}
