package migrate

import (
	"maps"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
)

// kept is a scene after --keep-rc, changed by somebody, to which the loops have answered.
func kept(change func(*Cluster)) *Cluster {
	_, _, c := steps(scene(3), thereTo)
	change(c)
	m := &model{Cluster: c, clock: metav1.Now()}
	m.rest()
	return m.Cluster
}

// TestPauseOfSomebodyStays: what the migration has paused it resumes, and nothing else.
func TestPauseOfSomebodyStays(t *testing.T) {
	paused := kept(func(c *Cluster) { c.Deployment.Spec.Paused = true; c.Deployment.Generation++ })
	list, end, last := steps(paused, there)
	starts(t, list, []string{"delete the ReplicationController"})
	if end.Kind != Done || !last.Deployment.Spec.Paused || !strings.HasSuffix(end.Text, "stays paused, as somebody has paused it") {
		t.Errorf("it ends with %q, paused %t", end.Text, last.Deployment.Spec.Paused)
	}
	if _, end, _ := steps(paused, thereTo); end.Kind != Done || !strings.Contains(end.Text, "stays paused") {
		t.Errorf("--keep-rc ends with %q", end.Text)
	}
	if _, marked := last.Deployment.Labels[pausedKey]; marked {
		t.Errorf("the Deployment keeps the label: %v", last.Deployment.Labels)
	}
	_, end, last = steps(paused, back)
	if end.Kind != Done {
		t.Errorf("undo ends with %q", end.Text)
	}
	asBefore(t, last, scene(3))
}

// TestUndoWithoutTheReplicaSet goes back where somebody has deleted the ReplicaSet while the
// Deployment is paused, with its pods or without them.
func TestUndoWithoutTheReplicaSet(t *testing.T) {
	for name, pods := range map[string]bool{"its pods as well": false, "its pods are left": true} {
		t.Run(name, func(t *testing.T) {
			c := kept(func(c *Cluster) {
				size := int32(2)
				c.Deployment.Spec.Paused, c.Deployment.Spec.Replicas = true, &size
				c.Deployment.Generation++
				c.Pods = c.Pods[:2]
				for i := range c.Pods {
					c.Pods[i].OwnerReferences = nil
				}
				if c.Set = nil; !pods {
					c.Pods = nil
				}
			})
			list, end, last := steps(c, back)
			if end.Kind != Done || last.Deployment != nil || last.Set != nil || *last.Controller.Spec.Replicas != 2 || len(last.owned("rc-uid")) != 2 || len(last.Pods) != 2 {
				t.Errorf("it ends with %q after %v: %+v", end.Text, texts(list), last)
			}
			if made := slices.ContainsFunc(last.Pods, func(p corev1.Pod) bool { return strings.Contains(p.Name, "made") }); made == pods {
				t.Errorf("pods were made: %t", made)
			}
		})
	}
}

// otherSet is a ReplicaSet that the Deployment has made from another template.
func otherSet(c *Cluster, size int32) *appsv1.ReplicaSet {
	return &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "shop", Name: "web-2", UID: "web-2", Labels: map[string]string{"app": "web", hashKey: "2"},
			Annotations: map[string]string{fromKey: "rc-uid"}, OwnerReferences: []metav1.OwnerReference{controllerRef(c.Deployment)},
		},
		Spec: appsv1.ReplicaSetSpec{Replicas: &size},
	}
}

// podsOf are pods after they were replaced by those of a ReplicaSet.
func podsOf(set *appsv1.ReplicaSet, pods []corev1.Pod) (list []corev1.Pod) {
	for i := range pods {
		p := pods[i].DeepCopy()
		p.OwnerReferences = []metav1.OwnerReference{controllerRef(set)}
		list = append(list, *p)
	}
	return list
}

// TestUndoLeavesNoReplicaSet of another template behind, with the Deployment or after it.
func TestUndoLeavesNoReplicaSet(t *testing.T) {
	c := kept(func(c *Cluster) { c.Others = []*appsv1.ReplicaSet{otherSet(c, 0)} })
	list, end, last := steps(c, back)
	if end.Kind != Done || !strings.HasPrefix(list[0].Text, "delete 1 ReplicaSet of other templates") {
		t.Errorf("undo ends with %q after %v", end.Text, texts(list))
	}
	if len(last.Others) > 0 {
		t.Errorf("it leaves %d ReplicaSets", len(last.Others))
	}
	last.Others = nil
	asBefore(t, last, scene(3))

	c.Others[0].OwnerReferences, c.Deployment = nil, nil
	c.Set.OwnerReferences = nil
	if _, end, last := steps(c, back); end.Kind != Done || len(last.Others) > 0 {
		t.Errorf("without the Deployment, undo ends with %q and leaves %d ReplicaSets", end.Text, len(last.Others))
	}
	c.Others[0].DeletionTimestamp = &metav1.Time{}
	if s := next(c, back); s.Kind != Wait || !strings.Contains(s.Text, "until ReplicaSet web-2 is gone") {
		t.Errorf("while it is deleted: %s %q", s.Kind, s.Text)
	}
}

