package chaos_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// spoiltWrites is every way a write goes wrong, on every kind of write.
func spoiltWrites() []fault {
	kinds := []struct {
		kind    string
		shape   func(*appsv1.Deployment)
		prepare func(*testing.T, *field)
		begin   func(*testing.T, *round)
	}{
		{kind: "deployments/status update"},
		{kind: "deployments update", prepare: rollOnce, begin: rollBack},
		{kind: "replicasets create"},
		{kind: "replicasets update"},
		{kind: "replicasets/status update"},
		{kind: "replicasets delete", shape: withoutHistory},
		{kind: "pods create"},
		{kind: "pods delete"},
		{kind: "pods patch", begin: withOrphans},
	}
	var faults []fault
	for _, k := range kinds {
		for _, name := range slices.Sorted(maps.Keys(spoils)) {
			spoil := spoils[name]
			begin := k.begin
			if begin == nil {
				begin = func(t *testing.T, r *round) { r.roll(t) }
			}
			faults = append(faults, fault{name: name, kind: k.kind, rounds: 5, shape: k.shape, prepare: k.prepare,
				strike: func(t *testing.T, r *round) {
					p := &plan{kind: k.kind, spoil: spoil, most: 2 * r.count}
					r.loops.wire.arm(r.namespace, p)
					r.injected = func() int { return r.loops.wire.hits(p) }
					begin(t, r)
				}})
		}
	}
	return faults
}

func withoutHistory(d *appsv1.Deployment) { d.Spec.RevisionHistoryLimit = new(int32) }

// rollOnce makes a revision to go back to.
func rollOnce(t *testing.T, f *field) {
	f.roll(t)
	f.await(t, "a second revision", f.settled)
}

// rollBack makes the loop write the Deployment itself: only the annotation of
// old asks for that.
func rollBack(t *testing.T, r *round) {
	r.version = 3 - r.version // between the first and the second
	r.patchAll(t, `{"metadata":{"annotations":{"deprecated.deployment.rollback.to":"0"}}}`)
}

// withOrphans gives every active ReplicaSet a pod to adopt, and rolls.
func withOrphans(t *testing.T, r *round) {
	for _, rs := range r.replicaSets(t) {
		if *rs.Spec.Replicas == 0 {
			continue
		}
		orphan := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("orphan-%s-%d", rs.Name, r.number), Labels: rs.Spec.Template.Labels},
			Spec:       rs.Spec.Template.Spec,
		}
		if _, err := r.client.CoreV1().Pods(r.namespace).Create(t.Context(), orphan, metav1.CreateOptions{}); err != nil {
			t.Fatalf("create an orphan: %v", err)
		}
	}
	r.roll(t)
}

// intrusions are faults that others in the cluster are the cause of.
func intrusions() []fault {
	return []fault{
		{name: "quota refuses", rounds: 5, strike: refuseByQuota},
		{name: "namespace deleted", rounds: 5, strike: deleteNamespace, converged: namespaceGone},
		{name: "ReplicaSets scaled by another", rounds: 5, strike: scaleReplicaSets},
		{name: "Deployments scaled by another", rounds: 5, strike: scaleDeployments},
		{name: "watches dropped", rounds: 5, alone: true, strike: dropWatches},
		{name: "clock jumps", rounds: 5, alone: true, strike: jumpClock, shape: readyForASecond},
	}
}

