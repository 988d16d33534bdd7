package diagnosis

import (
	"slices"

	"github.com/loopscope/loopscope/telemetry/decision"
	"github.com/loopscope/loopscope/telemetry/prose"
)

// Template is how another template reaches the pods of a finding.
type Template int

const (
	// TemplateApplies is a template whose pods a controller replaces as soon as it changes.
	TemplateApplies Template = iota
	// TemplateWaits is one that has changed already: its old pods are replaced when the rollout is resumed.
	TemplateWaits
	// TemplateStays is one that never changes, as of the ReplicationController that a rolling update is to while it can be reversed.
	TemplateStays
	// TemplateForNew is one whose pods stay as they are until they are deleted: their owner makes only other pods of it.
	TemplateForNew
)

// RolloutResumed is what ends what old pods wait for in a pause, where another template does: a part of its own where any
// template does, or else the end of one.
const RolloutResumed = "the rollout is resumed"

// Between the last two ways in which a finding ends.
const (
	or      = " or "
	commaOr = ", or "
)

// way is one way in which a finding ends, read after "when".
type way struct {
	said decision.Words
	does string // what the template does for that, "" where it is not by the template
}

func clause(text string) way { return way{said: words(text)} }

// theTemplate is a way by the template: it "changes" or "requests less".
func theTemplate(does string) way { return way{words("the template " + does), does} }

// when says in which ways a finding ends, of which at most one is by the template. pods are those of it that exist.
func (t Template) when(pods int64, or string, ways ...way) decision.Words {
	i := slices.IndexFunc(ways, func(x way) bool { return x.does != "" })
	if i < 0 || t == TemplateApplies || t == TemplateForNew && pods == 0 {
		return either(or, ways)
	}
	does := ways[i].does
	ways = slices.Delete(ways, i, i+1)
	switch {
	case t == TemplateForNew:
		or, ways = commaOr, append(ways, clause("the template "+does+prose.Plural(pods, " and the pod is deleted", " and the pods are deleted")))
	case t == TemplateWaits && does == "changes":
		ways = append(ways, clause(RolloutResumed))
	case t == TemplateWaits:
		or, ways = commaOr, append(ways, clause("the new template "+does+" and "+RolloutResumed))
	case len(ways) == 0:
		ways = append(ways, clause("the update is reversed"))
	}
	return either(or, ways)
}

func either(or string, ways []way) decision.Words {
	w := words("when ")
	for i, x := range ways {
		switch {
		case i == 0:
		case i < len(ways)-1:
			w = w.Say(", ")
		default:
			w = w.Say(or)
		}
		w = append(w, x.said...)
	}
	return w
}

// when says in which ways it ends. Where another container fails, it has to come right as well, unless the pod is replaced.
func (g *group) when(or string, ways ...way) decision.Words {
	if g.also == "" {
		return g.template.when(g.count, or, ways...)
	}
	fine := words(", and container ").Name(g.also).Say(" no longer fails")
	if g.template == TemplateApplies || g.template == TemplateForNew {
		return append(g.template.when(g.count, or, ways...), fine...)
	}
	for i := len(ways) - 1; i >= 0; i-- {
		if ways[i].does == "" {
			ways[i].said = append(ways[i].said, fine...)
			break
		}
	}
	return g.template.when(g.count, commaOr, ways...)
}

// whenThey is when the pods themselves become ready or available.
func (g *group) whenThey(become string) decision.Words {
	return g.when(or, way{said: g.do("it becomes", "they become").Say(become)})
}
