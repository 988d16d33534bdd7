package deployment

import (
	"time"

	"github.com/loopscope/loopscope/telemetry/decision"
	"github.com/loopscope/loopscope/telemetry/prose"
)

// Contest is what others change again and again, so that this loop gets nowhere.
type Contest struct {
	Field ContestedField `json:"field"`
	// Since is the first of Changes, and Last the newest.
	Since   time.Time `json:"since"`
	Last    time.Time `json:"last"`
	Changes int64     `json:"changes"`
	// By names up to MaxContestants field managers that made them, as far as they are known.
	By []string `json:"by,omitempty"`
	// BackAndForth is set where they set it back to what it was before; otherwise no rollout
	// of a template completed between the changes.
	BackAndForth bool `json:"backAndForth,omitempty"`
	// Object is the ReplicaSet, of the size of one: they set it, and each time it was set back.
	Object string `json:"object,omitempty"`
	// Low and High are the sizes that it was given, of a size.
	Low  int64 `json:"low,omitempty"`
	High int64 `json:"high,omitempty"`
}

// ContestedField is what a contest is about.
type ContestedField string

// The fields that are watched.
const (
	ContestedTemplate ContestedField = "spec.template"
	ContestedSize     ContestedField = "spec.replicas"
	ContestedSet      ContestedField = "replicaset.spec.replicas"
	// ContestedPods is no field: its pods are deleted, and replaced.
	ContestedPods ContestedField = "pods"
)

// MaxContestants bounds the managers that are named.
const MaxContestants = 3

// A contest is over when nobody has changed the field for three times as long as it took on
// average, within these bounds.
const (
	shortestTruce = 15 * time.Second
	longestTruce  = 10 * time.Minute
)

// Over is when the contest is over unless the field is changed again.
func (c *Contest) Over() time.Time {
	between := min(c.Last.Sub(c.Since)/time.Duration(max(1, c.Changes-1)), longestTruce)
	return c.Last.Add(min(max(shortestTruce, 3*between), longestTruce))
}

// contested is a field that is changed so often that nothing comes of it. Pods that cannot start are
// the nearer cause.
func (p *teller) contested() bool {
	c := p.s.Contest
	if c == nil || !p.now.Before(c.Over()) {
		return false
	}
	if f := p.blocker(); f != nil && f.NeedsAction {
		return false
	}
	p.out.NoteChange(c.Over(), p.now)
	p.out.Since = c.Since
	lead, end := c.words()
	times := prose.Plural(c.Changes, " time", " times")
	if c.Field == ContestedPods {
		times = ""
	}
	lead = lead.Say(": ").Count(fChanges, c.Changes).Say(times + " in ").Since(c.Since)
	if !c.BackAndForth && len(c.By) > 0 {
		lead = append(lead.Say(", by "), listed(c.By)...)
	}
	return p.waits("contested", p.fit(lead), words("Needs action: unblocks when "+end))
}

// words say who changes what, and what ends that.
func (c *Contest) words() (lead decision.Words, end string) {
	switch {
	case c.Field == ContestedPods: // Whoever deletes a pod leaves no name.
		return words("somebody keeps deleting its pods"), "nobody deletes them any more"
	case !c.BackAndForth:
		return words("its template is changed again before any rollout completes"), "the template is left alone until a rollout completes"
	case c.Field == ContestedSet:
		scale := prose.Plural(int64(len(c.By)), " scales", " scale")
		return listed(c.By).Say(scale + " ReplicaSet ").Name(c.Object).Say(", and it is scaled back each time"), "only the Deployment is scaled"
	case c.Field == ContestedSize:
		return listed(c.By).Say(" scale it back and forth between ").Count(fLow, c.Low).Say(" and ").Count(fHigh, c.High), "only one of them sets its size"
	default:
		return listed(c.By).Say(" change its template back and forth"), "only one of them changes it"
	}
}

// listed is "a, b and c". Managers may call themselves what they like.
func listed(names []string) (w decision.Words) {
	for i, name := range names {
		switch {
		case i > 0 && i == len(names)-1:
			w = w.Say(" and ")
		case i > 0:
			w = w.Say(", ")
		}
		w = w.Quote(name)
	}
	return w
}

// facts are what its sentence counts with.
func (c *Contest) facts() []decision.Fact {
	if c == nil {
		return nil
	}
	return []decision.Fact{decision.Count(fChanges, c.Changes), decision.Count(fLow, c.Low), decision.Count(fHigh, c.High)}
}

func (l *limits) contest(c *Contest) {
	if c == nil {
		return
	}
	l.instant("since of the contest", c.Since)
	l.instant("last of the contest", c.Last)
	l.count("changes of the contest", c.Changes)
	l.count("low of the contest", c.Low)
	l.count("high of the contest", c.High)
	least := 0
	switch {
	case c.Field == ContestedSet:
		least = 1
	case c.BackAndForth || c.Field == ContestedSize:
		least = 2
	}
	switch {
	case c.Field != ContestedTemplate && c.Field != ContestedSize && c.Field != ContestedSet && c.Field != ContestedPods:
		l.fail("a contest is about %q: use %s, %s, %s or %s", c.Field, ContestedTemplate, ContestedSize, ContestedSet, ContestedPods)
	case c.Since.IsZero() || c.Last.IsZero():
		l.fail("a contest about %s has no time of its first or its last change", c.Field)
	case len(c.By) > MaxContestants:
		l.fail("a contest has %d field managers, more than the %d that are read", len(c.By), MaxContestants)
	case len(c.By) < least:
		l.fail("a contest about %s takes %d or more field managers, and has %d", c.Field, least, len(c.By))
	}
}
