package scale

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/loopscope/loopscope/cmd/sandbox/testplane"
)

const (
	// rollouts is how many Deployments roll at once.
	rollouts = 48
	// restFor is how long a process is measured while nothing happens.
	restFor = time.Minute
)

// TestShadowAtScale prints what `loopscope manager --watch` takes beside Kubernetes' own loops: at its start,
// at rest, and while some dozens of Deployments roll.
func TestShadowAtScale(t *testing.T) {
	sizes := os.Getenv("LOOPSCOPE_SCALE_SHADOW")
	if sizes == "" {
		t.Skip("LOOPSCOPE_SCALE_SHADOW says beside how many Deployments: make scale-shadow")
	}
	plane := testplane.Start(t, testplane.Options{Loops: "upstream", Fast: true, Nodes: 20, Flags: []string{"--loops-qps=500"}})
	have := 0
	for size := range strings.SplitSeq(sizes, ",") {
		n, err := strconv.Atoi(size)
		if err != nil || n <= have {
			t.Fatalf("LOOPSCOPE_SCALE_SHADOW: %q is not a larger number", size)
		}
		began := time.Now()
		fill(t, plane, have, n, 1)
		available(t, plane, n, time.Minute+time.Duration(n-have)*400*time.Millisecond)
		t.Logf("%d Deployments: %d more created and available after %s, load %s", n, n-have, time.Since(began).Round(time.Second), load())
		have = n
		watchAll(t, plane, n)
	}
}

// watchAll starts a process that watches, measures it, and ends it.
func watchAll(t *testing.T, plane *testplane.Plane, n int) {
	began := time.Now()
	w := testplane.Watch(t, plane)
	rest(t, w.Dashboard, n, 10*time.Minute)
	used := took(t, w, fmt.Sprintf("%d at the start, until all were known", n), began, testplane.Usage{})

	began = time.Now()
	testplane.Until(t, 2*restFor, "rest", func() error {
		if left := restFor - time.Since(began); left > 0 {
			return fmt.Errorf("another %s", left)
		}
		return nil
	})
	used = took(t, w, fmt.Sprintf("%d at rest", n), began, used)

	began = time.Now()
	roll(t, plane, n)
	available(t, plane, n, 10*time.Minute)
	rest(t, w.Dashboard, n, 10*time.Minute)
	took(t, w, fmt.Sprintf("%d while %d of them roll", n, rolling(n)), began, used)
	t.Log(w.Settled(t))
	w.Stop(t)
}

func rolling(n int) int { return min(n-1, rollouts) }

// roll gives some Deployments another image.
func roll(t *testing.T, plane *testplane.Plane, n int) {
	t.Helper()
	client := clientOf(t, plane)
	patch := fmt.Sprintf(`{"spec":{"template":{"spec":{"containers":[{"name":"main","image":"nginx:1.%d"}]}}}}`, n)
	for i := range rolling(n) {
		d := newDeployment(1+i*((n-1)/rolling(n)), 1) // not the first, which is stuck
		if _, err := client.AppsV1().Deployments(d.Namespace).Patch(t.Context(), d.Name, types.StrategicMergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
			t.Fatalf("roll %s: %v", d.Name, err)
		}
	}
}

// available waits until every Deployment that can be is complete.
func available(t *testing.T, plane *testplane.Plane, n int, limit time.Duration) {
	t.Helper()
	client, next := clientOf(t, plane), time.Time{}
	testplane.Until(t, limit, "all Deployments are available", func() error {
		if time.Now().Before(next) {
			return fmt.Errorf("not looked at again yet")
		}
		list, err := client.AppsV1().Deployments("").List(t.Context(), metav1.ListOptions{ResourceVersion: "0"})
		if err != nil {
			return err
		}
		next = time.Now().Add(5 * time.Second) // It is a long list.
		done := 0
		for i := range list.Items {
			if st := &list.Items[i].Status; st.ObservedGeneration == list.Items[i].Generation && st.UpdatedReplicas == 1 && st.AvailableReplicas == 1 && st.Replicas == 1 {
				done++
			}
		}
		if want := n - (n+stuckOneIn-1)/stuckOneIn; done < want {
			return fmt.Errorf("%d of %d", done, want)
		}
		return nil
	})
}

// took logs what the process took since a moment at which it had taken so much, and returns what it has taken.
func took(t *testing.T, w *testplane.Watcher, what string, began time.Time, before testplane.Usage) testplane.Usage {
	t.Helper()
	now, passed := w.Usage(t), time.Since(began)
	w.ClearPeak(t)
	cpu := now.CPU - before.CPU
	t.Logf("%s: %s of processor in %s (%.1f%% of one), %d MB resident, %d MB at most, load %s", what, cpu, passed.Round(time.Second), 100*cpu.Seconds()/passed.Seconds(), now.Resident>>20, now.Peak>>20, load())
	return now
}
