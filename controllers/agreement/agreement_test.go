package agreement_test

import (
	"strings"
	"testing"

	"github.com/loopscope/loopscope/controllers/agreement"
	"github.com/loopscope/loopscope/controllers/diagnosis"
	"github.com/loopscope/loopscope/telemetry/decision"
)

// Each kind of contradiction is seen, and a sync without one is left alone.
func TestContradictions(t *testing.T) {
	words := func(text string) decision.Words { return decision.Words{}.Say(text) }
	sound := func() agreement.Account {
		return agreement.Account{
			Diagnosis: decision.Diagnosis{Findings: []decision.Finding{{Code: diagnosis.Image, Count: 1, Message: "web:9: not found"}}},
			Rounds:    []decision.Round{{Verdict: decision.Verdict{Held: []decision.Held{{Code: diagnosis.Image}, {Code: "floor"}}}}},
			Sentence:  decision.Sentence{Code: diagnosis.Image, Tone: decision.ToneWaiting, Lead: words("1 pod cannot pull web:9 (").Quote("web:9 … not found"), Then: words("Unblocks when that image exists")},
			Estimate:  &decision.Estimate{Code: diagnosis.Image},
		}
	}
	for _, c := range []struct {
		name   string
		change func(*agreement.Account)
		want   string
	}{
		{"sound", func(*agreement.Account) {}, ""},
		{"a sentence of its own", func(a *agreement.Account) { a.Sentence.Code = "moving" }, ""},
		{"sentence", func(a *agreement.Account) { a.Sentence.Code, a.Estimate = diagnosis.Quota, nil }, "the sentence names quota"},
		{"held write", func(a *agreement.Account) { a.Rounds[0].Verdict.Held[1].Code = diagnosis.Crash }, "a held write names crash-loop"},
		{"estimate", func(a *agreement.Account) {
			a.Diagnosis.Findings = append(a.Diagnosis.Findings, decision.Finding{Code: diagnosis.Crash})
			a.Estimate.Code = diagnosis.Crash
		}, "the sentence names image-pull, the estimate crash-loop"},
		{"vague", func(a *agreement.Account) { a.Sentence.Lead = words("1 of 3 pods are not ready") }, "the cluster gives a reason"},
		{"vague as the cluster is", func(a *agreement.Account) {
			a.Sentence.Lead = words("1 of 3 pods are not ready")
			a.Diagnosis.Findings = append(a.Diagnosis.Findings, decision.Finding{Code: diagnosis.Probe})
		}, ""},
		{"cut", func(a *agreement.Account) { a.Sentence.Lead = words("refused: ").Quote("admission webhook …") }, "loses its end"},
		{"cut in the record", func(a *agreement.Account) {
			a.Sentence.Lead = words("refused: ").Quote("admission webhook …")
			a.Rounds[0].Outcomes = []decision.Outcome{{Failure: &decision.Failure{Message: "admission webhook says much…"}}}
		}, ""},
		{"cut in what was found", func(a *agreement.Account) {
			a.Sentence.Lead = words("refused: ").Quote("admission webhook …")
			a.Diagnosis.Findings[0].Message = "admission webhook says much…"
		}, ""},
		{"a list of ours that goes on", func(a *agreement.Account) {
			a.Sentence.Lead = words("1 pod waits for web-1, web-2, …")
		}, ""},
		{"refused by nobody", func(a *agreement.Account) {
			a.Diagnosis.Findings = append(a.Diagnosis.Findings, decision.Finding{Code: diagnosis.Refused, Message: "EOF"})
			a.Rounds[0].Outcomes = []decision.Outcome{{State: decision.Unanswered, Failure: &decision.Failure{Reason: decision.Unreachable, Message: "EOF"}}}
		}, "nobody answered, and replica-failure says that it was refused"},
		{"refused before nobody answered", func(a *agreement.Account) {
			a.Diagnosis.Findings = append(a.Diagnosis.Findings, decision.Finding{Code: diagnosis.Refused, Message: "no"})
			a.Rounds[0].Outcomes = []decision.Outcome{{State: decision.Unanswered, Failure: &decision.Failure{Reason: decision.Unreachable, Message: "EOF"}}}
		}, ""},
		{"endless", func(a *agreement.Account) { a.Sentence.Then = nil }, "nothing says what ends it"},
		{"nothing to end", func(a *agreement.Account) { a.Sentence.Then, a.Sentence.Tone = nil, decision.ToneOK }, ""},
	} {
		a := sound()
		c.change(&a)
		got := strings.Join(a.Contradictions(), "; ")
		if (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// TestSlips: what does not go together is seen, and what does is left alone.
func TestSlips(t *testing.T) {
	for text, want := range map[string]string{
		"2 new pods keep crashing | Unblocks when they stay up":                                "",
		"1 of 3 pods is not available; NAME has no node yet | Unblocks when it becomes ready":  "",
		"the deletion of 2 pods is not in the cache":                                           "",
		"10 new and 1 old pod stay as they are":                                                "",
		"2 new pods keep crashing | Unblocks when it stays up":                                 "another number",
		"1 new pod keeps crashing | Unblocks when they stay up":                                "another number",
		"2 new pods keep crashing | Unblocks when they become ready and when it becomes ready": "twice",
		"10 new and 1 old pods stay":                                                           "1 old pods",
		"2 new pod keep crashing":                                                              "2 new pod",
		"2 pods keeps crashing":                                                                "2 pods keeps",
		"1 keep crashing":                                                                      "1 keep",
		"it is is ready":                                                                       "twice",
		"it is  ready":                                                                         "it says",
		"it is ready .":                                                                        "it says",
		"it is ready.":                                                                         "it says",
		"pods ()":                                                                              "it says",
	} {
		lead, then, _ := strings.Cut(text, " | ")
		words := func(text string) decision.Words { return decision.Words{}.Say(text) }
		a := agreement.Account{Sentence: decision.Sentence{Tone: decision.ToneOK, Lead: words(lead), Then: words(then)}}
		got := strings.Join(a.Contradictions(), "; ")
		if (got == "") != (want == "") || !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}
