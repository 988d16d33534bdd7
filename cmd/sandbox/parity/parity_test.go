package parity

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/loopscope/loopscope/cmd/sandbox/testplane"
)

// What is played, by environment: LOOPSCOPE_PARITY_SCRIPTED is how many of the
// scripted scenarios, or "all"; LOOPSCOPE_PARITY_RANDOM how many random ones;
// LOOPSCOPE_PARITY_SEED the seed of both; LOOPSCOPE_PARITY_ONLY a regular
// expression for the names of scenarios; LOOPSCOPE_PARITY_LANES how many
// scenarios are played at once; LOOPSCOPE_PARITY_SHADOW=yes that a process
// watches upstream's loops meanwhile, and is compared with them.
const (
	sampledScripts = 3
	sampledRandom  = 1
	manyLanes      = 40
	fewestScripts  = 80
)

// qps keeps the loops' clients from being what a test of what is left at rest
// waits for, and their recorders from falling behind.
const qps = "--loops-qps=200"

// TestParity compares what scenarios leave. A scenario with a difference is
// played once more, as a loop that starves on a busy machine is not what is
// looked for; what differs again is a failure, and the log keeps the first.
func TestParity(t *testing.T) {
	scenarios := chosen(t)
	upstream, own := openPlane(t, "upstream"), openPlane(t, "own")
	answers := followAnswers(t, own.dashboard)
	compared := shadow(t, upstream)
	needed := map[int]int{}
	results := playAll(t, scenarios, upstream.Plane, own.Plane)
	var again []Scenario
	for i, scenario := range scenarios {
		if problem := results[i].problem(scenario, needed); problem != "" {
			t.Logf("%s is played again: %s", scenario.Name, problem)
			again = append(again, scenario)
		}
	}
	problems := map[string]string{}
	for i, second := range playAll(t, again, upstream.Plane, own.Plane) {
		problems[again[i].Name] = second.problem(again[i], needed)
	}
	for _, scenario := range scenarios {
		t.Run(scenario.Name, func(t *testing.T) {
			if problem := problems[scenario.Name]; problem != "" {
				t.Error(problem)
			}
		})
	}
	for i, d := range departures {
		t.Logf("departure %d (%s): %d differences", d.entry, d.why, needed[i])
		if needed[i] == 0 && d.shows == always && slices.ContainsFunc(scenarios, d.concerns) {
			t.Errorf("departure %d allows what does not differ any more: %s", d.entry, d.why)
		}
	}
	t.Log(answers.table(t))
	answers.accounts.report(t)
	compared()
}

// shadow has a process watch upstream's loops, where this run asks for one. What it returns holds it to
// this: it agrees with them, and only reads.
func shadow(t *testing.T, upstream opened) (compared func()) {
	t.Helper()
	if !shadowed() {
		return func() {}
	}
	w := testplane.Watch(t, upstream.sandbox)
	return func() { t.Helper(); w.Finish(t) }
}

func shadowed() bool { return os.Getenv("LOOPSCOPE_PARITY_SHADOW") == "yes" }

// chosen is what this run plays: a sample, unless told otherwise.
func chosen(t *testing.T) []Scenario {
	t.Helper()
	scripts := scripted(t)
	seed := number(t, "LOOPSCOPE_PARITY_SEED", uint64(time.Now().UnixNano()%100000))
	t.Logf("LOOPSCOPE_PARITY_SEED=%d", seed)
	order := rand.New(rand.NewPCG(seed, 0))
	order.Shuffle(len(scripts), func(i, j int) { scripts[i], scripts[j] = scripts[j], scripts[i] })
	if os.Getenv("LOOPSCOPE_PARITY_SCRIPTED") != "all" {
		scripts = scripts[:min(len(scripts), int(number(t, "LOOPSCOPE_PARITY_SCRIPTED", sampledScripts)))]
	}
	for i := range number(t, "LOOPSCOPE_PARITY_RANDOM", sampledRandom) {
		scenario, err := Random(seed, i)
		if err != nil {
			t.Fatal(err)
		}
		scripts = append(scripts, scenario)
	}
	only := regexp.MustCompile(os.Getenv("LOOPSCOPE_PARITY_ONLY"))
	var some []Scenario
	for _, scenario := range scripts {
		if only.MatchString(scenario.Name) {
			some = append(some, scenario)
		}
	}
	return some
}

