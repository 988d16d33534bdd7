package telemetry

import (
	"cmp"
	"slices"
	"time"

	"github.com/loopscope/loopscope/telemetry/decision"
)

// Add compares syncs, which come in their order.
func (s *Shadow) Add(batch []*Trace, missed uint64) {
	if missed > 0 {
		s.skip(missed, batch)
	}
	for _, t := range batch {
		if len(s.loops.Of(t.Loop).Predicts) > 0 {
			s.add(t)
		}
	}
}

// skip forgets what can no longer be compared after a gap. What was missed lies before or between the syncs of
// that batch.
func (s *Shadow) skip(missed uint64, batch []*Trace) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state.Missed += missed
	if n := len(batch); n > 0 {
		s.gap = batch[n-1].Ended
	}
	s.due.clear() // What became of it was perhaps among those.
	s.last, s.suspects, s.nobodys, s.judged = newLookBack(), nil, nil, nil
}

// add locks for one sync alone: whoever reads the State does not wait for a whole batch.
func (s *Shadow) add(t *Trace) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last.remember(t)
	s.begin()
	s.conclusive(t.Ended)
	seen := s.observe(t)
	for _, o := range seen {
		if !s.foreignWrite(o.cause) {
			s.due.seen(o.cause)
		}
		s.judge(t, o)
	}
	s.expect(t, seen)
}

// suspect is a write that may yet be explained: the caches of a process come from watches of their
// own, and what another cache shows by then, and was written before, the other controller knew.
type suspect struct {
	observed
	trace *Trace // that saw it
	best  answer
}

func (s *Shadow) judge(t *Trace, o observed) {
	x := suspect{o, t, s.ask(t, t, &o)}
	if x.best.whole() || len(s.suspects) >= maxDifferences {
		s.conclude(&x)
		return
	}
	s.suspects = append(s.suspects, x)
}

// conclusive counts the suspects that have been for long enough, after another look from the last
// sync that knows the object: it has seen what was missing, and versions are gone back from there.
// Each look may take a good part of a second, so the next call goes on after a few of them.
func (s *Shadow) conclusive(now time.Time) {
	looks := 0
	defer s.told(now)
	s.suspects = slices.DeleteFunc(s.suspects, func(x suspect) bool {
		if now.Sub(x.trace.Ended) <= ShadowSettles || looks == maxLooks {
			return false
		}
		looks++
		if base := s.lastKnown(x.trace); base != x.trace || x.best.leftOut {
			a := s.ask(base, x.trace, &x.observed)
			if x.best.leftOut = a.leftOut; a.tried > 0 && a.agreeing() >= x.best.agreeing() {
				x.best = a
			}
		}
		if s.state.Events.Followed && s.unsigned(&x) && len(s.nobodys) < maxEvents {
			s.nobodys = append(s.nobodys, x)
		} else {
			s.conclude(&x)
		}
		return true
	})
	s.nobodys = slices.DeleteFunc(s.nobodys, func(x suspect) bool {
		if s.unsigned(&x) && now.Sub(x.trace.Ended) <= signedWithin {
			return false
		}
		s.conclude(&x)
		return true
	})
}

// unsigned reports whether nothing says who made or deleted that, which agrees with nothing.
func (s *Shadow) unsigned(x *suspect) bool {
	p := &x.parts[0]
	return comesOrGoes(p) && !x.best.parts[0].agrees && len(x.cause.Managers()) == 0 && s.signer(x.trace.Object, p.Predictable, p.Name) == ""
}

func comesOrGoes(p *decision.Prediction) bool {
	return p.Aspect == decision.AspectCreation || p.Aspect == decision.AspectDeletion
}

// goesUnsigned reports whether nobody signs that: managedFields have no entry for what goes, as a number does that
// becomes 0. What stays is signed.
func goesUnsigned(p *decision.Prediction) bool {
	return p.Aspect == decision.AspectStatus || p.Aspect == decision.AspectConditions || p.Aspect == decision.AspectAnnotations
}

// lastKnown is the last sync of an object that found it, from that one on.
func (s *Shadow) lastKnown(from *Trace) *Trace {
	kind := s.loops.Of(from.Loop).Kind
	for _, t := range slices.Backward(s.last.of(from.Object)) {
		if t.Seq <= from.Seq {
			break
		}
		if on, _ := s.decoded(t).(decision.Versioned); on != nil && on.VersionOf(kind, t.Name) != "" {
			return t
		}
	}
	return from
}

// conclude counts what came of a write.
func (s *Shadow) conclude(x *suspect) {
	foreign := s.foreignWrite(x.cause)
	if x.best.whole() && !(foreign && s.known()) {
		s.agree(x.cause.Managers())
	}
	for i := range x.parts {
		p, found := &x.parts[i], &x.best.parts[i]
		verdict := s.verdict(x, i, foreign)
		s.keepJudged(x, i, verdict)
		if verdict == "" {
			continue
		}
		manager := x.cause.Manager
		if manager == "" && !verdict.Agrees() {
			manager = s.signer(x.trace.Object, p.Predictable, p.Name)
		}
		s.note(x, Difference{Verdict: verdict, At: x.trace.Ended, Object: x.trace.Object, Predictable: p.Predictable, Target: p.Name, Question: cmp.Or(found.question, x.trace.Leaf()),
			Predicted: cmp.Or(found.instead, notCalledFor), Observed: cmp.Or(p.What, p.Name), Manager: manager, Departure: found.departure,
			WrittenOn: x.cause.OldRV, Epoch: x.trace.Epoch, SeenIn: x.trace.Seq})
	}
}

