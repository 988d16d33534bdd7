package deployment_test

import (
	"slices"
	"testing"

	"github.com/loopscope/loopscope/controllers/deployment"
	"github.com/loopscope/loopscope/telemetry/decision"
)

func known(code string) bool {
	_, ok := deployment.Codes.Find(code)
	return ok
}

// use is where a golden has a code: the questions that may have led to it.
type use struct {
	golden, code string
	questions    []string
}

// TestGoldensShowEveryReason: every code is met in a golden and every code that
// is met has its reason; the questions that a reason names are asked where it is
// met, and each of them somewhere.
func TestGoldensShowEveryReason(t *testing.T) {
	var said, held, timers, estimates []use
	for _, file := range goldenFiles(t) {
		p := play(t, readGolden(t, file))
		var asked []string
		for _, step := range p.steps() {
			asked = append(asked, step.Question)
		}
		said = append(said, use{file, p.sentence.Code, asked})
		if p.estimate != nil {
			estimates = append(estimates, use{file, p.estimate.Code, asked})
		}
		for _, r := range p.rounds {
			for _, h := range r.Verdict.Held {
				held = append(held, use{file, h.Code, []string{h.Question}})
			}
			timers = append(timers, rung(file, r.Verdict.Timers)...)
		}
		if p.report != nil {
			timers = append(timers, rung(file, p.report.Timers)...)
		}
	}
	checkReasons(t, deployment.Codes, said)
	checkReasons(t, deployment.HeldCodes, held)
	checkReasons(t, deployment.TimerCodes, timers)
	checkReasons(t, deployment.EstimateCodes, estimates)
}

func rung(file string, timers []decision.Timer) (list []use) {
	for _, timer := range timers {
		list = append(list, use{file, timer.Code, []string{timer.Question}})
	}
	return list
}

func checkReasons(t *testing.T, r decision.Reasons, uses []use) {
	t.Helper()
	for _, u := range uses {
		x, ok := r.Find(u.code)
		if !ok {
			t.Errorf("%s: the %s code %q has no reason", u.golden, r.Kind, u.code)
		} else if len(x.Questions) > 0 && !slices.ContainsFunc(x.Questions, func(id string) bool { return slices.Contains(u.questions, id) }) {
			t.Errorf("%s: none of %v leads to the %s code %q, of which its reason knows", u.golden, u.questions, r.Kind, u.code)
		}
	}
	for _, x := range r.List {
		if !slices.ContainsFunc(uses, func(u use) bool { return u.code == x.Code }) {
			t.Errorf("no golden has the %s code %q", r.Kind, x.Code)
		}
		for _, id := range x.Questions {
			if !slices.ContainsFunc(uses, func(u use) bool { return u.code == x.Code && slices.Contains(u.questions, id) }) {
				t.Errorf("no golden with the %s code %q asks %s", r.Kind, x.Code, id)
			}
		}
	}
}
