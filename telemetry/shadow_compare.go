package telemetry

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/loopscope/loopscope/telemetry/decision"
)

// Add compares syncs, which come in their order.
func (s *Shadow) Add(batch []*Trace, missed uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.state.Missed += missed; missed > 0 {
		clear(s.predictions) // What became of them was perhaps among those.
		clear(s.outdated)
		clear(s.newest)
	}
	for _, t := range batch {
		if s.loops.Of(t.Loop).Sizes == "" {
			continue
		}
		s.explain(t)
		s.observe(t)
		s.predict(t)
		if s.newest[t.Object] = t; t.Gone {
			delete(s.newest, t.Object)
			maps.DeleteFunc(s.outdated, func(_ shadowTarget, p *prediction) bool { return p.Object == t.Object })
		}
	}
}

// observe compares what others wrote before this sync.
func (s *Shadow) observe(t *Trace) {
	writes := s.sizeWrites(t)
	for i := range writes {
		s.compare(t, writes, i)
	}
}

// sizeWrite is a size that somebody else wrote, or a ReplicaSet that he created.
type sizeWrite struct {
	target shadowTarget
	cause  *Cause
	// size is the change of a size; nil for a creation.
	size *decision.Change
}

// observed is the write as a prediction has it.
func (w *sizeWrite) observed() string {
	if w.size == nil {
		return w.target.name
	}
	return w.size.From + " → " + w.size.To
}

// from is the size before it.
func (w *sizeWrite) from() int64 {
	if w.size == nil {
		return 0
	}
	n, _ := strconv.ParseInt(w.size.From, 10, 64) // Sizes are numbers, as the API server has it.
	return n
}

// grows reports whether it is to a larger size.
func (w *sizeWrite) grows() bool {
	if w.size == nil {
		return false
	}
	to, _ := strconv.ParseInt(w.size.To, 10, 64)
	return to > w.from()
}

// sizeWrites are the writes of others among the causes of a sync, in their order.
func (s *Shadow) sizeWrites(t *Trace) (writes []sizeWrite) {
	for i := range t.Causes {
		c := &t.Causes[i]
		name, ok := strings.CutPrefix(c.Object, s.loops.Of(t.Loop).Sizes+" ")
		size := sizeOf(c)
		if !ok || c.Sync != 0 || size == nil && c.Kind != CauseAdded {
			continue
		}
		writes = append(writes, sizeWrite{shadowTarget{t.Namespace, name}, c, size})
	}
	return writes
}

// sizeOf is the change of a size that a cause has; nil for none.
func sizeOf(c *Cause) *decision.Change {
	i := slices.IndexFunc(c.Fields, func(f decision.Change) bool { return f.Field == "spec.replicas" })
	if i < 0 || c.Kind != CauseModified {
		return nil
	}
	return &c.Fields[i]
}

// compare judges one of the writes that were observed.
func (s *Shadow) compare(t *Trace, writes []sizeWrite, i int) {
	w := &writes[i]
	p, before := s.predictions[w.target], s.outdated[w.target]
	observed := w.observed()
	foreign := s.foreignWrite(w.cause)
	// The other controller decided as an earlier sync here did: it had not seen yet what has changed since.
	behind := before != nil && before.Predicted == observed && before.DecidedOn == w.cause.OldRV
	delete(s.outdated, w.target)
	if p != nil && p.create != (w.size == nil) {
		p = nil
	}
	switch {
	case p != nil && p.Predicted == observed && !(foreign && s.known()):
		s.undone(w)
		s.settle(p, w, ShadowAgrees, t)
	case behind && !foreign:
		if p == nil {
			s.state.Withdrawn--
		}
		s.settle(before, w, ShadowAgrees, t)
	case foreign:
		s.byOthers(p, w, t)
	default:
		s.late(p, t, writes, i)
	}
}

// late judges a write that came before a sync here had decided as it: on what is known now
// and was then, would it have?
func (s *Shadow) late(p *prediction, t *Trace, writes []sizeWrite, i int) {
	w, before := &writes[i], s.newest[t.Object]
	if question, same := s.wouldHave(before, t, writes[i:]); same {
		if p == nil {
			p = unpredicted(before, t, w, question)
		}
		p.Question = question
		s.settle(p, w, ShadowAgrees, t)
		return
	}
	alone := s.alone(w.target, w.cause, t)
	switch {
	case w.size == nil: // Who creates one that nobody expects need not be a controller.
	case p == nil && alone:
		p = unpredicted(before, t, w, before.Leaf())
		s.settle(p, w, ShadowUnexplained, t)
	case p == nil:
		s.suspect(unpredicted(before, t, w, "").Difference, w, before, t)
	case w.cause.OldRV != p.DecidedOn || len(t.Causes) > 1:
		s.settle(p, w, ShadowTiming, t)
	default:
		s.settle(p, w, ShadowUnexplained, t)
	}
}

