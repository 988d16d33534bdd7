package migrate

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// scene is a ReplicationController at rest with its pods.
func scene(size int32) *Cluster {
	app := map[string]string{"app": "web"}
	rc := &corev1.ReplicationController{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "rc-uid", Generation: 1, Labels: app, Annotations: map[string]string{"team": "a", "kubectl.kubernetes.io/last-applied-configuration": "{}"}},
		Spec: corev1.ReplicationControllerSpec{Replicas: &size, Selector: app, MinReadySeconds: 3, Template: &corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "web", "tier": "front"}},
			Spec:       corev1.PodSpec{ServiceAccountName: "robot", DeprecatedServiceAccount: "robot", Containers: []corev1.Container{{Name: "main", Image: "web:1"}}},
		}},
		Status: corev1.ReplicationControllerStatus{ObservedGeneration: 1, Replicas: size, FullyLabeledReplicas: size},
	}
	c := &Cluster{Controller: rc}
	for i := range size {
		name := fmt.Sprintf("web-%d", i)
		c.Pods = append(c.Pods, corev1.Pod{ObjectMeta: metav1.ObjectMeta{
			Namespace: "shop", Name: name, UID: types.UID(name), Labels: map[string]string{"app": "web", "tier": "front"},
			OwnerReferences: []metav1.OwnerReference{controllerRef(rc)},
		}, Spec: rc.Spec.Template.Spec})
	}
	return c
}

var (
	there   = &Options{Controller: "web"}
	thereTo = &Options{Controller: "web", Keep: true}
	back    = &Options{Controller: "web", Undo: true}
)

func texts(list []Step) (out []string) {
	for i := range list {
		out = append(out, list[i].Text)
	}
	return out
}

func TestStepsOfAPlan(t *testing.T) {
	list, end, last := steps(scene(3), there)
	want := []string{"write down", "label 3 pods", "have the ReplicationController let go", "create the ReplicaSet, sealed", "unseal the ReplicaSet", "create the Deployment, paused", "resume the Deployment", "delete the ReplicationController"}
	starts(t, list, want)
	if end.Kind != Done || last.Controller != nil || !metav1.IsControlledBy(last.Set, last.Deployment) || len(last.owned(last.Set.UID)) != 3 {
		t.Errorf("it ends with %+v and %+v", end, last)
	}
	d := last.Deployment
	if d.Spec.Paused || d.Spec.MinReadySeconds != 3 || *d.Spec.Replicas != 3 || d.Annotations["team"] != "a" || len(d.Annotations) != 2 || d.Spec.Template.Spec.ServiceAccountName != "robot" {
		t.Errorf("the Deployment is %+v", d)
	}
	if _, end, _ := steps(last, back); end.Kind != Blocked || !strings.Contains(end.Text, "for good") {
		t.Errorf("after the end, undo says %+v", end)
	}
	going := scene(0)
	for _, s := range list {
		for i := range s.Writes {
			(&model{Cluster: going, clock: metav1.Now()}).apply(&s.Writes[i])
		}
	}
	if list, end, _ := steps(going, there); going.Controller.DeletionTimestamp == nil || len(list) != 0 || end.Kind != Done {
		t.Errorf("while the ReplicationController is deleted, the same says %+v after %v", end, texts(list))
	}
	if list, end, _ := steps(last, there); len(list) != 0 || end.Kind != Done {
		t.Errorf("after the end, the same says %+v after %v", end, texts(list))
	}

	_, end, last = steps(scene(3), thereTo)
	if end.Kind != Done || last.Controller == nil {
		t.Fatalf("with --keep-rc it ends with %+v", end)
	}
	list, end, last = steps(last, back)
	starts(t, list, []string{"hold Deployment", "delete Deployment", "let the deletion of Deployment", "hold ReplicaSet", "delete ReplicaSet", "let the deletion of ReplicaSet",
		"give the ReplicationController", "unseal the ReplicationController", "take the hash off 3 pods", "take the record off"})
	if end.Kind != Done {
		t.Errorf("undo ends with %+v", end)
	}
	asBefore(t, last, scene(3))
}

