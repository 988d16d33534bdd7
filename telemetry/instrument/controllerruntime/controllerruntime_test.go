package controllerruntime_test

import (
	"context"
	"errors"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/decision"
	"github.com/loopscope/loopscope/telemetry/instrument"
	"github.com/loopscope/loopscope/telemetry/instrument/controllerruntime"
)

var key = reconcile.Request{NamespacedName: types.NamespacedName{Namespace: "shop", Name: "nightly"}}

func cron(rv string) *batchv1.CronJob {
	return &batchv1.CronJob{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "nightly", UID: "c-1", ResourceVersion: rv}}
}

// job is controlled by the CronJob, or by something else of its name.
func job(rv, owner string) *batchv1.Job {
	yes := true
	return &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "nightly-1", ResourceVersion: rv,
		OwnerReferences: []metav1.OwnerReference{{Kind: owner, Name: "nightly", Controller: &yes}}}}
}

// TestCauses: what the builder's sources see is the cause of what their handlers enqueue.
func TestCauses(t *testing.T) {
	loop := instrument.Loop("cron", "CronJob")
	journal := telemetry.NewJournal(telemetry.JournalOptions{Loops: decision.Loops{loop}})
	probe, err := controllerruntime.New(journal, loop, scheme.Scheme)
	if err != nil {
		t.Fatal(err)
	}
	events := probe.Events()
	if !events.Create(event.CreateEvent{Object: cron("1")}) { // Before the controller starts nobody listens.
		t.Fatal("an event is filtered out")
	}
	queue := probe.NewQueue("cron", nil)
	defer queue.ShutDown()
	for name, c := range map[string]struct {
		happen func() bool
		kind   telemetry.CauseKind
		object string
	}{
		"created": {func() bool { return events.Create(event.CreateEvent{Object: cron("2"), IsInInitialList: true}) }, telemetry.CauseStart, "CronJob nightly"},
		"owned": {func() bool {
			return events.Update(event.UpdateEvent{ObjectOld: job("3", "CronJob"), ObjectNew: job("4", "CronJob")})
		}, telemetry.CauseModified, "Job nightly-1"},
		"deleted": {func() bool { return events.Delete(event.DeleteEvent{Object: job("4", "CronJob")}) }, telemetry.CauseDeleted, "Job nightly-1"},
		"lost": {func() bool {
			return events.Delete(event.DeleteEvent{Object: job("4", "CronJob"), DeleteStateUnknown: true})
		}, telemetry.CauseTombstone, "Job nightly-1"},
		"another's": {func() bool {
			return events.Update(event.UpdateEvent{ObjectOld: job("3", "Workflow"), ObjectNew: job("4", "Workflow")})
		}, telemetry.CauseAsked, ""},
		"nothing": {func() bool { return true }, telemetry.CauseAsked, ""},
	} {
		t.Run(name, func(t *testing.T) {
			if !c.happen() {
				t.Fatal("an event is filtered out")
			}
			queue.Add(key)
			got, _ := queue.Get()
			queue.Done(got)
			trace, ok := journal.Get(journal.Last())
			if !ok || len(trace.Causes) != 1 || trace.Causes[0].Kind != c.kind || trace.Causes[0].Object != c.object || trace.Key() != "shop/nightly" {
				t.Errorf("%+v", trace)
			}
		})
	}
}

// TestReconciler: what a reconciler returns is what it returned, and is recorded.
func TestReconciler(t *testing.T) {
	loop := instrument.Loop("cron", "CronJob")
	journal := telemetry.NewJournal(telemetry.JournalOptions{Loops: decision.Loops{loop}})
	probe, err := controllerruntime.New(journal, loop, scheme.Scheme)
	if err != nil {
		t.Fatal(err)
	}
	broken := errors.New("broken")
	r := probe.Reconciler(reconcile.Func(func(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
		instrument.Ask(ctx, "fits", false)
		return reconcile.Result{RequeueAfter: 7}, broken
	}))
	if result, err := r.Reconcile(t.Context(), key); result.RequeueAfter != 7 || !errors.Is(err, broken) {
		t.Errorf("before the start: %+v, %v", result, err)
	}
	queue := probe.NewQueue("cron", nil)
	defer queue.ShutDown()
	queue.Add(key)
	queue.Get()
	if result, err := r.Reconcile(t.Context(), key); result.RequeueAfter != 7 || !errors.Is(err, broken) {
		t.Errorf("%+v, %v", result, err)
	}
	queue.Done(key)
	if trace, ok := journal.Get(1); !ok || trace.Leaf() != "fits" || trace.Result != telemetry.ResultFailed {
		t.Errorf("%+v", trace)
	}
}

// TestClusterScoped: what an object without a namespace owns has one, and its events are causes.
func TestClusterScoped(t *testing.T) {
	loop := instrument.Loop("tenant", "CronJob")
	loop.ClusterScoped = true
	journal := telemetry.NewJournal(telemetry.JournalOptions{Loops: decision.Loops{loop}})
	probe, err := controllerruntime.New(journal, loop, scheme.Scheme)
	if err != nil {
		t.Fatal(err)
	}
	queue := probe.NewQueue("tenant", nil)
	defer queue.ShutDown()
	probe.Events().Create(event.CreateEvent{Object: job("3", "CronJob")})
	queue.Add(reconcile.Request{NamespacedName: types.NamespacedName{Name: "nightly"}})
	got, _ := queue.Get()
	queue.Done(got)
	if trace, ok := journal.Get(1); !ok || trace.Key() != "nightly" || len(trace.Causes) != 1 || trace.Causes[0].Object != "Job shop/nightly-1" {
		t.Errorf("%+v", trace)
	}
}
