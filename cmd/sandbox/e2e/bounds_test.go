package e2e_test

import (
	"fmt"
	"maps"
	"slices"

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

// bounds replays changes and checks after each of them
//
//   - that no write makes the sizes of a Deployment's ReplicaSets together larger
//     than replicas + surge. A write is decided on some generation of the
//     Deployment, from the one that its status says is observed to the newest, so
//     the largest of their ceilings counts. A write that makes a ReplicaSet
//     smaller leads towards a ceiling that was lowered and cannot break it;
//   - that the pods available do not become fewer than replicas - unavailable, as
//     its pods, its ReplicaSets' status and its own status say, from the moment at
//     which its ReplicaSets have the pods they are to have and that many are
//     available. Fewer replicas take the promise back until then: they are shared
//     out by size, whichever pods are available. More replicas leave it as it was.
//     A pod that stops serving by itself lowers it by one, as no loop could know of
//     it, until every ReplicaSet's status tells of the pods that serve;
//     The Deployment's own status follows its ReplicaSets': until it has caught up
//     it may still tell what theirs told before;
//   - what family checks.
type bounds struct {
	family
	deployments map[types.UID]*bounded
	sets        map[types.UID]*appsv1.ReplicaSet
	ready       map[types.UID]map[types.UID]bool // pods that serve, by ReplicaSet
	breaches    []breach
	checked     struct{ changes, writes, floors int } // writes: of a ReplicaSet's size
	done        []*bounded                            // Deployments that were deleted, in that order
}

// bounded is a Deployment with its bounds and how near it came to them.
type bounded struct {
	name             string
	generation       int64
	observed         int64
	replicas         int64
	ceilings         map[int64]int64 // by generation, from the observed one on
	floor            int64           // of the newest generation
	promised         int64           // the floor that holds, with armed
	armed, everArmed bool
	lost             int64 // pods that stopped serving by themselves, which a status may not tell yet
	available        int64 // by its own status
	behind           int64 // what that may still tell, the least that its ReplicaSets' told before
	most             int64 // together, the sizes of its ReplicaSets
	over             int64 // the ceiling at that moment
	least            int64 // the fewest pods that served above the floor that held; -1 before
	writes           int   // of a ReplicaSet's size
}

func (d *bounded) String() string {
	return fmt.Sprintf("%s: %d writes of a size; at most %d together where the ceiling was %d; never less than %d pods above the floor",
		d.name, d.writes, d.most, d.over, d.least)
}

func newBounds() *bounds {
	return &bounds{family: newFamily(), deployments: map[types.UID]*bounded{}, sets: map[types.UID]*appsv1.ReplicaSet{}, ready: map[types.UID]map[types.UID]bool{}}
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
		known = &bounded{name: d.Name, least: -1, ceilings: map[int64]int64{}}
		b.deployments[d.UID] = known
	}
	known.take(d)
	b.checkPlanted(b, rv, known, d)
	b.checkFloor(rv, d.UID)
}

// take notes the numbers of the newest generation, and which may still be
// decided on.
func (d *bounded) take(now *appsv1.Deployment) {
	replicas, surge, unavailable := resolve(now)
	if floor := replicas - unavailable; replicas < d.replicas || floor < d.floor {
		d.armed = false
	}
	d.replicas, d.floor = replicas, replicas-unavailable
	d.generation, d.observed = now.Generation, now.Status.ObservedGeneration
	d.ceilings[d.generation] = replicas + surge
	maps.DeleteFunc(d.ceilings, func(generation, _ int64) bool { return generation < d.observed })
	d.available = int64(now.Status.AvailableReplicas)
	if d.armed && d.available >= d.promised {
		d.behind = d.promised
	}
}

// ceiling is the largest that a write may have been decided on.
func (d *bounded) ceiling() int64 { return slices.Max(slices.Collect(maps.Values(d.ceilings))) }

func (b *bounds) takeReplicaSet(rv uint64, rs *appsv1.ReplicaSet, gone bool) {
	before := b.sets[rs.UID]
	if gone {
		delete(b.sets, rs.UID)
		b.checkLeft(b, rv, rs)
		return
	}
	b.sets[rs.UID] = rs
	b.checkReplicaSet(b, rv, before, rs)
	owner := uidOf(rs)
	if before == nil || *before.Spec.Replicas != *rs.Spec.Replicas || uidOf(before) != owner {
		grown := before == nil || *before.Spec.Replicas < *rs.Spec.Replicas || uidOf(before) != owner
		b.checkCeiling(rv, owner, rs.Name, grown)
	}
	if d := b.deployments[owner]; d != nil && b.told(owner) {
		d.lost = 0
	}
	b.checkFloor(rv, owner)
}

// told reports whether the status of every ReplicaSet tells of as many pods as serve.
func (b *bounds) told(owner types.UID) bool {
	for uid, rs := range b.sets {
		if uidOf(rs) == owner && int(rs.Status.AvailableReplicas) != len(b.ready[uid]) {
			return false
		}
	}
	return true
}

func (b *bounds) takePod(rv uint64, pod *corev1.Pod, gone bool) {
	set := uidOf(pod)
	b.checkPod(b, rv, pod, gone)
	if b.ready[set] == nil {
		b.ready[set] = map[types.UID]bool{}
	}
	served := b.ready[set][pod.UID]
	delete(b.ready[set], pod.UID)
	lives := !gone && pod.DeletionTimestamp == nil
	if lives && podReady(pod) {
		b.ready[set][pod.UID] = true
	}
	rs := b.sets[set]
	if rs == nil {
		return
	}
	if d := b.deployments[uidOf(rs)]; d != nil && served && lives && !podReady(pod) {
		d.lost++
	}
	b.checkFloor(rv, uidOf(rs))
}

func (b *bounds) checkCeiling(rv uint64, owner types.UID, written string, grown bool) {
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
	ceiling := d.ceiling()
	if total > d.most {
		d.most, d.over = total, ceiling
	}
	if grown && total > ceiling {
		b.breach(rv, d, "after the write of %s the sizes are%s, together %d, over the ceiling of %d", written, sizes, total, ceiling)
	}
}

func (b *bounds) checkFloor(rv uint64, owner types.UID) {
	d := b.deployments[owner]
	if d == nil {
		return
	}
	byPods, byStatus, asTheyShould := int64(0), int64(0), true
	for uid, rs := range b.sets {
		if uidOf(rs) == owner {
			byPods += int64(len(b.ready[uid]))
			byStatus += int64(rs.Status.AvailableReplicas)
			asTheyShould = asTheyShould && rs.Status.ObservedGeneration == rs.Generation && rs.Status.Replicas == *rs.Spec.Replicas
		}
	}
	if asTheyShould && d.observed == d.generation && min(byPods, byStatus, d.available) >= d.floor {
		d.armed, d.everArmed, d.promised = true, true, d.floor
	}
	if !d.armed {
		d.behind = min(d.behind, byStatus)
		return
	}
	b.checked.floors++
	if above := byPods - d.promised; d.least < 0 || above < d.least {
		d.least = above
	}
	for _, seen := range []struct {
		by       string
		n, floor int64
	}{{"ready pods", byPods, d.promised}, {"its ReplicaSets' status", byStatus, d.promised}, {"its status", d.available, min(d.promised, d.behind)}} {
		seen.floor -= d.lost
		if seen.n < seen.floor {
			b.breach(rv, d, "by %s %d are available, under the floor of %d", seen.by, seen.n, seen.floor)
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
