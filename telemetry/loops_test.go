package telemetry

import "github.com/loopscope/loopscope/telemetry/decision"

// TestLoops are loops as a program may know them: one whose objects control those of
// another, one that is on its own, and one that works on objects of that one.
var TestLoops = decision.Loops{
	{Name: "deployment", Kind: "Deployment", Sizes: "ReplicaSet", New: func() decision.Snapshot { return new(sized) }},
	{Name: "replicaset", Kind: "ReplicaSet", Owner: "deployment"},
	{Name: "replicationcontroller", Kind: "ReplicationController"},
	{Name: "rollingupdate", Kind: "RollingUpdate", New: func() decision.Snapshot { return new(steering) }},
}

// sized is a snapshot that has objects with their versions.
type sized struct {
	decision.Snapshot `json:"-"`

	ReplicaSets []struct{ Name, RV string } `json:"replicaSets"`
}

func (s *sized) VersionOf(kind, name string) string {
	for _, x := range s.ReplicaSets {
		if kind == "ReplicaSet" && x.Name == name {
			return x.RV
		}
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
