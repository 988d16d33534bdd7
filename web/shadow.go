package web

import (
	"net/http"

	"github.com/loopscope/loopscope/views"
)

// shadow is the page of how what this program would have written compares with
// what another controller did write. A process that acts has nobody to be
// compared with.
func (s *Server) shadow(q *query) (*page, error) {
	v := views.Shadow{Headline: "This process acts, so there is nothing to compare.",
		Then: views.Say("Whatever its loops decide, they write; nobody else decides for the same objects. What was decided and what came of it stands on the page of each sync.")}
	if s.opts.Recording != nil {
		v.Headline = "A recording has nothing to compare."
		v.Then = views.Say("It holds what one set of loops decided. ").Code("loopscope replay").Plain(" decides every sync of it once more and compares.")
	}
	p := &page{status: http.StatusOK, frame: s.frame(q, "Shadow"), body: views.ShadowBody(v), data: v}
	p.frame.Tab, p.frame.Twin, p.frame.Keys = "shadow", q.twinHref(), aboutKeys
	p.frame.Crumbs = []views.Link{{Text: "Shadow"}}
	return p, nil
}
