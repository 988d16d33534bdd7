package main

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"k8s.io/utils/clock"

	"github.com/loopscope/loopscope/cmd/sandbox/internal/supervise"
	"github.com/loopscope/loopscope/cmd/sandbox/testplane"
)

// TestMain turns the process into a child that does nothing when a supervisor
// has started it.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == childArgument {
		supervise.ExitWithParent()
		select {}
	}
	os.Exit(m.Run())
}

// supervised is a supervisor with running children that do nothing.
func supervised(t *testing.T, names ...string) *supervise.Supervisor {
	t.Helper()
	executable, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	s, err := supervise.New(supervise.Options{
		Command: []string{executable, childArgument}, Clock: clock.RealClock{}, Report: func(string) {},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Stop(t.Context(), 0) })
	dir := t.TempDir()
	for _, name := range names {
		s.Start(supervise.Spec{Name: name, Log: filepath.Join(dir, name)})
	}
	testplane.Until(t, time.Minute, "children running", func() error {
		for _, status := range s.Statuses() {
			if status.PID == 0 {
				return fmt.Errorf("%s is not running", status.Name)
			}
		}
		return nil
	})
	return s
}
