package deployment

import (
	"slices"

	"github.com/loopscope/loopscope/controllers/diagnosis"
	"github.com/loopscope/loopscope/telemetry/decision"
)

// needed is how many more pods must become available before one may go.
func (v *view) needed() int64 {
	return max(0, 1-v.bounds.MayGo(v.total, v.newSize(), v.newAvailable()))
}

// anyWillDo reports whether several things keep new pods from being available, of which some may stay as they are
// until the next old pod goes. None goes while it is paused.
func (v *view) anyWillDo() bool {
	all := v.diagnosis().Findings
	all = all[:len(all)-len(diagnosis.Beside(all))]
	return !v.s.Paused && v.oldTotal > 0 && len(all) > 1 && max(1, v.needed()) < v.missing() && !slices.ContainsFunc(all, ofOthers)
}

// decisive is the finding that has to end before the next old pod goes; nil where other new pods will do, or where
// more than one has to end. Pods that are refused until then would only meet what others of their template meet.
func (v *view) decisive(f *decision.Finding) *decision.Finding {
	if f == nil {
		return nil
	}
	switch met := v.metByAll(); {
	case diagnosis.IsRefusal(f.Code) && len(met) > 0:
		f = &met[0]
	case !v.anyWillDo():
		return f
	case !diagnosis.IsRefusal(f.Code):
		return nil
	}
	if f.Count < v.needed() {
		return nil
	}
	return f
}

// bothEnd is when pods are created that are refused, and what they would meet then has ended as well; nil where that
// is not what it takes.
func (v *view) bothEnd(f *decision.Finding) decision.Words {
	met := v.metByAll()
	if f == nil || !diagnosis.IsRefusal(f.Code) || len(met) != 1 || met[0].Count >= v.needed() {
		return nil
	}
	return diagnosis.Together([]decision.Finding{*f, met[0]})
}

// metByAll are findings of new pods that others of their template meet as well once they are created, as far as is
// known: none of them has become ready.
func (v *view) metByAll() []decision.Finding {
	if v.newSet == nil || v.newSet.Ready > 0 {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(v.relevant()), func(f decision.Finding) bool {
		return !f.NeedsAction || f.Old || diagnosis.IsRefusal(f.Code)
	})
}

// ofOthers reports whether a finding is not of new pods that are missing, but of others, or of what happens to
// whichever pods there are.
func ofOthers(f decision.Finding) bool {
	switch f.Code {
	case diagnosis.Delete, diagnosis.Mutated, diagnosis.Terminating:
		return true
	default:
		return f.Old || diagnosis.IsDisruption(f.Code)
	}
}

// unaided is how many of the new pods that are missing nobody has to do anything for.
func (v *view) unaided() int64 {
	n := v.missing()
	for _, f := range v.diagnosis().Findings {
		if f.NeedsAction && !f.Beside {
			n -= f.Count
		}
	}
	return n
}
