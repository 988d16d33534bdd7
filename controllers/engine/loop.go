package engine

import (
	"context"
	"fmt"
	"slices"
	"sort"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"

	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/decision"
	"github.com/loopscope/loopscope/telemetry/queue"
)

// Controller is what one kind of loop adds to the common one.
type Controller interface {
	// Observe takes the snapshot of a key. It may do a live read where an
	// earlier outcome is unknown, and reads caches otherwise.
	Observe(ctx context.Context, key string) (Sync, error)
	// Pending are the writes that the loop waits for, in no order, for the debug pages.
	Pending() []telemetry.EchoState
}

// Keyed is a Controller whose keys are not those of the cache of its objects.
type Keyed interface {
	// Keys are all that there is something to sync of, in no order.
	Keys() []string
}

// Sync is one sync of one key: its snapshot and the typed functions of its loop.
type Sync interface {
	// Core is the pure part of the sync.
	Core() decision.Core
	// Now is the instant that the snapshot was taken.
	Now() time.Time
	// Do carries out one action; it never chooses.
	Do(ctx context.Context, a decision.Action) (decision.Outcome, decision.Learnt)
	// Publish writes the settled status once.
	Publish(ctx context.Context) decision.Outcome
	// Remember keeps for the next syncs what they cannot see any more: t is the whole
	// sync, its causes with the syncs that wrote them.
	Remember(t *telemetry.Trace)
	// Snapshot is what was decided on, for the record.
	Snapshot() (telemetry.Snapshot, error)
	// Object is what events are about, nil where it is gone.
	Object() runtime.Object
	Identity() Identity
	// RedactFailure takes out of an API server's message what the record must not
	// hold, and repeat puts it back into what is published.
	RedactFailure(*decision.Failure)
	Unredact(string) string
}

// Identity is what the record says of the object, whatever its kind.
type Identity struct {
	UID, Owner string
	Found      bool
	// Waiting is set where a write of our own is not in the cache yet.
	Waiting bool
}

// Loop is one control loop. Its constructor has registered the handlers; Run
// runs it. A Loop runs once. All other methods are safe at any time.
type Loop struct {
	name             string // in traces and URLs: "deployment"
	component        string // of its events: "deployment-controller"
	limit            int64  // tries before a key is dropped; 0 for never
	opts             Options
	client           kubernetes.Interface
	queue            *queue.Queue[string]
	controller       Controller
	caches           []namedCache
	running          atomic.Bool
	cancelSyncs      atomic.Pointer[context.CancelFunc] // nil before Run
	workers          atomic.Int64
	recorder         record.EventRecorder
	stranded         keySet // failed for want of an API server
	unresolved       keySet // of which a write's outcome is unknown
	doubtful         keySet // that were unresolved after their last sync
	deferred         deferredStatuses
	expect           *Expectations
	unblocks         unblocker
	namespaceWatcher *namespaceWatcher // nil for none
}

// namedCache is an informer the loop reads, and the handler it registered there.
type namedCache struct {
	resource string
	informer cache.SharedIndexInformer
	handler  cache.ResourceEventHandlerRegistration
	events   *eventTracker
}

// Settings are what one loop is called, and how often it tries.
type Settings struct {
	// Name stands in traces and addresses, as decision.Loop has it.
	Name string
	// Component is whom the events of the loop are from.
	Component string
	// Queue is the name of its queue in metrics; "" for none.
	Queue string
	// Tries is how often a failing key is tried before it is dropped; 0 for as often as it
	// takes.
	Tries int64
}

// New is what every constructor begins with. What the loop does is still to be told, by Use.
func New(of Settings, client kubernetes.Interface, opts Options) *Loop {
	l := &Loop{name: of.Name, component: of.Component, limit: of.Tries, opts: opts.WithDefaults(), client: client}
	l.expect = NewExpectations(l.opts.Clock)
	l.queue = queue.New(queue.Options[string]{Name: of.Queue, Metrics: l.opts.Metrics, Clock: l.opts.Clock})
	l.unblocks.logger, l.unblocks.wake = l.opts.Logger, l.tryNow
	if l.opts.Mode == Act { // Who only watches has nothing to try again, and asks for no rights for it.
		l.unblocks.client = l.opts.Metadata
	}
	return l
}

// Use tells a loop what it does, before anything else.
func (l *Loop) Use(c Controller) { l.controller = c }

// Does is what the loop was told to do.
func (l *Loop) Does() Controller { return l.controller }

// WatchNamespaces calls f with every namespace of which it becomes known, while the loop
// runs, that it is being deleted.
func (l *Loop) WatchNamespaces(f func(namespace string)) {
	known := &l.opts.Ledger.namespaces
	known.subscribe(f)
	l.namespaceWatcher = &namespaceWatcher{client: l.opts.Metadata, known: known, clock: l.opts.Clock, logger: l.opts.Logger}
}