// verdict is that of one part of a write; "" where it cannot be compared.
func (s *Shadow) verdict(x *suspect, part int, foreign bool) ShadowVerdict {
	p, found := &x.parts[part], &x.best.parts[part]
	switch {
	case foreign && comesOrGoes(p) && !found.agrees:
		return "" // Anybody may create and delete.
	case foreign && (s.known() || !found.agrees):
		return ShadowOther
	case found.agrees && x.best.behind:
		return ShadowBehind
	case found.agrees:
		return ShadowAgrees
	case x.best.leftOut:
		s.state.LeftOut++
		return ""
	case s.unsigned(x) && (s.state.Events.Followed || found.instead == ""), p.Releases(), len(x.cause.Managers()) == 0 && goesUnsigned(p):
		return ShadowUnsigned
	case found.departure > 0:
		return ShadowDeparture
	case x.best.tried == 0 || s.onUnknown(x.trace.Object, x.cause.At):
		s.state.Together++
		return ""
	default:
		return ShadowUnexplained
	}
}

// onUnknown reports whether what was written at a moment may have been decided on a state that nobody here knows: one
// before the first list, or one that only a missed sync has seen.
func (s *Shadow) onUnknown(o Object, at time.Time) bool {
	return !s.gap.IsZero() && at.Sub(s.gap) <= maxLag || s.justListed(o, at)
}

// justListed reports whether something that an object has was in the first list here, and that so shortly before a
// moment that what was written then may have been decided on a state before the list, which nobody here knows.
func (s *Shadow) justListed(o Object, at time.Time) bool {
	return slices.ContainsFunc(s.last.of(o), func(t *Trace) bool {
		return slices.ContainsFunc(t.Causes, func(c Cause) bool { return c.Kind == CauseStart && at.Sub(c.At) <= maxLag })
	})
}

// note counts a comparison, and keeps it if it is a difference. One that is the other controller's is
// recorded.
func (s *Shadow) note(x *suspect, d Difference) {
	of := d.counted()
	if s.counts[of] == nil {
		s.counts[of] = map[ShadowVerdict]uint64{}
	}
	s.counts[of][d.Verdict]++
	if d.Verdict.Agrees() {
		return
	}
	if s.Record != nil && d.Verdict.Tells() {
		t := s.trace(&d, x)
		s.Record(t)
		d.Trace = t.Seq
	}
	if len(s.state.Differences) >= maxDifferences { // What says nothing of the other controller goes first.
		first := max(0, slices.IndexFunc(s.state.Differences, func(d Difference) bool { return !d.Verdict.Tells() }))
		s.state.Differences = slices.Delete(s.state.Differences, first, first+1)
	}
	s.state.Differences = append(s.state.Differences, d)
}

// expect takes what a sync would have written in the place of what the syncs before it said of the
// same object: it is due until one of them no longer says so. seen are the writes that came with it.
func (s *Shadow) expect(t *Trace, seen []observed) {
	s.state.Syncs++
	before, now := s.due.get(t.Object), map[string]Difference{}
	if n := len(t.Rounds); n > 0 && !t.Gone {
		for _, p := range s.loops.Of(t.Loop).Foretell(t.Name, &t.Rounds[n-1].Verdict, t.Report) {
			if snapshot, refuses := s.decoded(t).(decision.Refusing); refuses && snapshot.Refused(&p) {
				continue
			}
			key := string(p.Aspect) + " " + p.Of + " " + p.Name
			d := Difference{Verdict: ShadowOverdue, At: t.Ended, Object: t.Object, Predictable: p.Predictable, Target: p.Name, Question: p.Question, Predicted: cmp.Or(p.What, p.Name, "one more"), Epoch: t.Epoch, Sync: t.Seq}
			if was := before[key]; was.Predicted == d.Predicted && !s.progress(&p, seen) { // It has been due since the first sync that said so.
				d.At = was.At
			}
			now[key] = d
		}
	}
	if len(now) == 0 {
		s.state.Silent++
	}
	s.due.put(t.Object, Object{s.loops.Of(t.Loop).Owner, t.Namespace, t.Owner}, now)
}

// progress reports whether the other controller has just made or deleted one of the same sort: it does so one after
// another, and what is left is due from then on.
func (s *Shadow) progress(p *decision.Prediction, seen []observed) bool {
	return comesOrGoes(p) && slices.ContainsFunc(seen, func(o observed) bool {
		return o.parts[0].Predictable == p.Predictable && !s.foreignWrite(o.cause)
	})
}
