package migrate

import (
	"fmt"
	"math"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/loopscope/loopscope/controllers/deployment/effects"
	"github.com/loopscope/loopscope/telemetry/decision"
	"github.com/loopscope/loopscope/telemetry/prose"
)

// Loop is the loop whose objects are migrated.
const Loop = "replicationcontroller"

// Options say what is wanted of a migration.
type Options struct {
	// Controller is the ReplicationController's name, Name the Deployment's; "" for the same.
	Controller, Name string
	// Undo goes back.
	Undo bool
	// Keep leaves the ReplicationController, so that going back stays possible.
	Keep bool
	// MoveScalers points the autoscalers of the ReplicationController to the Deployment. Going back
	// points those back that were pointed there so, without being asked to.
	MoveScalers bool
}

// name is that of the Deployment: the one that was begun with, if any.
func (o *Options) name(r *record) string {
	switch {
	case r != nil:
		return r.Deployment
	case o.Name != "":
		return o.Name
	}
	return o.Controller
}

// next is what comes next.
func next(c *Cluster, o *Options) Step {
	if c.Controller == nil {
		return withoutController(c, o)
	}
	r, err := recordOf(c.Controller)
	switch {
	case c.Controller.Spec.Template == nil:
		return blocked("ReplicationController %s has no template: nothing can be made from it", o.Controller)
	case err != nil:
		return blocked("%v", err)
	case c.Controller.DeletionTimestamp != nil && o.Undo:
		return blocked("ReplicationController %s is being deleted: there is no way back any more", o.Controller)
	case c.Controller.DeletionTimestamp != nil && r == nil:
		return blocked("ReplicationController %s is being deleted, and its pods with it or without an owner: nothing can be taken over", o.Controller)
	case c.Controller.DeletionTimestamp != nil && !c.takenOver():
		return blocked("ReplicationController %s is being deleted, and no Deployment has taken its pods over: one that %s", o.Controller, createAgain)
	case c.Controller.DeletionTimestamp != nil:
		return wait("until ReplicationController %s is gone", o.Controller)
	case r != nil && o.Name != "" && o.Name != r.Deployment:
		return blocked("its migration has begun to Deployment %s: omit --name, or go back first with --undo --write", r.Deployment)
	case o.Undo:
		return backward(c, r)
	}
	return forward(c, r, o)
}

// createAgain is what to do where the ReplicationController went too early.
const createAgain = "is created again as it was before the migration adopts the pods that have no owner"

func withoutController(c *Cluster, o *Options) Step {
	if !c.takenOver() {
		return blocked("ReplicationController %s is gone, and no Deployment has taken its pods over: one that %s", o.Controller, createAgain)
	}
	if o.Undo {
		return blocked("ReplicationController %s is gone: its pods belong to Deployment %s for good", o.Controller, c.Deployment.Name)
	}
	if s, due := pointScalers(c, o, c.Deployment.Annotations[fromKey]); due {
		return s
	}
	if d := c.Deployment; takingOver(d) && d.Spec.Paused {
		return blocked("ReplicationController %s is gone, and Deployment %s has its pods, but is still paused, as the migration has created it: `kubectl -n %s rollout resume deployment/%s` ends that", o.Controller, d.Name, d.Namespace, d.Name)
	}
	return done("Deployment %s has the pods of ReplicationController %s%s", c.Deployment.Name, o.Controller, asPaused(c.Deployment))
}

func forward(c *Cluster, r *record, o *Options) Step {
	rc := c.Controller
	if r == nil {
		return mark(c, o)
	}
	if s, going := goingAway(c); going {
		return s // Somebody went back: that has to come to its end first.
	}
	for _, o := range c.made() {
		if slices.Contains(o.GetFinalizers(), holdKey) {
			return act("take the finalizer of an undo off "+kindOf(o)+" "+o.GetName(), "none of the loops minds", held(o, false))
		}
	}
	switch {
	case !released(rc):
		return prepare(c, r)
	case c.Deployment != nil && !from(c.Deployment, rc):
		return blocked("Deployment %s is there, and this migration has not made it: rename or delete it, or go back with --undo --write", r.Deployment)
	case c.Deployment != nil && !takingOver(c.Deployment):
		return finish(c, r, o)
	}
	return takeOver(c, r)
}

