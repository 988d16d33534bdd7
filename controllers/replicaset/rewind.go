package replicaset

import (
	"slices"
	"strings"
	"time"

	"github.com/loopscope/loopscope/telemetry/decision"
)

// VersionOf is the resourceVersion in which it has the object itself or a pod; see
// decision.Versioned.
func (s *Snapshot) VersionOf(kind, name string) string {
	if kind == s.Kind && name == s.Name {
		return s.RV
	}
	if i := s.podNamed(kind, name); i >= 0 {
		return s.Pods[i].RV
	}
	return ""
}

func (s *Snapshot) podNamed(kind, name string) int {
	if kind != "Pod" {
		return -1
	}
	return slices.IndexFunc(s.Pods, func(p Pod) bool { return p.Name == name })
}

// Rewound is a copy in which the object itself or a pod is as it was; see decision.Versioned.
func (s *Snapshot) Rewound(kind, name string, was decision.Snapshot, fields []decision.Change) decision.Snapshot {
	old, _ := was.(*Snapshot)
	if kind == s.Kind && name == s.Name {
		return s.rewoundSelf(old, fields)
	}
	i, j := s.podNamed(kind, name), -1
	if old != nil {
		j = old.podNamed(kind, name)
	}
	earlier := *s
	earlier.Pods = slices.Clone(s.Pods)
	switch {
	case i < 0 && j < 0:
		return nil
	case i < 0: // It has gone since.
		earlier.Pods = append(earlier.Pods, old.Pods[j])
		slices.SortFunc(earlier.Pods, func(a, b Pod) int { return strings.Compare(a.Name, b.Name) })
		i = earlier.podNamed(kind, name)
	case j >= 0:
		earlier.Pods[i] = old.Pods[j]
	}
	earlier.Pods[i].undo(fields, s.Name)
	return &earlier
}

// rewoundSelf has the object itself as it was, and the pods as they are.
func (s *Snapshot) rewoundSelf(old *Snapshot, fields []decision.Change) decision.Snapshot {
	earlier := *s
	if old != nil {
		earlier = *old
		earlier.Now, earlier.Pods, earlier.TerminatingPods, earlier.Siblings = s.Now, s.Pods, s.TerminatingPods, s.Siblings
		return &earlier
	}
	numbers := map[string]*int64{
		"spec.replicas": &earlier.Want, "spec.minReadySeconds": &earlier.MinReady, "status.observedGeneration": &earlier.Status.ObservedGeneration,
		"status.replicas": &earlier.Status.Replicas, "status.fullyLabeledReplicas": &earlier.Status.FullyLabeled,
		"status.readyReplicas": &earlier.Status.Ready, "status.availableReplicas": &earlier.Status.Available,
	}
	for _, f := range fields {
		if n := numbers[f.Field]; n != nil {
			f.PutBack(n)
		}
		if strings.HasPrefix(f.Field, "spec.") {
			earlier.Generation = max(0, s.Generation-1) // One write is one generation.
		}
		if f.Field == "status.terminatingReplicas" {
			earlier.Status.Terminating = f.Number()
		}
		if f.Field == "status.conditions["+replicaFailure+"]" {
			earlier.Status.Conditions = failureOf(f.From)
		}
	}
	return &earlier
}

// failureOf is the condition of a status and a reason; its message and its time are not known.
func failureOf(words string) []decision.Condition {
	status, reason, _ := strings.Cut(words, " ")
	if status == "" {
		return nil
	}
	return []decision.Condition{{Type: replicaFailure, Status: status, Reason: reason}}
}

// undo takes changes of a pod back. owner is whose pods these are.
func (p *Pod) undo(fields []decision.Change, owner string) {
	for _, f := range fields {
		switch f.Field {
		case "status.phase":
			p.Phase = f.From
		case "status.conditions[Ready]":
			p.Ready = f.From == "true"
		case "spec.nodeName":
			p.Node = f.From
		case "metadata.deletionTimestamp":
			p.Terminating = f.From != ""
		case "metadata.ownerReferences":
			if f.From != f.To { // Anything else of its owners may have changed.
				p.Mine = f.From == owner
			}
		}
	}
}

// Without is a copy that has no such pod; see decision.Versioned.
func (s *Snapshot) Without(kind, name string) decision.Snapshot {
	i := s.podNamed(kind, name)
	if i < 0 {
		return nil
	}
	earlier := *s
	earlier.Pods = slices.Delete(slices.Clone(s.Pods), i, i+1)
	return &earlier
}

// Beneath are its pods; see decision.Versioned.
func (s *Snapshot) Beneath() (kind string, names []string) {
	for i := range s.Pods {
		names = append(names, s.Pods[i].Name)
	}
	return "Pod", names
}

// AsOf is a copy as of another moment, with the pods of its siblings as they were; see
// decision.Versioned.
func (s *Snapshot) AsOf(now time.Time, was decision.Snapshot) decision.Snapshot {
	earlier := *s
	earlier.Now = now
	if old, ok := was.(*Snapshot); ok && old != nil {
		earlier.Siblings = old.Siblings
	}
	return &earlier
}

// Beside is a copy with the pods of these siblings; see decision.Together.
func (s *Snapshot) Beside(siblings []decision.Snapshot) decision.Snapshot {
	together := *s
	together.Siblings = map[string]int64{}
	counted := map[string]bool{}
	for _, x := range append(siblings, s) {
		for i, pods := 0, x.(*Snapshot).Pods; i < len(pods); i++ {
			if p := &pods[i]; p.Active() && p.Matches && p.Node != "" && !counted[p.UID] {
				counted[p.UID] = true
				together.Siblings[p.Node]++
			}
		}
	}
	return &together
}
