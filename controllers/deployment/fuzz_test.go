package deployment_test

import (
	"testing"

	"github.com/loopscope/loopscope/controllers/decision"
	"github.com/loopscope/loopscope/controllers/deployment"
)

// FuzzSync gives arbitrary text to a whole sync. What Decode refuses it must
// refuse in words; what it accepts must be decided, settled and said without a
// panic, twice the same, with every answer and write declared.
func FuzzSync(f *testing.F) {
	for i, file := range goldenFiles(f) {
		f.Add(readGolden(f, file).snapshot, uint8(i))
	}
	states := []decision.State{decision.Written, decision.Refused, decision.Conflicted, decision.Unknown, decision.Superseded, decision.Tolerated, decision.NotTried, decision.Partly}
	f.Fuzz(func(t *testing.T, data []byte, how uint8) {
		s, err := deployment.Decode(data)
		if err != nil {
			if s != nil || err.Error() == "" {
				t.Fatalf("refused with %v beside %v", err, s)
			}
			return
		}
		round := decision.Round{Learnt: s.Learnt, Verdict: deployment.Decide(s)}
		for range round.Verdict.Actions {
			o := decision.Outcome{State: states[int(how)%len(states)]}
			if how&8 != 0 {
				o.Failure, o.Other = &decision.Failure{Message: string(data[:min(len(data), 200)])}, &decision.Writer{}
			}
			round.Outcomes = append(round.Outcomes, o)
			how = how*31 + 7
		}
		p := played{snapshot: s, rounds: []decision.Round{round}, try: decision.Try{Number: int64(how % 17), Limit: 15, Dropped: how%17 == 16}}
		if !round.Verdict.Stop {
			report := deployment.Settle(s, p.rounds)
			p.report = &report
		}
		p.sentence, p.estimate = deployment.Say(s, p.rounds, p.report, p.try), deployment.EstimateOf(s)
		if got := render(p)["path"]; got != render(played{snapshot: s, rounds: []decision.Round{{Verdict: deployment.Decide(s)}}})["path"] {
			t.Fatalf("decided twice, differently:\n%s", got)
		}
		if !known(p.sentence.Code) {
			t.Fatalf("code %q is not declared", p.sentence.Code)
		}
		for _, problem := range p.problems() {
			t.Error(problem)
		}
	})
}
