package e2e_test

import (
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/loopscope/loopscope/cmd/sandbox/testplane"
)

// TestWatcherCatchesAWrongLoop shows that TestRolloutBounds can fail: it runs
// the real loops, which are told that one Deployment may surge by one more than
// it says, and expects the watcher to name that Deployment and no other.
func TestWatcherCatchesAWrongLoop(t *testing.T) {
	t.Parallel()
	plane := testplane.Start(t, testplane.Options{Loops: "none", Nodes: 1})
	client := clientOf(t, plane)
	runLoops(t, plane.LoopscopeConfig(t), surgeOneMore("wrong"))
	namespace := newNamespace(t, client, "wrong")
	watched := record(t, client, namespace)
	for _, name := range []string{"wrong", "right"} {
		create(t, client, namespace, oneByOne(name, 5, 500*time.Millisecond))
	}
	for _, name := range []string{"wrong", "right"} {
		waitSettled(t, client, namespace, name)
		setImage(t, client, namespace, name, "shop:v2")
	}
	for _, name := range []string{"wrong", "right"} {
		waitSettled(t, client, namespace, name)
	}
	caught := replay(watched.until(t, client, namespace)).breaches
	if len(caught) == 0 {
		t.Fatal("the watcher saw nothing wrong with a loop that surges by one too many")
	}
	t.Logf("%d breaches, the first: %s", len(caught), caught[0])
	for _, b := range caught {
		if b.deployment != "wrong" || !strings.Contains(b.text, "together 7, over the ceiling of 6") {
			t.Errorf("breach %q, want only sizes of 7 over a ceiling of 6, of Deployment wrong", b)
		}
	}
}

// surgeOneMore lies to the loops about one Deployment.
func surgeOneMore(name string) func(any) (any, error) {
	return func(object any) (any, error) {
		d, ok := object.(*appsv1.Deployment)
		if !ok || d.Name != name {
			return object, nil
		}
		more := intstr.FromInt32(d.Spec.Strategy.RollingUpdate.MaxSurge.IntVal + 1)
		d.Spec.Strategy.RollingUpdate.MaxSurge = &more
		return d, nil
	}
}
