package web

import (
	"net/http"
	"time"

	"github.com/loopscope/loopscope/views"
)

// mode of a recording: nothing acts, and the clocks stand at its end.
func (r *Recording) mode() views.Text {
	from, to := r.From.UTC(), r.To.UTC()
	end := to.Format("15:04:05")
	if from.Format(time.DateOnly) != to.Format(time.DateOnly) {
		end = to.Format("2006-01-02 15:04:05")
	}
	return views.Text{}.Strong("recording").Plain(", not live: " + from.Format("2006-01-02 15:04:05") + " to " + end)
}

// notice says what is missing from the recording.
func (r *Recording) notice() *views.Notice {
	if r.Note == "" {
		return nil
	}
	return &views.Notice{Tone: views.Waiting, Title: "About this recording", Text: views.Say(r.Note)}
}

// noQueues is the page of the queues in a recording, which has none.
func (s *Server) noQueues(q *query) *page {
	v := views.Problem{Status: http.StatusOK, Code: "no-queues", Heading: "A recording has no queues.",
		Lines: []views.Text{views.Say("It holds what the syncs did. What waited in the work queues between them is not recorded; each sync says how long it waited, and for what.")},
		Links: []views.Link{s.all()}}
	p := &page{status: http.StatusOK, frame: s.frame(q, "Queues"), body: views.ProblemBody(v), data: v}
	p.frame.Tab, p.frame.Twin, p.frame.Keys = "queues", q.twinHref(), commonKeys
	p.frame.Crumbs = []views.Link{{Text: "Queues"}}
	return p
}
