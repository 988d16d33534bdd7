package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/loopscope/loopscope/cmd/sandbox/testplane"
)

// TestSandboxRunsWorkloads boots the real thing with upstream's loops and goes
// through what a user does: create, look, break, stop.
func TestSandboxRunsWorkloads(t *testing.T) {
	t.Parallel()
	plane := testplane.Start(t, testplane.Options{Loops: loopsUpstream, Audit: true})
	t.Logf("ready after %s", plane.StartTime.Round(10*time.Millisecond))
	checkPrivate(t, plane.StateDir)

	plane.Kubectl(t, "create", "deployment", "web", "--image=nginx:1.27", "--replicas=3")
	plane.Kubectl(t, "rollout", "status", "deployment/web", "--timeout=60s")
	if got := plane.Kubectl(t, "get", "deployment", "web", "-o", "jsonpath={.status.availableReplicas}"); got != "3" {
		t.Errorf("available replicas of web: %s, want 3", got)
	}
	checkVersions(t, plane)
	checkPods(t, plane)
	checkKill(t, plane)
	checkAudit(t, plane.AuditPath)
	checkStop(t, plane)
}

// checkVersions sees that client and server call themselves what they are.
func checkVersions(t *testing.T, plane *testplane.Plane) {
	t.Helper()
	out := plane.Kubectl(t, "version")
	for _, want := range []string{"Client Version: " + kubernetesVersion, "Server Version: " + kubernetesVersion} {
		if !strings.Contains(out, want) {
			t.Errorf("kubectl version printed %q, want %q in it", out, want)
		}
	}
}

// podCases are pods that do not simply become ready, and the state they must show.
var podCases = []struct {
	name, image string
	annotations map[string]string
	want        []string // states seen in this order, each "phase/ready/reason/restarts"
}{
	{name: "missing", image: "nginx:404", want: []string{"Pending/false/ErrImagePull/0", "Pending/false/ImagePullBackOff/0"}},
	{name: "bad", image: "localhost:5000/shop:bad-build", want: []string{"Pending/false/ImagePullBackOff/0"}},
	{name: "digest", image: "nginx:404@sha256:" + strings.Repeat("a", 64), want: []string{"Running/true//0"}},
	{name: "port", image: "localhost:404/shop", want: []string{"Running/true//0"}},
	{name: "slow", image: "nginx:1", annotations: map[string]string{"sandbox.loopscope.dev/ready-after": "5s"},
		want: []string{"Pending/false/ContainerCreating/0", "Running/true//0"}},
	{name: "unready", image: "nginx:1", annotations: map[string]string{"sandbox.loopscope.dev/never-ready": "true"}, want: []string{"Running/false//0"}},
	{name: "crash", image: "nginx:1", annotations: map[string]string{"sandbox.loopscope.dev/crash-loop": "true"},
		want: []string{"Running/false/CrashLoopBackOff/0", "Running/false/CrashLoopBackOff/1", "Running/false/CrashLoopBackOff/2"}},
}

// checkPods creates every case at once and then waits for each in turn.
func checkPods(t *testing.T, plane *testplane.Plane) {
	t.Helper()
	seen := watchPods(t, plane)
	for _, c := range podCases {
		annotations, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": c.annotations}})
		if err != nil {
			t.Fatal(err)
		}
		plane.Kubectl(t, "run", c.name, "--image="+c.image, "--override-type=merge", "--overrides="+string(annotations))
	}
	for _, c := range podCases {
		testplane.Until(t, 2*time.Minute, "pod "+c.name, func() error {
			if states := seen.of(c.name); !inOrder(states, c.want) {
				return fmt.Errorf("went through %q, want %q", states, c.want)
			}
			return nil
		})
	}
	message := plane.Kubectl(t, "get", "pod", "missing", "-o", "jsonpath={.status.containerStatuses[0].state.waiting.message}")
	if !strings.HasPrefix(message, `Back-off pulling image "nginx:404": ErrImagePull: `) {
		t.Errorf("message of the pod whose image does not exist: %q", message)
	}
	unready := plane.Kubectl(t, "get", "pod", "unready", "-o", `jsonpath={.status.conditions[?(@.type=="Ready")].message}`)
	if want := "containers with unready status: [unready]"; unready != want {
		t.Errorf("message of the pod that is never ready: %q, want %q", unready, want)
	}
	plane.Kubectl(t, "delete", "pods", "--all", "--timeout=30s")
}

// podStates is what every pod went through, by its name.
type podStates struct {
	mu   sync.Mutex
	seen map[string][]string
}

// watchPods notes every state from now on. Some last for less than it takes to ask.
func watchPods(t *testing.T, plane *testplane.Plane) *podStates {
	t.Helper()
	events, err := clientOf(t, plane).CoreV1().Pods("default").Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(events.Stop)
	p := &podStates{seen: map[string][]string{}}
	go func() {
		for e := range events.ResultChan() {
			if pod, ok := e.Object.(*corev1.Pod); ok {
				p.note(pod)
			}
		}
	}()
	return p
}

