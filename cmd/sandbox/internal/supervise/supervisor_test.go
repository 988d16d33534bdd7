package supervise

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/clock"
)

// childArgument makes this test binary one of the tiny children below.
const childArgument = "__child"

// Tiny children of the tests: this test binary starts itself for them.
var testChildren = map[string]func(){
	"steady": func() {
		fmt.Println("steady is up")
		select {}
	},
	"polite": func() {
		stop := make(chan os.Signal, 1)
		signal.Notify(stop, syscall.SIGTERM)
		fmt.Println("polite is up")
		<-stop
		fmt.Println("polite says goodbye")
	},
	"deaf": func() {
		signal.Ignore(syscall.SIGTERM)
		fmt.Println("deaf is up")
		select {}
	},
	"counting": func() {
		fmt.Println("counting has", runtime.GOMAXPROCS(0), "of the processors")
		select {}
	},
	"failing": func() { os.Exit(3) },
}

// TestMain turns the process into a child when the supervisor has started it.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == childArgument {
		ExitWithParent()
		testChildren[os.Args[2]]()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// lines collects what a supervisor reports.
type lines struct {
	mu  sync.Mutex
	all []string
}

func (l *lines) add(line string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, line)
}

// Write makes lines a terminal.
func (l *lines) Write(data []byte) (int, error) {
	l.add(string(data))
	return len(data), nil
}

func (l *lines) text() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Join(l.all, "\n")
}

// supervised is a supervisor with children that have said that they are up.
func supervised(t *testing.T, names ...string) (*Supervisor, *lines, string) {
	t.Helper()
	executable, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	reported, dir := &lines{}, t.TempDir()
	s, err := New(Options{Command: []string{executable, childArgument}, Clock: clock.RealClock{}, Report: reported.add})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Stop(t.Context(), 0) })
	for _, name := range names {
		s.Start(Spec{Name: name, Log: filepath.Join(dir, name)})
	}
	for _, name := range names {
		if name != "failing" {
			awaitLog(t, filepath.Join(dir, name), name+" is up", 1)
		}
	}
	return s, reported, dir
}

// until asks check again and again, and fails the test with its last error if
// it is not satisfied in time.
func until(t *testing.T, limit time.Duration, what string, check func() error) {
	t.Helper()
	deadline := time.After(limit)
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	for err := check(); err != nil; err = check() {
		select {
		case <-ticker.C:
		case <-deadline:
			t.Fatalf("%s: not within %s: %v", what, limit, err)
		}
	}
}

func processExists(pid int) bool { return syscall.Kill(pid, 0) == nil }

// awaitLog waits until a log holds text at least count times.
func awaitLog(t *testing.T, path, text string, count int) {
	t.Helper()
	until(t, time.Minute, fmt.Sprintf("%q in %s", text, filepath.Base(path)), func() error {
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if got := bytes.Count(data, []byte(text)); got < count {
			return fmt.Errorf("there %d times, want %d", got, count)
		}
		return nil
	})
}

func statusOf(t *testing.T, s *Supervisor, name string) Status {
	t.Helper()
	c, err := s.find(name)
	if err != nil {
		t.Fatal(err)
	}
	return c.snapshot()
}

func TestSupervisorRestartsWhatDies(t *testing.T) {
	s, reported, dir := supervised(t, "steady")
	before := statusOf(t, s, "steady")
	if err := syscall.Kill(before.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	awaitLog(t, filepath.Join(dir, "steady"), "steady is up", 2)
	after := statusOf(t, s, "steady")
	if after.PID == before.PID || after.PID == 0 || after.Restarts != 1 {
		t.Errorf("process %d with %d restarts, was %d; want another process and one restart", after.PID, after.Restarts, before.PID)
	}
	if want := "steady died (signal: killed); starting it again in 500ms\nsteady is being started again"; reported.text() != want {
		t.Errorf("reported %q, want %q", reported.text(), want)
	}
}

func TestSupervisorBacksOff(t *testing.T) {
	_, reported, _ := supervised(t, "failing")
	for _, want := range []string{"failing died (exit status 3); starting it again in 500ms", "starting it again in 1s", "starting it again in 2s"} {
		until(t, time.Minute, want, func() error {
			if !strings.Contains(reported.text(), want) {
				return fmt.Errorf("reported %q", reported.text())
			}
			return nil
		})
	}
}

func TestSupervisorKillDelaysTheRestart(t *testing.T) {
	s, reported, dir := supervised(t, "steady")
	before := statusOf(t, s, "steady")
	killed := time.Now()
	pid, err := s.Kill("steady", 2*time.Second)
	if err != nil || pid != before.PID {
		t.Fatalf("killed process %d (%v), want %d", pid, err, before.PID)
	}
	awaitLog(t, filepath.Join(dir, "steady"), "steady is up", 2)
	if took := time.Since(killed); took < 2*time.Second {
		t.Errorf("back after %s, want 2s at least", took)
	}
	if !strings.Contains(reported.text(), "starting it again in 2s") {
		t.Errorf("reported %q, want the delay", reported.text())
	}
	if _, err := s.Kill("nobody", 0); err == nil {
		t.Error("killing an unknown child succeeded")
	}
}

func TestSupervisorKillMovesAPendingRestart(t *testing.T) {
	s, _, dir := supervised(t, "steady")
	if _, err := s.Kill("steady", time.Hour); err != nil {
		t.Fatal(err)
	}
	until(t, time.Minute, "death", func() error {
		if status := statusOf(t, s, "steady"); status.PID != 0 || status.Restarts != 1 {
			return fmt.Errorf("process %d", status.PID)
		}
		return nil
	})
	pid, err := s.Kill("steady", 0)
	if err != nil || pid != 0 {
		t.Errorf("killing what is dead: process %d, %v; want neither", pid, err)
	}
	awaitLog(t, filepath.Join(dir, "steady"), "steady is up", 2)
}

func TestSupervisorStops(t *testing.T) {
	s, reported, dir := supervised(t, "steady", "polite", "deaf")
	statuses := s.Statuses()
	began := time.Now()
	s.Stop(t.Context(), 300*time.Millisecond)
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("the stop took %s", took)
	}
	for _, status := range statuses {
		if status.PID == 0 || processExists(status.PID) {
			t.Errorf("%s, process %d, lives on or never lived", status.Name, status.PID)
		}
	}
	awaitLog(t, filepath.Join(dir, "polite"), "polite says goodbye", 1)
	if reported.text() != "" {
		t.Errorf("reported %q, want nothing about deaths that were asked for", reported.text())
	}
	if _, err := s.Kill("steady", 0); err == nil {
		t.Error("killing a child after the stop succeeded")
	}
}

