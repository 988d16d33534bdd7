package e2e_test

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/loopscope/loopscope/cmd/sandbox/testplane"
)

// ended is a command that has to end with a code and say words.
func (m *moves) ended(t *testing.T, kubeconfig string, code int, words []string, args ...string) {
	t.Helper()
	out, errOut, err := loopscope(t.Context(), t, kubeconfig, append(args, "-n", m.namespace)...)
	got := 0
	if exit := new(exec.ExitError); errors.As(err, &exit) {
		got = exit.ExitCode()
	} else if err != nil {
		t.Fatalf("%v: %v", args, err)
	}
	if got != code {
		t.Errorf("%v ended with %d, want %d:\n%s%s", args, got, code, out, errOut)
	}
	for _, want := range words {
		if !strings.Contains(out+errOut, want) {
			t.Errorf("%v does not say %q:\n%s%s", args, want, out, errOut)
		}
	}
}

// TestMigrateMeetsOthers: whoever scales, pauses, deletes or updates something between two steps is
// met with a sentence or a way on, and no pod goes.
func TestMigrateMeetsOthers(t *testing.T) {
	t.Parallel()
	eachLoops(t, func(t *testing.T, plane *testplane.Plane) {
		m := newMoves(t, plane, 5, 2)
		for i, test := range []func(*testing.T, *moves, string){scaledBeforeTheEnd, pausedByTheUser, withoutReplicaSet, scalerMoved, ownedByAnother} {
			name := fmt.Sprintf("rc-%d", i)
			t.Run(name, func(t *testing.T) { test(t, m, name) })
		}
	})
}

// scaledBeforeTheEnd scales the ReplicationController after the last look at it and before its deletion.
func scaledBeforeTheEnd(t *testing.T, m *moves, name string) {
	m.run(t, "rc/"+name, "--write", "--keep-rc")
	var mu sync.Mutex
	deletions := 0
	kubeconfig := behindProxy(t, m.config, func(w http.ResponseWriter, r *http.Request, on http.Handler) {
		if r.Method == http.MethodDelete {
			mu.Lock()
			if deletions++; deletions == 1 {
				m.plane.Kubectl(t, "-n", m.namespace, "scale", "rc", name, "--replicas=1")
			}
			mu.Unlock()
		}
		on.ServeHTTP(w, r)
	})
	m.ended(t, kubeconfig, 2, []string{"has pods again, as somebody has scaled it to 1", "scale rc " + name + " --replicas=0"}, "migrate", "rc/"+name, "--write")
	m.ended(t, m.plane.Kubeconfig, 2, []string{"as somebody has scaled it to 1"}, "migrate", "rc/"+name)
	m.plane.Kubectl(t, "-n", m.namespace, "scale", "rc", name, "--replicas=0")
	testplane.Until(t, settleLimit, "the pod that the scaling has made is gone", func() error {
		list, err := m.client.CoreV1().Pods(m.namespace).List(t.Context(), metav1.ListOptions{LabelSelector: madeByScaling})
		if err == nil && len(list.Items) > 0 {
			err = fmt.Errorf("%d are there", len(list.Items))
		}
		return err
	})
	m.run(t, "rc/"+name, "--write")
	m.moved(t, name)
}

// pausedByTheUser pauses the Deployment, which the last step leaves so. What rolling updates have
// written on the ReplicationController is not taken over, and none can be asked for.
func pausedByTheUser(t *testing.T, m *moves, name string) {
	m.plane.Kubectl(t, "-n", m.namespace, "annotate", "rc", name, `rollingupdate.loopscope.dev/result={"id":"x"}`, "kubectl.kubernetes.io/original-replicas=2", "team=a")
	m.run(t, "rc/"+name, "--write", "--keep-rc")
	m.ended(t, m.plane.Kubeconfig, 1, []string{"the pods of " + name + " belong to Deployment " + name + " since", "set image deployment/" + name + " main=IMAGE"}, "rolling-update", name, "--image=shop:v2", "--dry-run")
	m.plane.Kubectl(t, "-n", m.namespace, "rollout", "pause", "deployment/"+name)
	m.ended(t, m.plane.Kubeconfig, 0, []string{"and stays paused, as somebody has paused it"}, "migrate", "rc/"+name, "--write")
	d, err := m.client.AppsV1().Deployments(m.namespace).Get(t.Context(), name, metav1.GetOptions{})
	if err != nil || !d.Spec.Paused {
		t.Fatalf("the Deployment is %+v, %v", d, err)
	}
	if got := slices.Sorted(maps.Keys(d.Annotations)); !slices.Equal(got, []string{"deployment.kubernetes.io/revision", "loopscope.dev/migrated-from", "team"}) {
		t.Errorf("it has the annotations %v", got)
	}
	m.plane.Kubectl(t, "-n", m.namespace, "rollout", "resume", "deployment/"+name)
	m.moved(t, name)
}

// withoutReplicaSet deletes the ReplicaSet of a Deployment that is paused, without its pods.
func withoutReplicaSet(t *testing.T, m *moves, name string) {
	m.run(t, "rc/"+name, "--write", "--keep-rc")
	m.plane.Kubectl(t, "-n", m.namespace, "rollout", "pause", "deployment/"+name)
	m.plane.Kubectl(t, "-n", m.namespace, "delete", "rs", "-l", "app="+name, "--cascade=orphan", "--wait")
	m.run(t, "rc/"+name, "--write", "--undo")
	m.asBefore(t, name)
}

