package migrate

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/loopscope/loopscope/controllers/rollingupdate"
	"github.com/loopscope/loopscope/telemetry/prose"
)

// ofUser are labels or annotations without those that say something of their object alone: what
// kubectl, deployers and the loops have written, rolling updates included.
func ofUser(from map[string]string) map[string]string {
	out := maps.Clone(from)
	maps.DeleteFunc(out, func(key, _ string) bool {
		return rollingupdate.OfOne(key) || strings.HasPrefix(key, "loopscope.dev/") || strings.HasPrefix(key, "deployment.kubernetes.io/")
	})
	return out
}

// deployerNotes say that the Deployment is none of a deployer's yet.
func deployerNotes(rc *corev1.ReplicationController) []string {
	keys := map[string]bool{}
	for _, from := range []map[string]string{rc.Labels, rc.Annotations} {
		for key := range from {
			if rollingupdate.OfDeployer(key) {
				keys[key] = true
			}
		}
	}
	if len(keys) == 0 {
		return nil
	}
	return []string{fmt.Sprintf("the Deployment does not get %s of the ReplicationController, by which a deployer knows what it has deployed: it would delete the Deployment, which is not in its sources. "+
		"Have these contain the Deployment in place of the ReplicationController, or the deployer creates that again", prose.Some(slices.Sorted(maps.Keys(keys)), mostNames))}
}
