package web

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/a-h/templ"
	"github.com/go-chi/chi/v5"

	"github.com/loopscope/loopscope/static"
	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/prose"
	"github.com/loopscope/loopscope/views"
)

// maxQuery bounds the address of a page: a filter is words, not a program.
const maxQuery = 1024

// query is what a page was asked for.
type query struct {
	// ctx ends when nobody waits for the page any more. slot is what it is drawn in.
	ctx  context.Context
	slot *slot
	// args are the parameters that the page knows; all others are as if they were not there.
	args            url.Values
	url             *url.URL
	route           string
	namespace, name string
	// object is the one whose page it is, or of which only the loop is known.
	object                 telemetry.Object
	loop, epoch, seq, path string
	// twin asks for the JSON of the page, live for no more than its live parts.
	twin, live bool
	now        time.Time
}

// builder turns a query into a page. It reads states and writes nothing.
type builder func(q *query) (*page, error)

// page is a page before it is rendered.
type page struct {
	status int
	frame  views.Frame
	body   templ.Component
	// data is what the JSON twin holds: the view model that body places.
	data any
	// parts are the components that change while the page is being read.
	parts []part
	// touches reports whether a trace can change the page; nil for any.
	touches func(*telemetry.Trace) bool
	// turns is when the clock alone changes a sentence of it; zero for never.
	changesAt time.Time
	// rows are those of a list as they would be sorted now, order their ids, and lost
	// finds one that is on the reader's page and no longer among them.
	rows  []*pageRow
	order []string
	lost  func(id string) (*pageRow, bool)
}

// part is a component with its id.
type part struct {
	id   string
	view templ.Component
}

// ask reads a query from a request.
func (s *Server) ask(r *http.Request) *query {
	return s.query(r.Context(), r.URL, chi.RouteContext(r.Context()), strings.HasPrefix(r.Header.Get("Accept"), "application/json"))
}

