package facts

import (
	"time"

	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/decision"
)

// Taken reports whether a write went through, all of it or a part.
func Taken(o *decision.Outcome) bool {
	return o.State == decision.Written || o.State == decision.Partly
}

// Outdated reports whether the clock alone has made another sentence of it.
func Outdated(s decision.Sentence, now time.Time) bool {
	return !s.ChangesAt.IsZero() && !s.ChangesAt.After(now)
}

// TellAgain runs the recorded sync and tells it as of now.
func TellAgain(core decision.Core, t *telemetry.Trace, now time.Time) decision.Telling {
	s := decision.Sync{Core: core}
	s.Run(decision.Recorded(t.Rounds))
	if s.Report != nil && t.Report != nil {
		s.Report.Outcome = t.Report.Outcome
	}
	return s.Tell(t.Try, now)
}

// WokeBy is the first cause that had not been waiting for its time.
func WokeBy(t *telemetry.Trace) (telemetry.Cause, bool) {
	for _, c := range t.Causes {
		if !Early(t, c) {
			return c, true
		}
	}
	if len(t.Causes) > 0 {
		return t.Causes[0], true
	}
	return telemetry.Cause{}, false
}

// Held is the writes that the newest round of a sync refused.
func Held(t *telemetry.Trace) []decision.Held {
	if len(t.Rounds) == 0 {
		return nil
	}
	return t.Rounds[len(t.Rounds)-1].Verdict.Held
}

// Deciding is the id of the question that decided a sync: the one that held a
// write back, or else the one that led to the first write, or else the last.
func Deciding(t *telemetry.Trace) string {
	if step := DecidingStep(t); step != nil {
		return step.Question
	}
	return ""
}

// DecidingStep is the answer to that question; nil where a sync was asked none.
func DecidingStep(t *telemetry.Trace) *decision.Step {
	if len(t.Rounds) == 0 {
		return nil
	}
	v := &t.Rounds[len(t.Rounds)-1].Verdict
	for i := len(v.Path) - 1; i >= 0; i-- {
		if v.Path[i].Holds {
			return &v.Path[i]
		}
	}
	if len(v.Actions) > 0 {
		for i := len(v.Path) - 1; i >= 0; i-- {
			if v.Path[i].Question == v.Actions[0].Question {
				return &v.Path[i]
			}
		}
	}
	return v.Path.Last()
}

// Early reports whether a cause is a timer that had not rung: something else
// woke the key, and the timer was taken with it.
func Early(t *telemetry.Trace, c telemetry.Cause) bool { return c.Due.After(t.Started) }

// OutcomeAt is how the i-th action of a round ended.
func OutcomeAt(r decision.Round, i int) *decision.Outcome {
	if i < len(r.Outcomes) {
		return &r.Outcomes[i]
	}
	return &decision.Outcome{State: decision.NotTried}
}
