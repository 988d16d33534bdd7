// Package app is the embeddable program: it turns Options into running loops
// with their console. It may not decide or render anything itself; it wires.
package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"github.com/loopscope/loopscope/cmd/internal/leadership"
	"github.com/loopscope/loopscope/cmd/internal/secure"
	"github.com/loopscope/loopscope/cmd/internal/signin"
	"github.com/loopscope/loopscope/cmd/internal/standby"
	"github.com/loopscope/loopscope/controllers"
	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/history"
	"github.com/loopscope/loopscope/telemetry/metrics"
	"github.com/loopscope/loopscope/telemetry/otlp"
	"github.com/loopscope/loopscope/web"
)

// DefaultListen is where the console listens unless it is told otherwise.
const DefaultListen = "127.0.0.1:8077"

// DefaultMinResync is that of Options.MinResync.
const DefaultMinResync = 12 * time.Hour

// Options says what to run and where. Config is required; every other zero
// value has a working default.
type Options struct {
	// Config reaches the cluster. It is copied; user agent and rate limits are set on the copy.
	Config *rest.Config
	// Cluster is the name the console shows for the cluster. Default "cluster".
	Cluster string
	// Namespace is the only one whose objects are observed; "" for all.
	Namespace string
	// Listen is the console's address. Default DefaultListen. Ignored when Listener is set.
	Listen string
	// Listener, when set, is served instead of Listen; the app closes it.
	Listener net.Listener
	// Door lets in to the console at Listen who was given its token. Default: it lets in everybody
	// on this machine, which every page says if Unguarded is set.
	Door      *signin.Door
	Unguarded bool
	// Secure is where the console is served to others than this machine. Default: nowhere. It
	// is used up by New.
	Secure *secure.Options
	// Controllers switches loops on and off by the names of their controllers, in the syntax
	// of kube-controller-manager's flag. Default: all of them.
	Controllers []string
	// Features are those that are switched on or off, by name. The others are as they are by default,
	// which for a rule is what the release of the API server has.
	Features map[string]bool
	// Syncs is how many syncs a loop runs at once, by the name of its controller. Default:
	// each loop's own, 5.
	Syncs map[string]int
	// MinResync is the shortest resync period of the informers; each process draws its own
	// from it to its double. Default 12 h.
	MinResync time.Duration
	// StartInterval is how long each loop waits before it starts, and up to twice that.
	StartInterval time.Duration
	// OwnAccounts has each controller write as a ServiceAccount of its own in kube-system, which
	// has its name. Caches are filled and the Lease is held with the credentials of Config.
	OwnAccounts bool
	// QPS and Burst bound each loop's client. Defaults 20 and 30, as upstream.
	QPS   float32
	Burst int
	// ContentType is how objects are sent. Default: Kubernetes' protobuf, as upstream.
	ContentType string
	// DisabledMetrics are left out at /metrics, by their whole names.
	DisabledMetrics []string
	// Logger receives structured logs. Default: slog.Default().
	Logger *slog.Logger
	// Version is shown by the console. Default "dev".
	Version string
	// Profiling serves Go's profiles at the console's /debug/pprof/.
	Profiling bool
	// Component is what this process knows of itself.
	Component Component
	// History keeps syncs beyond the process. Default: it does not.
	History History
	// Untraced runs the loops without a record, which measures what that costs:
	// the console then has nothing to show.
	Untraced bool
	// Election says which of several managers acts. Default: nobody is elected, and this
	// one acts. Where this process watches nobody is, either.
	Election Election
	// Watch lets the loops decide and write nothing, beside another controller,
	// and compares what both would do. Nothing but reads is sent.
	Watch bool
	// Clock is the loops' time. Default: the real one.
	Clock clock.WithTicker
}

