package telemetry

import "github.com/loopscope/loopscope/telemetry/decision"

// TestLoops are loops as a program may know them: one whose objects control those of
// another, and one that is on its own.
var TestLoops = decision.Loops{
	{Name: "deployment", Kind: "Deployment", Sizes: "ReplicaSet", New: func() decision.Snapshot { return new(sized) }},
	{Name: "replicaset", Kind: "ReplicaSet", Owner: "deployment"},
	{Name: "replicationcontroller", Kind: "ReplicationController"},
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
