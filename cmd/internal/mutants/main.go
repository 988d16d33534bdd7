// Command mutants tests the tests: it plants one mistake after the other (a mutant)
// into packages, runs the package's own tests on each, those of the packages above it
// where they reach into it, and tells which mistakes no test noticed. No source is changed, as go reads a planted file through its -overlay;
// but tests run in the directory of their package, and a mistake can make them leave
// files there: git status shows them.
//
// CI plants 15 of them. The draw goes by a hash of each plant's own text and the seed,
// so a change brings only plants of its own into that sample, and a survivor there is
// about what has changed: the report says how to plant it again.
//
// A mistake that changes nothing is listed in survivors.yaml with the reason why.
// The program fails on a survivor that is not listed, and on an entry that no plant
// has any more.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// options are the flags.
type options struct {
	dir       string // the module's root
	patterns  []string
	seed      uint64
	n         int // plants to draw, 0 for all
	workers   int
	survivors string   // path of the list
	state     string   // path of the results to resume from, "" for none
	ids       []string // plants to plant, instead of drawing some
	list      bool
}

// errSurvived says that the report above has something to do.
var errSurvived = errors.New("mistakes survived the tests")

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, parse(), os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
}

func parse() options {
	o := options{dir: "."}
	ids := ""
	flag.Uint64Var(&o.seed, "seed", 1, "draw other plants")
	flag.IntVar(&o.n, "n", 0, "how many plants to draw; 0 plants all")
	flag.IntVar(&o.workers, "p", 2, "plants at a time")
	flag.StringVar(&o.survivors, "survivors", "cmd/internal/mutants/survivors.yaml", "the list of mistakes that change nothing")
	flag.StringVar(&o.state, "state", "", "keep results in this file, and go on where it ends")
	flag.StringVar(&ids, "id", "", "plant these, separated by commas, whatever the draw and the state say")
	flag.BoolVar(&o.list, "list", false, "print the plants that would be planted, and run nothing")
	flag.Usage = func() {
		fmt.Fprintln(flag.CommandLine.Output(), "usage, in the module's root: go run ./cmd/internal/mutants [flags] PACKAGE...")
		flag.PrintDefaults()
	}
	flag.Parse()
	if o.patterns = flag.Args(); len(o.patterns) == 0 {
		flag.Usage()
		os.Exit(2)
	}
	if ids != "" {
		o.ids = strings.Split(ids, ",")
	}
	return o
}

// run plants what the options ask for and reports it.
func run(ctx context.Context, o options, out io.Writer) error {
	dir, err := filepath.Abs(o.dir)
	if err != nil {
		return err
	}
	plants, err := collect(dir, o.patterns)
	if err != nil {
		return err
	}
	listed, err := readSurvivors(filepath.Join(dir, o.survivors))
	if err != nil {
		return err
	}
	stale, err := listed.stale(dir, plants)
	if err != nil {
		return err
	}
	candidates, err := o.choose(plants)
	if err != nil {
		return err
	}
	if o.list {
		for _, p := range candidates {
			fmt.Fprintf(out, "%s %s\n", p.id(), p)
		}
		return nil
	}
	results, err := plantAll(ctx, dir, o, candidates, out)
	if err != nil {
		return err
	}
	return report(out, results, listed, stale)
}

// choose is the order in which plants are tried: those that are asked for, or all of
// them in the order of the draw.
func (o options) choose(plants []plant) ([]plant, error) {
	if len(o.ids) == 0 {
		return drawn(plants, o.seed), nil
	}
	var chosen []plant
	for _, id := range o.ids {
		i := slices.IndexFunc(plants, func(p plant) bool { return p.id() == id })
		if i < 0 {
			return nil, fmt.Errorf("no plant %s in these packages: its line or its function has changed, see -list", id)
		}
		chosen = append(chosen, plants[i])
	}
	return chosen, nil
}
