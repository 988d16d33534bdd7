package telemetry

import (
	"time"

	"github.com/loopscope/loopscope/telemetry/decision"
	"github.com/loopscope/loopscope/telemetry/prose"
)

// StoryLeader is a change of leader as a story met it.
type StoryLeader struct {
	LeaderChange
	// Ours is set where this process took over.
	Ours bool `json:"ours,omitempty"`
}

// WithLeadership tells the excerpt of the changes of leader that the process knows of, for its
// stories.
func (e *Excerpt) WithLeadership(l Leadership) *Excerpt {
	e.leadership = l
	return e
}

// sameChange is how much later than a change of leader the syncs are woken that follow from it.
const sameChange = 5 * time.Second

// leaderBeats are the changes of leader in a story: those that are known, and those that its syncs
// alone tell of.
func (e *Excerpt) leaderBeats(s *Story, syncs []*Trace) []Beat {
	var list []Beat
	add := func(c StoryLeader) {
		if !s.during(c.At) {
			return
		}
		list = append(list, Beat{Kind: BeatLeader, At: c.At, Object: "Lease", Leader: &c})
	}
	for _, c := range e.leadership.Changes {
		add(StoryLeader{c, c.To != "" && c.To == e.leadership.Identity})
	}
	var told time.Time
	for _, t := range syncs {
		at := t.leadSince()
		if at.IsZero() || at.Sub(told) < sameChange || e.knows(at) {
			continue
		}
		told = at
		add(StoryLeader{LeaderChange{At: at}, e.leadership.Epoch == "" || t.Epoch == e.leadership.Epoch})
	}
	return list
}

// missedBeats are the gaps in what was received of leaders while the story ran, each where it begins.
func (e *Excerpt) missedBeats(s *Story) []Beat {
	var list []Beat
	for _, m := range e.leadership.Missed {
		if !s.during(m.From) {
			continue
		}
		list = append(list, Beat{Kind: BeatMissed, At: m.From, Object: "Lease", Missed: &m})
	}
	return list
}

// leadSince is when the process became the leader, of a sync that was woken by that.
func (t *Trace) leadSince() time.Time {
	for i := range t.Causes {
		if t.Causes[i].Kind == CauseLead {
			return t.Causes[i].At
		}
	}
	return time.Time{}
}

// knows reports whether a change of leader is known by which syncs were woken at that time.
func (e *Excerpt) knows(at time.Time) bool {
	for _, c := range e.leadership.Changes {
		if late := at.Sub(c.At); c.To != "" && late > -sameChange && late < sameChange {
			return true
		}
	}
	return false
}

// tell says who leads now, instead of whom, and for how long nobody did.
func (c *StoryLeader) tell() decision.Words {
	var w decision.Words
	switch {
	case c.To == "" && c.From == "" && !c.Ours:
		return w.Say("Another process became the leader")
	case c.To == "" && !c.Ours:
		return w.Name(c.From).Say(" gave the Lease back: nobody leads")
	case c.Ours:
		w = w.Say("This process became the leader")
	default:
		w = w.Name(c.To).Say(" became the leader")
	}
	switch gap := c.Gap(); {
	case c.From != "" && gap > 0:
		return w.Say(" after ").Name(c.From).Say(", which last renewed the Lease ").Quote(prose.Span(gap)).Say(" earlier")
	case c.From != "":
		return w.Say(" after ").Name(c.From)
	case gap > 0:
		return w.Say("; nobody led for ").Quote(prose.Span(gap))
	}
	return w
}

// Tell says what may be missing of a leader's syncs, and from when to when, as a sentence begins.
func (m *MissedSyncs) Tell() decision.Words {
	w := m.Lead()
	w[0].Text = prose.Upper(w[0].Text)
	return w
}

// Lead is Tell within a sentence.
func (m *MissedSyncs) Lead() (w decision.Words) {
	switch {
	case m.Count == 0 && m.To.IsZero():
		return w.Say("syncs of ").Name(m.Leader).Say(" after ").Clock(m.From).Say(" may be missing")
	case m.Count == 0:
		return w.Say("syncs of ").Name(m.Leader).Say(" between ").Clock(m.From).Say(" and ").Clock(m.To).Say(" may be missing")
	}
	verb := " were not received"
	if m.Count == 1 {
		verb = " was not received"
	}
	return w.Say(prose.Count(m.Count, "sync") + " of ").Name(m.Leader).Say(" between ").Clock(m.From).Say(" and ").Clock(m.To).Say(verb)
}
