package diagnosis

import (
	"slices"
	"strings"

	"github.com/loopscope/loopscope/telemetry/decision"
)

// Subject is the pods of a finding; a single one is named.
func Subject(f *decision.Finding) decision.Words {
	if f.Count == 1 && len(f.Pods) == 1 {
		return decision.Words{}.Name(f.Pods[0])
	}
	return decision.Words{}.Count(f.Fact(), f.Count)
}

// And joins a clause to those before it, with a comma where one of them has a clause of its own: "needs ConfigMap
// app, which does not exist, and".
func And(before decision.Words) string {
	if slices.ContainsFunc(before, func(p decision.Part) bool {
		return p.Kind == decision.Plain && (strings.Contains(p.Text, ", which ") || strings.Contains(p.Text, ", as "))
	}) {
		return ", and "
	}
	return " and "
}

// Ends is what ends all of the findings, as a sentence of its own of limit characters.
func Ends(list []decision.Finding, limit int) decision.Words {
	w := decision.Words{}.Say("Unblocks ")
	if slices.ContainsFunc(list, func(f decision.Finding) bool { return f.NeedsAction }) {
		w = decision.Words{}.Say("Needs action: unblocks ")
	}
	all := append(slices.Clone(w), Together(list)...)
	if sameEnd(list) == nil && (len(list) > 2 || len(list) == 2 && Length(all) > limit) {
		return append(w, AllEnd...)
	}
	return Fit(all, limit)
}

// AllEnd is when several findings end, where there is no saying for each of them.
var AllEnd = decision.Words{{Text: "only when all of them are resolved"}}

// NamespaceGoes is when a write is done that is held back in a namespace which is being deleted.
var NamespaceGoes = decision.Words{{Text: "never: its namespace is being deleted"}}

// Together is when all of the findings end; the same is not said twice.
func Together(list []decision.Finding) (w decision.Words) {
	if same := sameEnd(list); same != nil {
		return same
	}
	for i := range list {
		if slices.ContainsFunc(list[:i], func(f decision.Finding) bool { return slices.Equal(ofSeveral(f.Unblocks), ofSeveral(list[i].Unblocks)) }) {
			return AllEnd
		}
		if i > 0 {
			w = w.Say(" and ")
		}
		w = append(w, list[i].Unblocks...)
	}
	return w
}

// several is what ends it where the pods themselves do, said of more than one of them.
var several = map[string]string{"it becomes": "they become", "it stays": "they stay", "it can": "they can", "it uses": "they use", "it": "them",
	"its replacement becomes": "their replacements become"}

// ofSeveral are words of one pod as they are said of several.
func ofSeveral(w decision.Words) decision.Words {
	w = slices.Clone(w)
	for i := range w {
		if many, ok := several[w[i].Text]; ok {
			w[i].Text = many
		}
	}
	return w
}

// sameEnd is when pods of several findings do the same, which ends all of them; nil where they do not.
func sameEnd(list []decision.Finding) decision.Words {
	if len(list) < 2 {
		return nil
	}
	same, theirs := ofSeveral(list[0].Unblocks), false
	for i := range list {
		if !slices.Equal(same, ofSeveral(list[i].Unblocks)) {
			return nil
		}
	}
	for _, many := range several {
		theirs = theirs || slices.ContainsFunc(same, func(p decision.Part) bool { return p.Text == many })
	}
	if !theirs {
		return nil
	}
	return same
}
