package effects

import (
	"cmp"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/loopscope/loopscope/controllers/deployment"
	"github.com/loopscope/loopscope/controllers/family"
	"github.com/loopscope/loopscope/telemetry/decision"
)

// newestDisrupted are the last that were ended.
func newestDisrupted(pods []decision.DisruptedPod) []decision.DisruptedPod {
	slices.SortFunc(pods, func(a, b decision.DisruptedPod) int {
		return cmp.Or(b.At.Compare(a.At), strings.Compare(a.Name, b.Name))
	})
	return pods[:min(len(pods), deployment.MaxDisrupted)]
}

// podDeleted notes a pod that others have deleted. A ReplicaSet that has one too many deletes it, as does
// a collector what has finished; and whoever evicts or preempts a pod says so in its status.
func (b *deploymentController) podDeleted(pod *corev1.Pod) {
	rs := b.replicaSetOf(pod)
	if rs == nil || rs.DeletionTimestamp != nil || family.PodFinished(pod) || family.PodCondition(pod, corev1.DisruptionTarget) != nil {
		return
	}
	d, missing := b.resolve(rs.Namespace, metav1.GetControllerOf(rs)), family.DefaultToOne(rs.Spec.Replicas)
	if d == nil {
		return
	}
	for _, p := range family.PodsOf(b.pods, rs.Namespace, family.KindReplicaSet, rs.Name, string(rs.UID)) {
		if family.PodActive(p) {
			missing--
		}
	}
	if missing > 0 {
		b.contests.noteDeleted(d.UID, pod.CreationTimestamp.Time, b.now())
	}
}

func (b *deploymentController) replicaSetOf(pod *corev1.Pod) *appsv1.ReplicaSet {
	ref := metav1.GetControllerOf(pod)
	if ref == nil || ref.Kind != family.KindReplicaSet {
		return nil
	}
	rs, err := b.replicaSets.ReplicaSets(pod.Namespace).Get(ref.Name)
	if err != nil || rs.UID != ref.UID {
		return nil
	}
	return rs
}
