package bench

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"
)

// settings say how much is measured, and under which limits. Both sides get
// the same ones.
type settings struct {
	deployments, pairs  int
	replicas, fewer     int32 // of each Deployment: at first, and after its scaling
	workers, qps, burst int
	quiet               time.Duration // without a write, before a phase counts as over
	sides               []side
	readers             map[side]int // of the overview
	shadow              bool         // a process watches
	profiles            string       // where those of our own processes go, "" for none
}

const variables = "LOOPSCOPE_BENCH_"

// settingsOf reads the environment. A number of Deployments makes the sample a
// measurement.
func settingsOf(t *testing.T) settings {
	t.Helper()
	s := settings{
		deployments: number(t, "DEPLOYMENTS", 6), pairs: number(t, "PAIRS", 1),
		replicas: 4, fewer: 2, quiet: time.Second,
		workers: number(t, "WORKERS", 5), qps: number(t, "QPS", 100), burst: number(t, "BURST", 200),
		sides: []side{ours, upstream}, profiles: os.Getenv(variables + "PROFILES"), readers: map[side]int{ours: 1, crowd: number(t, "READERS", 100)},
	}
	if os.Getenv(variables+"DEPLOYMENTS") != "" {
		s.replicas, s.fewer, s.quiet = 10, 5, 3*time.Second
	}
	switch alone := side(os.Getenv(variables + "SIDE")); alone {
	case "":
	case ours, upstream, bare:
		s.sides = []side{alone}
	default:
		t.Fatalf("%sSIDE=%s: want ours, upstream or bare", variables, alone)
	}
	if os.Getenv(variables+"OVERHEAD") != "" {
		s.sides = []side{ours, bare}
	}
	if os.Getenv(variables+"CROWD") != "" {
		s.sides = []side{crowd, unread}
	}
	if s.shadow = os.Getenv(variables+"SHADOW") == "yes"; s.shadow {
		s.sides = []side{upstream}
	}
	return s
}

// turns are the sides in the order in which they run in pair i: each begins as often
// as the other, as the first run finds components that are still cold.
func (s settings) turns(i int) []side {
	sides := slices.Clone(s.sides)
	if i%2 == 1 {
		slices.Reverse(sides)
	}
	return sides
}

func number(t *testing.T, name string, otherwise int) int {
	t.Helper()
	text := os.Getenv(variables + name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		t.Fatalf("%s%s=%s: want a positive number", variables, name, text)
	}
	return n
}

func (s settings) String() string {
	return fmt.Sprintf("%d Deployments of %d replicas, %d runs of each side in turn; for each loop %d workers, %d requests/s, burst %d; protobuf; "+
		"of ours, record and history on, readers of the overview: %v", s.deployments, s.replicas, s.pairs, s.workers, s.qps, s.burst, s.readers)
}