func starts(t *testing.T, list []Step, want []string) {
	t.Helper()
	got := texts(list)
	if !slices.EqualFunc(got, want, strings.HasPrefix) {
		t.Errorf("the steps are\n%s\nwant those that begin with\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// asBefore compares all but versions.
func asBefore(t *testing.T, got, want *Cluster) {
	t.Helper()
	got.Controller.Generation, got.Controller.Status = want.Controller.Generation, want.Controller.Status
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("not as it was (-want +got):\n%s", diff)
	}
}

// lagging is a model whose loops see what was there a while ago, each process at its own pace
// and each kind of object by itself, and never go back.
type lagging struct {
	*model
	past []*Cluster
	seen [2]struct{ controller, set, deployment, pods int } // of the manager, of the garbage collector
	r    *rand.Rand
}

func lag(size int32, seed uint64) *lagging {
	l := &lagging{model: &model{Cluster: scene(size), clock: metav1.Now()}, r: rand.New(rand.NewPCG(seed, 1))}
	l.remember()
	return l
}

func (l *lagging) remember() { l.past = append(l.past, l.clone()) }

// view moves the caches of a process on by random numbers of versions.
func (l *lagging) view(process int) *Cluster {
	s := &l.seen[process]
	for _, version := range []*int{&s.controller, &s.set, &s.deployment, &s.pods} {
		if l.r.IntN(2) == 0 {
			*version += l.r.IntN(len(l.past) - *version)
		}
	}
	return &Cluster{Controller: l.past[s.controller].Controller, Set: l.past[s.set].Set, Deployment: l.past[s.deployment].Deployment, Pods: l.past[s.pods].Pods}
}

// loop lets one of the loops do one sync, and counts rollouts that were none of anybody's.
func (l *lagging) loop() (rollouts int) {
	switch l.r.IntN(4) {
	case 0:
		l.syncController(l.view(0))
	case 1:
		l.syncSet(l.view(0))
	case 2:
		if l.syncDeployment(l.view(0)) {
			rollouts = 1
		}
	default:
		l.orphan(l.view(1))
	}
	l.remember()
	return rollouts
}

// play takes steps among syncs until the end, interrupted before any write with a chance of one
// in cut; 0 for never. It reports whether it came to the end.
func (l *lagging) play(t *testing.T, o *Options, cut int) bool {
	t.Helper()
	for range 4000 {
		if l.r.IntN(3) > 0 {
			if l.loop() > 0 {
				t.Fatal("the Deployment would have rolled something out")
			}
			continue
		}
		s := next(l.Cluster, o)
		switch s.Kind {
		case Done:
			return true
		case Blocked:
			t.Fatalf("blocked: %s", s.Text)
		}
		for i := range s.Writes {
			if cut > 0 && l.r.IntN(cut) == 0 {
				return false
			}
			l.apply(&s.Writes[i])
			l.remember()
		}
	}
	t.Fatalf("no end: %+v", next(l.Cluster, o))
	return false
}

// TestNoPodIsLostOrMade interrupts, continues and turns back at random, with caches that lag.
func TestNoPodIsLostOrMade(t *testing.T) {
	refused, turns := 0, 0
	for seed := range uint64(300) {
		size := int32(seed % 5)
		l := lag(size, seed)
		for {
			o := there
			if l.r.IntN(2) == 0 {
				o = back
			}
			turns++
			if l.play(t, o, 4) && o == there {
				break
			}
			if l.r.IntN(8) == 0 && l.Controller != nil {
				if !l.play(t, back, 0) {
					t.Fatal("undo did not end")
				}
				asBefore(t, l.clone(), scene(size))
			}
		}
		refused += l.refused
		if l.extra+l.deleted > 0 {
			t.Fatalf("seed %d: %d pods were made and %d deleted", seed, l.extra, l.deleted)
		}
		if len(l.owned(l.Set.UID)) != int(size) || l.Controller != nil || l.Deployment.Spec.Paused || sealed(&l.Set.Spec.Template) {
			t.Fatalf("seed %d ends with %+v", seed, l.Cluster)
		}
	}
	if refused == 0 {
		t.Error("no seal was ever needed: the caches do not lag")
	}
	t.Logf("%d runs, %d pods refused by a seal", turns, refused)
}

// TestEachPrecautionIsNeeded leaves out one after the other, and sees what it is against.
func TestEachPrecautionIsNeeded(t *testing.T) {
	for name, without := range map[string]func(*Write){
		"the seal of the ReplicaSet": func(w *Write) {
			if set, is := w.object.(*appsv1.ReplicaSet); is && w.Verb == Create {
				setAccount(&set.Spec.Template, "robot")
			}
		},
		"the seal of the ReplicationController": func(w *Write) {
			if rc, is := w.object.(*corev1.ReplicationController); is && sealed(rc.Spec.Template) {
				setAccount(rc.Spec.Template, "robot")
			}
		},
		"the pause of the Deployment": func(w *Write) {
			if d, is := w.object.(*appsv1.Deployment); is {
				d.Spec.Paused = false
			}
		},
		"the finalizer": func(w *Write) {
			if w.Verb == Delete {
				w.object.SetFinalizers(nil)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			harm := 0
			for seed := uint64(0); harm == 0 && seed < 1000; seed++ {
				l := lag(3, seed)
				for _, o := range []*Options{thereTo, back} {
					harm += l.careless(o, without)
				}
			}
			if harm == 0 {
				t.Error("nothing went wrong without it")
			}
		})
	}
}

// careless plays with writes that were changed, and counts what went wrong.
func (l *lagging) careless(o *Options, without func(*Write)) (harm int) {
	for range 20 + l.r.IntN(300) {
		if l.r.IntN(3) > 0 {
			harm += l.loop()
			continue
		}
		for _, w := range next(l.Cluster, o).Writes {
			without(&w)
			l.apply(&w)
			l.remember()
		}
	}
	harm += l.extra + l.deleted
	l.extra, l.deleted = 0, 0
	return harm
}

// TestPodThatEnds takes a pod away after every step: it is replaced, no later than at the end, and
// no other goes.
func TestPodThatEnds(t *testing.T) {
	for _, o := range []*Options{thereTo, back} {
		for after := range 12 {
			m := &model{Cluster: scene(3), clock: metav1.Now()}
			if o == back {
				_, _, m.Cluster = steps(scene(3), thereTo)
			}
			taken := 0
			for s := next(m.Cluster, o); s.Kind == Act; s = next(m.Cluster, o) {
				for i := range s.Writes {
					m.apply(&s.Writes[i])
				}
				if taken++; taken == after {
					m.Pods = m.Pods[1:]
				}
				m.rest()
			}
			want := min(1, after)
			if after > taken {
				want = 0
			}
			if s := next(m.Cluster, o); s.Kind != Done || m.extra != want || m.deleted > 0 || len(m.Pods) != 3 {
				t.Errorf("undo %t, after step %d: %s %q, %d pods, %d made, %d deleted", o.Undo, after, s.Kind, s.Text, len(m.Pods), m.extra, m.deleted)
			}
		}
	}
}
