package web

import (
	"cmp"
	"net/http"
	"net/url"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/loopscope/loopscope/controllers/deployment"
	"github.com/loopscope/loopscope/controllers/diagnosis"
	"github.com/loopscope/loopscope/controllers/sim"
	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/decision"
	"github.com/loopscope/loopscope/telemetry/prose"
	"github.com/loopscope/loopscope/views"
	"github.com/loopscope/loopscope/web/address"
	"github.com/loopscope/loopscope/web/answer"
	"github.com/loopscope/loopscope/web/filter"
	"github.com/loopscope/loopscope/web/page"
	"github.com/loopscope/loopscope/web/plan"
	"github.com/loopscope/loopscope/web/slots"
	"github.com/loopscope/loopscope/web/source"
	"github.com/loopscope/loopscope/web/whatif"
)

// about is the page of this program: what it does to the cluster, what its
// numbers cover and what went by uncounted.
func (s *Server) about(q *page.Query) (*page.Page, error) {
	v := views.About{Headline: "Loopscope " + s.src.Opts.Version + " on cluster " + s.src.Opts.Cluster + ".", Then: s.covers()}
	v.Sections = []views.AboutSection{s.aboutProgram(), s.aboutWindow(), s.aboutHistory(), s.aboutLimits(), s.aboutLoops(), aboutMore()}
	v.Sections = slices.DeleteFunc(v.Sections, func(x views.AboutSection) bool { return len(x.Lines) == 0 })
	p := &page.Page{Status: http.StatusOK, Frame: s.pages.Frame(q, "About"), Body: views.AboutBody(v), Data: v}
	p.Frame.Tab, p.Frame.Twin, p.Frame.Keys = "about", q.TwinHref(), page.AboutKeys
	p.Frame.Crumbs = []views.Link{{Text: "About"}}
	return p, nil
}

// covers says in a sentence what the numbers of all pages cover.
func (s *Server) covers() views.Text {
	w := s.src.Window()
	text := views.Say("All numbers cover " + prose.Count(w.Syncs, "sync") + " since ").Clock(w.Since).Plain(" UTC")
	if st := s.src.Opts.Archive.State(); !st.Oldest.IsZero() && st.Oldest.Before(w.Since) {
		text = text.Plain("; the history goes back to ").Plain(st.Oldest.UTC().Format(time.DateTime))
	}
	return text.Plain(".")
}

func (s *Server) aboutProgram() views.AboutSection {
	mode := s.src.Mode()
	leader := views.Say("There is no leader election: one process acts. A second one would fight over every ReplicaSet.")
	if s.src.Opts.Leader != "" {
		leader = views.Text{}.Strong(s.src.Opts.Leader)
	}
	lines := []views.Line{{Label: "mode", Text: mode}, {Label: "leader", Text: leader}}
	if s.src.Opts.Recording == nil {
		lines = append(lines, views.Line{Label: "started", Text: views.Say(s.src.Opts.Started.UTC().Format(time.DateTime) + ", ").Since(s.src.Opts.Started).Plain(" ago")})
	}
	return views.AboutSection{Title: "This program", Lines: append(lines,
		views.Line{Label: "version", Text: views.Text{}.Code(s.src.Opts.Version).Plain(", built with " + runtime.Version() + " for " + runtime.GOOS + "/" + runtime.GOARCH)},
		views.Line{Label: "rules", Text: views.Say("those of Kubernetes v1.36; they are the same whatever the cluster runs")},
		views.Line{Label: "run", Text: views.Text{}.Code(s.src.Journal.Epoch()).Plain(", the epoch in every permalink")})}
}

// aboutWindow is what the journal covers, and what went by.
func (s *Server) aboutWindow() views.AboutSection {
	total, since, folded := s.src.Journal.Window()
	return views.AboutSection{Title: "What is covered", Lines: []views.Line{
		{Label: "syncs", Text: views.Say(prose.Thousands(total) + " since ").Clock(since).Plain(" UTC")},
		{Label: "folded", Text: views.Say(prose.Thousands(folded) + " of them changed nothing and are kept only as a count")},
		{Label: "uncounted", Text: views.Say(prose.Count(s.src.Opts.Tally.Missed(), "sync") + " not counted on the page of decisions")},
		{Label: "objects", Text: views.Say(prose.Thousands(s.src.Journal.Board().Len()) + " Deployments, ReplicaSets and ReplicationControllers")},
		{Label: "readers", Text: views.Say(prose.Thousands(s.openReaders()) + " of at most " + prose.Count(s.src.Opts.MaxReaders, "live page") + " open")}}}
}

func (s *Server) aboutHistory() views.AboutSection {
	st := s.src.Opts.Archive.State()
	x := views.AboutSection{Title: "History", Note: "syncs that outlive this process"}
	if st.Path == "" {
		x.Lines = []views.Line{{Label: "file", Text: views.Say("none: syncs are kept in memory and are lost when this process ends. Start it with ").Code("--history FILE").Plain(" to keep them.")}}
		return x
	}
	x.Lines = []views.Line{{Label: "file", Text: views.Text{}.Code(st.Path)},
		{Label: "holds", Text: views.Say(prose.Count(st.Kept, "sync") + " in " + megabytes(st.Bytes))}}
	if st.MaxBytes > 0 {
		x.Lines = append(x.Lines, views.Line{Label: "limits", Text: views.Say(megabytes(st.MaxBytes) + " and " + prose.Span(st.MaxAge) + ", whichever comes first")})
	}
	if !st.Oldest.IsZero() {
		x.Lines = append(x.Lines, views.Line{Label: "covers", Text: views.Say(st.Oldest.UTC().Format(time.DateTime) + " to " + st.Newest.UTC().Format(time.DateTime))})
	}
	x.Lines = append(x.Lines, views.Line{Label: "this run", Text: views.Say(prose.Thousands(st.Written) + " written, " + prose.Thousands(st.Dropped) + " lost, " + prose.Thousands(st.Expired) + " expired")})
	if st.Dropped > 0 {
		x.Tone = views.Waiting
	}
	if st.Error != "" {
		x.Tone = views.Failed
		x.Lines = append(x.Lines, views.Line{Label: "failing", Text: views.Say("for ").Since(st.ErrorSince).Plain(": ").Code(prose.Clip(st.Error, 300))})
	}
	return x
}

