package migrate

import (
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/loopscope/loopscope/cmd/internal/preflight"
	"github.com/loopscope/loopscope/controllers/rollingupdate"
	"github.com/loopscope/loopscope/telemetry/prose"
	"github.com/loopscope/loopscope/telemetry/redact"
)

// around is what else is in the namespace, as far as it matters.
type around struct {
	keepers []keeperOf
}

// keeperOf is an object that adopts pods, or ReplicaSets.
type keeperOf struct {
	kind     string
	meta     metav1.Object
	selector *metav1.LabelSelector
}

func (a *around) add(o runtime.Object) {
	switch x := o.(type) {
	case *appsv1.Deployment:
		a.keepers = append(a.keepers, keeperOf{"Deployment", x, x.Spec.Selector})
	case *appsv1.ReplicaSet:
		a.keepers = append(a.keepers, keeperOf{"ReplicaSet", x, x.Spec.Selector})
	case *appsv1.StatefulSet:
		a.keepers = append(a.keepers, keeperOf{"StatefulSet", x, x.Spec.Selector})
	case *appsv1.DaemonSet:
		a.keepers = append(a.keepers, keeperOf{"DaemonSet", x, x.Spec.Selector})
	case *corev1.ReplicationController:
		a.keepers = append(a.keepers, keeperOf{"ReplicationController", x, &metav1.LabelSelector{MatchLabels: x.Spec.Selector}})
	}
}

func (k *keeperOf) String() string { return k.kind + " " + k.meta.GetName() }

// problems are what has to be settled before the first write, all at once.
func problems(c *Cluster, o *Options, a *around) (list []string) {
	rc := c.Controller
	add := func(format string, args ...any) { list = append(list, fmt.Sprintf(format, args...)) }
	name := o.name(nil)
	if bad := validation.IsDNS1123Subdomain(name); len(bad) > 0 {
		add("%q is no name for a Deployment: %s", name, prose.And(bad))
	}
	if rc.Spec.Template == nil {
		add("ReplicationController %s has no template: nothing can be made from it", rc.Name)
		return list
	}
	if owner := preflight.Owner(rc); owner != "" {
		add("%s: delete that with --cascade=orphan first, so that the ReplicationController is on its own", owner)
	}
	if len(rc.Spec.Selector) == 0 {
		add("it has no selector, and a Deployment needs one: give it the labels of its pods")
		return list
	}
	if key := updating(rc); key != "" {
		add("a rolling update of it is under way, as its annotation %s says: complete or undo that first", key)
	}
	for _, in := range []map[string]string{rc.Spec.Selector, rc.Spec.Template.Labels} {
		if in[hashKey] != "" {
			add("its selector or its template has the label %s, which a Deployment sets itself: remove it first", hashKey)
			break
		}
	}
	if rc.Status.ObservedGeneration < rc.Generation {
		add("no controller has come to its newest spec yet: does one run for this cluster? `loopscope manager` starts one")
	} else if want, own := replicas(rc.Spec.Replicas), len(c.owned(rc.UID)); rc.Status.Replicas != want || own != int(want) {
		add("it is not at rest: it wants %s, has %d, and its status says %d; %s", prose.Count(int64(want), "pod"), own, rc.Status.Replicas, failureOf(rc))
	}
	if free := c.owned(""); len(free) > 0 {
		add("%s selected by it, and nobody owns: wait until its loop has adopted what it wants, or delete or relabel what is not needed", are(free))
	}
	if c.Deployment != nil {
		add("Deployment %s is there already: choose another name with --name, or delete it with --cascade=orphan first", name)
	}
	if c.Set != nil {
		add("ReplicaSet %s is there already, which the Deployment would take for its own: delete it, or choose another name with --name", c.Set.Name)
	}
	list = append(list, scalerProblems(c, o, name)...)
	return append(list, overlaps(c, a)...)
}

