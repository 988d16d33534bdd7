package effects

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/loopscope/loopscope/controllers/deployment"
	"github.com/loopscope/loopscope/controllers/internal/lab"
)

// A snapshot describes the newest that were ended lately.
func TestDisruptedPodsOfADeploymentsSnapshot(t *testing.T) {
	caches := newDeploymentCaches(t)
	caches.Add(t, lab.Deployment("web", "d", ""), &appsv1.ReplicaSet{ObjectMeta: lab.Object("web-1", "r", "1", nil, lab.OwnedBy("Deployment", "web", "d"))})
	now := caches.deployments.now()
	for i := range 30 {
		p := &corev1.Pod{ObjectMeta: lab.Object(fmt.Sprintf("web-%02d", i), fmt.Sprint(i), "1", nil, lab.OwnedBy("ReplicaSet", "web-1", "r"))}
		p.Status = corev1.PodStatus{Phase: corev1.PodFailed, Reason: "Evicted", Conditions: []corev1.PodCondition{
			{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(now.Add(-time.Duration(i*25) * time.Second))}}}
		caches.Add(t, p)
	}
	seen, err := caches.deployments.Observe(t.Context(), "shop/web")
	if err != nil {
		t.Fatal(err)
	}
	list := seen.(*deploymentSync).s.ReplicaSets[0].Disrupted
	if len(list) != deployment.MaxDisrupted || list[0].Name != "web-00" || list[1].Name != "web-01" {
		t.Errorf("%d pods: %+v", len(list), list)
	}
}

// A pod that is evicted wakes its Deployment, though its waiting reason stays.
func TestDisruptionWakesTheDeployment(t *testing.T) {
	caches := newDeploymentCaches(t)
	caches.Add(t, lab.Deployment("web", "d", ""), &appsv1.ReplicaSet{ObjectMeta: lab.Object("web-1", "r", "1", nil, lab.OwnedBy("Deployment", "web", "d"))})
	old := &corev1.Pod{ObjectMeta: lab.Object("p", "p", "1", nil, lab.OwnedBy("ReplicaSet", "web-1", "r"))}
	old.Status.Conditions = []corev1.PodCondition{{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: "PreemptionByScheduler"}}
	now := old.DeepCopy()
	now.ResourceVersion = "2"
	caches.deployments.podHandler().OnUpdate(old, now)
	if got := lab.Queued(caches.deployments.Loop); len(got) != 0 {
		t.Errorf("a pod that still serves wakes %v", got)
	}
	now.DeletionTimestamp = &metav1.Time{Time: time.Unix(1000, 0)}
	caches.deployments.podHandler().OnUpdate(old, now)
	if diff := cmp.Diff([]string{"shop/web"}, lab.Queued(caches.deployments.Loop)); diff != "" {
		t.Error(diff)
	}
}

func TestPodReasonsAreSpacedOut(t *testing.T) {
	var r wakeLimiter
	start := time.Unix(100, 0)
	got := []time.Duration{r.delay("k", start), r.delay("k", start), r.delay("k", start.Add(100*time.Millisecond))}
	want := []time.Duration{0, time.Second, 1900 * time.Millisecond}
	for i := range want {
		if got[i] > want[i] || i > 0 && got[i] <= 0 {
			t.Errorf("delay %d = %v, want at most %v", i, got[i], want[i])
		}
	}
	if d := r.delay("k", start.Add(time.Minute)); d != 0 {
		t.Errorf("a minute later the delay is %v", d)
	}
	if d := r.delay("other", start); d != 0 {
		t.Errorf("another key waits %v", d)
	}
}

