// Package updates runs rolling updates of ReplicationControllers on a real control plane,
// kills the loops at every write, takes updates back at every write, and watches the pods
// independently: never fewer available than desired - unavailable, never more than desired +
// surge.
//
// Environment: LOOPSCOPE_UPDATES is how many runs of each suite there are ("all" for every
// one, as "make updates" has it; default 1, beside our own loops alone), LOOPSCOPE_SANDBOX a binary that is built already.
package updates

import (
	"flag"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"sync"
	"testing"

	"github.com/loopscope/loopscope/cmd/sandbox/testplane"
)

const amount = "LOOPSCOPE_UPDATES"

// atOnce is how many updates run at once. They mostly wait.
const atOnce = "8"

func TestMain(m *testing.M) {
	flag.Parse()
	if err := flag.Set("test.parallel", atOnce); err != nil {
		fmt.Fprintln(os.Stderr, "updates:", err)
		os.Exit(2)
	}
	os.Exit(m.Run())
}

// plane is a control plane. On one of upstream's the loop of ReplicationControllers is that of
// kube-controller-manager, whose caches are its own and lag as they like.
type plane struct {
	*testplane.Plane
	upstream bool
}

// TestUpdates are all suites on one plane, with the loops of ReplicationControllers and of
// rolling updates in one process.
func TestUpdates(t *testing.T) {
	plane := plane{testplane.Start(t, testplane.Options{}), false}
	t.Run("suites", func(t *testing.T) {
		t.Run("killed", func(t *testing.T) { t.Parallel(); testKilled(t, plane) })
		t.Run("taken back", func(t *testing.T) { t.Parallel(); testTakenBack(t, plane) })
		t.Run("sizes", func(t *testing.T) { t.Parallel(); testSizes(t, plane) })
		t.Run("left by kubectl", func(t *testing.T) { t.Parallel(); testLeft(t, plane) })
		t.Run("competing", func(t *testing.T) { t.Parallel(); testCompeting(t, plane) })
		t.Run("stuck", func(t *testing.T) { t.Parallel(); testStuck(t, plane) })
		t.Run("rescaled", func(t *testing.T) { t.Parallel(); testRescaled(t, plane) })
	})
	tally.report(t)
}

// TestUpdatesBesideUpstream has kube-controller-manager keep the numbers of pods. A sample is
// updated with our loops alone.
func TestUpdatesBesideUpstream(t *testing.T) {
	if os.Getenv(amount) == "" {
		t.Skip("not part of a sample: make updates")
	}
	plane := plane{testplane.Start(t, testplane.Options{Loops: "upstream"}), true}
	t.Run("suites", func(t *testing.T) {
		t.Run("killed", func(t *testing.T) { t.Parallel(); testKilled(t, plane) })
		t.Run("taken back", func(t *testing.T) { t.Parallel(); testTakenBack(t, plane) })
		t.Run("sizes", func(t *testing.T) { t.Parallel(); testSizes(t, plane) })
	})
	tally.report(t)
}

// sample says which of a suite's runs take part: all, or as many as are asked for, always the
// same.
func sample(t *testing.T, suite string, of int) func(i int) bool {
	t.Helper()
	text := os.Getenv(amount)
	if text == "all" {
		return func(int) bool { return true }
	}
	n := 1
	if text != "" {
		var err error
		if n, err = strconv.Atoi(text); err != nil || n < 0 {
			t.Fatalf("%s=%q: give a number, or all", amount, text)
		}
	}
	sum := fnv.New64a()
	sum.Write([]byte(suite))
	picked := rand.New(rand.NewPCG(sum.Sum64(), 1)).Perm(of)
	picked = picked[:min(n, of)]
	return func(i int) bool { return slices.Contains(picked, i) }
}

// tally counts what was seen on one plane, for the report.
var tally = counts{of: map[string]int{}}

type counts struct {
	mu sync.Mutex
	of map[string]int
}

func (c *counts) add(what string, n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.of[what] += n
}

func (c *counts) report(t *testing.T) {
	c.mu.Lock()
	defer c.mu.Unlock()
	t.Logf("updates: %v", c.of)
	clear(c.of)
}
