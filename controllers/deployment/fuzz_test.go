package deployment_test

import (
	"testing"

	"github.com/loopscope/loopscope/controllers/deployment"
	"github.com/loopscope/loopscope/telemetry/decision"
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
		found := s.Learnt
		p := run(s, decision.Try{Number: int64(how % 17), Limit: 15, Dropped: how%17 == 16}, nil, func(v decision.Verdict) (list []decision.Outcome, learnt decision.Learnt) {
			for range v.Actions {
				o := decision.Outcome{State: states[int(how)%len(states)]}
				if how&8 != 0 {
					o.Failure, o.Other = &decision.Failure{Message: string(data[:min(len(data), 200)])}, &decision.Writer{}
				}
				list = append(list, o)
				how = how*31 + 7
			}
			learnt, found = found, decision.Learnt{}
			return list, learnt
		})
		if again := run(s, p.try, nil, decision.Recorded(p.rounds)); render(again)["path"] != render(p)["path"] {
			t.Fatalf("decided twice, differently:\n%s", render(again)["path"])
		}
		if !known(p.sentence.Code) {
			t.Fatalf("code %q is not declared", p.sentence.Code)
		}
		p.fuzzed = true
		for _, problem := range p.problems() {
			t.Error(problem)
		}
	})
}
