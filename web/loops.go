package web

import (
	"slices"
	"strings"

	"github.com/loopscope/loopscope/controllers/deployment"
	"github.com/loopscope/loopscope/controllers/replicaset"
	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/decision"
	"github.com/loopscope/loopscope/views"
)

// loopAt is the loop that has its pages at an address; "" where none can have.
func loopAt(path string) string {
	first, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	loop, ok := strings.CutSuffix(first, "s")
	if !ok {
		return ""
	}
	return loop
}

// known reports whether there are objects of a loop to show, declared or not.
func (s *Server) known(loop string) bool {
	return s.loops.Has(loop) || slices.Contains(s.journal.Board().Loops(), loop)
}

// listed are the loops that have a list: those that say so, and those of which there are
// objects and nothing is declared.
func (s *Server) listed() []*decision.Loop {
	var list []*decision.Loop
	for i := range s.loops {
		if s.loops[i].Listed {
			list = append(list, &s.loops[i])
		}
	}
	for _, name := range s.journal.Board().Loops() {
		if !s.loops.Has(name) {
			list = append(list, s.loops.Of(name))
		}
	}
	if len(list) == 0 {
		list = append(list, s.loops.Of("object"))
	}
	return list
}

// foreign reports whether there are objects of a loop that nobody declared.
func (s *Server) foreign(loop string) bool { return !s.loops.Has(loop) && s.known(loop) }

// undeclared are the pages of a loop that nobody declared. Those of the others have
// addresses of their own.
func (s *Server) undeclared(build builder) builder {
	return func(q *query) (*page, error) {
		if s.loops.Has(q.object.Loop) {
			return s.notFound(q)
		}
		return build(q)
	}
}

// first is the loop whose list is the front page.
func (s *Server) first() *decision.Loop { return s.listed()[0] }

// navigation leads to every list.
func (s *Server) navigation() []views.Link {
	var links []views.Link
	for _, l := range s.listed() {
		links = append(links, listLink(l))
	}
	return links
}

// listOf is the loop in whose list the way to an object begins.
func (s *Server) listOf(loop string) *decision.Loop {
	for l := s.loops.Of(loop); ; l = s.loops.Of(l.Owner) {
		switch {
		case l.Listed || !s.loops.Has(loop):
			return l
		case l.Owner == "":
			return s.first()
		}
	}
}

// tabOf is the entry of the main navigation under which a loop's objects are.
func (s *Server) tabOf(loop string) string { return decision.PathOf(s.listOf(loop).Name) }

func listLink(l *decision.Loop) views.Link {
	return views.Link{Text: l.Kind + "s", Href: decision.PathOf(l.Name)}
}

// all leads to the list of everything.
func (s *Server) all() views.Link {
	l := listLink(s.first())
	return views.Link{Text: "All " + l.Text, Href: l.Href}
}

// children are the newest syncs of all objects that another one controls.
func (s *Server) children(o telemetry.Object) []*telemetry.Trace {
	var list []*telemetry.Trace
	for _, loop := range s.loops.Owned(o.Loop) {
		list = append(list, s.journal.Board().Children(loop, o.Namespace, o.Name)...)
	}
	return list
}

// object is the page of an object: that of its loop's own snapshots, where there is
// one, and otherwise what all have.
func (s *Server) object(q *query) (*page, error) {
	var empty decision.Snapshot
	if l := s.loops.Of(q.object.Loop); l.New != nil {
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