// mark begins: from now on the record tells what was.
func mark(c *Cluster, o *Options) Step {
	rc, t := c.Controller, templateOf(c.Controller, nil)
	r := &record{
		Version: recordVersion, Deployment: o.name(nil), Hash: hashOf(t), Replicas: replicas(rc.Spec.Replicas),
		Selector: rc.Spec.Selector, Labels: t.Labels, ServiceAccount: t.Spec.ServiceAccountName,
	}
	out := r.on(rc)
	out.Spec.Template.Labels = with(t.Labels, hashKey, r.Hash)
	return act("write down on the ReplicationController what it is now, and label its template with the hash that the Deployment will give it",
		"its loop makes new pods with the label, and changes none that is there",
		write(Update, out, change("annotation "+recordKey, "", "its size, selector, labels and ServiceAccount"), change("template label "+hashKey, "", r.Hash)))
}

// prepare labels the pods, and lets go of them once the ReplicationController is at rest.
func prepare(c *Cluster, r *record) Step {
	rc := c.Controller
	own := c.owned(rc.UID)
	if sealed(rc.Spec.Template) { // An undo was interrupted.
		return unsealController(c, r, rc.Spec.Template.Labels)
	}
	if hash := hashOf(templateOf(rc, r)); hash != r.Hash {
		return blocked("the template of ReplicationController %s was changed since the migration began: go back with --undo --write, and begin again", rc.Name)
	}
	var labels []Write
	for _, p := range own {
		if p.Labels[hashKey] != r.Hash {
			labels = append(labels, labelPod(p, r.Hash))
		}
	}
	want := replicas(rc.Spec.Replicas)
	switch {
	case rc.Spec.Template.Labels[hashKey] != r.Hash:
		out := rc.DeepCopy()
		out.Spec.Template.Labels = with(out.Spec.Template.Labels, hashKey, r.Hash)
		return act("label the template of the ReplicationController again", "its loop makes new pods with the label",
			write(Update, out, change("template label "+hashKey, "", r.Hash)))
	case rc.Status.ObservedGeneration < rc.Generation:
		return wait("until the loop of ReplicationController %s has seen its labelled template", rc.Name)
	case len(labels) > 0:
		return act("label "+prose.Count(len(labels), "pod")+" with that hash", "its loop has nothing to do with it, as its selector does not ask for the label", labels...)
	case len(own) != int(want) || rc.Status.Replicas != want:
		return wait("until ReplicationController %s is at rest: it wants %s, has %d, and its status says %d", rc.Name, prose.Count(int64(want), "pod"), len(own), rc.Status.Replicas)
	case len(c.orphans(r.Hash)) > 0:
		return blocked("%s labelled like those of the ReplicationController, and nobody owns: delete or relabel what is not needed", are(c.orphans(r.Hash)))
	}
	return release(rc, r)
}

func labelPod(p *corev1.Pod, hash string) Write {
	w := write(Label, p, change("label "+hashKey, p.Labels[hashKey], hash))
	w.hash = hash
	return w
}

func are(pods []*corev1.Pod) string {
	var names []string
	for _, p := range pods {
		names = append(names, p.Name)
	}
	return prose.Plural(len(names), "pod ", "pods ") + prose.Some(names, mostNames) + prose.Plural(len(names), " is", " are")
}

// mostNames is how many objects a sentence names.
const mostNames = 5

// release is one write, as at no instant may the loop see another size with the old selector.
func release(rc *corev1.ReplicationController, r *record) Step {
	now := *r
	now.Replicas = replicas(rc.Spec.Replicas)
	out := now.on(rc)
	none := int32(0)
	out.Spec.Replicas = &none
	out.Spec.Selector = with(r.Selector, toKey, r.Hash)
	out.Spec.Template.Labels = with(out.Spec.Template.Labels, toKey, r.Hash)
	changes := []decision.Change{change("selector "+toKey, "", r.Hash), change("template label "+toKey, "", r.Hash)}
	if now.Replicas != 0 {
		changes = append([]decision.Change{change("replicas", now.Replicas, 0)}, changes...)
	}
	return act("have the ReplicationController let go of its pods: in one write, a size of 0 and a selector that no pod matches",
		"its loop takes its owner reference off every pod, and deletes none, as none is its own any more; until a ReplicaSet has them, nobody replaces a pod that ends",
		write(Update, out, changes...))
}

