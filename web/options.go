package web

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/go-chi/chi/v5"

	"github.com/loopscope/loopscope/web/about"
	"github.com/loopscope/loopscope/web/list"
	"github.com/loopscope/loopscope/web/live"
	"github.com/loopscope/loopscope/web/object"
	"github.com/loopscope/loopscope/web/page"
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

// Server is the console. It is safe for concurrent use.
type Server struct {
	src     *source.Source
	pages   *page.Maker
	lists   *list.Pages
	objects *object.Pages
	stories *story.Pages
	plans   *whatif.Pages
	abouts  *about.Pages
	live    *live.Stream
	guard   guard
	handler chi.Router
	changes map[string]string // the method by which a program may change something, by path
	exports chan struct{}     // bounds those under way
}

// New returns a console for the options. It starts nothing; websockets that are
// opened through its Handler run until Shutdown.
func New(o Options) (*Server, error) {
	if o.Journal == nil {
		return nil, errors.New("web: Options.Journal is required")
	}
	src := source.New(o)
	pages := page.New(src)
	find, tell := subject.NewFinder(pages), syncs.NewTeller(src)
	s := &Server{
		src: src, pages: pages, lists: list.NewPages(pages), objects: object.NewPages(find, tell), stories: story.NewPages(find, tell),
		plans: whatif.NewPages(find), guard: newGuard(o.Hosts), changes: map[string]string{}, exports: make(chan struct{}, maxExports),
	}
	s.live = live.New(src, pages.Slots, site{s})
	s.abouts = about.NewPages(pages, limits(), s.live.Readers)
	s.handler = s.routes()
	return s, nil
}

// Handler serves the console.
func (s *Server) Handler() http.Handler { return s.handler }

// Shutdown closes every websocket and waits for it, as long as ctx lasts.
// Requests that are being answered are the http.Server's to wait for.
func (s *Server) Shutdown(ctx context.Context) error { return s.live.Shutdown(ctx) }

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
