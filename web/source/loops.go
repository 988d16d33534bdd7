package source

import (
	"net/url"
	"slices"
	"strings"

	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/decision"
	"github.com/loopscope/loopscope/telemetry/prose"
	"github.com/loopscope/loopscope/views"
)

// Known reports whether there are objects of a loop to show, declared or not.
func (s *Source) Known(loop string) bool {
	return s.Loops.Has(loop) || slices.Contains(s.Journal.Board().Loops(), loop)
}

// Named is the name of the loop of a kind as a person types it; "" where there are no such objects.
func (s *Source) Named(kind string) string {
	if s.Known(kind) {
		return kind
	}
	return s.Loops.Named(kind)
}

// listed are the loops that have a list in the header: those that say so, and those of which there are
// objects and nothing is declared.
func (s *Source) listed() []*decision.Loop {
	var list []*decision.Loop
	for i := range s.Loops {
		if s.Loops[i].Listed {
			list = append(list, &s.Loops[i])
		}
	}
	for _, name := range s.Journal.Board().Loops() {
		if !s.Loops.Has(name) {
			list = append(list, s.Loops.Of(name))
		}
	}
	if len(list) == 0 {
		list = append(list, s.Loops.Of("object"))
	}
	return list
}

// Foreign reports whether there are objects of a loop that nobody declared.
func (s *Source) Foreign(loop string) bool { return !s.Loops.Has(loop) && s.Known(loop) }

// First is the loop whose list is the front page.
func (s *Source) First() *decision.Loop { return s.listed()[0] }

// Navigation leads to every list of the header.
func (s *Source) Navigation() []views.Link {
	var links []views.Link
	for _, l := range s.listed() {
		links = append(links, s.ListLink(l))
	}
	return links
}

// ListOf is the loop in whose list the way to an object with that owner begins; "" for none.
func (s *Source) ListOf(loop, owner string) *decision.Loop {
	if l := s.Loops.Of(loop); l.ListsUnowned() && owner == "" {
		return l
	}
	return s.TabListOf(loop)
}

// TabListOf is the loop of the list in the header under which a loop's objects are, whoever owns them.
func (s *Source) TabListOf(loop string) *decision.Loop {
	for l := s.Loops.Of(loop); ; l = s.Loops.Of(l.Owner) {
		switch {
		case l.Listed || !s.Loops.Has(loop):
			return l
		case l.Owner == "":
			return s.First()
		}
	}
}

// TabOf is the entry of the main navigation under which a loop's objects are.
func (s *Source) TabOf(loop string) string { return decision.PathOf(s.TabListOf(loop).Name) }

// ListLink leads to the list of a loop.
func (s *Source) ListLink(l *decision.Loop) views.Link {
	return views.Link{Text: prose.Upper(l.Many()) + s.Loops.Unowned(l.Name), Href: decision.PathOf(l.Name)}
}

// All leads to the list of everything.
func (s *Source) All() views.Link {
	l := s.ListLink(s.First())
	return views.Link{Text: "All " + l.Text, Href: l.Href}
}

// Children are the newest syncs of all objects that another one controls.
func (s *Source) Children(o telemetry.Object) []*telemetry.Trace {
	var list []*telemetry.Trace
	for _, loop := range s.Loops.Owned(o.Loop) {
		list = append(list, s.Journal.Board().Children(loop, o.Namespace, o.Name)...)
	}
	return list
}

// ReasonHref leads to what a code means where it was said: by a loop, in a
// sentence or of a held write.
func (s *Source) ReasonHref(loop, kind, code string) string {
	for _, r := range append(slices.Clone(s.Loops.Of(loop).Reasons), telemetry.WorkerReasons...) {
		if anchor := r.AnchorOf(code); anchor != "" && r.Kind == kind {
			return "/reasons/" + url.PathEscape(code) + "#" + anchor
		}
	}
	return ""
}

// Embedded reports whether this is the console of another program, whose controllers follow
// no rules that are known here.
func (s *Source) Embedded() bool { return len(s.Opts.Rules) == 0 }

// loopWaiting is the code of a loop that will run once its caches are filled.
const loopWaiting = "loop-waiting"