// TestOthersOutliveTheDeployment: the garbage collector may not have seen one when it lets go of
// what the Deployment owned.
func TestOthersOutliveTheDeployment(t *testing.T) {
	c := kept(func(c *Cluster) {
		c.Others = []*appsv1.ReplicaSet{otherSet(c, 0)}
		c.Deployment.DeletionTimestamp, c.Deployment.Finalizers = &metav1.Time{}, []string{holdKey}
		c.Set.OwnerReferences = nil
	})
	if s := next(c, back); len(s.Writes) != 1 || s.Writes[0].Verb != Disown || s.Writes[0].Name != "web-2" {
		t.Errorf("it says %q with %+v", s.Text, s.Writes)
	}
}

// TestReadsOthers: ReplicaSets of the Deployment, or that it has left behind, and no others.
func TestReadsOthers(t *testing.T) {
	c := kept(func(*Cluster) {})
	var sets []runtime.Object
	for name, change := range map[string]func(*appsv1.ReplicaSet){
		"web-2":   func(*appsv1.ReplicaSet) {},
		"web-3":   func(set *appsv1.ReplicaSet) { set.OwnerReferences = nil },
		"foreign": func(set *appsv1.ReplicaSet) { set.OwnerReferences[0].UID = "copy-of-web" },
		"alone":   func(set *appsv1.ReplicaSet) { set.OwnerReferences, set.Annotations = nil, nil },
	} {
		set := otherSet(c, 0)
		set.Name = name
		change(set)
		sets = append(sets, set)
	}
	client := fake.NewClientset(append(sets, c.Controller, c.Set, c.Deployment)...)
	got, err := read(t.Context(), client, "shop", back)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, set := range got.Others {
		names = append(names, set.Name)
	}
	if slices.Sort(names); !slices.Equal(names, []string{"web-2", "web-3"}) || got.Set == nil {
		t.Errorf("it reads %v and %v", names, got.Set)
	}
}

// TestUndoLeavesForeignReplicaSets alone: a Deployment of that name which somebody else has created
// keeps its revisions, and its pods are in nobody's way.
func TestUndoLeavesForeignReplicaSets(t *testing.T) {
	for taken, want := range map[int]string{3: "give the ReplicationController its size", 5: "hold ReplicaSet"} {
		for _, size := range []int32{0, 3} {
			c := after(taken)
			c.Deployment = &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "foreign"}}
			set := otherSet(c, size)
			set.Annotations = nil
			objects := []runtime.Object{c.Controller, c.Deployment, set}
			if c.Set != nil {
				objects = append(objects, c.Set)
			}
			for i := range c.Pods {
				objects = append(objects, &c.Pods[i])
			}
			got, err := read(t.Context(), fake.NewClientset(objects...), "shop", back)
			if err != nil {
				t.Fatal(err)
			}
			s := next(got, back)
			foreign := slices.ContainsFunc(s.Writes, func(w Write) bool { return w.Name == set.Name })
			if s.Kind != Act || !strings.HasPrefix(s.Text, want) || foreign || got.replaced() != (c.Set != nil) {
				t.Errorf("after %d steps, with a set of size %d: %s %q with %+v", taken, size, s.Kind, s.Text, s.Writes)
			}
		}
	}
}

// after is a scene in which so many steps were taken.
func after(taken int) *Cluster {
	m := &model{Cluster: scene(3), clock: metav1.Now()}
	for range taken {
		s := next(m.Cluster, there)
		for i := range s.Writes {
			m.apply(&s.Writes[i])
		}
		m.rest()
	}
	return m.Cluster
}

// TestWhoReplacesPods: the Deployment does, also from another template.
func TestWhoReplacesPods(t *testing.T) {
	c := kept(func(c *Cluster) { c.Set, c.Others = nil, []*appsv1.ReplicaSet{otherSet(c, 3)} })
	m := Migration{now: c}
	if m.attend(); !m.since.IsZero() {
		t.Error("it says that no loop would replace a pod")
	}
	c.Others = nil
	if m.attend(); m.since.IsZero() {
		t.Error("it says that a loop would replace a pod, and there is none")
	}
}

