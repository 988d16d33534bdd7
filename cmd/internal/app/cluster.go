package app

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/flowcontrol"

	"github.com/loopscope/loopscope/controllers"
	"github.com/loopscope/loopscope/controllers/engine"
	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/changes"
	"github.com/loopscope/loopscope/telemetry/metrics"
	"github.com/loopscope/loopscope/telemetry/prose"
)

const (
	// probeEvery and probeWithin are how often the API server is asked whether
	// it is there, and how long it may take to answer: without its etcd it takes two
	// seconds to say so.
	probeEvery  = time.Second
	probeWithin = 4 * time.Second
)

// cluster is everything that talks to the API server.
type cluster struct {
	factory informers.SharedInformerFactory
	loops   []running
	off     []telemetry.LoopState // those that do not run here
	health  rest.Interface
	reads   kubernetes.Interface // for what somebody asks to see

	mu    sync.Mutex
	state outages
	now   func() time.Time

	release *release

	logger   *slog.Logger
	failures *engine.ListFailures
	answers  chan struct{} // closes after the next probe that succeeds
}

// running is a loop, the name of its controller, and how many syncs it runs at once.
type running struct {
	*engine.Loop
	controller string
	workers    int
}

// authority is whether this process may write, and who is told of one that does so unasked.
type authority struct {
	write func() bool
	rival func(manager, object string)
}

func newCluster(opts Options, m *metrics.Metrics, journal *telemetry.Journal, may authority) (*cluster, error) {
	fence := func(next http.RoundTripper) http.RoundTripper { return leaderOnly{next, may.write} }
	own, err := controllerClients(opts, m, fence)
	if err != nil {
		return nil, err
	}
	opts.Config = rest.CopyConfig(opts.Config)
	opts.Config.Wrap(fence)
	c := &cluster{answers: make(chan struct{}), release: newRelease(), now: opts.Clock.Now, failures: engine.NewListFailures(opts.Clock), logger: opts.Logger}
	c.state.begin(time.Now())
	waiting := opts
	waiting.Config = rest.CopyConfig(opts.Config)
	waiting.Config.Wrap(func(next http.RoundTripper) http.RoundTripper { return waitingTransport{next, c.answering} })
	waiting.Config.Wrap(func(next http.RoundTripper) http.RoundTripper { return untilTold{next, c.release} })
	shared, err := client(waiting, m, "informers")
	if err != nil {
		return nil, err
	}
	probing, err := client(opts, m, "probe")
	if err != nil {
		return nil, err
	}
	c.health = probing.Discovery().RESTClient()
	if c.reads, err = client(opts, m, "console"); err != nil {
		return nil, err
	}
	managers := changes.NewManagers()
	c.factory = informers.NewSharedInformerFactoryWithOptions(shared, resyncPeriod(opts.MinResync), informers.WithNamespace(opts.Namespace), informers.WithTransform(managers.Strip))
	var recorder engine.Recorder
	if !opts.Untraced {
		recorder = journal
	}
	mode := engine.Act
	if opts.Watch {
		mode = engine.Watch
		managers.KeepPods()
	}
	around, err := surroundings(opts, m)
	if err != nil {
		return nil, err
	}
	signature := program
	if opts.Watch {
		signature = "" // It writes nothing: who has that name is another process, and may be told.
	}
	o := engine.Options{
		Mode:      mode,
		Leads:     may.write,
		Rival:     may.rival,
		Recorder:  recorder,
		Metrics:   m,
		Clock:     opts.Clock,
		Ledger:    engine.NewLedger(opts.Clock),
		Failures:  c.failures,
		Managers:  managers,
		Metadata:  around,
		Signature: signature,
		Logger:    opts.Logger,
	}
	return c, c.build(opts, own, o.Follow(c.release.now, opts.Features))
}

