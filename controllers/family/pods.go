package family

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/loopscope/loopscope/telemetry/redact"
)

// PodController is the name of the pod index that upstream's controllers use:
// "namespace/Kind/Name/UID" of the controller, or just the namespace for orphans.
const PodController = "podController"

// IndexPod files a pod under its controller ([D-5]).
func IndexPod(obj any) ([]string, error) {
	pod, ok := obj.(*corev1.Pod)
	if !ok {
		return nil, nil
	}
	ref := metav1.GetControllerOf(pod)
	if ref == nil {
		return []string{pod.Namespace}, nil
	}
	return []string{podIndexKey(pod.Namespace, ref.Kind, ref.Name, string(ref.UID))}, nil
}

func podIndexKey(namespace, kind, name, uid string) string {
	return namespace + "/" + kind + "/" + name + "/" + uid
}

// PodsOf lists the pods of a controller, in any phase.
func PodsOf(pods cache.Indexer, namespace, kind, name, uid string) []*corev1.Pod {
	return PodsIn(pods, podIndexKey(namespace, kind, name, uid))
}

// PodsIn lists the pods under a key of the index PodController.
func PodsIn(pods cache.Indexer, key string) []*corev1.Pod {
	found, _ := pods.ByIndex(PodController, key) // The constructor added the index: it exists.
	list := make([]*corev1.Pod, 0, len(found))
	for _, obj := range found {
		if pod, ok := obj.(*corev1.Pod); ok {
			list = append(list, pod)
		}
	}
	return list
}

// PodActive is upstream's notion: neither finished nor being deleted.
func PodActive(p *corev1.Pod) bool { return !PodFinished(p) && p.DeletionTimestamp == nil }

// PodFinished reports whether a pod has ended, well or not.
func PodFinished(p *corev1.Pod) bool {
	return p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed
}

// PodReady is what its condition says.
func PodReady(p *corev1.Pod) bool {
	c := PodCondition(p, corev1.PodReady)
	return c != nil && c.Status == corev1.ConditionTrue
}

// PodReadySince is when the pod became ready, zero if it is not.
func PodReadySince(p *corev1.Pod) time.Time {
	if c := PodCondition(p, corev1.PodReady); c != nil && c.Status == corev1.ConditionTrue {
		return c.LastTransitionTime.UTC()
	}
	return time.Time{}
}

// PodCondition is one of its conditions, nil where it has none of that type.
func PodCondition(p *corev1.Pod, t corev1.PodConditionType) *corev1.PodCondition {
	for i := range p.Status.Conditions {
		if p.Status.Conditions[i].Type == t {
			return &p.Status.Conditions[i]
		}
	}
	return nil
}

// PodAvailable is ready for at least minReady seconds as of now ([P-1]).
func PodAvailable(p *corev1.Pod, minReady int64, now time.Time) bool {
	if !PodReady(p) {
		return false
	}
	since := PodReadySince(p)
	return minReady == 0 || !since.IsZero() && !since.Add(time.Duration(minReady)*time.Second).After(now)
}

// Restarts are the highest restart counts of regular containers and of sidecars.
func Restarts(p *corev1.Pod) (regular, sidecar int64) {
	for _, c := range p.Status.ContainerStatuses {
		regular = max(regular, int64(c.RestartCount))
	}
	sidecars := map[string]bool{}
	for _, c := range p.Spec.InitContainers {
		sidecars[c.Name] = c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways
	}
	for _, c := range p.Status.InitContainerStatuses {
		if sidecars[c.Name] {
			sidecar = max(sidecar, int64(c.RestartCount))
		}
	}
	return regular, sidecar
}

// Images are the images of a pod template, in the order of its containers.
func Images(spec *corev1.PodSpec) []string {
	list := make([]string, 0, len(spec.Containers))
	for _, c := range spec.Containers {
		list = append(list, redact.Image(c.Image))
	}
	return list
}