func scripted(t *testing.T) []Scenario {
	t.Helper()
	scenarios, err := ReadScenarios(os.DirFS("testdata"), "scenarios")
	if err != nil {
		t.Fatal(err)
	}
	return scenarios
}

func number(t *testing.T, variable string, otherwise uint64) uint64 {
	t.Helper()
	text := cmp.Or(os.Getenv(variable), strconv.FormatUint(otherwise, 10))
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatalf("%s=%s: want a number", variable, text)
	}
	return n
}

// opened is a plane and, for ours, its dashboard.
type opened struct {
	*Plane
	sandbox   *testplane.Plane
	dashboard string
}

func openPlane(t *testing.T, loops string) opened {
	t.Helper()
	options := testplane.Options{Loops: loops, Flags: []string{qps}}
	if loops == "upstream" && shadowed() {
		options.Audit, options.Policy = true, testplane.LoopscopePolicy
	}
	plane := testplane.Start(t, options)
	followed, err := Open(t.Context(), plane.Config(t))
	if err != nil {
		t.Fatal(err)
	}
	return opened{followed, plane, plane.Dashboard}
}

// played is what a scenario has left on one side.
type played struct {
	name      string
	plane     *Plane
	namespace string
	record    Record
	err       error
}

// result is what a scenario has left: upstream twice, then ours.
type result [3]played

// playAll plays every scenario twice with upstream's loops and once with ours,
// the three at the same time, so that all have the same share of the machine.
func playAll(t *testing.T, scenarios []Scenario, upstream, own *Plane) []result {
	t.Helper()
	if len(scenarios) == 0 {
		return nil
	}
	results := make([]result, len(scenarios))
	lanes := make(chan struct{}, number(t, "LOOPSCOPE_PARITY_LANES", manyLanes))
	began := time.Now()
	var all sync.WaitGroup
	for i := range scenarios {
		results[i] = result{{name: "upstream", plane: upstream}, {name: "upstream again", plane: upstream}, {name: "ours", plane: own}}
		for side := range results[i] {
			all.Go(func() {
				lanes <- struct{}{}
				defer func() { <-lanes }()
				results[i][side].play(t.Context(), scenarios[i])
			})
		}
	}
	all.Wait()
	for _, plane := range []*Plane{upstream, own} {
		if err := plane.EventsAtRest(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	for i := range results {
		for _, side := range results[i] {
			if side.err == nil {
				side.plane.Events(side.namespace, side.record)
			}
		}
	}
	t.Logf("%d scenarios were played three times in %s", len(scenarios), time.Since(began).Round(time.Second))
	return results
}

func (p *played) play(ctx context.Context, scenario Scenario) {
	if p.namespace, p.record, p.err = p.plane.Play(ctx, scenario); p.err != nil {
		p.err = fmt.Errorf("%s: %w", p.name, p.err)
	}
}

// problem is what is wrong with the result of a scenario; "" if nothing is.
func (r result) problem(scenario Scenario, needed map[int]int) string {
	for _, side := range r {
		if side.err != nil {
			return fmt.Sprintf("%v\nthe script:\n%s", side.err, scenario.Text)
		}
	}
	left := unregistered(Compare(scenario.Name, r[0].record, r[1].record, r[2].record), departures, needed)
	if len(left) == 0 {
		return ""
	}
	return fmt.Sprintf("%d differences are not in the register of departures:\n%s\nthe script:\n%s", len(left), Report(left), scenario.Text)
}
