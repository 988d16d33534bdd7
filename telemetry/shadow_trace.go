package telemetry

import (
	"cmp"
	"slices"

	"github.com/loopscope/loopscope/telemetry/decision"
	"github.com/loopscope/loopscope/telemetry/prose"
)

// comparison is the name of the loop whose syncs are disagreements.
const comparison = "comparison"

// The questions that are asked of a write that no decision here agrees with, and the codes of what is said of it.
const (
	askAgrees   = "comparison.agrees"
	askRegister = "comparison.register"

	codeDeparts     = "departs"
	codeUnexplained = "unexplained"
)

// Comparison is how disagreements with another controller are kept and shown: each is a sync of this
// loop, of the object that the decision is about. They tell what syncs of these loops tell, and of events.
func Comparison(of decision.Loops) decision.Loop {
	loop := decision.Loop{
		Name: comparison, Kind: "Comparison",
		Catalogue: decision.Catalogue{Loop: comparison, Report: []string{decision.ToEnd}, Questions: []decision.Question{
			{ID: askAgrees, Text: "Do the rules here say so of a state that the write may have been decided on?", Doc: "States are those that the caches of this process had since half a minute before the write, and those between them: of each kind of objects, another cache may have been behind or ahead.",
				Answers: []decision.Answer{decision.Answer{Is: decision.No, Then: "look at what Kubernetes' own rule says", Passes: true}}},
			{ID: askRegister, Text: "Does Kubernetes' own rule give exactly this for one of these states?", Doc: "The register of departures has what is done otherwise here on purpose. Its rule is applied to the same states, and has to give exactly what was written.",
				Answers: []decision.Answer{decision.Answer{Is: decision.Yes, Then: "it is a departure of the register"}.To(decision.ToEnd), decision.Answer{Is: decision.No, Then: "it is not explained"}.To(decision.ToEnd)}},
		}},
		Reasons: []decision.Reasons{{Scope: comparison, Kind: "sentence", Doc: "What another controller wrote and no decision here agrees with: `sentence.code` of a trace.", List: []decision.Reason{
			decision.Because(codeDeparts, "The rules here decide otherwise than Kubernetes does, on purpose, and Kubernetes' own rule says exactly what was written.", "Nothing is written here: this process only watches.", "It is over: this says that it happened.", "No action needed. The register of departures says what differs, and why.", askRegister),
			decision.Because(codeUnexplained, "Neither the rules here nor a departure of the register say what another controller wrote, of any state that it may have been decided on.", "Nothing is written here: this process only watches.", "It is over: this says that it happened.", "Look at what is predicted and observed, and whether the other controller is another version, or has another feature gate. If neither is so, report it as a defect.", askRegister),
		}}},
	}
	for i := range of {
		for _, r := range append(of[i].Told(), decision.Events) {
			if len(of[i].Predicts) > 0 && !slices.Contains(loop.Shows, r) {
				loop.Shows = append(loop.Shows, r)
			}
		}
	}
	return loop
}

// Disagreement is the object whose syncs are the disagreements about another one.
func Disagreement(o Object) Object { return Object{comparison, o.Namespace, o.Name} }

// trace is the difference as a sync of its own.
func (s *Shadow) trace(d *Difference, x *suspect) *Trace {
	var path decision.Path
	path.Ask(askAgrees, false, decision.Text("of", s.loops.Kind(d.Object.Loop)+" "+d.Object.Name), decision.Text("what", string(d.Aspect)+" of "+d.Of+" "+d.Target),
		decision.Text("predicted", d.Predicted), decision.Text("observed", d.Observed), decision.Text("question", d.Question), decision.Count("states", int64(x.best.tried)), decision.Count("seen in sync", int64(d.SeenIn)))
	departure := path.Ask(askRegister, d.Departure > 0)
	if departure {
		path.Last().Facts = append(path.Last().Facts, decision.Count("departure", int64(d.Departure)))
	}
	return &Trace{
		Object: Disagreement(d.Object), Causes: []Cause{*x.cause}, Queued: d.At, Started: d.At, Ended: d.At, Result: ResultUnchanged,
		Rounds: []decision.Round{{Verdict: decision.Verdict{Path: path}}}, Report: &decision.Report{}, Sentence: sentenceOf(d, x.best.tried),
		Gone: true, // It is over: nothing waits for anybody, and the board need not keep it.
	}
}

// longestPart bounds what a sentence quotes of a change.
const longestPart = 28

// notCalledFor is what is predicted where the rules leave everything as it is.
const notCalledFor = "none"

// sentenceOf says what was written, what was predicted instead, and what explains it.
func sentenceOf(d *Difference, tried int) decision.Sentence {
	said := decision.Sentence{Namespace: d.Object.Namespace, Object: d.Object.Name, Verb: "was", State: "decided otherwise", Tone: decision.ToneWaiting, Code: codeDeparts}
	part := func(text string) string { return prose.ClipMiddle(text, longestPart) }
	said.Lead = decision.Words{}.Name(part(cmp.Or(d.Manager, "an unsigned request")))
	switch d.Aspect {
	case decision.AspectSize:
		said.Lead = said.Lead.Say(" scaled ").Name(part(d.Target)).Say(" ").Quote(part(d.Observed))
	case decision.AspectCreation:
		said.Lead = said.Lead.Say(" created ").Name(part(d.Target))
	case decision.AspectDeletion:
		said.Lead = said.Lead.Say(" deleted ").Name(part(d.Target))
	case decision.AspectEvent:
		said.Lead = said.Lead.Say(" published an event about ").Name(part(d.Target))
	default:
		said.Lead = said.Lead.Say(" wrote the " + string(d.Aspect) + " of ").Name(part(d.Target)).Say(" otherwise than the rules say")
	}
	switch comparable := d.Aspect == decision.AspectSize || d.Aspect == decision.AspectCreation || d.Aspect == decision.AspectDeletion; {
	case d.Aspect == decision.AspectEvent && d.Predicted != notCalledFor:
		said.Lead = said.Lead.Say(" that differs from that of the rules")
	case d.Aspect == decision.AspectEvent, comparable && d.Predicted == notCalledFor:
		said.Lead = said.Lead.Say(", which the rules do not call for")
	case comparable:
		said.Lead = said.Lead.Say(", where the rules say ").Name(part(d.Predicted))
	}
	if d.Departure > 0 {
		said.Then = decision.Words{}.Say("Kubernetes' own rule gives exactly this for the same state: departure ").Count("departure", int64(d.Departure)).Say(" of the register")
		return said
	}
	said.Tone, said.Code = decision.ToneFailed, codeUnexplained
	said.Then = decision.Words{}.Say("The rules do not say so of the only state that could be tried, and no departure does")
	switch {
	case d.Aspect == decision.AspectEvent:
		said.Then = decision.Words{}.Say("The rules publish no such event in any state around that time, of which ").Count("states", int64(tried)).Say(prose.Plural(tried, " was", " were") + " looked at")
	case tried > 1:
		said.Then = decision.Words{}.Say("The rules say so of none of the ").Count("states", int64(tried)).Say(" states that it may have been decided on, and no departure does")
	}
	return said
}