// takeOver has a ReplicaSet adopt the pods, and then a Deployment the ReplicaSet.
func takeOver(c *Cluster, r *record) Step {
	rc, set := c.Controller, c.Set
	if own := c.owned(rc.UID); len(own) > 0 {
		return wait("until the loop of ReplicationController %s has let go of %s", rc.Name, prose.Count(len(own), "pod"))
	}
	orphans := c.orphans(r.Hash)
	switch {
	case set == nil && c.Deployment != nil:
		return blocked("ReplicaSet %s is gone, which Deployment %s was to take over: go back with --undo --write", setName(r), r.Deployment)
	case set == nil && len(orphans) > int(r.Replicas):
		return blocked("%s without an owner, and the ReplicaSet would keep %d and delete the rest: delete or relabel what is not needed, or go back with --undo --write", are(orphans), r.Replicas)
	case set == nil:
		return act("create the ReplicaSet, sealed: its template names a ServiceAccount that is not there, so that no pod can be made from it",
			"its loop adopts the pods; should it not have seen yet that nobody owns them, the pods that it asks for are refused",
			write(Create, newSet(rc, r), change("replicas", "", r.Replicas), change("template serviceAccountName", r.ServiceAccount, sealName)))
	case !from(set, rc):
		return blocked("ReplicaSet %s is there, and this migration has not made it: delete it, or go back with --undo --write", set.Name)
	case sealed(&set.Spec.Template):
		return unsealSet(c, r)
	case c.Deployment == nil:
		return act("create the Deployment, paused", "its loop adopts the ReplicaSet, and finds that it has its template; a Deployment that is paused creates none besides",
			write(Create, newDeployment(rc, r, replicas(set.Spec.Replicas)), change("replicas", "", replicas(set.Spec.Replicas)), change("paused", "", true)))
	}
	return unpause(c)
}

func setName(r *record) string { return effects.ReplicaSetName(r.Deployment, r.Hash) }

func unsealSet(c *Cluster, r *record) Step {
	if orphans := c.orphans(r.Hash); len(orphans) > 0 || !c.setCounts() {
		return wait("until the loop of ReplicaSet %s has adopted all pods and counts them: %d have no owner, and its status says %d", c.Set.Name, len(orphans), c.Set.Status.Replicas)
	}
	out := c.Set.DeepCopy()
	setAccount(&out.Spec.Template, r.ServiceAccount)
	return act("unseal the ReplicaSet, as its status counts all pods", "its loop replaces pods that end",
		write(Update, out, change("template serviceAccountName", sealName, r.ServiceAccount)))
}

// unpause waits for the proof that the Deployment's loop has taken the ReplicaSet for its newest
// revision: it writes the revision on it.
func unpause(c *Cluster) Step {
	d, set := c.Deployment, c.Set
	if d.Status.ObservedGeneration < d.Generation || ownerOf(set) != d.UID || set.Annotations[revisionKey] == "" {
		return wait("until the loop of Deployment %s has adopted ReplicaSet %s as its revision 1", d.Name, set.Name)
	}
	out := d.DeepCopy()
	out.Spec.Paused = false
	delete(out.Labels, pausedKey)
	return act("resume the Deployment, as it has the ReplicaSet as its newest revision", "its loop finds nothing to roll out",
		write(Update, out, change("paused", true, false)))
}

// revisionKey is the annotation in which Deployments number their ReplicaSets.
const revisionKey = "deployment.kubernetes.io/revision"

// finish ends it once the Deployment acts.
func finish(c *Cluster, r *record, o *Options) Step {
	d, rc := c.Deployment, c.Controller
	if d.Status.ObservedGeneration < d.Generation {
		return wait("until the loop of Deployment %s has seen its spec", d.Name)
	}
	if size := replicas(rc.Spec.Replicas); size > 0 || rc.Status.Replicas > 0 {
		return blocked("ReplicationController %s has pods again, as somebody has scaled it to %d: they would become the Deployment's, which deletes what is too many. First `kubectl -n %s scale rc %s --replicas=0`", rc.Name, size, rc.Namespace, rc.Name)
	}
	if want := replicas(d.Spec.Replicas); want > 0 && d.Status.Replicas == 0 {
		if d.Spec.Paused {
			return blocked("Deployment %s has none of the %s that it wants, as its ReplicaSet is gone and it makes none while it is paused: `kubectl -n %s rollout resume deployment/%s` has it make one, or go back with --undo --write", d.Name, prose.Count(int64(want), "pod"), d.Namespace, d.Name)
		}
		return wait("until Deployment %s has a pod: it wants %s", d.Name, prose.Count(int64(want), "pod"))
	}
	if s, due := pointScalers(c, o, string(rc.UID)); due && !r.ScalersMoved {
		return noteScalers(rc, r)
	} else if due {
		return s
	}
	if o.Keep {
		return done("Deployment %s has the pods%s, and ReplicationController %s stays with a size of 0: `loopscope migrate rc/%s -n %s --undo --write` goes back", d.Name, asPaused(d), rc.Name, rc.Name, rc.Namespace)
	}
	return act("delete the ReplicationController, and leave what it may own: from here there is no way back", "it has no pods that run, so nothing happens to any",
		write(Delete, rc))
}

