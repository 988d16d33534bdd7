package engine

import (
	"log/slog"

	"k8s.io/client-go/metadata"
	"k8s.io/client-go/tools/record"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"

	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/changes"
)

// Mode says whether a loop writes.
type Mode string

// The modes of a loop.
const (
	// Act decides and writes.
	Act Mode = "act"
	// Watch decides and records what it would have written.
	Watch Mode = "watch"
	// Standby does as Watch does, as long as another process leads.
	Standby Mode = "standby"
)

// Recorder takes the trace of every sync. Record must not block; it may set
// Version, Epoch and Seq. SyncOf finds the sync that wrote a resourceVersion.
type Recorder interface {
	Record(*telemetry.Trace)
	SyncOf(kind, namespace, name, rv string) (seq uint64, ok bool)
}

// Options carries what a loop can be told. Every zero value has a default.
type Options struct {
	// Mode is Act or Watch. Default Act.
	Mode Mode
	// Leads is asked in Act mode, at the beginning of every sync, whether this process may
	// write; while it may not, the loop is in Standby mode. Default: it may.
	Leads func() bool
	// Burst bounds the pods that one sync creates or deletes. Default 500.
	Burst int64
	// Release is that of the API server, asked for at every use ([C-3]). Default: one that is not
	// known, with the rules of Kubernetes 1.36.
	Release func() telemetry.Release
	// TerminatingReplicas and PodDeletionCost are upstream's switches
	// DeploymentReplicaSetTerminatingReplicas and PodDeletionCost, read at every
	// use. Both are on by default, as in Kubernetes 1.36.
	TerminatingReplicas func() bool
	PodDeletionCost     func() bool
	// Clock defaults to the real one.
	Clock clock.WithTicker
	// Recorder takes the traces. Default: nothing is recorded, or put into words.
	Recorder Recorder
	// Metrics gives the queue its metrics. Default: none.
	Metrics workqueue.MetricsProvider
	// Ledger must be one and the same for all loops of a process. Default: a new one.
	Ledger *Ledger
	// Failures must be one and the same for all loops that share informers. Default: a new one.
	Failures *ListFailures
	// Managers is the table that the informers' transform fills. Default: an empty one.
	Managers *changes.Managers
	// Signature is the field manager that the API server takes this process's writes
	// for. What it did not write is never ascribed to that name. Default: none.
	Signature string
	// Rival is told of every write of the status of an object, "Deployment shop/web", that
	// another process made while this one acts: as kube-controller-manager, or under our
	// Signature. It must not block. Default: nobody is told.
	Rival func(manager, object string)
	// Metadata watches namespaces for the Deployment loop, and what refuses pods (quotas,
	// LimitRanges, ServiceAccounts) while it does, where the loop acts. Default: nothing is watched. Then the
	// back-off alone tries again, and a namespace that ends tells when it refuses something.
	Metadata metadata.Interface
	// Events takes the events of a loop. Default: they are sent to the API server, and
	// nowhere in Watch mode.
	Events record.EventRecorder
	// Logger defaults to slog.Default().
	Logger *slog.Logger
}

type discard struct{}

func (discard) Record(*telemetry.Trace)                 {}
func (discard) SyncOf(_, _, _, _ string) (uint64, bool) { return 0, false }

func on() bool { return true }

// WithDefaults fills every zero value.
func (o Options) WithDefaults() Options {
	if o.Mode == "" {
		o.Mode = Act
	}
	if o.Leads == nil {
		o.Leads = on
	}
	if o.Rival == nil {
		o.Rival = func(_, _ string) {}
	}
	if o.Burst == 0 {
		o.Burst = 500
	}
	if o.Release == nil {
		o.Release = func() telemetry.Release { return telemetry.Release{} }
	}
	if o.TerminatingReplicas == nil {
		o.TerminatingReplicas = on
	}
	if o.PodDeletionCost == nil {
		o.PodDeletionCost = on
	}
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	if o.Recorder == nil {
		o.Recorder = discard{}
	}
	if o.Ledger == nil {
		o.Ledger = NewLedger(o.Clock)
	}
	if o.Failures == nil {
		o.Failures = NewListFailures(o.Clock)
	}
	if o.Managers == nil {
		o.Managers = changes.NewManagers()
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	return o
}
