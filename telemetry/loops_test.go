package telemetry

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/loopscope/loopscope/telemetry/decision"
)

// TestLoops are loops as a program may know them: one whose objects control those of
// another, one that is on its own, and one that works on objects of that one.
var TestLoops = decision.Loops{
	{Name: "deployment", Kind: "Deployment", Sizes: "ReplicaSet", Predicts: testPredicts, Signs: testSigns, New: func() decision.Snapshot { return new(sized) }},
	{Name: "replicaset", Kind: "ReplicaSet", Owner: "deployment"},
	{Name: "replicationcontroller", Kind: "ReplicationController"},
	{Name: "rollingupdate", Kind: "RollingUpdate", New: func() decision.Snapshot { return new(steering) }},
}

var testPredicts = []decision.Predictable{
	{Aspect: decision.AspectSize, Of: "ReplicaSet"}, {Aspect: decision.AspectCreation, Of: "ReplicaSet"}, {Aspect: decision.AspectDeletion, Of: "ReplicaSet"}, {Aspect: decision.AspectStatus, Of: "Deployment"}, {Aspect: decision.AspectConditions, Of: "Deployment"}, {Aspect: decision.AspectEvent, Of: "Deployment"},
}

var testSigns = map[decision.Predictable]string{{Aspect: decision.AspectSize, Of: "ReplicaSet"}: "Scaled", {Aspect: decision.AspectDeletion, Of: "ReplicaSet"}: "Deleted"}

// sized is a snapshot that has objects with their versions and sizes, and decides that each is
// of the size that is wanted of it, and that the status says how many pods are ready.
type sized struct {
	RV          string     `json:"rv"`
	Status      int64      `json:"status"` // as it was published
	New         string     `json:"new"`    // is created where there is none
	ReplicaSets []sizedSet `json:"replicaSets"`
	Departs     int        `json:"departs"`
	Refuses     bool       `json:"refuses"`
}

type sizedSet struct {
	Name       string `json:"name"`
	RV         string `json:"rv"`
	Size, Want int64
	Ready      int64
	Ends       bool // nothing of it counts as ready any more
}

func (s *sized) Begin() decision.Core { return sizedCore{s} }
func (s *sized) Taken() time.Time     { return time.Time{} }
func (s *sized) Departure(seen *decision.Prediction) int {
	if from, to := seen.Sizes(); to < from {
		return s.Departs
	}
	return 0
}

func (s *sized) Refused(*decision.Prediction) bool { return s.Refuses }

// Alike are the ReplicaSets of one size.
func (s *sized) Alike(kind, name string) (names []string) {
	for _, x := range s.ReplicaSets {
		if i := s.at(kind, name); i >= 0 && s.ReplicaSets[i].Size == x.Size {
			names = append(names, x.Name)
		}
	}
	return names
}

func (s *sized) at(kind, name string) int {
	return slices.IndexFunc(s.ReplicaSets, func(x sizedSet) bool { return kind == "ReplicaSet" && x.Name == name })
}

func (s *sized) VersionOf(kind, name string) string {
	if kind == "Deployment" {
		return s.RV
	}
	if i := s.at(kind, name); i >= 0 {
		return s.ReplicaSets[i].RV
	}
	return ""
}

func (s *sized) Rewound(kind, name string, was decision.Snapshot, fields []decision.Change) decision.Snapshot {
	earlier := *s
	earlier.ReplicaSets = slices.Clone(s.ReplicaSets)
	old, _ := was.(*sized)
	if kind == "Deployment" {
		if old != nil {
			earlier.RV, earlier.Status, earlier.New = old.RV, old.Status, old.New
		}
		for _, f := range fields {
			earlier.Status, _ = strconv.ParseInt(f.From, 10, 64)
		}
		return &earlier
	}
	i := s.at(kind, name)
	switch {
	case i < 0 && old == nil:
		return nil
	case i < 0: // It has gone since.
		i = len(earlier.ReplicaSets)
		earlier.ReplicaSets = append(earlier.ReplicaSets, old.ReplicaSets[old.at(kind, name)])
	case old != nil:
		earlier.ReplicaSets[i] = old.ReplicaSets[old.at(kind, name)]
	}
	for _, f := range fields {
		n, _ := strconv.ParseInt(f.From, 10, 64)
		switch f.Field {
		case fieldDeletion:
			earlier.ReplicaSets[i].Ends = f.From != ""
		case "spec.replicas":
			earlier.ReplicaSets[i].Size = n
		default:
			earlier.ReplicaSets[i].Ready = n
		}
	}
	return &earlier
}

