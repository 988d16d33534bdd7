package syncs

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/prose"
	"github.com/loopscope/loopscope/views"
	"github.com/loopscope/loopscope/web/address"
	"github.com/loopscope/loopscope/web/words"
)

const (
	// recordedLate is how many syncs may be recorded after one that began after them.
	recordedLate = 64
	// causeChainSteps is how many steps of a chain stand beside a sync, causeChainSyncs how
	// many syncs of each object of the family it is looked for in.
	causeChainSteps, causeChainSyncs = 9, 120
	// mostWrites is how many writes of a step are named.
	mostWrites = 3
)

// CausesOf is how a sync came about: the nearest steps of its
// chain through the loops, oldest first, it itself last.
func (s *Teller) CausesOf(t *telemetry.Trace) views.CauseChain {
	c := causeSteps{of: t, kindOf: s.KindOf, met: map[uint64]bool{t.Seq: true}}
	c.walk(telemetry.NewExcerpt(s.Loops, s.family(t)).Chain(t).Origins.Links)
	slices.SortStableFunc(c.steps, func(a, b views.CauseStep) int { return a.At.Compare(b.At) })
	v := views.CauseChain{Href: address.Sync(t) + "/chain"}
	if cut := len(c.steps) - causeChainSteps; cut > 0 {
		c.steps, v.Earlier = c.steps[cut:], cut
	}
	v.Steps = append(c.steps, views.CauseStep{At: t.Started, Wrote: t.Wrote(), This: true,
		Text: views.Text{}.Strong(s.KindOf(t.Loop) + " #" + words.Digits(t.Seq) + ", this sync")})
	return v
}

// family are the newest syncs up to that one of its object, its owner and all that this one
// controls, and of what it works on or is worked on by.
func (s *Teller) family(t *telemetry.Trace) []*telemetry.Trace {
	head := telemetry.HeadOf(s.Loops, t.Object, t.Owner)
	members := []telemetry.Object{t.Object}
	if head != t.Object {
		members = append(members, head)
	}
	for _, child := range s.Children(head) {
		if child.Object != t.Object {
			members = append(members, child.Object)
		}
	}
	members = append(members, s.Steered(t)...)
	if by := s.SteeredBy(t.Object); by != nil {
		members = append(append(members, by.Object), s.Steered(by)...)
	}
	list := []*telemetry.Trace{t}
	for i, m := range members {
		if !slices.Contains(members[:i], m) {
			list = append(list, s.before(m, t)...)
		}
	}
	return list
}

// before are the newest syncs of an object that began before t: some that ran meanwhile may
// have been recorded after it.
func (s *Teller) before(o telemetry.Object, t *telemetry.Trace) []*telemetry.Trace {
	kept := s.Journal.Before(o, t.Seq+recordedLate, causeChainSyncs)
	return slices.DeleteFunc(kept, func(x *telemetry.Trace) bool {
		return x.Epoch != t.Epoch || x.Seq == t.Seq || !x.Started.Before(t.Started)
	})
}

// causeSteps gathers the steps of a chain, each sync and each event once.
type causeSteps struct {
	of     *telemetry.Trace
	kindOf func(loop string) string
	steps  []views.CauseStep
	met    map[uint64]bool
	said   []string
}

func (c *causeSteps) walk(links []*telemetry.Link) {
	for _, l := range links {
		switch {
		case l.Sync == nil:
			c.event(l.Cause)
		case !c.met[l.Sync.Seq]:
			c.met[l.Sync.Seq] = true
			c.steps = append(c.steps, c.sync(l))
		}
	}
	for _, l := range links {
		c.walk(l.Links)
	}
}

// event is a step that no kept sync made: somebody else, or one that is not kept.
func (c *causeSteps) event(e *telemetry.Cause) {
	if e.Due.After(c.of.Started) || e.At.After(c.of.Started) {
		return // A timer that was taken before its time led to nothing.
	}
	step := views.CauseStep{At: e.At}
	pod := strings.HasPrefix(e.Object, "Pod ")
	switch {
	case e.Sync != 0:
		step.Text = views.Sayf("#%d, not kept: ", e.Sync).Join(Event(e))
	case pod:
		b := telemetry.Beat{Kind: telemetry.BeatPod, Cause: e}
		step.Text = words.Text(b.Tell(), false)
	case e.Object != "" && e.Kind != telemetry.CauseStart && e.Kind != telemetry.CauseResync:
		step.Text = changeStep(e)
	default:
		step.Text = Event(e)
	}
	if said := fmt.Sprint(e.Object, e.NewRV, step.Text.String()); !slices.Contains(c.said, said) { // Several loops hear of one event.
		c.said = append(c.said, said)
		c.steps = append(c.steps, step)
	}
}

// changeStep is what somebody else changed, of many fields the first.
func changeStep(e *telemetry.Cause) views.Text {
	brief := *e
	more := len(e.Fields) - 1
	if more > 0 {
		brief.Fields = e.Fields[:1]
	}
	b := telemetry.Beat{Kind: telemetry.BeatChange, Cause: &brief}
	text := words.Text(b.Tell(), false)
	if more > 0 {
		text = text.Plain(" and " + prose.Count(more, "more field"))
	}
	return text
}

// sync is a sync of the chain, with the versions that it wrote.
func (c *causeSteps) sync(l *telemetry.Link) views.CauseStep {
	step := views.CauseStep{At: l.Sync.Started, Wrote: len(l.Writes) > 0, Text: views.Say(c.kindOf(l.Sync.Loop)+" ").
		Link("#"+words.Digits(l.Sync.Seq), address.SyncOf(l.Sync.Object, l.Sync.Epoch, l.Sync.Seq)).Plain(" ")}
	var rvs []string
	for i := range l.Writes {
		if l.Writes[i].RV != "" {
			rvs = append(rvs, l.Writes[i].RV)
		}
	}
	step.Text = step.Text.Plain(cmp.Or(words.DidWrites(l.Writes, mostWrites), "wrote nothing"))
	if len(rvs) > 0 {
		step.RV = "rv " + prose.Some(rvs, mostWrites)
	}
	return step
}

// Event is a cause in one line.
func Event(c *telemetry.Cause) views.Text {
	text := views.Say(words.CauseFor(*c))
	if c.Object != "" {
		text = text.Plain(" ").Code(c.Object)
	}
	if rv := words.FromTo(c.OldRV, c.NewRV); rv != "" {
		text = text.Plain(", rv " + rv)
	}
	if c.Manager != "" {
		text = text.Plain(", by ").Code(c.Manager)
	}
	for _, f := range c.Fields[:min(3, len(c.Fields))] {
		text = text.Plain(", ").Code(words.Change(f))
	}
	return text
}
