package replicaset_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/loopscope/loopscope/controllers/replicaset"
	"github.com/loopscope/loopscope/telemetry/decision"
	"github.com/loopscope/loopscope/telemetry/decision/decisiontest"
)

// TestWordsCountWithFacts: whatever is decided and however it ends, every number
// that is said is a fact of the sync, every answer is declared, and every code
// has a meaning.
func TestWordsCountWithFacts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := genSnapshot(t)
		try := genTry(t, s.Now)
		p := acted(s, try, func(v decision.Verdict) []decision.Outcome { return genOutcomes(t, v) })
		sentence, v := p.sentence, p.rounds[0].Verdict
		var report *decision.Report
		if p.report != nil {
			report = &p.report.Report
		}
		if !known(sentence.Code) {
			t.Fatalf("code %q is not declared", sentence.Code)
		}
		if early := decisiontest.ChangesEarly(p.sentence, p.snapshot.Now, p.tell); early != "" {
			t.Error(early)
		}
		for _, problem := range p.contradictions() {
			t.Fatal(problem)
		}
		words := []decision.Words{sentence.Lead, sentence.Then}
		for _, h := range v.Held {
			words = append(words, h.Unblocks)
		}
		facts := decision.Facts(p.rounds, report, append(p.numbers, try.Facts()...)...)
		for _, w := range words {
			if strays := w.Strays(facts); len(strays) > 0 {
				t.Fatalf("%q are no facts, in %q", strays, sentence.At(s.Now))
			}
		}
		for _, step := range p.steps() {
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