func (p *podStates) note(pod *corev1.Pod) {
	reason, ready, restarts := "", "", ""
	for _, c := range pod.Status.ContainerStatuses[:min(1, len(pod.Status.ContainerStatuses))] {
		if c.State.Waiting != nil {
			reason = c.State.Waiting.Reason
		}
		ready, restarts = strconv.FormatBool(c.Ready), strconv.Itoa(int(c.RestartCount))
	}
	state := string(pod.Status.Phase) + "/" + ready + "/" + reason + "/" + restarts
	p.mu.Lock()
	defer p.mu.Unlock()
	if states := p.seen[pod.Name]; len(states) == 0 || states[len(states)-1] != state {
		p.seen[pod.Name] = append(states, state)
	}
}

func (p *podStates) of(name string) []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.seen[name])
}

// inOrder reports whether want appears in got, in its order.
func inOrder(got, want []string) bool {
	for _, state := range got {
		if len(want) > 0 && state == want[0] {
			want = want[1:]
		}
	}
	return len(want) == 0
}

// checkKill kills the API server for two seconds and sees it gone and back.
func checkKill(t *testing.T, plane *testplane.Plane) {
	t.Helper()
	before := childOf(t, plane, nameAPIServer)
	plane.Kill(t, nameAPIServer, 2*time.Second)
	if _, err := plane.TryKubectl(t.Context(), "", "get", "namespaces", "--request-timeout=1s"); err == nil {
		t.Error("the API server answers although it was killed for two seconds")
	}
	client := clientOf(t, plane)
	testplane.Until(t, 2*time.Minute, "the API server's return", func() error {
		return client.CoreV1().RESTClient().Get().AbsPath("/readyz").Timeout(time.Second).Do(t.Context()).Error()
	})
	after := childOf(t, plane, nameAPIServer)
	if after.PID == before.PID || after.Restarts != before.Restarts+1 {
		t.Errorf("the API server was process %d with %d restarts and is process %d with %d", before.PID, before.Restarts, after.PID, after.Restarts)
	}
	if want := nameAPIServer + " died (signal: killed); starting it again in 2s"; !strings.Contains(plane.Output(), want) {
		t.Errorf("the sandbox printed\n%s\nwant a line %q", plane.Output(), want)
	}
	// The loops, nodes and scheduler must have found the new server, too.
	plane.Kubectl(t, "create", "deployment", "after", "--image=nginx:1.27")
	plane.Kubectl(t, "rollout", "status", "deployment/after", "--timeout=60s")

	_, err := plane.Sandbox(t.Context(), "kill", "nobody", "--state-dir", plane.StateDir)
	if err == nil || !strings.Contains(err.Error(), "etcd, kube-apiserver, kube-controller-manager, kube-scheduler, kwok, loops") {
		t.Errorf("killing an unknown component: %v, want an error that lists the known ones", err)
	}
}

// clientOf is the administrator's client, for what is asked again and again: each kubectl
// takes a tenth of a second of a processor.
func clientOf(t *testing.T, plane *testplane.Plane) kubernetes.Interface {
	t.Helper()
	client, err := kubernetes.NewForConfig(plane.Config(t))
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func childOf(t *testing.T, plane *testplane.Plane, name string) testplane.Child {
	t.Helper()
	children := plane.Children(t)
	at := slices.IndexFunc(children, func(c testplane.Child) bool { return c.Name == name })
	if at < 0 {
		t.Fatalf("no child %s among %v", name, children)
	}
	return children[at]
}

// checkAudit sees that the audit log holds whole requests for the loops' objects, who took
// and renewed the Leases of kube-system, and nothing about others.
func checkAudit(t *testing.T, path string) {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	resources := map[string]int{}
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var event struct {
			Level     string
			Verb      string
			ObjectRef struct{ Resource, Subresource, Namespace string }
		}
		if err := json.Unmarshal(lines.Bytes(), &event); err != nil {
			t.Fatalf("audit line %q: %v", lines.Text(), err)
		}
		lease := event.ObjectRef.Resource == "leases" && event.ObjectRef.Namespace == "kube-system" && event.Level == "Metadata"
		if event.Level != "RequestResponse" && !lease {
			t.Errorf("audit line of level %s: %s", event.Level, lines.Text())
		}
		resources[event.ObjectRef.Resource]++
		resources[event.ObjectRef.Resource+"/"+event.ObjectRef.Subresource+" "+event.Verb]++
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"deployments/ create", "deployments/status update", "replicasets/ create", "replicasets/status update", "pods/ create", "pods/binding create", "pods/status patch"} {
		if resources[want] == 0 {
			t.Errorf("the audit log has no %q; it has %v", want, resources)
		}
	}
	for _, unwanted := range []string{"events", "leases/ get", "secrets", "nodes"} {
		if resources[unwanted] != 0 {
			t.Errorf("the audit log has %d lines about %s", resources[unwanted], unwanted)
		}
	}
}

