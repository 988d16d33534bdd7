package telemetry

import (
	"slices"

	"github.com/loopscope/loopscope/telemetry/decision"
)

// maxLinks bounds the links of one chain: a long rollout hangs together as one.
const maxLinks = 256

// Link is one node of a chain, which is a tree: how a sync came about, or what
// came of it. Nearer links come before farther ones, and a sync that is reached
// in two ways hangs on the first.
type Link struct {
	// Cause joins this node to the one that it hangs on: it is the event that
	// told the later of both syncs of a write of the earlier, or the timer that the
	// earlier one set. Nil at the root.
	Cause *Cause `json:"cause,omitempty"`
	// Sync is nil where somebody else, the clock or a start was the cause.
	Sync   *Hit    `json:"sync,omitempty"`
	Writes []Write `json:"writes,omitempty"`
	// Elsewhere is set where the sync is another node of the tree, which has what follows.
	Elsewhere bool    `json:"elsewhere,omitempty"`
	Links     []*Link `json:"links,omitempty"`
	// Cut counts links that were left out for the bound of the tree.
	Cut int `json:"cut,omitempty"`
}

// Chain is a sync between its causes and its effects.
type Chain struct {
	Sync Hit `json:"sync"`
	// Origins goes back in time, Effects forward. Both have the sync as the root.
	Origins *Link `json:"origins"`
	Effects *Link `json:"effects"`
}

// Chain follows the writes of a sync of the excerpt in both directions.
func (e *Excerpt) Chain(t *Trace) Chain {
	return Chain{Sync: t.Hit(t.Class(DefaultSlow)), Origins: e.grow(t, e.origins), Effects: e.grow(t, e.effects)}
}

// step is a neighbour of a sync: nil by for a cause that no sync of the excerpt wrote.
type step struct {
	cause *Cause
	sync  *Trace
}

// origins are the causes of a sync, with who wrote them.
func (e *Excerpt) origins(t *Trace) []step {
	steps := make([]step, 0, len(t.Causes))
	for i := range t.Causes {
		c := &t.Causes[i]
		by := e.WriterOf(t, c)
		if by == nil && c.Kind == CauseTimer {
			by = e.armed(t, c)
		}
		steps = append(steps, step{c, by})
	}
	return steps
}

// armed is the last sync of the same object that set the timer which woke t; nil
// where it is not in the excerpt, or where the timer was taken before its time.
func (e *Excerpt) armed(t *Trace, c *Cause) *Trace {
	if c.Due.After(t.Started) {
		return nil
	}
	at, _ := slices.BinarySearchFunc(e.traces, t, func(x, t *Trace) int { return x.Started.Compare(t.Started) })
	for i := at - 1; i >= 0; i-- {
		if x := e.traces[i]; x.Object == t.Object && slices.ContainsFunc(x.Timers, func(m decision.Timer) bool { return m.Code == c.Code && m.At.Equal(c.Due) }) {
			return x
		}
	}
	return nil
}

// effects are the syncs that took a write of this one as a cause.
func (e *Excerpt) effects(t *Trace) []step {
	var steps []step
	for _, w := range t.Writes(e.loops) {
		what, ok := w.what(t.Object)
		if !ok {
			continue
		}
		for _, s := range e.seen[what] {
			if !s.by.Started.Before(t.Started) && (what.rv != "" || e.deleterOf(what, s.by, s.cause) == t) {
				steps = append(steps, step{s.cause, s.by})
			}
		}
	}
	return steps
}

// grow walks outwards from a sync, level by level, so that the bound cuts what
// is farthest away.
func (e *Excerpt) grow(t *Trace, around func(*Trace) []step) *Link {
	root := e.link(nil, t)
	met, left := map[*Trace]bool{t: true}, maxLinks
	level := map[*Link]*Trace{root: t}
	order := []*Link{root}
	for len(order) > 0 {
		var next []*Link
		for _, at := range order {
			for _, s := range around(level[at]) {
				if left == 0 {
					at.Cut++
					continue
				}
				left--
				link := e.link(s.cause, s.sync)
				at.Links = append(at.Links, link)
				if s.sync == nil {
					continue
				}
				if met[s.sync] {
					link.Elsewhere, link.Writes = true, nil
					continue
				}
				met[s.sync], level[link] = true, s.sync
				next = append(next, link)
			}
		}
		order = next
	}
	return root
}

func (e *Excerpt) link(c *Cause, t *Trace) *Link {
	l := &Link{Cause: c}
	if t != nil {
		hit := t.Hit(t.Class(DefaultSlow))
		l.Sync, l.Writes = &hit, t.Writes(e.loops)
	}
	return l
}
