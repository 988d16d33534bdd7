package effects

import (
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/loopscope/loopscope/controllers/family"
	"github.com/loopscope/loopscope/controllers/rollingupdate"
)

// Successor is the new one of that name that the loop will create for a request with an image
// ([RU-7]): without pods, and with the notes on whom it replaces and how many pods it is to
// have. The request has its defaults. No argument is changed.
func Successor(old *corev1.ReplicationController, r *rollingupdate.Request, name string) *corev1.ReplicationController {
	t := &updateSync{old: old, image: r.Image}
	t.s.Request = r
	key, value := r.DeploymentKey, t.newHash()
	desired := int64(family.DefaultToOne(old.Spec.Replicas))
	if n := sizeOf(old, rollingupdate.AnnotationOriginal); n != nil {
		desired = *n
	}
	rc := emptied(old, name)
	rc.Spec.Replicas = new(int32)
	rc.Spec.Template = t.newTemplate()
	rc.Spec.Selector = with(rc.Spec.Selector, key, value)
	rc.Spec.Template.Labels = with(rc.Spec.Template.Labels, key, value)
	rc.Annotations = with(rc.Annotations, rollingupdate.AnnotationSource, old.Name+":"+string(old.UID))
	rc.Annotations = with(rc.Annotations, rollingupdate.AnnotationDesired, strconv.FormatInt(desired, 10))
	rc.Annotations = with(rc.Annotations, rollingupdate.AnnotationSize, "0")
	return rc
}

// emptied is one of another name with the labels, annotations and spec of from, and without
// what is an update's.
func emptied(from *corev1.ReplicationController, name string) *corev1.ReplicationController {
	return &corev1.ReplicationController{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: from.Namespace, Labels: untracked(from.Labels), Annotations: untracked(from.Annotations)},
		Spec:       *from.Spec.DeepCopy(),
	}
}
