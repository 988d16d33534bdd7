package telemetry

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/loopscope/loopscope/telemetry/decision"
)

// answer is what the rules say of an observed write.
type answer struct {
	parts []said // by its aspects
	// behind is set where they say so of a version that a sync here was past by then.
	behind bool
	// tried is how many states were decided on again.
	tried int
	// leftOut is set where none was, as comparing has taken its time.
	leftOut bool
	// told are the events that the rules publish on the version on which they say all of it, and on is the
	// sync that decided on it where one did.
	told []decision.Event
	on   *Trace
}

// said is what the rules say of one aspect of a write.
type said struct {
	agrees   bool
	question string // whose answer led there
	// instead is what they say on the latest version where that is something else; "" for nothing.
	instead string
	// departure is the number of what may have led to it, in the register; 0 for none.
	departure int
}

func (a *answer) agreeing() (n int) {
	for _, p := range a.parts {
		if p.agrees {
			n++
		}
	}
	return n
}

func (a *answer) whole() bool { return a.agreeing() == len(a.parts) }

// ask looks for a version on which the rules say all of what was written, or as much of it as
// they ever do. base is the sync whose knowledge is gone back from, and seenIn the one that saw
// the write.
func (s *Shadow) ask(base, seenIn *Trace, o *observed) (best answer) {
	within := s.budget.has()
	s.budget.spend(func() {
		if best = s.recorded(seenIn, o); !best.whole() && within {
			best = s.search(base, seenIn, o, best)
		} else {
			best.leftOut = !best.whole()
		}
	})
	return best
}

// search decides again on one version after another, until the rules say all of it.
func (s *Shadow) search(base, seenIn *Trace, o *observed, best answer) answer {
	instead, tried := make([]said, len(o.parts)), 0
	for v := range s.versions(base, seenIn, o.cause) {
		tried++
		for _, act := range []decision.Act{decision.Nobody, decision.Everything, decision.RefuseAll} {
			a := s.answerOn(&v, base, o, act)
			for i := range a.parts {
				instead[i].instead = cmp.Or(instead[i].instead, a.parts[i].instead)
				instead[i].departure = cmp.Or(instead[i].departure, a.parts[i].departure)
			}
			if a.agreeing() > best.agreeing() {
				best = a
			}
			if best.tried = tried; best.whole() {
				if s.state.Events.Followed {
					best.told = s.eventsOf(v.snapshot)
				}
				return best
			}
		}
	}
	for i := range best.parts {
		best.parts[i].instead, best.parts[i].departure = cmp.Or(instead[i].instead, best.parts[i].instead), instead[i].departure
	}
	return best
}

// recorded looks for a sync before the write that decided as it was written.
func (s *Shadow) recorded(seenIn *Trace, o *observed) answer {
	best, instead := answer{parts: make([]said, len(o.parts))}, make([]string, len(o.parts))
	past := s.last.of(seenIn.Object)
	last, lacks, next := true, writtenBefore(seenIn, o), seenIn // last of those before the write
	for _, t := range slices.Backward(past) {
		if t.Seq >= seenIn.Seq {
			continue
		}
		if !last && seenIn.Ended.Sub(next.Ended) > maxLag {
			break
		}
		since := lacks
		lacks, next = append(slices.Clip(lacks), writtenBefore(t, o)...), t
		if len(t.Rounds) == 0 {
			continue
		}
		a := s.compared(t, o, decided{func() decision.Snapshot { return s.decoded(t) }, &t.Rounds[len(t.Rounds)-1].Verdict, t.Report, since})
		a.behind, a.on = !last, t
		if last = false; a.agreeing() > best.agreeing() {
			best = a
		}
		if best.whole() {
			break
		}
		for i := range instead {
			instead[i] = cmp.Or(instead[i], a.parts[i].instead)
		}
	}
	for i := range best.parts {
		best.parts[i].instead = instead[i]
	}
	return best
}

// writtenBefore are the changes that a sync has seen of what others wrote before a write.
func writtenBefore(t *Trace, o *observed) (list []*Cause) {
	for i := range t.Causes {
		if c := &t.Causes[i]; c.Sync == 0 && after(o.cause.written(), c.written()) {
			list = append(list, c)
		}
	}
	return list
}

