package web

import (
	"net/http"

	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/prose"
	"github.com/loopscope/loopscope/views"
	"github.com/loopscope/loopscope/web/words"
)

// plain is the page of an object of which nothing is known beyond its syncs.
func (s *Server) plain(q *query) (*page, error) {
	x, err := s.subject(q)
	if err != nil {
		return nil, err
	}
	v := s.objectView(q, x)
	v.Shows = views.Shows{Note: "as sync " + words.Digits(x.cursor.Seq) + " published it"}
	v.Shows.Lines = x.lastEvents()
	p := &page{status: http.StatusOK, frame: s.frame(q, titleOf(v)), body: views.ObjectBody(v), data: v}
	s.objectFrame(q, p, x)
	p.frame.About = append(p.frame.About, views.Say(prose.Clip(s.kindOf(x.object.Loop), 60)), views.Text{}.Link("story", storyHref(x)))
	p.frame.Keys = objectKeys
	p.goLive(q, append(objectParts(v), part{"f-syncs", views.SyncsPart(v)})...)
	s.keepsUp(q, p, x)
	return p, nil
}

// objectFrame is what surrounds the page of any object.
func (s *Server) objectFrame(q *query, p *page, x *subject) {
	p.frame.Tab = s.tabOf(x.object.Loop)
	p.frame.Up, p.frame.Crumbs, p.frame.Twin = p.frame.Tab, s.crumbs(x.object), q.twinHref()
}

// objectParts are the parts that every object's page has at its top, in their order.
func objectParts(v views.Object) []part {
	return []part{{"f-head", views.HeadPart(v)}, {"f-findings", views.FindingsPart(v)}, {"f-scope", views.ScopePart(v.Scope)},
		{"f-step", views.StepPart(v.Step)}, {"f-path", views.PathPart(v.Sync)}, {"f-side", views.SidePart(v)}}
}

// keepsUp says what changes the page: its own syncs, those of what it controls, and
// the clock in its sentence.
func (s *Server) keepsUp(q *query, p *page, x *subject) {
	p.changesAt = sooner(q.now, p.changesAt, s.saidNow(x.newest, q.now).ChangesAt)
	p.touches = func(t *telemetry.Trace) bool {
		return t.Object == x.object || telemetry.HeadOf(s.loops, t.Object, t.Owner) == x.object
	}
}
