package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"sync"
	"time"
)

// status is what became of a plant.
type status string

const (
	killed    status = "killed"
	timedOut  status = "killed by timeout"
	survived  status = "survived"
	noCompile status = "does not compile" // and so is no plant
)

// result is a plant with its status.
type result struct {
	plant  plant
	status status
	took   time.Duration
}

// runner plants mistakes, several at a time.
type runner struct {
	root    string
	scratch string
	workers int
	state   *state
	out     io.Writer
	suites  map[string]*suite // those whose tests pass without a mistake

	mu   sync.Mutex
	done int
}

// plantAll plants the candidates in their order until as many as are asked for have
// compiled.
func plantAll(ctx context.Context, root string, o options, candidates []plant, out io.Writer) (results []result, err error) {
	scratch, err := os.MkdirTemp("", "mutants")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(scratch)) }()
	state, err := openState(o, root)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, state.close()) }()
	g := &runner{root: root, scratch: scratch, workers: max(1, o.workers), state: state, out: out, suites: map[string]*suite{}}
	want := o.n
	if want == 0 || len(o.ids) > 0 {
		want = len(candidates)
	}
	for len(results) < want && len(candidates) > 0 {
		batch := candidates[:min(want-len(results), len(candidates))]
		candidates = candidates[len(batch):]
		got, err := g.batch(ctx, batch)
		if err != nil {
			return nil, err
		}
		results = append(results, got...)
	}
	return results, nil
}

// atOnce bounds the plants in one binary.
const atOnce = 150

// batch plants these and returns those that compiled.
func (g *runner) batch(ctx context.Context, batch []plant) (results []result, err error) {
	byPackage := map[string][]plant{} // by package; what is outside of functions alone
	for _, p := range batch {
		if known, is := g.state.status(p); is {
			results = append(results, result{plant: p, status: known})
			continue
		}
		key := p.pkg
		if p.outside() {
			key += " " + p.id()
		}
		byPackage[key] = append(byPackage[key], p)
	}
	for _, key := range slices.Sorted(maps.Keys(byPackage)) {
		for together := range slices.Chunk(byPackage[key], atOnce) {
			got, err := g.runTogether(ctx, together)
			if err != nil {
				return nil, err
			}
			results = append(results, got...)
		}
	}
	return slices.DeleteFunc(results, func(r result) bool { return r.status == noCompile }), nil
}

// runTogether plants in one package, and runs its own tests on each plant. What they do
// not notice is left to the tests of its houses.
func (g *runner) runTogether(ctx context.Context, plants []plant) ([]result, error) {
	suites, err := houses(ctx, g.root, plants[0].pkg)
	if err != nil {
		return nil, err
	}
	suites = slices.Insert(suites, 0, plants[0].pkg)
	var results []result
	for i, tests := range suites {
		last := i == len(suites)-1
		found, err := g.against(ctx, tests, plants, last)
		if err != nil {
			return nil, err
		}
		plants = nil
		for _, r := range found {
			if r.status == survived && !last {
				plants = append(plants, r.plant)
			} else {
				results = append(results, r)
			}
		}
		if len(plants) == 0 {
			break
		}
	}
	return results, nil
}

// against builds plants of one package into a binary of tests, and runs them on each.
// Survivors are reported by the last tests alone.
func (g *runner) against(ctx context.Context, tests string, plants []plant, last bool) ([]result, error) {
	scratch, err := os.MkdirTemp(g.scratch, "mutants")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(scratch) }()
	s := g.suites[tests]
	if s == nil {
		s = newSuite(g.root, tests)
	}
	mutants := make([]mutant, len(plants))
	for i, p := range plants {
		mutants[i] = mutant{plant: p, number: i + 1}
	}
	binary, bad, err := s.build(ctx, g.root, scratch, slices.Clone(mutants))
	if err != nil {
		return nil, err
	}
	if g.suites[tests] == nil && !plants[0].outside() { // A package sorts before its variables.
		if err := s.baseline(ctx, binary, scratch); err != nil {
			return nil, err
		}
		g.suites[tests] = s
	}
	return g.all(ctx, mutants, func(x mutant) (status, error) {
		if bad[x.number] {
			return noCompile, nil
		}
		return s.try(ctx, binary, scratch, x.number)
	}, func(r result) error {
		if r.status == survived && !last {
			return nil
		}
		return g.report(r)
	})
}

// all tries mutants, several at a time.
func (g *runner) all(ctx context.Context, mutants []mutant, try func(mutant) (status, error), report func(result) error) ([]result, error) {
	results, errs := make([]result, len(mutants)), make([]error, len(mutants))
	next := make(chan int)
	var wg sync.WaitGroup
	for range g.workers {
		wg.Go(func() {
			for i := range next {
				if errs[i] = ctx.Err(); errs[i] != nil {
					continue
				}
				start := time.Now()
				found, err := try(mutants[i])
				results[i] = result{plant: mutants[i].plant, status: found, took: time.Since(start)}
				if errs[i] = err; err == nil {
					errs[i] = report(results[i])
				}
			}
		})
	}
	for i := range mutants {
		next <- i
	}
	close(next)
	wg.Wait()
	return results, errors.Join(errs...)
}

// try runs the tests with one plant switched on, the slow ones last.
func (s *suite) try(ctx context.Context, binary, scratch string, number int) (status, error) {
	runs := [][]string{nil}
	if s.slow != "" {
		runs = [][]string{{"-test.skip=" + s.slow}, {"-test.run=" + s.slow}}
	}
	for _, flags := range runs {
		_, err := s.run(ctx, binary, scratch, number, flags...)
		switch {
		case ctx.Err() != nil:
			return "", ctx.Err()
		case errors.Is(err, errTimeout):
			return timedOut, nil
		case err != nil:
			return killed, nil
		}
	}
	return survived, nil
}

// report prints a result and keeps it.
func (g *runner) report(r result) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.done++
	fmt.Fprintf(g.out, "%4d %5.1fs %s %-9s %s\n", g.done, r.took.Seconds(), r.plant.id(), r.status, r.plant)
	return g.state.keep(r)
}
