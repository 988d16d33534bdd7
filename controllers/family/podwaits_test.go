package family

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/loopscope/loopscope/controllers/internal/lab"
	"github.com/loopscope/loopscope/telemetry/decision"
)

// Of the containers of a pod that is not ready the worst is told, the first of those that
// are equally bad, and how it ended or which probe it has not passed.
func TestWhatContainersSay(t *testing.T) {
	always, never := corev1.ContainerRestartPolicyAlways, corev1.ContainerRestartPolicy("Never")
	at := func(seconds int64) metav1.Time { return metav1.Unix(seconds, 0) }
	when := func(seconds int64) time.Time { return time.Unix(seconds, 0).UTC() }
	running := corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: at(1010)}}
	waits := func(reason string) corev1.ContainerState {
		return corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: "why"}}
	}
	ended := func(code int32, reason string) corev1.ContainerState {
		return corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code, Signal: 9, Reason: reason, Message: "last words", FinishedAt: at(1020)}}
	}
	named := func(name string, state corev1.ContainerState) corev1.ContainerStatus {
		c := corev1.ContainerStatus{Name: name, Image: name + ":1", State: state}
		if state.Waiting == nil {
			c.RestartCount = 4
		}
		return c
	}
	later := func(c corev1.ContainerStatus) corev1.ContainerStatus {
		c.RestartCount, c.LastTerminationState = 4, ended(1, "Error")
		return c
	}
	again := func(name string, last corev1.ContainerState) corev1.ContainerStatus {
		c := named(name, running)
		c.LastTerminationState = last
		return c
	}
	once := func(c corev1.ContainerStatus) corev1.ContainerStatus { c.RestartCount = 1; return c }
	started := func(c corev1.ContainerStatus, yes bool) corev1.ContainerStatus { c.Started = &yes; return c }
	ready := func(c corev1.ContainerStatus) corev1.ContainerStatus { c.Ready = true; return c }
	crash := &decision.Exit{Code: 1, Signal: 9, Reason: "Error", Restarts: 4, At: when(1020)}
	type list = []corev1.ContainerStatus
	for _, c := range []struct {
		name       string
		init, main list
		want       PodWait // since is the condition's where it is zero
	}{
		{"its program ended", nil, list{named("app", ended(1, "Error"))},
			PodWait{Reason: "Error", Image: "app:1", Container: decision.ContainerState{Container: "app", Exit: crash}}},
		{"an init container is done, and the next begins", list{named("setup", ended(0, "Completed"))}, list{named("app", waits("PodInitializing"))},
			PodWait{Reason: "PodInitializing", Message: "why", Image: "app:1", Since: when(900), Container: decision.ContainerState{Container: "app"}}},
		{"its containers are made", nil, list{named("app", waits("ContainerCreating"))},
			PodWait{Reason: "ContainerCreating", Message: "why", Image: "app:1", Since: when(900), Container: decision.ContainerState{Container: "app"}}},
		{"an init container failed", list{named("setup", ended(1, "Error"))}, list{named("app", waits("PodInitializing"))},
			PodWait{Reason: "Error", Image: "setup:1", Container: decision.ContainerState{Container: "setup", Role: decision.RoleInit, Exit: crash}}},
		{"an init container runs", list{ready(named("setup", running))}, list{named("app", waits("PodInitializing"))},
			PodWait{Reason: "ContainersNotReady", Message: "unready: [app]", Image: "setup:1",
				Container: decision.ContainerState{Container: "setup", Role: decision.RoleInit, Probe: "readiness", Running: when(1010)}}},
		{"one that is not started again is no sidecar", list{ready(named("once", running))}, nil,
			PodWait{Reason: "ContainersNotReady", Message: "unready: [app]", Image: "once:1",
				Container: decision.ContainerState{Container: "once", Role: decision.RoleInit, Probe: "readiness", Running: when(1010)}}},
		{"a sidecar ended, though with 0", list{named("proxy", ended(0, "Completed"))}, nil,
			PodWait{Reason: "Completed", Image: "proxy:1", Container: decision.ContainerState{Container: "proxy", Role: decision.RoleSidecar,
				Exit: &decision.Exit{Signal: 9, Reason: "Completed", Restarts: 4, At: when(1020)}}}},
		{"a sidecar does not start", list{started(named("proxy", running), false)}, nil,
			PodWait{Reason: "ContainersNotReady", Message: "unready: [app]", Image: "proxy:1",
				Container: decision.ContainerState{Container: "proxy", Role: decision.RoleSidecar, Probe: "startup", Running: when(1010)}}},
		{"a sidecar has started again, the program is not ready", list{started(again("proxy", ended(1, "Error")), true)}, list{started(named("app", running), true)},
			PodWait{Reason: "ContainersNotReady", Message: "unready: [app]", Image: "app:1",
				Container: decision.ContainerState{Container: "app", Probe: "readiness", Running: when(1010)}}},
		{"a sidecar runs, and has no startup probe", list{named("proxy", running)}, list{named("app", waits("PodInitializing"))},
			PodWait{Reason: "PodInitializing", Message: "why", Image: "app:1", Since: when(900), Container: decision.ContainerState{Container: "app"}}},
		{"one without a state", list{named("proxy", corev1.ContainerState{})}, list{named("app", corev1.ContainerState{})},
			PodWait{Reason: "ContainersNotReady", Message: "unready: [app]"}},
		{"a reason is missing", nil, list{named("app", waits(""))}, PodWait{Reason: "ContainersNotReady", Message: "unready: [app]"}},
		{"it is ready, and something else is not", nil, list{ready(again("app", ended(1, "Error")))}, PodWait{Reason: "ContainersNotReady", Message: "unready: [app]"}},
		{"it crashed before and runs again", nil, list{again("app", ended(1, "Error"))},
			PodWait{Reason: "ContainersNotReady", Message: "unready: [app]", Image: "app:1",
				Container: decision.ContainerState{Container: "app", Probe: "readiness", Running: when(1010), Exit: crash}}},
		{"it crashed after it was ready, and waits to be started again", nil, list{later(named("app", waits("CrashLoopBackOff")))},
			PodWait{Reason: "CrashLoopBackOff", Message: "why", Image: "app:1", Container: decision.ContainerState{Container: "app", Exit: crash}}},
		{"it ran, and its image cannot be pulled any more", nil, list{later(named("app", waits("ErrImagePull")))},
			PodWait{Reason: "ErrImagePull", Message: "why", Image: "app:1", Container: decision.ContainerState{Container: "app", Exit: crash}}},
		{"it could not be started", nil, list{again("app", ended(128, "StartError"))},
			PodWait{Reason: "ContainersNotReady", Message: "unready: [app]", Image: "app:1", Container: decision.ContainerState{Container: "app", Probe: "readiness", Running: when(1010),
				Exit: &decision.Exit{Code: 128, Signal: 9, Reason: "StartError", Message: "last words", Restarts: 4, At: when(1020)}}}},
		{"it cannot be run", nil, list{named("app", ended(128, "ContainerCannotRun"))},
			PodWait{Reason: "ContainerCannotRun", Image: "app:1", Container: decision.ContainerState{Container: "app",
				Exit: &decision.Exit{Code: 128, Signal: 9, Reason: "ContainerCannotRun", Message: "last words", Restarts: 4, At: when(1020)}}}},
		{"the worst of several", nil, list{named("slow", running), named("first", waits("ErrImagePull")), named("second", waits("CrashLoopBackOff"))},
			PodWait{Reason: "ErrImagePull", Message: "why", Image: "first:1", Since: when(900), Container: decision.ContainerState{Container: "first", Also: "second"}}},
		{"of several one that runs again", nil, list{named("first", waits("ErrImagePull")), again("second", ended(1, "Error")), named("third", waits("ErrImagePull"))},
			PodWait{Reason: "ErrImagePull", Message: "why", Image: "first:1", Since: when(900), Container: decision.ContainerState{Container: "first", Also: "second", AlsoRunning: when(1010)}}},
		{"one that was started again once may stay up", nil, list{named("first", waits("ErrImagePull")), once(again("second", ended(1, "Error"))), named("third", waits("ContainerCreating"))},
			PodWait{Reason: "ErrImagePull", Message: "why", Image: "first:1", Since: when(900), Container: decision.ContainerState{Container: "first"}}},
		{"one that runs and is not ready, beside one that is made", nil, list{named("new", waits("ContainerCreating")), named("slow", running)},
			PodWait{Reason: "ContainersNotReady", Message: "unready: [app]", Image: "slow:1", Container: decision.ContainerState{Container: "slow", Probe: "readiness", Running: when(1010)}}},
		{"init containers come first", list{named("setup", waits("ErrImagePull"))}, list{named("app", waits("CrashLoopBackOff"))},
			PodWait{Reason: "ErrImagePull", Message: "why", Image: "setup:1", Since: when(900), Container: decision.ContainerState{Container: "setup", Role: decision.RoleInit, Also: "app"}}},
	} {
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: at(900)}, Status: corev1.PodStatus{Phase: corev1.PodPending, InitContainerStatuses: c.init, ContainerStatuses: c.main}}
		p.Spec.InitContainers = []corev1.Container{{Name: "setup"}, {Name: "once", RestartPolicy: &never}, {Name: "proxy", RestartPolicy: &always}}
		p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionTrue, Reason: "Placed"},
			{Type: corev1.PodReady, Status: corev1.ConditionFalse, Reason: "ContainersNotReady", Message: "unready: [app]", LastTransitionTime: at(1000)}}
		if c.want.Since.IsZero() {
			c.want.Since = when(1000)
		}
		if diff := cmp.Diff(c.want, PodWaitOf(p), cmp.AllowUnexported(PodWait{})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

// What the kubelet says of volumes and network counts while containers are created; where the
// scheduler makes room, while the pod has no node.
func TestBeforeTheFirstContainer(t *testing.T) {
	for _, c := range []struct {
		scheduled, setUp corev1.ConditionStatus // "" for a condition that is missing
		waits            string
		notSetUp         bool
		nominated        string
	}{
		{"True", "False", "ContainerCreating", true, ""},
		{"True", "False", "PodInitializing", true, ""},
		{"True", "True", "ContainerCreating", false, ""},
		{"True", "", "ContainerCreating", false, ""},
		{"True", "False", "ErrImagePull", false, ""}, // The condition may be older.
		{"False", "", "", false, "node-1"},
	} {
		p := lab.Pod(corev1.PodPending, c.waits, false)
		p.Status.NominatedNodeName = "node-1"
		p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: corev1.PodScheduled, Status: c.scheduled})
		if c.setUp != "" {
			p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: corev1.PodReadyToStartContainers, Status: c.setUp})
		}
		if w := PodWaitOf(p); w.Container.NotSetUp != c.notSetUp || w.Nominated != c.nominated {
			t.Errorf("%+v: %+v", c, w)
		}
	}
}

