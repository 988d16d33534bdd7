package e2e_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/loopscope/loopscope/cmd/sandbox/testplane"
)

const (
	// firstSyncWithin bounds the time from the start of a manager to its first sync, where nothing
	// else runs, and largestBinary its size in bytes.
	firstSyncWithin = 2 * time.Second
	largestBinary   = 90 << 20
	// benchPods are in each of the Deployments that roll out while a standby follows.
	benchPods = 6
)

// TestManagerCosts prints how soon a manager works, how large it is, and what one costs that stands
// by and follows the leader while Deployments roll out: a few as a sample, thirty to quote the figures
// of (make leaders).
func TestManagerCosts(t *testing.T) {
	deployments, sample := 30, os.Getenv("LOOPSCOPE_LEADERS") == ""
	if sample {
		deployments = 3
		t.Parallel()
	}
	file, err := os.Stat(testplane.Loopscope(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("the binary has %.1f MB", float64(file.Size())/1e6)
	if file.Size() >= largestBinary {
		t.Errorf("it has %d bytes, want less than %d", file.Size(), largestBinary)
	}
	plane := testplane.Start(t, testplane.Options{Loops: "none"})
	e := &electors{plane: plane, client: clientOf(t, plane)}
	namespace := newNamespace(t, e.client, "costs")
	for i := range deployments {
		create(t, e.client, namespace, oneByOne(fmt.Sprintf("web-%d", i), benchPods, 0))
	}
	began := time.Now()
	e.start(t)
	testplane.Until(t, time.Minute, "first sync", func() error { return e.members[0].synced() })
	took := time.Since(began)
	t.Logf("the first sync was there %s after the start of the process", took.Round(time.Millisecond))
	if took > firstSyncWithin && !sample {
		t.Errorf("that is more than %s", firstSyncWithin)
	}
	e.start(t)
	began = time.Now()
	for _, image := range []string{"", "shop:v2", "shop:v3"} {
		for i := range deployments {
			if name := fmt.Sprintf("web-%d", i); image != "" {
				setImage(t, e.client, namespace, name, image)
			}
		}
		for i := range deployments {
			waitSettled(t, e.client, namespace, fmt.Sprintf("web-%d", i))
		}
	}
	leader, others := e.show(t)
	over := time.Since(began)
	for what, m := range map[string]*member{"standby": others[0], "leader": leader} {
		if err := m.stop(30 * time.Second); err != nil {
			t.Error(err)
		}
		state := m.cmd.ProcessState
		used, is := state.SysUsage().(*syscall.Rusage)
		if !is {
			t.Fatalf("nothing is known of what the %s used", what)
		}
		cpu := state.UserTime() + state.SystemTime()
		t.Logf("the %s of %d Deployments of %d pods in two rollouts, %s long: %d MB at most, %s of CPU, %.1f %% of one", what, deployments, benchPods,
			over.Round(time.Second), used.Maxrss>>10, cpu.Round(10*time.Millisecond), 100*cpu.Seconds()/over.Seconds())
	}
}

// synced is nil once a manager has recorded a sync.
func (m *manager) synced() error {
	var list struct{ Page struct{ Last uint64 } }
	body, err := m.page("/debug/controllers", "application/json")
	if err == nil {
		err = json.Unmarshal([]byte(body), &list)
	}
	if err == nil && list.Page.Last == 0 {
		err = errors.New("not yet")
	}
	return err
}
