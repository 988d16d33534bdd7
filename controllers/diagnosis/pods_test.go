package diagnosis_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loopscope/loopscope/controllers/diagnosis"
	"github.com/loopscope/loopscope/telemetry/decision"
)

// one is the only finding of pods.
func one(t *testing.T, w diagnosis.Pods, pods ...decision.Pod) decision.Finding {
	t.Helper()
	list := w.Waiting(pods)
	if len(list) != 1 {
		t.Fatalf("%d findings: %+v", len(list), list)
	}
	return list[0]
}

// What is said of one pod is in the singular, and a command shows more of it.
func TestOnePod(t *testing.T) {
	of := func(container string, role decision.Role, exit *decision.Exit) decision.ContainerState {
		return decision.ContainerState{Container: container, Role: role, Exit: exit}
	}
	exit := &decision.Exit{Code: 1}
	for _, c := range []struct {
		pod        decision.Pod
		says, show string
		action     bool
	}{
		{decision.Pod{Ready: true}, "is ready but not for long enough", "describe pod web-a", false},
		{decision.Pod{Reason: "Unschedulable", Message: "tired"}, "fits no node (tired)", "describe pod web-a", true},
		{decision.Pod{Reason: "Unschedulable", Message: `persistentvolumeclaim "data" not found`}, "is not scheduled: PersistentVolumeClaim data does not exist", "get pvc data", true},
		{decision.Pod{Reason: "Unschedulable", Message: "pod has unbound immediate PersistentVolumeClaims"}, "is not scheduled: its PersistentVolumeClaim is not bound to a volume", "get pvc", true},
		{decision.Pod{Reason: "SchedulingGated"}, "is held back by a scheduling gate", "describe pod web-a", true},
		{decision.Pod{Reason: "ErrImagePull", Message: "not found", Image: "web:9"}, "cannot pull web:9 (not found)", "describe pod web-a", true},
		{decision.Pod{Reason: "ErrImagePull", Message: "timeout", Image: "web:9"}, "cannot pull web:9 (timeout)", "describe pod web-a", false},
		{decision.Pod{Reason: "CreateContainerConfigError", Message: `configmap "app" not found`}, "needs ConfigMap app, which does not exist", "get configmap app", true},
		{decision.Pod{Reason: "CreateContainerConfigError", Message: "couldn't find key url in Secret shop/db"}, "needs key url of Secret db, which has no such key", "describe secret db", true},
		{decision.Pod{Reason: "CreateContainerConfigError", Message: "container has runAsNonRoot"}, "has runAsNonRoot set, and the image runs as root", "describe pod web-a", true},
		{decision.Pod{Reason: "CreateContainerError", Message: "no"}, "cannot be started as it is configured (no)", "describe pod web-a", true},
		{decision.Pod{ContainerState: of("db", decision.RoleInit, nil)}, "waits for init container db, which is still starting", "logs web-a -c db", false},
		{decision.Pod{ContainerState: of("db", decision.RoleInit, exit)}, "waits for init container db, which failed (exit code 1)", "logs web-a -c db --previous", true},
		{decision.Pod{ContainerState: of("proxy", decision.RoleSidecar, nil)}, "waits for sidecar container proxy, which has not started", "logs web-a -c proxy", false},
		{decision.Pod{ContainerState: of("proxy", decision.RoleSidecar, exit)}, "waits for sidecar container proxy, which keeps crashing (exit code 1)", "logs web-a -c proxy --previous", true},
		{decision.Pod{Reason: "RunContainerError", ContainerState: of("app", "", nil)}, "cannot start container app (RunContainerError)", "describe pod web-a", true},
		{decision.Pod{ContainerState: of("app", "", &decision.Exit{Code: 137, Reason: "OOMKilled", Restarts: 1})}, "keeps running out of memory (OOMKilled, 1 restart) in container app", "logs web-a -c app --previous", true},
		{decision.Pod{ContainerState: of("", "", exit)}, "keeps crashing (exit code 1)", "logs web-a --previous", true},
		{decision.Pod{ContainerState: of("", "", &decision.Exit{})}, "keeps exiting although it should keep running (exit code 0)", "logs web-a --previous", true},
		{decision.Pod{ContainerState: of("", "", &decision.Exit{Code: 143})}, "keeps being killed (exit code 143: SIGTERM)", "logs web-a --previous", true},
		{decision.Pod{ContainerState: decision.ContainerState{Probe: "startup"}}, "has not passed the startup probe of a container", "describe pod web-a", false},
		{decision.Pod{Reason: "ReadinessGatesNotReady"}, "waits for a readiness gate", "describe pod web-a", false},
		{decision.Pod{Reason: "ReadinessGatesNotReady", Message: `readiness gate "lb"`}, "waits for readiness gate lb", "describe pod web-a", false},
		{decision.Pod{Phase: "Pending"}, "has no node yet", "describe pod web-a", false},
		{decision.Pod{Reason: "ContainerCreating"}, "is still starting (ContainerCreating)", "describe pod web-a", false},
		{decision.Pod{Reason: "ContainerCreating", ContainerState: decision.ContainerState{NotSetUp: true}}, "waits for its node to set up its volumes and network", "describe pod web-a", false},
		{decision.Pod{Reason: "Unschedulable", Message: "0/1 nodes are available: 1 Insufficient cpu.", Nominated: "n"}, "waits for room on node n, where the scheduler preempts pods of lower priority", "describe pod web-a", false},
		{decision.Pod{Phase: "Pending", ResourceClaim: "ResourceClaimTemplate gpu"}, "has no node yet: no ResourceClaim has been made from ResourceClaimTemplate gpu for it", "get resourceclaimtemplate gpu", true},
		{decision.Pod{Phase: "Pending", ResourceClaim: "ResourceClaim gpu"}, "has no node yet, and needs ResourceClaim gpu", "get resourceclaim gpu", true},
		{decision.Pod{ContainerState: of("app", "", nil)}, "does not pass the readiness probe of container app", "describe pod web-a", false},
		{decision.Pod{Phase: "Running"}, "is running but not ready", "describe pod web-a", false},
		{decision.Pod{Reason: "Draining"}, "is not ready (Draining)", "describe pod web-a", false},
	} {
		c.pod.Name = "web-a"
		f := one(t, diagnosis.Pods{Namespace: "shop", Now: noon}, c.pod)
		if got := strings.TrimPrefix(f.After.At(noon), " "); got != c.says || f.Show != "kubectl -n shop "+c.show || f.NeedsAction != c.action || f.Message != c.pod.Message || strings.Join(f.Pods, " ") != "web-a" {
			t.Errorf("got %s, %s, needs action %v\nwant %s, %s", got, f.Show, f.NeedsAction, c.says, c.show)
		}
	}
	lost := one(t, diagnosis.Pods{Namespace: "shop", Now: noon}, decision.Pod{Reason: "NodeLost", Node: "node-1"})
	if got := lost.After.At(noon); got != " is on node node-1, which does not answer" || lost.Show != "kubectl describe node node-1" {
		t.Errorf("got %s, %s", got, lost.Show)
	}
}