// checkStop stops the plane and sees that neither process nor file remains.
func checkStop(t *testing.T, plane *testplane.Plane) {
	t.Helper()
	children := plane.Children(t)
	if len(children) != 6 {
		t.Errorf("children before the stop: %v, want six", children)
	}
	began := time.Now()
	if err := plane.Stop(); err != nil {
		t.Errorf("the sandbox ended with %v, want success", err)
	}
	t.Logf("stopped in %s", time.Since(began).Round(10*time.Millisecond))
	for _, c := range children {
		if c.PID != 0 && processExists(c.PID) {
			t.Errorf("%s, process %d, lives on", c.Name, c.PID)
		}
	}
	if _, err := os.Stat(plane.StateDir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("temporary state directory %s remains (%v)", plane.StateDir, err)
	}
}

// TestSandboxKeepsItsState starts the same state directory twice, and once
// while it is in use.
func TestSandboxKeepsItsState(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first := testplane.Start(t, testplane.Options{StateDir: dir, Nodes: 1})
	first.Kubectl(t, "create", "configmap", "kept", "--from-literal=a=b")
	if out, err := first.Sandbox(t.Context(), "--state-dir", dir, "--loops=none"); err == nil || !strings.Contains(err.Error(), "in use by another sandbox") {
		t.Errorf("a second sandbox in the same directory: %q, %v; want an error that says so", out, err)
	}
	kubeconfig := readFile(t, first.Kubeconfig)
	if err := first.Stop(); err != nil {
		t.Fatalf("stop: %v", err)
	}
	second := testplane.Start(t, testplane.Options{StateDir: dir, Nodes: 2})
	if got := second.Kubectl(t, "get", "configmap", "kept", "-o", "jsonpath={.data.a}"); got != "b" {
		t.Errorf("the configmap of the first start holds %q, want b", got)
	}
	if got := strings.Count(second.Kubectl(t, "get", "nodes", "-o", "name"), "node/"); got != 2 {
		t.Errorf("%d nodes, want 2", got)
	}
	if got := readFile(t, second.Kubeconfig); got != kubeconfig {
		t.Error("the kubeconfig of the first start does not work any more")
	}
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// TestSandboxDiesWithItsParent kills the parent process, which can then do
// nothing for its children, and sees them go.
func TestSandboxDiesWithItsParent(t *testing.T) {
	t.Parallel()
	plane := testplane.Start(t, testplane.Options{StateDir: t.TempDir(), Nodes: 1})
	children := plane.Children(t)
	process, err := os.FindProcess(plane.PID())
	if err != nil {
		t.Fatal(err)
	}
	if err := process.Kill(); err != nil {
		t.Fatal(err)
	}
	testplane.Until(t, 10*time.Second, "the children's end", func() error {
		for _, c := range children {
			if processExists(c.PID) {
				return fmt.Errorf("%s, process %d, lives on", c.Name, c.PID)
			}
		}
		return nil
	})
}

// TestSandboxSurvivesEveryDeath kills each component in the middle of a
// rollout, which must be completed all the same.
func TestSandboxSurvivesEveryDeath(t *testing.T) {
	t.Parallel()
	plane := testplane.Start(t, testplane.Options{Loops: loopsUpstream})
	plane.Kubectl(t, "create", "deployment", "web", "--image=nginx:v0", "--replicas=10")
	plane.Kubectl(t, "rollout", "status", "deployment/web", "--timeout=60s")
	client := clientOf(t, plane)
	for i, name := range []string{nameEtcd, nameAPIServer, nameScheduler, nameControllerManager, nameKwok, nameLoops} {
		image := fmt.Sprintf("nginx:v%d", i+1)
		plane.Kubectl(t, "set", "image", "deployment/web", "nginx="+image)
		plane.Kill(t, name, 3*time.Second)
		began := time.Now()
		testplane.Until(t, 2*time.Minute, "rollout after the death of "+name, func() error {
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
			defer cancel()
			pods, err := client.CoreV1().Pods("default").List(ctx, metav1.ListOptions{})
			if err != nil {
				return err
			}
			states := make([]string, 0, len(pods.Items))
			for _, pod := range pods.Items {
				ready := len(pod.Status.ContainerStatuses) == 1 && pod.Status.ContainerStatuses[0].Ready
				states = append(states, fmt.Sprintf("%s/%t", pod.Spec.Containers[0].Image, ready))
			}
			if !slices.Equal(states, slices.Repeat([]string{image + "/true"}, 10)) {
				return fmt.Errorf("pods %q, want ten of %s", states, image)
			}
			return nil
		})
		t.Logf("%s dead for 3s: rolled out after %s", name, time.Since(began).Round(100*time.Millisecond))
		if c := childOf(t, plane, name); c.Restarts != 1 {
			t.Errorf("%s died %d times, want once", name, c.Restarts)
		}
	}
	for _, c := range plane.Children(t) {
		if c.Restarts > 1 {
			t.Errorf("%s died %d times; it should outlive the others' deaths", c.Name, c.Restarts)
		}
	}
}

// TestSandboxRunsTheDashboard boots as a newcomer does, with Loopscope's own
// loops and the demo, and follows the demo's story.
func TestSandboxRunsTheDashboard(t *testing.T) {
	plane := testplane.Start(t, testplane.Options{Loops: loopsOwn, Demo: true})
	checkURL(t, plane.Dashboard)
	testplane.Until(t, 20*time.Second, "the first ready pod of the demo", func() error {
		if !strings.Contains(plane.Output(), "demo: first pod ready after ") {
			return errors.New("not yet")
		}
		return nil
	})
	t.Log(plane.Output())
	client := clientOf(t, plane)
	for _, c := range []struct {
		namespace, deployment string
		state                 func(*appsv1.Deployment) string
		want                  string
	}{
		{demoNamespace, "healthy", func(d *appsv1.Deployment) string { return fmt.Sprint(d.Status.AvailableReplicas) }, "3"},
		{demoNamespace, "stuck", func(d *appsv1.Deployment) string {
			return fmt.Sprintf("%s/%d/%d", d.Spec.Template.Spec.Containers[0].Image, d.Status.UpdatedReplicas, d.Status.AvailableReplicas)
		}, "nginx:404/1/3"},
		{demoNamespace, "paused", func(d *appsv1.Deployment) string {
			return fmt.Sprintf("%t/%s/%d", d.Spec.Paused, condition(d, appsv1.DeploymentProgressing).Reason, d.Status.AvailableReplicas)
		}, "true/DeploymentPaused/2"},
		{quotaNamespace, "quota", func(d *appsv1.Deployment) string {
			return fmt.Sprintf("%d/%s", d.Status.AvailableReplicas, condition(d, appsv1.DeploymentReplicaFailure).Status)
		}, "3/True"},
		{demoNamespace, "rolling", func(d *appsv1.Deployment) string {
			return fmt.Sprintf("%s/%d", d.Spec.Template.Spec.Containers[0].Image, d.Status.AvailableReplicas)
		}, "shop:v2/6"},
	} {
		testplane.Until(t, time.Minute, "the state of "+c.deployment, func() error {
			d, err := client.AppsV1().Deployments(c.namespace).Get(t.Context(), c.deployment, metav1.GetOptions{})
			if err != nil {
				return err
			}
			if got := c.state(d); got != c.want {
				return fmt.Errorf("it is %s, want %s", got, c.want)
			}
			return nil
		})
	}
	checkRights(t, plane)
	if err := plane.Stop(); err != nil {
		t.Errorf("the sandbox ended with %v, want success", err)
	}
}

func condition(d *appsv1.Deployment, kind appsv1.DeploymentConditionType) appsv1.DeploymentCondition {
	if at := slices.IndexFunc(d.Status.Conditions, func(c appsv1.DeploymentCondition) bool { return c.Type == kind }); at >= 0 {
		return d.Status.Conditions[at]
	}
	return appsv1.DeploymentCondition{}
}

func checkURL(t *testing.T, url string) {
	t.Helper()
	if !strings.HasPrefix(url, "http://127.0.0.1:") {
		t.Fatalf("dashboard at %q, want a loopback address", url)
	}
	client := &http.Client{Timeout: time.Minute}
	response, err := client.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		t.Errorf("the dashboard answers %s", response.Status)
	}
}

// checkRights sees that the user Loopscope acts as can do its work and no more.
func checkRights(t *testing.T, plane *testplane.Plane) {
	t.Helper()
	for ask, want := range map[string]string{
		"update deployments/status": "yes", "create replicasets": "yes", "update replicationcontrollers --subresource=status": "yes", "delete pods": "yes", "patch events": "yes",
		"update replicationcontrollers": "yes", "list secrets": "no", "create deployments": "no", "delete deployments": "no", "get nodes": "no", "update nodes": "no", "get configmaps": "no", "list services": "no",
	} {
		args := append([]string{"auth", "can-i", "--kubeconfig", plane.LoopscopeKubeconfig}, strings.Fields(ask)...)
		out, err := plane.TryKubectl(t.Context(), "", args...) // fails where the answer is no
		if got := strings.TrimSpace(out); got != want {
			t.Errorf("may user loopscope %s: %q (%v), want %s", ask, got, err, want)
		}
	}
}