// failureOf says why a ReplicationController is not at rest, or who does.
func failureOf(rc *corev1.ReplicationController) string {
	for i := range rc.Status.Conditions {
		if x := &rc.Status.Conditions[i]; x.Type == corev1.ReplicationControllerReplicaFailure && x.Status == corev1.ConditionTrue {
			return "its last attempt failed: " + redact.Line(x.Message)
		}
	}
	return fmt.Sprintf("`kubectl -n %s describe rc/%s` says why", rc.Namespace, rc.Name)
}

// updatePrefix is that of the annotations of rolling updates.
const updatePrefix = "rollingupdate.loopscope.dev/"

// updating is the annotation by which a rolling update of a ReplicationController shows; "" for none.
func updating(rc *corev1.ReplicationController) string {
	for _, key := range []string{"kubectl.kubernetes.io/next-controller-id", "kubectl.kubernetes.io/update-source-id", "kubectl.kubernetes.io/update-partner"} {
		if _, found := rc.Annotations[key]; found {
			return key
		}
	}
	for key := range rc.Annotations {
		if strings.HasPrefix(key, updatePrefix) && key != rollingupdate.AnnotationResult { // That is of one that has ended.
			return key
		}
	}
	return ""
}

// overlaps are others that would adopt the pods while nobody owns them, and ReplicaSets that the
// Deployment would adopt.
func overlaps(c *Cluster, a *around) (list []string) {
	var takers, taken []string
	rc := c.Controller
	own, pods := labels.SelectorFromSet(rc.Spec.Selector), []labels.Set{rc.Spec.Template.Labels}
	for _, p := range c.owned(rc.UID) { // They may be of an earlier template, or were labelled since.
		pods = append(pods, p.Labels)
	}
	for i := range a.keepers {
		k := &a.keepers[i]
		if k.meta.GetUID() == rc.UID || from(k.meta, rc) {
			continue
		}
		selector, err := metav1.LabelSelectorAsSelector(k.selector)
		if err == nil && !selector.Empty() && slices.ContainsFunc(pods, func(set labels.Set) bool { return selector.Matches(set) }) {
			takers = append(takers, k.String())
		}
		if k.kind == "ReplicaSet" && metav1.GetControllerOf(k.meta) == nil && own.Matches(labels.Set(k.meta.GetLabels())) {
			taken = append(taken, k.meta.GetName())
		}
	}
	if len(takers) > 0 {
		list = append(list, fmt.Sprintf("%s these pods as well, and could adopt them while nobody owns them: give its selector and its pods a label of their own, or delete it",
			prose.Plural(len(takers), "the selector of "+prose.Some(takers, mostNames)+" matches", "each selector of "+prose.Some(takers, mostNames)+" matches")))
	}
	if len(taken) > 0 {
		list = append(list, fmt.Sprintf("%s without an owner, and the Deployment would adopt what its selector matches as an old revision: delete or relabel what is not needed",
			prose.Plural(len(taken), "ReplicaSet "+prose.Some(taken, mostNames)+" is", "ReplicaSets "+prose.Some(taken, mostNames)+" are")))
	}
	return list
}

// notes are what somebody should know who migrates.
func notes(c *Cluster, o *Options, name string) (list []string) {
	rc := c.Controller
	list = scalerNotes(c, o, name)
	if rc.Spec.Template == nil || o.Undo {
		return list
	}
	if c.Deployment == nil {
		list = append(list, deployerNotes(rc)...)
	}
	var finished, earlier []string
	for i := range c.Pods {
		switch p := &c.Pods[i]; {
		case !active(p) && ownerOf(p) == rc.UID:
			finished = append(finished, p.Name)
		case active(p) && ownerOf(p) == rc.UID && !sameImages(p, rc.Spec.Template):
			earlier = append(earlier, p.Name)
		}
	}
	if len(earlier) > 0 {
		list = append(list, fmt.Sprintf("%s other images than the template has, and goes on as it is: the Deployment takes every pod for one of its template. To have them made anew afterwards: "+
			"kubectl -n %s rollout restart deployment/%s", prose.Plural(len(earlier), "pod "+earlier[0]+" runs", fmt.Sprintf("each of %d pods (%s) runs", len(earlier), prose.Some(earlier, mostNames))), rc.Namespace, name))
	}
	if len(finished) > 0 {
		list = append(list, fmt.Sprintf("%s finished or on the way out: no loop adopts such pods, and they are without an owner once the ReplicationController is deleted: %s", prose.Plural(len(finished), "1 pod is", fmt.Sprintf("%d pods are", len(finished))), prose.Some(finished, mostNames)))
	}
	return list
}

