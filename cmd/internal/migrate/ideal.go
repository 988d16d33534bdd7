package migrate

import (
	"fmt"
	"maps"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// model is a cluster with its loops, as far as a migration meets them. Each loop decides on what
// it has seen and writes to what there is; in a plan both are the same.
type model struct {
	*Cluster
	clock   metav1.Time
	extra   int // pods that a loop has created
	deleted int // pods that a loop or the garbage collector has deleted
	refused int // pods that were refused as their template is sealed
}

// apply is what the API server makes of a write.
func (m *model) apply(w *Write) {
	switch w.Verb {
	case Create:
		m.store(w.object, types.UID(w.Kind+"-"+w.Name))
	case Update:
		m.store(w.object, w.object.GetUID())
	case Delete:
		m.remove(w.object)
	default:
		m.patch(w)
	}
}

func (m *model) store(o Object, uid types.UID) {
	o, _ = o.DeepCopyObject().(Object)
	o.SetUID(uid)
	o.SetGeneration(o.GetGeneration() + 1)
	gone := o.GetDeletionTimestamp() != nil && len(o.GetFinalizers()) == 0
	switch x := o.(type) {
	case *corev1.ReplicationController:
		if m.Controller = x; gone {
			m.Controller = nil
			m.collect(uid)
		}
	case *appsv1.ReplicaSet:
		m.storeSet(x, gone)
	case *appsv1.Deployment:
		if m.Deployment = x; gone {
			m.Deployment = nil
			m.collect(uid)
		}
	case *autoscalingv2.HorizontalPodAutoscaler:
		for i := range m.Scalers {
			if m.Scalers[i].UID == uid {
				m.Scalers[i] = *x
			}
		}
	}
}

func (m *model) storeSet(set *appsv1.ReplicaSet, gone bool) {
	switch i := slices.IndexFunc(m.Others, func(o *appsv1.ReplicaSet) bool { return o.UID == set.UID }); {
	case i >= 0 && gone:
		m.Others = slices.Delete(m.Others, i, i+1)
	case i >= 0:
		m.Others[i] = set
	case gone:
		m.Set = nil
	default:
		m.Set = set
	}
	if gone {
		m.collect(set.UID)
	}
}

// remove deletes as a request that leaves what the object owns.
func (m *model) remove(o Object) {
	o, _ = o.DeepCopyObject().(Object)
	o.SetDeletionTimestamp(&m.clock)
	o.SetFinalizers(append(o.GetFinalizers(), metav1.FinalizerOrphanDependents))
	m.store(o, o.GetUID())
}

func (m *model) patch(w *Write) {
	var o metav1.Object
	if w.Kind == "ReplicaSet" {
		o = m.Set
	}
	for _, set := range m.Others {
		if w.Kind == "ReplicaSet" && set.Name == w.Name {
			o = set
		}
	}
	for i := range m.Pods {
		if w.Kind == "Pod" && m.Pods[i].Name == w.Name {
			o = &m.Pods[i]
		}
	}
	switch {
	case o == nil:
	case w.Verb == Disown:
		disown(o, w.owner)
	case w.Verb == Label:
		o.SetLabels(with(o.GetLabels(), hashKey, w.hash))
	default:
		delete(o.GetLabels(), hashKey)
	}
}

func disown(o metav1.Object, owner types.UID) {
	o.SetOwnerReferences(slices.DeleteFunc(o.GetOwnerReferences(), func(ref metav1.OwnerReference) bool { return ref.UID == owner }))
}

// collect deletes what refers to an owner that is gone.
func (m *model) collect(owner types.UID) {
	if m.Set != nil && ownerOf(m.Set) == owner {
		m.Set = nil
	}
	m.Others = slices.DeleteFunc(m.Others, func(set *appsv1.ReplicaSet) bool { return ownerOf(set) == owner })
	m.Pods = slices.DeleteFunc(m.Pods, func(p corev1.Pod) bool {
		lost := ownerOf(&p) == owner
		if lost {
			m.deleted++
		}
		return lost
	})
}

// orphan is the garbage collector at an owner that is deleted without what it owns, as far as it
// has seen what that is.
func (m *model) orphan(seen *Cluster) {
	if m.Controller == nil {
		return
	}
	list := append(m.made(), m.Controller)
	for _, set := range m.Others {
		list = append(list, set)
	}
	for _, o := range list {
		if !slices.Contains(o.GetFinalizers(), metav1.FinalizerOrphanDependents) {
			continue
		}
		uid := o.GetUID()
		if seen.Set != nil && m.Set != nil && ownerOf(seen.Set) == uid {
			disown(m.Set, uid)
		}
		for _, set := range m.Others {
			if slices.ContainsFunc(seen.Others, func(x *appsv1.ReplicaSet) bool { return x.UID == set.UID && ownerOf(x) == uid }) {
				disown(set, uid)
			}
		}
		for i := range m.Pods {
			for j := range seen.Pods {
				if seen.Pods[j].UID == m.Pods[i].UID && ownerOf(&seen.Pods[j]) == uid {
					disown(&m.Pods[i], uid)
				}
			}
		}
		o.SetFinalizers(slices.DeleteFunc(o.GetFinalizers(), func(f string) bool { return f == metav1.FinalizerOrphanDependents }))
		m.store(o, uid)
	}
}

func controllerRef(owner Object) metav1.OwnerReference {
	return *metav1.NewControllerRef(owner, schema.GroupVersionKind{Kind: kindOf(owner)})
}

// keeper is a ReplicationController or a ReplicaSet as its loop sees it.
type keeper struct {
	meta     Object
	size     int32
	selector map[string]string
	template *corev1.PodTemplateSpec
}

// counts are those of a status.
type counts struct{ all, labelled, ready int32 }

// keep is one sync of what keeps pods: it releases and adopts, creates and deletes, and counts.
// Owners are read live before they adopt, so there is the keeper as it is now.
func (m *model) keep(k *keeper, now metav1.Object, seen *Cluster) (n counts) {
	if now.GetDeletionTimestamp() != nil || k.meta.GetDeletionTimestamp() != nil {
		return counts{all: int32(len(seen.owned(k.meta.GetUID())))}
	}
	uid := k.meta.GetUID()
	var own []types.UID
	for i := range seen.Pods {
		p := &seen.Pods[i]
		matches := labels.SelectorFromSet(k.selector).Matches(labels.Set(p.Labels))
		switch owner := ownerOf(p); {
		case !active(p), owner != uid && owner != "", owner == "" && !matches:
		case !matches:
			m.each(p.UID, func(p *corev1.Pod) { disown(p, uid) })
		default:
			m.each(p.UID, func(p *corev1.Pod) {
				if ownerOf(p) == "" {
					p.OwnerReferences = append(p.OwnerReferences, controllerRef(k.meta))
				}
			})
			own = append(own, p.UID)
			if labels.SelectorFromSet(k.template.Labels).Matches(labels.Set(p.Labels)) {
				n.labelled++
			}
			if slices.ContainsFunc(p.Status.Conditions, func(x corev1.PodCondition) bool { return x.Type == corev1.PodReady && x.Status == corev1.ConditionTrue }) {
				n.ready++
			}
		}
	}
	m.size(k, own)
	n.all = int32(len(own))
	return n
}

func (m *model) size(k *keeper, own []types.UID) {
	for i := int32(len(own)); i < k.size; i++ {
		if sealed(k.template) {
			m.refused++
			return
		}
		m.extra++
		name := fmt.Sprintf("%s-made-%d", k.meta.GetName(), m.extra)
		m.Pods = append(m.Pods, corev1.Pod{ObjectMeta: metav1.ObjectMeta{
			Name: name, UID: types.UID(name), Labels: maps.Clone(k.template.Labels),
			OwnerReferences: []metav1.OwnerReference{controllerRef(k.meta)},
		}})
	}
	for _, uid := range own[min(len(own), int(k.size)):] {
		m.Pods = slices.DeleteFunc(m.Pods, func(p corev1.Pod) bool { return p.UID == uid })
		m.deleted++
	}
}

func (m *model) each(uid types.UID, f func(*corev1.Pod)) {
	for i := range m.Pods {
		if m.Pods[i].UID == uid {
			f(&m.Pods[i])
		}
	}
}

// syncController is the loop of ReplicationControllers.
func (m *model) syncController(seen *Cluster) {
	rc := seen.Controller
	if rc == nil || m.Controller == nil {
		return
	}
	n := m.keep(&keeper{rc, replicas(rc.Spec.Replicas), rc.Spec.Selector, rc.Spec.Template}, m.Controller, seen)
	m.Controller.Status = corev1.ReplicationControllerStatus{
		ObservedGeneration: rc.Generation, Replicas: n.all, FullyLabeledReplicas: n.labelled, ReadyReplicas: n.ready, AvailableReplicas: n.ready,
	}
}

// syncSet is the loop of ReplicaSets.
func (m *model) syncSet(seen *Cluster) {
	set := seen.Set
	if set == nil || m.Set == nil {
		return
	}
	n := m.keep(&keeper{set, replicas(set.Spec.Replicas), set.Spec.Selector.MatchLabels, &set.Spec.Template}, m.Set, seen)
	m.Set.Status = appsv1.ReplicaSetStatus{
		ObservedGeneration: set.Generation, Replicas: n.all, FullyLabeledReplicas: n.labelled, ReadyReplicas: n.ready, AvailableReplicas: n.ready,
	}
}

// syncDeployment is the loop of Deployments, of which only adoption and revision matter. It
// reports whether it would have rolled something out.
func (m *model) syncDeployment(seen *Cluster) (rolls bool) {
	d := seen.Deployment
	if d == nil || m.Deployment == nil {
		return false
	}
	known := seen.Set != nil && m.Set != nil
	same := known && hashOf(withoutHash(&seen.Set.Spec.Template)) == hashOf(&d.Spec.Template)
	if d.DeletionTimestamp == nil && known && seen.Set.DeletionTimestamp == nil {
		if ownerOf(m.Set) == "" {
			m.Set.OwnerReferences = append(m.Set.OwnerReferences, controllerRef(d))
		}
		if same {
			m.Set.Annotations = with(m.Set.Annotations, revisionKey, "1")
		}
	}
	m.Deployment.Status.ObservedGeneration = d.Generation
	if known {
		set := &seen.Set.Status
		m.Deployment.Status.Replicas, m.Deployment.Status.ReadyReplicas, m.Deployment.Status.AvailableReplicas = set.Replicas, set.ReadyReplicas, set.AvailableReplicas
	}
	if same {
		m.Deployment.Status.UpdatedReplicas = seen.Set.Status.Replicas
	}
	return d.DeletionTimestamp == nil && !d.Spec.Paused && !same
}

func withoutHash(t *corev1.PodTemplateSpec) *corev1.PodTemplateSpec {
	out := t.DeepCopy()
	delete(out.Labels, hashKey)
	return out
}

// rest lets every loop answer until none has anything to do, each having seen everything.
func (m *model) rest() {
	for range idealRounds {
		m.orphan(m.clone())
		m.syncController(m.clone())
		m.syncSet(m.clone())
		m.syncDeployment(m.clone())
	}
}

// idealRounds is more than any loop needs to answer one write and what the others made of it.
const idealRounds = 4

// mostSteps is more than any migration has.
const mostSteps = 40

// steps are those that lead to the end, if every loop answers as it should. last is what the
// cluster is then like.
func steps(c *Cluster, o *Options) (list []Step, end Step, last *Cluster) {
	if s := next(c, o); s.Kind == Blocked {
		return nil, s, c
	}
	m := &model{Cluster: c.clone(), clock: metav1.Now()}
	m.rest()
	for range mostSteps {
		s := next(m.Cluster, o)
		if s.Kind != Act {
			return list, s, m.Cluster
		}
		list = append(list, s)
		for i := range s.Writes {
			m.apply(&s.Writes[i])
		}
		m.rest()
	}
	return list, blocked("it does not come to an end"), m.Cluster
}
