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
	for i := range t.Causes {
		c := &t.Causes[i]
		name, ok := strings.CutPrefix(c.Object, s.loops.Of(t.Loop).Sizes+" ")
		if !ok || c.Sync != 0 {
			continue
		}
		target := shadowTarget{t.Namespace, name}
		switch size := sizeOf(c); {
		case c.Kind == CauseAdded && s.predictions[target] != nil && s.predictions[target].create:
			s.settle(s.predictions[target], target, ShadowAgrees, name, c, t)
		case size != nil:
			s.compare(target, size, c, t)
		}
	}
}

// sizeOf is the change of a size that a cause has; nil for none.
func sizeOf(c *Cause) *decision.Change {
	i := slices.IndexFunc(c.Fields, func(f decision.Change) bool { return f.Field == "spec.replicas" })
	if i < 0 || c.Kind != CauseModified {
		return nil
	}
	return &c.Fields[i]
}

// compare judges one observed change of a size.
func (s *Shadow) compare(target shadowTarget, size *decision.Change, c *Cause, t *Trace) {
	p, before := s.predictions[target], s.outdated[target]
	observed := size.From + " → " + size.To
	foreign := slices.ContainsFunc(c.Managers(), s.foreign)
	// The other controller decided as an earlier sync here did: it had not seen yet what has changed since.
	behind := before != nil && before.Predicted == observed && before.DecidedOn == c.OldRV
	delete(s.outdated, target)
	switch {
	case p != nil && p.Predicted == observed:
		s.undone(target, size, c)
		s.settle(p, target, ShadowAgrees, observed, c, t)
	case behind:
		if p == nil {
			s.state.Withdrawn--
		}
		s.settle(before, target, ShadowAgrees, observed, c, t)
	case p == nil && s.alone(target, c, t) && !foreign:
		s.surprise(target, observed, c, t)
	case p == nil:
		s.state.Together++
	case foreign:
		s.settle(p, target, ShadowOther, observed, c, t)
	case c.OldRV != p.DecidedOn || len(t.Causes) > 1:
		s.settle(p, target, ShadowTiming, observed, c, t)
	default:
		s.settle(p, target, ShadowUnexplained, observed, c, t)
	}
}

// undone looks whether a write that was predicted undoes a suspect one, on its very version:
// the other controller had not known something then, and knows it now.
func (s *Shadow) undone(target shadowTarget, size *decision.Change, c *Cause) {
	s.acquit(func(x *suspect) bool {
		return x.Object.Namespace == target.namespace && x.Target == target.name && x.rv == c.OldRV && x.grew != grows(size)
	})
}

// grows reports whether a change of a size is to a larger one.
func grows(size *decision.Change) bool {
	from, _ := strconv.ParseInt(size.From, 10, 64) // Sizes are numbers, as the API server has it.
	to, _ := strconv.ParseInt(size.To, 10, 64)
	return to > from
}

// explain looks whether a sync brings something to light that was written before
// an observed write and that this process had not seen by then.
func (s *Shadow) explain(t *Trace) {
	s.acquit(func(x *suspect) bool {
		return x.Object == t.Object && slices.ContainsFunc(t.Causes, func(c Cause) bool { return c.Sync == 0 && !after(c.NewRV, x.rv) })
	})
	s.confirm(t.Ended)
}

// acquit explains the suspects that were a matter of time.
func (s *Shadow) acquit(late func(*suspect) bool) {
	s.suspects = slices.DeleteFunc(s.suspects, func(x suspect) bool {
		if !late(&x) {
			return false
		}
		x.Verdict = ShadowTiming
		s.note(x.Difference)
		return true
	})
}

// confirm counts the differences that nothing has explained in time.
func (s *Shadow) confirm(now time.Time) {
	s.suspects = slices.DeleteFunc(s.suspects, func(x suspect) bool {
		over := now.Sub(x.seen) > ShadowSettles
		if over {
			s.note(x.Difference)
		}
		return over
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

// foreign reports whether a manager is not the other controller.
func (s *Shadow) foreign(manager string) bool {
	return manager != ControllerManager && s.agreed[manager] < knownBy
}

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

// surprise notes a write that nobody predicted, though everything was known.
func (s *Shadow) surprise(target shadowTarget, observed string, c *Cause, t *Trace) {
	before := s.newest[t.Object]
	d := Difference{Verdict: ShadowUnexplained, At: before.Ended, Object: t.Object, Target: target.name, Question: before.Leaf(), Predicted: "none",
		Observed: observed, Manager: c.Manager, DecidedOn: c.OldRV, WrittenOn: c.OldRV, Epoch: before.Epoch, Sync: before.Seq, SeenIn: t.Seq}
	s.suspect(d, c, t)
}

// suspect keeps a difference that may yet be explained.
func (s *Shadow) suspect(d Difference, c *Cause, t *Trace) {
	if len(s.suspects) < maxDifferences {
		s.suspects = append(s.suspects, suspect{d, c.NewRV, grows(sizeOf(c)), t.Ended})
	}
}

// settle ends a prediction.
func (s *Shadow) settle(p *prediction, target shadowTarget, v ShadowVerdict, observed string, c *Cause, t *Trace) {
	d := p.Difference
	delete(s.predictions, target)
	if v == ShadowAgrees {
		s.agree(c.Managers())
	}
	d.Verdict, d.Observed, d.Manager, d.WrittenOn, d.SeenIn = v, observed, c.Manager, c.OldRV, t.Seq
	if v == ShadowUnexplained {
		s.suspect(d, c, t)
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
