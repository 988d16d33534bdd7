package web

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/loopscope/loopscope/telemetry/prose"
	"github.com/loopscope/loopscope/views"
)

// asked is an error that the reader can do something about: it becomes a page,
// or JSON where JSON was asked for.
type asked struct {
	views.Problem
	retry time.Duration // after which it may go better, 0 for not said
}

func (e *asked) Error() string { return e.Code + ": " + e.Heading }

func problem(status int, code, heading string, lines ...views.Text) *asked {
	return &asked{Problem: views.Problem{Status: status, Code: code, Heading: heading, Lines: lines}}
}

// retryIn says after how long the request may be made again.
func (e *asked) retryIn(d time.Duration) *asked {
	e.retry = d
	return e
}

func (e *asked) link(text, href string) *asked { return e.linkTo(views.Link{Text: text, Href: href}) }

func (e *asked) linkTo(l views.Link) *asked {
	e.Links = append(e.Links, l)
	return e
}

// wire is an error as programs get it.
type wire struct {
	Error wireProblem `json:"error"`
}

type wireProblem struct {
	Status  int          `json:"status"`
	Code    string       `json:"code"`
	Message string       `json:"message"`
	Links   []views.Link `json:"links,omitempty"`
}

func wireOf(p views.Problem) wire {
	text := p.Heading
	for _, l := range p.Lines {
		text += " " + l.String()
	}
	return wire{wireProblem{p.Status, p.Code, text, p.Links}}
}

// fail answers a request whose builder returned an error.
func (s *Server) fail(w http.ResponseWriter, r *http.Request, twin bool, err error) {
	if r.Context().Err() != nil {
		return // Nobody is there to read it.
	}
	var e *asked
	if !errors.As(err, &e) {
		e = s.broken(r, err.Error())
	}
	if e.retry > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(e.retry.Seconds())))
	}
	if twin {
		if a, err := jsonAnswer(r, e.Status, wireOf(e.Problem)); err == nil {
			a.write(w, r)
			return
		}
	}
	q := &query{url: r.URL, path: r.URL.Path, now: s.opts.Now()}
	f := s.frame(q, e.Heading)
	f.Crumbs = []views.Link{listLink(s.first()), {Text: strconv.Itoa(e.Status) + " " + http.StatusText(e.Status)}}
	f.Keys = commonKeys
	var b bytes.Buffer
	if err := views.Page(f, views.ProblemBody(e.Problem)).Render(views.WithNow(views.WithPath(r.Context(), r.URL.EscapedPath()), q.now), &b); err != nil {
		s.opts.Logger.Error("render error page", "err", err)
		newAnswer(r, e.Status, "text/plain; charset=utf-8", []byte(e.Heading+"\n")).write(w, r)
		return
	}
	newAnswer(r, e.Status, "text/html; charset=utf-8", b.Bytes()).write(w, r)
}

// broken is the page of a defect. Its id ties the page to the log.
func (s *Server) broken(r *http.Request, why string) *asked {
	id := make([]byte, 4)
	_, _ = rand.Read(id) // never fails, by its documentation
	request := hex.EncodeToString(id)
	s.opts.Logger.Error("page could not be rendered", "request", request, "path", r.URL.Path, "err", why)
	lines := []views.Text{views.Say("The loops are not affected" + s.lastSync() + ".")}
	if why != "" {
		lines = append(lines, views.Text{}.Code(prose.Clip(why, 300)))
	}
	lines = append(lines, views.Say("Request ").Code(request).Plain("; the log of loopscope says more."))
	return problem(http.StatusInternalServerError, "broken", "This page could not be rendered.", lines...).
		link("Try again", r.URL.Path).linkTo(s.all())
}

func (s *Server) lastSync() string {
	t, ok := s.journal.Get(s.journal.Last())
	if !ok {
		return ""
	}
	return fmt.Sprintf(": the last sync was %s ago", prose.Span(s.opts.Now().Sub(t.Ended)))
}

// refuse turns a request away before any page is looked for, in few words: who
// asks may be anybody.
func (s *Server) refuse(w http.ResponseWriter, r *http.Request, status int, code, why, instead string) {
	p := views.Problem{Status: status, Code: code, Heading: why, Lines: []views.Text{views.Say(instead)}}
	if strings.HasSuffix(r.URL.Path, ".json") || strings.HasPrefix(r.Header.Get("Accept"), "application/json") {
		if a, err := jsonAnswer(r, status, wireOf(p)); err == nil {
			a.write(w, r)
			return
		}
	}
	newAnswer(r, status, "text/plain; charset=utf-8", []byte(why+"\n"+instead+"\n")).write(w, r)
}

// recoverer turns a panic into a page. The loops run elsewhere.
func (s *Server) recoverer(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			switch p := recover(); p {
			case nil:
			case http.ErrAbortHandler:
				panic(p)
			default:
				s.opts.Logger.Error("panic in the console", "path", r.URL.Path, "panic", p, "stack", string(debug.Stack()))
				s.fail(w, r, false, s.broken(r, ""))
			}
		}()
		next.ServeHTTP(w, r)
	})
}

func (s *Server) notFound(q *query) (*page, error) { return nil, s.nothingAt(q) }

func (s *Server) nothingAt(q *query) error {
	return problem(http.StatusNotFound, "not-found", "There is no such page.",
		views.Say("Nothing is at ").Code(prose.Clip(q.url.Path, 120)).Plain(".")).
		linkTo(s.all()).link("Queues", "/queues").link("Debug", "/debug/controllers")
}