// A readiness gate is told with what its own condition says.
func TestReadinessGateSays(t *testing.T) {
	const kubelet = `[corresponding condition of pod readiness gate "lb" does not exist., the status of pod readiness gate "dns" is not "True", but False]`
	for _, c := range []struct {
		gate                  corev1.PodConditionType
		reason, message, want string
	}{
		{"lb", "NotYet", "two of three", kubelet + "; its condition: NotYet: two of three"},
		{"lb", "NotYet", "", kubelet + "; its condition: NotYet"},
		{"lb", "", "two of three", kubelet + "; its condition: two of three"},
		{"lb", "", "", kubelet},
		{"dns", "NotYet", "", kubelet}, // The kubelet names another one first.
	} {
		p := &corev1.Pod{Status: corev1.PodStatus{Conditions: []corev1.PodCondition{
			{Type: corev1.PodReady, Status: corev1.ConditionFalse, Reason: "ReadinessGatesNotReady", Message: kubelet},
			{Type: c.gate, Status: corev1.ConditionFalse, Reason: c.reason, Message: c.message},
		}}}
		p.Spec.NodeName = "node-1"
		if w := PodWaitOf(p); w.Message != c.want {
			t.Errorf("%+v: %s", c, w.Message)
		}
	}
}

// Only a scheduler of its own is named, and only until a node is chosen or it says why none is.
func TestSchedulerThatSaysNothing(t *testing.T) {
	for _, c := range []struct{ scheduler, node, scheduled, want string }{
		{"volcano", "", "", "volcano"},
		{"volcano", "node-1", "", ""},
		{"volcano", "", "False", ""},
		{corev1.DefaultSchedulerName, "", "", ""},
	} {
		p := &corev1.Pod{Spec: corev1.PodSpec{SchedulerName: c.scheduler, NodeName: c.node}}
		p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionStatus(c.scheduled)}}
		if w := PodWaitOf(p); w.Scheduler != c.want {
			t.Errorf("%+v: %s", c, w.Scheduler)
		}
	}
}

