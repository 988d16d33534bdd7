package about

import (
	"net/http"
	"slices"
	"strings"

	"github.com/loopscope/loopscope/telemetry/decision"
	"github.com/loopscope/loopscope/views"
	"github.com/loopscope/loopscope/web/page"
)

// Rules is the page of every rule that the loops follow.
func (s *Pages) Rules(q *page.Query) (*page.Page, error) {
	v := views.Rules{Headline: "The rules that the loops follow are those of Kubernetes " + decision.RulesRelease + "."}
	known := map[string]bool{}
	for _, g := range s.Opts.Rules {
		for _, r := range g.Rules {
			known[r.Tag] = true
		}
	}
	questions := s.questionsByRule()
	for _, g := range s.Opts.Rules {
		x := views.RuleGroup{Letters: g.Letters, Title: g.Title}
		for _, r := range g.Rules {
			text := ruleText(r.Text, known)
			for _, e := range s.Earlier() {
				if e.Tag == r.Tag {
					text = text.Plain(" ").Join(s.earlierText(&e))
				}
			}
			x.Rules = append(x.Rules, views.Rule{ID: decision.RuleAnchor(r.Tag), Tag: r.Tag, Title: r.Title, Text: text, Questions: questions[r.Tag]})
		}
		v.Groups = append(v.Groups, x)
	}
	p := &page.Page{Status: http.StatusOK, Frame: s.Frame(q, "Rules"), Body: views.RulesBody(v), Data: v}
	p.Frame.Tab, p.Frame.Twin, p.Frame.Keys = "about", q.TwinHref(), page.AboutKeys
	p.Frame.Crumbs = []views.Link{{Text: "About", Href: "/about"}, {Text: "rules"}}
	p.Frame.Up = "/about"
	return p, nil
}

// questionsByRule are the questions of all loops by the tag of their rule.
func (s *Pages) questionsByRule() map[string][]views.Link {
	list := map[string][]views.Link{}
	for i := range s.Loops {
		c := s.Loops[i].Catalogue
		for _, q := range c.Questions {
			asked := func(l views.Link) bool { return l.Text == q.ID } // by another loop with the same questions
			if !slices.ContainsFunc(list[q.Tag], asked) {
				list[q.Tag] = append(list[q.Tag], views.Link{Text: q.ID, Href: s.QuestionHref(c.Loop, q.ID)})
			}
		}
	}
	return list
}

// ruleText sets what stands between backticks as code, and leads from every tag
// of a known rule to that rule.
func ruleText(s string, known map[string]bool) views.Text {
	var t views.Text
	for i, part := range strings.Split(s, "`") {
		if i%2 == 1 {
			t = t.Code(part)
			continue
		}
		at := 0
		for _, m := range decision.RuleTag.FindAllStringIndex(part, -1) {
			if tag := part[m[0]:m[1]]; known[tag] {
				t = say(t, part[at:m[0]]).Link(tag, "#"+decision.RuleAnchor(tag))
				at = m[1]
			}
		}
		t = say(t, part[at:])
	}
	return t
}

// say adds words, if there are any.
func say(t views.Text, s string) views.Text {
	if s == "" {
		return t
	}
	return t.Plain(s)
}