// asPaused says of a Deployment that somebody has paused that it stays so.
func asPaused(d *appsv1.Deployment) string {
	if !d.Spec.Paused {
		return ""
	}
	return " and stays paused, as somebody has paused it"
}

func newSet(rc *corev1.ReplicationController, r *record) *appsv1.ReplicaSet {
	t := templateOf(rc, r)
	t.Labels = with(t.Labels, hashKey, r.Hash)
	setAccount(t, sealName)
	return &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: rc.Namespace, Name: setName(r), Labels: t.Labels, Annotations: map[string]string{fromKey: string(rc.UID)}},
		Spec: appsv1.ReplicaSetSpec{
			Replicas: &r.Replicas, MinReadySeconds: rc.Spec.MinReadySeconds,
			Selector: &metav1.LabelSelector{MatchLabels: with(r.Selector, hashKey, r.Hash)}, Template: *t,
		},
	}
}

func newDeployment(rc *corev1.ReplicationController, r *record, size int32) *appsv1.Deployment {
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: rc.Namespace, Name: r.Deployment, Labels: with(ofUser(rc.Labels), pausedKey, "migrate"), Annotations: with(ofUser(rc.Annotations), fromKey, string(rc.UID))},
		Spec: appsv1.DeploymentSpec{
			Replicas: &size, MinReadySeconds: rc.Spec.MinReadySeconds, Paused: true, ProgressDeadlineSeconds: deadline(rc.Spec.MinReadySeconds),
			Selector: &metav1.LabelSelector{MatchLabels: r.Selector}, Template: *templateOf(rc, r),
		},
	}
}

// deadline is that of a Deployment, which has to be beyond minReadySeconds; nil for the usual one.
func deadline(minReadySeconds int32) *int32 {
	const usual = 600
	if minReadySeconds < usual {
		return nil
	}
	long := int32(min(int64(minReadySeconds)+usual, math.MaxInt32))
	return &long
}

// phase is how far a migration has come, for whoever is told where it was left.
func (c *Cluster) phase() string {
	rc := c.Controller
	if rc == nil {
		return "the ReplicationController is gone"
	}
	if rc.DeletionTimestamp != nil {
		return "the ReplicationController is being deleted" + c.unattended()
	}
	if rc.Annotations[recordKey] == "" {
		return "nothing is written on the ReplicationController"
	}
	if released(rc) && len(c.owned(rc.UID)) > 0 {
		return "the ReplicationController is letting go of its pods, and nobody replaces one that ends"
	}
	if n := len(c.owned("")); n > 0 {
		return ownerless(n)
	}
	switch {
	case !released(rc) && rc.Spec.Template != nil && sealed(rc.Spec.Template):
		return "the ReplicationController owns the pods, and cannot replace one yet"
	case len(c.owned(rc.UID)) > 0:
		return "the ReplicationController owns the pods"
	case c.Set != nil && sealed(&c.Set.Spec.Template):
		return "the ReplicaSet owns the pods, and cannot replace one yet"
	}
	return "the ReplicaSet owns the pods"
}

// ownerless says what so many pods lack.
func ownerless(n int) string {
	return prose.Plural(n, "a pod has", fmt.Sprintf("%d pods have", n)) + " no owner, and nobody replaces one that ends"
}

// unattended says of a ReplicationController that is being deleted which pods nobody replaces.
func (c *Cluster) unattended() string {
	own, free := len(c.owned(c.Controller.UID)), len(c.owned(""))
	switch {
	case own > 0 && free > 0:
		return fmt.Sprintf(", it still owns %s, %s", prose.Count(own, "pod"), ownerless(free))
	case own > 0:
		return " and replaces no pod that ends"
	case free > 0:
		return ", " + ownerless(free)
	case c.Set != nil && sealed(&c.Set.Spec.Template):
		return ", and the ReplicaSet, which owns the pods, cannot replace one yet"
	}
	return ""
}
