package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	componentversion "k8s.io/component-base/version"
	"k8s.io/utils/clock"
)

// TestVersionMatchesTheModule: a version that is not that of the linked code
// would be a lie to every client.
func TestVersionMatchesTheModule(t *testing.T) {
	module := readFile(t, "go.mod")
	for _, want := range []string{"k8s.io/kubernetes " + kubernetesVersion + "\n", "k8s.io/client-go v0" + strings.TrimPrefix(kubernetesVersion, "v1") + "\n"} {
		if !strings.Contains(module, want) {
			t.Errorf("go.mod does not require %q", want)
		}
	}
	if err := stampKubernetesVersion(); err != nil {
		t.Fatal(err)
	}
	info := componentversion.Get()
	if got := info.GitVersion + " " + info.Major + "." + info.Minor; got != kubernetesVersion+" 1.36" {
		t.Errorf("the components report %s", got)
	}
}

// TestModuleHasOneReplace: a second one would not hold for those who build
// this module from elsewhere.
func TestModuleHasOneReplace(t *testing.T) {
	var replaces []string
	for line := range strings.Lines(readFile(t, "go.mod")) {
		if strings.Contains(line, "=>") {
			replaces = append(replaces, strings.TrimSpace(line))
		}
	}
	if diff := cmp.Diff([]string{"replace github.com/loopscope/loopscope => ../.."}, replaces); diff != "" {
		t.Errorf("replaces (-want +got):\n%s", diff)
	}
}

func TestPortsAreTakenAgainWhileFree(t *testing.T) {
	file := filepath.Join(t.TempDir(), "ports.json")
	first, err := choosePorts(file)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[int]bool{}
	for _, port := range first.all() {
		if *port == 0 || seen[*port] {
			t.Errorf("port %d chosen twice or not at all in %+v", *port, first)
		}
		seen[*port] = true
	}
	holder, err := net.Listen("tcp", address(first.Scheduler))
	if err != nil {
		t.Fatal(err)
	}
	defer holder.Close()
	second, err := choosePorts(file)
	if err != nil {
		t.Fatal(err)
	}
	if second.Scheduler == first.Scheduler {
		t.Errorf("took port %d although it is busy", second.Scheduler)
	}
	second.Scheduler = first.Scheduler
	if first != second {
		t.Errorf("ports %+v the second time, want %+v but for the scheduler's", second, first)
	}
}

func TestPortsSurviveAMalformedFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "ports.json")
	if err := os.WriteFile(file, []byte("not JSON"), 0o600); err != nil {
		t.Fatal(err)
	}
	if p, err := choosePorts(file); err != nil || p.APIServer == 0 {
		t.Errorf("ports %+v, %v; want free ones", p, err)
	}
}

func TestStateIsLockedAndPrivate(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "deep")
	first, err := openState(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := openState(dir); err == nil || !strings.Contains(err.Error(), "in use by another sandbox") {
		t.Errorf("opening it twice: %v, want an error that says who has it", err)
	}
	checkPrivate(t, dir)
	if err := first.close(); err != nil {
		t.Fatal(err)
	}
	again, err := openState(dir)
	if err != nil {
		t.Fatalf("opening it after the close: %v", err)
	}
	if err := again.close(); err != nil {
		t.Error(err)
	}
}

func TestTemporaryStateIsRemoved(t *testing.T) {
	s, err := openState("")
	if err != nil {
		t.Fatal(err)
	}
	if err := writeSecret(s.path("secret"), []byte("x")); err != nil {
		t.Error(err)
	}
	if err := s.close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(s.Dir); !os.IsNotExist(err) {
		t.Errorf("%s remains (%v)", s.Dir, err)
	}
}

// controlled is a supervisor with its control socket and record, as in a
// running sandbox, found by the commands of this test alone.
func controlled(t *testing.T, names ...string) (*supervisor, *record) {
	t.Helper()
	t.Setenv("XDG_RUNTIME_DIR", t.TempDir())
	s, _, _ := supervised(t, names...)
	st := newTestState(t)
	// Test names make long paths; the socket must then lie elsewhere.
	st.Dir = filepath.Join(st.Dir, strings.Repeat("long", 30))
	if err := os.MkdirAll(st.Dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := st.prepareSocket(); err != nil {
		t.Fatal(err)
	}
	control, err := serveControl(st.socketPath(), s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = control.close() })
	r := newRecord(st, os.Getpid(), time.Now())
	if err := r.save(); err != nil {
		t.Fatal(err)
	}
	return s, r
}

func execute(t *testing.T, args ...string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	cmd := newRootCommand()
	cmd.SetArgs(args)
	cmd.SetOut(&out)
	cmd.SetErr(&out)
	err := cmd.ExecuteContext(t.Context())
	return out.String(), err
}

