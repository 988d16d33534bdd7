// Package testplane gives a test a control plane of its own: it runs the
// sandbox's binary as a child process and stops it when the test ends.
//
// It may not touch a sandbox that the developer runs, or leave a process
// behind, whichever way the test binary ends. Tests that share a plane start it
// with a testing.TB that outlives them all.
package testplane

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

const (
	// componentsVariable names a directory with the components of another release of Kubernetes,
	// which every plane then runs.
	componentsVariable = "LOOPSCOPE_COMPONENTS"
	// startLimit bounds the boot on a slow and busy machine.
	startLimit = 3 * time.Minute
	// stopLimit bounds the stop after SIGTERM; then the plane is killed.
	stopLimit = 30 * time.Second
	// commandLimit bounds one kubectl or sandbox command.
	commandLimit = 2 * time.Minute
)

// Options say what kind of control plane to start. The zero value is a plane
// of three nodes without loops, demo and audit log, in a temporary directory.
type Options struct {
	Loops    string   // "own", "upstream" or "none"; default "none"
	Demo     bool     // create the demo's Deployments
	Audit    bool     // write AuditPath
	Policy   string   // of that log, in the place of the sandbox's, which has whole bodies
	StateDir string   // kept and reused; default: a temporary one, removed by Stop
	Nodes    int      // default 3
	Fast     bool     // every component may use all processors, for what measures time; default: one, which takes an eighth less of them
	Flags    []string // further flags of the sandbox, as they are
}

// Plane is a running control plane. Its methods may be called from several
// goroutines, those that take a testing.TB under its usual rules.
type Plane struct {
	Binary              string // the sandbox
	StateDir            string
	Kubeconfig          string // the administrator's
	LoopscopeKubeconfig string // the user that Loopscope acts as, with its few rights
	Dashboard           string // URL, with Loops "own" alone
	AuditPath           string // JSON lines, with Audit alone
	StartTime           time.Duration

	records  string // directory in which this plane's commands find it
	cmd      *exec.Cmd
	lifeline io.Closer // the sandbox stops when this closes, as it does when the test dies
	exited   chan struct{}
	exitErr  error // of the process; read after exited is closed
	stopping sync.Once

	mu     sync.Mutex
	output []string
}

// Start runs a sandbox until the test ends and returns when it is ready. It
// fails the test if that does not come to pass within three minutes.
func Start(t testing.TB, o Options) *Plane {
	t.Helper()
	p := &Plane{Binary: Binary(t), records: t.TempDir(), exited: make(chan struct{})}
	began := time.Now()
	ready, err := p.launch(o.flags())
	if err != nil {
		t.Fatalf("start the sandbox: %v", err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("output of the sandbox:\n%s\n%s", p.Output(), p.logTails())
		}
		record(t, p.Dashboard, p.exited)
		p.Stop()
		used := p.cmd.ProcessState
		t.Logf("the control plane took %s of the processors", (used.UserTime() + used.SystemTime()).Round(100*time.Millisecond))
	})
	select {
	case <-ready:
	case <-p.exited:
		t.Fatalf("the sandbox ended before it was ready: %v", p.exitErr)
	case <-time.After(startLimit):
		t.Fatalf("the sandbox was not ready within %s", startLimit)
	}
	p.StartTime = time.Since(began)
	p.locate(t)
	if o.Policy != "" {
		p.audit(t, o.Policy)
	}
	return p
}

func (o Options) flags() []string {
	loops, nodes := o.Loops, o.Nodes
	if loops == "" {
		loops = "none"
	}
	if nodes == 0 {
		nodes = 3
	}
	flags := []string{
		"--until-stdin-closes", "--loops=" + loops, "--nodes=" + strconv.Itoa(nodes),
		"--demo=" + strconv.FormatBool(o.Demo), "--audit=" + strconv.FormatBool(o.Audit),
	}
	if !o.Fast {
		flags = append(flags, "--component-processors=1")
	}
	if o.StateDir != "" {
		flags = append(flags, "--state-dir="+o.StateDir)
	}
	if dir := os.Getenv(componentsVariable); dir != "" {
		flags = append(flags, "--components-dir="+dir)
	}
	if loops == "own" && !strings.Contains(strings.Join(o.Flags, " "), "--listen") {
		flags = append(flags, "--listen=127.0.0.1:0")
	}
	return append(flags, o.Flags...)
}

