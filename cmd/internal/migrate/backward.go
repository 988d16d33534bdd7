package migrate

import (
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/loopscope/loopscope/telemetry/decision"
	"github.com/loopscope/loopscope/telemetry/prose"
)

// backward is what comes next on the way back, which begins with the newest owner.
func backward(c *Cluster, r *record) Step {
	rc := c.Controller
	if r == nil {
		return done("ReplicationController %s is as it was before", rc.Name)
	}
	if s, due := pointScalersBack(c, r); due {
		return s
	}
	if s, going := goingAway(c); going {
		return s
	}
	switch {
	case c.Deployment != nil && from(c.Deployment, rc):
		return dropDeployment(c, r)
	case len(c.Others) > 0 && released(rc):
		s, _ := dropOthers(c)
		return s
	case c.Set != nil && from(c.Set, rc):
		return dropSet(c, r)
	case released(rc):
		return putBack(c, r)
	}
	return restore(c, r)
}

// goingAway brings the deletion of an owner to its end.
func goingAway(c *Cluster) (s Step, going bool) {
	for _, owner := range c.made() {
		if s, going = letGo(owner, c.children(owner)); going {
			return s, true
		}
	}
	return Step{}, false
}

// children are what an object may own.
func (c *Cluster) children(of Object) (list []Object) {
	if of == Object(c.Deployment) {
		if c.Set != nil {
			list = append(list, c.Set)
		}
		for _, set := range c.Others {
			list = append(list, set)
		}
		return list
	}
	for i := range c.Pods {
		list = append(list, &c.Pods[i])
	}
	return list
}

// letGo continues the deletion of an owner: the garbage collector takes its references off, and
// where it had not seen one yet, the finalizer has kept the owner until that is done here.
func letGo(owner Object, children []Object) (s Step, going bool) {
	if owner.GetDeletionTimestamp() == nil {
		return Step{}, false
	}
	kind, name := kindOf(owner), owner.GetName()
	if slices.Contains(owner.GetFinalizers(), metav1.FinalizerOrphanDependents) || !slices.Contains(owner.GetFinalizers(), holdKey) {
		return wait("until %s %s is deleted without what it owns", kind, name), true
	}
	var left []Write
	for _, o := range children {
		if slices.ContainsFunc(o.GetOwnerReferences(), func(ref metav1.OwnerReference) bool { return ref.UID == owner.GetUID() }) {
			w := write(Disown, o, change("owner", name, ""))
			w.owner = owner.GetUID()
			left = append(left, w)
		}
	}
	if len(left) > 0 {
		return act("take the reference to "+kind+" "+name+" off what the garbage collector has missed", "none of it is deleted with its owner", left...), true
	}
	return act("let the deletion of "+kind+" "+name+" end, as nothing refers to it any more", "no loop has anything to do with it",
		held(owner, false)), true
}

// held is the write that adds or removes the finalizer.
func held(owner Object, hold bool) Write {
	out, ok := owner.DeepCopyObject().(Object)
	if !ok {
		panic("a copy is of another kind")
	}
	rest := slices.DeleteFunc(slices.Clone(owner.GetFinalizers()), func(f string) bool { return f == holdKey })
	if !hold {
		out.SetFinalizers(rest)
		return write(Update, out, change("finalizer", holdKey, ""))
	}
	out.SetFinalizers(append(rest, holdKey))
	return write(Update, out, change("finalizer", "", holdKey))
}

// remove deletes an owner in two writes, the finalizer first.
func remove(owner Object, then string) Step {
	kind, name := kindOf(owner), owner.GetName()
	if !slices.Contains(owner.GetFinalizers(), holdKey) {
		return act("hold "+kind+" "+name+" with a finalizer, so that its deletion cannot end before nothing refers to it", "none of the loops minds", held(owner, true))
	}
	return act("delete "+kind+" "+name+", and leave what it owns", then, write(Delete, owner))
}

func dropDeployment(c *Cluster, r *record) Step {
	d, set := c.Deployment, c.Set
	size, same := replicas(d.Spec.Replicas), hashOf(&d.Spec.Template) == r.Hash
	switch {
	case !same && set != nil:
		resume := ""
		if d.Spec.Paused { // kubectl takes nothing back then.
			resume = fmt.Sprintf("`kubectl -n %s rollout resume deployment/%s` and then ", d.Namespace, d.Name)
		}
		return blocked("the template of Deployment %s was changed since, so its pods are not those of the ReplicationController: go back to that template first, with %s`kubectl -n %s rollout undo deployment/%s --to-revision=%s`", d.Name, resume, d.Namespace, d.Name, set.Annotations[revisionKey])
	case !same:
		return blocked("the template of Deployment %s was changed since, and ReplicaSet %s is gone, which had that of the ReplicationController: give the Deployment that template first", d.Name, setName(r))
	case d.Spec.Paused && len(c.populated()) > 0:
		return blocked("%s pods of another template, and Deployment %s replaces none while it is paused: resume it first, with `kubectl -n %s rollout resume deployment/%s`", theyHave(c.populated()), d.Name, d.Namespace, d.Name)
	case d.Status.ObservedGeneration < d.Generation, set == nil && !d.Spec.Paused, set != nil && ownerOf(set) != d.UID:
		return wait("until the loop of Deployment %s has adopted ReplicaSet %s: it may be about to", d.Name, setName(r))
	case set == nil && size != r.Replicas:
		return resize(c, r, size)
	case set != nil && replicas(set.Spec.Replicas) != size, set != nil && d.Status.Replicas != set.Status.Replicas, len(c.populated()) > 0:
		return wait("until Deployment %s is at rest: a rollout or a change of its size is under way", d.Name)
	}
	if s, due := dropOthers(c); due {
		return s
	}
	return dropLast(d, set)
}

