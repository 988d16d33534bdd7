package testplane

import (
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
)

var (
	sandbox   = newProgram("LOOPSCOPE_SANDBOX", "github.com/loopscope/loopscope/cmd/sandbox")
	loopscope = newProgram("LOOPSCOPE", "github.com/loopscope/loopscope/cmd/loopscope")
)

// Binary is the path of the sandbox: what the environment variable
// LOOPSCOPE_SANDBOX names, or one built from this source once per test process.
// The first build on a machine takes minutes.
func Binary(t testing.TB) string {
	t.Helper()
	return sandbox.path(t)
}

// Loopscope is the path of `loopscope`: what the environment variable LOOPSCOPE
// names, or one built from this source once per test process.
func Loopscope(t testing.TB) string {
	t.Helper()
	return loopscope.path(t)
}

// program is one that tests run as a process of its own.
type program struct {
	variable string // names one that is built already
	source   string
	build    func() (string, error)
}

func newProgram(variable, source string) *program {
	return &program{variable, source, sync.OnceValues(func() (string, error) { return build(source) })}
}

func (p *program) path(t testing.TB) string {
	t.Helper()
	if path := os.Getenv(p.variable); path != "" {
		if _, err := os.Stat(path); err != nil {
			t.Fatalf("%s: %v", p.variable, err)
		}
		return path
	}
	path, err := p.build()
	if err != nil {
		t.Fatalf("build %s: %v", p.source, err)
	}
	return path
}

// build links a program into the user's cache, where the next test process
// finds it up to date. A lock keeps test processes from building over each other.
func build(source string) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(cache, "loopscope-testplane")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	lock, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return "", err
	}
	defer lock.Close()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return "", fmt.Errorf("lock %s: %w", lock.Name(), err)
	}
	binary := filepath.Join(dir, path.Base(source))
	// With the flags of the Makefile, whose cache it shares: any others build Kubernetes anew.
	cmd := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", binary, source)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	return binary, nil
}
