package conformance

import (
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

const variables = "LOOPSCOPE_CONFORMANCE_"

// side is who runs the loops, as the table calls it.
type side string

const (
	ours     side = "ours"
	upstream side = "upstream"
)

// loops is the side's value of --loops.
func (s side) loops() string {
	if s == ours {
		return "own"
	}
	return string(s)
}

// whole is every spec of the three loops. Left out are one that needs a cloud's
// load balancer and two that pull a private image: they skip themselves
// everywhere but on that cloud.
var whole = selection{
	focus: `\[sig-apps\] (Deployment|ReplicaSet|ReplicationController) `,
	skip:  `cloud load-balancer|with a private image`,
	specs: 24, enough: 22,
}

// sample has a spec of each loop in which pods come and go, or change hands,
// and that takes seconds.
var sample = exactly(
	"[sig-apps] Deployment RollingUpdateDeployment should delete old pods and create new ones [Conformance]",
	"[sig-apps] ReplicaSet should adopt matching pods on creation and release no longer matching pods [Conformance]",
	"[sig-apps] ReplicationController should adopt matching pods on creation [Conformance]",
)

// selection is which specs are to run. Focus and skip are regular expressions
// over a spec's whole name.
type selection struct {
	focus, skip string
	specs       int // that must run on each side
	enough      int // that must pass with our loops
}

func exactly(names ...string) selection {
	quoted := make([]string, len(names))
	for i, name := range names {
		quoted[i] = regexp.QuoteMeta(name)
	}
	return selection{focus: strings.Join(quoted, "|"), specs: len(names), enough: len(names)}
}

// settings say how much is run.
type settings struct {
	selection
	runs  int
	sides []side // in the order of their columns
}

// settingsOf reads the environment. A number of runs makes the sample the whole, on both sides.
func settingsOf(t *testing.T) settings {
	t.Helper()
	s := settings{selection: sample, runs: 1, sides: []side{ours}}
	if text := os.Getenv(variables + "RUNS"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			t.Fatalf("%sRUNS=%s: want a positive number", variables, text)
		}
		s = settings{selection: whole, runs: n, sides: []side{ours, upstream}}
	}
	switch alone := side(os.Getenv(variables + "SIDE")); alone {
	case "":
	case ours, upstream:
		s.sides = []side{alone}
	default:
		t.Fatalf("%sSIDE=%s: want ours or upstream", variables, alone)
	}
	return s
}
