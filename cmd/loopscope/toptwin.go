package main

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/loopscope/loopscope/telemetry/decision"
	"github.com/loopscope/loopscope/telemetry/safetext"
	"github.com/loopscope/loopscope/web/filter"
)

// topList is the overview as the console tells it.
type topList struct {
	now      time.Time
	cluster  string
	headline string
	tally    []topTally
	rows     []topRow
	notice   string // what a reader has to know first: that no API server answers
	note     string // why there is no row
	unknown  string // why the console does not know whether anything needs somebody
	beside   []topBeside
	more     bool // whether there are rows beyond the limit
}

// topBeside is how the objects are that have a list of their own and are told of beside another one.
type topBeside struct {
	Loop    string   `json:"loop"`
	Text    pageText `json:"text"`
	Failed  int      `json:"failed"`
	Waiting int      `json:"waiting"`
}

type topTally struct {
	Word  string `json:"word"`
	Count int    `json:"count"`
}

// topRow is one row of the page's JSON.
type topRow struct {
	Namespace string   `json:"namespace"`
	Name      string   `json:"name"`
	State     mark     `json:"state"`
	Since     pageText `json:"since"`
	// AsOf is when the API server last served, where it has not since and the row is of then.
	AsOf      *time.Time `json:"asOf,omitempty"`
	Revision  string     `json:"revision,omitempty"`
	Why       pageText   `json:"why"`
	Asked     string     `json:"asked,omitempty"`
	Available string     `json:"available,omitempty"`
	Numbers   string     `json:"numbers,omitempty"`
	Meter     *topMeter  `json:"meter,omitempty"`
	LastAt    time.Time  `json:"lastAt,omitzero"`
	LastDid   string     `json:"lastDid"`
	Queue     string     `json:"queue"`
	QueueNote pageText   `json:"queueNote"`
}

// topMeter is how many pods there are, and may be.
type topMeter struct {
	New     int64 `json:"newAvailable"`
	Old     int64 `json:"oldAvailable"`
	Not     int64 `json:"notAvailable"`
	Floor   int64 `json:"floor"`
	Ceiling int64 `json:"ceiling"`
	Alike   bool  `json:"alike"` // New are all that are available.
}

type mark struct {
	Tone string `json:"tone"`
	Word string `json:"word"`
}

// topTwin is what is read of the page's JSON.
type topTwin struct {
	Now     time.Time `json:"now"`
	Cluster string    `json:"cluster"`
	Notice  *struct {
		Title string   `json:"title"`
		Text  pageText `json:"text"`
	} `json:"notice"`
	Page struct {
		Headline string      `json:"headline"`
		Tally    []topTally  `json:"tally"`
		Beside   []topBeside `json:"beside"`
		Filter   struct {
			Known string `json:"known"`
			Terms []struct {
				Term    string `json:"term"`
				Unknown bool   `json:"unknown"`
			} `json:"terms"`
		} `json:"filter"`
		Groups []struct {
			Rows []topRow `json:"rows"`
		} `json:"groups"`
		Next  string `json:"next"`
		Empty *struct {
			Code    string     `json:"code"`
			Heading string     `json:"heading"`
			Lines   []pageText `json:"lines"`
		} `json:"empty"`
	} `json:"page"`
}

// ask reads the pages of the list of a namespace, "" for all of them, up to the limit.
func (o *topOptions) ask(ctx context.Context, namespace string, terms []string) (topList, error) {
	query := url.Values{}
	if len(terms) > 0 {
		query.Set("q", strings.Join(terms, " "))
	}
	var list topList
	from := o.console.find(ctx, namespace)
	for page := range maxTopPages {
		var t topTwin
		if err := askConsole(ctx, from, decision.PathOf(o.loop)+".json", query, &t); err != nil {
			return topList{}, noSuchLoop(err, from, o.loop, "list", topLoops())
		}
		if t.Page.Headline == "" {
			return topList{}, fmt.Errorf("%s answered without an overview; is it a loopscope of another version?", from.server)
		}
		if err := t.unknown(o.all); err != nil {
			return topList{}, err
		}
		if page == 0 {
			list = topList{now: t.Now, cluster: t.Cluster, headline: t.Page.Headline, tally: t.Page.Tally, beside: t.Page.Beside, note: t.note()}
			list.notice, list.unknown = t.told(), t.idle()
			if !from.knows(namespace) {
				list.unknown = from.narrow()
				list.notice = strings.TrimPrefix(list.notice+"\n"+list.unknown, "\n")
			}
		}
		for _, g := range t.Page.Groups {
			list.rows = append(list.rows, g.Rows...)
		}
		next, err := url.Parse(t.Page.Next)
		list.more = t.Page.Next != ""
		if err != nil || !list.more || len(list.rows) >= o.limit {
			break
		}
		query = next.Query()
	}
	if len(list.rows) > o.limit {
		list.rows, list.more = list.rows[:o.limit], true
	}
	return list, nil
}

// needsYou reports whether anything that it tells of is waiting or failed.
func (l *topList) needsYou() bool {
	return slices.ContainsFunc(l.rows, func(r topRow) bool { return r.State.Tone == "fail" || r.State.Tone == "wait" }) ||
		slices.ContainsFunc(l.beside, func(b topBeside) bool { return b.Failed+b.Waiting > 0 })
}

// told is the page's notice, "" where it has none.
func (t *topTwin) told() string {
	if t.Notice == nil {
		return ""
	}
	return safetext.Line(t.Notice.Title) + ". " + t.Notice.Text.at(t.Now)
}

// unknownTerm is the error of a term that filters nothing.
type unknownTerm string

func (e unknownTerm) Error() string { return safetext.Line(string(e)) }

// unknown is the error of the first term that filters nothing. Unless all namespaces are asked for, one term is
// that of the namespace, which nobody has typed.
func (t *topTwin) unknown(all bool) error {
	for i, term := range t.Page.Filter.Terms {
		switch {
		case !term.Unknown:
		case i >= filter.MaxTerms && all:
			return unknownTerm(fmt.Sprintf("a filter has at most %d terms: omit %q and any after it", filter.MaxTerms, term.Term))
		case i >= filter.MaxTerms:
			return unknownTerm(fmt.Sprintf("a filter has at most %d terms beside the namespace: omit %q and any after it", filter.MaxTerms-1, term.Term))
		default:
			return unknownTerm(fmt.Sprintf("the term %q is not known. %s", term.Term, t.Page.Filter.Known))
		}
	}
	return nil
}

// idle is why the loop has not looked at anything, "" where it has.
func (t *topTwin) idle() string {
	if e := t.Page.Empty; e == nil || !slices.Contains([]string{"loop-off", "loop-skipped", "loop-waiting"}, e.Code) {
		return ""
	}
	return t.note()
}

// note is what the page says where the list is empty.
func (t *topTwin) note() string {
	if t.Page.Empty == nil {
		return ""
	}
	text := t.Page.Empty.Heading
	for _, l := range t.Page.Empty.Lines {
		text += " " + l.at(t.Now)
	}
	return safetext.Line(text)
}
