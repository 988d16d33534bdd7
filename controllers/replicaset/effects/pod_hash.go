package effects

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/tools/cache"
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
