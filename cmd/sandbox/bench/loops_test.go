package bench

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/loopscope/loopscope/cmd/sandbox/testplane"
)

// side is whose loops run.
type side string

const (
	ours     side = "ours"     // with everything on
	upstream side = "upstream" // Kubernetes' own
	bare     side = "bare"     // ours without record, history and reader
	crowd    side = "crowd"    // ours with a hundred readers
	unread   side = "unread"   // ours without one
)

const (
	startLimit = time.Minute
	stopLimit  = 30 * time.Second
)

// loops are one side's loops as a process of their own.
type loops struct {
	side    side
	cmd     *exec.Cmd
	logPath string
	history string // ours keeps it here
	// profiles is the directory of those of our own process, "" for none.
	profiles string
	exited   chan struct{}
	stdin    *os.File // upstream's process ends when the other end of this closes
}

// startLoops runs one side's loops until stop, or the test's end.
func startLoops(t *testing.T, plane *testplane.Plane, who side, s settings) *loops {
	t.Helper()
	l := &loops{side: who, exited: make(chan struct{}), logPath: filepath.Join(t.TempDir(), string(who)+".log")}
	switch who {
	case ours, crowd, unread:
		l.history = filepath.Join(t.TempDir(), "history.db")
		l.cmd = ourCommand(testplane.Loopscope(t), plane, s, "--history="+l.history)
	case bare:
		l.cmd = ourCommand(testplane.Loopscope(t), plane, s, "--untraced", "--history=off")
	default:
		l.cmd = upstreamCommand(plane, s)
	}
	if l.profiles = s.profiles; who == upstream {
		l.profiles = ""
	} else if l.profiles != "" {
		l.cmd.Args = append(l.cmd.Args, "--profiling")
	}
	l.launch(t)
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("output of the loops of %s:\n%s", who, l.said())
		}
		_ = l.stop() // the run has looked at how it ended
		l.record(t)
	})
	return l
}

// record leaves what our loops did in a recording, where one is wanted.
func (l *loops) record(t *testing.T) {
	t.Helper()
	if l.history == "" {
		return
	}
	if path := testplane.RecordingFile(t); path != "" {
		if out, err := exec.Command(l.cmd.Path, "export", "--history", l.history, "-o", path).CombinedOutput(); err != nil {
			t.Errorf("record: %v: %s", err, out)
		}
	}
}

func ourCommand(binary string, plane *testplane.Plane, s settings, more ...string) *exec.Cmd {
	return exec.Command(binary, append([]string{"manager", "--listen=127.0.0.1:0", "--console-auth=none", "--leader-elect=false", "--kubeconfig=" + plane.LoopscopeKubeconfig,
		fmt.Sprintf("--concurrent-deployment-syncs=%d", s.workers), fmt.Sprintf("--concurrent-replicaset-syncs=%d", s.workers), fmt.Sprintf("--concurrent-rc-syncs=%d", s.workers), fmt.Sprintf("--kube-api-qps=%d", s.qps), fmt.Sprintf("--kube-api-burst=%d", s.burst)}, more...)...)
}

// upstreamCommand is what "sandbox --loops=upstream" runs, with the bench's
// limits and without a port, which nobody would ask.
func upstreamCommand(plane *testplane.Plane, s settings) *exec.Cmd {
	return exec.Command(plane.Binary, "__component", "loops",
		"--kubeconfig="+filepath.Join(plane.StateDir, "kube-controller-manager.kubeconfig"),
		"--controllers=deployment-controller,replicaset-controller,replicationcontroller-controller",
		"--use-service-account-credentials=true", "--leader-elect=false", "--profiling=false", "--secure-port=0",
		"--kube-api-content-type=application/vnd.kubernetes.protobuf",
		fmt.Sprintf("--kube-api-qps=%d", s.qps), fmt.Sprintf("--kube-api-burst=%d", s.burst),
		fmt.Sprintf("--concurrent-deployment-syncs=%d", s.workers), fmt.Sprintf("--concurrent-replicaset-syncs=%d", s.workers),
		fmt.Sprintf("--concurrent-rc-syncs=%d", s.workers))
}

// launch starts the process. Its descriptor 3 is the read end of a pipe: the
// sandbox's components end with whoever holds the other one.
func (l *loops) launch(t *testing.T) {
	t.Helper()
	log, err := os.Create(l.logPath)
	if err != nil {
		t.Fatalf("create log: %v", err)
	}
	defer log.Close() // the child has its own
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatalf("pipe: %v", err)
	}
	defer reader.Close()
	l.stdin = writer
	l.cmd.Stdout, l.cmd.Stderr, l.cmd.ExtraFiles = log, log, []*os.File{reader}
	if err := l.cmd.Start(); err != nil {
		t.Fatalf("start the loops of %s: %v", l.side, err)
	}
	go func() {
		_ = l.cmd.Wait() // a signal ends it
		close(l.exited)
	}()
}

// dashboard is the console's address, as soon as our process has printed it.
func (l *loops) dashboard(t *testing.T) string {
	t.Helper()
	var url string
	testplane.Until(t, startLimit, "console of our loops", func() error {
		_, rest, found := strings.Cut("\n"+l.said(), "\ndashboard: ")
		url, _, _ = strings.Cut(rest, "\n")
		if !found {
			return errors.New("no line with its address yet")
		}
		return nil
	})
	return url
}

func (l *loops) said() string {
	text, _ := os.ReadFile(l.logPath) // for a person; nothing depends on it
	return string(text)
}

// stop asks the process to end, and kills it if it does not. A process that had
// ended before is an error: it cannot have done its work to the end.
func (l *loops) stop() error {
	select {
	case <-l.exited:
		return fmt.Errorf("the loops of %s have ended: %v", l.side, l.cmd.ProcessState)
	default:
	}
	_ = l.cmd.Process.Signal(syscall.SIGTERM) // an error means that it has just ended
	select {
	case <-l.exited:
	case <-time.After(stopLimit):
		_ = l.cmd.Process.Kill()
		<-l.exited
	}
	return l.stdin.Close()
}

// used is what the process has taken so far.
func (l *loops) used(t *testing.T) testplane.Usage {
	t.Helper()
	select {
	case <-l.exited:
		t.Fatalf("the loops of %s have ended:\n%s", l.side, l.said())
	default:
	}
	return testplane.UsageOf(t, l.cmd.Process.Pid)
}
