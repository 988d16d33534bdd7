package effects

import (
	"k8s.io/apimachinery/pkg/types"

	"github.com/loopscope/loopscope/controllers/family"
	"github.com/loopscope/loopscope/telemetry/redact"
)

// fillSiblings counts active pods on each node over all ReplicaSets of the same
// owner, which only a ranking needs: so only when there are too many pods.
func (t *replicaSetSync) fillSiblings() {
	active := int64(0)
	for i := range t.s.Pods {
		if t.s.Pods[i].Active() {
			active++
		}
	}
	if active <= t.s.Want {
		return
	}
	kin := t.controller.owners.siblings(t.rs)
	if kin == nil {
		return
	}
	t.s.Siblings = map[string]int64{}
	counted := map[types.UID]bool{}
	for _, sibling := range kin {
		for _, p := range podsMatching(t.controller.pods, t.rs.Namespace, sibling.Spec.Selector) {
			if family.PodActive(p) && p.Spec.NodeName != "" && !counted[p.UID] {
				counted[p.UID] = true
				t.s.Siblings[redact.Line(p.Spec.NodeName)]++
			}
		}
	}
}
