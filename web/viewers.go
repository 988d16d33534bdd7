package web

import (
	"net/http"
	"sync"

	"k8s.io/utils/lru"

	"github.com/loopscope/loopscope/telemetry/decision"
	"github.com/loopscope/loopscope/web/live"
	"github.com/loopscope/loopscope/web/sight"
	"github.com/loopscope/loopscope/web/slots"
)

// Viewer is who reads, as whoever let him in knows him.
type Viewer = sight.Viewer

// Resource is a kind of objects as rights name it.
type Resource = decision.Resource

const (
	// mostViewers is of how many viewers it is remembered what they may, mostConsoles how many of
	// them have a console of their own at once. The ones that came last are.
	mostViewers, mostConsoles = 1024, 64
)

// viewers are those who have asked lately. Each whom anything is hidden from has a console of his own,
// over a record that lacks it: what is remembered for one is never shown to another. All others share
// the one that has everything.
type viewers struct {
	whole *Server

	mu       sync.Mutex
	scopes   *lru.Cache // by name
	consoles *lru.Cache
}

func newViewers(whole *Server) *viewers {
	return &viewers{whole: whole, scopes: lru.New(mostViewers), consoles: lru.New(mostConsoles)}
}

// scope is what a viewer may see.
func (x *viewers) scope(v Viewer) *sight.Scope {
	x.mu.Lock()
	defer x.mu.Unlock()
	if s, ok := x.scopes.Get(v.Name()); ok {
		return s.(*sight.Scope)
	}
	s := sight.NewScope(v, x.whole.src.Loops)
	x.scopes.Add(v.Name(), s)
	return s
}

// console is that of a viewer from whom something is hidden.
func (x *viewers) console(name string, scope *sight.Scope) *Server {
	x.mu.Lock()
	defer x.mu.Unlock()
	if s, ok := x.consoles.Get(name); ok && s.(*Server).scope == scope {
		return s.(*Server)
	}
	s := x.whole.shared.console(scope)
	x.consoles.Add(name, s)
	return s
}

// serve answers a viewer with what he may see.
func (x *viewers) serve(w http.ResponseWriter, r *http.Request, v Viewer) {
	if v == nil {
		v = sight.Nobody
	}
	scope := x.scope(v)
	r = r.WithContext(slots.Whose(r.Context(), v.Name()))
	foreign := x.whole.src.Journal.Board().Loops
	if scope.Everything(foreign()) {
		x.whole.handler.ServeHTTP(w, live.WithRight(r, func(path string) bool { return scope.Everything(foreign()) && scope.Opens(path) }))
		return
	}
	s := x.console(v.Name(), scope)
	s.src.Journal.Prepare()
	s.handler.ServeHTTP(w, live.WithRight(r, scope.Opens))
}
