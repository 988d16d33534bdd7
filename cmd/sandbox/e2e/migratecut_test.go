package e2e_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/loopscope/loopscope/cmd/sandbox/testplane"
)

// cut is a migration that is killed at one of its writes.
type cut struct {
	undo   bool // it is on its way back
	write  int  // which one
	after  bool // it has been taken, and its answer is lost
	turns  bool // whoever comes then goes the other way
	number int
}

// writesThere and writesBack are how many writes there are with two pods.
const writesThere, writesBack = 9, 11

func cuts() (list []cut) {
	for _, undo := range []bool{false, true} {
		writes := writesThere
		if undo {
			writes = writesBack
		}
		for n := range writes {
			for _, after := range []bool{false, true} {
				for _, turns := range []bool{false, true} {
					list = append(list, cut{undo: undo, write: n + 1, after: after, turns: turns})
				}
			}
		}
	}
	return list
}

// TestMigrateInterrupted kills the command at a write, before or after that has been taken, on the
// way there and back, and has another one continue or turn back.
func TestMigrateInterrupted(t *testing.T) {
	t.Parallel()
	eachLoops(t, func(t *testing.T, plane *testplane.Plane) {
		list := cuts()
		r := rand.New(rand.NewPCG(testplane.Number(t, "LOOPSCOPE_E2E_SEED", rand.Uint64N(1_000_000)), 0))
		r.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
		list = list[:min(len(list), int(testplane.Number(t, "LOOPSCOPE_E2E_CUTS", 4)))]
		m := newMoves(t, plane, len(list), 2)
		var all sync.WaitGroup
		slots := make(chan struct{}, 4)
		for i, c := range list {
			c.number = i
			all.Go(func() {
				slots <- struct{}{}
				defer func() { <-slots }()
				m.cut(t, c)
			})
		}
		all.Wait()
	})
}

func (m *moves) cut(t *testing.T, c cut) {
	name := fmt.Sprintf("rc-%d", c.number)
	there, back := []string{"rc/" + name, "--write"}, []string{"rc/" + name, "--write", "--undo"}
	if c.undo {
		m.run(t, append(slices.Clone(there), "--keep-rc")...)
	}
	way := there
	if c.undo {
		way = back
	}
	if !m.killed(t, c, way) {
		t.Errorf("%s %+v: it was not killed: it has fewer writes", name, c)
	}
	if last := !c.undo && c.write == writesThere && c.after; c.undo != c.turns && !last {
		m.run(t, back...)
		m.asBefore(t, name)
	}
	m.run(t, there...)
	m.moved(t, name)
}

// killed runs a command that is killed at a write.
func (m *moves) killed(t *testing.T, c cut, args []string) (was bool) {
	ctx, kill := context.WithCancel(t.Context())
	defer kill()
	var mu sync.Mutex
	writes := 0
	kubeconfig := behindProxy(t, m.config, func(w http.ResponseWriter, r *http.Request, on http.Handler) {
		dry := r.URL.Query().Has("dryRun") || strings.Contains(r.URL.Path, "selfsubjectaccessreviews")
		if r.Method == http.MethodGet || dry {
			on.ServeHTTP(w, r)
			return
		}
		mu.Lock()
		writes++
		left := c.write - writes
		was = was || left == 0
		mu.Unlock()
		if left > 0 {
			on.ServeHTTP(w, r)
			return
		}
		if left == 0 && c.after {
			on.ServeHTTP(httptest.NewRecorder(), r)
		}
		kill()
		panic(http.ErrAbortHandler) // Until it is killed it gets no answer, and writes nothing more.
	})
	_, _, err := loopscope(ctx, t, kubeconfig, append([]string{"migrate", "-n", m.namespace}, args...)...)
	mu.Lock()
	defer mu.Unlock()
	return was && err != nil
}
