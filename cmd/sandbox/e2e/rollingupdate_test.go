package e2e_test

import (
	"encoding/json"
	"errors"
	"os/exec"
	"strings"
	"testing"

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

	startManager(t, plane.LoopscopeKubeconfig, "--history=off")
	plane.Kubectl(t, "-n", u.namespace, "wait", "rc/web", "--for=jsonpath={.status.readyReplicas}=3", "--timeout=60s")
	u.says(t, 0, "WOULD WRITE", "web", "--image=shop:v2", "--dry-run=server")
	u.says(t, 0, "The rolling update of web is complete after", "web", "--image=shop:v2", "--update-period=0s", "--poll-interval=500ms")
	u.says(t, 0, "at rest: the update to web-", "status", "web")

	u.says(t, 0, "was asked for", "web", "-f", write(t, t.TempDir(), "next.yaml", nextManifest), "--update-period=1h", "--detach", "--timeout=2h")
	u.says(t, 1, "a rolling update to web-v3 of web is under way", "web", "--image=shop:v4")
	u.says(t, 1, "web: it is not paused", "resume", "web")
	u.says(t, 0, "is paused", "pause", "web")
	testplane.Until(t, settleLimit, "the pause", func() error {
		var twin struct {
			Text     string
			Sentence struct{ Code string }
		}
		out, _, err := loopscope(t.Context(), t, plane.Kubeconfig, "rolling-update", "status", "web", "-n", u.namespace, "-o", "json")
		if err != nil {
			return err
		}
		if err := json.Unmarshal([]byte(out), &twin); err != nil || twin.Sentence.Code != "paused" {
			return errors.Join(err, errors.New(twin.Text))
		}
		return nil
	})
	u.says(t, 0, "The rolling update of web is taken back after", "abort", "web")
	if out := plane.Kubectl(t, "-n", u.namespace, "get", "rc", "-o", "jsonpath={range .items[*]}{.metadata.name} {.spec.replicas} {.spec.template.spec.containers[0].image};{end}"); out != "web 3 shop:v2;" {
		t.Errorf("after the way back there is %q", out)
	}
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
