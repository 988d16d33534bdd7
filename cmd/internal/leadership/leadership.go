// Package leadership says which of several managers acts: the one that holds a Lease. It
// may not know what acting is.
package leadership

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/klog/v2"

	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/decision"
	"github.com/loopscope/loopscope/telemetry/redact"
)

// watchdogAfter is how long a leader may go on after its Lease has run out before it is
// called unhealthy [M-3].
const watchdogAfter = 20 * time.Second

// keptChanges is how many changes of leader are remembered.
const keptChanges = 32

// Options say which Lease is meant, and how long it lasts. All but Identity and Logger are
// required.
type Options struct {
	// Namespace and Name are those of the Lease.
	Namespace, Name string
	// Identity is what this process is called in it. Default: the host's name and a UUID.
	Identity string
	// Elect is whether this process takes part. One that does not waits as long as another
	// holds the Lease, and acts from then on, whoever takes it later.
	Elect bool
	// LeaseDuration is how long a Lease lasts that is not renewed, RenewDeadline how long
	// its holder tries to renew it, and RetryPeriod the time between two tries [M-2].
	LeaseDuration, RenewDeadline, RetryPeriod time.Duration
	// EndWhenLost ends Run with an error where the Lease could not be renewed in time, as
	// kube-controller-manager does. Otherwise this process stands by again: its console has
	// the more to tell then.
	EndWhenLost bool
	// Record takes every change of the Lease that this process sees, as a sync of Loop; nil for
	// nobody. It must not block.
	Record func(*telemetry.Trace)
	// Console is where others can have the syncs of this process while it leads, for the Lease
	// to say; nil for nowhere.
	Console func() Console
	// Logger takes who leads, and why the Lease cannot be read or written. Default: slog.Default().
	Logger *slog.Logger
}

// Defaults are those of kube-controller-manager, but for the name of the Lease, and for the
// time between two tries: the next leader is to be there within three seconds of the last
// one's end.
func Defaults() Options {
	return Options{Namespace: metav1.NamespaceSystem, Name: "loopscope-manager", Elect: true, LeaseDuration: 15 * time.Second, RenewDeadline: 10 * time.Second, RetryPeriod: time.Second}
}

// Election is the part that one process takes in it. Its methods are safe for concurrent use.
type Election struct {
	opts    Options
	lease   string
	lock    resourcelock.Interface
	elector *leaderelection.LeaderElector // nil where this process does not take part
	dog     *leaderelection.HealthzAdaptor
	begin   func(first bool)
	leads   atomic.Bool // until it was told otherwise

	heard atomic.Pointer[time.Time] // when last was read or written, by the clock of this process

	mu     sync.Mutex
	state  telemetry.Leadership
	seen   bool          // who leads, at least once
	led    bool          // somebody has led since this process first looked, itself included
	last   time.Time     // that somebody was known to lead
	lasts  time.Duration // how long the Lease does from then on
	looked time.Time     // when the Lease was last read or written
	mute   bool          // the last write failed: that the Lease can be read is then no news
	where  Console       // the leader's, as the Lease has it
}

// New prepares an election, in which begin is called once this process leads; first is whether nobody
// has led since it started. The client should give up well before the RenewDeadline.
func New(client kubernetes.Interface, o Options, begin func(first bool)) (*Election, error) {
	if o.Identity == "" {
		host, err := os.Hostname()
		if err != nil {
			return nil, fmt.Errorf("name for the leader election: %w", err)
		}
		o.Identity = host + "_" + string(uuid.NewUUID())
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	e := &Election{opts: o, lease: o.Namespace + "/" + o.Name, begin: begin, dog: leaderelection.NewLeaderHealthzAdaptor(watchdogAfter)}
	e.state = telemetry.Leadership{Lease: e.lease, Elected: o.Elect, Identity: o.Identity}
	lock, err := resourcelock.New(resourcelock.LeasesResourceLock, o.Namespace, o.Name, client.CoreV1(), signpost{client.CoordinationV1(), e},
		resourcelock.ResourceLockConfig{Identity: o.Identity, EventRecorder: events{client.CoreV1(), o.Logger}})
	if err != nil {
		return nil, fmt.Errorf("leader election: %w", err)
	}
	e.lock = watchedLock{lock, o.Namespace, e.note, e.free}
	if !o.Elect {
		return e, nil
	}
	e.elector, err = leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: e.lock, LeaseDuration: o.LeaseDuration, RenewDeadline: o.RenewDeadline, RetryPeriod: o.RetryPeriod,
		WatchDog: e.dog, ReleaseOnCancel: true, Name: o.Name,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: e.lead,
			OnStoppedLeading: e.follow,
		},
	})
	if err != nil {
		return nil, fmt.Errorf("leader election: %w", err)
	}
	e.dog.SetLeaderElection(e.elector)
	return e, nil
}

