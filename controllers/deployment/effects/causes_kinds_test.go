package effects

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/cache"

	"github.com/loopscope/loopscope/controllers/deployment"
	"github.com/loopscope/loopscope/controllers/engine"
	"github.com/loopscope/loopscope/controllers/family"
	"github.com/loopscope/loopscope/controllers/internal/lab"
	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/changes"
	"github.com/loopscope/loopscope/telemetry/decision"
)

// Every field that a loop decides on or writes is named where it changed, from what to what.
func TestFieldsOfEveryChange(t *testing.T) {
	changed := func(path, from, to string) decision.Change { return decision.Change{Field: path, From: from, To: to} }
	is := func(kind string) decision.Change {
		return changed("status.conditions["+kind+"]", "False Slow", "True Fast")
	}
	is1, is2 := metav1.ObjectMeta{}, metav1.ObjectMeta{DeletionTimestamp: &metav1.Time{Time: time.Unix(9, 0)}, Labels: map[string]string{"l": "1"}, Annotations: map[string]string{"a": "1"},
		OwnerReferences: []metav1.OwnerReference{*lab.OwnedBy("Deployment", "web", "d")}, Finalizers: []string{"f"}}
	meta := []decision.Change{{Field: "metadata.deletionTimestamp"}, {Field: "metadata.labels[l]"}, {Field: "metadata.annotations[a]"}, {Field: "metadata.ownerReferences", To: "web"}, {Field: "metadata.finalizers"}}
	d1 := &appsv1.Deployment{ObjectMeta: is1, Spec: appsv1.DeploymentSpec{Replicas: new(int32(1)), MinReadySeconds: 1, ProgressDeadlineSeconds: new(int32(1)), RevisionHistoryLimit: new(int32(1)),
		Strategy: appsv1.DeploymentStrategy{Type: appsv1.RollingUpdateDeploymentStrategyType, RollingUpdate: &appsv1.RollingUpdateDeployment{MaxSurge: new(intstr.FromInt32(1)), MaxUnavailable: new(intstr.FromString("25%"))}}},
		Status: appsv1.DeploymentStatus{ObservedGeneration: 1, Replicas: 1, UpdatedReplicas: 1, ReadyReplicas: 1, AvailableReplicas: 1, TerminatingReplicas: new(int32(1)), CollisionCount: new(int32(1)),
			Conditions: []appsv1.DeploymentCondition{{Type: "A", Status: corev1.ConditionFalse, Reason: "Slow"}}}}
	d2 := &appsv1.Deployment{ObjectMeta: is2, Spec: appsv1.DeploymentSpec{Replicas: new(int32(2)), MinReadySeconds: 2, ProgressDeadlineSeconds: new(int32(2)), RevisionHistoryLimit: new(int32(2)),
		Strategy: appsv1.DeploymentStrategy{Type: appsv1.RecreateDeploymentStrategyType}, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}}},
		Status: appsv1.DeploymentStatus{ObservedGeneration: 2, Replicas: 2, UpdatedReplicas: 2, ReadyReplicas: 2, AvailableReplicas: 2, TerminatingReplicas: new(int32(2)), CollisionCount: new(int32(2)),
			Conditions: []appsv1.DeploymentCondition{{Type: "A", Status: corev1.ConditionTrue, Reason: "Fast"}}}}
	var f changes.Fields
	deploymentSpec(&f, &d1.Spec, &d2.Spec)
	if diff := cmp.Diff([]decision.Change{changed("spec.replicas", "1", "2"), changed("spec.strategy.type", "RollingUpdate", "Recreate"), changed("spec.strategy.maxSurge", "1", ""), changed("spec.strategy.maxUnavailable", "25%", ""),
		changed("spec.minReadySeconds", "1", "2"), changed("spec.progressDeadlineSeconds", "1", "2"), changed("spec.revisionHistoryLimit", "1", "2"), {Field: "spec.selector"}}, []decision.Change(f)); diff != "" {
		t.Errorf("spec of a Deployment (-want +got):\n%s", diff)
	}
	d2.Spec = d1.Spec
	want := slices.Concat(meta, []decision.Change{changed("status.observedGeneration", "1", "2"), changed("status.replicas", "1", "2"), changed("status.updatedReplicas", "1", "2"), changed("status.readyReplicas", "1", "2"),
		changed("status.availableReplicas", "1", "2"), changed("status.terminatingReplicas", "1", "2"), changed("status.collisionCount", "1", "2"), is("A")})
	if diff := cmp.Diff(want, deploymentFields(d1, d2)); diff != "" {
		t.Errorf("Deployment (-want +got):\n%s", diff)
	}
}

