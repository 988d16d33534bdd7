package web

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/go-chi/chi/v5"
	"golang.org/x/sync/semaphore"

	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/decision"
	"github.com/loopscope/loopscope/web/about"
	"github.com/loopscope/loopscope/web/list"
	"github.com/loopscope/loopscope/web/live"
	"github.com/loopscope/loopscope/web/object"
	"github.com/loopscope/loopscope/web/page"
	"github.com/loopscope/loopscope/web/sight"
	"github.com/loopscope/loopscope/web/slots"
	"github.com/loopscope/loopscope/web/source"
	"github.com/loopscope/loopscope/web/story"
	"github.com/loopscope/loopscope/web/subject"
	"github.com/loopscope/loopscope/web/syncs"
	"github.com/loopscope/loopscope/web/whatif"
)

// What the console is made from, by the names that programs know.
type (
	// Options says what the console shows.
	Options = source.Options
	// Recording is what a reader has to know of a recording.
	Recording = source.Recording
	// ReaderMetrics counts the websockets.
	ReaderMetrics = source.ReaderMetrics
	// Component is what a process tells of itself as Kubernetes' components do.
	Component = source.Component
)

// Server is the console, as New makes it or as one viewer has it. It is safe for concurrent use.
type Server struct {
	*shared
	scope   *sight.Scope // nil for everything
	src     *source.Source
	pages   *page.Maker
	lists   *list.Pages
	objects *object.Pages
	stories *story.Pages
	whatIfs *whatif.Pages
	abouts  *about.Pages
	live    *live.Stream
	handler chi.Router
	changes map[string]string // the method by which a program may change something, by path
}

// shared is what the consoles of all viewers have in common.
type shared struct {
	opts    Options
	guard   guard
	places  *slots.Slots
	plans   *semaphore.Weighted
	crowd   *live.Crowd
	exports *slots.Shares // of those under way
	viewers *viewers
}

// Said is what every page says of an object now, by its row, and since when it has had that tone.
func (s *Server) Said(r telemetry.Row, now time.Time) (said decision.Sentence, since time.Time) {
	return s.src.SaidSince(r, now)
}

// New returns a console for the options. It starts nothing; websockets that are
// opened through its Handler run until Shutdown.
func New(o Options) (*Server, error) {
	if o.Journal == nil {
		return nil, errors.New("web: Options.Journal is required")
	}
	o = o.WithDefaults()
	all := &shared{opts: o, guard: newGuard(o.Hosts), places: slots.New(o.Journal.Last), plans: whatif.NewPlaces(), crowd: live.NewCrowd(o.MaxReaders),
		exports: slots.NewShares(maxExports, exportsOfOne)}
	s := all.console(nil)
	all.viewers = newViewers(s)
	return s, nil
}

// console is what somebody has for whom that is what there is to see.
func (x *shared) console(scope *sight.Scope) *Server {
	src := source.New(x.opts, scope)
	pages := page.New(src, x.places)
	find, tell := subject.NewFinder(pages), syncs.NewTeller(src)
	s := &Server{
		shared: x, scope: scope, src: src, pages: pages, lists: list.NewPages(pages), objects: object.NewPages(find, tell), stories: story.NewPages(find, tell),
		whatIfs: whatif.NewPages(find, x.plans), changes: map[string]string{},
	}
	s.live = live.New(src, x.places, x.crowd, site{s})
	s.abouts = about.NewPages(pages, limits(), x.crowd.Readers)
	s.handler = s.routes()
	return s
}

// Handler serves the console to whom Options.Viewer says, and without that everything to everybody.
func (s *Server) Handler() http.Handler {
	viewer := s.opts.Viewer
	if viewer == nil {
		return s.handler
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { s.viewers.serve(w, r, viewer(r)) })
}

// Shutdown closes every websocket and waits for it, as long as ctx lasts.
// Requests that are being answered are the http.Server's to wait for.
func (s *Server) Shutdown(ctx context.Context) error { return s.crowd.Shutdown(ctx) }

// Disconnect closes every websocket that is open now: what is served at this address is another
// Server's from now on.
func (s *Server) Disconnect() { s.crowd.Disconnect() }

// HTTPServer returns an http.Server with a bound on everything that a client
// could make it wait for or remember. Websockets leave its care when they are
// accepted and have deadlines of their own.
func HTTPServer(h http.Handler, logger *slog.Logger) *http.Server {
	if logger == nil {
		logger = slog.Default()
	}
	return &http.Server{
		Handler:           h,
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       10 * time.Second,
		WriteTimeout:      30 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    16 << 10,
		ErrorLog:          slog.NewLogLogger(logger.Handler(), slog.LevelDebug),
		BaseContext:       func(net.Listener) context.Context { return context.Background() },
	}
}