// Run takes part until ctx ends, and then gives the Lease back: nothing may act any more at
// that time.
func (e *Election) Run(ctx context.Context) error {
	if e.elector == nil {
		if e.await(ctx) {
			e.lead(ctx)
		}
		<-ctx.Done()
		return nil
	}
	for {
		e.elector.Run(klog.NewContext(ctx, logr.Discard())) // It would say the same again with every try.
		switch lost := e.lost(); {
		case ctx.Err() != nil:
			return nil
		case e.opts.EndWhenLost:
			return lost
		default:
			e.opts.Logger.Error("This process no longer leads", "error", lost)
		}
	}
}

// lost is why this process no longer leads.
func (e *Election) lost() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if leader := e.state.Leader; leader != "" && leader != e.opts.Identity {
		return fmt.Errorf("%s has taken the Lease %s", leader, e.lease)
	}
	return fmt.Errorf("the Lease %s was not renewed within %s: another manager may lead now", e.lease, e.opts.RenewDeadline)
}

// Leads reports whether this process may act. It is false from the RenewDeadline on, whatever holds
// this process up: a write that is under way then ends before another one may lead.
func (e *Election) Leads() bool {
	return e.leads.Load() && (e.elector == nil || e.elector.IsLeader() && !e.overdue())
}

// overdue reports whether the RenewDeadline has passed since the last renewal. The elector itself gives
// up later, by as long as its last request takes.
func (e *Election) overdue() bool { return time.Since(e.renewed()) > e.opts.RenewDeadline }

// lead is told in a goroutine of its own, and may be late: ctx has then ended.
func (e *Election) lead(ctx context.Context) {
	is, first := e.take(ctx)
	if !is {
		return
	}
	e.opts.Logger.Info("This process leads", "lease", e.lease, "identity", e.opts.Identity, "elected", e.opts.Elect)
	e.begin(first)
}

func (e *Election) take(ctx context.Context) (is, first bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	is, first = ctx.Err() == nil, !e.led
	e.leads.Store(is)
	e.led = e.led || is
	return is, first
}

func (e *Election) follow() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.leads.Store(false)
}

// Healthy is nil unless this process leads by a Lease that has long run out.
func (e *Election) Healthy() error { return e.dog.Check(nil) }

// State is who leads now.
func (e *Election) State() telemetry.Leadership {
	e.mu.Lock()
	defer e.mu.Unlock()
	s := e.state
	s.StandsBy = !e.Leads()
	s.Renewed, s.Silent = e.renewed().UTC(), s.StandsBy && e.unknown()
	if s.Leader != "" {
		s.Expires = s.Renewed.Add(e.lasts)
		s.Overdue = s.StandsBy && s.Leader != e.opts.Identity && e.looked.Sub(e.renewed()) > e.patience()
	}
	return s
}

// longestPatience is how long nobody is suspected whose Lease lasts for hours.
const longestPatience = time.Minute

// patience is how long a leader may take to renew its Lease before it is told. This process sees that late,
// by as long as it does not look. Callers hold the mutex.
func (e *Election) patience() time.Duration {
	return max(min(e.lasts/3, longestPatience), 4*e.opts.RetryPeriod)
}

// renewed is when this process last saw the Lease renewed, zero for never.
func (e *Election) renewed() time.Time {
	if heard := e.heard.Load(); heard != nil {
		return *heard
	}
	return time.Time{}
}

// unknown reports whether nobody can tell who leads, if this process does not. Callers hold the mutex.
func (e *Election) unknown() bool {
	switch s := &e.state; {
	case !e.seen, s.Leader == e.opts.Identity:
		return true
	case s.Leader == "":
		return s.Error != ""
	}
	return time.Since(e.renewed()) > e.lasts
}

// Leader is the other process that leads, and where its syncs can be had, if the Lease says so.
// The zero value is that of no other.
func (e *Election) Leader() Console {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch e.state.Leader {
	case "", e.opts.Identity:
		return Console{}
	case e.where.Identity:
		return e.where
	}
	return Console{Identity: e.state.Leader}
}

// await waits until nobody has renewed the Lease for as long as it lasts, which is at once
// where nobody holds it. It is false if ctx ended first.
func (e *Election) await(ctx context.Context) bool {
	var last []byte
	var seen time.Time
	for ctx.Err() == nil {
		record, raw, err := e.lock.Get(ctx)
		switch {
		case apierrors.IsForbidden(err):
			e.opts.Logger.Warn("Nobody can tell whether another manager leads: this process may not look at the Lease, and acts", "lease", e.lease)
			return true
		case apierrors.IsNotFound(err) && e.free() == nil, err == nil && record.HolderIdentity == "":
			return true
		case err != nil:
		case !bytes.Equal(raw, last):
			last, seen = raw, time.Now()
		case time.Since(seen) >= time.Duration(record.LeaseDurationSeconds)*time.Second:
			return true
		}
		select {
		case <-ctx.Done():
		case <-time.After(e.opts.RetryPeriod):
		}
	}
	return false
}

