package e2e_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/loopscope/loopscope/cmd/sandbox/testplane"
)

// TestGracefulStop ends, by SIGTERM and in the middle of their work, a sandbox
// and a manager beside its cluster.
func TestGracefulStop(t *testing.T) {
	t.Parallel()
	t.Run("sandbox", func(t *testing.T) {
		t.Parallel()
		plane := testplane.Start(t, testplane.Options{Loops: "own", Demo: true})
		atWork(t, plane)
		checkStop(t, plane)
		if out := plane.Output(); !strings.Contains(out, "stopped in ") || strings.Contains(out, "panic") {
			t.Errorf("the sandbox printed\n%s", out)
		}
	})
	t.Run("manager", func(t *testing.T) {
		t.Parallel()
		plane := testplane.Start(t, testplane.Options{Loops: "none", Demo: true, Nodes: 1})
		m := startManager(t, plane.LoopscopeKubeconfig)
		if status, text := fetch(t, m.Dashboard+"/livez"); status != http.StatusOK {
			t.Errorf("/livez: %d %s", status, text)
		}
		atWork(t, plane)
		began := time.Now()
		if err := m.stop(15 * time.Second); err != nil {
			t.Errorf("the manager ended with %v, want success\n%s", err, m.said())
		}
		t.Logf("the manager stopped in %.1f s", time.Since(began).Seconds())
		checkSilent(t, m.Dashboard)
		checkStop(t, plane)
	})
}

// atWork waits until the demo has begun to move.
func atWork(t *testing.T, plane *testplane.Plane) {
	t.Helper()
	waitFor(t, clientOf(t, plane), "demo", "rolling", "start", func(d *appsv1.Deployment) error {
		if d.Status.Replicas == 0 {
			return errors.New("no pod yet")
		}
		return nil
	})
}