// A kubelet writes a status as soon as it knows a pod: none has where there is no reason yet, as on
// a node that does not exist.
func TestNodeThatHasNotReported(t *testing.T) {
	on := func(name, node string) decision.Pod { return decision.Pod{Name: name, Phase: "Pending", Node: node} }
	named := func(name, node string) decision.Pod {
		return decision.Pod{Name: name, Phase: "Pending", Node: node, NodeNamed: true}
	}
	const ghost = "kubectl describe node ghost"
	for _, c := range []struct {
		pods             []decision.Pod
		says, ends, show string
	}{
		{[]decision.Pod{on("web-a", "ghost")}, " is still starting: node ghost has not reported on it", "when node ghost starts it", ghost},
		{[]decision.Pod{on("web-a", "ghost"), on("web-b", "ghost")}, " are still starting: node ghost has not reported on them", "when node ghost starts them", ghost},
		{[]decision.Pod{on("web-a", "ghost"), on("web-b", "node-1")}, " are still starting: their nodes have not reported on them", "when their nodes start them", "kubectl get nodes"},
		{[]decision.Pod{on("web-a", "ghost"), on("web-b", "node-1"), on("web-c", "")}, " are still starting", "when they become ready", "kubectl -n shop describe pod web-a"},
		{[]decision.Pod{on("web-a", "ghost"), {Name: "web-b", Phase: "Pending", Node: "node-1", Reason: "ContainerCreating"}}, " are still starting", "when they become ready", "kubectl -n shop describe pod web-a"},
		{[]decision.Pod{named("web-a", "ghost")}, " is still starting: node ghost, which no scheduler chose, has not reported on it", "when node ghost exists and starts it, or the template names another", ghost},
		{[]decision.Pod{named("web-a", "ghost"), named("web-b", "ghost")}, " are still starting: node ghost, which no scheduler chose, has not reported on them", "when node ghost exists and starts them, or the template names another", ghost},
		{[]decision.Pod{on("web-a", "ghost"), on("web-b", "")}, " are still starting", "when they become ready", "kubectl -n shop describe pod web-a"},
		{[]decision.Pod{on("web-a", ""), on("web-b", "ghost")}, " are still starting", "when they become ready", "kubectl -n shop describe pod web-b"},
	} {
		f := one(t, diagnosis.Pods{Namespace: "shop", Now: noon}, c.pods...)
		if says, ends := f.After.At(noon), f.Unblocks.At(noon); says != c.says || ends != c.ends || f.Show != c.show || f.NeedsAction != c.pods[0].NodeNamed {
			t.Errorf("got %q, %q, %s\nwant %q, %q, %s", says, ends, f.Show, c.says, c.ends, c.show)
		}
	}
}

