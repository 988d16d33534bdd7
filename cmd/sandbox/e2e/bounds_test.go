package e2e_test

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/watch"
)

// breach is one moment at which a Deployment left its bounds.
type breach struct {
	rv         uint64
	deployment string
	text       string
}

func (b breach) String() string { return fmt.Sprintf("rv %d, %s: %s", b.rv, b.deployment, b.text) }

// bounds replays changes and checks after each of them that the sizes of a
// Deployment's ReplicaSets do not exceed replicas + surge, and that, from the
// moment at which all were available, no fewer than replicas - unavailable are:
// as its pods say, as its ReplicaSets' status says and as its own status says.
type bounds struct {
	deployments map[types.UID]*bounded
	sets        map[types.UID]*appsv1.ReplicaSet
	ready       map[types.UID]map[types.UID]bool // pods that serve, by ReplicaSet
	breaches    []breach
	checked     struct{ changes, writes int } // writes: of a ReplicaSet's size
	done        []*bounded                    // Deployments that were deleted, in that order
}

// bounded is a Deployment with its bounds and how near it came to them.
type bounded struct {
	name                     string
	replicas, ceiling, floor int64
	armed, everArmed         bool
	available                int64 // by its own status
	most                     int64 // together, the sizes of its ReplicaSets
	least                    int64 // pods that served since it was armed; -1 before
	writes                   int   // of a ReplicaSet's size
}

func (d *bounded) String() string {
	return fmt.Sprintf("%s: %d writes of a size; at most %d together, ceiling %d; at least %d pods ready, floor %d",
		d.name, d.writes, d.most, d.ceiling, d.least, d.floor)
}

func newBounds() *bounds {
	return &bounds{deployments: map[types.UID]*bounded{}, sets: map[types.UID]*appsv1.ReplicaSet{}, ready: map[types.UID]map[types.UID]bool{}}
}

// replay returns every breach in a recording.
func replay(changes []change) *bounds {
	b := newBounds()
	for _, c := range changes {
		b.take(c)
	}
	return b
}

func (b *bounds) take(c change) {
	b.checked.changes++
	gone := c.kind == watch.Deleted
	switch object := c.object.(type) {
	case *appsv1.Deployment:
		b.takeDeployment(c.rv, object, gone)
	case *appsv1.ReplicaSet:
		b.takeReplicaSet(c.rv, object, gone)
	case *corev1.Pod:
		b.takePod(c.rv, object, gone)
	}
}

func (b *bounds) takeDeployment(rv uint64, d *appsv1.Deployment, gone bool) {
	known := b.deployments[d.UID]
	if gone || d.DeletionTimestamp != nil {
		if known != nil {
			b.done = append(b.done, known)
		}
		delete(b.deployments, d.UID) // from now on it is garbage collection's
		return
	}
	if known == nil {
		known = &bounded{name: d.Name, least: -1}
		b.deployments[d.UID] = known
	}
	replicas, surge, unavailable := resolve(d)
	if known.replicas != replicas || known.ceiling != replicas+surge || known.floor != replicas-unavailable {
		known.armed = false // what was promised for other numbers holds no longer
	}
	known.replicas, known.ceiling, known.floor = replicas, replicas+surge, replicas-unavailable
	known.available = int64(d.Status.AvailableReplicas)
	if d.Status.ObservedGeneration == d.Generation && known.available == replicas {
		known.armed, known.everArmed = true, true
	}
	b.checkFloor(rv, d.UID)
}

func (b *bounds) takeReplicaSet(rv uint64, rs *appsv1.ReplicaSet, gone bool) {
	before := b.sets[rs.UID]
	if gone {
		delete(b.sets, rs.UID)
		return
	}
	b.sets[rs.UID] = rs
	owner := uidOf(rs)
	if before == nil || *before.Spec.Replicas != *rs.Spec.Replicas || uidOf(before) != owner {
		b.checkCeiling(rv, owner, rs.Name)
	}
	b.checkFloor(rv, owner)
}

func (b *bounds) takePod(rv uint64, pod *corev1.Pod, gone bool) {
	set := uidOf(pod)
	if b.ready[set] == nil {
		b.ready[set] = map[types.UID]bool{}
	}
	delete(b.ready[set], pod.UID)
	if !gone && pod.DeletionTimestamp == nil && podReady(pod) {
		b.ready[set][pod.UID] = true
	}
	if rs := b.sets[set]; rs != nil {
		b.checkFloor(rv, uidOf(rs))
	}
}

func (b *bounds) checkCeiling(rv uint64, owner types.UID, written string) {
	d := b.deployments[owner]
	if d == nil {
		return
	}
	total, sizes := int64(0), ""
	for _, rs := range b.sets {
		if uidOf(rs) == owner {
			total += int64(*rs.Spec.Replicas)
			sizes += fmt.Sprintf(" %s=%d", rs.Name, *rs.Spec.Replicas)
		}
	}
	b.checked.writes++
	d.writes++
	d.most = max(d.most, total)
	if total > d.ceiling {
		b.breach(rv, d, "after the write of %s the sizes are%s, together %d, over the ceiling of %d", written, sizes, total, d.ceiling)
	}
}

func (b *bounds) checkFloor(rv uint64, owner types.UID) {
	d := b.deployments[owner]
	if d == nil || !d.armed {
		return
	}
	var byPods, byStatus int64
	for uid, rs := range b.sets {
		if uidOf(rs) == owner {
			byPods += int64(len(b.ready[uid]))
			byStatus += int64(rs.Status.AvailableReplicas)
		}
	}
	if d.least < 0 || byPods < d.least {
		d.least = byPods
	}
	for _, seen := range []struct {
		by string
		n  int64
	}{{"ready pods", byPods}, {"its ReplicaSets' status", byStatus}, {"its status", d.available}} {
		if seen.n < d.floor {
			b.breach(rv, d, "by %s %d are available, under the floor of %d", seen.by, seen.n, d.floor)
		}
	}
}

func (b *bounds) breach(rv uint64, d *bounded, format string, args ...any) {
	b.breaches = append(b.breaches, breach{rv, d.name, fmt.Sprintf(format, args...)})
}

// resolve works out a Deployment's numbers: surge percentages round up,
// unavailable ones down, and where both come to nothing one may be unavailable.
func resolve(d *appsv1.Deployment) (replicas, surge, unavailable int64) {
	replicas = int64(*d.Spec.Replicas)
	rolling := d.Spec.Strategy.RollingUpdate
	surge = share(rolling.MaxSurge, replicas, 99)
	unavailable = share(rolling.MaxUnavailable, replicas, 0)
	if surge == 0 && unavailable == 0 {
		unavailable = 1
	}
	return replicas, surge, min(unavailable, replicas)
}

// share is a number, or that many percent of whole with up added before the
// hundredths are cut off.
func share(value *intstr.IntOrString, whole, up int64) int64 {
	if value.Type == intstr.Int {
		return int64(value.IntVal)
	}
	var percent int64
	if _, err := fmt.Sscanf(value.StrVal, "%d%%", &percent); err != nil {
		panic(fmt.Sprintf("%q is no percentage: %v", value.StrVal, err))
	}
	return (whole*percent + up) / 100
}
