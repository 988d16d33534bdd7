package migrate

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/loopscope/loopscope/controllers/deployment/effects"
)

const hashKey = appsv1.DefaultDeploymentUniqueLabelKey

// Cluster is what a migration is decided on: the objects of its names, nil where they are not
// there, and the pods that the ReplicationController's own selector matches.
type Cluster struct {
	Controller *corev1.ReplicationController
	Set        *appsv1.ReplicaSet
	Deployment *appsv1.Deployment
	Pods       []corev1.Pod
	// Others are the ReplicaSets that the Deployment has made from other templates.
	Others []*appsv1.ReplicaSet
	// Scalers are the autoscalers of the namespace, which are read where they may be moved and for a
	// plan; Unread is why they are not known.
	Scalers []autoscalingv2.HorizontalPodAutoscaler
	Unread  error
}

func (c *Cluster) clone() *Cluster {
	out := &Cluster{Controller: c.Controller.DeepCopy(), Set: c.Set.DeepCopy(), Deployment: c.Deployment.DeepCopy()}
	for i := range c.Pods {
		out.Pods = append(out.Pods, *c.Pods[i].DeepCopy())
	}
	for _, set := range c.Others {
		out.Others = append(out.Others, set.DeepCopy())
	}
	for i := range c.Scalers {
		out.Scalers = append(out.Scalers, *c.Scalers[i].DeepCopy())
	}
	return out
}

// active reports whether loops count a pod.
func active(p *corev1.Pod) bool {
	return p.DeletionTimestamp == nil && p.Status.Phase != corev1.PodSucceeded && p.Status.Phase != corev1.PodFailed
}

// ownerOf is the UID of the controller of an object; "" for none.
func ownerOf(o metav1.Object) types.UID {
	if ref := metav1.GetControllerOf(o); ref != nil {
		return ref.UID
	}
	return ""
}

// owned are the active pods of an owner; "" for those that have none.
func (c *Cluster) owned(by types.UID) (list []*corev1.Pod) {
	for i := range c.Pods {
		if p := &c.Pods[i]; active(p) && ownerOf(p) == by {
			list = append(list, p)
		}
	}
	return list
}

// orphans are the pods without an owner that the ReplicaSet selects.
func (c *Cluster) orphans(hash string) []*corev1.Pod {
	return slices.DeleteFunc(c.owned(""), func(p *corev1.Pod) bool { return p.Labels[hashKey] != hash })
}

// from reports whether a migration of the ReplicationController has made an object.
func from(o metav1.Object, rc *corev1.ReplicationController) bool {
	return o.GetAnnotations()[fromKey] == string(rc.UID)
}

// made are the objects of this migration, the newest owner first.
func (c *Cluster) made() (list []Object) {
	if d := c.Deployment; d != nil && from(d, c.Controller) {
		list = append(list, d)
	}
	if c.Set != nil && from(c.Set, c.Controller) {
		list = append(list, c.Set)
	}
	return list
}

// takenOver reports whether a Deployment has the pods, or gets them, without the ReplicationController.
func (c *Cluster) takenOver() bool {
	return c.Deployment != nil && c.Deployment.Annotations[fromKey] != ""
}

// takingOver reports whether a Deployment is paused as it has not taken the ReplicaSet over yet.
func takingOver(d *appsv1.Deployment) bool {
	_, marked := d.Labels[pausedKey]
	return marked
}

func released(rc *corev1.ReplicationController) bool {
	_, marked := rc.Spec.Selector[toKey]
	return marked
}

func sealed(t *corev1.PodTemplateSpec) bool { return t.Spec.ServiceAccountName == sealName }

// setAccount sets a ServiceAccount in both fields that the API has for it.
func setAccount(t *corev1.PodTemplateSpec, name string) {
	t.Spec.ServiceAccountName, t.Spec.DeprecatedServiceAccount = name, name
}

// templateOf is the template that the Deployment gets: without seal, mark and hash.
func templateOf(rc *corev1.ReplicationController, r *record) *corev1.PodTemplateSpec {
	out := rc.Spec.Template.DeepCopy()
	delete(out.Labels, hashKey)
	delete(out.Labels, toKey)
	if r != nil && sealed(out) {
		setAccount(out, r.ServiceAccount)
	}
	return out
}

func hashOf(t *corev1.PodTemplateSpec) string { return effects.TemplateHash(t, nil) }

func replicas(n *int32) int32 {
	if n == nil {
		return 1
	}
	return *n
}

// setCounts reports whether a ReplicaSet's loop has seen everything: its status is of its spec and
// counts the pods that it owns. Its cache only moves on, so it will not miss one later.
func (c *Cluster) setCounts() bool {
	s := c.Set
	return s.Status.ObservedGeneration >= s.Generation && int(s.Status.Replicas) == len(c.owned(s.UID))
}

// controllerCounts is setCounts of the ReplicationController.
func (c *Cluster) controllerCounts() bool {
	rc := c.Controller
	return rc.Status.ObservedGeneration >= rc.Generation && int(rc.Status.Replicas) == len(c.owned(rc.UID))
}
