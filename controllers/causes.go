package controllers

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/loopscope/loopscope/controllers/decision"
	"github.com/loopscope/loopscope/telemetry"
)

// maxFields bounds the changed fields one cause names.
const maxFields = 16

// added describes the first sight of an object.
func added(kind string, o metav1.Object, initial bool, now time.Time) telemetry.Cause {
	c := telemetry.Cause{Kind: telemetry.CauseAdded, At: now, Object: kind + " " + o.GetName(), NewRV: o.GetResourceVersion()}
	if initial {
		c.Kind = telemetry.CauseStart
	}
	return c
}

// modified describes a change of an object, or a resync where nothing changed.
func modified(kind string, old, new metav1.Object, fields []decision.Change, manager string, now time.Time) telemetry.Cause {
	c := telemetry.Cause{
		Kind: telemetry.CauseModified, At: now, Object: kind + " " + new.GetName(),
		OldRV: old.GetResourceVersion(), NewRV: new.GetResourceVersion(), Fields: fields, Manager: manager,
	}
	if c.OldRV == c.NewRV {
		c.Kind = telemetry.CauseResync
	}
	return c
}

// deleted describes the end of an object.
func deleted(kind string, o metav1.Object, tombstone bool, now time.Time) telemetry.Cause {
	c := telemetry.Cause{Kind: telemetry.CauseDeleted, At: now, Object: kind + " " + o.GetName(), OldRV: o.GetResourceVersion()}
	if tombstone {
		c.Kind = telemetry.CauseTombstone
	}
	return c
}

// unwrap takes the object out of a delete event, whose last state may be
// unknown. ok is false for anything that is not a T.
func unwrap[T metav1.Object](obj any) (o T, tombstone, ok bool) {
	if t, is := obj.(cache.DeletedFinalStateUnknown); is {
		o, ok = t.Obj.(T)
		return o, true, ok
	}
	o, ok = obj.(T)
	return o, false, ok
}

// fields collects changed fields. Values are given for counts, switches and
// reasons alone: of labels, annotations and templates only the path is named.
type fields []decision.Change

func (f *fields) named(changed bool, path string) {
	if changed && len(*f) < maxFields {
		*f = append(*f, decision.Change{Field: path})
	}
}

func (f *fields) valued(path, old, new string) {
	if old != new && len(*f) < maxFields {
		*f = append(*f, decision.Change{Field: path, From: old, To: new})
	}
}

func (f *fields) count(path string, old, new int32) {
	f.valued(path, strconv.Itoa(int(old)), strconv.Itoa(int(new)))
}

func (f *fields) optional(path string, old, new *int32) {
	f.valued(path, pointed(old), pointed(new))
}

func pointed(n *int32) string {
	if n == nil {
		return ""
	}
	return strconv.Itoa(int(*n))
}

// keys names the keys of a map that were added, changed or removed.
func (f *fields) keys(path string, old, new map[string]string) {
	var changed []string
	for k, v := range new {
		if before, had := old[k]; !had || before != v {
			changed = append(changed, k)
		}
	}
	for k := range old {
		if _, has := new[k]; !has {
			changed = append(changed, k)
		}
	}
	slices.Sort(changed)
	for _, k := range changed {
		f.named(true, path+"["+k+"]")
	}
}

func (f *fields) meta(old, new metav1.Object) {
	f.keys("metadata.labels", old.GetLabels(), new.GetLabels())
	f.keys("metadata.annotations", old.GetAnnotations(), new.GetAnnotations())
	f.named(!equality.Semantic.DeepEqual(old.GetOwnerReferences(), new.GetOwnerReferences()), "metadata.ownerReferences")
	f.named(old.GetDeletionTimestamp() == nil && new.GetDeletionTimestamp() != nil, "metadata.deletionTimestamp")
}

