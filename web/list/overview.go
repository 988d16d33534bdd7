package list

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/decision"
	"github.com/loopscope/loopscope/telemetry/prose"
	"github.com/loopscope/loopscope/views"
	"github.com/loopscope/loopscope/web/answer"
	"github.com/loopscope/loopscope/web/facts"
	"github.com/loopscope/loopscope/web/filter"
	"github.com/loopscope/loopscope/web/page"
	"github.com/loopscope/loopscope/web/source"
	"github.com/loopscope/loopscope/web/words"
)

// attentionFirst sorts by outcome, then those that have been so for longest,
// then by name. Settled rows are sorted by name alone: there nothing is urgent.
func attentionFirst(a, b *entry) int {
	if c := cmp.Compare(a.place, b.place); c != 0 {
		return c
	}
	if words.Outcomes[a.place].Tone != decision.ToneOK {
		if c := a.SinceTone.Compare(b.SinceTone); c != 0 {
			return c
		}
	}
	if c := strings.Compare(a.Trace.Namespace, b.Trace.Namespace); c != 0 {
		return c
	}
	return strings.Compare(a.Trace.Name, b.Trace.Name)
}

// reasonsOf are the words that Kubernetes and the loop have for the situation.
func reasonsOf(t *telemetry.Trace, said decision.Sentence) []string {
	reasons := []string{said.Code}
	if t.Failure != nil {
		reasons = append(reasons, t.Failure.Reason)
	}
	for _, h := range facts.Held(t) {
		reasons = append(reasons, h.Code)
		for _, b := range h.Blockers {
			reasons = append(reasons, b.Reason)
		}
	}
	for _, p := range append(slices.Clone(said.Lead), said.Then...) {
		if p.Kind == decision.Quote {
			reasons = append(reasons, p.Text)
		}
	}
	return reasons
}

// Overview is the page of all objects of a loop, attention first.
func (s *Pages) Overview(q *page.Query) (*page.Page, error) {
	l := s.Loops.Of(q.Object.Loop)
	if !s.Known(l.Name) {
		return s.NotFound(q)
	}
	known := s.rows(l.Name)
	all := known.entries
	terms := filter.Parse(q.Args.Get("q"))
	matching := matchingOf(all, terms)
	shown, next, from, err := cut(l.Name, all, matching, terms, q.Args.Get("after"))
	if err != nil {
		return nil, err
	}
	v := views.Overview{Kind: prose.Upper(l.One()), Pods: l.CountsPods(), Filter: filter.View(l, terms), Headline: s.headline(l, all), Tally: tallies(l.Name, all, terms)}
	besides := s.beside(l, terms)
	v.Beside = besideViews(besides)
	if o := s.Outage(); o.On {
		v.AsOf = o.OfThen("As of", o.Began)
	}
	rows := s.rowsOf(shown, known.keys)
	if !q.Live {
		v.Groups = groupsOf(shown, matching, rows)
	}
	if len(shown) > 0 && (next != "" || from > 0) {
		v.Shown = fmt.Sprintf("%s to %s of %s.", prose.Thousands(from+1), prose.Thousands(from+len(shown)), prose.Thousands(len(matching)))
	}
	if next != "" {
		v.Next = nextHref(l.Name, q, next)
	}
	switch {
	case len(matching) == 0:
		v.Empty = s.empty(l, all, terms)
	case len(shown) == 0:
		v.Empty = s.noMore(l, terms)
	}
	p := s.overviewPage(q, l, v, shown, rows)
	s.follow(q, p, besides)
	return p, nil
}

func (s *Pages) overviewPage(q *page.Query, l *decision.Loop, v views.Overview, shown []*entry, rows []*listRow) *page.Page {
	p := &page.Page{Status: http.StatusOK, Frame: s.Frame(q, v.Headline), Body: views.OverviewBody(v), Data: v}
	p.Frame.Tab = s.TabOf(l.Name)
	p.Frame.Crumbs = []views.Link{{Text: s.ListLink(l).Text}}
	p.Frame.Twin, p.Frame.Keys = q.TwinHref(), page.OverviewKeys
	p.Rows, p.Order = make([]*page.Row, len(rows)), make([]string, len(rows))
	for i, r := range rows {
		p.Rows[i], p.Order[i] = &r.drawn, r.drawn.ID
	}
	p.GoLive(q, page.Part{ID: "f-head", View: views.OverviewHead(v)})
	p.ChangesAt = nextChange(q.Now, shown)
	p.Touches = func(t *telemetry.Trace) bool { return t.Loop == l.Name }
	p.Lost = func(id string) (*page.Row, bool) { return s.removedRow(l.Name, id) }
	return p
}

// removedRow is a row that is on a reader's page and no longer on the one that is drawn.
func (s *Pages) removedRow(loop, id string) (*page.Row, bool) {
	e, ok := s.entryByID(loop, id)
	if !ok {
		return nil, false
	}
	return &s.rowOf(e, s.rows(loop).keys.Of(e.key)).drawn, true
}

// nextChange is when the clock alone changes the next sentence of the list.
func nextChange(now time.Time, shown []*entry) time.Time {
	var soonest time.Time
	for _, e := range shown {
		soonest = page.Sooner(now, soonest, e.said.ChangesAt)
	}
	return soonest
}