// refuseByQuota lets no pod in until a ReplicaSet says so.
func refuseByQuota(t *testing.T, r *round) {
	quotas := r.client.CoreV1().ResourceQuotas(r.namespace)
	full := resource.NewQuantity(int64(r.count*int(r.want)), resource.DecimalSI)
	_, err := quotas.Create(t.Context(), &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Name: "full"}, Spec: corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{corev1.ResourcePods: *full}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatalf("create quota: %v", err)
	}
	r.roll(t)
	refused := 0
	r.await(t, "refusals", func(context.Context) error {
		refused = 0
		for _, rs := range present[*appsv1.ReplicaSet](r.census, kindSet, r.namespace) {
			for _, c := range rs.Status.Conditions {
				if c.Type == appsv1.ReplicaSetReplicaFailure && c.Status == corev1.ConditionTrue {
					refused++
				}
			}
		}
		if refused < r.count {
			return fmt.Errorf("%d of %d ReplicaSets say that no pod can be created", refused, r.count)
		}
		return nil
	})
	r.injected = func() int { return refused }
	r.struck = time.Now()
	if err := quotas.Delete(t.Context(), "full", metav1.DeleteOptions{}); err != nil {
		t.Fatalf("delete quota: %v", err)
	}
}

func deleteNamespace(t *testing.T, r *round) {
	r.roll(t)
	r.midway(t, r.count)
	r.injected = func() int { return 1 }
	r.struck = time.Now()
	if err := r.client.CoreV1().Namespaces().Delete(t.Context(), r.namespace, metav1.DeleteOptions{}); err != nil {
		t.Fatalf("delete namespace: %v", err)
	}
}

func namespaceGone(t *testing.T, r *round) {
	r.await(t, "the end of the namespace", func(ctx context.Context) error {
		_, err := r.client.CoreV1().Namespaces().Get(ctx, r.namespace, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return fmt.Errorf("the namespace is there: %w", err)
	})
	r.took, r.gone = time.Since(r.struck), true
	r.needed = r.count * int(r.want)
}

// scaleReplicaSets changes sizes behind the Deployments' backs, as kubectl scale
// does. Every pod more or less may cost one.
func scaleReplicaSets(t *testing.T, r *round) {
	r.roll(t)
	hits := 0
	for step, by := range []int32{+1, -1, +2} {
		r.midway(t, (step+1)*r.count/2)
		for _, rs := range r.replicaSets(t) {
			size := max(0, *rs.Spec.Replicas+by)
			if *rs.Spec.Replicas == 0 || size == *rs.Spec.Replicas {
				continue
			}
			_, err := r.client.AppsV1().ReplicaSets(r.namespace).Patch(t.Context(), rs.Name, types.MergePatchType,
				fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, size), metav1.PatchOptions{}, "scale")
			if err != nil && !apierrors.IsConflict(err) {
				t.Fatalf("scale ReplicaSet %s: %v", rs.Name, err)
			}
			hits++
			r.extra += int(max(by, -by))
		}
	}
	r.injected = func() int { return hits }
}

// scaleDeployments changes its mind again and again, and ends with what was wanted.
func scaleDeployments(t *testing.T, r *round) {
	r.roll(t)
	sizes := []int32{5, 1, 4, 2, 6, replicas}
	at := int32(replicas)
	for _, size := range sizes {
		r.patchAll(t, fmt.Sprintf(`{"spec":{"replicas":%d}}`, size))
		r.extra += r.count * int(max(size-at, at-size))
		at = size
	}
	r.injected = func() int { return len(sizes) * r.count }
}

// dropWatches severs the watches of all informers, again and again.
func dropWatches(t *testing.T, r *round) {
	severed := 0
	r.injected = func() int { return severed }
	r.roll(t)
	for step := range int(r.want) {
		r.midway(t, r.count*step+r.count/2)
		severed += r.loops.wire.sever()
	}
}

func readyForASecond(d *appsv1.Deployment) { d.Spec.MinReadySeconds = 1 }

// jumpClock sets the loops' clock an hour forward, then an hour back, then right.
func jumpClock(t *testing.T, r *round) {
	t.Cleanup(func() { r.loops.clock.set(0) })
	r.roll(t)
	for step, ahead := range []time.Duration{time.Hour, -time.Hour, 0} {
		r.midway(t, r.count/2+step*r.count/4)
		r.loops.clock.set(ahead)
	}
	r.injected = func() int { return 3 }
}