func (f *fields) template(old, new *corev1.PodTemplateSpec) {
	if equality.Semantic.DeepEqual(old, new) {
		return
	}
	for i, c := range new.Spec.Containers {
		if i < len(old.Spec.Containers) && old.Spec.Containers[i].Image != c.Image {
			f.valued(fmt.Sprintf("spec.template.containers[%s].image", c.Name), old.Spec.Containers[i].Image, c.Image)
		}
	}
	f.named(true, "spec.template")
}

func deploymentFields(old, new *appsv1.Deployment) []decision.Change {
	var f fields
	f.optional("spec.replicas", old.Spec.Replicas, new.Spec.Replicas)
	f.valued("spec.paused", strconv.FormatBool(old.Spec.Paused), strconv.FormatBool(new.Spec.Paused))
	f.template(&old.Spec.Template, &new.Spec.Template)
	f.named(!equality.Semantic.DeepEqual(old.Spec.Strategy, new.Spec.Strategy), "spec.strategy")
	f.count("spec.minReadySeconds", old.Spec.MinReadySeconds, new.Spec.MinReadySeconds)
	f.optional("spec.progressDeadlineSeconds", old.Spec.ProgressDeadlineSeconds, new.Spec.ProgressDeadlineSeconds)
	f.optional("spec.revisionHistoryLimit", old.Spec.RevisionHistoryLimit, new.Spec.RevisionHistoryLimit)
	f.meta(old, new)
	f.valued("status.observedGeneration", strconv.FormatInt(old.Status.ObservedGeneration, 10), strconv.FormatInt(new.Status.ObservedGeneration, 10))
	f.count("status.replicas", old.Status.Replicas, new.Status.Replicas)
	f.count("status.updatedReplicas", old.Status.UpdatedReplicas, new.Status.UpdatedReplicas)
	f.count("status.readyReplicas", old.Status.ReadyReplicas, new.Status.ReadyReplicas)
	f.count("status.availableReplicas", old.Status.AvailableReplicas, new.Status.AvailableReplicas)
	f.optional("status.terminatingReplicas", old.Status.TerminatingReplicas, new.Status.TerminatingReplicas)
	for _, c := range new.Status.Conditions {
		f.valued("status.conditions["+string(c.Type)+"]", deploymentReason(old, c.Type), string(c.Status)+" "+c.Reason)
	}
	return f
}

func deploymentReason(d *appsv1.Deployment, t appsv1.DeploymentConditionType) string {
	for _, c := range d.Status.Conditions {
		if c.Type == t {
			return string(c.Status) + " " + c.Reason
		}
	}
	return ""
}

func replicaSetFields(old, new *appsv1.ReplicaSet) []decision.Change {
	var f fields
	f.optional("spec.replicas", old.Spec.Replicas, new.Spec.Replicas)
	f.template(&old.Spec.Template, &new.Spec.Template)
	f.count("spec.minReadySeconds", old.Spec.MinReadySeconds, new.Spec.MinReadySeconds)
	f.meta(old, new)
	f.valued("status.observedGeneration", strconv.FormatInt(old.Status.ObservedGeneration, 10), strconv.FormatInt(new.Status.ObservedGeneration, 10))
	f.count("status.replicas", old.Status.Replicas, new.Status.Replicas)
	f.count("status.readyReplicas", old.Status.ReadyReplicas, new.Status.ReadyReplicas)
	f.count("status.availableReplicas", old.Status.AvailableReplicas, new.Status.AvailableReplicas)
	f.optional("status.terminatingReplicas", old.Status.TerminatingReplicas, new.Status.TerminatingReplicas)
	f.named(!equality.Semantic.DeepEqual(old.Status.Conditions, new.Status.Conditions), "status.conditions")
	return f
}

func podFields(old, new *corev1.Pod) []decision.Change {
	var f fields
	f.valued("status.phase", string(old.Status.Phase), string(new.Status.Phase))
	f.valued("status.conditions[Ready]", strconv.FormatBool(podReady(old)), strconv.FormatBool(podReady(new)))
	f.valued("spec.nodeName", old.Spec.NodeName, new.Spec.NodeName)
	f.valued("status.reason", waiting(old).reason, waiting(new).reason)
	f.meta(old, new)
	return f
}