// free is nil unless another manager may still act by a Lease that somebody has deleted: it finds
// out with its next renewal, and makes the Lease again.
func (e *Election) free() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if leader := e.state.Leader; leader != "" && leader != e.opts.Identity && time.Since(e.renewed()) < e.opts.LeaseDuration {
		return fmt.Errorf("the Lease %s was deleted, and %s may still act by it", e.lease, leader)
	}
	return nil
}

// note takes what was read from the Lease or written to it, or why that failed. Who has renewed it too
// late, before anybody else took it, leads again: what was decided in between is not written.
func (e *Election) note(ctx context.Context, record *resourcelock.LeaderElectionRecord, write bool, err error) {
	late := write && err == nil && record.HolderIdentity == e.opts.Identity && e.elector != nil && e.leads.Load() && e.overdue()
	e.see(ctx, record, write, err)
	if late && e.Leads() {
		e.opts.Logger.Info("This process leads again: it has renewed the Lease late", "lease", e.lease)
		go e.begin(false)
	}
}

func (e *Election) see(ctx context.Context, record *resourcelock.LeaderElectionRecord, write bool, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	s := &e.state
	if err == nil {
		e.looked = time.Now()
	}
	switch {
	case apierrors.IsNotFound(err), apierrors.IsConflict(err), apierrors.IsAlreadyExists(err), errors.Is(err, context.Canceled):
		return // Nobody has made it, somebody else was faster, or it is over.
	case late(ctx, err) && e.seen && s.Leader != "" && s.Leader != e.opts.Identity:
		return // It was not renewed because another one has it, and that was read.
	case err != nil:
		first := s.ErrorSince.IsZero()
		e.mute = e.mute || write
		if s.Error = redact.Line(err.Error()); first {
			s.ErrorSince = time.Now()
			e.opts.Logger.Error("The Lease cannot be read or written", "lease", e.lease, "error", err)
			e.record(telemetry.Cause{Kind: telemetry.CauseTimer}, decision.Verdict{})
		}
		return
	case e.mute && !write && e.seen && renewTime(record).Equal(e.last):
		return // Nobody else has written it either.
	}
	e.mute = false
	again := s.Error != ""
	s.Error, s.ErrorSince = "", time.Time{}
	last := e.last
	lasts := time.Duration(record.LeaseDurationSeconds) * time.Second
	changed := e.lasts != lasts || s.Leader != record.HolderIdentity // By hand, too: it then lasts from now on.
	e.lasts = lasts
	e.last = renewTime(record)
	if e.seen && record.HolderIdentity != e.opts.Identity && !e.last.Equal(last) { // Who gives it back has led until then.
		e.led = true
	}
	if changed || !e.last.Equal(last) {
		e.hear(record, write)
	}
	if s.Leader == record.HolderIdentity && e.seen {
		if again {
			e.record(telemetry.Cause{Kind: telemetry.CauseTimer}, decision.Verdict{})
		}
		return
	}
	change := telemetry.LeaderChange{At: record.AcquireTime.UTC(), From: s.Leader, To: record.HolderIdentity, Last: last}
	if change.To == "" {
		change.At, change.Last = record.RenewTime.UTC(), time.Time{}
	}
	if e.seen || change.To == e.opts.Identity { // Otherwise it was before this process looked.
		s.Changes = append(slices.Clone(s.Changes), change) // Readers have the list of before.
		s.Changes = s.Changes[max(0, len(s.Changes)-keptChanges):]
	}
	s.Leader, s.Since, e.seen = change.To, change.At, true
	e.recordChange(change)
	if s.Leader != e.opts.Identity && s.Leader != "" {
		e.opts.Logger.Info("Another process leads", "lease", e.lease, "leader", s.Leader, "since", s.Since)
	}
}

// hear takes that a Lease was renewed, or given back: whoever does that has stopped acting. Callers hold the mutex.
func (e *Election) hear(record *resourcelock.LeaderElectionRecord, write bool) {
	heard := time.Now()
	switch {
	case record.HolderIdentity == "":
		if write {
			e.leads.Store(false)
		}
		return
	case record.HolderIdentity == e.opts.Identity && !write:
		return // A renewal whose reply was lost: it is read again when the next one, or the Lease's return, is about to be written.
	case record.HolderIdentity == e.opts.Identity: // By the same clock: the reply may have been late.
		heard = heard.Add(-max(0, heard.Sub(e.last)))
	}
	e.heard.Store(&heard)
}

// renewTime is when a Lease was renewed, as precisely as it can be read again.
func renewTime(record *resourcelock.LeaderElectionRecord) time.Time {
	return record.RenewTime.UTC().Truncate(time.Microsecond)
}