// Whoever binds a pod to a node marks it as scheduled, and so does the kubelet that comes to know it.
func TestNodeThatNoSchedulerChose(t *testing.T) {
	for _, c := range []struct {
		node      string
		condition corev1.PodConditionType
		want      bool
	}{
		{"node-1", "", true},
		{"node-1", corev1.PodInitialized, true},
		{"node-1", corev1.PodScheduled, false},
		{"", "", false},
	} {
		p := &corev1.Pod{Spec: corev1.PodSpec{NodeName: c.node}, Status: corev1.PodStatus{Conditions: []corev1.PodCondition{{Type: c.condition, Status: corev1.ConditionTrue}}}}
		if w := PodWaitOf(p); w.NodeNamed != c.want {
			t.Errorf("%+v: %v", c, w.NodeNamed)
		}
	}
}

// A claim that a template was not made into is named before one that may exist, and only until a node
// is chosen or the scheduler says why none is.
func TestClaimThatMayBeMissing(t *testing.T) {
	gpu, nic := "gpu", "nic"
	named, made := corev1.PodResourceClaim{Name: "n", ResourceClaimName: &nic}, corev1.PodResourceClaim{Name: "g", ResourceClaimTemplateName: &gpu}
	for _, c := range []struct {
		claims                []corev1.PodResourceClaim
		made, node, scheduled string
		want                  string
	}{
		{[]corev1.PodResourceClaim{named, made}, "other", "", "", "ResourceClaimTemplate gpu"},
		{[]corev1.PodResourceClaim{named, made}, "g", "", "", "ResourceClaim nic"},
		{[]corev1.PodResourceClaim{made}, "g", "", "", ""},
		{[]corev1.PodResourceClaim{made}, "other", "node-1", "", ""},
		{[]corev1.PodResourceClaim{made}, "other", "", "False", ""},
	} {
		p := &corev1.Pod{Spec: corev1.PodSpec{SchedulerName: corev1.DefaultSchedulerName, NodeName: c.node, ResourceClaims: c.claims}}
		p.Status.ResourceClaimStatuses = []corev1.PodResourceClaimStatus{{Name: c.made}}
		p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionStatus(c.scheduled)}}
		if w := PodWaitOf(p); w.ResourceClaim != c.want {
			t.Errorf("%+v: %s", c, w.ResourceClaim)
		}
	}
}

