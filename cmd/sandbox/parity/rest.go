package parity

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
)

// long is a number of seconds, of minReadySeconds or a deadline, that a scenario
// does not wait for.
const long = 60

// scene is what there is in a namespace.
type scene struct {
	deployments []*appsv1.Deployment
	replicaSets []*appsv1.ReplicaSet
	controllers []*corev1.ReplicationController
	pods        []*corev1.Pod
}

// cached is the namespace as the informers show it.
func (p *Plane) cached(namespace string) scene {
	return scene{
		inNamespace[*appsv1.Deployment](p.deployments, namespace), inNamespace[*appsv1.ReplicaSet](p.replicaSets, namespace),
		inNamespace[*corev1.ReplicationController](p.controllers, namespace), inNamespace[*corev1.Pod](p.pods, namespace),
	}
}

// live is the namespace as the API server shows it.
func (p *Plane) live(ctx context.Context, namespace string) (scene, error) {
	var s scene
	deployments, err := p.client.AppsV1().Deployments(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return s, err
	}
	replicaSets, err := p.client.AppsV1().ReplicaSets(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return s, err
	}
	controllers, err := p.client.CoreV1().ReplicationControllers(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return s, err
	}
	pods, err := p.client.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return s, err
	}
	return scene{pointers(deployments.Items), pointers(replicaSets.Items), pointers(controllers.Items), pointers(pods.Items)}, nil
}

func pointers[T any](items []T) []*T {
	list := make([]*T, len(items))
	for i := range items {
		list[i] = &items[i]
	}
	return list
}

// versions tells two scenes apart. Of a pod only what is compared counts, as one
// that crashes gets new versions forever.
func (s scene) versions() map[types.UID]string {
	all := map[types.UID]string{}
	for _, d := range s.deployments {
		all[d.UID] = d.ResourceVersion
	}
	for _, rs := range s.replicaSets {
		all[rs.UID] = rs.ResourceVersion
	}
	for _, rc := range s.controllers {
		all[rc.UID] = rc.ResourceVersion
	}
	for _, pod := range s.pods {
		all[pod.UID] = shapeOf(pod)
	}
	return all
}

// unsettled says what still has to happen before the namespace can be at rest;
// "" if nothing has.
func (s scene) unsettled() string {
	for _, pod := range s.pods {
		if what := moving(pod); what != "" {
			return fmt.Sprintf("pod %s %s", pod.Name, what)
		}
	}
	for _, rs := range s.replicaSets {
		if what := unsettledSet(rs, selectorOf(rs.Spec.Selector), rs.Spec.MinReadySeconds, *rs.Spec.Replicas, setStatus(rs.Status), s.pods); what != "" {
			return fmt.Sprintf("ReplicaSet %s %s", rs.Name, what)
		}
	}
	for _, rc := range s.controllers {
		if what := unsettledSet(rc, labels.SelectorFromSet(rc.Spec.Selector), rc.Spec.MinReadySeconds, *rc.Spec.Replicas, controllerStatus(rc.Status), s.pods); what != "" {
			return fmt.Sprintf("ReplicationController %s %s", rc.Name, what)
		}
	}
	for _, d := range s.deployments {
		if what := s.unsettledDeployment(d); what != "" {
			return fmt.Sprintf("Deployment %s %s", d.Name, what)
		}
	}
	return ""
}

// unsettledDeployment says what a Deployment still has to write down.
func (s scene) unsettledDeployment(d *appsv1.Deployment) string {
	var sum appsv1.DeploymentStatus
	var ending int32
	for _, rs := range s.replicaSets {
		if metav1.IsControlledBy(rs, d) {
			sum.Replicas += rs.Status.Replicas
			sum.ReadyReplicas += rs.Status.ReadyReplicas
			sum.AvailableReplicas += rs.Status.AvailableReplicas
			ending += ptr.Deref(rs.Status.TerminatingReplicas, 0)
		}
	}
	is := d.Status
	switch {
	case is.ObservedGeneration < d.Generation:
		return "has not been observed"
	case is.Replicas != sum.Replicas || is.ReadyReplicas != sum.ReadyReplicas || is.AvailableReplicas != sum.AvailableReplicas ||
		ptr.Deref(is.TerminatingReplicas, 0) != ending:
		return "has another status than its ReplicaSets"
	case ptr.Deref(d.Spec.ProgressDeadlineSeconds, long) < long && !d.Spec.Paused && slices.ContainsFunc(is.Conditions, onItsWay):
		return "waits for its deadline"
	}
	return ""
}

func onItsWay(c appsv1.DeploymentCondition) bool {
	return c.Type == appsv1.DeploymentProgressing && c.Status == corev1.ConditionTrue && c.Reason != "NewReplicaSetAvailable"
}

