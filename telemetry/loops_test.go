package telemetry

import (
	"slices"
	"time"

	"github.com/loopscope/loopscope/telemetry/decision"
)

// TestLoops are loops as a program may know them: one whose objects control those of
// another, one that is on its own, and one that works on objects of that one.
var TestLoops = decision.Loops{
	{Name: "deployment", Kind: "Deployment", Sizes: "ReplicaSet", New: func() decision.Snapshot { return new(sized) }},
	{Name: "replicaset", Kind: "ReplicaSet", Owner: "deployment"},
	{Name: "replicationcontroller", Kind: "ReplicationController"},
	{Name: "rollingupdate", Kind: "RollingUpdate", New: func() decision.Snapshot { return new(steering) }},
}

// sized is a snapshot that has objects with their versions and sizes, and decides that each is
// of the size that is wanted of it.
type sized struct {
	ReplicaSets []sizedSet `json:"replicaSets"`
	Departs     int        `json:"departs"`
}

type sizedSet struct {
	Name       string `json:"name"`
	RV         string `json:"rv"`
	Size, Want int64
}

func (s *sized) Begin() decision.Core { return sizedCore{s} }
func (s *sized) Taken() time.Time     { return time.Time{} }
func (s *sized) Departure(string) int { return s.Departs }
func (s *sized) at(kind, name string) int {
	return slices.IndexFunc(s.ReplicaSets, func(x sizedSet) bool { return kind == "ReplicaSet" && x.Name == name })
}

func (s *sized) Rewound(kind, name string, was decision.Snapshot, size int64) decision.Snapshot {
	i := s.at(kind, name)
	if i < 0 {
		return nil
	}
	earlier := &sized{ReplicaSets: slices.Clone(s.ReplicaSets)}
	earlier.ReplicaSets[i].Size = size
	return earlier
}

type sizedCore struct{ *sized }

func (c sizedCore) Decide() (v decision.Verdict) {
	v.Path = decision.Path{{Question: "RR-2"}}
	for _, x := range c.ReplicaSets {
		if x.Size != x.Want {
			v.Actions = append(v.Actions, resize(x.Name, x.RV, x.Size, x.Want))
		}
	}
	return v
}
func (sizedCore) Learn(decision.Round, decision.Learnt)    {}
func (sizedCore) Settle([]decision.Round) *decision.Report { return nil }
func (sizedCore) Tell([]decision.Round, *decision.Report, decision.Try, time.Time) decision.Telling {
	return decision.Telling{}
}

func (s *sized) VersionOf(kind, name string) string {
	if i := s.at(kind, name); i >= 0 {
		return s.ReplicaSets[i].RV
	}
	return ""
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
