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

// replacement is what quotas have room for while new pods take the place of old ones.
type replacement struct {
	fresh, old int64 // the pods that there are
	bounds     []bound
	last       string // the last refusal of a new pod, as a clash
}

// bound is a resource of a quota, and what pods take of it.
type bound struct {
	quota  *corev1.ResourceQuota
	name   corev1.ResourceName
	hard   resource.Quantity
	used   resource.Quantity // with the pods that there are
	before string            // what used counts that is not there yet, as a clause
	each   resource.Quantity // what one new pod takes
	old    resource.Quantity // what all old pods take
}

// boundsOf are what quotas allow of all that a pod of a template takes.
func (s *surroundings) boundsOf(template *corev1.PodTemplateSpec) (list []bound) {
	pod := s.podOf(template)
	for i := range s.quotas {
		q := &s.quotas[i]
		if !counts(q, pod) {
			continue
		}
		hard := hardOf(q)
		for _, name := range slices.Sorted(maps.Keys(hard)) {
			if each := perPod(pod, name); each.Sign() > 0 {
				used, before := s.claimed(q, name)
				list = append(list, bound{quota: q, name: name, hard: hard[name], used: used, before: before, each: each})
			}
		}
	}
	return list
}

// replacementOf measures the quotas beside so many new pods and these old ones.
func (s *surroundings) replacementOf(template *corev1.PodTemplateSpec, fresh int64, old []*corev1.Pod) *replacement {
	r := &replacement{fresh: fresh, old: int64(len(old)), bounds: s.boundsOf(template)}
	for i := range r.bounds {
		b := &r.bounds[i]
		for _, p := range old {
			if counts(b.quota, p) {
				b.old.Add(perPod(p, b.name))
			}
		}
	}
	return r
}

// podsBy are the pods of a Deployment that quotas count: how many of its template, and the others.
func (s *surroundings) podsBy(x *deployment.Snapshot) (fresh int64, old []*corev1.Pod) {
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
			fresh++
		case own:
			old = append(old, p)
		}
	}
	return fresh, old
}

// refuse says as the API server does why a quota refuses one more pod, new or old, while so many new and
// old ones are there; "" where none does.
func (r *replacement) refuse(isNew bool, fresh, old int) string {
	for i := range r.bounds {
		b := &r.bounds[i]
		used := b.used.DeepCopy()
		used.Add(share(b.each, int64(fresh)-r.fresh, 1))
		used.Sub(b.old)
		used.Add(share(b.old, int64(old), r.old))
		asked := b.each
		if !isNew {
			asked = share(b.old, 1, r.old)
		}
		with := used.DeepCopy()
		if with.Add(asked); with.Cmp(b.hard) <= 0 {
			continue
		}
		if isNew {
			r.last = fmt.Sprintf("ResourceQuota %s%s has no room for one more %s: %s of %s would be used for %s, and it needs %s",
				b.quota.Name, counting(b.quota), r.beside(fresh, old), used.String(), b.hard.String(), b.name, asked.String())
		}
		return fmt.Sprintf("exceeded quota: %s, requested: %s=%s, used: %s=%s, limited: %s=%s", b.quota.Name, b.name, asked.String(), b.name, used.String(), b.name, b.hard.String())
	}
	return ""
}

// beside is a pod, and those that are there when it is refused.
func (r *replacement) beside(fresh, old int) string {
	if r.old == 0 && old == 0 {
		return "pod beside " + prose.Count(fresh, "pod")
	}
	return fmt.Sprintf("new pod beside %s and %s", prose.Count(fresh, "new pod"), prose.Count(old, "old one"))
}

// share is what n of so many pods take that all take so much together, rounded up.
func share(all resource.Quantity, n, of int64) resource.Quantity {
	if of == 0 {
		return resource.Quantity{}
	}
	part := all.DeepCopy()
	if n%of == 0 {
		part.Mul(n / of)
		return part
	}
	whole, rest := all.MilliValue()/of, all.MilliValue()%of
	return *resource.NewMilliQuantity(whole*n+(rest*n+of-1)/of, all.Format)
}

// finished reports whether a pod has ended: it counts for nobody any more.
func finished(p *corev1.Pod) bool {
	return p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed
}
