package deployment

import (
	"time"

	"github.com/loopscope/loopscope/controllers/diagnosis"
	"github.com/loopscope/loopscope/telemetry/decision"
)

// The names of the facts that Numbers returns and sentences count with.
const (
	fWanted       = "wanted"
	fNew          = "new"
	fNewAvailable = "newAvailable"
	fMissing      = "newUnavailable"
	fOld          = "old"
	fOldAvailable = "oldAvailable"
	fTotal        = "total"
	fCeiling      = "ceiling"
	fAvailable    = "available"
	fFloor        = "floor"
	fWithout      = "withoutOne"
	fNeeded       = "needed"
	fMinReady     = "minReadySeconds"
	fNotCreated   = "notCreated"
	fTerminating  = "ending"
	fRunning      = "oldRunning"
	fUpdated      = "updated"
	fSurge        = "surge"
	fUnavailable  = "unavailable"
	fProgress     = "lastProgress"
	fStart        = "size"
	fRevision     = "revision"
	fChanges      = "changes"
	fLow          = "low"
	fHigh         = "high"
)

// allNumbers is how many Numbers there are at most.
const allNumbers = 25

// Numbers are the key numbers of a Deployment as facts of this sync: those of
// the page header first, then those that a sentence may count with. available
// counts no pod that a size no longer asks for.
func Numbers(s *Snapshot) []decision.Fact { return viewOf(s).numbers() }

func (v *view) numbers() []decision.Fact {
	s := v.s
	if !s.Found {
		return nil
	}
	facts := append(make([]decision.Fact, 0, allNumbers),
		decision.Count(fWanted, s.Want),
		decision.Count(fNew, v.newSize()),
		decision.Count(fNewAvailable, v.newAvailable()),
		decision.Count(fOld, v.oldTotal),
		decision.Count(fTotal, v.total),
		decision.Count(fCeiling, v.bounds.Ceiling()),
		decision.Count(fAvailable, v.available),
		decision.Count(fFloor, v.floor()),
		decision.Count(fUpdated, v.updated()),
		decision.Count(fMissing, v.missing()),
		decision.Count(fOldAvailable, v.oldAvailable),
		decision.Count(fWithout, max(0, v.available-1)),
		decision.Count(fNeeded, max(1, v.needed())),
		decision.Count(fSurge, v.bounds.Surge),
		decision.Count(fUnavailable, v.bounds.Missing()),
		decision.Count(fNotCreated, v.notCreated()),
		decision.Count(fTerminating, v.oldTerminating()),
	)
	_, running := v.oldRunningCounts()
	facts = append(facts, decision.Count(fRunning, running), decision.Count(fMinReady, v.minReady()))
	if !s.LastProgress.IsZero() {
		facts = append(facts, decision.Instant(fProgress, s.LastProgress))
	}
	if s.Revision != "" {
		facts = append(facts, decision.Text(fRevision, s.Revision))
	}
	if s.Deletion != nil {
		facts = append(facts, decision.Count(decision.FactBlocking, v.blocking()))
	}
	facts = append(append(append(facts, s.Recent.Facts()...), s.Contest.facts()...), decision.Diagnosis{Findings: v.relevant()}.Facts()...)
	return append(facts, decision.Diagnosis{Findings: diagnosis.Beside(v.diagnosis().Findings)}.Facts()...)
}

// updated is the number of pods of the new ReplicaSet that exist.
func (v *view) updated() int64 {
	if v.newSet == nil {
		return 0
	}
	return v.newSet.StatusReplicas
}

// notCreated is how many pods of the new ReplicaSet do not exist.
func (v *view) notCreated() int64 { return max(0, v.newSize()-v.updated()) }

// minReady is the seconds after which a ready pod of the new ReplicaSet counts.
func (v *view) minReady() int64 {
	if v.newSet == nil {
		return v.s.MinReady
	}
	return v.newSet.MinReady
}

// firstAvailable is when the first ready pod of rs has been ready for long
// enough; zero if none waits for that.
func firstAvailable(rs *ReplicaSet, now time.Time) time.Time {
	var first time.Time
	if rs == nil {
		return first
	}
	for _, p := range rs.Blocking {
		at := p.ReadySince.Add(seconds(rs.MinReady)) // Long ago, where nobody says since when.
		if p.Ready && at.After(now) && (first.IsZero() || at.Before(first)) {
			first = at
		}
	}
	return first
}

// seconds is a length of time that cannot overflow, as an int32 holds it.
func seconds(n int64) time.Duration {
	return time.Duration(max(0, min(n, 1<<31-1))) * time.Second
}
