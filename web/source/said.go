package source

import (
	"time"

	"github.com/loopscope/loopscope/controllers/sim"
	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/decision"
	"github.com/loopscope/loopscope/web/facts"
	"github.com/loopscope/loopscope/web/words"
)

// Said is what is to be said of a trace now: its sentence, until the clock
// alone makes another of it, or what is due has been so for too long.
func (s *Source) Said(t *telemetry.Trace, now time.Time) decision.Sentence {
	said := s.told(t, now).Sentence
	for _, d := range s.due(t) {
		turns := d.At.Add(telemetry.ShadowStalls)
		if turns.Before(now) {
			return words.Overdue(said, t.Object, &d)
		}
		said.NoteChange(turns.Add(time.Millisecond), now)
	}
	return said
}

// due is what nobody has written yet of the object of a sync; none of one that is not its newest.
func (s *Source) due(t *telemetry.Trace) []telemetry.Difference {
	due := s.Opts.Due(t.Object)
	if len(due) == 0 {
		return nil
	}
	if newest, ok := s.Journal.Board().Get(t.Object); !ok || newest.Epoch != t.Epoch || newest.Seq != t.Seq {
		return nil
	}
	return due
}

// Overdue is since when a write of an object has been due that its newest sync would have made, or one of those that
// it controls; zero where none has been for long.
func (s *Source) Overdue(t *telemetry.Trace, now time.Time) time.Time {
	now, _ = s.Outage().AsOf(t, now)
	for _, d := range s.due(t) {
		if d.At.Add(telemetry.ShadowStalls).Before(now) {
			return d.At
		}
	}
	return time.Time{}
}

// Diagnosis is what keeps the pods of a trace's object, as the sentence of that instant names it.
func (s *Source) Diagnosis(t *telemetry.Trace, now time.Time) decision.Diagnosis {
	at, _ := s.Outage().AsOf(t, now)
	return s.told(t, at).Diagnosis
}

// told is what is to be said of a trace from that instant on, until it changes.
type told struct {
	decision.Telling
	at time.Time
}

func (s *Source) told(t *telemetry.Trace, now time.Time) decision.Telling {
	if !facts.Outdated(t.Sentence, now) {
		return decision.Telling{Sentence: t.Sentence, Diagnosis: t.Diagnosis}
	}
	if known, ok := s.says.Get(t); ok && !known.at.After(now) && !facts.Outdated(known.Sentence, now) {
		return known.Telling
	}
	again := s.sayAgain(t, now)
	s.says.Put(t, told{again, now})
	return again
}

// maxTurns bounds how often the clock alone may change a sentence.
const maxTurns = 16

// SaidSince is what is to be said of a row now, and since when it has had that tone.
func (s *Source) SaidSince(r telemetry.Row, now time.Time) (said decision.Sentence, since time.Time) {
	said = s.SaidNow(r.Trace, now)
	switch {
	case said.Tone == r.Trace.Sentence.Tone:
		return said, r.SinceTone
	case !said.Since.IsZero(): // The clock alone brought it here.
		return said, said.Since
	}
	return said, s.TonedAt(r.Trace, said.Tone, now)
}

// TonedAt is when the clock alone gave what is said of a sync the tone that it has now.
func (s *Source) TonedAt(t *telemetry.Trace, tone decision.Tone, now time.Time) time.Time {
	at := t.Sentence.ChangesAt
	snap, err := t.Decided(s.Loops)
	if err != nil {
		return at
	}
	for range maxTurns {
		said := facts.TellAgain(snap.Begin(), t, at).Sentence
		if said.Tone == tone || !said.ChangesAt.After(at) || said.ChangesAt.After(now) {
			break
		}
		at = said.ChangesAt
	}
	return at
}

// Estimate says when the rollout of a sync may complete; nil where none was under way.
// It is folded when the first reader asks.
func (s *Source) Estimate(t *telemetry.Trace) *decision.Estimate {
	if e, ok := s.estimates.Get(t); ok {
		return e
	}
	var e *decision.Estimate
	if snap, err := t.Decided(s.Loops); err == nil && len(t.Rounds) > 0 {
		e = sim.EstimateOf(snap, t.Rounds[len(t.Rounds)-1])
	}
	s.estimates.Put(t, e)
	return e
}

// sayAgain tells a sync as of now. Where the snapshot cannot be read, what was said stands.
func (s *Source) sayAgain(t *telemetry.Trace, now time.Time) decision.Telling {
	again := decision.Telling{Sentence: t.Sentence, Diagnosis: t.Diagnosis}
	if snap, err := t.Decided(s.Loops); err == nil {
		again = facts.TellAgain(snap.Begin(), t, now)
	}
	if facts.Outdated(again.Sentence, now) { // It would turn again at once: the timer's own sync will say more.
		again.Sentence.ChangesAt = time.Time{}
	}
	return again
}