func TestCommandsTalkToTheRunningSandbox(t *testing.T) {
	s, r := controlled(t, "steady", "polite")
	info, err := os.Stat(r.Socket)
	if err != nil {
		t.Fatal(err)
	}
	if mode := info.Mode().Perm(); mode != 0o600 {
		t.Errorf("the control socket has mode %o, want 600", mode)
	}
	out, err := execute(t, "status")
	if err != nil || !strings.Contains(out, "polite") || !strings.Contains(out, r.Kubeconfig) {
		t.Errorf("status printed %q, %v; want the children and the kubeconfig", out, err)
	}
	pid := statusOf(t, s, "steady").PID
	out, err = execute(t, "kill", "steady", "--for", "1h")
	if want := fmt.Sprintf("killed steady (process %d); it is started again in 1h0m0s\n", pid); err != nil || out != want {
		t.Errorf("kill printed %q, %v; want %q", out, err, want)
	}
	out, err = execute(t, "status", "-o", "json")
	var status struct{ Children []childStatus }
	if err != nil || json.Unmarshal([]byte(out), &status) != nil || len(status.Children) != 2 {
		t.Errorf("status as JSON: %q, %v; want two children", out, err)
	}
}

func TestCommandsExplainTheirErrors(t *testing.T) {
	_, r := controlled(t, "steady")
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"kill"}, "kill takes the name of one component"},
		{[]string{"kill", "steady", "steady"}, "kill takes the name of one component"},
		{[]string{"kill", "nobody"}, `no child is called "nobody"; there are: steady`},
		{[]string{"kill", "steady", "--for", "-1s"}, "--for=-1s: want 0s to 1h"},
		{[]string{"kill", "steady", "--for", "2h"}, "--for=2h0m0s: want 0s to 1h"},
		{[]string{"kill", "steady", "--state-dir", "/nowhere"}, "no sandbox is running with --state-dir /nowhere"},
		{[]string{"status", "-o", "yaml"}, "want text or json"},
		{[]string{"status", "now"}, "unknown command"},
		{[]string{"--unknown"}, "unknown flag: --unknown"},
		{[]string{"everything"}, `unknown command "everything"`},
		{[]string{"--listen", "0.0.0.0:1"}, "only loopback addresses"},
	} {
		t.Run(strings.Join(c.args, " "), func(t *testing.T) {
			if out, err := execute(t, c.args...); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("printed %q, error %v; want an error with %q", out, err, c.want)
			}
		})
	}
	if err := r.remove(); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"status"}, {"kill", "steady"}, {"kubectl", "get", "pods"}} {
		t.Setenv("KUBECONFIG", "")
		if _, err := execute(t, args...); err == nil || !strings.Contains(err.Error(), "no sandbox is running; start one with: sandbox") {
			t.Errorf("%v without a sandbox: %v, want an error that says so", args, err)
		}
	}
}

func TestControlAnswersNonsense(t *testing.T) {
	_, r := controlled(t, "steady")
	for _, c := range []struct{ sent, want string }{
		{"hello\n", "malformed request"},
		{`{"operation":"` + strings.Repeat("x", 2*largestRequest) + `"}`, "malformed request"},
		{`{"operation":"dance"}`, "unknown operation"},
	} {
		connection, err := net.Dial("unix", r.Socket)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := connection.Write([]byte(c.sent)); err != nil {
			t.Fatal(err)
		}
		var reply controlReply
		if err := json.NewDecoder(connection).Decode(&reply); err != nil || !strings.Contains(reply.Error, c.want) {
			t.Errorf("answer to %.20q: %+v, %v; want %q", c.sent, reply, err, c.want)
		}
		_ = connection.Close()
	}
}

// TestSweepRemovesWhatTheDeadLeft: and nothing that is not ours.
func TestSweepRemovesWhatTheDeadLeft(t *testing.T) {
	t.Setenv("XDG_RUNTIME_DIR", t.TempDir())
	t.Setenv("TMPDIR", t.TempDir())
	const nobody = 1 << 30 // above any process id
	ours, err := os.MkdirTemp("", temporaryPrefix)
	if err != nil {
		t.Fatal(err)
	}
	kept, foreign := t.TempDir(), filepath.Join(os.TempDir(), "foreign")
	if err := os.Mkdir(foreign, 0o700); err != nil {
		t.Fatal(err)
	}
	records := []*record{
		{PID: nobody, StateDir: ours, Temporary: true},
		{PID: nobody + 1, StateDir: kept},
		{PID: nobody + 2, StateDir: foreign, Temporary: true},
		{PID: os.Getpid(), StateDir: kept},
	}
	for _, r := range records {
		if err := r.save(); err != nil {
			t.Fatal(err)
		}
	}
	sweepStale()
	exists := map[string]bool{}
	for _, dir := range []string{ours, kept, foreign} {
		_, err := os.Stat(dir)
		exists[dir] = err == nil
	}
	if diff := cmp.Diff(map[string]bool{ours: false, kept: true, foreign: true}, exists); diff != "" {
		t.Errorf("directories (-want +got):\n%s", diff)
	}
	if left := readRecords(); len(left) != 1 || left[0].PID != os.Getpid() {
		t.Errorf("records left: %+v, want that of the living process", left)
	}
}

