package chaos_test

import (
	"testing"
	"time"

	"github.com/loopscope/loopscope/cmd/sandbox/testplane"
)

// TestFaults runs the loops inside this process, where every request of theirs
// can be spoilt.
func TestFaults(t *testing.T) {
	t.Parallel()
	faults, size := chosen(t, append(spoiltWrites(), intrusions()...), 4)
	if len(faults) == 0 {
		return // the name that was asked for is another test's
	}
	g := newGround(t)
	g.loops = startLoops(t, g.plane.LoopscopeConfig(t))
	var results table
	t.Run("together", func(t *testing.T) {
		for _, f := range faults {
			if !f.alone {
				t.Run(f.String(), func(t *testing.T) {
					t.Parallel()
					f.run(t, g, size, &results)
				})
			}
		}
	})
	for _, f := range faults {
		if f.alone {
			t.Run(f.String(), func(t *testing.T) { f.run(t, g, size, &results) })
		}
	}
	t.Logf("%s%d times a watch of the census could not go on where it broke off", &results, g.census.gaps)
}

// TestKills ends the program, the API server and etcd with SIGKILL.
func TestKills(t *testing.T) {
	t.Parallel()
	var running *manager
	faults, size := chosen(t, kills(testplane.Loopscope(t), &running), 1)
	if len(faults) == 0 {
		return
	}
	g := newGround(t)
	running = startManager(t, testplane.Loopscope(t), g.plane.LoopscopeKubeconfig)
	t.Cleanup(func() {
		running.kill()
		if t.Failed() {
			t.Logf("output of loopscope manager:\n%s", running.said())
		}
	})
	var results table
	for _, f := range faults {
		t.Run(f.String(), func(t *testing.T) { f.run(t, g, size, &results) })
	}
	t.Logf("%s%d times a watch of the census could not go on where it broke off", &results, g.census.gaps)
}

// kills are the faults of whole processes, each at another moment of the rollouts.
func kills(binary string, running **manager) []fault {
	child := func(name string) func(*testing.T, *round) {
		return func(t *testing.T, r *round) {
			r.roll(t)
			r.midway(t, r.moment())
			r.struck = time.Now()
			r.plane.Kill(t, name, time.Duration(r.number%3)*time.Second)
			r.injected = func() int { return 1 }
		}
	}
	return []fault{
		{name: "kill -9 kube-apiserver", rounds: 20, strike: child("kube-apiserver")},
		{name: "kill -9 etcd", rounds: 20, strike: child("etcd")},
		{name: "kill -9 loopscope", rounds: 20, strike: func(t *testing.T, r *round) {
			r.roll(t)
			r.midway(t, r.moment())
			r.struck = time.Now()
			(*running).kill()
			*running = startManager(t, binary, r.plane.LoopscopeKubeconfig)
			r.injected = func() int { return 1 }
		}},
	}
}

// moment is how many pods are new when a round strikes: another one each time.
func (r *round) moment() int { return r.number * 7 % (r.count * int(r.want) * 2 / 3) }
