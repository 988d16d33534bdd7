package object

import (
	"net/http"

	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/prose"
	"github.com/loopscope/loopscope/views"
	"github.com/loopscope/loopscope/web/page"
	"github.com/loopscope/loopscope/web/subject"
)

// plain is the page of an object of which nothing is known beyond its syncs.
func (s *Pages) plain(q *page.Query) (*page.Page, error) {
	x, err := s.Find(q)
	if err != nil {
		return nil, err
	}
	v := s.objectView(q, x)
	v.Plain = true
	p := &page.Page{Status: http.StatusOK, Frame: s.Frame(q, titleOf(v)), Body: views.ObjectBody(v), Data: v}
	s.objectFrame(q, p, x)
	p.Frame.About = append(p.Frame.About, views.Say(prose.Clip(s.KindOf(x.Object.Loop), 60)), views.Text{}.Link("story", x.StoryHref()))
	p.Frame.Keys = page.ObjectKeys
	p.GoLive(q, append(objectParts(v), page.Part{ID: "f-syncs", View: views.SyncsPart(v)})...)
	s.keepsUp(q, p, x)
	return p, nil
}

// objectFrame is what surrounds the page of any object.
func (s *Pages) objectFrame(q *page.Query, p *page.Page, x *subject.Subject) {
	p.Frame.Tab = s.TabOf(x.Object.Loop)
	p.Frame.Crumbs, p.Frame.Twin = s.Crumbs(s.ListOf(x.Object.Loop, x.Newest.Owner), x.Object), q.TwinHref()
	p.Frame.Up = p.Frame.Crumbs[0].Href
}

// objectParts are the parts that every object's page has at its top, in their order.
func objectParts(v views.Object) []page.Part {
	return []page.Part{{ID: "f-head", View: views.HeadPart(v)}, {ID: "f-findings", View: views.FindingsPart(v)}, {ID: "f-scope", View: views.ScopePart(v.Scope)},
		{ID: "f-step", View: views.StepPart(v.Step)}, {ID: "f-path", View: views.PathPart(v.Sync)}, {ID: "f-side", View: views.SidePart(v)}}
}

// keepsUp says what changes the page: its own syncs, those of what it controls, the
// clock in its sentence, and a sync that takes long.
func (s *Pages) keepsUp(q *page.Query, p *page.Page, x *subject.Subject) {
	if !x.Unseen() {
		p.ChangesAt = page.Sooner(q.Now, p.ChangesAt, s.SaidNow(x.Newest, q.Now).ChangesAt)
	}
	p.Touches = func(t *telemetry.Trace) bool { return s.Concerns(x.Object, x.Newest, t) }
	was := s.coming(x, q.Now)
	p.Outdated = func() bool { return !was.Same(s.coming(x, s.Opts.Now())) }
}
