package parity

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/loopscope/loopscope/cmd/sandbox/testplane"
)

// What is played, by environment: LOOPSCOPE_PARITY_SCRIPTED is how many of the
// scripted scenarios, or "all"; LOOPSCOPE_PARITY_RANDOM how many random ones;
// LOOPSCOPE_PARITY_SEED the seed of both; LOOPSCOPE_PARITY_ONLY a regular
// expression for the names of scenarios; LOOPSCOPE_PARITY_LANES how many
// scenarios are played at once.
const (
	sampledScripts = 10
	sampledRandom  = 4
	manyLanes      = 16
	fewestScripts  = 80
)

// upstreamQPS keeps upstream's client from being what a test of what is left
// at rest waits for.
const upstreamQPS = "--loops-qps=200"

func TestParity(t *testing.T) {
	scenarios := chosen(t)
	upstream, own := openPlane(t, "upstream"), openPlane(t, "own")
	answers := followAnswers(t, own.dashboard)
	results := playAll(t, scenarios, upstream.Plane, own.Plane)
	needed := map[int]int{}
	for i, scenario := range scenarios {
		t.Run(scenario.Name, func(t *testing.T) {
			if err := results[i].err; err != nil {
				t.Fatalf("%v\nthe script:\n%s", err, scenario.Text)
			}
			if left := unregistered(Compare(scenario.Name, results[i].first, results[i].second, results[i].ours), departures, needed); len(left) > 0 {
				t.Errorf("%d differences are not in the register of departures:\n%s\nthe script:\n%s", len(left), Report(left), scenario.Text)
			}
		})
	}
	for i, d := range departures {
		t.Logf("departure %d (%s): %d differences", d.entry, d.why, needed[i])
	}
	t.Log(answers.table(t))
}

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
	dashboard string
}

func openPlane(t *testing.T, loops string) opened {
	t.Helper()
	options := testplane.Options{Loops: loops}
	if loops == "upstream" {
		options.Flags = []string{upstreamQPS}
	}
	plane := testplane.Start(t, options)
	followed, err := Open(t.Context(), plane.Config(t))
	if err != nil {
		t.Fatal(err)
	}
	return opened{followed, plane.Dashboard}
}

// result is what one scenario has left, on either side.
type result struct {
	first, second, ours Record
	err                 error
}

// playAll plays every scenario twice with upstream's loops and once with ours,
// the three at the same time, so that all have the same share of the machine.
func playAll(t *testing.T, scenarios []Scenario, upstream, own *Plane) []result {
	t.Helper()
	results := make([]result, len(scenarios))
	lanes := make(chan struct{}, number(t, "LOOPSCOPE_PARITY_LANES", manyLanes))
	ended := make(chan struct{})
	began := time.Now()
	for i := range scenarios {
		go func() {
			lanes <- struct{}{}
			results[i] = playOne(t.Context(), scenarios[i], upstream, own)
			<-lanes
			ended <- struct{}{}
		}()
	}
	for range scenarios {
		<-ended
	}
	t.Logf("%d scenarios were played three times in %s", len(scenarios), time.Since(began).Round(time.Second))
	return results
}

func playOne(ctx context.Context, scenario Scenario, upstream, own *Plane) result {
	type side struct {
		name   string
		plane  *Plane
		record Record
		err    error
	}
	sides := []*side{{name: "upstream", plane: upstream}, {name: "upstream again", plane: upstream}, {name: "ours", plane: own}}
	ended := make(chan struct{})
	for _, s := range sides {
		go func() {
			defer func() { ended <- struct{}{} }()
			if s.record, s.err = s.plane.Play(ctx, scenario); s.err != nil {
				s.err = fmt.Errorf("%s: %w", s.name, s.err)
			}
		}()
	}
	for range sides {
		<-ended
	}
	r := result{first: sides[0].record, second: sides[1].record, ours: sides[2].record}
	for _, s := range sides {
		if r.err == nil {
			r.err = s.err
		}
	}
	return r
}
