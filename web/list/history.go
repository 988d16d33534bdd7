package list

import (
	"context"
	"errors"
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
	"github.com/loopscope/loopscope/web/address"
	"github.com/loopscope/loopscope/web/answer"
	"github.com/loopscope/loopscope/web/filter"
	"github.com/loopscope/loopscope/web/page"
	"github.com/loopscope/loopscope/web/words"
)

// historyPage is how many syncs one page of a search lists, searchWithin how
// long one search may take.
const historyPage, searchWithin = 50, 10 * time.Second

// History is the search through the syncs that are kept.
func (s *Pages) History(q *page.Query) (*page.Page, error) {
	v := views.History{}
	v.Headline, v.Then = s.archiveHead(s.Opts.Archive.State())
	if s.Opts.Recording != nil {
		v.Then = views.Say("This is everything that the recording has of that run.")
	}
	search, terms := parseSearch(q.Args.Get("q"), q.Now, s.Named)
	search.After = q.Args.Get("after")
	v.Filter = s.searchView(terms)
	ctx, cancel := context.WithTimeout(q.Ctx, searchWithin)
	defer cancel()
	found, err := s.Opts.Archive.Search(ctx, search)
	switch {
	case errors.Is(err, telemetry.ErrBadQuery):
		return nil, answer.NewProblem(http.StatusBadRequest, "bad-search", "Invalid search.", views.Text{}.Code(prose.Clip(err.Error(), 300))).Link("All of the history", "/history")
	case errors.Is(err, context.DeadlineExceeded):
		return nil, answer.NewProblem(http.StatusGatewayTimeout, "slow-search", "That search takes too long.", views.Say("Narrow it with ns:, name:, since: and until:.")).Link("All of the history", "/history")
	case err != nil:
		return nil, page.NoArchive(err).Link("All of the history", "/history")
	}
	// They come in the order in which they ended, and are shown by when they started.
	slices.SortStableFunc(found.Hits, func(a, b telemetry.Hit) int { return b.Started.Compare(a.Started) })
	for _, h := range found.Hits {
		v.Syncs = append(v.Syncs, s.foundView(h))
	}
	if found.Next != "" {
		v.Next = searchHref(terms) + "&after=" + url.QueryEscape(found.Next)
	}
	switch {
	case len(v.Syncs) > 0:
	case v.Next != "":
		v.Empty = &views.Problem{Code: "none-yet", Heading: "None of the newest syncs matches " + filter.Join(terms) + ". Older syncs have not been searched yet.", Lines: resultsAlone(&search),
			Links: []views.Link{{Text: "look further back", Href: v.Next}, {Text: "all of the history", Href: "/history"}}}
	case len(terms) == 0 && s.Partly():
		v.Empty = &views.Problem{Code: "none-seen", Heading: "None of the syncs that are kept is of an object that you may see.", Lines: []views.Text{s.Rights(s.First().Name)}}
	default:
		v.Empty = &views.Problem{Code: "no-match", Heading: "Nothing that is kept" + s.and() + " matches " + filter.Join(terms) + ".", Lines: append(s.notAsked(&search), resultsAlone(&search)...), Links: []views.Link{{Text: "all of the history", Href: "/history"}}}
	}
	return s.historyPage(q, v), nil
}

// notAsked says which of the questions that are searched for no loop here asks.
func (s *Pages) notAsked(q *telemetry.Query) (lines []views.Text) {
	for _, id := range []string{q.Question, q.Leaf} {
		asks := func(l decision.Loop) bool { _, ok := l.Catalogue.Find(id); return ok }
		if id != "" && !slices.ContainsFunc(s.Loops, asks) {
			lines = append(lines, views.Say("No loop here asks a question ").Code(prose.Clip(id, 80)).Plain(": here are ").Link("all questions", "/decisions").Plain("."))
		}
	}
	return lines
}

