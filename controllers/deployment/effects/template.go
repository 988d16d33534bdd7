package effects

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"sync"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/utils/dump"

	"github.com/loopscope/loopscope/controllers/deployment"
)

// templates remembers what is expensive to compute of each Deployment's pod template:
// its hashes, and which ReplicaSets have the same one. It holds for one
// generation, which any change of the spec raises. The zero value is ready.
type templates struct {
	mu sync.Mutex
	of map[string]*knownTemplate
}

// knownTemplate is used by one worker at a time, as the queue gives a key to one only.
type knownTemplate struct {
	uid        types.UID
	generation int64
	hashes     map[int32]string // by collision count, -1 for none
	same       map[types.UID]comparison
	// changed is what the newest revision changed, of the two ReplicaSets in changedOf.
	changed   *deployment.TemplateChange
	changedOf [2]setVersion
}

// setVersion is a ReplicaSet whose spec is known.
type setVersion struct {
	uid        types.UID
	generation int64
	revision   string
}

// comparison is with one generation of a ReplicaSet.
type comparison struct {
	generation int64
	same       bool
}

// get returns what is known of the Deployment's template.
func (m *templates) get(key string, d *appsv1.Deployment) *knownTemplate {
	m.mu.Lock()
	defer m.mu.Unlock()
	if known := m.of[key]; known != nil && known.uid == d.UID && known.generation == d.Generation {
		return known
	}
	if m.of == nil {
		m.of = map[string]*knownTemplate{}
	}
	known := &knownTemplate{uid: d.UID, generation: d.Generation, hashes: map[int32]string{}, same: map[types.UID]comparison{}}
	m.of[key] = known
	return known
}

func (m *templates) forget(key string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.of, key)
}

// hash is TemplateHash, computed once for each collision count.
func (k *knownTemplate) hash(t *corev1.PodTemplateSpec, collisions *int32) string {
	count := int32(-1)
	if collisions != nil {
		count = *collisions
	}
	hash, known := k.hashes[count]
	if !known {
		hash = TemplateHash(t, collisions)
		k.hashes[count] = hash
	}
	return hash
}

// sameAs is sameTemplate, computed once for each generation of a ReplicaSet.
func (k *knownTemplate) sameAs(t *corev1.PodTemplateSpec, rs *appsv1.ReplicaSet) bool {
	last, known := k.same[rs.UID]
	if !known || last.generation != rs.Generation {
		last = comparison{rs.Generation, sameTemplate(t, &rs.Spec.Template)}
		k.same[rs.UID] = last
	}
	return last.same
}

// TemplateHash names a pod template the way Kubernetes does, so that a
// ReplicaSet keeps its name when another controller takes over ([N-2]).
func TemplateHash(t *corev1.PodTemplateSpec, collisions *int32) string {
	h := fnv.New32a()
	_, _ = h.Write([]byte(dump.ForHash(*t))) // A hash never fails to write.
	if collisions != nil {
		var count [8]byte
		binary.LittleEndian.PutUint32(count[:], uint32(*collisions))
		_, _ = h.Write(count[:])
	}
	return rand.SafeEncodeString(fmt.Sprint(h.Sum32()))
}

// ReplicaSetName joins a Deployment's name and a hash and cuts the former where
// the whole would be longer than a name may be ([N-3]).
func ReplicaSetName(deployment, hash string) string {
	if most := validation.DNS1123SubdomainMaxLength - len(hash) - 1; len(deployment) > most {
		deployment = deployment[:most]
	}
	return deployment + "-" + hash
}

// sameTemplate is semantic equality, the hash label aside ([N-1]).
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
