package bench

import (
	"slices"
	"testing"
	"time"

	"github.com/loopscope/loopscope/cmd/sandbox/testplane"
)

// run is what one side did and what it took.
type run struct {
	side   side
	phases []passed // in the order of phases
	memory int64    // peak, in bytes
}

// passed is one phase of a run.
type passed struct {
	wall     time.Duration // until the last Deployment was complete, or gone
	cpu      time.Duration // of the loops' process, trailing writes included
	requests requests
}

func (r run) total() passed {
	sum := passed{requests: requests{}}
	for _, p := range r.phases {
		sum.wall, sum.cpu = sum.wall+p.wall, sum.cpu+p.cpu
		sum.requests.add(p.requests)
	}
	return sum
}

// TestRollout runs both sides in turn. Each of them must complete every
// Deployment in every phase; ours without a conflict, and with fewer writes
// than upstream besides the creation and deletion of pods.
func TestRollout(t *testing.T) {
	s := settingsOf(t)
	t.Log(s)
	plane := startPlane(t)
	log := &auditLog{path: plane.AuditPath}
	var runs []run
	for i := range s.pairs {
		for _, who := range s.turns(i) {
			t.Run(string(who), func(t *testing.T) { runs = append(runs, measure(t, plane, log, who, s)) })
			if t.Failed() {
				t.FailNow()
			}
		}
	}
	t.Logf("averages over the runs of each side; numbers of requests are for each Deployment\n%s", table(runs, s))
	check(t, runs)
	if len(s.sides) > 1 {
		t.Logf("%s ÷ %s, over %d pairs of runs\n%s", s.sides[0], s.sides[1], s.pairs, summary(runs, s))
	}
}

// measure is one run: a process, a namespace, all phases.
func measure(t *testing.T, plane *testplane.Plane, log *auditLog, who side, s settings) run {
	l := startLoops(t, plane, who, s)
	var readers []*reader
	for range s.readers[who] {
		readers = append(readers, follow(t, l.dashboard(t)))
	}
	shadowed := shadow(t, plane, s)
	warmUp(t, plane, s)
	log.settle(t, s.quiet)
	result := run{side: who}
	w := newWorkload(t, plane, s, "bench-"+string(who))
	for _, p := range phases {
		result.phases = append(result.phases, w.pass(t, l, log, p))
	}
	result.memory = l.used(t).Peak
	for i, r := range readers {
		if said := r.seen(t); i == 0 {
			t.Logf("%s (1 of %d)", said, len(readers))
		}
	}
	shadowed()
	if err := l.stop(); err != nil {
		t.Fatal(err)
	}
	total := result.total()
	t.Logf("wall %s, CPU %s, peak %d MB; all requests:\n%s", total.wall, total.cpu, result.memory>>20, total.requests)
	return result
}

// shadow has a process watch the loops, where this run asks for one. What it returns says what that took, and
// holds it to this: it agrees with them, and only reads.
func shadow(t *testing.T, plane *testplane.Plane, s settings) (compared func()) {
	t.Helper()
	if !s.shadow {
		return func() {}
	}
	w, began := testplane.Watch(t, plane), time.Now()
	return func() {
		t.Helper()
		t.Logf("the shadow took %s, in %s", w.Usage(t), time.Since(began).Round(time.Second))
		w.Finish(t)
	}
}

// warmUp sees one Deployment come and go: then the process has started, and so
// has every component beside it.
func warmUp(t *testing.T, plane *testplane.Plane, s settings) {
	t.Helper()
	s.deployments, s.replicas, s.fewer = 1, 2, 1
	w := newWorkload(t, plane, s, "warm-up")
	for _, p := range []phase{phases[0], phases[len(phases)-1]} {
		w.begin(t, p)
		w.finish(t, p)
	}
}

// pass sees every Deployment through one phase, and then waits for the writes
// that trail it.
func (w *workload) pass(t *testing.T, l *loops, log *auditLog, p phase) passed {
	t.Helper()
	profiled := l.profile(t, p.name)
	cpu, began := l.used(t).CPU, time.Now()
	w.begin(t, p)
	w.finish(t, p)
	wall := time.Since(began)
	counted := log.settle(t, w.settings.quiet)
	if err := w.unfinished(p); err != nil {
		t.Errorf("%s: not so any more after the last writes: %v", p.name, err)
	}
	result := passed{wall: wall, cpu: l.used(t).CPU - cpu, requests: counted}
	profiled()
	l.profileMemory(t, p.name)
	t.Logf("%-12s  wall %6.2f s  CPU %5.2f s  %5d bookkeeping writes  %d conflicts", p.name, wall.Seconds(), result.cpu.Seconds(),
		counted.count(kind.bookkeeping), counted.count(kind.conflict))
	return result
}

// check is what holds however busy the machine is.
func check(t *testing.T, runs []run) {
	t.Helper()
	tried := map[side][]int{}
	for _, r := range runs {
		all := r.total().requests
		tried[r.side] = append(tried[r.side], all.count(kind.tried))
		if n := all.count(kind.conflict); r.side != upstream && n > 0 {
			t.Errorf("%d conflicts of ours:\n%s", n, all)
		}
		if all.count(kind.bookkeeping) == 0 {
			t.Errorf("no write of %s is in the audit log", r.side)
		}
	}
	if tried[upstream] != nil && tried[ours] != nil && slices.Max(tried[ours]) >= slices.Min(tried[upstream]) {
		t.Errorf("besides pods and events ours tried %v writes, upstream %v", tried[ours], tried[upstream])
	}
}