// EnqueueAfter asks for a sync of namespace/name in a while.
func (l *Loop) EnqueueAfter(key string, cause telemetry.Cause, after time.Duration) {
	l.queue.EnqueueAfter(key, cause, after)
}

// ForgetKey drops what the loop remembers of a key whose object is gone.
func (l *Loop) ForgetKey(key string) {
	l.expect.Forget(key)
	l.unresolved.forget(key)
	l.doubtful.forget(key)
	l.deferred.forget(key)
	l.unblocks.forget(key)
}

// Expectations are what the loop asked to be created and deleted, by key.
func (l *Loop) Expectations() *Expectations { return l.expect }

// Unresolved reports whether the outcome of a write of a key is unknown: then Observe does a
// live read first, and says by Resolved that it did.
func (l *Loop) Unresolved(key string) bool { return l.unresolved.has(key) }

// MarkUnresolved has the next Observe of a key do a live read.
func (l *Loop) MarkUnresolved(key string) { l.unresolved.add(key) }

// Resolved notes that a live read was done.
func (l *Loop) Resolved(key string) { l.unresolved.forget(key) }

// HeldSince is since when the status of an object is held back, zero if it is not.
func (l *Loop) HeldSince(key string, uid types.UID) time.Time {
	return WallTime(asOfNow(l.opts.Clock, l.deferred.of(key, uid)))
}

// Hold notes since when the status of an object is held back; the first time of a row
// counts.
func (l *Loop) Hold(key string, uid types.UID, since time.Time) { l.deferred.note(key, uid, since) }

// Arrived are the objects that the pods of a key lacked, and that were created since.
func (l *Loop) Arrived(key string) []string { return l.unblocks.arrived(key) }

// mode is whether the loop writes now.
func (l *Loop) mode() Mode {
	if l.opts.Mode == Act && !l.opts.Leads() {
		return Standby
	}
	return l.opts.Mode
}

// Name is the loop's name in traces, metrics and URLs.
func (l *Loop) Name() string { return l.name }

// Enqueue asks for a sync of namespace/name. Before Run it is only noted.
func (l *Loop) Enqueue(key string, cause telemetry.Cause) { l.queue.Enqueue(key, cause) }

// Synced reports whether every cache the loop reads has been filled and handled.
func (l *Loop) Synced() bool {
	for _, c := range l.caches {
		if !c.handler.HasSynced() {
			return false
		}
	}
	return true
}

// Run works until ctx ends, with that many workers. Syncs under way then go on, with their
// requests, until they have ended or CancelSyncs is called. Run returns only after all
// workers, the queue and the event broadcaster have ended.
func (l *Loop) Run(ctx context.Context, workers int) error {
	if workers < 1 {
		return fmt.Errorf("%s loop: %d workers given, at least 1 is needed", l.name, workers)
	}
	if !l.running.CompareAndSwap(false, true) {
		return fmt.Errorf("%s loop: it runs already, or has run", l.name)
	}
	if !cache.WaitForCacheSync(ctx.Done(), l.Synced) {
		return nil // Ended before the caches were full; there was nothing to do yet.
	}
	syncs, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	l.cancelSyncs.Store(&cancel)
	end := l.Begin(syncs)
	defer end()
	l.unblocks.run(ctx)
	defer l.unblocks.wait()
	l.workers.Store(int64(workers))
	defer l.workers.Store(0)
	var group sync.WaitGroup
	if l.namespaceWatcher != nil {
		group.Go(func() { l.namespaceWatcher.run(ctx) })
	}
	for n := range workers {
		group.Go(func() { l.work(ctx, syncs, n) })
	}
	<-ctx.Done()
	l.queue.ShutDown()
	group.Wait()
	return nil
}

// Begin opens the queue and the way of the events, until end is called. Run does so itself;
// with Begin and Step the caller decides when to sync.
func (l *Loop) Begin(ctx context.Context) (end func()) {
	shutdown := func() {}
	if l.recorder = l.opts.Events; l.recorder == nil {
		shutdown = l.broadcast(ctx)
	}
	l.queue.Start()
	return func() {
		l.queue.ShutDown()
		shutdown()
	}
}

// CancelSyncs ends the requests of the syncs under way, and the wait for their events: of a
// program whose time to end is over, or that may not write any more. It is for the time after the
// end of Run's ctx.
func (l *Loop) CancelSyncs() {
	if cancel := l.cancelSyncs.Load(); cancel != nil {
		(*cancel)()
	}
}

func (l *Loop) work(ctx, syncs context.Context, worker int) {
	for l.step(ctx, syncs, worker) {
	}
}

