package page

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/a-h/templ"
	"github.com/go-chi/chi/v5"

	"github.com/loopscope/loopscope/static"
	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/decision"
	"github.com/loopscope/loopscope/views"
	"github.com/loopscope/loopscope/web/address"
	"github.com/loopscope/loopscope/web/answer"
	"github.com/loopscope/loopscope/web/filter"
	"github.com/loopscope/loopscope/web/slots"
)

// MaxQuery bounds the query of an address, where its route says nothing else: a filter is words, not a program.
const MaxQuery = 1024

// Query is what a page was asked for.
type Query struct {
	// Ctx ends when nobody waits for the page any more. Slot is what it is drawn in.
	Ctx  context.Context
	Slot *slots.Slot
	// Args are the parameters that the page knows; all others are as if they were not there.
	Args            url.Values
	URL             *url.URL
	route           string
	Namespace, Name string
	// Object is the one whose page it is, or of which only the loop is known.
	Object                 telemetry.Object
	Loop, Epoch, Seq, Path string
	// Twin asks for the JSON of the page, Live for no more than its live parts.
	Twin, Live bool
	Now        time.Time
}

// Builder turns a query into a page. It reads states and writes nothing.
type Builder func(q *Query) (*Page, error)

// Page is a page before it is rendered.
type Page struct {
	Status int
	Frame  views.Frame
	Body   templ.Component
	// Data is what the JSON twin holds: the view model that Body places.
	Data any
	// Parts are the components that change while the page is being read.
	Parts []Part
	// Touches reports whether a trace can change the page; nil for any.
	Touches func(*telemetry.Trace) bool
	// Outdated reports whether something that leaves no trace has changed the page; nil for never.
	Outdated func() bool
	// ChangesAt is when the clock alone changes a sentence of it; zero for never.
	ChangesAt time.Time
	// Rows are those of a list as they would be sorted now, Order their ids, and Lost
	// finds one that is on the reader's page and no longer among them.
	Rows  []*Row
	Order []string
	Lost  func(id string) (*Row, bool)
}

// Part is a component with its id.
type Part struct {
	ID   string
	View templ.Component
}

// ask reads a query from a request.
func (s *Maker) ask(r *http.Request) *Query {
	return s.NewQuery(r.Context(), r.URL, chi.RouteContext(r.Context()), strings.HasPrefix(r.Header.Get("Accept"), "application/json"))
}

// NewQuery reads what an address asks for, by the route that it leads to. twin asks for JSON
// whatever the address says.
func (s *Maker) NewQuery(ctx context.Context, u *url.URL, route *chi.Context, twin bool) *Query {
	q := &Query{Ctx: views.WithPath(ctx, u.EscapedPath()), Args: s.Routes[route.RoutePattern()].Known(u.Query()), URL: u, Path: u.Path, route: route.RoutePattern(), Now: s.Opts.Now(), Twin: twin,
		Namespace: route.URLParam("namespace"), Name: route.URLParam("name"),
		Loop: route.URLParam("loop"), Epoch: route.URLParam("epoch"), Seq: route.URLParam("seq")}
	if q.Namespace == decision.NoNamespace {
		q.Namespace = ""
	}
	defer func() {
		q.Object = telemetry.Object{Loop: address.LoopAt(q.Path), Namespace: q.Namespace, Name: q.Name}
	}()
	switch {
	case strings.HasSuffix(q.route, ".json"):
		q.Twin, q.Path = true, strings.TrimSuffix(q.Path, ".json")
	case strings.HasSuffix(q.Path, ".json") && !s.namedSo(q):
		q.Twin, q.Path = true, strings.TrimSuffix(q.Path, ".json")
		for _, last := range []*string{&q.Seq, &q.Name, &q.Loop} {
			if *last != "" {
				*last = strings.TrimSuffix(*last, ".json")
				break
			}
		}
	}
	return q
}

// namedSo reports whether there is an object whose own name ends in .json, as
// Kubernetes allows: its page must be reachable, and its twin by Accept.
func (s *Maker) namedSo(q *Query) bool {
	if q.Name == "" || q.Seq != "" {
		return false
	}
	_, found := s.Journal.Board().Get(telemetry.Object{Loop: address.LoopAt(q.Path), Namespace: q.Namespace, Name: q.Name})
	return found
}

// Serve serves what a builder makes, as a page or as its JSON twin. Nothing is
// sent before all of it is rendered.
func (s *Maker) Serve(build Builder) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		q := s.ask(r)
		a, err := s.respond(r, q, build)
		if err != nil {
			s.Fail(w, r, q.Twin, err)
			return
		}
		a.Send(w, r)
	}
}

func (s *Maker) respond(r *http.Request, q *Query, build Builder) (*answer.Answer, error) {
	if err := s.Routes[q.route].tooLong(r.URL.RawQuery); err != nil {
		return nil, err
	}
	var err error
	if q.Slot, err = s.Slots.Request(q.Ctx); err != nil {
		return nil, err
	}
	defer q.Slot.Release()
	p, err := build(q)
	if err != nil {
		return nil, err
	}
	if q.Twin {
		return answer.JSON(r, p.Status, s.twin(p, q))
	}
	return s.pageAnswer(r, p, q)
}

// twin is the envelope of every JSON page.
type twin struct {
	API     string        `json:"api"`
	Cluster string        `json:"cluster"`
	Epoch   string        `json:"epoch"`
	Seq     uint64        `json:"seq"`
	Now     time.Time     `json:"now"`
	Window  views.Window  `json:"window"`
	Notice  *views.Notice `json:"notice,omitempty"`
	Page    any           `json:"page"`
}

