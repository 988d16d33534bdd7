package effects

import (
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/loopscope/loopscope/telemetry/changes"
	"github.com/loopscope/loopscope/telemetry/decision"
)

func deploymentFields(old, new *appsv1.Deployment) []decision.Change {
	var f changes.Fields
	if !changes.SameSpec(old, new) {
		deploymentSpec(&f, &old.Spec, &new.Spec)
	}
	f.Meta(old, new)
	f.Number("status.observedGeneration", old.Status.ObservedGeneration, new.Status.ObservedGeneration)
	f.Count("status.replicas", old.Status.Replicas, new.Status.Replicas)
	f.Count("status.updatedReplicas", old.Status.UpdatedReplicas, new.Status.UpdatedReplicas)
	f.Count("status.readyReplicas", old.Status.ReadyReplicas, new.Status.ReadyReplicas)
	f.Count("status.availableReplicas", old.Status.AvailableReplicas, new.Status.AvailableReplicas)
	f.Count("status.unavailableReplicas", old.Status.UnavailableReplicas, new.Status.UnavailableReplicas)
	f.Optional("status.terminatingReplicas", old.Status.TerminatingReplicas, new.Status.TerminatingReplicas)
	f.Optional("status.collisionCount", old.Status.CollisionCount, new.Status.CollisionCount)
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

func deploymentSpec(f *changes.Fields, old, new *appsv1.DeploymentSpec) {
	f.Optional("spec.replicas", old.Replicas, new.Replicas)
	f.Valued("spec.paused", strconv.FormatBool(old.Paused), strconv.FormatBool(new.Paused))
	f.Template(&old.Template, &new.Template)
	strategyFields(f, &old.Strategy, &new.Strategy)
	f.Count("spec.minReadySeconds", old.MinReadySeconds, new.MinReadySeconds)
	f.Optional("spec.progressDeadlineSeconds", old.ProgressDeadlineSeconds, new.ProgressDeadlineSeconds)
	f.Optional("spec.revisionHistoryLimit", old.RevisionHistoryLimit, new.RevisionHistoryLimit)
	f.Named(!equality.Semantic.DeepEqual(old.Selector, new.Selector), "spec.selector")
}

// strategyFields are three words of the API's own, which may be shown.
func strategyFields(f *changes.Fields, old, new *appsv1.DeploymentStrategy) {
	f.Valued("spec.strategy.type", string(old.Type), string(new.Type))
	before, after := rollingWords(old.RollingUpdate), rollingWords(new.RollingUpdate)
	f.Valued("spec.strategy.maxSurge", before[0], after[0])
	f.Valued("spec.strategy.maxUnavailable", before[1], after[1])
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
