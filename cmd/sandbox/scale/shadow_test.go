package scale

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
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
	// ticks is how many of them a second has in /proc.
	ticks = 100
)

// TestShadowAtScale prints what `loopscope manager --watch` takes beside Kubernetes' own loops: at its start,
// at rest, and while some dozens of Deployments roll.
func TestShadowAtScale(t *testing.T) {
	sizes := os.Getenv("LOOPSCOPE_SCALE_SHADOW")
	if sizes == "" {
		t.Skip("LOOPSCOPE_SCALE_SHADOW says beside how many Deployments: make scale-shadow")
	}
	plane := testplane.Start(t, testplane.Options{Loops: "upstream", Nodes: 20, Flags: []string{"--loops-qps=500"}})
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
	w := startWatcher(t, plane)
	rest(t, w.dashboard, n, 10*time.Minute)
	w.took(t, fmt.Sprintf("%d at the start, until all were known", n), began)

	began = time.Now()
	testplane.Until(t, 2*restFor, "rest", func() error {
		if left := restFor - time.Since(began); left > 0 {
			return fmt.Errorf("another %s", left)
		}
		return nil
	})
	w.took(t, fmt.Sprintf("%d at rest", n), began)

	began = time.Now()
	roll(t, plane, n)
	available(t, plane, n, 10*time.Minute)
	rest(t, w.dashboard, n, 10*time.Minute)
	w.took(t, fmt.Sprintf("%d while %d of them roll", n, rolling(n)), began)
	w.compared(t)
	w.stop(t)
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

// watcher is a process that watches.
type watcher struct {
	cmd       *exec.Cmd
	dashboard string
	cpu       time.Duration // up to the last measurement
}

func startWatcher(t *testing.T, plane *testplane.Plane) *watcher {
	t.Helper()
	binary := os.Getenv("LOOPSCOPE")
	if binary == "" {
		t.Fatal("LOOPSCOPE names no loopscope binary: make scale-shadow")
	}
	w := &watcher{cmd: exec.CommandContext(t.Context(), binary, "manager", "--watch", "--listen=127.0.0.1:0", "--console-auth=none")}
	w.cmd.Env = append(os.Environ(), "KUBECONFIG="+plane.LoopscopeKubeconfig)
	out, err := w.cmd.StdoutPipe()
	if err == nil {
		w.cmd.Stderr = w.cmd.Stdout
		err = w.cmd.Start()
	}
	if err != nil {
		t.Fatalf("start %s: %v", binary, err)
	}
	lines := bufio.NewScanner(out)
	for w.dashboard == "" && lines.Scan() {
		w.dashboard = strings.TrimPrefix(lines.Text(), "dashboard: ")
		if w.dashboard == lines.Text() {
			w.dashboard = ""
		}
	}
	go func() { _, _ = io.Copy(io.Discard, out) }()
	if w.dashboard == "" {
		t.Fatalf("%s serves no console", binary)
	}
	return w
}

func (w *watcher) stop(t *testing.T) {
	t.Helper()
	if err := w.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := w.cmd.Wait(); err != nil {
		t.Errorf("it ended with %v", err)
	}
}

// took logs what the process took since the last measurement, and begins the next one.
func (w *watcher) took(t *testing.T, what string, began time.Time) {
	t.Helper()
	pid := w.cmd.Process.Pid
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Fatal(err)
	}
	fields := strings.Fields(string(b)[strings.LastIndexByte(string(b), ')')+1:])
	user, _ := strconv.Atoi(fields[11])
	system, _ := strconv.Atoi(fields[12])
	cpu := time.Duration(user+system) * time.Second / ticks
	passed := time.Since(began)
	t.Logf("%s: %s of processor in %s (%.1f%% of one), %s resident, %s at most, load %s", what, (cpu - w.cpu).Round(10*time.Millisecond), passed.Round(time.Second),
		100*(cpu-w.cpu).Seconds()/passed.Seconds(), resident(pid), statusOf(pid, "VmHWM:"), load())
	w.cpu = cpu
	if err := os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", pid), []byte("5"), 0o200); err != nil {
		t.Logf("the most that is resident is since the start: %v", err)
	}
}

// compared logs how it compares when no event is open any more.
func (w *watcher) compared(t *testing.T) {
	t.Helper()
	var twin struct {
		Page struct {
			Headline    string
			Differences []struct {
				Reason                                             struct{ Word string }
				What, Namespace, Name, Target, Predicted, Observed string
			}
			Numbers []struct {
				Label string
				Value any
			}
		}
	}
	began := time.Now()
	testplane.Until(t, 2*restFor, "comparison", func() error {
		if left := restFor/2 - time.Since(began); left > 0 {
			return fmt.Errorf("another %s", left)
		}
		if err := json.Unmarshal(fetch(t, w.dashboard+"/shadow.json"), &twin); err != nil {
			return err
		}
		if n := twin.Page.Headline; strings.HasPrefix(n, "Nothing") {
			return fmt.Errorf("%s", n)
		}
		return nil
	})
	t.Logf("compared: %s %v", twin.Page.Headline, twin.Page.Numbers)
	for _, d := range twin.Page.Differences {
		t.Logf("%s, %s, %s/%s %s: predicted %s, observed %s", d.Reason.Word, d.What, d.Namespace, d.Name, d.Target, d.Predicted, d.Observed)
	}
}
