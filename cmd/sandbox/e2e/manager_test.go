package e2e_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/loopscope/loopscope/cmd/sandbox/testplane"
)

// manager is `loopscope manager` as a process of its own.
type manager struct {
	Dashboard string

	cmd    *exec.Cmd
	exited chan struct{}
	err    error // how it ended; read after exited is closed
	mu     sync.Mutex
	output strings.Builder
}

// startManager runs `loopscope manager` until the test ends and returns when it
// serves its console.
func startManager(t testplaneT, kubeconfig string, flags ...string) *manager {
	t.Helper()
	return startConsole(t, exec.Command(testplane.Loopscope(t), append([]string{"manager", "--listen=127.0.0.1:0", "--console-auth=none"}, flags...)...), "KUBECONFIG="+kubeconfig)
}

// startConsole runs a command that serves a console until the test ends, and returns when it does.
func startConsole(t testplaneT, cmd *exec.Cmd, environment ...string) *manager {
	t.Helper()
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatalf("pipe: %v", err)
	}
	m := &manager{cmd: cmd, exited: make(chan struct{})}
	m.cmd.Env = append(os.Environ(), environment...)
	m.cmd.Stdout, m.cmd.Stderr = writer, writer
	if err := m.cmd.Start(); err != nil {
		t.Fatalf("start %s: %v", cmd, err)
	}
	_ = writer.Close() // the child has its own
	serving := make(chan string, 1)
	go m.collect(reader, serving)
	t.Cleanup(func() {
		_ = m.stop(30 * time.Second) // its end is checked by the test that is about it
		if t.Failed() {
			t.Logf("output of %s:\n%s", cmd, m.said())
		}
	})
	select {
	case m.Dashboard = <-serving:
	case <-m.exited:
		t.Fatalf("%s ended: %v\n%s", cmd, m.err, m.said())
	case <-time.After(time.Minute):
		t.Fatalf("%s does not serve its console:\n%s", cmd, m.said())
	}
	return m
}

func (m *manager) collect(output io.ReadCloser, serving chan<- string) {
	defer output.Close()
	lines := bufio.NewScanner(output)
	for lines.Scan() {
		m.mu.Lock()
		m.output.WriteString(lines.Text() + "\n")
		m.mu.Unlock()
		if url, found := strings.CutPrefix(lines.Text(), "dashboard: "); found {
			serving <- url
		}
	}
	m.err = m.cmd.Wait()
	close(m.exited)
}

func (m *manager) said() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.output.String()
}

// stop asks it to end, as Ctrl-C does, kills it after limit, and returns how it ended.
func (m *manager) stop(limit time.Duration) error {
	_ = m.cmd.Process.Signal(syscall.SIGTERM) // an error means that it has ended already
	select {
	case <-m.exited:
		return m.err
	case <-time.After(limit):
		_ = m.cmd.Process.Kill()
		<-m.exited
		return errors.Join(errors.New("it did not end within "+limit.String()), m.err)
	}
}

// managed is a cluster without loops, and Loopscope beside it.
type managed struct {
	*testplane.Plane
	*manager
}

// managedPlane has its loops in a process of their own, with their own
// credentials, and with limits that let many rollouts run at once.
var managedPlane = shared(func(s *suite) *managed {
	plane := testplane.Start(s, testplane.Options{Loops: "none", Audit: true})
	return &managed{plane, startManager(s, plane.LoopscopeKubeconfig, "--kube-api-qps=200", "--kube-api-burst=400")}
})

// loopscope runs one command of the loopscope binary and returns what it printed.
func loopscope(ctx context.Context, t testing.TB, kubeconfig string, args ...string) (out, errOut string, err error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, testplane.Loopscope(t), args...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+kubeconfig)
	var stdout, stderr strings.Builder
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err = cmd.Run()
	return stdout.String(), stderr.String(), err
}