// cut is the page of rows after a cursor.
func cut(loop string, all, matching []*entry, terms []filter.Term, after string) (shown []*entry, next string, from int, err error) {
	from, ok := begin(all, matching, after)
	if !ok {
		return nil, "", 0, answer.NewProblem(http.StatusNotFound, "no-such-row", "The row that this page begins after is not in the list.",
			views.Say("Nothing called ").Code(prose.Clip(after, 120)).Plain(" is in it: it was deleted, or the address is incomplete.")).
			Link("The first page", filter.Href(loop, terms))
	}
	shown = matching[from:min(len(matching), from+page.MaxRows)]
	if from+len(shown) < len(matching) {
		next = cursorOf(shown[len(shown)-1])
	}
	return shown, next, from, nil
}

func nextHref(loop string, q *page.Query, after string) string {
	args := url.Values{"after": {after}}
	if f := q.Args.Get("q"); f != "" {
		args.Set("q", f)
	}
	return decision.PathOf(loop) + "?" + args.Encode()
}

// headline counts what needs a person.
func (s *Pages) headline(l *decision.Loop, all []*entry) string {
	if len(all) == 0 {
		if idle := s.Idle(l.Name); idle != nil { // Not asked otherwise: it copies every queue.
			return idle.Heading
		}
		return "No " + l.Many() + cmp.Or(s.which(l.Name), " yet") + "."
	}
	said, rest := standing(l.One(), s.which(l.Name), all)
	return said + "." + others(rest)
}

// which qualifies the objects in a list: " without a Deployment that you may see".
func (s *Pages) which(loop string) string { return s.Loops.Unowned(loop) + s.Seen(loop) }

// standing says how many of all there are that failed or wait, and rest is how many others there are
// of which nothing is said.
func standing(kind, which string, all []*entry) (said string, rest int) {
	counts := count(all)
	failed, waiting := counts[0], counts[1]
	rest = len(all) - failed - waiting
	switch {
	case failed == 0 && waiting == 0 && len(all) == 1:
		return "The only " + kind + which + " needs no action", 0
	case failed == 0 && waiting == 0 && len(all) == 2:
		return "Both " + kind + "s" + which + " need no action", 0
	case failed == 0 && waiting == 0:
		return "All " + prose.Thousands(len(all)) + " " + kind + "s" + which + " need no action", 0
	case failed == 0:
		return prose.Count(waiting, kind) + which + prose.Plural(waiting, " is", " are") + " waiting", rest
	case waiting == 0:
		return prose.Count(failed, kind) + which + " failed", rest
	default:
		return prose.Count(failed, kind) + which + " failed and " + prose.Thousands(waiting) + prose.Plural(waiting, " is", " are") + " waiting", rest
	}
}

func others(n int) string {
	switch n {
	case 0:
		return ""
	case 1:
		return " The other one needs no action."
	default:
		return " The other " + prose.Thousands(n) + " need no action."
	}
}

func count(all []*entry) []int {
	counts := make([]int, len(words.Outcomes))
	for _, e := range all {
		counts[e.place]++
	}
	return counts
}

// tallies are the five counts. They count what every other term of the filter
// lets through, and each is the list of its outcome.
func tallies(loop string, all []*entry, terms []filter.Term) []views.Tally {
	rest := slices.DeleteFunc(slices.Clone(terms), func(t filter.Term) bool { return t.Key == "is" && !t.Unknown })
	counts := make([]int, len(words.Outcomes))
	for _, e := range all {
		if e.matches(rest) {
			counts[e.place]++
		}
	}
	list := make([]views.Tally, len(words.Outcomes))
	for i, o := range words.Outcomes {
		word := "is:" + isWord(o)
		current := slices.ContainsFunc(terms, func(t filter.Term) bool { return t.Text == word })
		list[i] = views.Tally{Mark: views.Mark{Tone: o.View, Word: o.Word}, Count: counts[i], Current: current,
			Href: filter.Href(loop, append(slices.Clone(rest), filter.Term{Text: word}))}
		if current { // A second press takes the filter away.
			list[i].Href = filter.Href(loop, rest)
		}
	}
	return list
}

// rowsOf is the rows of one page, drawn or still to be drawn.
func (s *Pages) rowsOf(shown []*entry, keys source.KeyStates) []*listRow {
	rows := make([]*listRow, len(shown))
	for i, e := range shown {
		rows[i] = s.rowOf(e, keys.Of(e.key))
	}
	return rows
}

// AllRows is every row of a loop's list, as of now.
func (s *Pages) AllRows(loop string) []views.Row {
	known := s.rows(loop)
	list := make([]views.Row, len(known.entries))
	for i, r := range s.rowsOf(known.entries, known.keys) {
		list[i] = r.view()
	}
	return list
}

// groupsOf puts the rows of one page under their heads, which count all that match.
func groupsOf(shown, matching []*entry, rows []*listRow) (groups []views.Group) {
	totals := count(matching)
	for i, e := range shown {
		o := words.Outcomes[e.place]
		if len(groups) == 0 || groups[len(groups)-1].Name != o.Group {
			groups = append(groups, views.Group{Name: o.Group, Note: prose.Thousands(totals[e.place]) + ", " + o.Note})
		}
		g := &groups[len(groups)-1]
		g.Rows = append(g.Rows, rows[i].view())
	}
	return groups
}