// sameImages reports whether a pod runs the images of a template. A ReplicationController does not
// replace pods when its template changes.
func sameImages(p *corev1.Pod, t *corev1.PodTemplateSpec) bool {
	images := map[string]string{}
	for i := range p.Spec.Containers {
		images[p.Spec.Containers[i].Name] = p.Spec.Containers[i].Image
	}
	return !slices.ContainsFunc(t.Spec.Containers, func(x corev1.Container) bool { return images[x.Name] != x.Image })
}

// Untouched says what goes on as before whatever owns the pods.
const Untouched = "Services, PodDisruptionBudgets and NetworkPolicies go by labels, which the pods keep: none has to be changed. " +
	"A PodDisruptionBudget with a percentage or maxUnavailable may refuse evictions while pods have no owner."

// rightOf is one that is needed.
type rightOf struct{ group, resource, verb string }

// rights are those of all steps of a direction, of which some point autoscalers elsewhere. Before
// the release others that would adopt the pods are looked for.
func rights(o *Options, scalers, before bool) (list []rightOf) {
	add := func(group, resource string, verbs ...string) {
		for _, verb := range verbs {
			list = append(list, rightOf{group, resource, verb})
		}
	}
	add("", "pods", "list", "patch")
	if scalers {
		add("autoscaling", "horizontalpodautoscalers", "list", "update")
	}
	if o.Undo {
		add("", "replicationcontrollers", "get", "update")
		add("apps", "replicasets", "get", "list", "update", "patch", "delete")
		add("apps", "deployments", "get", "update", "delete")
		return list
	}
	add("", "replicationcontrollers", "get", "update")
	if !o.Keep {
		add("", "replicationcontrollers", "delete")
	}
	if before {
		add("", "replicationcontrollers", "list")
		for _, kind := range []string{"daemonsets", "deployments", "statefulsets"} {
			add("apps", kind, "list")
		}
	}
	add("", "pods", "create") // for the dry run that sees whether a seal holds
	add("apps", "replicasets", "get", "list", "create", "update")
	add("apps", "deployments", "get", "create", "update")
	return list
}

// missing says which rights are missing, by resource.
func missing(list []rightOf) string {
	verbs := map[string][]string{}
	var resources []string
	for _, x := range list {
		what := x.resource
		if x.group != "" {
			what += "." + x.group
		}
		if verbs[what] == nil {
			resources = append(resources, what)
		}
		verbs[what] = append(verbs[what], x.verb)
	}
	slices.Sort(resources)
	for i, what := range resources {
		resources[i] = prose.And(verbs[what]) + " " + what
	}
	return "you lack the right to " + prose.And(resources) + " in this namespace: have somebody grant it before the first write"
}

// trial is a pod as a sealed ReplicaSet would ask for it.
func trial(rc *corev1.ReplicationController, r *record) *corev1.Pod {
	set := newSet(rc, r)
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: rc.Namespace, GenerateName: set.Name + "-", Labels: set.Spec.Template.Labels, Annotations: set.Spec.Template.Annotations},
		Spec:       set.Spec.Template.Spec,
	}
}

// guess is the record as mark will make it.
func guess(c *Cluster, o *Options) (*record, error) {
	s := mark(c, o)
	rc, ok := s.Writes[0].object.(*corev1.ReplicationController)
	if !ok {
		return nil, fmt.Errorf("the first write is of %s", s.Writes[0].Kind)
	}
	return recordOf(rc)
}
