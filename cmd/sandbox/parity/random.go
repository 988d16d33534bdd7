package parity

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// Random writes the script of a random scenario: one Deployment and three to
// six changes, each after the last has come to rest. The same seed and number
// give the same script.
func Random(seed, number uint64) (Scenario, error) {
	g := generator{Rand: rand.New(rand.NewPCG(seed, number))}
	g.create()
	for range 3 + g.IntN(4) {
		g.line("quiet")
		g.change()
	}
	if g.paused {
		g.line("quiet")
		g.line("patch d/web paused=false")
	}
	return Parse(fmt.Sprintf("random/%d-%d", seed, number), g.text.String())
}

// generator remembers of the Deployment what the next change has to know.
type generator struct {
	*rand.Rand
	text    strings.Builder
	paused  bool
	changes int
}

func (g *generator) line(format string, args ...any) { fmt.Fprintf(&g.text, format+"\n", args...) }

func (g *generator) pick(of ...string) string { return of[g.IntN(len(of))] }

// bounds are never both 0, which the API server refuses.
func (g *generator) bounds() string {
	return g.pick("surge=1 unavailable=0", "surge=0 unavailable=1", "surge=2 unavailable=1", "surge=25% unavailable=25%",
		"surge=100% unavailable=0", "surge=0 unavailable=100%", "surge=40% unavailable=0", "surge=0 unavailable=10%")
}

func (g *generator) create() {
	strategy := g.bounds()
	if g.IntN(4) == 0 {
		strategy = "strategy=Recreate"
	}
	g.line("create d/web replicas=%d history=%d %s %s", g.IntN(6), g.IntN(4), strategy,
		g.pick("", "", "min-ready=1", "pod:ready-after=2s", "deadline=2147483647", "annotation:team=red"))
}

// change is one step of a user, or of a pod.
func (g *generator) change() {
	g.changes++
	for _, each := range []struct {
		weight int
		write  func()
	}{
		{6, func() { g.line("patch d/web image=shop:v%d", g.IntN(4)) }},
		{2, func() { g.line("patch d/web image=shop:bad%d", g.IntN(2)) }},
		{5, func() { g.line("scale d/web %d", g.IntN(7)) }},
		{2, func() { g.line("patch d/web image=shop:v%d replicas=%d", g.IntN(4), g.IntN(6)) }},
		{2, func() { g.paused = !g.paused; g.line("patch d/web paused=%v", g.paused) }},
		{1, func() { g.line("patch d/web history=%d", g.IntN(3)) }},
		{1, func() { g.line("patch d/web annotation:team=%s", g.pick("red", "blue")) }},
		{1, func() {
			g.line("patch d/web annotation:deprecated.deployment.rollback.to=%s", g.pick("0", "1", "2", "99"))
		}},
		{1, func() { g.line("patch d/web template-label:tier=%s", g.pick("front", "back")) }},
		{1, func() { g.line("pods app=web all delete") }},
		{1, func() { g.line("patch d/web min-ready=%d", g.IntN(2)) }},
		{1, func() { g.line("restart d/web") }},
	} {
		if g.IntN(24) < each.weight {
			each.write()
			return
		}
	}
	g.line("patch d/web image=shop:w%d", g.changes)
}
