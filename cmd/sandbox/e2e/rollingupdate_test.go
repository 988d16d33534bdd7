package e2e_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/loopscope/loopscope/cmd/sandbox/testplane"
)

const nextManifest = `apiVersion: v1
kind: List
items:
- apiVersion: v1
  kind: ReplicationController
  metadata: {name: web-v3, labels: {app: web}}
  spec:
    selector: {app: web, version: v3}
    template:
      metadata: {labels: {app: web, version: v3}}
      spec:
        containers:
        - {name: main, image: "shop:v3"}
`

// updating is one user with one ReplicationController.
type updating struct {
	plane     *testplane.Plane
	namespace string
}

// TestRollingUpdateCommand goes through the life of rolling updates with the command: nobody
// to carry one out, an image, a file, a stranger's request, pause, and the way back.
func TestRollingUpdateCommand(t *testing.T) {
	t.Parallel()
	plane := testplane.Start(t, testplane.Options{Loops: "none", Nodes: 1})
	client := clientOf(t, plane)
	u := &updating{plane, newNamespace(t, client, "update")}
	versioned := strings.NewReplacer("selector: {app: web}", "selector: {app: web, version: v1}", "metadata: {labels: {app: web}}", "metadata: {labels: {app: web, version: v1}}").Replace(controllerManifest)
	plane.KubectlInput(t, versioned, "-n", u.namespace, "create", "-f", "-")
	u.says(t, 1, "no manager with the controller rollingupdate-controller reacts to the request, so it was withdrawn; start one with", "web", "--image=shop:v2", "--poll-interval=500ms")
	if rc, err := client.CoreV1().ReplicationControllers(u.namespace).Get(t.Context(), "web", metav1.GetOptions{}); err != nil || len(rc.Annotations) > 0 {
		t.Errorf("what is left of a request that was withdrawn: %v, %v", rc.Annotations, err)
	}
	u.says(t, 1, "so it was withdrawn", "web", "-f", write(t, t.TempDir(), "next.yaml", nextManifest), "--poll-interval=500ms")
	if out := plane.Kubectl(t, "-n", u.namespace, "get", "rc", "-o", "name"); strings.TrimSpace(out) != "replicationcontroller/web" {
		t.Errorf("what is left of a file that was withdrawn: %s", out)
	}
	u.says(t, 1, "no rolling update of web is under way", "abort", "web")
	plane.Kubectl(t, "-n", u.namespace, "annotate", "rc/web", `rollingupdate.loopscope.dev/request={"version":1,"image":"shop:v2"}`)
	u.says(t, 1, "the request stands, and is carried out as soon as there is one: start one with 'loopscope manager", "pause", "web")
	u.says(t, 0, "is to be taken back", "abort", "web", "--wait=false")
	plane.Kubectl(t, "-n", u.namespace, "annotate", "rc/web", "rollingupdate.loopscope.dev/request-")
	plane.Kubectl(t, "-n", u.namespace, "autoscale", "rc/web", "--min=3", "--max=5")
	u.says(t, 1, "HorizontalPodAutoscaler web scales ReplicationController web, and would put back", "web", "--image=shop:v2")
	plane.Kubectl(t, "-n", u.namespace, "delete", "hpa/web")
	u.long(t)

	m := startManager(t, plane.LoopscopeKubeconfig, "--history=off")
	plane.Kubectl(t, "-n", u.namespace, "wait", "rc/web", "--for=jsonpath={.status.readyReplicas}=3", "--timeout=60s")
	u.says(t, 0, "WOULD WRITE", "web", "--image=shop:v2", "--dry-run=server")
	foreseen := u.foresee(t, "web", "--image=shop:v2")
	u.says(t, 0, "The rolling update of web is complete after", "web", "--image=shop:v2", "--update-period=0s", "--poll-interval=500ms")
	u.says(t, 0, "at rest: the update to "+foreseen+" was completed", "status", "web")

	u.refused(t)

	next := write(t, t.TempDir(), "next.yaml", nextManifest)
	u.says(t, 0, "was asked for", "web", "-f", next, "--update-period=1h", "--detach", "--timeout=2h")
	u.says(t, 1, "in the middle of it this cannot be changed: image none to shop:v4", "web", "--image=shop:v4")
	u.says(t, 0, "under way already, and stays as it was asked for. web-v3 stays as it was created: the file is not applied again.", "web", "-f", next, "--detach")
	u.says(t, 0, "and was changed: surge 1 to 2 and timeout 2h to 3h", "web", "-f", next, "--detach", "--surge=2", "--timeout=3h")
	plane.Kubectl(t, "-n", u.namespace, "delete", "rc/web-v3")
	u.says(t, 0, "stays as it was asked for. web-v3 did not exist, and was created from the file.", "web", "-f", next, "--detach")
	u.says(t, 1, "the rolling update of web is not paused", "resume", "web")
	u.says(t, 0, "/web is paused: web-v3 has ", "pause", "web")
	u.says(t, 0, "It is paused: to go on, 'loopscope rolling-update resume web -n "+u.namespace+"'", "web", "-f", next, "--detach")
	if _, syncs := fetch(t, m.Dashboard+"/export.jsonl?loop=rollingupdate"); !strings.Contains(syncs, `"manager":"loopscope-rolling-update"`) {
		t.Error("no sync says who has changed the request")
	}
	u.says(t, 0, "was changed: clean-up delete to preserve", "resume", "web", "--cleanup=preserve", "--detach")
	u.says(t, 0, "The rolling update of web is taken back after", "abort", "web")
	if out := plane.Kubectl(t, "-n", u.namespace, "get", "rc", "-o", "jsonpath={range .items[*]}{.metadata.name} {.spec.replicas} {.spec.template.spec.containers[0].image};{end}"); out != "web 3 shop:v2;" {
		t.Errorf("after the way back there is %q", out)
	}
}

