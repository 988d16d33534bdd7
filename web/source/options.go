package source

import (
	"context"
	"log/slog"
	"net/http"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/decision"
	"github.com/loopscope/loopscope/views"
	"github.com/loopscope/loopscope/web/sight"
)

// ReaderMetrics counts the websockets. Its methods must be safe for concurrent use.
type ReaderMetrics interface {
	// Opened is called for every websocket that was accepted.
	Opened()
	// Closed is called when it has ended: "client", "slow", "protocol",
	// "oversize", "silent", "shutdown", "refused", "moved" or "error".
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
	// ReleaseRules are what earlier releases of Kubernetes do otherwise, the latest first.
	ReleaseRules []decision.ReleaseRule
	// Features are the features of ReleaseRules that somebody switched on or off; nil for none.
	Features map[string]bool
	// Loops returns the loops as they stand now; nil for none.
	Loops func() []telemetry.LoopState
	// Queue returns the queue of one loop, which lists ask for far more often than
	// for all there is to know of the loops; its keys need no order and no causes.
	// nil to take it from those. Where both are nil, no queue is known.
	Queue func(loop string) telemetry.QueueState
	// untold is set where neither Loops nor Queue was given, so that no queue is known.
	untold bool
	// Elsewhere is set where the journal is that of another process: its work queues are not known
	// here, and those of Loops and Queue say nothing of its syncs.
	Elsewhere bool
	// Server returns what is known of the API server; nil for "reachable".
	Server func() telemetry.ServerState
	// Warnings reads the newest Warning events of pods; nil where there is nobody to ask.
	// It may take as long as its context lets it.
	Warnings func(ctx context.Context, namespace string, pods []string) ([]telemetry.Warning, error)
	// Checks returns what has to be right before the program is ready, beside the API server.
	Checks func() []telemetry.Check
	// Healthy returns why the program should be started again, nil for no reason.
	Healthy func() error
	// Blind returns the caches that cannot be filled or kept up to date; nil where there are none
	// to know of.
	Blind func() []telemetry.CacheState
	// Start returns the steps of the start; nil for none to tell of.
	Start func() []telemetry.StartStep
	// Component is what this process tells of itself as Kubernetes' components do; nil for
	// a console that is a part of another program, or shows a recording.
	Component *Component
	// Controllers are the loops by the names that their controllers have elsewhere, such as
	// deployment-controller; nil for none.
	Controllers map[string]string
	// Gatherer is what /metrics shows; nil for nothing.
	Gatherer prometheus.Gatherer
	Readers  ReaderMetrics

	// Cluster is the name of the cluster, Version that of this program.
	Cluster, Version string
	// Namespace is the only one that is observed; "" for all.
	Namespace string
	// Mode is "act" or "watch".
	Mode string
	// Leadership returns who leads; nil where nobody is elected.
	Leadership func() telemetry.Leadership
	// Others returns the syncs of an object and its family in other runs than that one, which
	// another process may have made, as far as they are in memory; nil for none.
	Others func(o telemetry.Object, epoch string) []*telemetry.Trace
	// Rival returns another process that acts beside this one; nil where nobody looks for one.
	Rival   func() telemetry.Rival
	Started time.Time
	// Memory says what bounds the memory of this process, "" for nothing that is known.
	Memory string
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
	// Due returns what nobody has written yet of an object and of those that it controls, and Stall what
	// has been due for so long that everybody should know; nil where Shadow is.
	Due   func(telemetry.Object) []telemetry.Difference
	Stall func() telemetry.Stall
	// Tally counts the answers; nil for one that counts nothing.
	Tally *telemetry.Tally
	// Unguarded is set where everybody on this machine may read the console, which every page says.
	Unguarded bool
	// Recording is set where the journal is a recording and nothing runs. Now has
	// to stand still then.
	Recording *Recording

	// Viewer returns who sends a request, who is then shown what that viewer may see and nothing else;
	// nil for everything to everybody. A request for which it returns nil sees no object. Who may open
	// the console at all is for whoever serves its handler to say.
	Viewer func(*http.Request) sight.Viewer

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

// withoutQueues are states that say which loops run, and not what is in their queues.
func withoutQueues(all func() []telemetry.LoopState) func() []telemetry.LoopState {
	return func() []telemetry.LoopState {
		loops := slices.Clone(all())
		for i := range loops {
			l := &loops[i]
			l.Queue = telemetry.QueueState{Name: l.Queue.Name, Workers: l.Queue.Workers}
			l.Lag, l.Echoes, l.Expectations = 0, nil, nil
		}
		return loops
	}
}

// WithDefaults fills in what was left out.
func (o Options) WithDefaults() Options {
	o.untold = o.untold || o.Loops == nil && o.Queue == nil
	if o.Loops == nil {
		o.Loops = func() []telemetry.LoopState { return nil }
	}
	if o.Elsewhere {
		o.Loops, o.Queue = withoutQueues(o.Loops), nil
	}
	if o.Queue == nil {
		o.Queue = queueOf(o.Loops)
	}
	if o.Server == nil {
		o.Server = func() telemetry.ServerState { return telemetry.ServerState{Reachable: true} }
	}
	if o.Checks == nil {
		o.Checks = func() []telemetry.Check { return nil }
	}
	if o.Healthy == nil {
		o.Healthy = func() error { return nil }
	}
	if o.Blind == nil {
		o.Blind = func() []telemetry.CacheState { return nil }
	}
	if o.Start == nil {
		o.Start = func() []telemetry.StartStep { return nil }
	}
	if o.Due == nil {
		o.Due = func(telemetry.Object) []telemetry.Difference { return nil }
	}
	if o.Stall == nil {
		o.Stall = func() telemetry.Stall { return telemetry.Stall{} }
	}
	if o.Rival == nil {
		o.Rival = func() telemetry.Rival { return telemetry.Rival{} }
	}
	if o.Others == nil {
		o.Others = func(telemetry.Object, string) []*telemetry.Trace { return nil }
	}
	if o.Leadership == nil {
		o.Leadership = func() telemetry.Leadership { return telemetry.Leadership{} }
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

func (nobodyCounts) Opened() {}

func (nobodyCounts) Closed(string) {}

func (nobodyCounts) Missed(uint64) {}

// mode of a recording: nothing acts, and the clocks stand at its end.
func (r *Recording) mode() views.Text {
	from, to := r.From.UTC(), r.To.UTC()
	end := to.Format("15:04:05")
	if from.Format(time.DateOnly) != to.Format(time.DateOnly) {
		end = to.Format("2006-01-02 15:04:05")
	}
	return views.Text{}.Strong("recording").Plain(", not live: " + from.Format("2006-01-02 15:04:05") + " to " + end)
}

// notice says what is missing from the recording.
func (r *Recording) notice() *views.Notice {
	if r.Note == "" {
		return nil
	}
	return &views.Notice{Tone: views.Waiting, Title: "About this recording", Text: views.Say(r.Note)}
}
