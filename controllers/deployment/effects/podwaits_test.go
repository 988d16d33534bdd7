package effects

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/loopscope/loopscope/controllers/deployment"
	"github.com/loopscope/loopscope/controllers/family"
	"github.com/loopscope/loopscope/controllers/internal/lab"
	"github.com/loopscope/loopscope/telemetry/decision"
)

// Those whose grace period ends first are told, and those that were ended last; of a tie,
// the first by name.
func TestWhichPodsAreTold(t *testing.T) {
	var going []decision.TerminatingPod
	var ended []decision.DisruptedPod
	for i := range 2 * deployment.MaxDisrupted {
		name, at := fmt.Sprintf("web-%02d", 99-i), time.Unix(int64(1000+i/3), 0)
		going = append(going, decision.TerminatingPod{Name: name, Until: at})
		ended = append(ended, decision.DisruptedPod{Name: name, Disruption: decision.Disruption{At: at}})
	}
	first, last := family.FirstTerminating(going), newestDisrupted(ended)
	if len(first) != decision.MaxTerminatingPods || first[0].Name != "web-97" || first[1].Name != "web-98" || first[3].Name != "web-94" {
		t.Errorf("%d pods go, first %+v", len(first), first)
	}
	if len(last) != deployment.MaxDisrupted || last[0].Name != "web-60" || last[1].Name != "web-61" || last[2].Name != "web-62" {
		t.Errorf("%d pods were ended, last %+v", len(last), last)
	}
}