// long asks for an update of one whose name leaves no room for a hash.
func (u *updating) long(t *testing.T) {
	t.Helper()
	name := strings.Repeat("w", 250)
	u.plane.KubectlInput(t, strings.Replace(controllerManifest, "name: web", "name: "+name, 1), "-n", u.namespace, "create", "-f", "-")
	u.says(t, 2, "a name has 253 at most", name, "--image=shop:v2")
	if out := u.plane.Kubectl(t, "-n", u.namespace, "get", "rc", name, "-o", "jsonpath={.metadata.annotations}"); out != "" {
		t.Errorf("it was annotated with %s", out)
	}
	u.plane.Kubectl(t, "-n", u.namespace, "delete", "rc", name)
}

// refused asks for an update whose new ReplicationController a quota refuses: who looks on is told.
func (u *updating) refused(t *testing.T) {
	t.Helper()
	u.plane.Kubectl(t, "-n", u.namespace, "create", "quota", "one", "--hard=replicationcontrollers=1")
	u.plane.Kubectl(t, "-n", u.namespace, "wait", "quota/one", "--for=jsonpath={.status.used.replicationcontrollers}=1", "--timeout=30s")
	u.says(t, 0, "was asked for", "web", "--image=shop:v3", "--detach")
	testplane.Until(t, time.Minute, "the refusal", func() error {
		out, errOut, err := loopscope(t.Context(), t, u.plane.Kubeconfig, "rolling-update", "-n", u.namespace, "status", "web")
		if !strings.Contains(out, "/web has failed: quota one refuses ReplicationController web-") {
			return fmt.Errorf("%v: %s%s", err, out, errOut)
		}
		return nil
	})
	u.says(t, 0, "The rolling update of web is taken back after", "abort", "web")
	u.plane.Kubectl(t, "-n", u.namespace, "delete", "quota/one")
}

// foresee prints both objects of an update, and returns the name of the new one.
func (u *updating) foresee(t *testing.T, args ...string) string {
	t.Helper()
	var list struct {
		Items []struct {
			Kind     string
			Metadata metav1.ObjectMeta
			Spec     struct{ Replicas int }
		}
	}
	for _, how := range []string{"client", "server"} {
		list.Items = nil
		out, errOut, err := loopscope(t.Context(), t, u.plane.Kubeconfig, append([]string{"rolling-update", "-n", u.namespace, "--dry-run=" + how, "-o", "json"}, args...)...)
		if err := errors.Join(err, json.Unmarshal([]byte(out), &list)); err != nil || len(list.Items) != 2 {
			t.Fatalf("%s: %v: %s%s", how, err, out, errOut)
		}
		if old, n := list.Items[0], list.Items[1]; old.Kind != "ReplicationController" || old.Spec.Replicas != 3 || n.Spec.Replicas != 0 || (n.Metadata.UID != "") != (how == "server") {
			t.Errorf("%s: %s", how, out)
		}
	}
	return list.Items[1].Metadata.Name
}

