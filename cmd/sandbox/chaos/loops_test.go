package chaos_test

import (
	"bufio"
	"context"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/loopscope/loopscope/cmd/internal/app"
	"github.com/loopscope/loopscope/cmd/sandbox/internal/requestlog"
	"github.com/loopscope/loopscope/cmd/sandbox/testplane"
)

// newGround starts a control plane without loops, and counts on it.
func newGround(t *testing.T) *ground {
	t.Helper()
	plane := testplane.Start(t, testplane.Options{Loops: "none"})
	config := plane.Config(t)
	config.AcceptContentTypes, config.ContentType = "application/vnd.kubernetes.protobuf,application/json", "application/vnd.kubernetes.protobuf"
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatalf("build client: %v", err)
	}
	return &ground{plane: plane, client: client, census: newCensus(t, client)}
}

// loops is the program inside this process, with a hand on its wire and its clock.
type loops struct {
	wire  *wire
	clock *wallClock
}

// startLoops runs the program until the test ends.
func startLoops(t *testing.T, config *rest.Config) *loops {
	t.Helper()
	l := &loops{wire: newWire(), clock: &wallClock{}}
	config = rest.CopyConfig(config)
	config.Wrap(l.wire.wrap)
	if err := requestlog.Follow(config); err != nil {
		t.Fatal(err)
	}
	program, err := app.New(app.Options{
		Config: config, Listen: "127.0.0.1:0", QPS: 200, Burst: 400, Clock: l.clock,
		Logger: slog.New(slog.NewTextHandler(io.Discard, nil)),
	})
	if err != nil {
		t.Fatalf("build the program: %v", err)
	}
	if err := program.Start(t.Context()); err != nil {
		t.Fatalf("start the program: %v", err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		if err := program.Stop(ctx); err != nil {
			t.Errorf("stop the program: %v", err)
		}
	})
	return l
}

// manager is the program as a process of its own.
type manager struct {
	cmd    *exec.Cmd
	exited chan struct{}

	mu     sync.Mutex
	output strings.Builder
}

// startManager returns when the process says where its console is.
func startManager(t *testing.T, binary, kubeconfig string) *manager {
	t.Helper()
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatalf("pipe: %v", err)
	}
	m := &manager{exited: make(chan struct{})}
	m.cmd = exec.Command(binary, "manager", "--listen=127.0.0.1:0", "--console-auth=none", "--kube-api-qps=200", "--kube-api-burst=400", "--leader-elect=false", "--kubeconfig="+kubeconfig)
	m.cmd.Stdout, m.cmd.Stderr = writer, writer
	if err := m.cmd.Start(); err != nil {
		t.Fatalf("start loopscope manager: %v", err)
	}
	_ = writer.Close() // the child has its own
	serving := make(chan struct{})
	go m.collect(reader, serving)
	select {
	case <-serving:
	case <-m.exited:
		t.Fatalf("loopscope manager ended:\n%s", m.said())
	case <-time.After(time.Minute):
		m.kill()
		t.Fatalf("loopscope manager does not serve its console:\n%s", m.said())
	}
	return m
}

func (m *manager) collect(output io.ReadCloser, serving chan<- struct{}) {
	defer output.Close()
	lines := bufio.NewScanner(output)
	for lines.Scan() {
		m.mu.Lock()
		m.output.WriteString(lines.Text() + "\n")
		m.mu.Unlock()
		if strings.HasPrefix(lines.Text(), "dashboard: ") {
			close(serving)
		}
	}
	_ = m.cmd.Wait() // it is killed
	close(m.exited)
}

func (m *manager) said() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.output.String()
}

// kill ends it with SIGKILL.
func (m *manager) kill() {
	_ = m.cmd.Process.Kill() // an error means that it has ended already
	<-m.exited
}