func (s *sized) AsOf(time.Time, decision.Snapshot) decision.Snapshot { return s }

func (s *sized) Without(kind, name string) decision.Snapshot {
	i := s.at(kind, name)
	if i < 0 {
		return nil
	}
	earlier := *s
	earlier.ReplicaSets = slices.Delete(slices.Clone(s.ReplicaSets), i, i+1)
	return &earlier
}

func (s *sized) Beneath() (kind string, names []string) {
	for _, x := range s.ReplicaSets {
		names = append(names, x.Name)
	}
	return "ReplicaSet", names
}

type sizedCore struct{ *sized }

func (c sizedCore) Decide() (v decision.Verdict) {
	v.Path = decision.Path{{Question: "RR-2"}}
	if c.New != "" && c.at("ReplicaSet", c.New) < 0 {
		v.Actions = append(v.Actions, decision.Action{Kind: decision.CreateReplicaSet, Question: "RR-1", Target: decision.Ref{Kind: "ReplicaSet", Name: c.New}})
	}
	for _, x := range c.ReplicaSets {
		if x.Want < 0 {
			v.Actions = append(v.Actions, decision.Action{Kind: decision.DeleteReplicaSet, Question: "RC-6", Target: decision.Ref{Kind: "ReplicaSet", Name: x.Name}})
		} else if x.Size != x.Want {
			v.Actions = append(v.Actions, decision.Action{Kind: decision.UpdateReplicaSet, Question: "RR-2", Target: decision.Ref{Kind: "ReplicaSet", Name: x.Name, RV: x.RV}, Size: &decision.Size{From: x.Size, To: x.Want}})
		}
	}
	return v
}

func (c sizedCore) Settle(rounds []decision.Round) *decision.Report {
	ready, events, changes := int64(0), []decision.Event(nil), []decision.Change(nil)
	for _, r := range rounds {
		for i, o := range r.Outcomes {
			switch a := &r.Verdict.Actions[i]; {
			case o.State == decision.Refused:
				events = append(events, decision.Event{Type: "Warning", Reason: "Failed", Message: "Error: " + o.Failure.Message})
				changes = []decision.Change{{Field: "status.conditions[Failure]", To: "True Refused"}}
			case a.Kind == decision.CreateReplicaSet:
				events = append(events, decision.Event{Type: "Normal", Reason: "Made", Message: a.Target.Name + " created"})
			case a.Size != nil:
				events = append(events, decision.Event{Type: "Normal", Reason: "Scaled", Message: fmt.Sprintf("%s to %d", a.Target.Name, a.Size.To)})
			}
		}
	}
	for _, x := range c.ReplicaSets {
		if !x.Ends {
			ready += x.Ready
		}
	}
	if ready != c.Status {
		changes = append(changes, decision.Change{Field: "status.readyReplicas", From: fmt.Sprint(c.Status), To: fmt.Sprint(ready)})
	}
	return &decision.Report{Events: events, Changes: changes}
}
func (sizedCore) Learn(decision.Round, decision.Learnt) {}
func (sizedCore) Tell([]decision.Round, *decision.Report, decision.Try, time.Time) decision.Telling {
	return decision.Telling{}
}

// steering is a snapshot that works on ReplicationControllers.
type steering struct {
	decision.Snapshot `json:"-"`

	Works []string `json:"works"`
	Fresh bool     `json:"fresh"`
}

func (s *steering) Steers() (list []decision.Ref) {
	for _, name := range s.Works {
		list = append(list, decision.Ref{Kind: "ReplicationController", Namespace: "shop", Name: name})
	}
	return list
}

func (s *steering) Untouched() bool { return s.Fresh }