// TestRollingUpdateCommandLeft finishes what kubectl left half-done as kubectl would have, and
// tells what is stuck once.
func TestRollingUpdateCommandLeft(t *testing.T) {
	t.Parallel()
	plane := testplane.Start(t, testplane.Options{Loops: "none", Nodes: 1})
	client := clientOf(t, plane)
	u := &updating{plane, newNamespace(t, client, "left")}
	startManager(t, plane.LoopscopeKubeconfig, "--history=off")
	const hash = "ccba8fbd8cc8160970f63f9a2696fc46"
	labelled := strings.NewReplacer("replicas: 3", "replicas: 0", "selector: {app: web}", "selector: {app: web, deployment: old}", "metadata: {labels: {app: web}}", "metadata: {labels: {app: web, deployment: old}}").Replace(controllerManifest)
	plane.KubectlInput(t, labelled, "-n", u.namespace, "create", "-f", "-")
	plane.KubectlInput(t, strings.NewReplacer("name: web", "name: web-"+hash, "replicas: 0", "replicas: 1", "deployment: old", "deployment: "+hash).Replace(labelled), "-n", u.namespace, "create", "-f", "-")
	uid := plane.Kubectl(t, "-n", u.namespace, "get", "rc/web", "-o", "jsonpath={.metadata.uid}")
	plane.Kubectl(t, "-n", u.namespace, "annotate", "rc/web", "kubectl.kubernetes.io/next-controller-id=web-"+hash, "kubectl.kubernetes.io/original-replicas=1")
	plane.Kubectl(t, "-n", u.namespace, "annotate", "rc/web-"+hash, "kubectl.kubernetes.io/update-source-id=web:"+uid, "kubectl.kubernetes.io/desired-replicas=1")
	u.says(t, 0, "At the end web takes over the pods of web-"+hash+", which is deleted, as kubectl would have done. To choose otherwise:", "resume", "web")
	if out := plane.Kubectl(t, "-n", u.namespace, "get", "rc", "-o", "jsonpath={range .items[*]}{.metadata.name} {.spec.replicas} {.spec.selector.deployment};{end}"); out != "web 1 "+hash+";" {
		t.Errorf("in the end there is %q", out)
	}

	stuck := strings.NewReplacer("labels: {app: web, version: v3}}", `labels: {app: web, deployment: v3}, annotations: {sandbox.loopscope.dev/never-ready: "true"}}`, "version: v3", "deployment: v3").Replace(nextManifest)
	out, errOut, err := loopscope(t.Context(), t, plane.Kubeconfig, "rolling-update", "-n", u.namespace, "web", "-f", write(t, t.TempDir(), "stuck.yaml", stuck), "--update-period=0s", "--timeout=2s", "--poll-interval=200ms")
	const says = "web is stuck: nothing has moved for"
	if exit := new(exec.ExitError); !errors.As(err, &exit) || exit.ExitCode() != 2 || strings.Count(errOut, says) != 1 || strings.Contains(out, says) {
		t.Errorf("what is stuck: %v\n%s%s", err, out, errOut)
	}
	u.says(t, 0, "The rolling update of web is taken back after", "abort", "web")
}

// says runs the command and expects its exit code and a part of what it prints.
func (u *updating) says(t *testing.T, code int, want string, args ...string) {
	t.Helper()
	out, errOut, err := loopscope(t.Context(), t, u.plane.Kubeconfig, append([]string{"rolling-update", "-n", u.namespace}, args...)...)
	got := 0
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		got = exit.ExitCode()
	}
	if got != code || !strings.Contains(out+errOut, want) {
		t.Errorf("rolling-update %s: exit code %d, want %d and %q:\n%s%s", strings.Join(args, " "), got, code, want, out, errOut)
	}
}
