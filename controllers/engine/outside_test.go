package engine_test

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/loopscope/loopscope/controllers/engine"
	"github.com/loopscope/loopscope/controllers/internal/lab"
	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/changes"
	"github.com/loopscope/loopscope/telemetry/decision"
	"github.com/loopscope/loopscope/telemetry/decision/decisiontest"
)

// claims is a loop that the program does not have, built on what others can use of the
// engine: DESIGN.md shows it to whoever adds one.
type claims struct {
	*engine.Loop
	lister corelisters.PersistentVolumeClaimLister
}

// registered is all that a program has to know of it.
var registered = engine.Registration{
	Loop: decisiontest.Loop, Settings: engine.Settings{Name: decisiontest.Loop.Name, Component: "claim-controller", Queue: "claim"}, Workers: 1,
	New: func(_ context.Context, n engine.Needs) (*engine.Loop, error) {
		opts := n.Options.WithDefaults()
		informer := n.Informers.Core().V1().PersistentVolumeClaims()
		l := engine.New(engine.Settings{Name: decisiontest.Loop.Name, Component: "claim-controller", Queue: "claim"}, n.Client, opts)
		c := &claims{l, informer.Lister()}
		l.Use(c)
		return l, l.Register("persistentvolumeclaims", informer.Informer(), cache.ResourceEventHandlerDetailedFuncs{
			AddFunc: func(obj any, initial bool) {
				o := obj.(*corev1.PersistentVolumeClaim)
				l.Enqueue(engine.KeyOf(o), l.Added("Claim", o, initial))
			},
			UpdateFunc: func(oldObj, newObj any) {
				old, o := oldObj.(*corev1.PersistentVolumeClaim), newObj.(*corev1.PersistentVolumeClaim)
				fields := changes.Between(old, o)
				l.Enqueue(engine.KeyOf(o), changes.Modified("Claim", old, o, fields, l.Author(old, o, fields), opts.Clock.Now()))
			},
		})
	},
}

// Observe takes the snapshot of a key.
func (c *claims) Observe(_ context.Context, key string) (engine.Sync, error) {
	namespace, name, err := cache.SplitMetaNamespaceKey(key)
	if err != nil {
		return nil, err
	}
	o, err := c.lister.PersistentVolumeClaims(namespace).Get(name)
	if err != nil {
		return nil, err
	}
	return &claimSync{object: o, s: decisiontest.Claim{Now: engine.WallTime(time.Now()), Namespace: namespace, Name: name, Bound: o.Status.Phase == corev1.ClaimBound, Size: 1}}, nil
}

func (*claims) Pending() []telemetry.EchoState { return nil }

// claimSync is one sync of one claim. It writes nothing.
type claimSync struct {
	engine.Redactor
	object *corev1.PersistentVolumeClaim
	s      decisiontest.Claim
}

func (x *claimSync) Core() decision.Core       { return x.s.Begin() }
func (x *claimSync) Now() time.Time            { return x.s.Now }
func (x *claimSync) Object() runtime.Object    { return x.object }
func (x *claimSync) Remember(*telemetry.Trace) {}
func (x *claimSync) Identity() engine.Identity {
	return engine.Identity{UID: string(x.object.UID), Found: true}
}
func (x *claimSync) Do(_ context.Context, a decision.Action) (decision.Outcome, decision.Learnt) {
	return engine.Unsupported(a), decision.Learnt{}
}
func (x *claimSync) Publish(context.Context) decision.Outcome { return decision.Outcome{} }
func (x *claimSync) Snapshot() (telemetry.Snapshot, error) {
	text, err := json.Marshal(x.s)
	return telemetry.SnapshotText(text), err
}

// A loop that is built from outside is synced, recorded and described as any other.
func TestALoopFromOutside(t *testing.T) {
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "data", UID: "u", ResourceVersion: "1"}}
	var client kubernetes.Interface = fake.NewClientset(claim)
	f := informers.NewSharedInformerFactory(client, 0)
	seen := &lab.Recording{}
	ctx, end := context.WithCancel(t.Context())
	l, err := registered.New(ctx, engine.Needs{Informers: f, Client: client, Options: engine.Options{Recorder: seen, Logger: slog.New(slog.NewTextHandler(io.Discard, nil))}})
	lab.Check(t, err)
	f.StartWithContext(ctx)
	ended := make(chan error, 1)
	go func() { ended <- l.Run(ctx, registered.Workers) }()
	last := func() *telemetry.Trace {
		if all := seen.All(); len(all) > 0 {
			return all[len(all)-1]
		}
		return &telemetry.Trace{}
	}
	lab.Eventually(t, "the claim is never synced", func() bool { return last().Sentence.Code == "unbound" })
	bound := claim.DeepCopy()
	bound.ResourceVersion, bound.Status.Phase = "2", corev1.ClaimBound
	_, err = client.CoreV1().PersistentVolumeClaims("shop").Update(ctx, bound, metav1.UpdateOptions{})
	lab.Check(t, err)
	lab.Eventually(t, "nobody sees that it is bound", func() bool { return last().Sentence.Code == "running" })
	x := last()
	if c := x.Causes[len(x.Causes)-1]; c.Kind != telemetry.CauseModified || c.Object != "Claim data" || len(c.Fields) != 1 || c.Fields[0] != (decision.Change{Field: "status.phase"}) {
		t.Errorf("woken by %+v", c)
	}
	if s, err := x.Decided(decision.Loops{registered.Loop}); err != nil || !s.(*decisiontest.Claim).Bound || x.Loop != "claim" || x.UID != "u" {
		t.Errorf("%s %s decided on %+v, %v", x.Loop, x.UID, s, err)
	}
	end()
	lab.Check(t, lab.Within(t, ended, "end of the loop"))
	f.Shutdown()
}
