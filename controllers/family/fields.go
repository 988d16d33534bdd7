package family

import (
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/loopscope/loopscope/telemetry/changes"
	"github.com/loopscope/loopscope/telemetry/decision"
	"github.com/loopscope/loopscope/telemetry/redact"
)

// ReplicaSetFields is what changed of a ReplicaSet.
func ReplicaSetFields(old, new *appsv1.ReplicaSet) []decision.Change {
	var f changes.Fields
	if !changes.SameSpec(old, new) {
		f.Optional("spec.replicas", old.Spec.Replicas, new.Spec.Replicas)
		f.Template(&old.Spec.Template, &new.Spec.Template)
		f.Count("spec.minReadySeconds", old.Spec.MinReadySeconds, new.Spec.MinReadySeconds)
		f.Named(!equality.Semantic.DeepEqual(old.Spec.Selector, new.Spec.Selector), "spec.selector")
	}
	f.Meta(old, new)
	f.Number("status.observedGeneration", old.Status.ObservedGeneration, new.Status.ObservedGeneration)
	f.Count("status.replicas", old.Status.Replicas, new.Status.Replicas)
	f.Count("status.fullyLabeledReplicas", old.Status.FullyLabeledReplicas, new.Status.FullyLabeledReplicas)
	f.Count("status.readyReplicas", old.Status.ReadyReplicas, new.Status.ReadyReplicas)
	f.Count("status.availableReplicas", old.Status.AvailableReplicas, new.Status.AvailableReplicas)
	f.Optional("status.terminatingReplicas", old.Status.TerminatingReplicas, new.Status.TerminatingReplicas)
	before, after := changes.ConditionWords{}, changes.ConditionWords{}
	for _, c := range old.Status.Conditions {
		before.Add(string(c.Type), c.Status, c.Reason)
	}
	for _, c := range new.Status.Conditions {
		after.Add(string(c.Type), c.Status, c.Reason)
	}
	f.Conditions(before, after)
	return f
}

// disruptionReason is why a pod is about to be ended, "" where it is not.
func disruptionReason(p *corev1.Pod) string {
	if c := PodCondition(p, corev1.DisruptionTarget); c != nil && c.Status == corev1.ConditionTrue {
		return redact.Message(c.Reason)
	}
	return ""
}

// setUp is the condition that says whether a pod has volumes and network, "" where the kubelet
// has not said.
func setUp(p *corev1.Pod) string {
	if c := PodCondition(p, corev1.PodReadyToStartContainers); c != nil {
		return redact.Line(string(c.Status))
	}
	return ""
}

// PodFields are the steps of a pod's life: it is given a node, its containers
// wait, start and crash, it becomes ready, it is evicted, it is deleted.
func PodFields(old, new *corev1.Pod) []decision.Change {
	var f changes.Fields
	f.Valued("status.phase", string(old.Status.Phase), string(new.Status.Phase))
	f.Valued("status.conditions[Ready]", strconv.FormatBool(PodReady(old)), strconv.FormatBool(PodReady(new)))
	f.Valued("spec.nodeName", old.Spec.NodeName, new.Spec.NodeName)
	was, is := PodWaitOf(old), PodWaitOf(new)
	f.Valued("status.nominatedNodeName", was.Nominated, is.Nominated)
	f.Valued("status.conditions[PodReadyToStartContainers]", setUp(old), setUp(new))
	f.Valued("status.reason", was.Reason, is.Reason)
	f.Valued("status.conditions[DisruptionTarget]", disruptionReason(old), disruptionReason(new))
	before, sidecarBefore := Restarts(old)
	after, sidecarAfter := Restarts(new)
	f.Number("status.restarts", max(before, sidecarBefore), max(after, sidecarAfter))
	f.Meta(old, new)
	return f
}
