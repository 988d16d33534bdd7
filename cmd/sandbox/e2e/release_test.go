package e2e_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/loopscope/loopscope/cmd/sandbox/testplane"
)

// TestRulesFollowTheRelease: statuses have the number of terminating pods if the release of the API
// server has it, no sync writes one for want of it, and About says which release that is ([C-3]).
func TestRulesFollowTheRelease(t *testing.T) {
	t.Parallel()
	plane := ownPlane(t).Plane
	client := clientOf(t, plane)
	server, err := client.Discovery().ServerVersion()
	if err != nil {
		t.Fatal(err)
	}
	minor, err := strconv.Atoi(strings.TrimSuffix(server.Minor, "+"))
	if err != nil {
		t.Fatal(err)
	}
	namespace := newNamespace(t, client, "release")
	create(t, client, namespace, oneByOne("web", 2, 0))
	waitSettled(t, client, namespace, "web")
	setImage(t, client, namespace, "web", "shop:v2")
	waitQuiet(t, client, namespace, "web")
	counted := minor >= 35
	d, err := client.AppsV1().Deployments(namespace).Get(t.Context(), "web", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if (d.Status.TerminatingReplicas != nil) != counted {
		t.Errorf("beside %s the Deployment has %v terminating pods", server.GitVersion, d.Status.TerminatingReplicas)
	}
	for _, rs := range replicaSets(t, client, namespace) {
		if (rs.Status.TerminatingReplicas != nil) != counted {
			t.Errorf("beside %s %s has %v terminating pods", server.GitVersion, rs.Name, rs.Status.TerminatingReplicas)
		}
	}
	before := len(of(readAudit(t, plane.AuditPath), statusWriteIn(namespace)))
	for i := range 3 { // Each wakes the syncs of the new ReplicaSet, too, whose generation stays.
		annotate(t, plane, namespace, "round", strconv.Itoa(i))
	}
	if after := of(readAudit(t, plane.AuditPath), statusWriteIn(namespace)); len(after) != before {
		t.Errorf("%d statuses were written that say nothing new: %s", len(after)-before, tabulate(after))
	}
	if _, about := fetch(t, plane.Dashboard+"/about"); !strings.Contains(about, server.GitVersion) || strings.Contains(about, "Rules in Kubernetes") != (minor < 36) {
		t.Errorf("About does not say that the API server is %s", server.GitVersion)
	}
}

// statusWriteIn reports whether a request writes the status of a ReplicaSet in a namespace.
func statusWriteIn(namespace string) func(*request) bool {
	return func(r *request) bool {
		return r.write() && r.ObjectRef.Namespace == namespace && r.resource() == "replicasets/status"
	}
}

// annotate annotates a Deployment, and waits until its ReplicaSets have that, too.
func annotate(t *testing.T, plane *testplane.Plane, namespace, key, value string) {
	t.Helper()
	client := clientOf(t, plane)
	patch := fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, key, value)
	if _, err := client.AppsV1().Deployments(namespace).Patch(t.Context(), "web", types.MergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	testplane.Until(t, settleLimit, "annotation of the new ReplicaSet", func() error {
		for _, rs := range replicaSets(t, client, namespace) {
			if rs.Annotations[key] == value {
				return nil
			}
		}
		return fmt.Errorf("none has %s=%s", key, value)
	})
}
