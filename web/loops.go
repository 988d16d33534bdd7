package web

import (
	"github.com/loopscope/loopscope/controllers/deployment"
	"github.com/loopscope/loopscope/controllers/replicaset"
	"github.com/loopscope/loopscope/telemetry/decision"
	"github.com/loopscope/loopscope/web/page"
)

// undeclared are the pages of a loop that nobody declared. Those of the others have
// addresses of their own.
func (s *Server) undeclared(build page.Builder) page.Builder {
	return func(q *page.Query) (*page.Page, error) {
		if s.src.Loops.Has(q.Object.Loop) {
			return s.pages.NotFound(q)
		}
		return build(q)
	}
}

// object is the page of an object: that of its loop's own snapshots, where there is
// one, and otherwise what all have.
func (s *Server) object(q *page.Query) (*page.Page, error) {
	var empty decision.Snapshot
	if l := s.src.Loops.Of(q.Object.Loop); l.New != nil {
		empty = l.New()
	}
	switch empty.(type) {
	case *deployment.Snapshot:
		return s.deployment(q)
	case *replicaset.Snapshot:
		return s.replicaSet(q)
	default:
		return s.plain(q)
	}
}

// canPlan reports whether what a loop would do can be planned.
func canPlan(l *decision.Loop) bool {
	if l.New == nil {
		return false
	}
	_, ok := l.New().(*deployment.Snapshot)
	return ok
}
