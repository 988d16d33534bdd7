package telemetry

import (
	"slices"

	"github.com/loopscope/loopscope/telemetry/decision"
)

// fieldDeletion is what a request to delete an object changes of it.
const fieldDeletion = "metadata.deletionTimestamp"

// observed is one write of somebody else's, by its aspects: they were decided at once, and so
// they are compared on one and the same version.
type observed struct {
	cause *Cause
	parts []decision.Prediction
}

// observe is what others wrote before a sync of what its loop predicts.
func (s *Shadow) observe(t *Trace) (list []observed) {
	predicts := s.loops.Of(t.Loop).Predicts
	for i := range t.Causes {
		c := &t.Causes[i]
		kind, _, name, named := t.Called(c.Object)
		if !named || c.Sync != 0 {
			continue
		}
		parts := slices.DeleteFunc(aspectsOf(c, kind, name), func(p decision.Prediction) bool { return !slices.Contains(predicts, p.Predictable) })
		if len(parts) > 0 && !(c.Kind != CauseModified && parts[0].Aspect == decision.AspectDeletion && s.leaving(t, c)) {
			list = append(list, observed{c, parts})
		}
	}
	return list
}

// aspectsOf are the aspects in which a cause is a change of its object.
func aspectsOf(c *Cause, kind, name string) []decision.Prediction {
	whole := func(a decision.Aspect) []decision.Prediction {
		return []decision.Prediction{{Predictable: decision.Predictable{Aspect: a, Of: kind}, Name: name}}
	}
	switch c.Kind {
	case CauseAdded:
		return whole(decision.AspectCreation)
	case CauseDeleted, CauseTombstone:
		return whole(decision.AspectDeletion)
	case CauseModified:
		if asksToDelete(c) {
			return whole(decision.AspectDeletion)
		}
		return decision.ChangesOf(kind, name, c.Fields)
	default:
		return nil
	}
}

func asksToDelete(c *Cause) bool {
	return slices.ContainsFunc(c.Fields, func(f decision.Change) bool { return f.Field == fieldDeletion })
}

func resizes(c *Cause) bool {
	return c.Kind == CauseModified && slices.ContainsFunc(c.Fields, func(f decision.Change) bool { return f.Field == "spec.replicas" })
}

// leaving reports whether an end only follows a deletion that was seen before.
func (s *Shadow) leaving(t *Trace, gone *Cause) bool {
	asked := func(t *Trace) bool {
		return slices.ContainsFunc(t.Causes, func(c Cause) bool { return c.Object == gone.Object && asksToDelete(&c) })
	}
	return asked(t) || slices.ContainsFunc(s.last.of(t.Object), asked)
}

// foreignWrite reports whether somebody else than the other controller made a change. That one
// signs every size, and a size that nobody signed came through the scale subresource. Nobody signs
// a deletion, or a number that goes.
func (s *Shadow) foreignWrite(c *Cause) bool {
	names := c.Managers()
	return len(names) == 0 && resizes(c) && s.known() || slices.ContainsFunc(names, s.foreign)
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