// What the scheduler says of a pod anew wakes its Deployment; other messages under the same
// reason, which kubelets count up, do not.
func TestWhatPodsSayAnew(t *testing.T) {
	unscheduled := func(message string) *corev1.Pod {
		return &corev1.Pod{Status: corev1.PodStatus{Conditions: []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable, Message: message}}}}
	}
	crashing := func(message string) *corev1.Pod {
		return &corev1.Pod{Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff", Message: message}}}}}}
	}
	missing, unbound := unscheduled(`persistentvolumeclaim "data" not found`), unscheduled("pod has unbound immediate PersistentVolumeClaims")
	nominated := unscheduled(`persistentvolumeclaim "data" not found`)
	nominated.Status.NominatedNodeName = "node-1"
	creating, volumes := lab.Pod(corev1.PodPending, "ContainerCreating", false), lab.Pod(corev1.PodPending, "ContainerCreating", false)
	creating.Status.Conditions = append(creating.Status.Conditions, corev1.PodCondition{Type: corev1.PodReadyToStartContainers, Status: corev1.ConditionFalse})
	both := crashing("back-off 10s")
	both.Status.ContainerStatuses = append(both.Status.ContainerStatuses, corev1.ContainerStatus{Name: "log", State: both.Status.ContainerStatuses[0].State})
	claiming := &corev1.Pod{Spec: corev1.PodSpec{ResourceClaims: []corev1.PodResourceClaim{{Name: "gpu", ResourceClaimTemplateName: new("gpu")}}}}
	claimed := claiming.DeepCopy()
	claimed.Status.ResourceClaimStatuses = []corev1.PodResourceClaimStatus{{Name: "gpu"}}
	for _, c := range []struct {
		name    string
		old, is *corev1.Pod
		want    bool
	}{
		{"another claim trouble", missing, unbound, true},
		{"the same", missing, missing, false},
		{"scheduled, and crashing", missing, crashing("back-off 10s"), true},
		{"room is made on a node", missing, nominated, true},
		{"it has volumes and network", creating, volumes, true},
		{"another container fails, too", crashing("back-off 10s"), both, true},
		{"a claim was made for it", claiming, claimed, true},
		{"a longer back-off", crashing("back-off 10s"), crashing("back-off 20s"), false},
	} {
		if got := waitReasonChanged(c.old, c.is); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}

// Progress is the newest change of the counts, or what the condition says; before the first
// look that alone is known.
func TestProgress(t *testing.T) {
	var p progress
	at := func(s int64) time.Time { return time.Unix(s, 0) }
	for i, c := range []struct {
		count          int64
		condition, now int64
		want           int64
	}{{1, 10, 100, 10}, {1, 10, 110, 10}, {2, 10, 120, 120}, {2, 10, 130, 120}, {2, 125, 130, 125}} {
		if got := p.note("k", [4]int64{c.count}, at(c.condition), at(c.now)); !got.Equal(at(c.want)) {
			t.Errorf("look %d: %d, want %d", i, got.Unix(), c.want)
		}
	}
}

// A pod counts as deleted by others where its ReplicaSet lacks it, and nothing says why it went.
func TestPodsThatOthersDelete(t *testing.T) {
	finished := func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed }
	evicted := func(p *corev1.Pod) {
		p.Status.Conditions = []corev1.PodCondition{{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: "EvictionByEvictionAPI"}}
	}
	of := func(set, uid string) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			p.OwnerReferences = []metav1.OwnerReference{*lab.OwnedBy("ReplicaSet", set, uid)}
		}
	}
	orphaned := func(p *corev1.Pod) { p.OwnerReferences = nil }
	for _, c := range []struct {
		name string
		want int32 // the size of the ReplicaSet
		left int   // active pods of it
		make func(*corev1.Pod)
		told bool
	}{
		{"one of two", 2, 1, nil, true},
		{"the only one", 1, 0, nil, true},
		{"one of too many", 2, 2, nil, false},
		{"the last of a ReplicaSet of 0", 0, 0, nil, false},
		{"one that has failed", 2, 1, finished, false},
		{"one that is evicted", 2, 1, evicted, false},
		{"of a ReplicaSet that is being deleted", 2, 1, of("web-2", "r2"), false},
		{"of a ReplicaSet of nobody", 2, 1, of("web-3", "r3"), false},
		{"of another ReplicaSet of that name", 2, 1, of("web-1", "r0"), false},
		{"an orphan", 2, 1, orphaned, false},
	} {
		for how, deleted := range map[string]func(h cache.ResourceEventHandler, old, p *corev1.Pod){
			"with a grace period":    func(h cache.ResourceEventHandler, old, p *corev1.Pod) { h.OnUpdate(old, p) },
			"without one":            func(h cache.ResourceEventHandler, old, _ *corev1.Pod) { h.OnDelete(old) },
			"gone after that":        func(h cache.ResourceEventHandler, _, p *corev1.Pod) { h.OnDelete(p) },
			"a label, as it is":      func(h cache.ResourceEventHandler, old, _ *corev1.Pod) { h.OnUpdate(old, old) },
			"a label, while it ends": func(h cache.ResourceEventHandler, _, p *corev1.Pod) { h.OnUpdate(p, p) },
			"when nobody had followed": func(h cache.ResourceEventHandler, old, _ *corev1.Pod) {
				h.OnDelete(cache.DeletedFinalStateUnknown{Obj: old})
			},
		} {
			told := c.told && strings.HasPrefix(how, "with")
			t.Run(c.name+", "+how, func(t *testing.T) {
				caches := newDeploymentCaches(t)
				owner := func() *metav1.OwnerReference { return lab.OwnedBy("Deployment", "web", "d") }
				ends := &appsv1.ReplicaSet{ObjectMeta: lab.Object("web-2", "r2", "1", nil, owner())}
				ends.DeletionTimestamp = &metav1.Time{Time: lab.Noon}
				caches.Add(t, lab.Deployment("web", "d", ""), &appsv1.ReplicaSet{ObjectMeta: lab.Object("web-1", "r", "1", nil, owner()), Spec: appsv1.ReplicaSetSpec{Replicas: &c.want}},
					ends, &appsv1.ReplicaSet{ObjectMeta: lab.Object("web-3", "r3", "1", nil, nil)})
				pod := func(name string) *corev1.Pod {
					return &corev1.Pod{ObjectMeta: lab.Object(name, name, "1", nil, lab.OwnedBy("ReplicaSet", "web-1", "r"))}
				}
				for i := range c.left {
					caches.Add(t, pod(fmt.Sprint("left-", i)))
				}
				failed := pod("failed")
				finished(failed)
				old := pod("gone")
				old.CreationTimestamp = metav1.NewTime(caches.deployments.now().Add(-2 * time.Hour))
				if c.make != nil {
					c.make(old)
				}
				p := old.DeepCopy()
				p.DeletionTimestamp = &metav1.Time{Time: lab.Noon}
				caches.Add(t, failed, p)
				deleted(caches.deployments.podHandler(), old, p)
				known := caches.deployments.contests.of["d"]
				if (known != nil) != told {
					t.Fatalf("counted: %t, want %t", known != nil, told)
				}
				if told && (known.deleted.returns != 0 || known.deleted.since.Before(old.CreationTimestamp.Time.Add(time.Hour))) {
					t.Errorf("an old pod, deleted now, is %+v", known.deleted)
				}
			})
		}
	}
}