// TestAnnotationsThatAreLeftOut: the Deployment gets those that are the user's, and such labels.
func TestAnnotationsThatAreLeftOut(t *testing.T) {
	c := scene(1)
	maps.Copy(c.Controller.Annotations, map[string]string{
		"rollingupdate.loopscope.dev/result": "complete", "kubectl.kubernetes.io/original-replicas": "3",
		"deployment.kubernetes.io/revision": "7", "example.com/owner": "b",
	})
	if got := deployerNotes(c.Controller); got != nil {
		t.Errorf("without a deployer the notes are %q", got)
	}
	deployed := map[string]string{"argocd.argoproj.io/tracking-id": "x", "kustomize.toolkit.fluxcd.io/name": "x", "meta.helm.sh/release-name": "x", "config.k8s.io/owning-inventory": "x"}
	maps.Copy(c.Controller.Annotations, deployed)
	c.Controller.Labels = map[string]string{"app": "web"}
	maps.Copy(c.Controller.Labels, deployed)
	if got := notes(c, there, "web"); len(got) != 1 || !strings.HasPrefix(got[0], "the Deployment does not get argocd.argoproj.io/tracking-id, config.k8s.io/owning-inventory, ") {
		t.Errorf("the notes are %q", got)
	}
	_, _, last := steps(c, there)
	if got := slices.Sorted(maps.Keys(last.Deployment.Annotations)); !slices.Equal(got, []string{"example.com/owner", fromKey, "team"}) {
		t.Errorf("it has %v", got)
	}
	if got := slices.Sorted(maps.Keys(last.Deployment.Labels)); !slices.Equal(got, []string{"app"}) {
		t.Errorf("it has the labels %v", got)
	}
}

// TestScalersMove: what is pointed to the Deployment is pointed back, and nothing else is.
func TestScalersMove(t *testing.T) {
	move, moveTo := &Options{Controller: "web", MoveScalers: true}, &Options{Controller: "web", MoveScalers: true, Keep: true}
	with := func() *Cluster {
		c := scene(3)
		c.Scalers = []scaler{scalerOf("mine", ofController, "web"), scalerOf("other", ofController, "api")}
		return c
	}
	targets := func(c *Cluster) (list []string) {
		for i := range c.Scalers {
			ref := c.Scalers[i].Spec.ScaleTargetRef
			list = append(list, ref.APIVersion+" "+ref.Kind+" "+ref.Name)
		}
		return list
	}
	moved := []string{"apps/v1 Deployment web", "v1 ReplicationController api"}
	list, end, last := steps(with(), move)
	if n := len(list); end.Kind != Done || n != 10 || !strings.HasPrefix(list[n-3].Text, "write down that HorizontalPodAutoscalers") || !strings.HasPrefix(list[n-2].Text, "point 1 HorizontalPodAutoscaler to") || !slices.Equal(targets(last), moved) {
		t.Errorf("it ends with %q and %v after %v", end.Text, targets(last), texts(list))
	}
	_, _, last = steps(with(), moveTo)
	list, end, last = steps(last, back)
	if end.Kind != Done || !strings.HasPrefix(list[0].Text, "point 1 HorizontalPodAutoscaler back") {
		t.Errorf("undo ends with %q after %v", end.Text, texts(list))
	}
	was := with()
	if got := targets(last); !slices.Equal(got, targets(was)) || len(last.Scalers[0].Annotations) > 0 {
		t.Errorf("undo leaves %v with %v", got, last.Scalers[0].Annotations)
	}
	last.Scalers = was.Scalers
	asBefore(t, last, was)

	// One that somebody has pointed there is named.
	c := kept(func(c *Cluster) { c.Scalers = []scaler{scalerOf("mine", ofDeployment, "web")} })
	if list, end, _ := steps(c, back); end.Kind != Done || strings.HasPrefix(list[0].Text, "point") {
		t.Errorf("undo ends with %q after %v", end.Text, texts(list))
	}
	if got := notes(c, back, "web"); len(got) != 1 || !strings.Contains(got[0], `"kind":"ReplicationController","name":"web"`) {
		t.Errorf("notes %q", got)
	}
	// Asked for at last, after the end.
	_, _, last = steps(with(), there)
	if list, end, last := steps(last, move); len(list) != 1 || end.Kind != Done || !slices.Equal(targets(last), moved) {
		t.Errorf("afterwards it ends with %q and %v", end.Text, targets(last))
	}
}

// TestLongMinReadySeconds: the API server takes no deadline that is not beyond it.
func TestLongMinReadySeconds(t *testing.T) {
	for ready, want := range map[int32]int32{0: 0, 599: 0, 600: 1200, 2147483647: 2147483647} {
		got := int32(0)
		if d := deadline(ready); d != nil {
			got = *d
		}
		if got != want {
			t.Errorf("%d: %d, want %d", ready, got, want)
		}
	}
}

// TestDeletionsCarryTheVersion that was decided on.
func TestDeletionsCarryTheVersion(t *testing.T) {
	c := scene(0)
	c.Controller.ResourceVersion = "7"
	client := fake.NewClientset(c.Controller)
	w := write(Delete, c.Controller)
	if err := send(t.Context(), client, &w); err != nil {
		t.Fatal(err)
	}
	sent, is := client.Actions()[0].(clienttesting.DeleteActionImpl)
	if p := sent.DeleteOptions.Preconditions; !is || p == nil || *p.UID != "rc-uid" || *p.ResourceVersion != "7" {
		t.Errorf("it sends %+v", client.Actions()[0])
	}
}
