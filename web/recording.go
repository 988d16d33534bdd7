package web

import (
	"net/http"

	"github.com/loopscope/loopscope/views"
	"github.com/loopscope/loopscope/web/page"
)

// noQueues is the page of the queues in a recording, which has none.
func (s *Server) noQueues(q *page.Query) *page.Page {
	v := views.Problem{Status: http.StatusOK, Code: "no-queues", Heading: "A recording has no queues.",
		Lines: []views.Text{views.Say("It holds what the syncs did. What waited in the work queues between them is not recorded; each sync says how long it waited, and for what.")},
		Links: []views.Link{s.src.All()}}
	p := &page.Page{Status: http.StatusOK, Frame: s.pages.Frame(q, "Queues"), Body: views.ProblemBody(v), Data: v}
	p.Frame.Tab, p.Frame.Twin, p.Frame.Keys = "queues", q.TwinHref(), page.CommonKeys
	p.Frame.Crumbs = []views.Link{{Text: "Queues"}}
	return p
}
