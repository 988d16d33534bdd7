package source

import (
	"slices"

	"github.com/loopscope/loopscope/telemetry/prose"
	"github.com/loopscope/loopscope/views"
)

// Hides reports whether the viewer may not see all objects of a loop.
func (s *Source) Hides(loop string) bool { return !s.scope.Whole(loop) }

// Partly reports whether there are loops of which the viewer may not see all objects.
func (s *Source) Partly() bool { return slices.ContainsFunc(s.Loops.Names(), s.Hides) }

// seen qualifies what is counted of a loop, where the viewer may not see all of it.
const seen = " that you may see"

// Seen stands behind objects of a loop that are counted: " that you may see", "" where nothing is hidden.
func (s *Source) Seen(loop string) string {
	if s.Hides(loop) {
		return seen
	}
	return ""
}

// SeenOf is Seen of what is counted for all loops together.
func (s *Source) SeenOf() string {
	if s.Partly() {
		return seen
	}
	return ""
}

// Rights says what it takes to see the objects of a loop.
func (s *Source) Rights(loop string) views.Text {
	l := s.Loops.Of(loop)
	var names []string
	for _, r := range l.Told() {
		names = append(names, r.String())
	}
	return views.Say(prose.Upper(l.Many()) + " of a namespace are shown to whoever may ").Code("get").Plain(" and ").Code("list").Plain(" " + prose.And(names) + " there.")
}
