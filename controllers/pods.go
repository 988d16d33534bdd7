package controllers

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/loopscope/loopscope/telemetry/redact"
)

// podController is the name of the pod index that upstream's controllers use:
// "namespace/Kind/Name/UID" of the controller, or just the namespace for orphans.
const podController = "podController"

// indexPod files a pod under its controller ([D-5]).
func indexPod(obj any) ([]string, error) {
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

// podsOf lists the pods of a controller, in any phase.
func podsOf(pods cache.Indexer, namespace, kind, name, uid string) []*corev1.Pod {
	return podsIn(pods, podIndexKey(namespace, kind, name, uid))
}

func podsIn(pods cache.Indexer, key string) []*corev1.Pod {
	found, _ := pods.ByIndex(podController, key) // The constructor added the index: it exists.
	list := make([]*corev1.Pod, 0, len(found))
	for _, obj := range found {
		if pod, ok := obj.(*corev1.Pod); ok {
			list = append(list, pod)
		}
	}
	return list
}

// podActive is upstream's notion: neither finished nor being deleted.
func podActive(p *corev1.Pod) bool { return !podFinished(p) && p.DeletionTimestamp == nil }

func podFinished(p *corev1.Pod) bool {
	return p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed
}

func podReady(p *corev1.Pod) bool {
	c := podCondition(p, corev1.PodReady)
	return c != nil && c.Status == corev1.ConditionTrue
}

// podReadySince is when the pod became ready, zero if it is not.
func podReadySince(p *corev1.Pod) time.Time {
	if c := podCondition(p, corev1.PodReady); c != nil && c.Status == corev1.ConditionTrue {
		return c.LastTransitionTime.UTC()
	}
	return time.Time{}
}

func podCondition(p *corev1.Pod, t corev1.PodConditionType) *corev1.PodCondition {
	for i := range p.Status.Conditions {
		if p.Status.Conditions[i].Type == t {
			return &p.Status.Conditions[i]
		}
	}
	return nil
}

// podAvailable is ready for at least minReady seconds as of now ([P-1]).
func podAvailable(p *corev1.Pod, minReady int64, now time.Time) bool {
	if !podReady(p) {
		return false
	}
	since := podReadySince(p)
	return minReady == 0 || !since.IsZero() && !since.Add(time.Duration(minReady)*time.Second).After(now)
}

// restarts are the highest restart counts of regular containers and of sidecars.
func restarts(p *corev1.Pod) (regular, sidecar int64) {
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

// images are the images of a pod template, in the order of its containers.
func images(spec *corev1.PodSpec) []string {
	list := make([]string, 0, len(spec.Containers))
	for _, c := range spec.Containers {
		list = append(list, redact.Image(c.Image))
	}
	return list
}
