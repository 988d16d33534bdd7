package testplane

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
)

// binaryVariable names a sandbox that is built already.
const binaryVariable = "LOOPSCOPE_SANDBOX"

var buildOnce = sync.OnceValues(build)

// Binary is the path of the sandbox: what the environment variable
// LOOPSCOPE_SANDBOX names, or one built from this source once per test process.
// The first build on a machine takes minutes.
func Binary(t testing.TB) string {
	t.Helper()
	if path := os.Getenv(binaryVariable); path != "" {
		if _, err := os.Stat(path); err != nil {
			t.Fatalf("%s: %v", binaryVariable, err)
		}
		return path
	}
	path, err := buildOnce()
	if err != nil {
		t.Fatalf("build the sandbox: %v", err)
	}
	return path
}

// build links the sandbox into the user's cache, where the next test process
// finds it up to date. A lock keeps test processes from building over each other.
func build() (string, error) {
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
	path := filepath.Join(dir, "sandbox")
	// With the flags of the Makefile, whose cache it shares: any others build Kubernetes anew.
	cmd := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", path, "github.com/loopscope/loopscope/cmd/sandbox")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	return path, nil
}