// launch starts the process; the returned channel closes when it is ready.
func (p *Plane) launch(flags []string) (<-chan struct{}, error) {
	p.cmd = exec.Command(p.Binary, flags...)
	p.cmd.Env = p.environment("")
	lifeline, err := p.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	p.lifeline = lifeline
	reader, writer, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	p.cmd.Stdout, p.cmd.Stderr = writer, writer
	if err := p.cmd.Start(); err != nil {
		return nil, errors.Join(err, reader.Close(), writer.Close())
	}
	_ = writer.Close() // the child has its own
	ready := make(chan struct{})
	go func() {
		p.collect(reader, ready)
		p.exitErr = p.cmd.Wait()
		close(p.exited)
	}()
	return ready, nil
}

// collect keeps the sandbox's lines until it has closed its output.
func (p *Plane) collect(output io.ReadCloser, ready chan<- struct{}) {
	defer output.Close()
	lines := bufio.NewScanner(output)
	for lines.Scan() {
		p.mu.Lock()
		p.output = append(p.output, lines.Text())
		p.mu.Unlock()
		if strings.HasPrefix(lines.Text(), "ready in ") {
			close(ready)
		}
	}
	_, _ = io.Copy(io.Discard, output) // after a line too long to scan
}

// locate reads from the output where everything is.
func (p *Plane) locate(t testing.TB) {
	t.Helper()
	p.Kubeconfig, p.Dashboard = p.line("kubeconfig: "), p.line("dashboard: ")
	if p.Kubeconfig == "" {
		t.Fatal("the sandbox printed no line with its kubeconfig")
	}
	p.StateDir = filepath.Dir(p.Kubeconfig)
	p.LoopscopeKubeconfig = filepath.Join(p.StateDir, "loopscope.kubeconfig")
	p.AuditPath = filepath.Join(p.StateDir, "audit.log")
}

// audit gives the API server another policy, which it reads when it starts.
func (p *Plane) audit(t testing.TB, policy string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(p.StateDir, "audit-policy.yaml"), []byte(policy), 0o600); err != nil {
		t.Fatalf("write the audit policy: %v", err)
	}
	before := p.apiServer(t)
	p.Kill(t, before.Name, 0)
	Until(t, 2*time.Minute, "the API server's second start", func() error {
		if now := p.apiServer(t); now.PID == 0 || now.PID == before.PID {
			return fmt.Errorf("process %d", now.PID)
		}
		_, err := p.TryKubectl(t.Context(), "", "get", "--raw=/readyz")
		return err
	})
}

func (p *Plane) apiServer(t testing.TB) Child {
	t.Helper()
	children := p.Children(t)
	i := slices.IndexFunc(children, func(c Child) bool { return c.Name == "kube-apiserver" })
	if i < 0 {
		t.Fatalf("no API server among %v", children)
	}
	return children[i]
}

func (p *Plane) line(prefix string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, line := range p.output {
		if rest, found := strings.CutPrefix(line, prefix); found {
			return rest
		}
	}
	return ""
}

// Output is everything the sandbox has printed so far.
func (p *Plane) Output() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return strings.Join(p.output, "\n")
}

// PID is the process id of the sandbox's parent process.
func (p *Plane) PID() int { return p.cmd.Process.Pid }

// Stop ends the plane as Ctrl-C would, and kills it if it does not end in time.
// It returns how the process ended; calling it again does nothing more.
func (p *Plane) Stop() error {
	p.stopping.Do(func() {
		_ = p.cmd.Process.Signal(syscall.SIGTERM) // an error means that it has ended already
		select {
		case <-p.exited:
		case <-time.After(stopLimit):
			_ = p.cmd.Process.Kill()
			<-p.exited
			p.exitErr = errors.Join(fmt.Errorf("not stopped within %s", stopLimit), p.exitErr)
		}
		_ = p.lifeline.Close()
	})
	<-p.exited
	return p.exitErr
}

// Config is the administrator's client configuration, without rate limits.
func (p *Plane) Config(t testing.TB) *rest.Config {
	t.Helper()
	return p.config(t, p.Kubeconfig)
}