// byOthers notes what a third program wrote.
func (s *Shadow) byOthers(p *prediction, w *sizeWrite, t *Trace) {
	before := s.newest[t.Object]
	switch {
	case w.size == nil:
		return // It is adopted, or nothing of this Deployment.
	case p == nil && before == nil:
		return
	case p == nil:
		p = unpredicted(before, t, w, before.Leaf())
	}
	s.settle(p, w, ShadowOther, t)
}

// unpredicted is what stands for the prediction of a write that nobody had predicted.
func unpredicted(before, t *Trace, w *sizeWrite, question string) *prediction {
	d := Difference{At: t.Ended, Object: t.Object, Target: w.target.name, Question: question, Predicted: "none", DecidedOn: w.cause.OldRV, Epoch: t.Epoch, Sync: t.Seq}
	if before != nil {
		d.At, d.Epoch, d.Sync = before.Ended, before.Epoch, before.Seq
	}
	return &prediction{Difference: d}
}

// undone looks whether a write that was predicted undoes a suspect one, on its very version:
// the other controller had not known something then, and knows it now.
func (s *Shadow) undone(w *sizeWrite) {
	s.acquit(ShadowTiming, func(x *suspect) bool {
		return x.write.target == w.target && x.write.cause.NewRV == w.cause.OldRV && x.write.grows() != w.grows()
	})
}

// explain looks whether a sync brings something to light that was written before
// an observed write and that this process had not seen by then. With it, it would have decided
// the same, or it was a matter of time.
func (s *Shadow) explain(t *Trace) {
	late := func(x *suspect) bool {
		return x.Object == t.Object && slices.ContainsFunc(t.Causes, func(c Cause) bool { return c.Sync == 0 && !after(c.NewRV, x.write.cause.NewRV) })
	}
	s.acquit(ShadowAgrees, func(x *suspect) bool {
		if !late(x) {
			return false
		}
		question, same := s.wouldHave(x.before, t, append([]sizeWrite{x.write}, s.sizeWrites(t)...))
		if same {
			x.Question = question
		}
		return same
	})
	s.acquit(ShadowTiming, late)
	s.confirm(t.Ended)
}

// acquit explains suspects.
func (s *Shadow) acquit(v ShadowVerdict, explains func(*suspect) bool) {
	s.suspects = slices.DeleteFunc(s.suspects, func(x suspect) bool {
		if !explains(&x) {
			return false
		}
		if x.Verdict == "" && v != ShadowAgrees {
			s.state.Together++
			return true
		}
		x.Verdict = v
		s.note(x.Difference)
		return true
	})
}

// confirm counts the differences that nothing has explained in time.
func (s *Shadow) confirm(now time.Time) {
	s.suspects = slices.DeleteFunc(s.suspects, func(x suspect) bool {
		switch over := now.Sub(x.seen) > ShadowSettles; {
		case !over:
			return false
		case x.Verdict == "":
			s.state.Together++
			return true
		}
		if x.Departure = s.departure(x.before, x.Question); x.Departure > 0 {
			x.Verdict = ShadowDeparture
		}
		s.note(x.Difference)
		return true
	})
}

// after reports whether a resourceVersion is later than another. They are
// numbers that the store counts all writes with; where one is not, nothing is
// known, and it is none.
func after(rv, than string) bool {
	a, err := strconv.ParseUint(rv, 10, 64)
	b, other := strconv.ParseUint(than, 10, 64)
	return err == nil && other == nil && a > b
}

// foreignWrite reports whether somebody else than the other controller made a change. That one
// signs every size; a change that nobody signed came through the scale subresource.
func (s *Shadow) foreignWrite(c *Cause) bool {
	names := c.Managers()
	return len(names) == 0 && c.Kind == CauseModified && s.known() || slices.ContainsFunc(names, s.foreign)
}

// foreign reports whether a manager is not the other controller.
func (s *Shadow) foreign(manager string) bool {
	return manager != ControllerManager && (s.known() || s.agreed[manager] < knownBy)
}

// known reports whether the other controller was seen under its own name: then nobody else is it.
func (s *Shadow) known() bool { return s.agreed[ControllerManager] > 0 }

