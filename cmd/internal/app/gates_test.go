package app

import (
	"context"
	"log/slog"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/loopscope/loopscope/controllers"
	"github.com/loopscope/loopscope/controllers/engine"
	"github.com/loopscope/loopscope/telemetry/decision/decisiontest"
)

// markup is what a page is its text without.
var markup = regexp.MustCompile(`<[^>]*>`)

// register adds a loop that the program does not have, as one line of it would, until the test ends.
func register(t *testing.T, change func(*engine.Registration)) {
	t.Helper()
	loops, registered := controllers.Loops, controllers.Registered
	t.Cleanup(func() { controllers.Loops, controllers.Registered = loops, registered })
	r := engine.Registration{
		Loop: decisiontest.Loop, Controller: "claim-controller", SyncsFlag: "concurrent-claim-syncs", Workers: 1,
		Settings: engine.Settings{Name: decisiontest.Loop.Name, Component: "claim-controller"},
		New: func(_ context.Context, n engine.Needs) (*engine.Loop, error) {
			l := engine.New(engine.Settings{Name: decisiontest.Loop.Name, Component: "claim-controller"}, n.Client, n.Options)
			l.Use(make(slow))
			return l, nil
		},
	}
	change(&r)
	controllers.Loops, controllers.Registered = append(slices.Clone(loops), r.Loop), append(slices.Clone(registered), r)
}

// A controller that needs a feature, or is off by default, does not run, and everything that tells of
// controllers says what it takes; with that it runs ([M-1]).
func TestControllersThatNeedMore(t *testing.T) {
	gated := func(r *engine.Registration) { r.Gates = []engine.Gate{{Name: "Claims"}} }
	named := func(r *engine.Registration) { r.OffByDefault = true }
	for name, c := range map[string]struct {
		change  func(*engine.Registration)
		options Options
		why     string // it does not run; "" where it does
		logged  bool
	}{
		"a feature that is off":       {gated, Options{}, "it needs the feature Claims, which is off; --feature-gates=Claims=true switches it on", true},
		"a feature that is on":        {gated, Options{Features: map[string]bool{"Claims": true}}, "", false},
		"off by default":              {named, Options{}, "it is off by default; --controllers=*,claim-controller switches it on", false},
		"off by default, and named":   {named, Options{Controllers: []string{"*", "claim-controller"}}, "", false},
		"a feature, and left out":     {gated, Options{Controllers: []string{"*", "-claim-controller"}}, "--controllers leaves it out", false},
		"a feature, and named at all": {gated, Options{Controllers: []string{"claim-controller"}}, "it needs the feature Claims, which is off", true},
	} {
		t.Run(name, func(t *testing.T) {
			register(t, c.change)
			var log logged
			o := c.options
			o.Config, o.Listen, o.Logger = nowhere(), "127.0.0.1:0", slog.New(slog.NewTextHandler(&log, nil))
			a, err := New(o)
			if err != nil {
				t.Fatal(err)
			}
			if err := a.Start(t.Context()); err != nil {
				t.Fatal(err)
			}
			defer stop(t, a)
			if runs := slices.ContainsFunc(a.cluster.loops, func(l running) bool { return l.controller == "claim-controller" }); runs != (c.why == "") {
				t.Fatalf("it runs: %v", runs)
			}
			if said := log.take(); strings.Contains(said, "a feature that it needs is off") != c.logged {
				t.Errorf("log: %s", said)
			}
			for _, path := range []string{"/about", "/claims", "/debug/controllers"} {
				code, body := get(t, http.DefaultClient, a.URL()+path)
				if text := strings.Join(strings.Fields(markup.ReplaceAllString(body, "")), " "); code != http.StatusOK || c.why != "" && !strings.Contains(text, c.why) || c.why == "" && strings.Contains(text, "it needs the feature") {
					t.Errorf("%s: %d, no %q in %s", path, code, c.why, text)
				}
			}
		})
	}
}
