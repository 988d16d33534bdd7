package deployment

import (
	"time"

	"github.com/loopscope/loopscope/telemetry/decision"
)

// Loop is what the rest of the program knows of this loop.
var Loop = decision.Loop{
	Name: "deployment", Kind: "Deployment", Aliases: []string{"deploy", "deployment.apps", "deployments.apps"}, Listed: true, Sizes: "ReplicaSet",
	Shows: []decision.Resource{{Group: "apps", Name: "deployments"}, {Group: "apps", Name: "replicasets"}, {Name: "pods"}},
	FirstSteps: `kubectl create deployment web --image=nginx --replicas=3
kubectl set image deployment/web nginx=nginx:1.27   # a good rollout
kubectl set image deployment/web nginx=nginx:404    # one that gets stuck
kubectl scale deployment/web --replicas=6           # scaling in the middle`,
	Predicts: []decision.Predictable{
		{Aspect: decision.AspectSize, Of: "ReplicaSet"}, {Aspect: decision.AspectCreation, Of: "ReplicaSet"}, {Aspect: decision.AspectDeletion, Of: "ReplicaSet"}, {Aspect: decision.AspectOwner, Of: "ReplicaSet"},
		{Aspect: decision.AspectStatus, Of: "Deployment"}, {Aspect: decision.AspectConditions, Of: "Deployment"}, {Aspect: decision.AspectAnnotations, Of: "Deployment"}, {Aspect: decision.AspectEvent, Of: "Deployment"},
	},
	Signs: map[decision.Predictable]string{
		{Aspect: decision.AspectSize, Of: "ReplicaSet"}: reasonScaling, {Aspect: decision.AspectCreation, Of: "ReplicaSet"}: reasonScaling,
	},
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