// A node does not answer where the kubelet's last word was that the containers are ready,
// and the pod is not, for no reason.
func TestNodeThatDoesNotAnswer(t *testing.T) {
	for _, c := range []struct {
		name              string
		containers, ready corev1.ConditionStatus // "" for a condition that is missing
		reason            string
		gates, want       bool
	}{
		{"marked by the node's controller", corev1.ConditionTrue, corev1.ConditionFalse, "", false, true},
		{"marked as unknown", corev1.ConditionTrue, corev1.ConditionUnknown, "", false, true},
		{"ready", corev1.ConditionTrue, corev1.ConditionTrue, "", false, false},
		{"not ready for a reason", corev1.ConditionTrue, corev1.ConditionFalse, "ContainersNotReady", false, false},
		{"not ready as its containers are not", corev1.ConditionFalse, corev1.ConditionFalse, "", false, false},
		{"behind a readiness gate", corev1.ConditionTrue, corev1.ConditionFalse, "", true, false},
		{"of whose containers nobody said anything", "", corev1.ConditionFalse, "", false, false},
		{"of which nobody said anything", corev1.ConditionTrue, "", "", false, false},
	} {
		p := &corev1.Pod{}
		if c.containers != "" {
			p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: corev1.ContainersReady, Status: c.containers})
		}
		if c.ready != "" {
			p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: corev1.PodReady, Status: c.ready, Reason: c.reason})
		}
		if c.gates {
			p.Spec.ReadinessGates = []corev1.PodReadinessGate{{ConditionType: "lb"}}
		}
		if got := nodeUnreachable(p); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}
