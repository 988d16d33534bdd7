package replicaset_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/loopscope/loopscope/controllers/decision"
	"github.com/loopscope/loopscope/controllers/replicaset"
)

// TestWordsCountWithFacts: whatever is decided and however it ends, every number
// that is said is a fact of the sync, every answer is declared, and every code
// has a meaning.
func TestWordsCountWithFacts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := genSnapshot(t)
		v := replicaset.Decide(s)
		rounds := []decision.Round{{Verdict: v, Outcomes: genOutcomes(t, v)}}
		report := replicaset.Settle(s, rounds)
		try := genTry(t, s.Now)
		sentence := replicaset.Say(s, rounds, &report, try)
		if !known(sentence.Code) {
			t.Fatalf("code %q is not declared", sentence.Code)
		}
		for _, problem := range contradictions(s, rounds, sentence) {
			t.Fatal(problem)
		}
		words := []decision.Words{sentence.Lead, sentence.Then}
		for _, h := range v.Held {
			words = append(words, h.Unblocks)
		}
		facts := decision.Facts(rounds, &report.Report, append(replicaset.Numbers(s), try.Facts()...)...)
		for _, w := range words {
			if strays := w.Strays(facts); len(strays) > 0 {
				t.Fatalf("%q are no facts, in %q", strays, sentence.At(s.Now))
			}
		}
		for _, step := range append(v.Path, report.Path...) {
			q, _ := replicaset.Catalogue.Find(step.Question)
			if _, ok := q.Answer(step.Answer); !ok {
				t.Fatalf("%s does not declare the answer %q", step.Question, step.Answer)
			}
		}
	})
}

func genTry(t *rapid.T, now time.Time) decision.Try {
	if rapid.Bool().Draw(t, "first try") {
		return decision.Try{}
	}
	return decision.Try{Number: rapid.Int64Range(1, 20).Draw(t, "try"), Next: now.Add(time.Second)}
}
