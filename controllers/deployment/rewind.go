package deployment

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/loopscope/loopscope/telemetry/decision"
)

// VersionOf is the resourceVersion in which it has the Deployment or a ReplicaSet; see
// decision.Versioned.
func (s *Snapshot) VersionOf(kind, name string) string {
	if s.isOwn(kind, name) {
		return s.RV
	}
	if i := s.setNamed(kind, name); i >= 0 {
		return s.ReplicaSets[i].RV
	}
	return ""
}

func (s *Snapshot) isOwn(kind, name string) bool { return kind == Loop.Kind && name == s.Name }

func (s *Snapshot) setNamed(kind, name string) int {
	if kind != Loop.Sizes {
		return -1
	}
	return slices.IndexFunc(s.ReplicaSets, func(rs ReplicaSet) bool { return rs.Name == name })
}

// Rewound is a copy in which the Deployment or a ReplicaSet is as it was; see decision.Versioned.
func (s *Snapshot) Rewound(kind, name string, was decision.Snapshot, fields []decision.Change) decision.Snapshot {
	old, _ := was.(*Snapshot)
	if s.isOwn(kind, name) {
		return s.rewoundSelf(old, fields)
	}
	i, j := s.setNamed(kind, name), -1
	if old != nil {
		j = old.setNamed(kind, name)
	}
	earlier := *s
	earlier.ReplicaSets = slices.Clone(s.ReplicaSets)
	switch {
	case i < 0 && j < 0:
		return nil
	case i < 0: // It has gone since.
		earlier.ReplicaSets = append(earlier.ReplicaSets, old.ReplicaSets[j])
		slices.SortFunc(earlier.ReplicaSets, func(a, b ReplicaSet) int {
			return cmp.Or(a.Created.Compare(b.Created), strings.Compare(a.Name, b.Name))
		})
		i = earlier.setNamed(kind, name)
	case j >= 0:
		now := s.ReplicaSets[i]
		earlier.ReplicaSets[i] = old.ReplicaSets[j]
		earlier.ReplicaSets[i].SameTemplate, earlier.ReplicaSets[i].CopyStale = now.SameTemplate, now.CopyStale // by the Deployment as it is now
	}
	earlier.ReplicaSets[i].undo(fields, s.Name)
	return &earlier
}

// rewoundSelf has the Deployment as it was, and the ReplicaSets as they are.
func (s *Snapshot) rewoundSelf(old *Snapshot, fields []decision.Change) decision.Snapshot {
	earlier := *s
	if old == nil {
		if !earlier.undo(fields) {
			return nil
		}
		return &earlier
	}
	earlier = *old
	earlier.Now, earlier.ReplicaSets = s.Now, slices.Clone(s.ReplicaSets)
	for i := range earlier.ReplicaSets {
		rs := &earlier.ReplicaSets[i]
		if j := old.setNamed(Loop.Sizes, rs.Name); j >= 0 {
			rs.SameTemplate, rs.CopyStale = old.ReplicaSets[j].SameTemplate, old.ReplicaSets[j].CopyStale
		} else {
			rs.SameTemplate = rs.Name == old.NextName
		}
	}
	return &earlier
}

// undo puts fields back, and reports whether those are all that changed.
func (s *Snapshot) undo(fields []decision.Change) bool {
	s.Status = copyStatus(s.Status)
	numbers := map[string]*int64{
		"spec.replicas": &s.Want, "status.observedGeneration": &s.Status.ObservedGeneration, "status.replicas": &s.Status.Replicas, "status.updatedReplicas": &s.Status.Updated,
		"status.readyReplicas": &s.Status.Ready, "status.availableReplicas": &s.Status.Available, "status.unavailableReplicas": &s.Status.Unavailable,
	}
	all := true
	for _, f := range fields {
		switch kind, isCondition := strings.CutPrefix(f.Field, "status.conditions["); {
		case isCondition:
			undoCondition(&s.Status, strings.TrimSuffix(kind, "]"), f.From)
		case f.Field == "spec.paused":
			s.Paused = f.From == "true"
		case numbers[f.Field] != nil:
			f.PutBack(numbers[f.Field])
		case f.Field == "status.terminatingReplicas":
			s.Status.Terminating = f.Number()
		case f.Field == "metadata.annotations["+annRevision+"]":
			s.Revision = "" // It is not known, but another one.
		default:
			all = false
		}
		if f.Field == "spec.replicas" || f.Field == "spec.paused" {
			s.Generation--
		}
	}
	return all
}

// undoCondition gives a condition its status and reason of before; its message and its times are not known.
func undoCondition(st *Status, kind, from string) {
	dropCondition(st, kind)
	if status, reason, _ := strings.Cut(from, " "); status != "" {
		st.Conditions = append(st.Conditions, decision.Condition{Type: kind, Status: status, Reason: reason})
	}
}

// undo takes changes of a ReplicaSet back. owner is whose ReplicaSets these are.
func (rs *ReplicaSet) undo(fields []decision.Change, owner string) {
	numbers := map[string]*int64{
		"spec.replicas": &rs.Replicas, "status.observedGeneration": &rs.ObservedGeneration,
		"status.replicas": &rs.StatusReplicas, "status.readyReplicas": &rs.Ready, "status.availableReplicas": &rs.Available,
	}
	for _, f := range fields {
		switch {
		case numbers[f.Field] != nil:
			f.PutBack(numbers[f.Field])
		case f.Field == "status.terminatingReplicas":
			rs.Terminating = f.Number()
		case f.Field == "metadata.ownerReferences" && f.From != f.To: // Anything else of its owners may have changed.
			rs.Mine = f.From == owner
		}
	}
}

// Without is a copy that has no such ReplicaSet; see decision.Versioned.
func (s *Snapshot) Without(kind, name string) decision.Snapshot {
	i := s.setNamed(kind, name)
	if i < 0 {
		return nil
	}
	earlier := *s
	earlier.ReplicaSets = slices.Delete(slices.Clone(s.ReplicaSets), i, i+1)
	return &earlier
}

// Beneath are the ReplicaSets; see decision.Versioned.
func (s *Snapshot) Beneath() (kind string, names []string) {
	for i := range s.ReplicaSets {
		names = append(names, s.ReplicaSets[i].Name)
	}
	return Loop.Sizes, names
}

// AsOf is a copy as of another moment; see decision.Versioned.
func (s *Snapshot) AsOf(now time.Time, _ decision.Snapshot) decision.Snapshot {
	earlier := *s
	earlier.Now = now
	return &earlier
}