// build makes the loops, each with a client of its own.
func (c *cluster) build(opts Options, clients clients, o engine.Options) error {
	ctx := context.Background() // Constructors start nothing that would outlive them.
	for _, r := range controllers.Registered {
		if off := controllers.Off(&r, opts.Controllers, opts.Features); off != nil {
			c.off = append(c.off, telemetry.LoopState{Name: r.Loop.Name, Mode: telemetry.ModeOff, Off: off})
			if off.Gate != "" { // Whoever left it out knows.
				opts.Logger.Warn("A controller does not run: a feature that it needs is off", "controller", r.Controller, "feature", off.Gate)
			}
			continue
		}
		own, err := clients(r.Settings.Component)
		if err != nil {
			return err
		}
		l, err := r.New(ctx, engine.Needs{Informers: c.factory, Client: own, Options: o})
		if err != nil {
			return fmt.Errorf("%s loop: %w", r.Settings.Name, err)
		}
		c.loops = append(c.loops, running{l, r.Controller, cmp.Or(opts.Syncs[r.Controller], r.Workers)})
	}
	return nil
}

// resyncPeriod draws a period from the least one to its double, so that processes do not resync at once.
func resyncPeriod(least time.Duration) time.Duration { return least + rand.N(least) }

// program begins the user agents of all clients, and so it is the field manager
// that the API server signs their writes with.
const program = "loopscope"

// client makes a client of its own, with its own rate limit, for one part of
// the program; its user agent tells them apart in an audit log.
func client(opts Options, m *metrics.Metrics, part string) (kubernetes.Interface, error) {
	c, err := kubernetes.NewForConfig(configOf(opts, m, part))
	if err != nil {
		return nil, fmt.Errorf("client for %s: %w", part, err)
	}
	return c, nil
}

// surroundings is the client for what is around the objects of the loops, nil where a process
// only watches in one namespace: it needs no rights outside of that.
func surroundings(opts Options, m *metrics.Metrics) (metadata.Interface, error) {
	if opts.Watch && opts.Namespace != "" {
		return nil, nil
	}
	c, err := metadata.NewForConfig(configOf(opts, m, "unblock"))
	if err != nil {
		return nil, fmt.Errorf("client for metadata: %w", err)
	}
	return c, nil
}

// configOf is how a part of the program talks to the API server: under its own name,
// at its own rate, and never writing where it only watches.
func configOf(opts Options, m *metrics.Metrics, part string) *rest.Config {
	config := rest.CopyConfig(opts.Config)
	config.UserAgent = program + "/" + opts.Version + " " + part
	config.ContentType, config.DisableCompression = opts.ContentType, true // It costs more than it saves so near to an API server.
	config.AcceptContentTypes = strings.Join(slices.Compact([]string{opts.ContentType, runtime.ContentTypeJSON}), ",")
	config.RateLimiter = m.InstrumentLimiter(flowcontrol.NewTokenBucketRateLimiter(opts.QPS, opts.Burst), hostOf(config))
	config.Wrap(m.InstrumentTransport)
	if opts.Watch {
		config.Wrap(func(next http.RoundTripper) http.RoundTripper { return readOnly{next} })
	}
	return config
}

// hostOf is the host of the API server as requests have it, so that the metrics of both have the
// same label.
func hostOf(config *rest.Config) string {
	server, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return config.Host // No client can be made for it, and that error says why.
	}
	return server.Host
}

// lead has the loops carry out what they decided while this process did not lead.
func (c *cluster) lead(first bool) {
	for _, l := range c.loops {
		l.Lead(first)
	}
}

// cancelSyncs ends the requests of loops that were told to end.
func (c *cluster) cancelSyncs() {
	for _, l := range c.loops {
		l.CancelSyncs()
	}
}

// informers fills the caches until ctx ends.
func (c *cluster) informers(ctx context.Context) error {
	c.factory.StartWithContext(ctx)
	<-ctx.Done()
	c.factory.Shutdown()
	return nil
}

func (c *cluster) states() []telemetry.LoopState {
	states := make([]telemetry.LoopState, 0, len(c.loops))
	for _, l := range c.loops {
		states = append(states, l.State())
	}
	return append(states, c.off...)
}

// queue is the queue of one loop without the causes of its keys, empty where that does not run here.
func (c *cluster) queue(loop string) telemetry.QueueState {
	for _, l := range c.loops {
		if l.Name() == loop {
			return l.Phases()
		}
	}
	return telemetry.QueueState{}
}

// waits are the states without the queues, which every scrape looks at.
func (c *cluster) waits() []telemetry.LoopState {
	states := make([]telemetry.LoopState, 0, len(c.loops))
	for _, l := range c.loops {
		states = append(states, l.Waits())
	}
	return states
}