// Step waits for a key that is due and syncs it, for one worker. It is false where the
// queue has ended.
func (l *Loop) Step(ctx context.Context, worker int) bool { return l.step(ctx, ctx, worker) }

// step begins no sync after the end of ctx; syncs ends those that have begun.
func (l *Loop) step(ctx, syncs context.Context, worker int) bool {
	w, shutdown := l.queue.Get()
	if shutdown {
		return false
	}
	if ctx.Err() != nil { // What is still due is so at the next start.
		l.queue.Done(w.Key)
		return true
	}
	l.sync(syncs, w, worker)
	return true
}

// State is the loop as it stands now.
func (l *Loop) State() telemetry.LoopState {
	s := l.Waits()
	s.Queue, s.Lag = l.counted(l.queue.State()), l.opts.Ledger.lags.lag(l.name)
	return s
}

// Phases is the loop's queue as it stands now, in no order and without the causes of
// its keys, which are many: lists ask for it often.
func (l *Loop) Phases() telemetry.QueueState { return l.counted(l.queue.Phases()) }

func (l *Loop) counted(s telemetry.QueueState) telemetry.QueueState {
	s.Workers = int(l.workers.Load())
	return s
}

// Waits is the State without its queue, whose keys are many and whose lock
// holds up the workers.
func (l *Loop) Waits() telemetry.LoopState {
	s := telemetry.LoopState{Name: l.name, Mode: string(l.mode()), Running: l.running.Load()}
	s.Echoes = l.controller.Pending()
	for key, x := range l.expect.All() {
		s.Expectations = append(s.Expectations, telemetry.ExpectationState{Key: key, Creates: x.Creates, Deletes: x.Deletes, Since: x.Since, Expires: x.Expires})
	}
	sort.Slice(s.Echoes, func(i, j int) bool { return s.Echoes[i].Object < s.Echoes[j].Object })
	sort.Slice(s.Expectations, func(i, j int) bool { return s.Expectations[i].Key < s.Expectations[j].Key })
	for _, c := range l.caches {
		state := l.filled(c)
		state.Objects, state.RV = new(len(c.informer.GetStore().ListKeys())), c.informer.GetStore().LastStoreSyncResourceVersion()
		state.Handled, state.Event = c.events.last()
		s.Caches = append(s.Caches, state)
	}
	if l.Skipped() {
		s.Mode = telemetry.ModeSkipped
	}
	return s
}

// Skipped reports whether the loop has not begun because the API server does not serve what it
// works on ([M-5]). It begins as soon as that is served.
func (l *Loop) Skipped() bool {
	return slices.ContainsFunc(l.Filled(), func(c telemetry.CacheState) bool { return c.Unserved })
}

// Filled is whether each cache is filled and kept up to date, and why not: every page asks
// for it, so that nothing is counted.
func (l *Loop) Filled() []telemetry.CacheState {
	list := make([]telemetry.CacheState, len(l.caches))
	for i, c := range l.caches {
		list[i] = l.filled(c)
	}
	return list
}

func (l *Loop) filled(c namedCache) telemetry.CacheState {
	synced := c.handler.HasSynced()
	failure := l.opts.Failures.of(c.resource, c.informer.LastSyncResourceVersion(), synced)
	return telemetry.CacheState{Resource: c.resource, Synced: synced, Error: failure.text, Unserved: failure.unserved && !synced}
}

// Register adds a handler and notes the cache it belongs to. That of the loop's own
// objects is the first.
func (l *Loop) Register(resource string, informer cache.SharedIndexInformer, h cache.ResourceEventHandler) error {
	if err := l.opts.Failures.follow(resource, informer); err != nil {
		return fmt.Errorf("watch %s: %w", resource, err)
	}
	seen := &eventTracker{ResourceEventHandler: h, clock: l.opts.Clock}
	registration, err := informer.AddEventHandler(seen)
	if err != nil {
		return fmt.Errorf("watch %s: %w", resource, err)
	}
	l.caches = append(l.caches, namedCache{resource, informer, registration, seen})
	return nil
}

// Handlers are what informers call for the loop, for somebody who brings events himself;
// each passes over what is not for it.
func (l *Loop) Handlers() []cache.ResourceEventHandler {
	list := make([]cache.ResourceEventHandler, 0, len(l.caches))
	for _, c := range l.caches {
		list = append(list, c.events)
	}
	return list
}

// AddIndex adds an index that another loop may have added before.
func AddIndex(informer cache.SharedIndexInformer, name string, f cache.IndexFunc) error {
	if _, have := informer.GetIndexer().GetIndexers()[name]; have {
		return nil
	}
	if err := informer.AddIndexers(cache.Indexers{name: f}); err != nil {
		return fmt.Errorf("add index %s: %w", name, err)
	}
	return nil
}
