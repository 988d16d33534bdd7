package e2e_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/loopscope/loopscope/cmd/sandbox/testplane"
)

const loneController = `---
apiVersion: v1
kind: ReplicationController
metadata: {name: rc}
spec:
  replicas: 3
  selector: {app: rc}
  template:
    metadata: {labels: {app: rc}}
    spec: {containers: [{name: main, image: "nginx:1.27"}]}
`

// joiningSet is of the labels of deploymentOf, and not of its template.
const joiningSet = `---
apiVersion: apps/v1
kind: ReplicaSet
metadata: {name: joins, labels: {app: web}}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: main, image: "nginx:1.26"}]}
`

// madeBy runs the command on a manifest, and expects an exit code and words in what it prints.
func madeBy(t *testing.T, plane *testplane.Plane, manifest string, code int, says []string, args ...string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "in.yaml")
	if err := os.WriteFile(file, []byte(manifest), 0o600); err != nil {
		t.Fatal(err)
	}
	out, errOut, err := loopscope(t.Context(), t, plane.Kubeconfig, append(args, "-f", file)...)
	got := 0
	if exit := new(exec.ExitError); errors.As(err, &exit) {
		got = exit.ExitCode()
	} else if err != nil {
		t.Fatalf("%v: %v", args, err)
	}
	all := out + errOut
	if got != code {
		t.Errorf("%v ended with %d, want %d:\n%s", args, got, code, all)
	}
	for _, want := range says {
		if !strings.Contains(all, want) {
			t.Errorf("%v does not say %q:\n%s", args, want, all)
		}
	}
	return out
}

// TestCreateExplainsAndWatches creates objects that come to their end and some that do not,
// beside what stands in their way, with what is said before and what happens after.
func TestCreateExplainsAndWatches(t *testing.T) {
	t.Parallel()
	plane := ownPlane(t).Plane
	client := clientOf(t, plane)
	namespace := newNamespace(t, client, "made")
	on := func(args ...string) []string { return append(args, "-n", namespace) }

	// Nothing is written by a dry run, and the first ReplicaSet is called beforehand what it is called later.
	said := madeBy(t, plane, deploymentOf+loneController, 0, []string{
		"Deployment " + namespace + "/web, from ", "  create ReplicaSet web-", "3 available", "  at once      3     0          0 → 3", "In the end: " + namespace + "/rc is settled", "deployment.apps/web created (server dry run)",
	}, on("create", "--explain", "--dry-run=server")...)
	if _, err := client.AppsV1().Deployments(namespace).Get(t.Context(), "web", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Fatalf("a dry run left a Deployment: %v", err)
	}
	madeBy(t, plane, deploymentOf+loneController, 0, []string{"deployment.apps/web created", "is settled", "replicationcontroller/rc  " + namespace + "/rc is settled", "All is complete after "}, on("create", "--watch", "--timeout=50s")...)
	if sets := setNames(t, client, namespace); len(sets) != 1 || !strings.Contains(said, "create ReplicaSet "+sets[0]+" with 2") {
		t.Errorf("there are %v, and foreseen was:\n%s", sets, said)
	}

	// What is in the way is said before.
	plane.Kubectl(t, "-n", namespace, "create", "quota", "few", "--hard=pods=6")
	plane.Kubectl(t, "-n", namespace, "wait", "quota/few", "--for=jsonpath={.status.used.pods}=5", "--timeout=30s")
	twin := strings.Replace(strings.Replace(deploymentOf, "name: web,", "name: twin,", 1), "    spec: {", "    spec: {serviceAccountName: robot, ", 1)
	madeBy(t, plane, twin, 0, []string{"Deployment web: their selectors overlap", "ServiceAccount robot is not there", "ResourceQuota few leaves room for 1 of 2 pods", "5 of 6 are used for pods"}, on("create", "--explain", "--dry-run=server")...)
	madeBy(t, plane, strings.Replace(deploymentOf, "name: web,", "name: web, namespace: nowhere,", 1), 1, []string{"It cannot be planned: Error from server (NotFound)", "Create the namespace first"}, "create", "--explain", "--dry-run=server")
	plane.Kubectl(t, "-n", namespace, "delete", "quota", "few")

	// A ReplicaSet that the Deployment takes to itself at once is not what was asked for.
	madeBy(t, plane, joiningSet, 0, []string{"Deployment web adopts it and decides on its size from then on", "PLAN  none: Deployment web adopts it"}, on("create", "--explain", "--dry-run=server")...)
	madeBy(t, plane, joiningSet, 2, []string{"2 pods were asked for, and Deployment web, which owns it, has scaled it to 0"}, on("create", "--watch", "--timeout=50s")...)
	plane.Kubectl(t, "-n", namespace, "delete", "replicaset", "joins")

	// A conflict names who, what and the way out; then a rollout that needs somebody ends the watch.
	other := strings.Replace(deploymentOf, "nginx:1.27", "nginx:404", 1)
	conflict := []string{"loopscope-create has set", `containers[name="main"].image`, "--force-conflicts"}
	madeBy(t, plane, other, 1, conflict, on("apply", "--field-manager=tests")...)
	madeBy(t, plane, other, 1, append(conflict, "It cannot be planned"), on("apply", "--field-manager=tests", "--explain")...)
	// What create has set is no conflict of apply, until somebody else has set it.
	madeBy(t, plane, other, 0, []string{"  create ReplicaSet web-", "web serverside-applied (server dry run)"}, on("apply", "--explain", "--dry-run=server")...)
	madeBy(t, plane, other, 2, []string{"web serverside-applied", "  create ReplicaSet web-", "cannot pull nginx:404", "Needs action: "}, on("apply", "--explain", "--watch", "--timeout=50s")...)
	plane.Kubectl(t, "-n", namespace, "set", "image", "deployment/web", "main=nginx:405")
	madeBy(t, plane, other, 1, []string{"kubectl-set has set", `containers[name="main"].image`, "--force-conflicts"}, on("apply")...)
	madeBy(t, plane, other, 0, []string{"web serverside-applied"}, on("apply", "--force-conflicts")...)
	madeBy(t, plane, deploymentOf, 0, []string{"web serverside-applied", "All is complete"}, on("apply", "--watch", "--timeout=50s")...)
	madeBy(t, plane, strings.Replace(deploymentOf, "replicas: 2", "replicas: 2\n  minReadySeconds: 300", 1), 1, []string{"not complete after 2s: deployment/web", "loopscope explain deployment/web"}, on("apply", "--watch", "--timeout=2s")...)
}

// TestWatchWithoutAConsole follows by the cluster's own state where no console can be asked.
func TestWatchWithoutAConsole(t *testing.T) {
	t.Parallel()
	plane := upstreamPlane(t)
	namespace := newNamespace(t, clientOf(t, plane), "alone")
	madeBy(t, plane, deploymentOf, 0, []string{"is moving", "web is settled", "All is complete after "}, "create", "--watch", "--timeout=50s", "-n", namespace)
}