// The garbage collector deletes pods of a node that does not exist, and others take their place: that they
// are young says nothing.
func TestPodsOfNoNodeAreAlwaysYoung(t *testing.T) {
	minuteAgo := noon.Add(-time.Minute)
	for _, c := range []struct {
		named bool
		moved time.Time
		usual bool
	}{{true, minuteAgo, false}, {false, minuteAgo, true}, {true, noon.Add(-time.Second), true}, {true, time.Time{}, true}} {
		w := diagnosis.Pods{Namespace: "shop", Now: noon, Moved: c.moved, Usual: 30 * time.Second}
		f := one(t, w, decision.Pod{Name: "web-a", Phase: "Pending", Created: noon.Add(-time.Second), Node: "ghost", NodeNamed: c.named})
		if f.Usual != c.usual || f.NeedsAction != !c.usual {
			t.Errorf("%+v: usual %v, needs action %v", c, f.Usual, f.NeedsAction)
		}
	}
}

// Codes above 128 name the signal that ended a container.
func TestSignals(t *testing.T) {
	var got []string
	for code := int64(120); code <= 170; code++ {
		f := one(t, diagnosis.Pods{Now: noon}, decision.Pod{ContainerState: decision.ContainerState{Exit: &decision.Exit{Code: code}}})
		if _, name, ok := strings.Cut(f.After.At(noon), ": "); ok {
			got = append(got, fmt.Sprint(code, " ", strings.TrimSuffix(name, ")")))
		}
	}
	want := "129 SIGHUP, 130 SIGINT, 132 SIGILL, 134 SIGABRT, 135 SIGBUS, 136 SIGFPE, 137 SIGKILL, 139 SIGSEGV, 141 SIGPIPE, 143 SIGTERM"
	if strings.Join(got, ", ") != want {
		t.Errorf("got %s, want %s", strings.Join(got, ", "), want)
	}
}

// The name of an image stays whole, as long as it is no text of its own.
func TestLongImage(t *testing.T) {
	for n, want := range map[int]decision.Part{
		70:  {Kind: decision.Name, Text: strings.Repeat("x", 70)},
		71:  {Kind: decision.Quote, Text: strings.Repeat("x", 71)},
		200: {Kind: decision.Quote, Text: strings.Repeat("x", 53) + " … " + strings.Repeat("x", 104)},
	} {
		f := one(t, diagnosis.Pods{Now: noon}, decision.Pod{Reason: "ErrImagePull", Image: strings.Repeat("x", n)})
		if f.After[2] != want {
			t.Errorf("%d characters: %+v", n, f.After)
		}
	}
}