// Idle is why a loop does nothing in this process, as a problem that says so; nil where it does.
func (s *Source) Idle(loop string) *views.Problem {
	loops := s.Opts.Loops()
	i := slices.IndexFunc(loops, func(l telemetry.LoopState) bool { return l.Name == loop })
	if i < 0 {
		return nil
	}
	kind := s.KindOf(loop)
	switch loops[i].Mode {
	case telemetry.ModeOff:
		return &views.Problem{Code: "loop-off", Heading: "The " + kind + " loop does not run here.",
			Lines: []views.Text{views.Say("This process was started without it: ").Join(s.Off(&loops[i])).Plain(". Nothing that happens to " + kind + "s is recorded here; if another process runs it, look at the console of that one.")}}
	case telemetry.ModeSkipped:
		return &views.Problem{Code: "loop-skipped", Heading: "The " + kind + " loop is skipped.",
			Lines: []views.Text{views.Say("The API server does not serve " + prose.And(caches(&loops[i], func(c telemetry.CacheState) bool { return c.Unserved })) + ". The loop starts by itself within a minute after it does.")}}
	}
	if missing := caches(&loops[i], func(c telemetry.CacheState) bool { return !c.Synced }); len(missing) > 0 {
		return &views.Problem{Code: loopWaiting, Heading: "The " + kind + " loop waits for its caches.",
			Lines: []views.Text{views.Say("It has not listed " + prose.And(missing) + " yet, and decides nothing before that.")}}
	}
	return nil
}

// Unwatched is why this process does not look at an object; "" where it does, or nobody knows.
func (s *Source) Unwatched(o telemetry.Object) string {
	loops := s.Opts.Loops()
	listed := slices.ContainsFunc(loops, func(l telemetry.LoopState) bool { return l.Name == o.Loop })
	switch idle := s.Idle(o.Loop); {
	case idle != nil && idle.Code != loopWaiting:
		return strings.TrimSuffix(idle.Heading, ".")
	case listed && s.Opts.Namespace != "" && o.Namespace != "" && o.Namespace != s.Opts.Namespace:
		return "This process looks at the namespace " + s.Opts.Namespace + " alone"
	case !listed && len(loops) > 0 && !s.Loops.Has(o.Loop):
		return "The " + s.KindOf(o.Loop) + " loop does not run here"
	}
	return ""
}

// Off says why a loop that is off does not run here, and what would start it.
func (s *Source) Off(l *telemetry.LoopState) views.Text {
	switch {
	case l.Off != nil && l.Off.Gate != "":
		return views.Say("it needs the feature ").Code(l.Off.Gate).Plain(", which is off; ").Code("--feature-gates=" + l.Off.Gate + "=true").Plain(" switches it on")
	case l.Off != nil && l.Off.ByDefault:
		return views.Say("it is off by default; ").Code("--controllers=*," + s.ControllerOf(l.Name)).Plain(" switches it on")
	}
	return views.Text{}.Code("--controllers").Plain(" leaves it out")
}

// ControllerOf is what a loop is called as a controller: by its own name where it has no other.
func (s *Source) ControllerOf(loop string) string {
	for controller, of := range s.Opts.Controllers {
		if of == loop {
			return controller
		}
	}
	return loop
}

// caches are the names of those of a loop of which something is true.
func caches(l *telemetry.LoopState, is func(telemetry.CacheState) bool) (names []string) {
	for _, c := range l.Caches {
		if is(c) {
			names = append(names, c.Resource)
		}
	}
	return names
}

// HistoryRows is how many kept syncs of an object a page looks at.
const HistoryRows = 400

// QuestionHref is where a question is explained; "" where nobody declared it.
func (s *Source) QuestionHref(loop, id string) string {
	if _, known := s.Catalogue(loop).Find(id); !known {
		return ""
	}
	return "/decisions/" + loop + "#" + id
}

// Catalogue is the questions of a loop; none of one that nobody declared.
func (s *Source) Catalogue(loop string) decision.Catalogue { return s.Loops.Of(loop).Catalogue }

// KindOf is what a loop works on, as a person says it.
func (s *Source) KindOf(loop string) string { return s.Loops.Kind(loop) }
