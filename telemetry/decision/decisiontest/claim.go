// Package decisiontest is a loop that the program does not have, for tests of everything
// that shows loops: whatever works with it works with a loop that is yet to be written.
// No program imports it.
package decisiontest

import (
	"encoding/json"
	"time"

	"github.com/loopscope/loopscope/telemetry/decision"
)

// Claim is what the loop decides on: it scales an object up as soon as its volume is bound.
type Claim struct {
	Now       time.Time `json:"now"`
	Namespace string    `json:"namespace"`
	Name      string    `json:"name"`
	Bound     bool      `json:"bound"`
	Size      int64     `json:"size"`
}

// Loop is all that there is to say of it.
var Loop = decision.Loop{
	Name: "claim", Kind: "Claim", Listed: true,
	Catalogue: decision.Catalogue{Loop: "claim", Questions: []decision.Question{
		{ID: "C-1", Tag: "C-1", Text: "Is its volume bound?", Doc: "Nothing runs without it.", Answers: []decision.Answer{
			{Is: decision.Yes, Then: "look at its size", Passes: true}, {Is: decision.No, Then: "wait"},
		}},
	}},
	Reasons: []decision.Reasons{{Scope: "claim", Kind: "sentence", Doc: "What a Claim is about.", List: []decision.Reason{
		decision.Because("unbound", "Its volume is not bound.", "It waits.", "The volume is bound.", "Look at the provisioner.", "C-1"),
		decision.Because("running", "Everything runs.", "Nothing.", "A change.", "No action needed.", "C-1"),
	}}},
	Headlines: []decision.Headline{{Fact: "size", Label: "size"}},
	New:       func() decision.Snapshot { return new(Claim) },
	Decode: func(text []byte) (decision.Snapshot, error) {
		s := new(Claim)
		return s, json.Unmarshal(text, s)
	},
}

// Begin implements decision.Snapshot.
func (s *Claim) Begin() decision.Core { return &claimSync{s: s} }

// Taken implements decision.Snapshot.
func (s *Claim) Taken() time.Time { return s.Now }

type claimSync struct{ s *Claim }

func (x *claimSync) Decide() (v decision.Verdict) {
	if v.Path.Ask("C-1", x.s.Bound, decision.Count("size", x.s.Size)) {
		return v
	}
	v.Held = []decision.Held{{
		Question: "C-1", Kind: "scale", Target: decision.Ref{Kind: "Claim", Namespace: x.s.Namespace, Name: x.s.Name, RV: "7"},
		Size: &decision.Size{From: 0, To: x.s.Size}, Code: "unbound", Unblocks: decision.Words{}.Say("when its volume is bound"),
	}}
	return v
}

func (x *claimSync) Learn(decision.Round, decision.Learnt) {}

func (x *claimSync) Settle([]decision.Round) *decision.Report { return &decision.Report{} }

func (x *claimSync) Tell([]decision.Round, *decision.Report, decision.Try, time.Time) decision.Telling {
	said := decision.Sentence{Namespace: x.s.Namespace, Object: x.s.Name, Tone: decision.ToneWaiting, Verb: "is", State: "waiting", Code: "unbound",
		Lead: decision.Words{}.Say("its volume is not bound"), Then: decision.Words{}.Say("Unblocks when it is")}
	if x.s.Bound {
		said.Tone, said.State, said.Code, said.Lead, said.Then = decision.ToneOK, "settled", "running", decision.Words{}.Say("everything runs"), nil
	}
	return decision.Telling{Numbers: []decision.Fact{decision.Count("size", x.s.Size)}, Sentence: said}
}
