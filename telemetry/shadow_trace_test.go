package telemetry

import (
	"strings"
	"testing"
	"time"

	"github.com/loopscope/loopscope/telemetry/decision"
)

// TestDisagreementsAreSyncs: what no decision agrees with is a sync of its own, with what was
// predicted and observed, its class and why; what somebody else wrote is not.
func TestDisagreementsAreSyncs(t *testing.T) {
	for name, c := range map[string]struct {
		manager  string
		departs  int
		code     string
		lead, to string
	}{
		"a departure":   {ControllerManager, 3, codeDeparts, "kube-controller-manager scaled web-2 3 → 2, where the rules say 3 → 5", "Kubernetes' own rule gives exactly this for the same state: departure 3 of the register"},
		"unexplained":   {ControllerManager, 0, codeUnexplained, "kube-controller-manager scaled web-2 3 → 2, where the rules say 3 → 5", "The rules do not say so of the only state that could be tried, and no departure does"},
		"somebody else": {"kubectl", 0, "", "", ""},
	} {
		w := newWatching(t)
		var kept []*Trace
		w.shadow.Record = func(x *Trace) { x.Seq = 77; kept = append(kept, x) }
		before, then := set("10", 3, 5), set("11", 2, 5)
		before.Departs, then.Departs = c.departs, c.departs
		w.on(before)
		seen := w.on(then, wrote("web-2", "10", "11", 3, 2, c.manager))
		st := w.settled()
		if c.code == "" {
			if len(kept) != 0 || st.Differences[0].Trace != 0 {
				t.Errorf("%s: %+v", name, kept)
			}
			continue
		}
		if len(kept) != 1 || st.Differences[0].Trace != 77 {
			t.Fatalf("%s: %d kept, %+v", name, len(kept), st.Differences)
		}
		x := kept[0]
		if x.Object != Disagreement(object("web")) || x.Sentence.Code != c.code || x.Sentence.Lead.At(time.Time{}) != c.lead || x.Sentence.Then.At(time.Time{}) != c.to {
			t.Errorf("%s: %+v: %s; %s", name, x.Object, x.Sentence.Lead.At(time.Time{}), x.Sentence.Then.At(time.Time{}))
		}
		if len(x.Causes) != 1 || x.Causes[0].NewRV != "11" || x.Path()[0].Facts[2] != decision.Text("predicted", "3 → 5") || x.Path()[0].Facts[3] != decision.Text("observed", "3 → 2") || x.Path()[0].Facts[6] != decision.Count("seen in sync", 2) || seen.Seq != 2 {
			t.Errorf("%s: %+v, %+v", name, x.Causes, x.Path())
		}
		if facts := x.Path()[0].Facts; facts[0] != decision.Text("of", "Deployment web") || facts[1] != decision.Text("what", "size of ReplicaSet web-2") {
			t.Errorf("%s: %+v", name, facts)
		}
		if answer, asked := x.Path().Answer(askRegister); !asked || (answer == decision.Yes) != (c.departs > 0) {
			t.Errorf("%s: of the register %q", name, answer)
		}
		if !x.Gone {
			t.Errorf("%s: the board would keep it for ever, and call it stuck", name)
		}
		w.shadow.Add(kept, 0) // It comes back by the journal.
		if again := w.settled(); again.Syncs != 2 {
			t.Errorf("%s: a disagreement is compared: %+v", name, again)
		}
	}
}

// TestSentencesOfDisagreements say what came and went, and are not longer than a sentence may be.
func TestSentencesOfDisagreements(t *testing.T) {
	long := strings.Repeat("x", 80)
	for want, d := range map[string]Difference{
		`an unsigned request deleted web-1-b, where the rules say web-1-a`:      {Predictable: decision.Predictable{Aspect: decision.AspectDeletion}, Target: "web-1-b", Predicted: "web-1-a"},
		`helm created web-3, which the rules do not call for`:                   {Predictable: decision.Predictable{Aspect: decision.AspectCreation}, Target: "web-3", Predicted: "none", Manager: "helm"},
		"helm scaled web-3 3 → 4, which the rules do not call for":              {Predictable: decision.Predictable{Aspect: decision.AspectSize}, Target: "web-3", Predicted: "none", Observed: "3 → 4", Manager: "helm"},
		"helm wrote the status of web-3 otherwise than the rules say":           {Predictable: decision.Predictable{Aspect: decision.AspectStatus}, Target: "web-3", Predicted: "none", Observed: "x", Manager: "helm"},
		"helm published an event about web, which the rules do not call for":    {Predictable: decision.Predictable{Aspect: decision.AspectEvent}, Target: "web", Predicted: "none", Observed: "x", Manager: "helm"},
		"helm published an event about web that differs from that of the rules": {Predictable: decision.Predictable{Aspect: decision.AspectEvent}, Target: "web", Predicted: "y", Observed: "x", Manager: "helm"},
		"": {Predictable: decision.Predictable{Aspect: decision.AspectDeletion}, Target: long, Predicted: long, Observed: long, Manager: long},
	} {
		said := sentenceOf(&d, 256)
		if lead := said.Lead.At(time.Time{}); want != "" && lead != want || len([]rune(lead)) > 150 {
			t.Errorf("%q, want %q", lead, want)
		}
	}
	for tried, want := range map[int]string{
		1: "The rules do not say so of the only state that could be tried, and no departure does",
		2: "The rules say so of none of the 2 states that it may have been decided on, and no departure does",
	} {
		said := sentenceOf(&Difference{Predictable: decision.Predictable{Aspect: decision.AspectSize}}, tried)
		if got := said.Then.At(time.Time{}); got != want {
			t.Errorf("%d tried: %q", tried, got)
		}
	}
	for _, r := range Comparison(nil).Reasons[0].List {
		if (r.Code != codeDeparts && r.Code != codeUnexplained) || !strings.Contains(r.Means, "the rules here") && !strings.Contains(r.Means, "The rules here") || r.Meanwhile != "Nothing is written here: this process only watches." || !strings.HasPrefix(r.Unblocks, "It is over") || !strings.Contains(r.Do, "differs") && !strings.Contains(r.Do, "defect") {
			t.Errorf("%+v", r)
		}
	}
	if one := Comparison(decision.Loops{{Predicts: testPredicts[:1], Shows: []decision.Resource{{Name: "pods"}}}}); len(one.Shows) != 2 {
		t.Errorf("of a loop that predicts one thing it shows %v", one.Shows)
	}
	of := Comparison(decision.Loops{{Name: "a", Predicts: testPredicts, Shows: []decision.Resource{{Name: "pods"}}}, {Name: "b", Predicts: testPredicts, Shows: []decision.Resource{{Name: "pods"}, {Name: "nodes"}}}, {Name: "c"}})
	if len(of.Shows) != 3 {
		t.Errorf("it shows %v", of.Shows)
	}
}