// Pods that differ in a thing that matters wait for different things, in whatever order
// they come.
func TestToldApart(t *testing.T) {
	none := decision.Pod{Reason: "ContainersNotReady", Phase: "Running"}
	for name, c := range map[string]struct {
		pod    decision.Pod
		change func(*decision.Pod)
		want   string
	}{
		"ready":              {none, func(p *decision.Pod) { p.Ready = true }, "readiness, min-ready"},
		"reason":             {none, func(p *decision.Pod) { p.Reason = "SchedulingGated" }, "scheduling-gated, readiness"},
		"phase":              {decision.Pod{Phase: "Running"}, func(p *decision.Pod) { p.Phase = "Pending" }, "readiness, starting"},
		"message":            {decision.Pod{Reason: "Unschedulable", Message: "tired"}, func(p *decision.Pod) { p.Message = "asleep" }, "unschedulable, unschedulable"},
		"image":              {decision.Pod{Reason: "ErrImagePull", Image: "web:9"}, func(p *decision.Pod) { p.Image = "web:8" }, "image-pull, image-pull"},
		"why no image":       {decision.Pod{Reason: "ErrImagePull", Image: "web:9", Message: "denied"}, func(p *decision.Pod) { p.Message = "timeout" }, "image-pull, image-pull"},
		"container":          {none, func(p *decision.Pod) { p.Container = "app" }, "readiness, readiness"},
		"role":               {none, func(p *decision.Pod) { p.Role = decision.RoleInit }, "init, readiness"},
		"probe":              {none, func(p *decision.Pod) { p.Probe = "startup" }, "startup-probe, readiness"},
		"exit":               {none, func(p *decision.Pod) { p.Exit = &decision.Exit{Code: 1} }, "crash-loop, readiness"},
		"how it starts":      {decision.Pod{Reason: "Pending"}, func(p *decision.Pod) { p.Reason = "ContainerCreating" }, "starting"},
		"what it starts":     {decision.Pod{Reason: "Pending"}, func(p *decision.Pod) { p.Container = "app" }, "starting"},
		"image, and said so": {decision.Pod{Reason: "ImagePullBackOff", Image: "web:9"}, func(p *decision.Pod) { p.Message = "ErrImagePull: denied" }, "image-pull"},
		"image, twice":       {decision.Pod{Reason: "ErrImagePull", Image: "web:9", Message: "denied"}, func(p *decision.Pod) { p.Reason = "ImagePullBackOff" }, "image-pull"},
		"name":               {decision.Pod{Reason: "CreateContainerError", Message: "web-a is odd"}, func(p *decision.Pod) { p.Message = "web-b is odd" }, "config"},
		"volumes":            {decision.Pod{Reason: "ContainerCreating"}, func(p *decision.Pod) { p.NotSetUp = true }, "pod-setup, starting"},
		"another container":  {decision.Pod{Reason: "CrashLoopBackOff"}, func(p *decision.Pod) { p.Also = "proxy" }, "crash-loop"},
		"preemption":         {decision.Pod{Reason: "Unschedulable"}, func(p *decision.Pod) { p.Nominated = "n" }, "unschedulable, unschedulable"},
		"claim":              {decision.Pod{Phase: "Pending"}, func(p *decision.Pod) { p.ResourceClaim = "ResourceClaim gpu" }, "starting, starting"},
		"ready, and how":     {decision.Pod{Ready: true}, func(p *decision.Pod) { p.Container = "app" }, "min-ready"},
	} {
		a, b := c.pod, c.pod
		c.change(&b)
		a.Name, b.Name = "web-a", "web-b"
		for _, pods := range [][]decision.Pod{{a, b}, {b, a}} {
			var got []string
			for _, f := range (diagnosis.Pods{Now: noon}).Waiting(pods) {
				got = append(got, f.Code)
			}
			if strings.Join(got, ", ") != c.want {
				t.Errorf("%s: got %s, want %s", name, strings.Join(got, ", "), c.want)
			}
		}
	}
}

// Pods that are starting are one finding, which says of all of them no more than holds for each.
func TestStarting(t *testing.T) {
	noNode, placed := decision.Pod{Phase: "Pending"}, decision.Pod{Phase: "Pending", Node: "node-1"}
	creating, preparing := decision.Pod{Reason: "ContainerCreating", Node: "node-1"}, decision.Pod{Reason: "PodInitializing", Node: "node-1"}
	for want, pods := range map[string][]decision.Pod{
		" have no node yet":                       {noNode, noNode},
		" are still starting":                     {noNode, placed},
		" are still starting (ContainerCreating)": {creating, creating},
		" are still starting ":                    {creating, preparing},
		" are still starting  ":                   {creating, noNode},
	} {
		for range 2 {
			slices.Reverse(pods)
			got := diagnosis.Pods{Now: noon}.Waiting(pods)
			if len(got) != 1 || got[0].Count != 2 || got[0].After.At(noon) != strings.TrimRight(want, " ") {
				t.Errorf("%q: %+v", want, got)
			}
		}
	}
}