// LoopscopeConfig is the configuration of the user that Loopscope acts as,
// without rate limits.
func (p *Plane) LoopscopeConfig(t testing.TB) *rest.Config {
	t.Helper()
	return p.config(t, p.LoopscopeKubeconfig)
}

func (p *Plane) config(t testing.TB, path string) *rest.Config {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", path)
	if err != nil {
		t.Fatalf("read kubeconfig: %v", err)
	}
	config.QPS, config.UserAgent = -1, "testplane"
	return config
}

// Kubectl runs the plane's own kubectl as administrator and returns what it
// printed on standard output. It fails the test if kubectl fails.
func (p *Plane) Kubectl(t testing.TB, args ...string) string {
	t.Helper()
	return p.KubectlInput(t, "", args...)
}

// KubectlInput is Kubectl with something to read, as for "apply -f -".
func (p *Plane) KubectlInput(t testing.TB, input string, args ...string) string {
	t.Helper()
	out, err := p.TryKubectl(t.Context(), input, args...)
	if err != nil {
		t.Fatalf("kubectl %s: %v", strings.Join(args, " "), err)
	}
	return out
}

// TryKubectl runs the plane's kubectl; its error holds what kubectl printed on
// standard error.
func (p *Plane) TryKubectl(ctx context.Context, input string, args ...string) (string, error) {
	return p.run(ctx, p.Kubeconfig, input, append([]string{"kubectl"}, args...)...)
}

// Kill ends one component with SIGKILL: etcd, kube-apiserver, kube-scheduler,
// kube-controller-manager, kwok or loops. It is started again after pause.
func (p *Plane) Kill(t testing.TB, name string, pause time.Duration) {
	t.Helper()
	if _, err := p.Sandbox(t.Context(), "kill", name, "--for", pause.String(), "--state-dir", p.StateDir); err != nil {
		t.Fatalf("kill %s: %v", name, err)
	}
}

// Child is one component as the sandbox sees it.
type Child struct {
	Name     string `json:"name"`
	PID      int    `json:"pid"`      // 0 while it is not running
	Restarts int    `json:"restarts"` // deaths since the start
	Memory   int64  `json:"memory"`   // resident bytes
}

// Children lists the components, in the order of their start.
func (p *Plane) Children(t testing.TB) []Child {
	t.Helper()
	out, err := p.Sandbox(t.Context(), "status", "--state-dir", p.StateDir, "--output=json")
	if err != nil {
		t.Fatalf("ask for the sandbox's status: %v", err)
	}
	var status struct{ Children []Child }
	if err := json.Unmarshal([]byte(out), &status); err != nil {
		t.Fatalf("read the sandbox's status: %v", err)
	}
	return status.Children
}

// Sandbox runs another command of the sandbox's binary, which finds this plane
// and no other, and returns its standard output.
func (p *Plane) Sandbox(ctx context.Context, args ...string) (string, error) {
	return p.run(ctx, "", "", args...)
}

func (p *Plane) run(ctx context.Context, kubeconfig, input string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, commandLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, p.Binary, args...)
	cmd.Env = p.environment(kubeconfig)
	var out, errOut bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(input), &out, &errOut
	if err := cmd.Run(); err != nil {
		return out.String(), fmt.Errorf("%w: %s", err, strings.TrimSpace(errOut.String()))
	}
	return out.String(), nil
}

// environment keeps the plane's commands apart from the developer's: records
// of running sandboxes, kubectl's caches and the current cluster.
func (p *Plane) environment(kubeconfig string) []string {
	environment := append(os.Environ(), "XDG_RUNTIME_DIR="+p.records, "KUBECACHEDIR="+p.records, "KUBERC=off", "KUBECONFIG="+kubeconfig)
	return environment
}

// logTails is the end of every component's log, for a failed test.
func (p *Plane) logTails() string {
	files, _ := filepath.Glob(filepath.Join(p.StateDir, "logs", "*.log"))
	var all strings.Builder
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		fmt.Fprintf(&all, "--- %s\n%s\n", filepath.Base(file), data[max(0, len(data)-3000):])
	}
	return all.String()
}