func TestKubectlNeedsCluster(t *testing.T) {
	for _, c := range []struct {
		args       string
		kubeconfig string
		want       bool
	}{
		{args: "get pods", want: true},
		{args: "get pods", kubeconfig: "/some/where"},
		{args: "get pods --kubeconfig /some/where"},
		{args: "--kubeconfig=/some/where get pods"},
		{args: "exec pod -- tool --kubeconfig x", want: true},
		{args: "version --client"},
		{args: "version", want: true},
		{args: "get --help"},
		{args: "help get"},
		{args: ""},
	} {
		if got := needsCluster(strings.Fields(c.args), c.kubeconfig); got != c.want {
			t.Errorf("kubectl %s with KUBECONFIG=%q looks for the sandbox: %t, want %t", c.args, c.kubeconfig, got, c.want)
		}
	}
}

func TestPrefixerWritesWholeLines(t *testing.T) {
	var out bytes.Buffer
	p := &prefixer{to: &out, prefix: "[x] "}
	for _, part := range []string{"one", " line\nand a", "nother\n", "half"} {
		if n, err := p.Write([]byte(part)); n != len(part) || err != nil {
			t.Errorf("Write(%q) = %d, %v", part, n, err)
		}
	}
	if want := "[x] one line\n[x] and another\n"; out.String() != want {
		t.Errorf("wrote %q, want %q", out.String(), want)
	}
}

func TestProgressCountsFromTheStart(t *testing.T) {
	var out bytes.Buffer
	p := newProgress(&out, clock.RealClock{})
	p.done("etcd", time.Now().Add(-2*time.Second))
	if got := out.String(); !strings.HasPrefix(got, "  etcd ") || !strings.Contains(got, "2.0 s   (at 0.0 s)") {
		t.Errorf("printed %q", got)
	}
}

func TestDemoVersionsCountUp(t *testing.T) {
	for image, want := range map[string]string{"shop:v1": "shop:v2", "shop:v9": "shop:v10", "other:latest": "other:latest:v1"} {
		d := demoDeployment{image: image}.object()
		if got := nextVersion(d); got != want {
			t.Errorf("after %s comes %s, want %s", image, got, want)
		}
	}
}

func TestDemoKnowsWhenARolloutIsOver(t *testing.T) {
	done := appsv1.DeploymentStatus{ObservedGeneration: 2, Replicas: 3, UpdatedReplicas: 3, AvailableReplicas: 3}
	for _, c := range []struct {
		name   string
		change func(*appsv1.DeploymentStatus)
		want   bool
	}{
		{"over", func(*appsv1.DeploymentStatus) {}, true},
		{"not seen yet", func(s *appsv1.DeploymentStatus) { s.ObservedGeneration = 1 }, false},
		{"old pods left", func(s *appsv1.DeploymentStatus) { s.Replicas = 4 }, false},
		{"new pods missing", func(s *appsv1.DeploymentStatus) { s.UpdatedReplicas = 2 }, false},
		{"new pods not available", func(s *appsv1.DeploymentStatus) { s.AvailableReplicas = 2 }, false},
	} {
		d := demoDeployment{replicas: 3, image: "x:1"}.object()
		d.Generation, d.Status = 2, done
		c.change(&d.Status)
		if got := rolledOut(d); got != c.want {
			t.Errorf("%s: rolled out %t, want %t", c.name, got, c.want)
		}
	}
}

func TestNodesCanTakePods(t *testing.T) {
	ready := corev1.NodeCondition{Type: corev1.NodeReady, Status: corev1.ConditionTrue}
	for _, c := range []struct {
		name string
		node corev1.Node
		want bool
	}{
		{"ready", corev1.Node{Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{ready}}}, true},
		{"new", corev1.Node{}, false},
		{"not ready", corev1.Node{Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionFalse}}}}, false},
		{"tainted", corev1.Node{
			Spec:   corev1.NodeSpec{Taints: []corev1.Taint{{Key: corev1.TaintNodeNotReady, Effect: corev1.TaintEffectNoSchedule}}},
			Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{ready}},
		}, false},
	} {
		if got := schedulable(&c.node); got != c.want {
			t.Errorf("%s: %t, want %t", c.name, got, c.want)
		}
	}
	seen := map[string]bool{}
	for i := 1; i <= mostNodes; i++ {
		node := newNode(i)
		if _, _, err := net.ParseCIDR(node.Spec.PodCIDR); err != nil || seen[node.Spec.PodCIDR] {
			t.Errorf("network of node %d: %s (%v)", i, node.Spec.PodCIDR, err)
		}
		seen[node.Spec.PodCIDR] = true
	}
}

func TestChildEnvironmentLeavesOthersClustersOut(t *testing.T) {
	got := childEnvironment([]string{"PATH=/bin", "KUBECONFIG=/x", "https_proxy=http://x", "HTTP_PROXY=y", "KUBERNETES_SERVICE_HOST=1", "GOGC=50"})
	if diff := cmp.Diff([]string{"PATH=/bin", "GOGC=50"}, got); diff != "" {
		t.Errorf("environment (-want +got):\n%s", diff)
	}
}
