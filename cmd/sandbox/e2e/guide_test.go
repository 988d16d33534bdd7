package e2e_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"k8s.io/client-go/tools/clientcmd"

	"github.com/loopscope/loopscope/cmd/sandbox/testplane"
)

var fence = regexp.MustCompile("(?ms)^```(\\w+)\n(.*?)^```$")

// TestGuide follows the guide for controllers of one's own, block by block: shell blocks are
// run, a Go block is the file that its first line names, and a text is what the page says
// then. All that is changed is the port, the namespace, and where Loopscope comes from.
func TestGuide(t *testing.T) {
	t.Parallel()
	plane := managedPlane(t).Plane
	ns := newNamespace(t, clientOf(t, plane), "guide-")
	root, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(root, "telemetry/instrument/README.md"))
	if err != nil {
		t.Fatal(err)
	}
	listen := freeAddress(t)
	guide := strings.NewReplacer("127.0.0.1:8090", listen, "default/", ns+"/").Replace(string(text))
	x := &example{"http://" + listen + "/debug/loopscope"}
	shell := startShell(t, kubeconfigIn(t, plane, ns))
	// No release of it has what is tested here.
	shell.run(fmt.Sprintf(`go() { if [ "$*" = "get github.com/loopscope/loopscope" ]; then
		command go mod edit -require github.com/loopscope/loopscope@v0.0.0 -replace github.com/loopscope/loopscope=%q
	else command go "$@"; fi; }`, root))
	blocks := map[string]int{}
	for _, block := range fence.FindAllStringSubmatch(guide, -1) {
		kind, content := block[1], block[2]
		switch blocks[kind]++; kind {
		case "sh":
			shell.run(content)
		case "go":
			name := strings.TrimPrefix(strings.SplitN(content, "\n", 2)[0], "// ")
			if err := os.WriteFile(filepath.Join(shell.dir, "expose", name), []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
		case "text":
			x.until(t, "/exposes/"+ns+"/shop", strings.TrimSpace(content))
		default:
			t.Fatalf("nobody follows a block of %s", kind)
		}
	}
	if blocks["sh"] < 4 || blocks["go"] != 1 || blocks["text"] != 3 {
		t.Errorf("the guide has other blocks than it had: %v", blocks)
	}
}

// kubeconfigIn is that of the plane with another namespace.
func kubeconfigIn(t *testing.T, plane *testplane.Plane, ns string) string {
	t.Helper()
	config, err := clientcmd.LoadFromFile(plane.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	config.Contexts[config.CurrentContext].Namespace = ns
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*config, path); err != nil {
		t.Fatal(err)
	}
	return path
}

// guideShell is a shell that lives through the blocks of a guide, with all that it starts.
type guideShell struct {
	t    *testing.T
	dir  string
	in   *os.File
	said string        // the path of what it says
	over chan struct{} // closed when it has ended
	n    int
}

func startShell(t *testing.T, kubeconfig string) *guideShell {
	t.Helper()
	s := &guideShell{t: t, dir: t.TempDir(), over: make(chan struct{})}
	s.said = filepath.Join(s.dir, "said")
	out, err := os.Create(s.said)
	if err != nil {
		t.Fatal(err)
	}
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	s.in = write
	sandbox, err := filepath.Abs(os.Getenv("LOOPSCOPE_SANDBOX"))
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("bash", "-eu")
	cmd.Dir, cmd.Stdin, cmd.Stdout, cmd.Stderr = s.dir, read, out, out
	cmd.Env = append(os.Environ(), "KUBECONFIG="+kubeconfig, "GOWORK=off", "GONOSUMDB=*", "CGO_ENABLED=0", "GOFLAGS=-trimpath -buildvcs=false", "PWD="+s.dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(s.over)
		_ = cmd.Wait() // What it says is looked at.
	}()
	t.Cleanup(func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		<-s.over
		_, _, _ = read.Close(), write.Close(), out.Close()
	})
	s.run(fmt.Sprintf("kubectl() { %q kubectl \"$@\"; }", sandbox))
	return s
}

// run runs lines, and waits until all of them have.
func (s *guideShell) run(lines string) {
	s.t.Helper()
	s.n++
	done := filepath.Join(s.dir, fmt.Sprint("done-", s.n))
	if _, err := fmt.Fprintf(s.in, "%s\n: > %q\n", lines, done); err != nil {
		s.t.Fatal(err)
	}
	testplane.Until(s.t, 5*time.Minute, "the shell has run "+lines, func() error {
		_, err := os.Stat(done)
		if err == nil {
			return nil
		}
		said, _ := os.ReadFile(s.said)
		select {
		case <-s.over:
			s.t.Fatalf("the shell ended in %s:\n%s", lines, said)
		default:
		}
		return fmt.Errorf("it said\n%s", said)
	})
}
