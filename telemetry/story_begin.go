package telemetry

import (
	"slices"
	"strings"
	"time"

	"github.com/loopscope/loopscope/telemetry/decision"
)

// sameLoss is within what time the events that lead up to a change follow each other, where no
// write links them: a pod is marked for its eviction before it is deleted.
const sameLoss = 5 * time.Second

// sameBurst is within what time a sync that changes nothing and one that does follow from one write.
const sameBurst = 2 * time.Second

// leadingUp is the first of the settled syncs just before one that took what others did to the spec of an object: what
// was undone at once is seen to be settled, and unsettles it by what came of it. The sync that ended the story
// before is not one of them.
func leadingUp(loops decision.Loops, syncs []*Trace, first int) int {
	led := first
	for i := first - 1; i >= 0 && settled(syncs[i]) && (i == 0 || settled(syncs[i-1])); i-- {
		if syncs[i+1].Started.Sub(syncs[i].Ended) > sameBurst || begins(loops, syncs[i]) {
			break
		}
		if syncs[i].askedByOthers() {
			led = i
		}
	}
	return led
}

// askedByOthers reports whether a sync took that somebody else changed the spec of an object that is no pod.
func (t *Trace) askedByOthers() bool {
	return slices.ContainsFunc(t.Causes, func(c Cause) bool {
		return c.Kind == CauseModified && c.Sync == 0 && !strings.HasPrefix(c.Object, "Pod ") &&
			slices.ContainsFunc(c.Fields, func(f decision.Change) bool { return strings.HasPrefix(f.Field, "spec.") })
	})
}

// beginning looks for the first change of a story.
type beginning struct {
	*Excerpt
	kin  *kin
	rest time.Time // when the sync began that the object was last settled in, zero where none is known
	at   time.Time
	seen map[*Trace]bool
	pods []string // whose events led to it
}

// began is when the first change was seen that no sync of the story had made. The object is told of a lost
// pod by what its kin write, so that the change is then among the causes of that write.
func (e *Excerpt) began(kin *kin, first *Trace, rest time.Time) time.Time {
	b := beginning{Excerpt: e, kin: kin, rest: rest, at: first.Started, seen: map[*Trace]bool{}}
	b.from(first)
	b.before(first)
	return b.at
}

// from takes in the causes of a sync, and of the syncs that they come of.
func (b *beginning) from(t *Trace) {
	b.seen[t] = true
	causes := b.since(t)
	for i := range causes {
		c := &causes[i]
		if c.At.IsZero() || c.Kind == CauseTimer || len(b.seen) > 1 && !c.tells() {
			continue
		}
		if !b.made(b.kin, t, c) {
			b.at = earlier(b.at, c.At)
		}
		if strings.HasPrefix(c.Object, "Pod ") {
			b.pods = append(b.pods, c.Object)
		}
		if by := b.behind(t, c); by != nil && !b.seen[by] {
			b.from(by)
		}
	}
}

// behind is the sync of a kin that a cause comes of: the one that wrote it, or of what another controller
// wrote the one that saw the same.
func (b *beginning) behind(t *Trace, c *Cause) *Trace {
	by := b.WriterOf(t, c)
	if by == nil && c.Sync == 0 {
		by = b.beside(t, c)
	}
	if by == nil || by.Object == b.kin.head || by.Ended.Before(b.rest) || !b.kin.has(by.Object, by.Owner) {
		return nil
	}
	return by
}

// beside is the last sync before t of the object that a cause names, just before it changed.
func (b *beginning) beside(t *Trace, c *Cause) *Trace {
	kind, namespace, name, named := t.Called(c.Object)
	if !named {
		return nil
	}
	o := Object{b.loops.Named(kind), namespace, name}
	for x := range b.back(t, c.At) {
		if x.Object == o {
			return x
		}
	}
	return nil
}

// before takes in what had become of the same pods just before.
func (b *beginning) before(first *Trace) {
	for x := range b.back(first, b.at) {
		if x.Ended.Before(b.rest) || !b.kin.has(x.Object, x.Owner) {
			continue
		}
		for i := range x.Causes {
			if c := &x.Causes[i]; slices.Contains(b.pods, c.Object) && c.tells() && !c.At.IsZero() && b.at.Sub(c.At) < sameLoss && !b.made(b.kin, x, c) {
				b.at = earlier(b.at, c.At)
			}
		}
	}
}

// back are the syncs that began before t, newest first, as far back as they may lead up to a moment.
func (b *beginning) back(t *Trace, at time.Time) func(yield func(*Trace) bool) {
	n, _ := slices.BinarySearchFunc(b.traces, t, func(x, t *Trace) int { return x.Started.Compare(t.Started) })
	return func(yield func(*Trace) bool) {
		for _, x := range slices.Backward(b.traces[:n]) {
			if at.Sub(x.Started) >= sameLoss || !yield(x) {
				return
			}
		}
	}
}

// tells reports whether a cause is an event of an object that has a name. That something of a pod changed which is
// not named tells nothing: it does so as it ends.
func (c *Cause) tells() bool {
	switch c.Kind {
	case CauseResync, CauseStart, CauseBackoff, CauseTimer:
		return false
	case CauseModified, CausePodReason:
		return strings.Contains(c.Object, " ") && (len(c.Fields) > 0 || !strings.HasPrefix(c.Object, "Pod "))
	default:
		return strings.Contains(c.Object, " ")
	}
}