// TestPodsOfAReplicaSet: what a Deployment's snapshot counts and describes of the pods of
// one ReplicaSet, and how long those took that became ready once.
func TestPodsOfAReplicaSet(t *testing.T) {
	caches := newDeploymentCaches(t)
	set := &appsv1.ReplicaSet{ObjectMeta: lab.Object("web-1", "r", "1", nil, lab.OwnedBy("Deployment", "web", "d"))}
	set.Spec.MinReadySeconds = 10
	caches.Add(t, lab.Deployment("web", "d", ""), set)
	now := caches.deployments.now().Truncate(time.Second)
	add := func(name string, change func(p *corev1.Pod)) {
		p := lab.Pod(corev1.PodRunning, "", true)
		p.ObjectMeta = lab.Object(name, "uid-"+name, "1", nil, lab.OwnedBy("ReplicaSet", "web-1", "r"))
		p.CreationTimestamp = metav1.NewTime(now.Add(-time.Hour))
		p.Status.Conditions[0].LastTransitionTime = metav1.NewTime(now.Add(-time.Minute))
		p.Spec.NodeName = "n1"
		change(p)
		caches.Add(t, p)
	}
	readyAfter := func(d time.Duration) func(p *corev1.Pod) {
		return func(p *corev1.Pod) {
			p.Status.Conditions[0].LastTransitionTime = metav1.NewTime(p.CreationTimestamp.Add(d))
		}
	}
	add("slow", readyAfter(9*time.Minute))
	add("fast", readyAfter(3*time.Minute))
	add("before-it-was-made", readyAfter(-time.Minute))
	add("restarted", func(p *corev1.Pod) { p.Status.ContainerStatuses = []corev1.ContainerStatus{{RestartCount: 1}} })
	add("sidecar-restarted", func(p *corev1.Pod) {
		p.Spec.InitContainers = []corev1.Container{{Name: "proxy", RestartPolicy: new(corev1.ContainerRestartPolicyAlways)}}
		p.Status.InitContainerStatuses = []corev1.ContainerStatus{{Name: "proxy", RestartCount: 1}}
	})
	add("ancient", func(p *corev1.Pod) {
		p.CreationTimestamp = metav1.NewTime(now.Add(-2 * deployment.MaxStartupTime))
	})
	add("young", func(p *corev1.Pod) {
		p.CreationTimestamp = metav1.NewTime(now.Add(-6 * time.Minute))
		p.Status.Conditions[0].LastTransitionTime = metav1.NewTime(now.Add(-9 * time.Second))
	})
	add("crashing", func(p *corev1.Pod) {
		*p = corev1.Pod{ObjectMeta: p.ObjectMeta, Status: lab.Pod(corev1.PodRunning, "CrashLoopBackOff", false).Status}
	})
	add("done", func(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded })
	add("done-going", func(p *corev1.Pod) {
		p.Status.Phase, p.DeletionTimestamp, p.Finalizers = corev1.PodFailed, &metav1.Time{Time: now}, []string{"example.com/keep"}
	})
	add("going", func(p *corev1.Pod) {
		p.DeletionTimestamp, p.Finalizers = &metav1.Time{Time: now}, []string{"example.com/hold"}
	})
	seen, err := caches.deployments.Observe(t.Context(), "shop/web")
	if err != nil {
		t.Fatal(err)
	}
	rs := seen.(*deploymentSync).s.ReplicaSets[0]
	if rs.NonTerminal != 9 || rs.TerminatingNow != 1 || rs.Unavailable != 2 {
		t.Errorf("%d have not ended, %d are going and %d are not available, want 9, 1 and 2", rs.NonTerminal, rs.TerminatingNow, rs.Unavailable)
	}
	if diff := cmp.Diff(&deployment.StartupTimes{Pods: 4, Fastest: 0, Slowest: 9 * time.Minute}, rs.Startup); diff != "" {
		t.Errorf("start (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]decision.TerminatingPod{{Name: "going", Until: now.UTC(), Node: "n1", Finalizers: []string{"example.com/hold"}}}, rs.TerminatingPods); diff != "" {
		t.Errorf("going (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]decision.TerminatingPod{{Name: "done-going", Until: now.UTC(), Node: "n1", Finalizers: []string{"example.com/keep"}}}, rs.TerminatingEndedPods); diff != "" || rs.TerminatingEnded != 1 {
		t.Errorf("%d have ended and are going (-want +got):\n%s", rs.TerminatingEnded, diff)
	}
	if len(rs.Blocking) != 2 || rs.Blocking[0].Name != "crashing" || rs.Blocking[0].Reason != "CrashLoopBackOff" || rs.Blocking[1].Name != "young" || !rs.Blocking[1].Ready {
		t.Errorf("not available are %+v", rs.Blocking)
	}
}

// No more pods that are not available are described than that, the first by name; these count all others.
func TestBlockingPodsAreBounded(t *testing.T) {
	for _, n := range []int{deployment.MaxBlocking, deployment.MaxBlocking + 1, 90} {
		caches := newDeploymentCaches(t)
		caches.Add(t, lab.Deployment("web", "d", ""), &appsv1.ReplicaSet{ObjectMeta: lab.Object("web-1", "r", "1", nil, lab.OwnedBy("Deployment", "web", "d"))})
		for i := range n {
			caches.Add(t, &corev1.Pod{ObjectMeta: lab.Object(fmt.Sprintf("web-%02d", i), fmt.Sprint(i), "1", nil, lab.OwnedBy("ReplicaSet", "web-1", "r"))})
		}
		seen, err := caches.deployments.Observe(t.Context(), "shop/web")
		if err != nil {
			t.Fatal(err)
		}
		rs := seen.(*deploymentSync).s.ReplicaSets[0]
		if len(rs.Blocking) != deployment.MaxBlocking || rs.Unavailable != int64(n) || rs.Blocking[deployment.MaxBlocking-1].Name != "web-49" {
			t.Errorf("%d of %d pods are described", len(rs.Blocking), rs.Unavailable)
		}
		counted := int64(0)
		for _, p := range rs.Blocking {
			counted += 1 + p.Like
		}
		if counted != int64(n) {
			t.Errorf("of %d pods %d are counted", n, counted)
		}
	}
}