// agree notes who wrote what was predicted.
func (s *Shadow) agree(managers []string) {
	if len(managers) != 1 {
		return // It may have been either of them.
	}
	manager := managers[0]
	if n, known := s.agreed[manager]; n < knownBy && (known || len(s.agreed) < maxManagers) {
		s.agreed[manager]++
	}
}

// alone reports whether a write is all that happened since a sync that saw the
// very version that was written on, and decided nothing on it.
func (s *Shadow) alone(target shadowTarget, c *Cause, t *Trace) bool {
	before := s.newest[t.Object]
	if before == nil || len(t.Causes) != 1 || len(before.Rounds) == 0 {
		return false
	}
	snapshot, err := before.Decided(s.loops)
	if err != nil {
		return false
	}
	seen, ok := snapshot.(decision.Sizing)
	return ok && c.OldRV != "" && seen.VersionOf(s.loops.Of(before.Loop).Sizes, target.name) == c.OldRV
}

// suspect keeps a difference that may yet be explained.
func (s *Shadow) suspect(d Difference, w *sizeWrite, before, t *Trace) {
	d.Observed, d.Manager, d.WrittenOn, d.SeenIn = w.observed(), w.cause.Manager, w.cause.OldRV, t.Seq
	if len(s.suspects) < maxDifferences {
		s.suspects = append(s.suspects, suspect{d, *w, t.Ended, before})
	}
}

// settle ends a prediction.
func (s *Shadow) settle(p *prediction, w *sizeWrite, v ShadowVerdict, t *Trace) {
	d := p.Difference
	delete(s.predictions, w.target)
	if v == ShadowAgrees {
		s.agree(w.cause.Managers())
	}
	d.Verdict, d.Observed, d.Manager, d.WrittenOn, d.SeenIn = v, w.observed(), w.cause.Manager, w.cause.OldRV, t.Seq
	if v == ShadowUnexplained {
		s.suspect(d, w, s.newest[t.Object], t)
		return
	}
	s.note(d)
}

// note counts a comparison, and keeps it if it is a difference.
func (s *Shadow) note(d Difference) {
	if s.counts[d.Question] == nil {
		s.counts[d.Question] = map[ShadowVerdict]uint64{}
	}
	s.counts[d.Question][d.Verdict]++
	if d.Verdict != ShadowAgrees {
		if n := len(s.state.Differences); n >= maxDifferences {
			s.state.Differences = slices.Delete(s.state.Differences, 0, 1+n-maxDifferences)
		}
		s.state.Differences = append(s.state.Differences, d)
	}
}

// predict takes the sizes that a sync would have written in the place of what
// the syncs before it said of the same Deployment.
func (s *Shadow) predict(t *Trace) {
	s.state.Syncs++
	made := map[shadowTarget]*prediction{}
	if n := len(t.Rounds); n > 0 {
		for _, a := range t.Rounds[n-1].Verdict.Actions {
			if p := predictionOf(t, &a); p != nil {
				made[shadowTarget{t.Namespace, a.Target.Name}] = p
			}
		}
	}
	if len(made) == 0 {
		s.state.Silent++
	}
	for target, p := range s.predictions {
		if p.Object != t.Object {
			continue
		}
		next := made[target]
		if next != nil && next.Predicted == p.Predicted { // It has been due since the first sync that said so.
			next.At = p.At
			continue
		}
		if next == nil {
			s.state.Withdrawn++
			delete(s.predictions, target)
		}
		if _, known := s.outdated[target]; known || len(s.outdated) < maxPredictions {
			s.outdated[target] = p
		}
	}
	for target, p := range made {
		if _, known := s.predictions[target]; known || len(s.predictions) < maxPredictions {
			s.predictions[target] = p
		}
	}
}

// predictionOf is the size that an action would have written; nil for none.
func predictionOf(t *Trace, a *decision.Action) *prediction {
	if a.Size == nil || a.Size.From == a.Size.To && a.Kind != decision.CreateReplicaSet {
		return nil
	}
	p := &prediction{create: a.Kind == decision.CreateReplicaSet}
	p.Difference = Difference{Verdict: ShadowOverdue, At: t.Ended, Object: t.Object, Target: a.Target.Name, Question: a.Question, DecidedOn: a.Target.RV, Epoch: t.Epoch, Sync: t.Seq}
	if p.Predicted = strconv.FormatInt(a.Size.From, 10) + " → " + strconv.FormatInt(a.Size.To, 10); p.create {
		p.Predicted = a.Target.Name
	}
	return p
}
