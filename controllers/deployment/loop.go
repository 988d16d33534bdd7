package deployment

import (
	"slices"
	"time"

	"github.com/loopscope/loopscope/telemetry/decision"
)

// Loop is what the rest of the program knows of this loop.
var Loop = decision.Loop{
	Name: "deployment", Kind: "Deployment", Aliases: []string{"deploy", "deployment.apps", "deployments.apps"}, Listed: true, Sizes: "ReplicaSet",
	FirstSteps: `kubectl create deployment web --image=nginx --replicas=3
kubectl set image deployment/web nginx=nginx:1.27   # a good rollout
kubectl set image deployment/web nginx=nginx:404    # one that gets stuck
kubectl scale deployment/web --replicas=6           # scaling in the middle`,
	Catalogue: Catalogue, Reasons: Reasons,
	Headlines: []decision.Headline{
		{Fact: "wanted", Label: "wanted"},
		{Fact: "new", Label: "new", Note: "newAvailable", Words: "available"},
		{Fact: "old", Label: "old", Note: "oldAvailable", Words: "available"},
		{Fact: "total", Label: "total", Bound: "ceiling", Sign: "≤"},
		{Fact: "available", Label: "available", Bound: "floor", Sign: "≥"},
		{Fact: "lastProgress", Label: "last progress"},
	},
	New: func() decision.Snapshot { return new(Snapshot) },
	Decode: func(text []byte) (decision.Snapshot, error) {
		s, err := Decode(text)
		if err != nil {
			return nil, err
		}
		return s, nil
	},
}

// Begin is a sync on the snapshot, which it never changes.
func (s *Snapshot) Begin() decision.Core { return NewSync(s) }

// Taken is when it was observed.
func (s *Snapshot) Taken() time.Time { return s.Now }

// VersionOf is the resourceVersion in which it has an object whose size the loop decides; ""
// where it has no such object.
func (s *Snapshot) VersionOf(kind, name string) string {
	if i := s.setNamed(kind, name); i >= 0 {
		return s.ReplicaSets[i].RV
	}
	return ""
}

// Rewound is a copy in which a ReplicaSet is as another snapshot has it, and of that size; see
// decision.Sizing.
func (s *Snapshot) Rewound(kind, name string, was decision.Snapshot, size int64) decision.Snapshot {
	i := s.setNamed(kind, name)
	if i < 0 {
		return nil
	}
	earlier := *s
	earlier.ReplicaSets = slices.Clone(s.ReplicaSets)
	if old, known := was.(*Snapshot); known && old != nil {
		j := old.setNamed(kind, name)
		if j < 0 {
			earlier.ReplicaSets = slices.Delete(earlier.ReplicaSets, i, i+1)
			return &earlier
		}
		now := s.ReplicaSets[i]
		earlier.ReplicaSets[i] = old.ReplicaSets[j]
		earlier.ReplicaSets[i].SameTemplate, earlier.ReplicaSets[i].CopyStale = now.SameTemplate, now.CopyStale // by the Deployment as it is now
	}
	earlier.ReplicaSets[i].Replicas = size
	return &earlier
}

func (s *Snapshot) setNamed(kind, name string) int {
	if kind != Loop.Sizes {
		return -1
	}
	return slices.IndexFunc(s.ReplicaSets, func(rs ReplicaSet) bool { return rs.Name == name })
}

// Departure is the number of the departure that may make what follows from a question another
// one than upstream's here: stale annotations are refreshed (1, 2), pods are not counted that
// will not stay (3), and a rollback under Recreate begins with no pods (12).
func (s *Snapshot) Departure(question string) int {
	switch question {
	case qOneStale:
		return 1
	case qRecreateStale:
		return 2
	case qRBCurrent:
		if s.Strategy == recreate {
			return 12
		}
	case qMayGo, qCaughtUp, qUnhealthy, qHealthy, qSaturated, qOldLeft:
		if slices.ContainsFunc(s.ReplicaSets, func(rs ReplicaSet) bool { return rs.Mine && counted(&rs) < rs.Available }) {
			return 3
		}
	}
	return 0
}
