package replay

import (
	"fmt"
	"time"

	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/decision"
)

// again goes through a recorded sync as the loop does, and compares.
type again struct {
	t     *telemetry.Trace
	at    string // the place where a panic is a difference
	round int
	// found is the first difference, and told the first of what is only told.
	found, told *Difference
}

// sync runs the recorded sync, with what its rounds had found out, and compares.
func (a *again) sync(core decision.Core, now time.Time) (f Finding) {
	defer func() {
		expected := panicked(a.t) && a.round >= len(a.t.Rounds)
		if p := recover(); p != nil && a.found == nil && !expected {
			a.found = &Difference{Path: a.at, Recorded: "an answer", Now: fmt.Sprintf("a panic: %v", p)}
		}
		f = a.finding()
	}()
	t, recorded := a.t, decision.Recorded(a.t.Rounds)
	a.at = "rounds[0].verdict"
	x := decision.Sync{Core: core}
	x.Run(func(v decision.Verdict) ([]decision.Outcome, decision.Learnt) {
		a.verdict(v)
		return recorded(v)
	})
	if panicked(t) {
		return f
	}
	if x.Report != nil && t.Report != nil {
		x.Report.Outcome = t.Report.Outcome // What became of the write is not for settle to say.
	}
	told := x.Tell(t.Try, now)
	a.compare("rounds", len(t.Rounds), len(x.Rounds))
	a.compare("report", t.Report, x.Report)
	a.compare("numbers", keyNumbers(t.Numbers), keyNumbers(told.Numbers))
	a.words("numbers", listed(t.Numbers), listed(told.Numbers))
	a.words("sentence", t.Sentence, told.Sentence)
	return f
}

// verdict compares that of the next round; one more than was recorded is found by
// the number of rounds.
func (a *again) verdict(now decision.Verdict) {
	if a.round < len(a.t.Rounds) {
		was, at := a.t.Rounds[a.round].Verdict, a.at
		a.compare(at, wordless(was), wordless(now))
		a.words(at, was, now)
	}
	a.round++
	if a.at = fmt.Sprintf("rounds[%d].verdict", a.round); a.round == len(a.t.Rounds) {
		a.at = "report"
	}
}

func (a *again) compare(at string, recorded, now any) {
	if a.at = at; a.found == nil {
		a.found = compare(at, recorded, now)
	}
}

func (a *again) words(at string, recorded, now any) {
	if a.told == nil {
		a.told = compare(at, recorded, now)
	}
}

// finding is what the differences come to.
func (a *again) finding() Finding {
	switch {
	case a.found != nil:
		return Finding{Kind: Different, Difference: *a.found}
	case panicked(a.t):
		return Finding{Kind: NotReplayable, Reason: Panicked}
	case a.told != nil:
		return Finding{Kind: WordsOnly, Difference: *a.told}
	default:
		return Finding{Kind: Equal}
	}
}
