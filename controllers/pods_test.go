package controllers

import (
	"net/http"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/loopscope/loopscope/controllers/decision"
)

func TestPodAvailable(t *testing.T) {
	readyAt := time.Unix(1000, 0)
	for _, c := range []struct {
		name     string
		ready    bool
		minReady int64
		now      time.Time
		want     bool
	}{
		{"not ready", false, 0, readyAt, false},
		{"ready", true, 0, readyAt, true},
		{"a moment too young", true, 10, readyAt.Add(10*time.Second - 1), false},
		{"old enough", true, 10, readyAt.Add(10 * time.Second), true},
	} {
		if got := podAvailable(pod(corev1.PodRunning, "", c.ready), c.minReady, c.now); got != c.want {
			t.Errorf("%s: available = %v, want %v", c.name, got, c.want)
		}
	}
}

func TestWaiting(t *testing.T) {
	unscheduled := pod(corev1.PodPending, "", false)
	unscheduled.Status.Conditions = append(unscheduled.Status.Conditions, corev1.PodCondition{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable", Message: "0/3 nodes are available"})
	initWaits := pod(corev1.PodPending, "PodInitializing", false)
	initWaits.Status.InitContainerStatuses = []corev1.ContainerStatus{{State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff"}}}}
	probe := pod(corev1.PodRunning, "", false)
	probe.Status.Conditions[0].Reason = "ContainersNotReady"
	for _, c := range []struct {
		name string
		pod  *corev1.Pod
		want string
	}{
		{"ready", pod(corev1.PodRunning, "CrashLoopBackOff", true), ""},
		{"no node", unscheduled, "Unschedulable"},
		{"image", pod(corev1.PodPending, "ImagePullBackOff", false), "ImagePullBackOff"},
		{"the init container comes first", initWaits, "ImagePullBackOff"},
		{"readiness", probe, "ContainersNotReady"},
		{"nothing known", &corev1.Pod{}, ""},
	} {
		if got := waiting(c.pod).reason; got != c.want {
			t.Errorf("%s: reason %q, want %q", c.name, got, c.want)
		}
	}
}

// [3.6] rule 4.
func TestDeletionCost(t *testing.T) {
	for value, want := range map[string]int64{
		"": 0, "0": 0, "100": 100, "-5": -5, "+5": 0, "007": 0, "1e3": 0, "2147483647": 2147483647, "2147483648": 0,
	} {
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{corev1.PodDeletionCost: value}}}
		if got := deletionCost(p); got != want {
			t.Errorf("cost of %q = %d, want %d", value, got, want)
		}
	}
}

func TestOutcomeOf(t *testing.T) {
	resource := schema.GroupResource{Group: "apps", Resource: "replicasets"}
	terminating := apierrors.NewForbidden(resource, "web", nil)
	terminating.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}
	for _, c := range []struct {
		name     string
		err      error
		want     decision.State
		terminal bool
	}{
		{"taken", nil, decision.Written, false},
		{"another writer", apierrors.NewConflict(resource, "web", nil), decision.Conflicted, false},
		{"quota", apierrors.NewForbidden(resource, "web", nil), decision.Refused, false},
		{"namespace terminating", terminating, decision.Refused, true},
		{"too many requests", apierrors.NewTooManyRequests("slow down", 1), decision.Refused, false},
		{"server error", apierrors.NewInternalError(http.ErrHandlerTimeout), decision.Unknown, false},
		{"gateway timeout", apierrors.NewTimeoutError("etcd", 1), decision.Unknown, false},
		{"no reply", http.ErrServerClosed, decision.Unknown, false},
	} {
		o := outcomeOf("", c.err)
		if o.State != c.want {
			t.Errorf("%s: state %s, want %s", c.name, o.State, c.want)
		}
		if o.Failure != nil && o.Failure.Terminal != c.terminal {
			t.Errorf("%s: terminal = %v", c.name, o.Failure.Terminal)
		}
	}
}

func TestPodReasonsAreSpacedOut(t *testing.T) {
	var r podReasons
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
