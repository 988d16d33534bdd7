package deployment_test

import (
	"testing"

	"github.com/loopscope/loopscope/controllers/deployment"
)

// A snapshot is taken back to before a size was written, or a ReplicaSet created; it itself
// stays as it is.
func TestRewound(t *testing.T) {
	now := &deployment.Snapshot{ReplicaSets: []deployment.ReplicaSet{{Name: "web-1", RV: "7", Replicas: 5, SameTemplate: true}, {Name: "web-2", RV: "8", Replicas: 1}}}
	before := &deployment.Snapshot{ReplicaSets: []deployment.ReplicaSet{{Name: "web-1", RV: "6", Replicas: 4, Available: 2}}}
	if s := now.Rewound("ReplicaSet", "web-1", nil, 3).(*deployment.Snapshot); s.ReplicaSets[0].Replicas != 3 || s.ReplicaSets[0].RV != "7" {
		t.Errorf("a size: %+v", s.ReplicaSets)
	}
	if s := now.Rewound("ReplicaSet", "web-1", before, 3).(*deployment.Snapshot); s.ReplicaSets[0].Replicas != 3 || s.ReplicaSets[0].Available != 2 || !s.ReplicaSets[0].SameTemplate {
		t.Errorf("as it was: %+v", s.ReplicaSets)
	}
	if s := now.Rewound("ReplicaSet", "web-2", before, 0).(*deployment.Snapshot); len(s.ReplicaSets) != 1 {
		t.Errorf("a creation: %+v", s.ReplicaSets)
	}
	if now.Rewound("Pod", "web-1", nil, 3) != nil || now.Rewound("ReplicaSet", "web-3", nil, 3) != nil {
		t.Error("what is not there was taken back")
	}
	if now.ReplicaSets[0].Replicas != 5 || len(now.ReplicaSets) != 2 {
		t.Errorf("it was changed: %+v", now.ReplicaSets)
	}
}
