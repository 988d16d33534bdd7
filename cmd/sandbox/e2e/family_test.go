package e2e_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// plantedPrefix begins the labels and annotations that the tests plant, each
// once: whatever becomes of one later was nobody's to do.
const plantedPrefix = "example.com/"

// family checks, beside the numbers, that nothing of a Deployment gets lost or
// appears twice: a ReplicaSet or pod without the controller it had, a pod that
// its ReplicaSet left behind, two ReplicaSets of one template, and a planted
// label or annotation that changed or went.
type family struct {
	planted map[types.UID]map[string]string
	owners  map[types.UID]types.UID // of every ReplicaSet and pod that had one
	living  map[types.UID]map[types.UID]string
}

func newFamily() family {
	return family{planted: map[types.UID]map[string]string{}, owners: map[types.UID]types.UID{}, living: map[types.UID]map[types.UID]string{}}
}

// checkPlanted holds an object to what was planted on it. A value that is new
// was planted this moment.
func (f *family) checkPlanted(b *bounds, rv uint64, d *bounded, object metav1.Object) {
	now := map[string]string{}
	for kind, values := range map[string]map[string]string{"label ": object.GetLabels(), "annotation ": object.GetAnnotations()} {
		for key, value := range values {
			if strings.HasPrefix(key, plantedPrefix) {
				now[kind+key] = value
			}
		}
	}
	for key, value := range f.planted[object.GetUID()] {
		if have, there := now[key]; !there || have != value {
			b.breach(rv, d, "the %s of %s was %q and is %q", key, object.GetName(), value, have)
		}
	}
	if f.planted[object.GetUID()] == nil {
		f.planted[object.GetUID()] = map[string]string{}
	}
	maps.Copy(f.planted[object.GetUID()], now)
}

func (f *family) checkReplicaSet(b *bounds, rv uint64, before, rs *appsv1.ReplicaSet) {
	f.checkOwner(b, rv, "ReplicaSet", rs)
	d := b.deployments[uidOf(rs)]
	if d == nil {
		return
	}
	f.checkPlanted(b, rv, d, rs)
	if before != nil && uidOf(before) == uidOf(rs) {
		return
	}
	for uid, other := range b.sets {
		if uid != rs.UID && uidOf(other) == uidOf(rs) && other.DeletionTimestamp == nil && templateOf(other) == templateOf(rs) {
			b.breach(rv, d, "ReplicaSets %s and %s have one template", other.Name, rs.Name)
		}
	}
}

// templateOf is a ReplicaSet's template without the label that tells it apart.
func templateOf(rs *appsv1.ReplicaSet) string {
	template := rs.Spec.Template.DeepCopy()
	delete(template.Labels, appsv1.DefaultDeploymentUniqueLabelKey)
	text, err := json.Marshal(template)
	if err != nil {
		panic(fmt.Sprintf("template of %s: %v", rs.Name, err)) // It came as JSON.
	}
	return string(text)
}

func (f *family) checkPod(b *bounds, rv uint64, pod *corev1.Pod, gone bool) {
	f.checkOwner(b, rv, "pod", pod)
	set := uidOf(pod)
	if f.living[set] == nil {
		f.living[set] = map[types.UID]string{}
	}
	delete(f.living[set], pod.UID)
	if !gone && pod.DeletionTimestamp == nil {
		f.living[set][pod.UID] = pod.Name
	}
}

// checkLeft sees what a ReplicaSet that is gone has left behind. Of a Deployment
// that is gone, too, garbage collection takes the rest.
func (f *family) checkLeft(b *bounds, rv uint64, rs *appsv1.ReplicaSet) {
	d := b.deployments[uidOf(rs)]
	if d != nil && len(f.living[rs.UID]) > 0 {
		b.breach(rv, d, "ReplicaSet %s is gone and has left %d pods", rs.Name, len(f.living[rs.UID]))
	}
}

// checkOwner sees that an object keeps its controller. The owner of a pod is a
// ReplicaSet, which may have gone, so the Deployment is found by what was noted.
func (f *family) checkOwner(b *bounds, rv uint64, kind string, object metav1.Object) {
	had, now := f.owners[object.GetUID()], uidOf(object)
	if now != "" {
		f.owners[object.GetUID()] = now
	}
	if had == "" || now == had {
		return
	}
	d := b.deployments[had]
	if d == nil {
		d = b.deployments[f.owners[had]]
	}
	if d != nil {
		b.breach(rv, d, "%s %s has lost its controller", kind, object.GetName())
	}
}