func (o Options) withDefaults() Options {
	if o.Cluster == "" {
		o.Cluster = "cluster"
	}
	if o.Listen == "" {
		o.Listen = DefaultListen
	}
	if o.Controllers == nil {
		o.Controllers = []string{"*"}
	}
	if o.MinResync == 0 {
		o.MinResync = DefaultMinResync
	}
	if o.QPS == 0 {
		o.QPS = 20
	}
	if o.Burst == 0 {
		o.Burst = 30
	}
	if o.ContentType == "" {
		o.ContentType = runtime.ContentTypeProtobuf
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.Version == "" {
		o.Version = "dev"
	}
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	return o
}

// App is one running program. It is started and stopped once.
type App struct {
	opts     Options
	listener net.Listener
	registry *prometheus.Registry
	metrics  *metrics.Metrics
	journal  *telemetry.Journal
	tally    *telemetry.Tally
	shadow   *telemetry.Shadow    // nil where the loops act
	election *leadership.Election // nil where nobody is elected
	rivals   *leadership.Rivals
	startup  *startup
	archive  telemetry.Archive // nil where none is kept
	self     *web.Component
	cluster  *cluster
	history  *history.Keeper // nil where none is kept
	spans    *otlp.Exporter
	console  *web.Server       // of this process's own syncs
	follower *standby.Follower // nil where nobody else can lead
	runs     runs
	secure   *secure.Port // nil where nobody else is served
	atWork   atWork

	mu      sync.Mutex
	started bool
	stopped bool
	// teardown is run last in, first out: what started last ends first.
	teardown []step
	// ended takes the first part that ended by itself.
	ended chan error
}

// New checks the options, binds the listener and builds everything; nothing
// runs before Start. On an error the listener is closed again.
func New(opts Options) (*App, error) {
	if opts.Config == nil {
		return nil, errors.New("app: Options.Config is required")
	}
	if opts.OwnAccounts && opts.Watch {
		return nil, errors.New("app: a process that only watches asks for no tokens: it writes nothing that needs them")
	}
	opts = opts.withDefaults()
	for name, n := range opts.Syncs {
		if n < 1 {
			return nil, fmt.Errorf("app: %s is to run %d syncs at once, at least 1 is needed", name, n)
		}
	}
	listener, err := listen(opts)
	if err != nil {
		return nil, err
	}
	a := &App{opts: opts, listener: listener, registry: prometheus.NewRegistry(), tally: telemetry.NewTally(), ended: make(chan error, 1)}
	if err := a.listenSecurely(); err != nil {
		return nil, errors.Join(err, listener.Close())
	}
	if err := a.build(); err != nil {
		return nil, errors.Join(err, listener.Close(), a.stopSecurely(context.Background()))
	}
	return a, nil
}

func (a *App) build() error {
	var err error
	if a.metrics, err = metrics.New(a.registry, metrics.Options{Loops: a.opts.kept(), Version: a.opts.Version}); err != nil {
		return fmt.Errorf("metrics: %w", err)
	}
	a.journal = telemetry.NewJournal(telemetry.JournalOptions{Loops: a.opts.kept(), Observe: a.metrics.Observe})
	if err = a.newSpans(); err != nil {
		return err
	}
	a.rivals = leadership.NewRivals(a.opts.Logger, a.opts.Clock.Now)
	if err = a.newElection(); err != nil {
		return err
	}
	if a.cluster, err = newCluster(a.opts, a.metrics, a.journal, authority{a.leads, a.rivals.Note}); err != nil {
		return err
	}
	a.startup = &startup{began: time.Now(), now: a.startSteps, took: map[string]time.Duration{}, skipped: map[string]bool{}}
	if a.opts.Watch {
		a.shadow = telemetry.NewShadow(controllers.Loops)
		a.shadow.Record, a.shadow.Rehashes = a.journal.Record, a.cluster.rehashes
		a.shadow.Outages = func() []telemetry.Outage { return a.cluster.server().Over }
		a.metrics.Shadow(a.shadowState())
	}
	a.archive, a.self = a.newHistory(), a.component()
	if a.console, err = web.New(a.consoleOptions(a.journal, a.tally)); err != nil {
		return err
	}
	a.metrics.States(metrics.Sources{Journal: a.journal, Waits: a.cluster.waits, Server: a.cluster.server, Leadership: a.leadership(), Rivals: a.rivals.Total, Now: a.opts.Clock.Now, Said: a.console.Said})
	return nil
}

// Start runs loops and console until Stop. It returns once both are started;
// Wait tells when a part ends by itself.
func (a *App) Start(ctx context.Context) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.started || a.stopped {
		return errors.New("app: it was started or stopped before; build a new one")
	}
	a.started = true
	ctx = context.WithoutCancel(ctx) // Stop ends the parts, in order.
	a.background(ctx, "journal", func(ctx context.Context) error { a.journal.Run(ctx); return nil })
	a.background(ctx, "tally of answers", func(ctx context.Context) error { a.tally.Run(ctx, a.journal); return nil })
	if a.shadow != nil {
		a.background(ctx, "comparison", func(ctx context.Context) error { a.shadow.Run(ctx, a.journal); return nil })
		a.background(ctx, "watch of events", a.cluster.publications(a.opts, a.shadow).Run)
	}
	a.startHistory(ctx)
	a.startFollower(ctx)
	if err := a.startConfigz(); err != nil {
		return err
	}
	a.serve()
	if err := a.serveSecurely(); err != nil {
		return err
	}
	if a.cluster == nil {
		return nil // A recording: there is nothing to run but the console.
	}
	if err := a.startSpans(ctx); err != nil {
		return err
	}
	a.background(ctx, "watch of the API server", a.cluster.probe)
	if a.election != nil { // It ends after the loops: the next leader must find none of them at work.
		a.background(ctx, "leader election", a.election.Run)
	}
	a.background(ctx, "informers", a.cluster.informers)
	a.background(ctx, "watch of the start", func(ctx context.Context) error { a.startup.run(ctx, a.opts.Logger); return nil })
	a.startLoops(ctx)
	return nil
}