// decided is what the rules say of a state, which lacks some changes that were written before a write.
type decided struct {
	on      func() decision.Snapshot // nil where it cannot be read
	verdict *decision.Verdict
	report  *decision.Report
	lacks   []*Cause
}

// answerOn decides on a version and compares.
func (s *Shadow) answerOn(v *version, t *Trace, o *observed, act decision.Act) (a answer) {
	defer func() {
		if recover() != nil { // No cluster ever was so: nothing follows from it.
			a = answer{parts: make([]said, len(o.parts))}
		}
	}()
	sync := decision.Sync{Core: v.snapshot.Begin()}
	sync.Run(act)
	a = s.compared(t, o, decided{func() decision.Snapshot { return v.snapshot }, &sync.Rounds[len(sync.Rounds)-1].Verdict, sync.Report, v.lacks})
	a.behind = v.behind
	if departing, departs := v.snapshot.(decision.Departing); departs {
		for i := range o.parts {
			if !a.parts[i].agrees {
				a.parts[i].departure = departing.Departure(&o.parts[i])
			}
		}
	}
	return a
}

// compared holds what was observed against what follows from a decision.
func (s *Shadow) compared(t *Trace, o *observed, d decided) answer {
	a := answer{parts: make([]said, len(o.parts))}
	foretold := s.loops.Of(t.Loop).Foretell(t.Name, d.verdict, d.report)
	for i := range o.parts {
		part, seen := &a.parts[i], &o.parts[i]
		for _, p := range foretold {
			switch {
			case p.Predictable != seen.Predictable:
			case s.covers(&p, seen) || p.Name == "" && d.created(t, p.Of) < p.Count:
				*part = said{agrees: true, question: p.Question}
			case !part.agrees && (p.Name == seen.Name || p.What == "" && part.instead == ""):
				part.instead, part.question = cmp.Or(p.What, p.Name), p.Question
			}
		}
		if seen.Aspect == decision.AspectDeletion && (part.agrees || part.instead != "") {
			d.rank(t, part, seen, foretold)
		}
	}
	return a
}

// covers reports whether a prediction has all of what was observed.
func (s *Shadow) covers(p, seen *decision.Prediction) bool {
	base := decision.BeforeHash(p.Name)
	return p.Covers(seen) || p.Aspect == decision.AspectCreation && s.rehashes() && base != "" && base == decision.BeforeHash(seen.Name)
}

func (s *Shadow) rehashes() bool { return s.Rehashes != nil && s.Rehashes() }

// created is how many objects of a sort others made that the decision did not know of.
func (d *decided) created(t *Trace, of string) (n int64) {
	for _, c := range d.lacks {
		if kind, _, _, named := t.Called(c.Object); named && kind == of && c.Kind == CauseAdded {
			n++
		}
	}
	return n
}

// rank lets what went agree if it ranks as what was to go, as upstream leaves open which of them goes
// first, and not if as many of that rank had gone before as were to go.
func (d *decided) rank(t *Trace, part *said, seen *decision.Prediction, foretold []decision.Prediction) {
	gone := d.deleted(t, seen)
	others := len(gone)
	for _, p := range foretold {
		if p.Predictable == seen.Predictable && gone[p.Name] {
			others--
		}
	}
	if part.agrees && others == 0 {
		return // It was to go, and so was all that went before.
	}
	ranked, ranks := d.on().(decision.Ranked)
	if !ranks {
		return
	}
	alike, due := ranked.Alike(seen.Of, seen.Name), 0
	for _, p := range foretold {
		if p.Predictable == seen.Predictable && slices.Contains(alike, p.Name) {
			due++
		}
	}
	if due == 0 {
		return
	}
	before := 0
	for _, name := range alike {
		if gone[name] {
			before++
		}
	}
	if part.agrees = before < due; !part.agrees {
		part.instead = "no more than " + strconv.Itoa(due) + " of its rank"
	}
}

// deleted are the others of a sort that went before, which the decision did not know of.
func (d *decided) deleted(t *Trace, seen *decision.Prediction) map[string]bool {
	gone := map[string]bool{}
	for _, c := range d.lacks {
		if kind, _, name, named := t.Called(c.Object); named && kind == seen.Of && name != seen.Name && (c.Kind == CauseDeleted || asksToDelete(c)) {
			gone[name] = true
		}
	}
	return gone
}
