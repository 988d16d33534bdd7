package effects

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/tools/cache"

	"github.com/loopscope/loopscope/controllers/family"
	"github.com/loopscope/loopscope/controllers/rollingupdate"
	"github.com/loopscope/loopscope/telemetry/decision"
	"github.com/loopscope/loopscope/telemetry/redact"
)

// podsOf are its pods: where they are labelled, as they were read live.
func (t *updateSync) podsOf(rc *corev1.ReplicationController) []*corev1.Pod {
	if rc == t.old && t.live != nil {
		return t.live
	}
	return family.PodsOf(t.controller.pods, rc.Namespace, family.KindReplicationController, rc.Name, string(rc.UID))
}

// readSplit reads the pods of the old one live while they get their label ([RU-6]): its loop has
// seen the template by then, so none without the label comes after the read.
func (t *updateSync) readSplit(ctx context.Context) error {
	rc := t.old
	if !t.labelsPods() {
		return nil
	}
	list, err := t.controller.client.CoreV1().Pods(rc.Namespace).List(ctx, metav1.ListOptions{LabelSelector: labels.SelectorFromSet(rc.Spec.Selector).String()})
	if err != nil {
		return fmt.Errorf("read the pods that are to be labelled: %w", err)
	}
	t.live = []*corev1.Pod{}
	for i := range list.Items {
		if ref := metav1.GetControllerOf(&list.Items[i]); ref != nil && ref.UID == rc.UID {
			t.live = append(t.live, &list.Items[i])
		}
	}
	t.s.LiveReads = append(t.s.LiveReads, family.KindPod+"s of "+rc.Name)
	return nil
}

func byName(a, b rollingupdate.Pod) int { return strings.Compare(a.Name, b.Name) }

func podView(p *corev1.Pod, keyLabel string) rollingupdate.Pod {
	w := family.PodWaitOf(p)
	out := rollingupdate.Pod{UID: string(p.UID), RV: p.ResourceVersion, Key: redact.Line(p.Labels[keyLabel])}
	out.Pod = decision.Pod{
		Name: p.Name, Created: p.CreationTimestamp.UTC(), Phase: redact.Line(string(p.Status.Phase)), Node: redact.Line(p.Spec.NodeName),
		Ready: family.PodReady(p), ReadySince: family.PodReadySince(p),
		Reason: w.Reason, Message: w.Message, Image: w.Image, Since: w.Since, ContainerState: w.Container, Nominated: w.Nominated, Scheduler: w.Scheduler, ResourceClaim: w.ResourceClaim, NodeNamed: w.NodeNamed,
	}
	out.Restarts, _ = family.Restarts(p)
	return out
}

// fillStrays finds the pods that an update has to look at besides those of the two: those
// that the old one made before it had its label and that nobody controls now ([RU-6]), or
// while the old name waits for pods, those that still have another controller ([RU-10]).
func (t *updateSync) fillStrays(keyLabel string) {
	if t.old == nil {
		return
	}
	if p := t.s.Old.Parked; p != nil {
		selector := selecting(t.old.Spec.Selector, rollingupdate.LabelParked)
		found, _ := t.controller.pods.ByIndex(cache.NamespaceIndex, t.old.Namespace) // The constructor added the index.
		t.s.Strays = podsThat(found, func(pod *corev1.Pod) bool {
			ref := metav1.GetControllerOf(pod)
			return ref != nil && string(ref.UID) == p.UID
		}, keyLabel)
		t.s.Free = podsThat(found, func(pod *corev1.Pod) bool {
			return metav1.GetControllerOf(pod) == nil && selector.Matches(labels.Set(pod.Labels))
		}, keyLabel)
		return
	}
	if t.s.Old.SelectorKey == "" {
		return
	}
	without := selecting(t.old.Spec.Selector, keyLabel)
	found, _ := t.controller.pods.ByIndex(family.PodController, t.old.Namespace) // Those without a controller.
	t.s.Strays = podsThat(found, func(pod *corev1.Pod) bool {
		return pod.GenerateName == t.old.Name+"-" && pod.Labels[keyLabel] == "" && without.Matches(labels.Set(pod.Labels))
	}, keyLabel)
}

func podsThat(found []any, is func(*corev1.Pod) bool, keyLabel string) (list []rollingupdate.Pod) {
	for _, obj := range found {
		if pod, ok := obj.(*corev1.Pod); ok && family.PodActive(pod) && is(pod) {
			list = append(list, podView(pod, keyLabel))
		}
	}
	slices.SortFunc(list, byName)
	return list
}

// selecting is a selector without one label.
func selecting(selector map[string]string, but string) labels.Selector {
	set := labels.Set(maps.Clone(selector))
	delete(set, but)
	return labels.SelectorFromSet(set)
}

// labelsPods reports whether a sync now would label the pods of the old one ([RU-6]).
func (t *updateSync) labelsPods() bool {
	rc, r, key := t.old, t.s.Request, t.keyLabel()
	switch {
	case rc == nil || rc.Spec.Template == nil || r == nil || r.Image == "" || r.Paused || r.Abort:
		return false
	case t.new != nil && apart(rc.Spec.Selector, t.new.Spec.Selector):
		return false // Other labels tell them apart.
	}
	return rc.Spec.Template.Labels[key] != "" && rc.Spec.Selector[key] == "" && rc.Status.ObservedGeneration >= rc.Generation
}
