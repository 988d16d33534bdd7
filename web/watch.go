package web

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"

	"github.com/go-chi/chi/v5"

	"github.com/loopscope/loopscope/web/address"
	"github.com/loopscope/loopscope/web/live"
	"github.com/loopscope/loopscope/web/page"
)

// site is the console as the live stream sees it.
type site struct{ *Server }

// Find is the target of an address, which the page itself sent.
func (s site) Find(path string) (*live.Target, error) {
	u, err := url.Parse(path)
	if err != nil || u.Host != "" || len(u.RawQuery) > page.MaxQuery {
		return nil, errors.New("page must be a path of the console")
	}
	u = &url.URL{Path: u.Path, RawQuery: u.RawQuery} // Each page is spelled in one way.
	to := chi.NewRouteContext()
	if !s.handler.Match(to, http.MethodGet, u.EscapedPath()) {
		return nil, errors.New("there is no such page")
	}
	route := s.pages.Routes[to.RoutePattern()]
	if strings.HasPrefix(to.RoutePattern(), "/{objects}") && !s.src.Foreign(address.LoopAt(u.Path)) {
		return nil, errors.New("there is no such page")
	}
	if !route.Live {
		return nil, errors.New("that page is not live")
	}
	u.RawQuery = route.Known(u.Query()).Encode()
	build := func(ctx context.Context) (*page.Page, error) {
		q := s.pages.NewQuery(ctx, u, to, false)
		q.Live = true
		return route.Build(q)
	}
	return &live.Target{Address: u.String(), Path: u.Path, Build: build}, nil
}

// Origin reports whether a request comes from a page of the console, or from none.
func (s site) Origin(r *http.Request) bool { return s.guard.origin(r) }

// Fail answers a request that becomes no websocket.
func (s site) Fail(w http.ResponseWriter, r *http.Request, err error) { s.pages.Fail(w, r, true, err) }
