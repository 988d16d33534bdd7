package object

import (
	"slices"

	"github.com/loopscope/loopscope/controllers/replicaset"
	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/decision"
	"github.com/loopscope/loopscope/views"
	"github.com/loopscope/loopscope/web/page"
	"github.com/loopscope/loopscope/web/source"
	"github.com/loopscope/loopscope/web/subject"
	"github.com/loopscope/loopscope/web/words"
)

// beside is the sync of another object that a page shows beside its own: the newest, or the one in
// force at the moment that the address names. Nil where none is kept.
func (s *Pages) beside(x *subject.Subject, o telemetry.Object) *telemetry.Trace {
	t, ok := s.Journal.Board().Get(o)
	switch {
	case ok && (x.Moment.IsZero() || !t.Started.After(x.Moment)):
		return t
	case x.Moment.IsZero():
		return nil
	}
	for _, t := range slices.Backward(s.Journal.Of(o, source.HistoryRows)) {
		if !t.Started.After(x.Moment) {
			return t
		}
	}
	return nil
}

// saidOf is what is to be said of a sync beside, as of now or of the moment that the address names.
func (s *Pages) saidOf(q *page.Query, x *subject.Subject, t *telemetry.Trace) decision.Sentence {
	if x.Moment.IsZero() {
		return s.SaidNow(t, q.Now)
	}
	return s.Said(t, x.Moment)
}

// podsThen lists the pods that a sync saw, and stops their ages where the page is not of now.
func (s *Pages) podsThen(x *subject.Subject, t *telemetry.Trace, snap *replicaset.Snapshot) ([]views.Pod, string) {
	pods, note := podsOf(snap)
	switch {
	case !x.Moment.IsZero():
		views.StillPods(pods, x.Moment)
		note += ", as of " + words.DayAndTime(x.Moment)
	case x.Unseen():
		views.StillPods(pods, x.Newest.Ended)
	default:
		s.Outage().FreezePods(pods, t)
	}
	return pods, note
}
