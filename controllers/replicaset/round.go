package replicaset

import (
	"slices"

	"github.com/loopscope/loopscope/telemetry/decision"
)

// After returns the snapshot for the next round of the same sync. What acting
// learnt is merged in, pods that the round adopted are its own, and pods that it
// released are not there any more. Pods that it created or deleted are expected
// ([RS-3]), so that no second round asks for them once more. The receiver is not
// changed.
func (s *Snapshot) After(r decision.Round, learnt decision.Learnt) *Snapshot {
	next := *s
	next.Learnt = merge(s.Learnt, learnt)
	adopted, released := map[string]bool{}, map[string]bool{}
	for i := range r.Verdict.Actions {
		a := &r.Verdict.Actions[i]
		if i >= len(r.Outcomes) {
			break
		}
		next.expect(a, r.Outcomes[i])
		if r.Outcomes[i].State != decision.Written {
			continue
		}
		switch a.Kind {
		case decision.Adopt:
			adopted[a.Target.UID] = true
		case decision.Release:
			released[a.Target.UID] = true
		}
	}
	next.Pods = make([]Pod, 0, len(s.Pods))
	for _, p := range s.Pods {
		if !released[p.UID] {
			p.Mine = p.Mine || adopted[p.UID]
			next.Pods = append(next.Pods, p)
		}
	}
	return &next
}

// toCome is the number of pods whose events an action brings. Where the reply was
// lost nobody knows, so all of them may be.
func toCome(a *decision.Action, o decision.Outcome) int64 {
	switch {
	case a.Kind != decision.CreatePods && a.Kind != decision.DeletePods:
		return 0
	case o.State == decision.Written, o.State == decision.Unknown:
		return a.Count
	default:
		return o.Done
	}
}

// expect notes the pods that an action asked for.
func (s *Snapshot) expect(a *decision.Action, o decision.Outcome) {
	n := toCome(a, o)
	if n == 0 {
		return
	}
	if a.Kind == decision.CreatePods {
		s.Expect.Creates = max(0, s.Expect.Creates) + n
	} else {
		s.Expect.Deletes = max(0, s.Expect.Deletes) + n
	}
	s.Expect.Since, s.Expect.Expires = s.Now, s.Now.Add(ExpectationsTimeout)
}

// knowing returns the snapshot without the pods that the last round found gone.
func (s *Snapshot) knowing(rounds []decision.Round) *Snapshot {
	learnt := s.Learnt
	for uid := range lostClaims(rounds) {
		learnt = merge(learnt, decision.Learnt{ChildrenGone: []string{uid}})
	}
	if len(learnt.ChildrenGone) == len(s.Learnt.ChildrenGone) {
		return s
	}
	known := *s
	known.Learnt = learnt
	return &known
}

// lostClaims are the pods whose adoption found them gone.
func lostClaims(rounds []decision.Round) map[string]bool {
	var lost map[string]bool // hardly ever needed
	for _, r := range rounds {
		for i := range r.Verdict.Actions {
			a := &r.Verdict.Actions[i]
			if a.Kind != decision.Adopt || i >= len(r.Outcomes) || r.Outcomes[i].State != decision.Tolerated {
				continue
			}
			if lost == nil {
				lost = map[string]bool{}
			}
			lost[a.Target.UID] = true
		}
	}
	return lost
}

// merge adds what was learnt later to what was known.
func merge(known, later decision.Learnt) decision.Learnt {
	known.NamespaceTerminating = known.NamespaceTerminating || later.NamespaceTerminating
	if later.Parent != "" {
		known.Parent = later.Parent
	}
	if later.NameTaken != nil {
		known.NameTaken = later.NameTaken
	}
	gone := slices.Clone(known.ChildrenGone)
	for _, uid := range later.ChildrenGone {
		if !slices.Contains(gone, uid) {
			gone = append(gone, uid)
		}
	}
	slices.Sort(gone)
	known.ChildrenGone = gone
	return known
}
