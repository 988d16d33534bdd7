package effects

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/loopscope/loopscope/controllers/engine"
	"github.com/loopscope/loopscope/controllers/family"
	"github.com/loopscope/loopscope/controllers/internal/lab"
)

// After lost replies to deletions, those are still expected that happened and
// that the cache does not show.
func TestLostDeletesAreExpected(t *testing.T) {
	c := newReplicaSetCaches(t)
	rs := &appsv1.ReplicaSet{ObjectMeta: lab.Object("web", "r", "1", nil, nil)}
	owned := func(name string, ending bool) *corev1.Pod {
		p := podOf(name, metav1.NewControllerRef(rs, appsv1.SchemeGroupVersion.WithKind(family.KindReplicaSet)))
		p.Namespace, p.UID = rs.Namespace, types.UID(name)
		if ending {
			p.DeletionTimestamp = &metav1.Time{}
		}
		return p
	}
	c.Add(t, rs, owned("alive", false), owned("ends", false), owned("went", false), owned("shown", true))
	target := &replicaSetSync{controller: c.replicaSets, key: engine.KeyOf(rs), rs: rs}
	c.replicaSets.Expectations().Expect(target.key, 0, "alive", "ends", "went", "shown", "forgotten")
	c.replicaSets.settleDeletes(target, []corev1.Pod{*owned("alive", false), *owned("ends", true)})
	left := c.replicaSets.Expectations().Outstanding(target.key).Gone
	_, ends := left["ends"]
	_, went := left["went"]
	if len(left) != 2 || !ends || !went {
		t.Errorf("still expected: %v, want those that end and went", left)
	}
}
