package replicaset

import (
	"time"

	"github.com/loopscope/loopscope/telemetry/decision"
)

// Loop is what the rest of the program knows of the loop of ReplicaSets.
var Loop = decision.Loop{
	Name: "replicaset", Kind: "ReplicaSet", Aliases: []string{"rs", "replicaset.apps", "replicasets.apps"}, Owner: "deployment",
	Shows:     []decision.Resource{{Group: "apps", Name: "replicasets"}, {Name: "pods"}},
	Catalogue: Catalogue, Reasons: Reasons, Headlines: headlines, Predicts: predicts("ReplicaSet"), Signs: signs, Measures: []decision.Measure{staleSkips, ageRatio}, New: empty, Decode: decodeLoop,
}

// ControllerLoop is the same of ReplicationControllers, which it serves by the same rules ([RM-1]).
var ControllerLoop = decision.Loop{
	Name: "replicationcontroller", Kind: "ReplicationController", Aliases: []string{"rc"}, Listed: true,
	Shows: []decision.Resource{{Name: "replicationcontrollers"}, {Name: "pods"}},
	FirstSteps: `kubectl create -f - <<'END'
{"apiVersion": "v1", "kind": "ReplicationController", "metadata": {"name": "web"},
 "spec": {"replicas": 3, "selector": {"app": "web"},
  "template": {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "web", "image": "nginx:1.28"}]}}}}
END
kubectl scale rc/web --replicas=5
loopscope rolling-update web --image=nginx:1.29   # to another image`,
	Catalogue: controllerCatalogue(), Reasons: Reasons, Headlines: headlines, Predicts: predicts("ReplicationController"), Signs: signs, Measures: []decision.Measure{ageRatio}, New: empty, Decode: decodeLoop,
}

func predicts(kind string) []decision.Predictable {
	return []decision.Predictable{{Aspect: decision.AspectCreation, Of: "Pod"}, {Aspect: decision.AspectDeletion, Of: "Pod"}, {Aspect: decision.AspectOwner, Of: "Pod"},
		{Aspect: decision.AspectStatus, Of: kind}, {Aspect: decision.AspectConditions, Of: kind}, {Aspect: decision.AspectEvent, Of: kind}}
}

var signs = map[decision.Predictable]string{{Aspect: decision.AspectCreation, Of: "Pod"}: reasonCreated, {Aspect: decision.AspectDeletion, Of: "Pod"}: reasonDeleted}

func controllerCatalogue() decision.Catalogue {
	c := Catalogue
	c.Loop = "replicationcontroller"
	return c
}

var headlines = []decision.Headline{
	{Fact: "wanted", Label: "wanted"},
	{Fact: "pods", Label: "pods"},
	{Fact: "ready", Label: "ready"},
	{Fact: "available", Label: "available"},
	{Fact: "terminating", Label: "terminating"},
}

func empty() decision.Snapshot { return new(Snapshot) }

func decodeLoop(text []byte) (decision.Snapshot, error) {
	s, err := Decode(text)
	if err != nil {
		return nil, err
	}
	return s, nil
}

// Begin is a sync on the snapshot, which it never changes.
func (s *Snapshot) Begin() decision.Core { return NewSync(s) }

// Taken is when it was observed.
func (s *Snapshot) Taken() time.Time { return s.Now }
