package controllers

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"github.com/loopscope/loopscope/telemetry/redact"
)

// podHash is the name of the pod index by namespace and pod-template-hash. The
// selectors of a Deployment's ReplicaSets ask for that label, so what they
// match is found without a look at every pod of the namespace.
const podHash = "podHash"

func indexPodHash(obj any) ([]string, error) {
	pod, ok := obj.(*corev1.Pod)
	if !ok {
		return nil, nil
	}
	hash, labelled := pod.Labels[appsv1.DefaultDeploymentUniqueLabelKey]
	if !labelled {
		return nil, nil
	}
	return []string{pod.Namespace + "/" + hash}, nil
}

// podsMatching lists the pods of a namespace that a selector matches, whoever
// controls them. A selector that cannot be read matches none.
func podsMatching(pods cache.Indexer, namespace string, of *metav1.LabelSelector) []*corev1.Pod {
	selector, err := metav1.LabelSelectorAsSelector(of)
	if err != nil {
		return nil
	}
	index, value := cache.NamespaceIndex, namespace
	if of != nil && of.MatchLabels[appsv1.DefaultDeploymentUniqueLabelKey] != "" {
		index, value = podHash, namespace+"/"+of.MatchLabels[appsv1.DefaultDeploymentUniqueLabelKey]
	}
	found, _ := pods.ByIndex(index, value) // The constructors added the index: it exists.
	var list []*corev1.Pod
	for _, obj := range found {
		if pod, ok := obj.(*corev1.Pod); ok && selector.Matches(labels.Set(pod.Labels)) {
			list = append(list, pod)
		}
	}
	return list
}

// fillSiblings counts active pods on each node over all ReplicaSets of the same
// owner, which only a ranking needs: so only when there are too many pods.
func (t *replicaSetSync) fillSiblings() {
	active := int64(0)
	for i := range t.s.Pods {
		if t.s.Pods[i].Active() {
			active++
		}
	}
	if active <= t.s.Want {
		return
	}
	family := t.controller.owners.siblings(t.rs)
	if family == nil {
		return
	}
	t.s.Siblings = map[string]int64{}
	counted := map[types.UID]bool{}
	for _, sibling := range family {
		for _, p := range podsMatching(t.controller.pods, t.rs.Namespace, sibling.Spec.Selector) {
			if podActive(p) && p.Spec.NodeName != "" && !counted[p.UID] {
				counted[p.UID] = true
				t.s.Siblings[redact.Line(p.Spec.NodeName)]++
			}
		}
	}
}