// resultsAlone says what is: means here, where it asks for what an object can be, too.
func resultsAlone(q *telemetry.Query) []views.Text {
	if !slices.ContainsFunc(q.Results, func(r telemetry.Result) bool { return r == telemetry.ResultFailed || r == telemetry.ResultWaiting }) {
		return nil
	}
	return []views.Text{views.Say("Here, ").Code("is:").Plain(" asks how a sync ended, not how its object was. To find syncs that saw an object in trouble, search for one of the ").
		Link("codes of its sentence", "/reasons").Plain(", such as ").Code("code:image-pull").Plain(".")}
}

func (s *Pages) historyPage(q *page.Query, v views.History) *page.Page {
	p := &page.Page{Status: http.StatusOK, Frame: s.Frame(q, "History"), Body: views.HistoryBody(v), Data: v}
	p.Frame.Tab, p.Frame.Twin, p.Frame.Keys = "history", q.TwinHref(), page.HistoryKeys
	p.Frame.Crumbs = []views.Link{{Text: "History"}}
	return p
}

// archiveHead says what is kept, and what is wrong if anything is.
func (s *Pages) archiveHead(st telemetry.ArchiveState) (head, then views.Text) {
	head = views.Say(prose.Count(st.Kept, "sync") + " are kept")
	if st.Kept == 1 {
		head = views.Say("1 sync is kept")
	}
	if !st.Oldest.IsZero() {
		head = head.Plain(" since " + st.Oldest.UTC().Format("2006-01-02 15:04"))
	}
	head = head.Plain(fmt.Sprintf(", in %.1f MB.", float64(st.Bytes)/(1<<20)))
	if s.Partly() {
		then = then.Plain("These are the syncs of all objects; you are shown those that you may see. ")
	}
	if st.Path == "" {
		then = then.Plain("They are in memory and are lost when the process ends")
		if !s.Embedded() { // which has other flags
			then = then.Plain("; ").Code("loopscope manager --history=FILE").Plain(" keeps them on disk")
		}
		then = then.Plain(". ")
	}
	if st.Dropped > 0 {
		then = then.Plain(prose.Count(st.Dropped, "sync") + " could not be kept since this process began. ")
	}
	if st.Error != "" {
		then = then.Plain("Nothing has been kept since ").Clock(st.ErrorSince).Plain(" UTC: ").Code(prose.Clip(st.Error, 300))
	}
	return head, then
}

func (s *Pages) foundView(h telemetry.Hit) views.Found {
	owner, own := words.SplitOf(s.KindOf(h.Loop), h.Name)
	return views.Found{At: h.Started, Kind: s.KindOf(h.Loop), Owner: h.In() + owner, Own: own, Object: h.Key(), Result: words.HitMark(&h),
		Says: prose.Clip(h.Text, 400), Error: prose.Clip(h.Error, 300), Leaf: h.Leaf, Took: views.Took(h.Took), Number: words.Digits(h.Seq), Href: address.SyncOf(h.Object, h.Epoch, h.Seq)}
}

// and qualifies what a search finds.
func (s *Pages) and() string {
	if s.Partly() {
		return " and that you may see"
	}
	return ""
}

func searchHref(terms []filter.Term) string {
	words := make([]string, len(terms))
	for i, t := range terms {
		words[i] = t.Text
	}
	return "/history?" + url.Values{"q": {strings.Join(words, " ")}}.Encode()
}

func (s *Pages) searchView(terms []filter.Term) views.Filter {
	f := views.Filter{Action: "/history", Label: "the history", Hint: ownHint}
	if s.Embedded() {
		f.Hint = historyHint
	}
	words := make([]string, len(terms))
	for i, t := range terms {
		words[i] = t.Text
		f.Chips = append(f.Chips, views.Chip{Text: t.Text, Without: searchHref(filter.Without(terms, i)), Unknown: t.Unknown})
	}
	f.Known = leftOut(terms)
	f.Query = strings.Join(words, " ")
	return f
}