// probe asks the API server every second whether it is there, so that the
// console can say that what it shows stands still, and so that everything that
// waits for it goes on as soon as it is back.
func (c *cluster) probe(ctx context.Context) error {
	tick := time.NewTicker(probeEvery)
	defer tick.Stop()
	for {
		err := c.ask(ctx)
		if ctx.Err() != nil {
			return nil // It says nothing of the API server.
		}
		if c.note(err); err == nil || lackOf(err) != telemetry.LackAnswer || c.release.awaited() {
			c.askRelease(ctx)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

func (c *cluster) ask(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, probeWithin)
	defer cancel()
	// The check that is left out is one of etcd, too, and takes two seconds more.
	return unready(c.health.Get().AbsPath("/readyz").Param("exclude", "etcd-readiness").Do(ctx).Error())
}

// note takes the outcome of a probe.
func (c *cluster) note(err error) {
	before := c.server()
	again := c.change(err)
	switch now := c.server(); {
	case again:
		c.logger.Info("The API server serves this process again", "after", c.now().Sub(before.Since).Round(time.Millisecond))
	case now.Lack != before.Lack, now.Reachable != before.Reachable:
		c.logger.Error("The API server "+now.Lack.Is(), "since", now.Since, "error", now.Error)
	}
	if again {
		c.failures.Forget()
		for _, l := range c.loops {
			l.Resume()
		}
	}
}

// change notes whether the API server answers, and reports whether it does so again.
func (c *cluster) change(err error) (again bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err == nil {
		close(c.answers)
		c.answers = make(chan struct{})
	}
	return c.state.note(time.Now(), err)
}

// warnings are the newest Warning events of pods.
func (c *cluster) warnings(ctx context.Context, namespace string, pods []string) ([]telemetry.Warning, error) {
	return engine.Warnings(ctx, c.reads, namespace, pods)
}

// publications are the events that another controller publishes, for a comparison.
func (c *cluster) publications(opts Options, to *telemetry.Shadow) *engine.Publications {
	return &engine.Publications{Client: c.reads, Namespace: opts.Namespace, Of: controllers.Registered, Clock: opts.Clock, Logger: opts.Logger, Heard: to.Heard, Follows: to.Follows}
}

// answering gives a channel that closes after the next probe that succeeds.
func (c *cluster) answering() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.answers
}

func (c *cluster) server() telemetry.ServerState {
	c.mu.Lock()
	defer c.mu.Unlock()
	state := c.state.now()
	state.Awaited = !c.state.answered
	state.Release = c.release.now()
	return state
}

// served reports whether the API server has ever answered.
func (c *cluster) served() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.state.answered
}

// lacking says which caches cannot be filled, and why.
func lacking(caches []telemetry.CacheState) string {
	text := ""
	for _, c := range caches {
		if !c.Synced && c.Error != "" {
			text += "; " + c.Resource + ": " + c.Error
		}
	}
	return text
}

// standsStill is how long a key may be ready before its queue is said to stand still.
const standsStill = time.Minute

// checks are what is wrong with each controller, by its name. One that is skipped has none.
func (c *cluster) checks() []telemetry.Check {
	var list []telemetry.Check
	for _, l := range c.loops {
		if !l.Skipped() {
			list = append(list, telemetry.Check{Name: l.controller, Err: l.lack(c.now())})
		}
	}
	return list
}

// lack is why a loop does not work, nil where it does.
func (l *running) lack(now time.Time) error {
	if !l.Synced() {
		return fmt.Errorf("its caches are not filled yet%s", lacking(l.Filled()))
	}
	ready, first := 0, now
	for _, k := range l.Phases().Keys {
		if k.Phase == telemetry.KeyReady {
			ready++
			if k.Since.Before(first) {
				first = k.Since
			}
		}
	}
	if waits := now.Sub(first); waits >= standsStill {
		return fmt.Errorf("its queue stands still: %s ready, the first for %s", prose.Count(ready, "key"), prose.Span(waits))
	}
	return nil
}

// ready reports whether everything works.
func (c *cluster) ready() bool {
	return c.served() && c.server().Reachable && !slices.ContainsFunc(c.checks(), func(x telemetry.Check) bool { return x.Err != nil })
}
