package about

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/loopscope/loopscope/controllers/diagnosis"
	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/decision"
	"github.com/loopscope/loopscope/telemetry/prose"
	"github.com/loopscope/loopscope/views"
	"github.com/loopscope/loopscope/web/address"
	"github.com/loopscope/loopscope/web/answer"
	"github.com/loopscope/loopscope/web/page"
)

// reasonScopes are the codes of everything, as REASONS.md has them.
func (s *Pages) reasonScopes() []decision.Reasons {
	var all []decision.Reasons
	for i := range s.Loops {
		for _, r := range s.Loops[i].Reasons {
			known := func(x decision.Reasons) bool { return x.Scope == r.Scope && x.Kind == r.Kind } // of a loop with the same rules
			if !slices.ContainsFunc(all, known) {
				all = append(all, r)
			}
		}
	}
	return append(append(all, telemetry.WorkerReasons...), diagnosis.Codes, decision.UnblockReasons, decision.StateReasons, decision.ToneReasons)
}

// Reasons is the page of every code, or of those of one name.
func (s *Pages) Reasons(q *page.Query) (*page.Page, error) {
	v := views.Reasons{}
	for _, scope := range s.reasonScopes() {
		x := views.ReasonScope{Title: scope.Scope + ", " + scope.Kind, Doc: ticked(scope.Doc)}
		for _, r := range scope.List {
			if q.Loop == "" || r.Code == q.Loop {
				x.Codes = append(x.Codes, s.reasonView(scope, r))
			}
		}
		if len(x.Codes) > 0 {
			v.Scopes = append(v.Scopes, x)
		}
	}
	if len(v.Scopes) == 0 {
		return nil, answer.NewProblem(http.StatusNotFound, "unknown-code", "There is no code "+prose.Clip(q.Loop, 60)+".",
			views.Say("Codes are those of this release; another one may have others.")).Link("All codes", "/reasons")
	}
	title := "Every reason code"
	v.Headline = "Every code that pages, traces, metrics and alerts use, and what to do about it."
	crumbs := []views.Link{{Text: "About", Href: "/about"}, {Text: "codes"}}
	if q.Loop != "" {
		title, v.All = q.Loop, "/reasons"
		v.Headline = "What " + q.Loop + " means, wherever it appears."
		crumbs = []views.Link{{Text: "About", Href: "/about"}, {Text: "codes", Href: "/reasons"}, {Text: q.Loop}}
	}
	p := &page.Page{Status: http.StatusOK, Frame: s.Frame(q, title), Body: views.ReasonsBody(v), Data: v}
	p.Frame.Tab, p.Frame.Twin, p.Frame.Keys, p.Frame.Crumbs, p.Frame.Up = "about", q.TwinHref(), page.AboutKeys, crumbs, crumbs[len(crumbs)-2].Href
	return p, nil
}

func (s *Pages) reasonView(scope decision.Reasons, r decision.Reason) views.Reason {
	v := views.Reason{ID: scope.Anchor(r), Code: r.Code, Means: ticked(r.Means), Meanwhile: ticked(r.Meanwhile), Unblocks: ticked(r.Unblocks), Do: ticked(r.Do)}
	for _, id := range r.Questions {
		for i := range s.Loops {
			c := s.Loops[i].Catalogue
			if question, ok := c.Find(id); ok && c.Loop == scope.Scope {
				v.Questions = append(v.Questions, views.Link{Text: id, Href: s.QuestionHref(c.Loop, id)})
				if rule := address.Rule(question.Tag); !slices.Contains(v.Rules, rule) {
					v.Rules = append(v.Rules, rule)
				}
			}
		}
	}
	if scope.Kind == "sentence" {
		query := "code:" + r.Code
		if scope.Scope != "worker" {
			query = "loop:" + scope.Scope + " " + query
		}
		v.Syncs = "/history?" + url.Values{"q": {query}}.Encode()
	}
	return v
}

// ticked sets what stands between backticks as code.
func ticked(s string) views.Text {
	var t views.Text
	for i, part := range strings.Split(s, "`") {
		if i%2 == 1 {
			t = t.Code(part)
		} else if part != "" {
			t = t.Plain(part)
		}
	}
	return t
}