// Pods that say the same are told as the first of them, which is shown, and the first
// three are named.
func TestAlike(t *testing.T) {
	var pods []decision.Pod
	for i, name := range []string{"web-a", "web-b", "web-c", "web-d"} {
		pods = append(pods, decision.Pod{Name: name, Phase: "Running", Created: noon.Add(time.Duration([]int{-30, -50, -40, -20}[i]) * time.Second)})
	}
	f := one(t, diagnosis.Pods{Now: noon}, pods...)
	if f.Count != 4 || strings.Join(f.Pods, " ") != "web-a web-b web-c" || f.Show != "kubectl describe pod web-a" || !f.Since.Equal(pods[1].Created) {
		t.Errorf("they say the same: %+v", f)
	}
	for i := range pods { // Not word for word.
		pods[i].Exit = &decision.Exit{Code: 1, Restarts: []int64{2, 5, 3, 1}[i]}
	}
	f = one(t, diagnosis.Pods{Now: noon}, pods...)
	if f.Count != 4 || strings.Join(f.Pods, " ") != "web-a web-b web-c" || !strings.Contains(f.After.At(noon), "5 restarts") || !f.Since.Equal(pods[1].Created) {
		t.Errorf("they end alike: %+v", f)
	}
	if f.Show != "kubectl logs web-a --previous" {
		t.Errorf("they end alike, but %q is shown", f.Show)
	}
	without, with := decision.Pod{Name: "web-a", Phase: "Pending"}, decision.Pod{Name: "web-b", Phase: "Pending", Node: "node-1"}
	for _, pair := range [][]decision.Pod{{without, with}, {with, without}} {
		if got := one(t, diagnosis.Pods{Now: noon}, pair...).After.At(noon); got != " are still starting" {
			t.Errorf("one of them has a node: %s", got)
		}
	}
}

// A pod in which a container fails is told of, whichever pod comes first.
func TestOneOfThemFails(t *testing.T) {
	const backOff = "CrashLoopBackOff"
	of := func(name, reason string, role decision.Role, runs time.Duration, exit *decision.Exit) decision.Pod {
		c := decision.ContainerState{Container: "migrate", Role: role, Exit: exit}
		if runs > 0 {
			c.Running = noon.Add(-runs)
		}
		return decision.Pod{Name: name, Phase: "Pending", Reason: reason, Created: noon.Add(-time.Hour), ContainerState: c}
	}
	failed := func(code, restarts int64) *decision.Exit {
		return &decision.Exit{Code: code, Reason: "Error", Restarts: restarts}
	}
	const init, sidecar = decision.RoleInit, decision.RoleSidecar
	for name, c := range map[string]struct {
		passing, failing decision.Pod
		says             string
	}{
		"init hangs in the other":       {of("web-a", "ContainersNotReady", init, 11*time.Minute, failed(1, 3)), of("web-b", backOff, init, 0, failed(1, 7)), " wait for init container migrate, which fails again and again (exit code 1, 7 restarts)"},
		"init runs again in the other":  {of("web-a", "ContainersNotReady", init, time.Minute, failed(0, 1)), of("web-b", backOff, init, 0, failed(1, 1)), " wait for init container migrate, which fails again and again (exit code 1, 1 restart)"},
		"init runs in the other":        {of("web-a", "ContainersNotReady", init, time.Minute, nil), of("web-b", backOff, init, 0, failed(1, 7)), " wait for init container migrate, which fails again and again (exit code 1, 7 restarts)"},
		"sidecar starts in the other":   {of("web-a", "PodInitializing", sidecar, 0, nil), of("web-b", backOff, sidecar, 0, failed(1, 7)), " wait for sidecar container migrate, which keeps crashing (exit code 1, 7 restarts)"},
		"container runs again in other": {of("web-a", "ContainersNotReady", "", time.Minute, failed(1, 1)), of("web-b", backOff, "", 0, failed(1, 1)), " keep crashing (exit code 1, 1 restart) in container migrate"},
	} {
		for _, pods := range [][]decision.Pod{{c.passing, c.failing}, {c.failing, c.passing}} {
			f := one(t, diagnosis.Pods{Now: noon, Usual: time.Minute}, pods...)
			if got := f.After.At(noon); got != c.says || !f.NeedsAction || f.Count != 2 || f.Show != "kubectl logs web-b -c migrate --previous" {
				t.Errorf("%s: %+v\n got %s\nwant %s", name, f, got, c.says)
			}
		}
	}
}