// counted is what a ReplicaSet's and a ReplicationController's status share.
type counted struct {
	observed                   int64
	replicas, ready, available int32
	failing                    bool
}

func setStatus(s appsv1.ReplicaSetStatus) counted {
	failing := slices.ContainsFunc(s.Conditions, func(c appsv1.ReplicaSetCondition) bool { return c.Type == appsv1.ReplicaSetReplicaFailure })
	return counted{s.ObservedGeneration, s.Replicas, s.ReadyReplicas, s.AvailableReplicas, failing}
}

func controllerStatus(s corev1.ReplicationControllerStatus) counted {
	failing := slices.ContainsFunc(s.Conditions, func(c corev1.ReplicationControllerCondition) bool {
		return c.Type == corev1.ReplicationControllerReplicaFailure
	})
	return counted{s.ObservedGeneration, s.Replicas, s.ReadyReplicas, s.AvailableReplicas, failing}
}

// unsettledSet says what a ReplicaSet or ReplicationController still has to do.
func unsettledSet(set metav1.Object, selector labels.Selector, minReady, want int32, s counted, pods []*corev1.Pod) string {
	if set.GetDeletionTimestamp() != nil {
		return "" // its pods are the garbage collector's
	}
	var active, ready int32
	for _, pod := range pods {
		if finished(pod) || pod.DeletionTimestamp != nil {
			continue
		}
		mine, matches := metav1.IsControlledBy(pod, set), selector.Matches(labels.Set(pod.Labels))
		if mine != matches && (mine || metav1.GetControllerOf(pod) == nil) {
			return "has a pod to adopt or to let go: " + pod.Name
		}
		if mine {
			active++
			if isReady(pod) {
				ready++
			}
		}
	}
	switch {
	case s.observed < set.GetGeneration():
		return "has not been observed"
	case s.replicas != active || s.ready != ready:
		return fmt.Sprintf("says %d pods, %d ready; there are %d, %d ready", s.replicas, s.ready, active, ready)
	case active != want && !s.failing:
		return fmt.Sprintf("has %d of %d pods", active, want)
	case s.available != s.ready && minReady < long:
		return "waits for minReadySeconds"
	}
	return ""
}

// selectorOf selects nothing where the selector cannot be read.
func selectorOf(selector *metav1.LabelSelector) labels.Selector {
	parsed, err := metav1.LabelSelectorAsSelector(selector)
	if err != nil {
		return labels.Nothing()
	}
	return parsed
}

// unpullable is an image that kwok cannot pull; see cmd/sandbox/README.md.
var unpullable = regexp.MustCompile(`:(404|bad[^:/]*)$`)

// moving says what kwok will still do to the pod.
func moving(pod *corev1.Pod) string {
	switch {
	case pod.DeletionTimestamp != nil && len(pod.Finalizers) == 0:
		return "is ending"
	case pod.DeletionTimestamp != nil || finished(pod) || isReady(pod):
		return ""
	case pod.Annotations[sandboxAnnotation+"never-ready"] == "true", pod.Annotations[sandboxAnnotation+"crash-loop"] == "true",
		unpullable.MatchString(pod.Spec.Containers[0].Image):
		if len(pod.Status.ContainerStatuses) == 0 {
			return "is starting"
		}
		return ""
	case pod.Spec.NodeSelector != nil:
		return "" // no node of a sandbox has what a scenario selects
	}
	return "is coming up"
}

func finished(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

func isReady(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

// shapeOf is what of a pod is compared, in one line. A pod whose name was not
// generated by a controller is told by its name, too.
func shapeOf(pod *corev1.Pod) string {
	words := []string{"phase=" + string(pod.Status.Phase), fmt.Sprintf("ready=%v", isReady(pod)), "image=" + pod.Spec.Containers[0].Image}
	if pod.GenerateName == "" {
		words = append(words, "name="+pod.Name)
	}
	if pod.DeletionTimestamp != nil {
		words = append(words, "ending")
	}
	if len(pod.Finalizers) > 0 {
		words = append(words, "finalizers="+strings.Join(pod.Finalizers, ","))
	}
	return strings.Join(append(append(words, pairs("label", pod.Labels)...), pairs("annotation", pod.Annotations)...), " ")
}

// pairs are labels or annotations, without those that say where a pod runs.
func pairs(name string, set map[string]string) []string {
	var words []string
	for key, value := range set {
		if strings.HasPrefix(key, "topology.kubernetes.io/") {
			continue
		}
		words = append(words, name+":"+key+"="+value)
	}
	slices.Sort(words)
	return words
}