// scalerMoved points an autoscaler there and back.
func scalerMoved(t *testing.T, m *moves, name string) {
	m.plane.Kubectl(t, "-n", m.namespace, "autoscale", "rc", name, "--min=2", "--max=2")
	scales := func(want string) {
		t.Helper()
		if got := m.plane.Kubectl(t, "-n", m.namespace, "get", "hpa", name, "-o", "jsonpath={.spec.scaleTargetRef.apiVersion} {.spec.scaleTargetRef.kind}"); got != want {
			t.Errorf("it scales %s, want %s", got, want)
		}
	}
	m.ended(t, m.plane.Kubeconfig, 0, []string{"--move-autoscaler points it to the Deployment"}, "migrate", "rc/"+name)
	m.ended(t, m.plane.Kubeconfig, 0, []string{"Point 1 HorizontalPodAutoscaler to the Deployment", "scaleTargetRef ReplicationController/" + name + " -> Deployment/" + name}, "migrate", "rc/"+name, "--move-autoscaler")
	scales("v1 ReplicationController")
	m.run(t, "rc/"+name, "--write", "--keep-rc", "--move-autoscaler")
	scales("apps/v1 Deployment")
	m.run(t, "rc/"+name, "--write", "--undo")
	scales("v1 ReplicationController")
	m.asBefore(t, name)
	m.run(t, "rc/"+name, "--write", "--move-autoscaler")
	scales("apps/v1 Deployment")
	m.moved(t, name)
}

// ownedByAnother is left alone, as its owner would put back what is changed.
func ownedByAnother(t *testing.T, m *moves, name string) {
	m.plane.Kubectl(t, "-n", m.namespace, "patch", "rc", name, "--type=merge", "-p",
		`{"metadata":{"ownerReferences":[{"apiVersion":"apps.openshift.io/v1","kind":"DeploymentConfig","name":"shop","uid":"0b1c","controller":true}]}}`)
	m.ended(t, m.plane.Kubeconfig, 2, []string{"DeploymentConfig shop controls ReplicationController " + name}, "migrate", "rc/"+name, "--write")
	m.asBefore(t, name)
}

const unusualControllers = `
apiVersion: v1
kind: ReplicationController
metadata: {name: defaulted}
spec:
  replicas: 2
  minReadySeconds: 1
  template:
    metadata: {labels: {app: defaulted, track: stable}}
    spec: {containers: [{name: main, image: "shop:v1"}]}
---
apiVersion: v1
kind: ReplicationController
metadata: {name: wider}
spec:
  replicas: 2
  selector: {app: wider}
  minReadySeconds: 700
  template:
    metadata: {labels: {app: wider, track: stable}}
    spec: {containers: [{name: main, image: "shop:v1"}]}
`

// TestMigrateUnusual moves one whose selector the API server has filled in, one whose template has
// more labels than its selector and a wait beyond a Deployment's usual deadline, and one that a quota stops.
func TestMigrateUnusual(t *testing.T) {
	t.Parallel()
	eachLoops(t, func(t *testing.T, plane *testplane.Plane) {
		m := &moves{plane: plane, client: clientOf(t, plane), config: plane.Config(t)}
		m.namespace = newNamespace(t, m.client, "unusual")
		plane.KubectlInput(t, unusualControllers, "-n", m.namespace, "create", "-f", "-")
		for _, name := range []string{"defaulted", "wider"} {
			plane.Kubectl(t, "-n", m.namespace, "wait", "rc/"+name, "--for=jsonpath={.status.readyReplicas}=2", "--timeout=50s")
			m.ended(t, plane.Kubeconfig, 0, []string{"2 pods are the same as before, none was restarted"}, "migrate", "rc/"+name, "--write")
		}
		d, err := m.client.AppsV1().Deployments(m.namespace).Get(t.Context(), "wider", metav1.GetOptions{})
		if err != nil || d.Spec.MinReadySeconds != 700 || *d.Spec.ProgressDeadlineSeconds != 1300 || len(d.Spec.Selector.MatchLabels) != 1 || d.Spec.Template.Labels["track"] != "stable" {
			t.Errorf("%+v, %v", d, err)
		}
		if d, err = m.client.AppsV1().Deployments(m.namespace).Get(t.Context(), "defaulted", metav1.GetOptions{}); err != nil || len(d.Spec.Selector.MatchLabels) != 2 || d.Spec.MinReadySeconds != 1 {
			t.Errorf("%+v, %v", d, err)
		}
		plane.Kubectl(t, "-n", m.namespace, "create", "quota", "few", "--hard=pods=5")
		plane.Kubectl(t, "-n", m.namespace, "wait", "quota/few", "--for=jsonpath={.status.used.pods}=4", "--timeout=30s")
		plane.KubectlInput(t, loneController, "-n", m.namespace, "create", "-f", "-")
		plane.Kubectl(t, "-n", m.namespace, "wait", "rc/rc", "--for=condition=ReplicaFailure", "--timeout=50s")
		testplane.Until(t, settleLimit, "a plan that names the quota", func() error {
			out, _, _ := loopscope(t.Context(), t, plane.Kubeconfig, "migrate", "rc/rc", "-n", m.namespace)
			if !strings.Contains(out, "it wants 3 pods, has 1, and its status says 1; its last attempt failed: pods") || !strings.Contains(out, "exceeded quota: few") {
				return errors.New(out)
			}
			return nil
		})
	})
}
