package create

import (
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/loopscope/loopscope/controllers/deployment"
	"github.com/loopscope/loopscope/telemetry/prose"
)

// replacement is what quotas have room for while new pods of a Deployment take the place of old ones.
type replacement struct {
	fresh, old int // the pods that there are
	bounds     []bound
	last       string // the last refusal of a new pod, as a clash
}

// bound is a resource of a quota, and what one new and one old pod take of it.
type bound struct {
	quota, counting string
	name            corev1.ResourceName
	hard, used      resource.Quantity // used with the pods that there are
	perNew, perOld  resource.Quantity
}

// replacementOf measures the quotas that count the pods of a template, beside the pods that a Deployment has.
func (s *surroundings) replacementOf(template *corev1.PodTemplateSpec, x *deployment.Snapshot) *replacement {
	fresh, old := s.podsBy(x)
	r := &replacement{fresh: len(fresh), old: len(old)}
	pod := s.podOf(template)
	for i := range s.quotas {
		q := &s.quotas[i]
		if !counts(q, pod) {
			continue
		}
		hard := hardOf(q)
		for _, name := range slices.Sorted(maps.Keys(hard)) {
			b := bound{quota: q.Name, counting: counting(q), name: name, hard: hard[name], perNew: perPod(pod, name)}
			if b.perNew.Sign() <= 0 {
				continue
			}
			b.used, _ = s.claimed(q, name)
			b.perOld = mean(q, old, name)
			r.bounds = append(r.bounds, b)
		}
	}
	return r
}

// podsBy are the pods of a Deployment that quotas count: those of its template, and the others.
func (s *surroundings) podsBy(x *deployment.Snapshot) (fresh, old []*corev1.Pod) {
	wanted := map[string]bool{} // by the UID of its ReplicaSet
	for i := range x.ReplicaSets {
		wanted[x.ReplicaSets[i].UID] = x.ReplicaSets[i].SameTemplate
	}
	for i := range s.pods {
		p := &s.pods[i]
		owner := metav1.GetControllerOf(p)
		if owner == nil || finished(p) {
			continue
		}
		switch is, own := wanted[string(owner.UID)]; {
		case own && is:
			fresh = append(fresh, p)
		case own:
			old = append(old, p)
		}
	}
	return fresh, old
}

// mean is what a quota counts of a resource of one of these pods.
func mean(q *corev1.ResourceQuota, pods []*corev1.Pod, name corev1.ResourceName) resource.Quantity {
	var sum resource.Quantity
	for _, p := range pods {
		if counts(q, p) {
			sum.Add(perPod(p, name))
		}
	}
	if len(pods) == 0 {
		return sum
	}
	return *resource.NewMilliQuantity(sum.MilliValue()/int64(len(pods)), sum.Format)
}

// refuse says as the API server does why a quota refuses one more pod, new or old, while so many new and
// old ones are there; "" where none does.
func (r *replacement) refuse(isNew bool, fresh, old int) string {
	for i := range r.bounds {
		b := &r.bounds[i]
		used := b.used.DeepCopy()
		used.Add(times(b.perNew, fresh-r.fresh))
		used.Add(times(b.perOld, old-r.old))
		asked := b.perOld
		if isNew {
			asked = b.perNew
		}
		with := used.DeepCopy()
		if with.Add(asked); with.Cmp(b.hard) <= 0 {
			continue
		}
		if isNew {
			r.last = fmt.Sprintf("ResourceQuota %s%s has no room for one more new pod beside %s and %s: %s of %s would be used for %s, and it needs %s",
				b.quota, b.counting, prose.Count(fresh, "new pod"), prose.Count(old, "old one"), used.String(), b.hard.String(), b.name, asked.String())
		}
		return fmt.Sprintf("exceeded quota: %s, requested: %s=%s, used: %s=%s, limited: %s=%s", b.quota, b.name, asked.String(), b.name, used.String(), b.name, b.hard.String())
	}
	return ""
}

func times(each resource.Quantity, n int) resource.Quantity {
	product := each.DeepCopy()
	product.Mul(int64(n))
	return product
}

// finished reports whether a pod has ended: it counts for nobody any more.
func finished(p *corev1.Pod) bool {
	return p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed
}
