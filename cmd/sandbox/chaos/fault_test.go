package chaos_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
)

// fault is one way to break something in the middle of rollouts.
type fault struct {
	name   string
	kind   string // of write, where the fault is about one
	rounds int
	alone  bool // it concerns more than its own namespace
	// shape changes the Deployments so that the write comes to pass.
	shape func(*appsv1.Deployment)
	// prepare brings a new field to where the first round begins; nil for nothing.
	prepare func(t *testing.T, f *field)
	// strike begins the rollouts and does its harm.
	strike func(t *testing.T, r *round)
	// converged waits for the end and checks it; nil is for that of a rollout.
	converged func(t *testing.T, r *round)
}

func (f fault) String() string { return strings.TrimSpace(f.name + " " + f.kind) }

// round is one strike and what came of it.
type round struct {
	*field
	number   int
	struck   time.Time  // the recovery is measured from here
	injected func() int // how often the fault has hit
	extra    int        // pods that the fault may cost beyond what the rollout needs
	created  int        // pods that the loops have created
	needed   int
	took     time.Duration
}

// row is a line of the table.
type row struct {
	fault   fault
	rounds  int
	hits    int
	times   []time.Duration
	created int
	needed  int
	extra   int
	verdict string
}

// table collects the rows. Safe for concurrent use.
type table struct {
	mu   sync.Mutex
	rows []row
}

const columns = "%-34s %-26s %6v %5v %8v %8v %14v  %s\n"

func (r row) String() string {
	worst, median := "-", "-"
	if len(r.times) > 0 {
		slices.Sort(r.times)
		worst = fmt.Sprintf("%.1f s", r.times[len(r.times)-1].Seconds())
		median = fmt.Sprintf("%.1f s", r.times[len(r.times)/2].Seconds())
	}
	pods := fmt.Sprintf("%d/%d", r.created, r.needed)
	if r.extra > 0 {
		pods += fmt.Sprintf("+%d", r.extra)
	}
	return fmt.Sprintf(columns, r.fault.name, r.fault.kind, r.rounds, r.hits, worst, median, pods, r.verdict)
}

func (t *table) add(r row) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.rows = append(t.rows, r)
}

func (t *table) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var out strings.Builder
	fmt.Fprintf(&out, "\n"+columns, "fault", "write", "rounds", "hits", "worst", "median", "pods/needed", "verdict")
	slices.SortFunc(t.rows, func(a, b row) int { return strings.Compare(a.fault.String(), b.fault.String()) })
	for _, r := range t.rows {
		out.WriteString(r.String())
	}
	return out.String()
}

// run strikes so many times, one after the other, and fills in the fault's row.
func (f fault) run(t *testing.T, g *ground, s scale, into *table) {
	line := row{fault: f, verdict: "FAILED"}
	defer func() {
		if !t.Failed() {
			line.verdict = "converged"
		}
		into.add(line)
		t.Log(line)
	}()
	var plot *field
	for n := range s.rounds(f) {
		if plot == nil || plot.gone {
			plot = g.newField(t, f, s.deployments)
		}
		f.round(t, plot, n, &line)
	}
	plot.clear(t)
}

func (f fault) round(t *testing.T, plot *field, number int, line *row) {
	t.Helper()
	before := plot.census.pods(plot.namespace)
	r := &round{field: plot, number: number, struck: time.Now()}
	f.strike(t, r)
	if f.converged != nil {
		f.converged(t, r)
	} else {
		r.settle(t)
		r.needed = plot.count * int(plot.want)
		plot.check(t)
	}
	hits := r.injected()
	r.created = plot.census.fenced(t, plot) - before
	t.Logf("round %d: %d hits, recovered in %.1f s, %d pods", number+1, hits, r.took.Seconds(), r.created)
	line.rounds++
	line.hits += hits
	line.times = append(line.times, r.took)
	line.created, line.needed, line.extra = line.created+r.created, line.needed+r.needed, line.extra+r.extra
	if hits == 0 {
		t.Errorf("round %d: the fault never hit", number)
	}
	if r.created > r.needed+r.extra {
		t.Errorf("round %d: %d pods were created, needed were %d and the fault may cost %d", number, r.created, r.needed, r.extra)
	}
}

// settle waits until every Deployment is where it should be.
func (r *round) settle(t *testing.T) {
	t.Helper()
	r.await(t, "the end of the rollouts", r.settled)
	r.took = time.Since(r.struck)
}