func (s *Server) query(ctx context.Context, u *url.URL, route *chi.Context, twin bool) *query {
	q := &query{ctx: ctx, args: s.pages[route.RoutePattern()].known(u.Query()), url: u, path: u.Path, route: route.RoutePattern(), now: s.opts.Now(), twin: twin,
		namespace: route.URLParam("namespace"), name: route.URLParam("name"),
		loop: route.URLParam("loop"), epoch: route.URLParam("epoch"), seq: route.URLParam("seq")}
	defer func() { q.object = telemetry.Object{Loop: loopAt(q.path), Namespace: q.namespace, Name: q.name} }()
	switch {
	case strings.HasSuffix(q.route, ".json"):
		q.twin, q.path = true, strings.TrimSuffix(q.path, ".json")
	case strings.HasSuffix(q.path, ".json") && !s.namedSo(q):
		q.twin, q.path = true, strings.TrimSuffix(q.path, ".json")
		for _, last := range []*string{&q.seq, &q.name, &q.loop} {
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
func (s *Server) namedSo(q *query) bool {
	if q.name == "" || q.seq != "" {
		return false
	}
	_, found := s.journal.Board().Get(telemetry.Object{Loop: loopAt(q.path), Namespace: q.namespace, Name: q.name})
	return found
}

// page serves what a builder makes, as a page or as its JSON twin. Nothing is
// sent before all of it is rendered.
func (s *Server) page(build builder) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		q := s.ask(r)
		a, err := s.respond(r, q, build)
		if err != nil {
			s.fail(w, r, q.twin, err)
			return
		}
		a.write(w, r)
	}
}

func (s *Server) respond(r *http.Request, q *query, build builder) (*answer, error) {
	if len(r.URL.RawQuery) > maxQuery {
		return nil, problem(http.StatusRequestURITooLong, "query-too-long",
			"That address is too long.", views.Sayf("A query may have at most %d characters. Use fewer filter terms.", maxQuery))
	}
	var err error
	if q.slot, err = s.slots.request(q.ctx); err != nil {
		return nil, err
	}
	defer q.slot.release()
	p, err := build(q)
	if err != nil {
		return nil, err
	}
	if q.twin {
		return jsonAnswer(r, p.status, s.twin(p, q))
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

func (s *Server) twin(p *page, q *query) twin {
	return twin{API: pageProtocol + "+json", Cluster: s.opts.Cluster, Epoch: s.journal.Epoch(), Seq: p.frame.Live.Seq,
		Now: q.now.UTC(), Window: p.frame.Window, Notice: p.frame.Notice, Page: p.data}
}

// pageAnswer renders the page with the digest of its live parts, by which the
// stream later knows that the reader has them as they are.
func (s *Server) pageAnswer(r *http.Request, p *page, q *query) (*answer, error) {
	if p.frame.Live.Page != "" {
		frags, err := p.draw(q.ctx)
		if err != nil {
			return nil, err
		}
		if p.frame.Live.Version, err = p.digest(q.ctx, frags); err != nil {
			return nil, err
		}
	}
	var b bytes.Buffer
	if err := views.Page(p.frame, p.body).Render(views.WithNow(q.ctx, q.now), &b); err != nil {
		return nil, fmt.Errorf("render %s: %w", q.path, err)
	}
	return newAnswer(r, p.status, "text/html; charset=utf-8", b.Bytes()), nil
}

// frame is the frame of a page of which nothing else is known.
func (s *Server) frame(q *query, title string) views.Frame {
	seq := s.journal.Last()
	return views.Frame{
		Title:   title,
		Assets:  views.Assets{Style: static.Style.Path, Script: static.Script.Path, Theme: static.Theme.Path, Icon: static.Icon.Path},
		Mode:    s.mode(),
		Cluster: s.opts.Cluster,
		Lists:   s.navigation(),
		Window:  s.window(),
		Notice:  s.notice(),
		Live:    views.Live{Epoch: s.journal.Epoch(), Seq: seq, Now: q.now, Still: s.opts.Recording != nil},
		Rules:   "rules of Kubernetes v1.36, Loopscope " + s.opts.Version,
	}
}

// goLive makes a page follow the journal.
func (p *page) goLive(q *query, parts ...part) {
	if !p.frame.Live.Still {
		p.frame.Live.Page = q.address()
	}
	p.parts = append([]part{{"f-notice", views.NoticeBar(p.frame.Notice)}, {"f-window", views.WindowLine(p.frame.Window)},
		{"f-about", views.AboutPart(p.frame.About)}, {"f-twin", views.TwinPart(p.frame.Twin)}}, parts...)
}

// address is the page's own address: all that say the same have the same one, and are
// one page to those who watch it.
func (q *query) address() string {
	u := url.URL{Path: q.path, RawQuery: q.args.Encode()}
	return u.String()
}

// twinHref is the address of the JSON twin.
func (q *query) twinHref() string {
	u, _, _ := strings.Cut(q.address(), "?")
	if _, args, ok := strings.Cut(q.address(), "?"); ok {
		return u + ".json?" + args
	}
	return u + ".json"
}

func (s *Server) window() views.Window {
	total, since, _ := s.journal.Window()
	return views.Window{Syncs: total, Since: since.UTC()}
}

func (s *Server) mode() views.Text {
	if s.opts.Recording != nil {
		return s.opts.Recording.mode()
	}
	switch s.opts.Mode {
	case "watch":
		return views.Text{}.Strong("watching").Plain(", read-only beside kube-controller-manager")
	case "standby":
		return views.Text{}.Strong("standing by").Plain(leads(s.opts.Leader))
	}
	return views.Text{}.Strong("acting").Plain(leads(s.opts.Leader)).Plain(" since " + s.opts.Started.UTC().Format("15:04"))
}

func leads(who string) string {
	if who == "" {
		return ""
	}
	return ", " + who + " leads"
}

// notice says what every reader has to know before anything else.
func (s *Server) notice() *views.Notice {
	if s.opts.Recording != nil {
		return s.opts.Recording.notice()
	}
	o := s.outage()
	if !o.on {
		return nil
	}
	text := views.Say("Since ").Clock(o.Began).Plain(", for ").Since(o.Began).
		Plain(". What is shown is the last known state, and nothing can be written." + s.due())
	if o.Error != "" {
		text = text.Plain(" ").Code(prose.Clip(o.Error, 200))
	}
	return &views.Notice{Tone: views.Failed, Title: "The API server " + o.Lack.Is(), Text: text}
}

// number reads a positive number of a query.
func number(text string) (uint64, error) {
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil || n == 0 {
		return 0, errors.New("not a number from 1")
	}
	return n, nil
}
