package page

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

	"github.com/loopscope/loopscope/telemetry/decision"
	"github.com/loopscope/loopscope/telemetry/prose"
	"github.com/loopscope/loopscope/views"
	"github.com/loopscope/loopscope/web/answer"
)

// Fail answers a request whose builder returned an error.
func (s *Maker) Fail(w http.ResponseWriter, r *http.Request, twin bool, err error) {
	if r.Context().Err() != nil { // The reader has left. Whoever is there all the same must not take it for an empty page.
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	var e *answer.Problem
	if !errors.As(err, &e) {
		e = s.broken(r, err.Error())
	}
	if e.Retry > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(e.Retry.Seconds())))
	}
	if twin {
		if a, err := answer.JSON(r, e.Status, answer.WireOf(e.Problem)); err == nil {
			a.Send(w, r)
			return
		}
	}
	q := &Query{URL: r.URL, Path: r.URL.Path, Now: s.Opts.Now()}
	f := s.Frame(q, e.Heading)
	f.Crumbs = []views.Link{s.ListLink(s.First()), {Text: strconv.Itoa(e.Status) + " " + http.StatusText(e.Status)}}
	f.Keys = CommonKeys
	var b bytes.Buffer
	if err := views.Page(f, views.ProblemBody(e.Problem)).Render(views.WithNow(views.WithPath(r.Context(), r.URL.EscapedPath()), q.Now), &b); err != nil {
		s.Opts.Logger.Error("render error page", "err", err)
		answer.New(r, e.Status, "text/plain; charset=utf-8", []byte(e.Heading+"\n")).Send(w, r)
		return
	}
	answer.New(r, e.Status, "text/html; charset=utf-8", b.Bytes()).Send(w, r)
}

// NoArchive is a history that cannot be read now, as its file is not open yet or not usable.
func NoArchive(err error) *answer.Problem {
	return answer.NewProblem(http.StatusServiceUnavailable, "no-archive", "The kept syncs cannot be read right now.", views.Text{}.Code(prose.Clip(err.Error(), 300))).RetryIn(5 * time.Second)
}

// broken is the page of a defect. Its id ties the page to the log.
func (s *Maker) broken(r *http.Request, why string) *answer.Problem {
	id := make([]byte, 4)
	_, _ = rand.Read(id) // never fails, by its documentation
	request := hex.EncodeToString(id)
	s.Opts.Logger.Error("page could not be rendered", "request", request, "path", r.URL.Path, "err", why)
	lines := []views.Text{views.Say("The loops are not affected" + s.lastSync() + ".")}
	if why != "" {
		lines = append(lines, views.Text{}.Code(prose.Clip(why, 300)))
	}
	lines = append(lines, views.Say("Request ").Code(request).Plain("; the log of loopscope says more."))
	return answer.NewProblem(http.StatusInternalServerError, "broken", "This page could not be rendered.", lines...).
		Link("Try again", r.URL.Path).LinkTo(s.All())
}

func (s *Maker) lastSync() string {
	t, ok := s.Journal.Get(s.Journal.Last())
	if !ok {
		return ""
	}
	return fmt.Sprintf(": the last sync was %s ago", prose.Span(s.Opts.Now().Sub(t.Ended)))
}

// Refuse turns a request away before any page is looked for, in few words: who
// asks may be anybody.
func (s *Maker) Refuse(w http.ResponseWriter, r *http.Request, status int, code, why, instead string) {
	p := views.Problem{Status: status, Code: code, Heading: why, Lines: []views.Text{views.Say(instead)}}
	if strings.HasSuffix(r.URL.Path, ".json") || strings.HasPrefix(r.Header.Get("Accept"), "application/json") {
		if a, err := answer.JSON(r, status, answer.WireOf(p)); err == nil {
			a.Send(w, r)
			return
		}
	}
	answer.New(r, status, "text/plain; charset=utf-8", []byte(why+"\n"+instead+"\n")).Send(w, r)
}

// Recoverer turns a panic into a page. The loops run elsewhere.
func (s *Maker) Recoverer(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			switch p := recover(); p {
			case nil:
			case http.ErrAbortHandler:
				panic(p)
			default:
				s.Opts.Logger.Error("panic in the console", "path", r.URL.Path, "panic", p, "stack", string(debug.Stack()))
				s.Fail(w, r, false, s.broken(r, ""))
			}
		}()
		next.ServeHTTP(w, r)
	})
}

// NotFound is the builder of addresses at which nothing is.
func (s *Maker) NotFound(q *Query) (*Page, error) { return nil, s.NothingAt(q) }

// NothingAt says that there is no such page.
func (s *Maker) NothingAt(q *Query) error {
	e := answer.NewProblem(http.StatusNotFound, "not-found", "There is no such page.",
		views.Say("Nothing is at ").Code(prose.Clip(q.URL.Path, 120)).Plain("."))
	if to := s.meant(q); to != "" {
		e = e.Link(prose.Clip(to, 120), to)
	}
	e = e.LinkTo(s.All())
	for _, l := range s.Navigation()[1:] {
		e = e.LinkTo(l)
	}
	return e.Link("Queues", "/queues").Link("Debug", "/debug/controllers")
}

// meant is the address of what a kind has as people type it for kubectl, /deploy/shop/web say;
// "" where no kind here is called so.
func (s *Maker) meant(q *Query) string {
	kind, rest, of := strings.Cut(strings.TrimPrefix(q.URL.EscapedPath(), "/"), "/")
	loop := s.Loops.Named(strings.TrimSuffix(kind, ".json"))
	to := decision.PathOf(loop)
	switch {
	case loop == "" || to == "/"+kind || !of && !s.Loops.Of(loop).HasList():
		return ""
	case of:
		to += "/" + rest
	}
	return to
}
