// Package situations_test brings Deployments, ReplicaSets and
// ReplicationControllers into the situations that people meet, on a real control
// plane, and holds every place that tells of one to the same sentence, and that
// to a golden text. What holds is judged by the cluster's objects, never by the
// words that are tested.
//
// testdata/scripts has the situations, in the language of package parity; see
// script_test.go. testdata/situations has a golden text for each. With -update
// the golden texts are written.
//
// Environment: LOOPSCOPE_SANDBOX and LOOPSCOPE name binaries that are built
// already, LOOPSCOPE_SITUATIONS is "all", a number of situations to draw
// (default 12) or a regular expression for their names, and
// LOOPSCOPE_SITUATIONS_SEED draws them.
package situations_test

import (
	"cmp"
	"flag"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strconv"
	"testing"

	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"github.com/loopscope/loopscope/cmd/sandbox/parity"
	"github.com/loopscope/loopscope/cmd/sandbox/testplane"
)

// atOnce is how many situations are made at once. They mostly wait for pods.
const atOnce = "10"

// sampled is how many are drawn unless told otherwise.
const sampled = 12

// fewest is what the corpus may not fall below.
const fewest = 80

var update = flag.Bool("update", false, "write the golden texts")

func TestMain(m *testing.M) {
	flag.Parse()
	if err := flag.Set("test.parallel", atOnce); err != nil {
		fmt.Fprintln(os.Stderr, "situations:", err)
		os.Exit(2)
	}
	klog.SetSlogLogger(slog.New(slog.DiscardHandler)) // that a dead API server does not answer is no news
	os.Exit(m.Run())
}

// TestSituations makes the chosen ones: those that touch nodes one after the
// other on a plane of their own, the others at once on another.
func TestSituations(t *testing.T) {
	corpus := readCorpus(t)
	some := chosen(t, corpus)
	hook := startWebhook(t)
	t.Run("shared", func(t *testing.T) {
		here := onPlane(some, "")
		if len(here) == 0 {
			return
		}
		g := open(t, hook)
		t.Run("all", func(t *testing.T) {
			for _, s := range here {
				t.Run(s.name, func(t *testing.T) {
					t.Parallel()
					g.play(t, s)
				})
			}
		})
	})
	t.Run("nodes", func(t *testing.T) {
		here := onPlane(some, "nodes")
		if len(here) == 0 {
			return
		}
		g := open(t, hook)
		for _, s := range here {
			t.Run(s.name, func(t *testing.T) { g.play(t, s) })
		}
	})
}

// ground is a control plane with our loops, somebody who plays scripts on it,
// and the programs that people ask.
type ground struct {
	*testplane.Plane
	scripts   *parity.Plane
	loopscope string
	hook      *webhook
}

func open(t *testing.T, hook *webhook) *ground {
	t.Helper()
	plane := testplane.Start(t, testplane.Options{Loops: "own", Flags: []string{"--loops-qps=100"}})
	config := rest.CopyConfig(plane.Config(t))
	scripts, err := parity.Open(t.Context(), config)
	if err != nil {
		t.Fatalf("open the plane: %v", err)
	}
	return &ground{plane, scripts, testplane.Loopscope(t), hook}
}

func onPlane(some []situation, plane string) []situation {
	return slices.DeleteFunc(slices.Clone(some), func(s situation) bool { return s.plane != plane })
}

// chosen is what this run makes: all, those of a name, or a seeded few, which
// are of the shared plane alone, as a second one takes longer than they do.
func chosen(t *testing.T, corpus []situation) []situation {
	t.Helper()
	which := cmp.Or(os.Getenv("LOOPSCOPE_SITUATIONS"), strconv.Itoa(sampled))
	if which == "all" {
		return corpus
	}
	n, err := strconv.Atoi(which)
	if err != nil {
		only := regexp.MustCompile(which)
		return slices.DeleteFunc(corpus, func(s situation) bool { return !only.MatchString(s.name) })
	}
	seed := testplane.Number(t, "LOOPSCOPE_SITUATIONS_SEED", rand.Uint64N(1_000_000))
	shared := onPlane(corpus, "")
	t.Logf("a sample of %d out of %d situations, LOOPSCOPE_SITUATIONS_SEED=%d", n, len(corpus), seed)
	var drawn []situation
	for _, i := range rand.New(rand.NewPCG(seed, 0)).Perm(len(shared))[:min(n, len(shared))] {
		drawn = append(drawn, shared[i])
	}
	return drawn
}