// A generation that stands says that the spec does, and spares the comparison.
func TestFieldsOfAStatus(t *testing.T) {
	old := lab.Deployment("web", "d", appsv1.RollingUpdateDeploymentStrategyType)
	old.Generation = 4
	is := old.DeepCopy()
	is.Spec.Paused = true // It cannot be, with the generation of before.
	is.Status.ReadyReplicas = 2
	if diff := cmp.Diff([]decision.Change{{Field: "status.readyReplicas", From: "0", To: "2"}}, deploymentFields(old, is)); diff != "" {
		t.Error(diff)
	}
	other := is.DeepCopy()
	other.UID = "another" // Its generation says nothing.
	if changed := deploymentFields(old, other); len(changed) != 2 || changed[0].Field != "spec.paused" {
		t.Errorf("of another object: %+v", changed)
	}
	is.Generation = 5
	is.Spec.Strategy.RollingUpdate = &appsv1.RollingUpdateDeployment{MaxSurge: new(intstr.FromString("25%"))}
	want := []decision.Change{{Field: "spec.paused", From: "false", To: "true"}, {Field: "spec.strategy.maxSurge", To: "25%"}, {Field: "status.readyReplicas", From: "0", To: "2"}}
	if diff := cmp.Diff(want, deploymentFields(old, is)); diff != "" {
		t.Error(diff)
	}
}

// echoing is a recorder that knows one write of ours.
type echoing struct {
	lab.Recording
	rv string
}

func (r *echoing) SyncOf(kind, namespace, name, rv string) (uint64, bool) {
	return 41, kind == family.KindDeployment && namespace == "shop" && name == "web" && rv == r.rv
}

// timed is a body whose first look at a key fails, and that sets a timer afterwards.
type timed struct {
	engine.Redactor
	looked bool
}

func (b *timed) Observe(context.Context, string) (engine.Sync, error) {
	if !b.looked {
		b.looked = true
		return nil, errors.New("the first try fails")
	}
	return b, nil
}

func (*timed) Pending() []telemetry.EchoState { return nil }

func (b *timed) Core() decision.Core { return b }

func (*timed) Now() time.Time { return time.Time{} }

func (*timed) Do(context.Context, decision.Action) (decision.Outcome, decision.Learnt) {
	return decision.Outcome{}, decision.Learnt{}
}

func (*timed) Publish(context.Context) decision.Outcome { return decision.Outcome{} }

func (*timed) Remember(*telemetry.Trace) {}

func (*timed) Snapshot() (telemetry.Snapshot, error) {
	return telemetry.SnapshotOf(&deployment.Snapshot{})
}

func (*timed) Object() runtime.Object { return nil }

func (*timed) Identity() engine.Identity { return engine.Identity{UID: "u", Found: true} }

func (*timed) Decide() decision.Verdict {
	return decision.Verdict{Timers: []decision.Timer{{At: time.Now().Add(time.Hour), Code: "deadline"}}}
}

func (*timed) Learn(decision.Round, decision.Learnt) {}

func (*timed) Settle([]decision.Round) *decision.Report { return &decision.Report{} }

