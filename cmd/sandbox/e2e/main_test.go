// Package e2e_test runs the programs that users run, sandbox and loopscope,
// against a real control plane. It may not reach into them: it knows what they
// print, what they serve, what the API server shows and what its audit log
// says. Only the deliberately wrong loop runs inside the test.
//
// Environment: LOOPSCOPE_SANDBOX and LOOPSCOPE name binaries that are built
// already, LOOPSCOPE_E2E_ROLLOUTS is the number of random rollouts (default 6),
// LOOPSCOPE_E2E_AT_ONCE how many of them run at once (default 6) and
// LOOPSCOPE_E2E_SEED the seed of the first. LOOPSCOPE_E2E_PLANS is the number of
// random rollouts that are compared with their plans (default 2),
// LOOPSCOPE_E2E_SHADOW that of those beside upstream's loops (default 2), and
// LOOPSCOPE_E2E_AUTHORS the number of changes whose authors are compared with the
// audit log (default 16). LOOPSCOPE_E2E_MIGRATED is the number of ReplicationControllers
// that become Deployments (default 2), and LOOPSCOPE_E2E_CUTS that of those whose
// migration is killed at a write (default 4, of 80 that there are). LOOPSCOPE_E2E_CREATES
// is the number of inputs that are given to kubectl and to loopscope (default 15).
package e2e_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/loopscope/loopscope/cmd/sandbox/testplane"
)

// atOnce is how many parallel tests run at once. They mostly wait, so there may
// be more of them than processors; what measures time is not parallel and runs first.
const atOnce = "4"

func TestMain(m *testing.M) {
	flag.Parse()
	if err := flag.Set("test.parallel", atOnce); err != nil {
		fmt.Fprintln(os.Stderr, "e2e:", err)
		os.Exit(2)
	}
	cache, err := ownCache()
	if err != nil {
		fmt.Fprintln(os.Stderr, "e2e:", err)
		os.Exit(2)
	}
	code := m.Run()
	process.failed = code != 0
	process.end()
	_ = os.RemoveAll(cache)
	os.Exit(code)
}

// ownCache keeps commands from what the user's kubectl has cached: it goes by address, and a sandbox
// of some other day had this port, and other kinds.
func ownCache() (string, error) {
	dir, err := os.MkdirTemp("", "e2e-cache")
	if err != nil {
		return "", err
	}
	return dir, os.Setenv("KUBECACHEDIR", dir)
}

// process is the life of this test process.
var process = &suite{}

// suite is a testing.TB that ends with the test process, for the planes that
// several tests share. It has only what testplane asks of a TB.
type suite struct {
	testing.TB // nil: anything else is a mistake and panics

	mu       sync.Mutex
	cleanups []func()
	failed   bool
}

// fatal is what Fatal panics with; shared turns it into every asking test's failure.
type fatal struct{ error }

func (s *suite) Helper()                  {}
func (s *suite) Context() context.Context { return context.Background() }
func (s *suite) Failed() bool             { return s.failed }
func (s *suite) Fatal(args ...any)        { panic(fatal{errors.New(fmt.Sprint(args...))}) }
func (s *suite) Fatalf(format string, args ...any) {
	panic(fatal{fmt.Errorf(format, args...)})
}
func (s *suite) Logf(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }

func (s *suite) Cleanup(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cleanups = append(s.cleanups, f)
}

func (s *suite) TempDir() string {
	dir, err := os.MkdirTemp("", "loopscope-e2e-")
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

func (s *suite) end() {
	for i := len(s.cleanups) - 1; i >= 0; i-- {
		s.cleanups[i]()
	}
}

// shared starts something once, for every test that asks for it.
func shared[T any](start func(*suite) T) func(testing.TB) T {
	once := sync.OnceValues(func() (value T, err error) {
		defer func() {
			if f, ok := recover().(fatal); ok {
				err = f
			}
		}()
		return start(process), nil
	})
	return func(t testing.TB) T {
		t.Helper()
		value, err := once()
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
}

// demo is the sandbox as a newcomer starts it, with the audit log besides.
type demo struct {
	*testplane.Plane
	firstReady time.Duration // from the start of the process to the first Ready demo pod
}

// ownPlane is shared by all tests that only look and create things of their own.
var ownPlane = shared(func(s *suite) *demo {
	began := time.Now()
	d := &demo{Plane: testplane.Start(s, testplane.Options{Loops: "own", Demo: true, Audit: true})}
	d.firstReady = firstReady(s, d.Plane, began)
	return d
})

// upstreamPlane is shared by tests that look from outside at what kube-controller-manager's loops
// do in namespaces of their own.
var upstreamPlane = shared(func(s *suite) *testplane.Plane {
	return testplane.Start(s, testplane.Options{Loops: "upstream"})
})