func megabytes(n int64) string {
	if n < 1<<20 {
		return prose.Thousands(n/1024) + " KiB"
	}
	return prose.Thousands(n>>20) + " MiB"
}

func (s *Server) aboutLimits() views.AboutSection {
	return views.AboutSection{Title: "Limits", Note: "so that no reader can hold up a loop", Lines: []views.Line{
		{Label: "list", Text: views.Sayf("%d Deployments on a page, %d terms in a filter", pageRows, filter.MaxTerms)},
		{Label: "an object", Text: views.Sayf("%d of its syncs on its page", source.HistoryRows)},
		{Label: "a plan", Text: views.Sayf("%s pods and %s syncs, in %s at most; %d at once", prose.Thousands(int64(sim.MaxPods)), prose.Thousands(plan.MostSyncs), whatif.Timeout, whatif.MaxPlans)},
		{Label: "a snapshot", Text: views.Sayf("%d pods that are not available are described one by one, others counted", deployment.MaxBlocking)},
		{Label: "an address", Text: views.Sayf("%s characters in the query string", prose.Thousands(page.MaxQuery))},
		{Label: "rendering", Text: views.Sayf("one processor is left to the loops, and syncs come first; %d requests wait, for %s each", slots.MaxWaiting, slots.Within)},
		{Label: "a websocket", Text: views.Sayf("%d subscriptions a second", subscribeRate)},
		{Label: "exports", Text: views.Sayf("%d at once", maxExports)}}}
}

// aboutLoops are the loops of this process.
func (s *Server) aboutLoops() views.AboutSection {
	x := views.AboutSection{Title: "Loops"}
	for _, l := range s.src.Opts.Loops() {
		state := views.Say("does not run")
		if l.Running {
			state = views.Say(prose.Count(l.Queue.Workers, "worker") + ", mode " + cmp.Or(l.Mode, "act"))
		}
		x.Lines = append(x.Lines, views.Line{Label: l.Name, Text: state})
	}
	return x
}

func aboutMore() views.AboutSection {
	return views.AboutSection{Title: "More", Lines: []views.Line{
		{Label: "codes", Text: views.Text{}.Link("every reason code", "/reasons").Plain(" with what it means and what to do")},
		{Label: "decisions", Text: views.Text{}.Link("every question", "/decisions").Plain(" of the loops, with counts")},
		{Label: "rules", Text: views.Text{}.Link("every rule", "/rules").Plain(" that the loops follow, by its tag")},
		{Label: "shadow", Text: views.Text{}.Link("beside another controller", "/shadow")},
		{Label: "metrics", Text: views.Text{}.Link("/metrics", "/metrics").Plain(" for Prometheus, ").Link("/healthz", "/healthz").Plain(", ").Link("/readyz", "/readyz")},
		{Label: "debug", Text: views.Text{}.Link("/debug/controllers", "/debug/controllers")}}}
}

// reasonScopes are the codes of everything, as REASONS.md has them.
func (s *Server) reasonScopes() []decision.Reasons {
	var all []decision.Reasons
	for i := range s.src.Loops {
		for _, r := range s.src.Loops[i].Reasons {
			known := func(x decision.Reasons) bool { return x.Scope == r.Scope && x.Kind == r.Kind } // of a loop with the same rules
			if !slices.ContainsFunc(all, known) {
				all = append(all, r)
			}
		}
	}
	return append(append(all, telemetry.WorkerReasons...), diagnosis.Codes, decision.UnblockReasons, decision.StateReasons, decision.ToneReasons)
}

// reasons is the page of every code, or of those of one name.
func (s *Server) reasons(q *page.Query) (*page.Page, error) {
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
	p := &page.Page{Status: http.StatusOK, Frame: s.pages.Frame(q, title), Body: views.ReasonsBody(v), Data: v}
	p.Frame.Tab, p.Frame.Twin, p.Frame.Keys, p.Frame.Crumbs, p.Frame.Up = "about", q.TwinHref(), page.AboutKeys, crumbs, crumbs[len(crumbs)-2].Href
	return p, nil
}

func (s *Server) reasonView(scope decision.Reasons, r decision.Reason) views.Reason {
	v := views.Reason{ID: scope.Anchor(r), Code: r.Code, Means: ticked(r.Means), Meanwhile: ticked(r.Meanwhile), Unblocks: ticked(r.Unblocks), Do: ticked(r.Do)}
	for _, id := range r.Questions {
		for i := range s.src.Loops {
			c := s.src.Loops[i].Catalogue
			if question, ok := c.Find(id); ok && c.Loop == scope.Scope {
				v.Questions = append(v.Questions, views.Link{Text: id, Href: s.src.QuestionHref(c.Loop, id)})
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