func (*timed) Tell([]decision.Round, *decision.Report, decision.Try, time.Time) decision.Telling {
	return decision.Telling{Sentence: decision.Sentence{Object: "web", Tone: decision.ToneOK}}
}

// TestEveryKindOfCause lets informers, timers, back-off and the queue give a
// real loop one cause of each kind, and reads all of them in the traces.
func TestEveryKindOfCause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &echoing{rv: "8"}
		logger := slog.New(slog.NewTextHandler(io.Discard, nil))
		l, handle := handled(t, engine.Options{Recorder: r, Logger: logger})
		l.Use(&timed{})
		end := l.Begin(t.Context()) // There are no informers to wait for.
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			for l.Step(t.Context(), 0) {
			}
		}()
		synctest.Wait()
		one := lab.Deployment("web", "d", appsv1.RollingUpdateDeploymentStrategyType)
		two := one.DeepCopy()
		two.ResourceVersion, two.Spec.Replicas = "8", new(int32(3))
		handle.deploymentHandler().OnAdd(one, true)
		time.Sleep(time.Second) // The back-off, in the bubble's time.
		for _, event := range []func(cache.ResourceEventHandler){
			func(h cache.ResourceEventHandler) { h.OnAdd(one, false) },
			func(h cache.ResourceEventHandler) { h.OnUpdate(one, two) },
			func(h cache.ResourceEventHandler) { h.OnUpdate(two, two) }, // a resync ([E-2])
			func(h cache.ResourceEventHandler) { h.OnDelete(two) },
			func(h cache.ResourceEventHandler) {
				h.OnDelete(cache.DeletedFinalStateUnknown{Key: "shop/web", Obj: two})
			},
		} {
			event(handle.deploymentHandler())
			synctest.Wait()
		}
		l.Enqueue("shop/web", telemetry.Cause{Kind: telemetry.CausePodReason})
		l.Enqueue("shop/web", telemetry.Cause{Kind: telemetry.CauseLead}) // TestLead has it from a loop that leads.
		time.Sleep(2 * time.Hour)                                         // Until the timer.
		end()
		<-ended
		found := map[telemetry.CauseKind]telemetry.Cause{}
		for _, trace := range r.All() {
			for _, c := range trace.Causes {
				found[c.Kind] = c
			}
		}
		for _, kind := range telemetry.CauseKinds {
			if _, ok := found[kind]; !ok && kind != telemetry.CauseAsked { // Ours always say why.
				t.Errorf("no cause of the kind %s", kind)
			}
		}
		is := found[telemetry.CauseModified]
		if is.Sync != 41 || is.OldRV != "1" || is.NewRV != "8" || len(is.Fields) != 1 || is.Fields[0].To != "3" || is.Object != "Deployment web" {
			t.Errorf("modified: %+v, want the versions, the field and sync 41", is)
		}
		if c := found[telemetry.CauseTimer]; c.Code != "deadline" || c.Due.IsZero() {
			t.Errorf("timer: %+v, want its reason and when it was due", c)
		}
		if c := found[telemetry.CauseBackoff]; c.Code != string(telemetry.ResultFailed) || c.Due.IsZero() {
			t.Errorf("back-off: %+v, want what it is for and when it was due", c)
		}
		if c := found[telemetry.CauseResync]; c.OldRV != "8" || c.NewRV != "8" {
			t.Errorf("resync: %+v, want the version that stands", c)
		}
	})
}

// handled is a Deployment loop without informers, and the body whose handlers feed it.
func handled(t *testing.T, opts engine.Options) (*engine.Loop, *deploymentController) {
	t.Helper()
	client := fake.NewClientset()
	f := informers.NewSharedInformerFactory(client, 0)
	l, err := New(t.Context(), f.Apps().V1().Deployments(), f.Apps().V1().ReplicaSets(), f.Core().V1().Pods(), client, opts)
	if err != nil {
		t.Fatal(err)
	}
	return l, l.Does().(*deploymentController)
}