// Pods have come into what they wait for when they say so, and otherwise when they were
// created.
func TestSince(t *testing.T) {
	created, said, ready := noon.Add(-time.Hour), noon.Add(-time.Minute), noon.Add(-time.Second)
	for _, c := range []struct {
		pod  decision.Pod
		want time.Time
	}{
		{decision.Pod{}, created},
		{decision.Pod{Since: said}, said},
		{decision.Pod{Since: said, ReadySince: ready}, said},
		{decision.Pod{Since: said, ReadySince: ready, Ready: true}, ready},
	} {
		c.pod.Created = created
		if f := one(t, diagnosis.Pods{Now: noon}, c.pod); !f.Since.Equal(c.want) {
			t.Errorf("%+v: %s", c.pod, f.Since)
		}
	}
}

// What pods go through is usual until it takes longer than it takes here, and as long as
// the rollout moves.
func TestUsual(t *testing.T) {
	starts := func(before int) decision.Pod {
		return decision.Pod{Reason: "Pending", Created: noon.Add(-time.Duration(before) * time.Second)}
	}
	crashed := starts(1)
	crashed.Exit = &decision.Exit{Code: 1}
	waits := func(role decision.Role) decision.Pod {
		p := starts(59)
		p.Role = role
		return p
	}
	told := func(before int) decision.Pod { // It says the same in other words.
		p := starts(before)
		p.Message = fmt.Sprint("for ", before)
		return p
	}
	for name, c := range map[string]struct {
		pods  []decision.Pod
		moved int
		want  bool
	}{
		"young":                       {[]decision.Pod{starts(59)}, 100, true},
		"old":                         {[]decision.Pod{starts(60)}, 100, false},
		"old, but it moves":           {[]decision.Pod{starts(60)}, 59, true},
		"old, and it moved":           {[]decision.Pod{starts(60)}, 60, false},
		"both are young":              {[]decision.Pod{starts(1), starts(2)}, 100, true},
		"one is young":                {[]decision.Pod{starts(1), starts(90)}, 100, false},
		"the other is young":          {[]decision.Pod{starts(90), starts(1)}, 100, false},
		"both are young, told apart":  {[]decision.Pod{told(1), told(2)}, 100, true},
		"one is young, told apart":    {[]decision.Pod{told(1), told(90)}, 100, false},
		"the other young, told apart": {[]decision.Pod{told(90), told(1)}, 100, false},
		"crashed":                     {[]decision.Pod{crashed}, 100, false},
		"waits for init":              {[]decision.Pod{waits(decision.RoleInit)}, 100, true},
		"waits for a sidecar":         {[]decision.Pod{waits(decision.RoleSidecar)}, 100, true},
	} {
		w := diagnosis.Pods{Now: noon, Moved: noon.Add(-time.Duration(c.moved) * time.Second), Usual: time.Minute}
		if f := one(t, w, c.pods...); f.Usual != c.want {
			t.Errorf("%s: %+v", name, f)
		}
	}
}

// TestSinceCrashing: nobody knows since when a pod crashes that was ready between its last crashes.
func TestSinceCrashing(t *testing.T) {
	const unready, crashed = 50 * time.Second, 10 * time.Second
	for name, c := range map[string]struct {
		unready  time.Duration // ago
		restarts int64
		want     time.Duration // ago; 0 for unknown
	}{
		"its first crash":                    {crashed, 1, crashed},
		"never ready since":                  {unready, 5, unready},
		"ready until its last crash of five": {crashed, 5, 0},
	} {
		p := decision.Pod{Name: "p", Created: noon.Add(-time.Hour), Phase: "Running", Reason: "CrashLoopBackOff", Since: noon.Add(-c.unready),
			ContainerState: decision.ContainerState{Container: "app", Exit: &decision.Exit{Code: 1, Restarts: c.restarts, At: noon.Add(-crashed)}}}
		f := one(t, diagnosis.Pods{Now: noon}, p)
		if known := !f.Since.IsZero(); known != (c.want > 0) || known && noon.Sub(f.Since) != c.want {
			t.Errorf("%s: since %s, want %s ago", name, f.Since, c.want)
		}
	}
}
