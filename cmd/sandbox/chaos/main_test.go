// Package chaos_test breaks what the loops stand on in the middle of rollouts,
// through the real transport and against a real API server, and sees that all
// comes to the right end with nothing created twice. It may not replace what it
// breaks: every request that is not the one to be spoilt reaches the API server.
//
// Environment: LOOPSCOPE_SANDBOX and LOOPSCOPE name binaries that are built
// already, LOOPSCOPE_CHAOS=all runs every fault in all its rounds on 20
// Deployments (default: one round each of a few, on 6), LOOPSCOPE_CHAOS=NAME
// those whose name contains NAME, LOOPSCOPE_CHAOS_ROUNDS bounds the rounds of
// each fault, and LOOPSCOPE_CHAOS_SEED draws the few.
package chaos_test

import (
	"flag"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"k8s.io/klog/v2"

	"github.com/loopscope/loopscope/cmd/sandbox/testplane"
)

// atOnce is how many faults that concern one namespace alone run at once. Their
// rollouts mostly wait for pods.
const atOnce = "5"

func TestMain(m *testing.M) {
	flag.Parse()
	if err := flag.Set("test.parallel", atOnce); err != nil {
		fmt.Fprintln(os.Stderr, "chaos:", err)
		os.Exit(2)
	}
	klog.SetSlogLogger(slog.New(slog.DiscardHandler)) // that a dead API server does not answer is no news
	os.Exit(m.Run())
}

// scale is how much of it is run.
type scale struct {
	deployments int
	rounds      func(fault) int
}

// chosen is what this run is to do with a list of faults: all of them, those of
// a name, or a seeded few.
func chosen(t *testing.T, faults []fault, few int) ([]fault, scale) {
	t.Helper()
	most := int(testplane.Number(t, "LOOPSCOPE_CHAOS_ROUNDS", 20))
	whole := scale{deployments: 20, rounds: func(f fault) int { return min(f.rounds, most) }}
	switch which := os.Getenv("LOOPSCOPE_CHAOS"); which {
	case "all":
		return faults, whole
	case "":
		return sample(t, faults, few), scale{deployments: 6, rounds: func(fault) int { return 1 }}
	default:
		var named []fault
		for _, f := range faults {
			if strings.Contains(f.String(), which) {
				named = append(named, f)
			}
		}
		return named, whole
	}
}

func sample(t *testing.T, faults []fault, few int) []fault {
	t.Helper()
	seed := testplane.Number(t, "LOOPSCOPE_CHAOS_SEED", rand.Uint64N(1_000_000))
	t.Logf("a sample of %d out of %d faults, LOOPSCOPE_CHAOS_SEED=%d", few, len(faults), seed)
	var drawn []fault
	for _, i := range rand.New(rand.NewPCG(seed, 0)).Perm(len(faults))[:few] {
		drawn = append(drawn, faults[i])
	}
	return drawn
}