func (s *Maker) twin(p *Page, q *Query) twin {
	return twin{API: PageProtocol + "+json", Cluster: s.Opts.Cluster, Epoch: s.Journal.Epoch(), Seq: p.Frame.Live.Seq,
		Now: q.Now.UTC(), Window: p.Frame.Window, Notice: p.Frame.Notice, Page: p.Data}
}

// pageAnswer renders the page with the digest of its live parts, by which the
// stream later knows that the reader has them as they are.
func (s *Maker) pageAnswer(r *http.Request, p *Page, q *Query) (*answer.Answer, error) {
	if p.Frame.Live.Page != "" {
		frags, err := p.Draw(q.Ctx)
		if err != nil {
			return nil, err
		}
		if p.Frame.Live.Version, err = p.Digest(q.Ctx, frags); err != nil {
			return nil, err
		}
	}
	var b bytes.Buffer
	if err := views.Page(p.Frame, p.Body).Render(views.WithNow(q.Ctx, q.Now), &b); err != nil {
		return nil, fmt.Errorf("render %s: %w", q.Path, err)
	}
	return answer.New(r, p.Status, "text/html; charset=utf-8", b.Bytes()), nil
}

// Frame is the frame of a page of which nothing else is known.
func (s *Maker) Frame(q *Query, title string) views.Frame {
	seq := s.Journal.Last()
	return views.Frame{
		Title:   title,
		Assets:  views.Assets{Style: static.Style.Path, Script: static.Script.Path, Theme: static.Theme.Path, Icon: static.Icon.Path},
		Mode:    s.ModeText(),
		Cluster: s.Opts.Cluster,
		Lists:   s.Navigation(),
		Asks:    slices.ContainsFunc(s.Loops, func(l decision.Loop) bool { return len(l.Catalogue.Questions) > 0 }),
		Sizes:   slices.ContainsFunc(s.Loops, func(l decision.Loop) bool { return l.Sizes != "" }),
		Window:  s.Window(),
		Notice:  s.Notice(),
		Live:    views.Live{Epoch: s.Journal.Epoch(), Seq: seq, Now: q.Now, Still: s.Opts.Recording != nil},
		Rules:   s.rules(),
	}
}

// rules says which rules the loops follow, as far as anybody knows them, and which
// program this is.
func (s *Maker) rules() string {
	if s.Embedded() {
		return "Loopscope " + s.Opts.Version
	}
	beside := ""
	if len(s.Earlier()) > 0 {
		beside = " beside " + s.Release().Version
	}
	return "rules of Kubernetes " + decision.RulesRelease + beside + ", Loopscope " + s.Opts.Version
}

// GoLive makes a page follow the journal.
func (p *Page) GoLive(q *Query, parts ...Part) {
	if !p.Frame.Live.Still {
		p.Frame.Live.Page = q.address()
	}
	p.Parts = append(append(FrameParts(p.Frame.Notice, p.Frame.Mode, p.Frame.Window),
		Part{"f-about", views.AboutPart(p.Frame.About)}, Part{"f-twin", views.TwinPart(p.Frame.Twin)}), parts...)
}

// FrameSize is how many FrameParts there are.
const FrameSize = 3

// FrameParts stand first on every live page, and are the same on all.
func FrameParts(n *views.Notice, mode views.Text, w views.Window) []Part {
	return []Part{{"f-notice", views.NoticeBar(n)}, {"f-mode", views.ModePart(mode)}, {"f-window", views.WindowLine(w)}}
}

// address is the page's own address: all that say the same have the same one, and are
// one page to those who watch it.
func (q *Query) address() string {
	u := url.URL{Path: q.Path, RawQuery: q.Args.Encode()}
	return u.String()
}

// TwinHref is the address of the JSON twin.
func (q *Query) TwinHref() string {
	u, _, _ := strings.Cut(q.address(), "?")
	if _, args, ok := strings.Cut(q.address(), "?"); ok {
		return u + ".json?" + args
	}
	return u + ".json"
}

// Number reads a number from 1, as queries have it; anything else is an error.
func Number(text string) (uint64, error) {
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil || n == 0 {
		return 0, errors.New("not a number from 1")
	}
	return n, nil
}

// PageProtocol is the subprotocol of /live for pages, and names their JSON twins.
// PROTOCOL.md describes it.
const PageProtocol = "loopscope.page.v1"

// Crumbs lead from a list to an object.
func (s *Maker) Crumbs(list *decision.Loop, o telemetry.Object) []views.Link {
	crumbs := []views.Link{s.ListLink(list)}
	if o.Namespace != "" {
		crumbs = append(crumbs, views.Link{Text: o.Namespace, Href: filter.Href(list.Name, []filter.Term{{Text: "ns:" + o.Namespace}})})
	}
	return append(crumbs, views.Link{Text: o.Name})
}

// Sooner is the earlier of two instants that are still to come.
func Sooner(now, a, b time.Time) time.Time {
	if b.IsZero() || !b.After(now) || !a.IsZero() && a.Before(b) {
		return a
	}
	return b
}

// Under is the way to a page that belongs to an object with that owner; "" for none.
func (s *Maker) Under(o telemetry.Object, owner string, more ...views.Link) []views.Link {
	c := s.Crumbs(s.ListOf(o.Loop, owner), o)
	c[len(c)-1].Href = address.Of(o)
	return append(c, more...)
}

// WithAll is the address of the page with its quiet syncs.
func (q *Query) WithAll() string {
	args := maps.Clone(q.Args)
	args.Set("all", "")
	return q.Path + "?" + args.Encode()
}

// MaxRows is how many rows one page of the list has.
const MaxRows = 100
