package controllers

import (
	"strconv"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/tools/cache"

	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/decision"
)

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

func deploymentFields(old, new *appsv1.Deployment) []decision.Change {
	var f fields
	if !sameSpec(old, new) {
		f.deploymentSpec(&old.Spec, &new.Spec)
	}
	f.meta(old, new)
	f.number("status.observedGeneration", old.Status.ObservedGeneration, new.Status.ObservedGeneration)
	f.count("status.replicas", old.Status.Replicas, new.Status.Replicas)
	f.count("status.updatedReplicas", old.Status.UpdatedReplicas, new.Status.UpdatedReplicas)
	f.count("status.readyReplicas", old.Status.ReadyReplicas, new.Status.ReadyReplicas)
	f.count("status.availableReplicas", old.Status.AvailableReplicas, new.Status.AvailableReplicas)
	f.optional("status.terminatingReplicas", old.Status.TerminatingReplicas, new.Status.TerminatingReplicas)
	f.optional("status.collisionCount", old.Status.CollisionCount, new.Status.CollisionCount)
	before, after := conditionWords{}, conditionWords{}
	for _, c := range old.Status.Conditions {
		before.add(string(c.Type), c.Status, c.Reason)
	}
	for _, c := range new.Status.Conditions {
		after.add(string(c.Type), c.Status, c.Reason)
	}
	f.conditions(before, after)
	return f
}

func (f *fields) deploymentSpec(old, new *appsv1.DeploymentSpec) {
	f.optional("spec.replicas", old.Replicas, new.Replicas)
	f.valued("spec.paused", strconv.FormatBool(old.Paused), strconv.FormatBool(new.Paused))
	f.template(&old.Template, &new.Template)
	f.strategy(&old.Strategy, &new.Strategy)
	f.count("spec.minReadySeconds", old.MinReadySeconds, new.MinReadySeconds)
	f.optional("spec.progressDeadlineSeconds", old.ProgressDeadlineSeconds, new.ProgressDeadlineSeconds)
	f.optional("spec.revisionHistoryLimit", old.RevisionHistoryLimit, new.RevisionHistoryLimit)
	f.named(!equality.Semantic.DeepEqual(old.Selector, new.Selector), "spec.selector")
}

// strategy is three words of the API's own, which may be shown.
func (f *fields) strategy(old, new *appsv1.DeploymentStrategy) {
	f.valued("spec.strategy.type", string(old.Type), string(new.Type))
	before, after := rollingWords(old.RollingUpdate), rollingWords(new.RollingUpdate)
	f.valued("spec.strategy.maxSurge", before[0], after[0])
	f.valued("spec.strategy.maxUnavailable", before[1], after[1])
}

func rollingWords(r *appsv1.RollingUpdateDeployment) (surgeAndUnavailable [2]string) {
	if r == nil {
		return surgeAndUnavailable
	}
	for i, v := range []*intstr.IntOrString{r.MaxSurge, r.MaxUnavailable} {
		if v != nil {
			surgeAndUnavailable[i] = v.String()
		}
	}
	return surgeAndUnavailable
}

// conditionWords are status and reason of conditions by their type. Their
// messages stay out: they are long, and the sync that follows quotes what matters.
type conditionWords map[string]string

func (w conditionWords) add(kind string, status corev1.ConditionStatus, reason string) {
	w[kind] = strings.TrimSpace(string(status) + " " + redacted(reason))
}

func (f *fields) conditions(old, new conditionWords) {
	for _, kind := range texts(old).changed(texts(new)) {
		f.valued(keyed("status.conditions", kind), old[kind], new[kind])
	}
}

func (f *fields) number(path string, old, new int64) {
	f.valued(path, strconv.FormatInt(old, 10), strconv.FormatInt(new, 10))
}

func replicaSetFields(old, new *appsv1.ReplicaSet) []decision.Change {
	var f fields
	if !sameSpec(old, new) {
		f.optional("spec.replicas", old.Spec.Replicas, new.Spec.Replicas)
		f.template(&old.Spec.Template, &new.Spec.Template)
		f.count("spec.minReadySeconds", old.Spec.MinReadySeconds, new.Spec.MinReadySeconds)
		f.named(!equality.Semantic.DeepEqual(old.Spec.Selector, new.Spec.Selector), "spec.selector")
	}
	f.meta(old, new)
	f.number("status.observedGeneration", old.Status.ObservedGeneration, new.Status.ObservedGeneration)
	f.count("status.replicas", old.Status.Replicas, new.Status.Replicas)
	f.count("status.fullyLabeledReplicas", old.Status.FullyLabeledReplicas, new.Status.FullyLabeledReplicas)
	f.count("status.readyReplicas", old.Status.ReadyReplicas, new.Status.ReadyReplicas)
	f.count("status.availableReplicas", old.Status.AvailableReplicas, new.Status.AvailableReplicas)
	f.optional("status.terminatingReplicas", old.Status.TerminatingReplicas, new.Status.TerminatingReplicas)
	before, after := conditionWords{}, conditionWords{}
	for _, c := range old.Status.Conditions {
		before.add(string(c.Type), c.Status, c.Reason)
	}
	for _, c := range new.Status.Conditions {
		after.add(string(c.Type), c.Status, c.Reason)
	}
	f.conditions(before, after)
	return f
}

// disruptionReason is why a pod is about to be ended, "" where it is not.
func disruptionReason(p *corev1.Pod) string {
	if c := podCondition(p, corev1.DisruptionTarget); c != nil && c.Status == corev1.ConditionTrue {
		return redacted(c.Reason)
	}
	return ""
}

// podFields are the steps of a pod's life: it is given a node, its containers
// wait, start and crash, it becomes ready, it is evicted, it is deleted.
func podFields(old, new *corev1.Pod) []decision.Change {
	var f fields
	f.valued("status.phase", string(old.Status.Phase), string(new.Status.Phase))
	f.valued("status.conditions[Ready]", strconv.FormatBool(podReady(old)), strconv.FormatBool(podReady(new)))
	f.valued("spec.nodeName", old.Spec.NodeName, new.Spec.NodeName)
	f.valued("status.reason", podWaitOf(old).reason, podWaitOf(new).reason)
	f.valued("status.conditions[DisruptionTarget]", disruptionReason(old), disruptionReason(new))
	before, sidecarBefore := restarts(old)
	after, sidecarAfter := restarts(new)
	f.number("status.restarts", max(before, sidecarBefore), max(after, sidecarAfter))
	f.meta(old, new)
	return f
}
