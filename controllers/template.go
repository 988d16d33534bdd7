package controllers

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/utils/dump"
)

// templateHash names a pod template the way Kubernetes does, so that a
// ReplicaSet keeps its name when another controller takes over ([2.5.2]).
func templateHash(t *corev1.PodTemplateSpec, collisions *int32) string {
	h := fnv.New32a()
	_, _ = h.Write([]byte(dump.ForHash(*t))) // A hash never fails to write.
	if collisions != nil {
		var count [8]byte
		binary.LittleEndian.PutUint32(count[:], uint32(*collisions))
		_, _ = h.Write(count[:])
	}
	return rand.SafeEncodeString(fmt.Sprint(h.Sum32()))
}

// replicaSetName joins a Deployment's name and a hash and cuts the former where
// the whole would be longer than a name may be ([2.5] 5b).
func replicaSetName(deployment, hash string) string {
	if most := validation.DNS1123SubdomainMaxLength - len(hash) - 1; len(deployment) > most {
		deployment = deployment[:most]
	}
	return deployment + "-" + hash
}

// sameTemplate is semantic equality, the hash label aside ([2.5] 1).
func sameTemplate(a, b *corev1.PodTemplateSpec) bool {
	return equality.Semantic.DeepEqual(withoutHash(a), withoutHash(b))
}

// withoutHash is the template without pod-template-hash; the spec is shared.
func withoutHash(t *corev1.PodTemplateSpec) *corev1.PodTemplateSpec {
	if _, labelled := t.Labels[appsv1.DefaultDeploymentUniqueLabelKey]; !labelled {
		return t
	}
	out := *t
	out.Labels = withLabel(t.Labels, appsv1.DefaultDeploymentUniqueLabelKey, "")
	delete(out.Labels, appsv1.DefaultDeploymentUniqueLabelKey)
	if len(out.Labels) == 0 {
		out.Labels = nil
	}
	return &out
}

// withLabel copies labels and sets one.
func withLabel(labels map[string]string, key, value string) map[string]string {
	out := make(map[string]string, len(labels)+1)
	for k, v := range labels {
		out[k] = v
	}
	out[key] = value
	return out
}
