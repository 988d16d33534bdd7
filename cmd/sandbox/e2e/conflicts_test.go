package e2e_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/loopscope/loopscope/cmd/sandbox/testplane"
)

// TestNoConflicts counts what our user agents wrote, in a namespace in which
// everybody else waits until a Deployment has settled before it is changed.
func TestNoConflicts(t *testing.T) {
	t.Parallel()
	plane := ownPlane(t)
	client := clientOf(t, plane.Plane)
	namespace := newNamespace(t, client, "quiet")
	names := make([]string, 6)
	for i := range names {
		w := oneByOne(fmt.Sprintf("quiet-%d", i), int32(2+i*2), time.Duration(i%3)*500*time.Millisecond)
		names[i] = w.name
		create(t, client, namespace, w)
	}
	rollouts := 0
	for _, change := range []string{
		"", // the creation itself
		`{"spec":{"template":{"spec":{"containers":[{"name":"main","image":"shop:v2"}]}}}}`,
		`{"spec":{"replicas":7}}`,
		`{"spec":{"template":{"spec":{"containers":[{"name":"main","image":"shop:v3"}]}}}}`,
		`{"spec":{"replicas":3}}`,
	} {
		for _, name := range names {
			if change != "" {
				patchDeployment(t, client, namespace, name, change)
			}
			rollouts++
		}
		for _, name := range names {
			waitQuiet(t, client, namespace, name)
		}
	}
	log := readAudit(t, plane.AuditPath)
	quiet := of(log, inNamespace(namespace))
	ours := of(quiet, (*request).ours)
	t.Logf("our requests in %d changes of %d Deployments:\n%s", rollouts, len(names), tabulate(ours))
	t.Logf("our requests in the whole log so far, busy namespaces included:\n%s", tabulate(of(log, (*request).ours)))
	checkAgents(t, ours)
	noConflicts(t, plane.AuditPath, namespace)
	for _, resource := range []string{"deployments/status", "replicasets/status", "replicasets"} {
		n := len(of(ours, func(r *request) bool { return r.resource() == resource && r.write() && r.taken() }))
		if n == 0 {
			t.Errorf("no write to %s is in the audit log", resource)
		}
		t.Logf("%s: %d writes, %.1f for each change of a Deployment", resource, n, float64(n)/float64(rollouts))
	}
}

// checkAgents sees that the writes to these objects are those of our two loops.
func checkAgents(t *testing.T, ours []request) {
	t.Helper()
	agents := map[string]int{}
	for i := range ours {
		if ours[i].write() {
			agents[ours[i].UserAgent]++
		}
	}
	t.Logf("writes by user agent: %v", agents)
	for _, loop := range []string{"deployment-controller", "replicaset-controller"} {
		found := false
		for agent := range agents {
			found = found || strings.HasSuffix(agent, " "+loop)
		}
		if !found {
			t.Errorf("no write by a user agent %q among %v", "loopscope/VERSION "+loop, agents)
		}
	}
}

// TestConflictsAreTold checks the counting itself: a 409 after another writer is
// explained, one after a write of our own is not.
func TestConflictsAreTold(t *testing.T) {
	t.Parallel()
	line := func(agent string, code int, basis, rv string) request {
		var r request
		r.Verb, r.UserAgent, r.ResponseStatus.Code = "update", agent, code
		r.ObjectRef.Resource, r.ObjectRef.Name = "deployments", "web"
		r.RequestObject.Metadata.ResourceVersion, r.ResponseObject.Metadata.ResourceVersion = basis, rv
		return r
	}
	for _, c := range []struct {
		name                 string
		log                  []request
		explained, ownMaking int
	}{
		{"none", []request{line("loopscope/x", 200, "1", "2")}, 0, 0},
		{"another writer", []request{line("kubectl", 200, "1", "2"), line("loopscope/x", 409, "1", "")}, 1, 0},
		{"another writer long ago", []request{line("kubectl", 200, "1", "2"), line("loopscope/x", 409, "2", "")}, 0, 1},
		{"our own write", []request{line("loopscope/x", 200, "1", "2"), line("loopscope/x", 409, "1", "")}, 0, 1},
		{"another writer that failed", []request{line("kubectl", 409, "1", "5"), line("loopscope/x", 409, "1", "")}, 0, 1},
		{"somebody else's conflict", []request{line("kubectl", 409, "1", "")}, 0, 0},
	} {
		explained, ownMaking := conflicts(c.log)
		if len(explained) != c.explained || len(ownMaking) != c.ownMaking {
			t.Errorf("%s: %d explained and %d of our own making, want %d and %d", c.name, len(explained), len(ownMaking), c.explained, c.ownMaking)
		}
	}
	killed := time.Now()
	at := func(seconds time.Duration, name string) request {
		r := line("loopscope/x", 409, "1", "")
		r.ObjectRef.Name, r.StageTimestamp = name, killed.Add(seconds*time.Second)
		return r
	}
	log := []request{at(-1, "web"), at(1, "web"), at(2, "web"), at(3, "api")}
	for i, want := range []bool{false, true, false, true} {
		if got := firstSince(killed)(log, &log[i]); got != want {
			t.Errorf("conflict %d of %s is excused by the kill: %t", i, log[i].object(), got)
		}
	}
}

// TestContests: of two tools that set one size back and forth, both are named; and that somebody
// deletes pods, and those that replace them, is told.
func TestContests(t *testing.T) {
	t.Parallel()
	plane := ownPlane(t)
	client := clientOf(t, plane.Plane)
	namespace := newNamespace(t, client, "fight")
	create(t, client, namespace, oneByOne("web", 2, 0))
	waitSettled(t, client, namespace, "web")
	says := func(what string) error {
		var twin struct {
			Page struct {
				Head struct{ Sentence string }
			}
		}
		fetchJSON(t, plane.Dashboard+"/deployments/"+namespace+"/web.json", &twin)
		if said := twin.Page.Head.Sentence; !strings.Contains(said, "is waiting: "+what) {
			return fmt.Errorf("it says %q", said)
		}
		return nil
	}
	testplane.Until(t, settleLimit, "that somebody deletes pods", func() error {
		pods, err := client.CoreV1().Pods(namespace).List(t.Context(), metav1.ListOptions{LabelSelector: "app=web"})
		if err != nil {
			t.Fatal(err)
		}
		for i := range pods.Items {
			if err := client.CoreV1().Pods(namespace).Delete(t.Context(), pods.Items[i].Name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
				t.Fatal(err)
			}
		}
		return says("somebody keeps deleting its pods: ")
	})
	testplane.Until(t, settleLimit, "both tools", func() error {
		for _, by := range []struct{ tool, size string }{{"autoscaler", "3"}, {"helm", "2"}} {
			_, err := client.AppsV1().Deployments(namespace).Patch(t.Context(), "web", types.MergePatchType, []byte(`{"spec":{"replicas":`+by.size+`}}`), metav1.PatchOptions{FieldManager: by.tool})
			if err != nil {
				t.Fatal(err)
			}
		}
		return says("autoscaler and helm scale it back and forth between 2 and 3: ")
	})
}