func TestSupervisorStopIsForced(t *testing.T) {
	s, _, _ := supervised(t, "deaf")
	forced, force := context.WithCancel(t.Context())
	force()
	began := time.Now()
	s.Stop(forced, time.Hour)
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("the forced stop took %s", took)
	}
}

func TestSupervisorStopsWhatRests(t *testing.T) {
	s, _, _ := supervised(t, "steady")
	if _, err := s.Kill("steady", time.Hour); err != nil {
		t.Fatal(err)
	}
	until(t, time.Minute, "death", func() error {
		if statusOf(t, s, "steady").PID != 0 {
			return fmt.Errorf("alive")
		}
		return nil
	})
	began := time.Now()
	s.Stop(t.Context(), time.Hour)
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("the stop took %s, although nothing was running", took)
	}
}

func TestChildEnvironmentLeavesOthersClustersOut(t *testing.T) {
	got := childEnvironment([]string{"PATH=/bin", "KUBECONFIG=/x", "https_proxy=http://x", "HTTP_PROXY=y", "KUBERNETES_SERVICE_HOST=1", "GOGC=50"})
	if diff := cmp.Diff([]string{"PATH=/bin", "GOGC=50"}, got); diff != "" {
		t.Errorf("environment (-want +got):\n%s", diff)
	}
}

func TestPrefixerWritesWholeLines(t *testing.T) {
	var out bytes.Buffer
	p := &Prefixer{To: &out, Prefix: "[x] "}
	for _, part := range []string{"one", " line\nand a", "nother\n", "half"} {
		if n, err := p.Write([]byte(part)); n != len(part) || err != nil {
			t.Errorf("Write(%q) = %d, %v", part, n, err)
		}
	}
	if want := "[x] one line\n[x] and another\n"; out.String() != want {
		t.Errorf("wrote %q, want %q", out.String(), want)
	}
}

func TestVerboseOutputIsCopied(t *testing.T) {
	executable, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var terminal lines
	log := filepath.Join(t.TempDir(), "polite")
	s, err := New(Options{Command: []string{executable, childArgument}, Clock: clock.RealClock{}, Report: func(string) {}, Verbose: &terminal})
	if err != nil {
		t.Fatal(err)
	}
	s.Start(Spec{Name: "polite", Log: log})
	awaitLog(t, log, "polite is up", 1)
	s.Stop(t.Context(), 10*time.Second)
	if want := "[polite] polite is up\n\n[polite] polite says goodbye\n"; terminal.text() != want {
		t.Errorf("the terminal shows %q, want %q", terminal.text(), want)
	}
}

func TestChildrenGetTheirEnvironment(t *testing.T) {
	executable, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("GOMAXPROCS", "64")
	log := filepath.Join(t.TempDir(), "counting")
	s, err := New(Options{Command: []string{executable, childArgument}, Env: []string{"GOMAXPROCS=1"}, Clock: clock.RealClock{}, Report: func(string) {}})
	if err != nil {
		t.Fatal(err)
	}
	s.Start(Spec{Name: "counting", Log: log})
	awaitLog(t, log, "counting has 1 of the processors", 1)
	s.Stop(t.Context(), 10*time.Second)
}

func TestNewWantsItsOptions(t *testing.T) {
	if _, err := New(Options{}); err == nil {
		t.Error("a supervisor without command, clock and report was made")
	}
}
