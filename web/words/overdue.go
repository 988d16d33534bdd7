package words

import (
	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/decision"
)

// codePlanned is the sentence of a write that would come next.
const codePlanned = "planned"

// Overdue is a sentence of an object of which a write has been due for long. Whatever else it says, nobody acts.
func Overdue(said decision.Sentence, o telemetry.Object, d *telemetry.Difference) decision.Sentence {
	if said.State == "" {
		return said // It failed before it could say anything.
	}
	switch said.Tone {
	case decision.ToneFailed, decision.ToneWaiting:
		said.Then = due(said.Then, o, d).Say(": check that " + d.Manager + " runs")
		return said
	case decision.ToneNeutral: // Somebody chose it, and something is left to do all the same.
	default:
		said.Verb, said.State = "is", "waiting"
	}
	switch {
	case d.Object != o:
		said.Lead = due(append(decision.Words{}.Say("as last reported, "), said.Lead...), o, d)
	case said.Code == codePlanned && !d.Publishes():
		said.Lead = append(decision.Words{}, said.Lead...).Say("; that write has been due for ").Since(d.At).Say(", and nobody has made it")
	default:
		said.Lead = due(said.Lead, o, d)
	}
	said.Tone, said.Code, said.Since = decision.ToneWaiting, telemetry.CodeOverdue, d.At
	said.Then = decision.Words{}.Say("Continues when " + d.Manager + " acts: check that it runs")
	return said
}

// due adds for how long something has been due.
func due(w decision.Words, o telemetry.Object, d *telemetry.Difference) decision.Words {
	w = append(decision.Words{}, w...)
	if len(w) > 0 {
		w = w.Say("; ")
	}
	done := "written"
	if d.Aspect == decision.AspectCreation || d.Aspect == decision.AspectDeletion {
		done = "done"
	}
	return append(w, what(o, d)...).Say(" has been due for ").Since(d.At).Say(", and nobody has " + done + " it")
}

// nouns are what is due of an object of a kind.
var nouns = map[decision.Aspect]string{
	decision.AspectSize: "the size of ", decision.AspectCreation: "the creation of ", decision.AspectDeletion: "the deletion of ", decision.AspectOwner: "the owner of ",
	decision.AspectStatus: "the status of ", decision.AspectConditions: "the status of ", decision.AspectAnnotations: "an update of the annotations of ",
}

// what is due, as the page of an object says it.
func what(o telemetry.Object, d *telemetry.Difference) decision.Words {
	of := d.Of
	if of == "Pod" {
		of = "pod"
	}
	switch own := d.Object == o; {
	case own && d.Publishes() && d.Aspect != decision.AspectAnnotations:
		return decision.Words{}.Say("its status")
	case d.Target == "" && own:
		return decision.Words{}.Say(nouns[d.Aspect] + of + "s")
	case d.Target == "":
		return decision.Words{}.Say(nouns[d.Aspect] + of + "s for ").Name(d.Object.Name)
	}
	return decision.Words{}.Say(nouns[d.Aspect] + of + " ").Name(d.Target)
}
