package family

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/loopscope/loopscope/telemetry/decision"
	"github.com/loopscope/loopscope/telemetry/redact"
)

const (
	// lostWithin is how old a pod may be whose labels count as changed on its creation.
	lostWithin = time.Minute
	// fewestLost are more than somebody relabels by hand at that age.
	fewestLost = 3
)

// Lost are the pods of the last minute that were made for an owner, as their generateName says, and that its
// selector does not match; nil where they are too few to mean anything. pods are its own, and those of the
// namespace without a controller, as it releases what does not match.
func Lost(owner string, selector *metav1.LabelSelector, now time.Time, pods ...[]*corev1.Pod) *decision.LostPods {
	var lost decision.LostPods
	var matches labels.Selector
	var first *corev1.Pod
	for _, list := range pods {
		for _, p := range list {
			if p.GenerateName != owner+"-" || now.Sub(p.CreationTimestamp.Time) >= lostWithin {
				continue
			}
			if matches == nil {
				var err error
				if matches, err = metav1.LabelSelectorAsSelector(selector); err != nil {
					return nil
				}
			}
			if matches.Matches(labels.Set(p.Labels)) {
				continue
			}
			if lost.Count++; first == nil || p.Name < first.Name {
				first = p
			}
		}
	}
	if lost.Count < fewestLost {
		return nil
	}
	lost.Label = redact.Line(unmatched(matches, first))
	return &lost
}

// unmatched is the first label of a selector that a pod does not have as it asks for.
func unmatched(s labels.Selector, p *corev1.Pod) string {
	asked, _ := s.Requirements()
	for i := range asked {
		if !asked[i].Matches(labels.Set(p.Labels)) {
			return asked[i].Key()
		}
	}
	return ""
}
