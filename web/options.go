package web

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/semaphore"

	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/decision"
	"github.com/loopscope/loopscope/web/facts"
	"github.com/loopscope/loopscope/web/plan"
)

// ReaderMetrics counts the websockets. Its methods must be safe for concurrent use.
type ReaderMetrics interface {
	// Opened is called for every websocket that was accepted.
	Opened()
	// Closed is called when it has ended: "client", "slow", "protocol",
	// "oversize", "silent", "shutdown" or "error".
	Closed(reason string)
	// Missed counts traces that a reader did not get because it fell behind.
	Missed(n uint64)
}

// Options says what the console shows. Journal is required; every other zero
// value has a working default.
type Options struct {
	Journal *telemetry.Journal
	// Rules are those that the questions of the journal's loops belong to.
	Rules []decision.RuleGroup
	// Loops returns the loops as they stand now; nil for none.
	Loops func() []telemetry.LoopState
	// Queue returns the queue of one loop, which lists ask for far more often than
	// for all there is to know of the loops; its keys need no order and no causes.
	// nil to take it from those.
	Queue func(loop string) telemetry.QueueState
	// Server returns what is known of the API server; nil for "reachable".
	Server func() telemetry.ServerState
	// Warnings reads the newest Warning events of pods; nil where there is nobody to ask.
	// It may take as long as its context lets it.
	Warnings func(ctx context.Context, namespace string, pods []string) ([]telemetry.Warning, error)
	// Ready returns why the program is not ready, nil once it is.
	Ready func() error
	// Gatherer is what /metrics shows; nil for nothing.
	Gatherer prometheus.Gatherer
	Readers  ReaderMetrics

	// Cluster is the name of the cluster, Version that of this program.
	Cluster, Version string
	// Mode is "act", "watch" or "standby"; Leader is who leads, where there is an election.
	Mode, Leader string
	Started      time.Time
	// Hosts are host names, with or without a port, that the console may be
	// asked by beside loopback; https:// in front of one says that a proxy there
	// speaks TLS.
	Hosts  []string
	Logger *slog.Logger
	Now    func() time.Time

	// Archive is the syncs that outlive the journal; nil for those of the journal alone.
	Archive telemetry.Archive
	// Shadow returns how decisions compare with those of another controller; nil
	// where this process acts, or is none.
	Shadow func() telemetry.ShadowState
	// Tally counts the answers; nil for one that counts nothing.
	Tally *telemetry.Tally
	// Recording is set where the journal is a recording and nothing runs. Now has
	// to stand still then.
	Recording *Recording

	// Profiling serves Go's profiles under /debug/pprof/.
	Profiling bool
	// MaxReaders bounds the open websockets. Default 512.
	MaxReaders int
	// WriteTimeout is how long a websocket may take to accept one message. Default 5 s.
	WriteTimeout time.Duration
	// SilentAfter is how long a websocket may be without any sign of life. Default 45 s.
	SilentAfter time.Duration
}

// Recording is what a reader has to know of a recording.
type Recording struct {
	// From and To are when its first sync started and its last one ended.
	From, To time.Time
	// Note is what was wrong with the file, "" for nothing.
	Note string
}

const (
	defaultReaders      = 512
	defaultWriteTimeout = 5 * time.Second
	defaultSilentAfter  = 45 * time.Second
)

// queueOf finds a loop's queue in the states of all loops.
func queueOf(loops func() []telemetry.LoopState) func(string) telemetry.QueueState {
	return func(loop string) telemetry.QueueState {
		for _, l := range loops() {
			if l.Name == loop {
				return l.Queue
			}
		}
		return telemetry.QueueState{}
	}
}

func (o Options) withDefaults() Options {
	if o.Loops == nil {
		o.Loops = func() []telemetry.LoopState { return nil }
	}
	if o.Queue == nil {
		o.Queue = queueOf(o.Loops)
	}
	if o.Server == nil {
		o.Server = func() telemetry.ServerState { return telemetry.ServerState{Reachable: true} }
	}
	if o.Ready == nil {
		o.Ready = func() error { return nil }
	}
	if o.Gatherer == nil {
		o.Gatherer = prometheus.NewRegistry()
	}
	if o.Archive == nil && o.Journal != nil {
		o.Archive = o.Journal.Archive()
	}
	if o.Tally == nil {
		o.Tally = telemetry.NewTally()
	}
	if o.Readers == nil {
		o.Readers = nobodyCounts{}
	}
	if o.Cluster == "" {
		o.Cluster = "cluster"
	}
	if o.Version == "" {
		o.Version = "dev"
	}
	if o.Mode == "" {
		o.Mode = "act"
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Started.IsZero() {
		o.Started = o.Now()
	}
	if o.MaxReaders <= 0 {
		o.MaxReaders = defaultReaders
	}
	if o.WriteTimeout <= 0 {
		o.WriteTimeout = defaultWriteTimeout
	}
	if o.SilentAfter <= 0 {
		o.SilentAfter = defaultSilentAfter
	}
	return o
}

type nobodyCounts struct{}

func (nobodyCounts) Opened()       {}
func (nobodyCounts) Closed(string) {}
func (nobodyCounts) Missed(uint64) {}

// Server is the console. It is safe for concurrent use.
type Server struct {
	opts        Options
	journal     *telemetry.Journal
	loops       decision.Loops
	guard       guard
	handler     chi.Router
	pages       map[string]route // by their pattern
	slots       *slots
	draws       watchedPages
	lists       listings
	encoded     encoded
	says        facts.Cache[decision.Sentence]
	estimates   facts.Cache[*decision.Estimate]
	asItIs      facts.Cache[*plan.AsItIs]
	seen        evidence
	exports     chan struct{}       // bounds those under way
	simulations *semaphore.Weighted // the same of plans; first come, first served
	within      time.Duration       // bounds the plans of one page

	// connections bounds the open websockets. mu guards closed and readers: no reader
	// enters once Shutdown waits for the last to leave.
	connections chan struct{}
	mu          sync.Mutex
	closed      bool
	readers     map[*reader]struct{}
	open        sync.WaitGroup
}

// New returns a console for the options. It starts nothing; websockets that are
// opened through its Handler run until Shutdown.
func New(o Options) (*Server, error) {
	if o.Journal == nil {
		return nil, errors.New("web: Options.Journal is required")
	}
	o = o.withDefaults()
	s := &Server{opts: o, journal: o.Journal, loops: o.Journal.Loops(), guard: newGuard(o.Hosts), pages: map[string]route{}, slots: newSlots(o.Journal.Last), exports: make(chan struct{}, maxExports), simulations: semaphore.NewWeighted(maxSimulations), asItIs: facts.Cache[*plan.AsItIs]{Most: maxAsItIs}, within: simulationTimeout, connections: make(chan struct{}, o.MaxReaders), readers: map[*reader]struct{}{}}
	s.handler = s.routes()
	return s, nil
}

// Handler serves the console.
func (s *Server) Handler() http.Handler { return s.handler }

// Shutdown closes every websocket and waits for it, as long as ctx lasts.
// Requests that are being answered are the http.Server's to wait for.
func (s *Server) Shutdown(ctx context.Context) error {
	s.mu.Lock()
	s.closed = true
	for c := range s.readers {
		c.cancel(errStopping)
	}
	s.mu.Unlock()
	done := make(chan struct{})
	go func() { s.open.Wait(); close(done) }()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

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