// dropLast deletes the Deployment. While it is paused its loop makes no ReplicaSet, so it is not
// waited for one that somebody has deleted.
func dropLast(d *appsv1.Deployment, set *appsv1.ReplicaSet) Step {
	if set == nil {
		return remove(d, "its ReplicaSet is gone, and while it is paused its loop makes no other: the ReplicationController makes anew what pods are gone with that")
	}
	return remove(d, "the garbage collector takes the reference to it off the ReplicaSet, which goes on by itself")
}

// resize has the ReplicationController come back with another size than it left with.
func resize(c *Cluster, r *record, size int32) Step {
	now := *r
	now.Replicas = size
	return act("write down the size that there is now", "a ReplicationController at 0 does nothing with it",
		write(Update, now.on(c.Controller), change("replicas in annotation "+recordKey, r.Replicas, size)))
}

func dropSet(c *Cluster, r *record) Step {
	set, size := c.Set, replicas(c.Set.Spec.Replicas)
	switch orphans := c.orphans(r.Hash); {
	case size != r.Replicas:
		return resize(c, r, size)
	case len(orphans) > 0, !c.setCounts(), len(c.owned(c.Controller.UID)) > 0:
		// An adoption that arrived after the end of its owner would have its pod deleted.
		return wait("until the loop of ReplicaSet %s has adopted all pods and counts them: %d have no owner, and its status says %d", set.Name, len(orphans), set.Status.Replicas)
	}
	return remove(set, "the garbage collector takes the references to it off the pods; until the ReplicationController has them, nobody replaces a pod that ends")
}

// putBack is one write, as release is, with a seal until the pods are counted.
func putBack(c *Cluster, r *record) Step {
	rc := c.Controller
	if free := append(c.owned(""), c.owned(rc.UID)...); len(free) > int(r.Replicas) {
		return blocked("%s without an owner, and the ReplicationController would keep %d and delete the rest: delete or relabel what is not needed", are(free), r.Replicas)
	}
	out := rc.DeepCopy()
	out.Spec.Replicas, out.Spec.Selector = &r.Replicas, r.Selector
	delete(out.Spec.Template.Labels, toKey)
	setAccount(out.Spec.Template, sealName)
	changes := []decision.Change{change("selector "+toKey, r.Hash, ""), change("template serviceAccountName", r.ServiceAccount, sealName)}
	if r.Replicas != 0 {
		changes = append([]decision.Change{change("replicas", 0, r.Replicas)}, changes...)
	}
	return act("give the ReplicationController its size and its selector back, in one write and sealed: its template names a ServiceAccount that is not there, so that no pod can be made from it",
		"its loop adopts its pods; should it not have seen yet that nobody owns them, the pods that it asks for are refused",
		write(Update, out, changes...))
}

func unsealController(c *Cluster, r *record, labels map[string]string) Step {
	rc := c.Controller
	if free := c.owned(""); len(free) > 0 || !c.controllerCounts() {
		return wait("until the loop of ReplicationController %s has adopted all pods and counts them: %d have no owner, and its status says %d", rc.Name, len(free), rc.Status.Replicas)
	}
	out := rc.DeepCopy()
	setAccount(out.Spec.Template, r.ServiceAccount)
	out.Spec.Template.Labels = labels
	return act("unseal the ReplicationController, as its status counts all pods", "its loop replaces pods that end",
		write(Update, out, change("template serviceAccountName", sealName, r.ServiceAccount)))
}

// restore takes off what was labelled, once the ReplicationController has its pods.
func restore(c *Cluster, r *record) Step {
	rc := c.Controller
	var labelled []Write
	for _, p := range c.owned(rc.UID) {
		if p.Labels[hashKey] == r.Hash {
			labelled = append(labelled, write(Unlabel, p, change("label "+hashKey, r.Hash, "")))
		}
	}
	_, marked := rc.Spec.Template.Labels[hashKey]
	switch {
	case sealed(rc.Spec.Template):
		return unsealController(c, r, r.Labels)
	case marked:
		out := rc.DeepCopy()
		delete(out.Spec.Template.Labels, hashKey)
		return act("take the hash off the template of the ReplicationController", "its loop makes new pods without it",
			write(Update, out, change("template label "+hashKey, r.Hash, "")))
	case rc.Status.ObservedGeneration < rc.Generation:
		return wait("until the loop of ReplicationController %s has seen its template", rc.Name)
	case len(labelled) > 0:
		return act("take the hash off "+prose.Count(len(labelled), "pod"), "no loop asks for it", labelled...)
	}
	out := rc.DeepCopy()
	delete(out.Annotations, recordKey)
	return act("take the record off the ReplicationController", "it is as it was", write(Update, out, change("annotation "+recordKey, "its size, selector, labels and ServiceAccount", "")))
}