// pause waits for an interval and up to once more; false if ctx ended first.
func (a *App) pause(ctx context.Context, interval time.Duration) bool {
	if interval <= 0 {
		return true
	}
	select {
	case <-a.opts.Clock.After(wait.Jitter(interval, 1)):
		return true
	case <-ctx.Done():
		return false
	}
}

// background runs a part in a goroutine of its own until its turn in the teardown.
func (a *App) background(ctx context.Context, name string, run func(context.Context) error) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := run(ctx); err != nil {
			a.end(fmt.Errorf("%s: %w", name, err))
		}
	}()
	a.push(name, func(stopping context.Context) error {
		cancel()
		select {
		case <-done:
			return nil
		case <-stopping.Done():
			return stopping.Err()
		}
	})
}

func (a *App) serve() {
	server := web.HTTPServer(a.guarded(), a.opts.Logger)
	go func() {
		if err := server.Serve(a.listener); !errors.Is(err, http.ErrServerClosed) {
			a.end(fmt.Errorf("console: %w", err))
		}
	}()
	a.push("console", func(ctx context.Context) error {
		err := server.Shutdown(ctx)
		if err == nil {
			return nil
		}
		if failed := server.Close(); failed != nil { // A reader that takes no answer must not outlive the program's time.
			return errors.Join(err, failed)
		}
		return err
	})
	a.push("websockets", a.console.Shutdown)
}

// guarded is the console as this machine may see it. Anybody may ask whether it is healthy, and not why
// not, and for its style.
func (a *App) guarded() http.Handler {
	if a.opts.Door == nil {
		return a.handler()
	}
	public := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { a.served(r).Public().ServeHTTP(w, r) })
	return a.opts.Door.Guard(a.handler(), web.OpenToAll, public)
}

// end notes the first part that ended by itself.
func (a *App) end(err error) {
	select {
	case a.ended <- err:
	default:
	}
}

// Wait blocks until Stop, or until a part has ended by itself, and returns why.
func (a *App) Wait() error { return <-a.ended }

// Addr is the address the console listens on.
func (a *App) Addr() net.Addr { return a.listener.Addr() }

// URL is the console's address for a browser: with the token, where one is asked for.
func (a *App) URL() string {
	url := "http://" + a.Addr().String()
	if a.opts.Door == nil {
		return url
	}
	return a.opts.Door.Address(url)
}
