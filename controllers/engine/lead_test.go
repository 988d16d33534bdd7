package engine

import (
	"context"
	"io"
	"log/slog"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/cache"

	"github.com/loopscope/loopscope/controllers/internal/lab"
	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/decision"
)

// While another process leads, a loop decides and writes nothing; once this one does, it
// writes what is due of every object.
func TestLead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var leads atomic.Bool
		r := &lab.Recording{}
		f := informers.NewSharedInformerFactory(fake.NewClientset(lab.Deployment("web", "u", "")), 0)
		l := New(Settings{Name: "test"}, fake.NewClientset(), Options{Leads: leads.Load, Recorder: r, Logger: slog.New(slog.NewTextHandler(io.Discard, nil))})
		s := &script{report: decision.Report{Publish: true, Events: []decision.Event{{Type: "Normal", Reason: "Created"}}},
			decideFunc: func(int) decision.Verdict {
				return decision.Verdict{Actions: []decision.Action{{Target: decision.Ref{Name: "web-1"}}}}
			}}
		l.Use(s)
		informer := f.Apps().V1().Deployments().Informer()
		if err := l.Register("deployments", informer, cache.ResourceEventHandlerDetailedFuncs{AddFunc: func(o any, _ bool) {
			l.Enqueue(KeyOf(o.(*appsv1.Deployment)), telemetry.Cause{Kind: telemetry.CauseStart})
		}}); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		f.StartWithContext(ctx)
		ended := make(chan error, 1)
		go func() { ended <- l.Run(ctx, 1) }()
		time.Sleep(time.Second)
		mode := l.State().Mode
		if got := r.All(); mode != string(Standby) || len(s.done) != 0 || len(got) != 1 || len(got[0].Rounds[0].Verdict.Actions) != 1 || got[0].Result != telemetry.ResultUnchanged || !got[0].Standby {
			t.Errorf("in mode %s it did %q, and recorded %d syncs", mode, s.done, len(got))
		}
		leads.Store(true)
		l.Lead(false)
		time.Sleep(time.Second)
		got := r.All()
		if mode := l.State().Mode; mode != string(Act) || !slices.Equal(s.done, []string{"web-1", "status"}) || len(got) != 2 || got[1].Causes[0].Kind != telemetry.CauseLead || got[1].Standby {
			t.Errorf("in mode %s it did %q, and recorded %d syncs", mode, s.done, len(got))
		}
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		f.Shutdown()
	})
}

// panicking is a controller that panics before it has observed anything.
type panicking struct{ script }

func (*panicking) Observe(context.Context, string) (Sync, error) { panic("no such object") }

// What panics while another process leads did not happen, and is told as that, wherever it panics.
func TestPanicOfAStandby(t *testing.T) {
	for name, c := range map[string]Controller{
		"observing": &panicking{},
		"deciding":  &script{decideFunc: func(int) decision.Verdict { panic("no such revision") }},
	} {
		for _, leads := range []bool{false, true} {
			r := &lab.Recording{}
			l := New(Settings{Name: "test"}, fake.NewClientset(), Options{Leads: func() bool { return leads }, Recorder: r, Logger: slog.New(slog.DiscardHandler)})
			l.Use(c)
			l.Enqueue("shop/web", telemetry.Cause{Kind: telemetry.CauseAdded})
			end := l.Begin(t.Context())
			l.Step(t.Context(), 0)
			end()
			if got := r.All(); len(got) != 1 || got[0].Result != telemetry.ResultPanicked || got[0].Standby == leads {
				t.Errorf("%s, leading %v: recorded is %+v", name, leads, got[0])
			}
		}
	}
}

// keyed says its keys itself.
type keyed struct{ script }

func (*keyed) Keys() []string { return []string{"shop/gone"} }

// Whoever leads syncs the keys that its controller says, and no others.
func TestLeadWakesTheKeysOfTheController(t *testing.T) {
	informer := informers.NewSharedInformerFactory(fake.NewClientset(), 0).Apps().V1().Deployments().Informer()
	lab.Check(t, informer.GetStore().Add(lab.Deployment("web", "u", "")))
	l := New(Settings{Name: "test"}, fake.NewClientset(), Options{})
	l.Use(&keyed{})
	lab.Check(t, l.Register("deployments", informer, cache.ResourceEventHandlerFuncs{}))
	l.Lead(false)
	if got := lab.Queued(l); !slices.Equal(got, []string{"shop/gone"}) {
		t.Errorf("it syncs %q", got)
	}
}

// A sync says whether its process is the first to lead since it started: then nothing is known of before.
func TestLeadTellsWhetherItIsTheFirst(t *testing.T) {
	for first, code := range map[bool]string{true: telemetry.CodeFirstLeader, false: ""} {
		r := &lab.Recording{}
		informer := informers.NewSharedInformerFactory(fake.NewClientset(), 0).Apps().V1().Deployments().Informer()
		l := New(Settings{Name: "test"}, fake.NewClientset(), Options{Recorder: r, Logger: slog.New(slog.DiscardHandler)})
		l.Use(&keyed{})
		lab.Check(t, l.Register("deployments", informer, cache.ResourceEventHandlerFuncs{}))
		l.Lead(first)
		end := l.Begin(t.Context())
		l.Step(t.Context(), 0)
		end()
		if got := r.All(); len(got) != 1 || got[0].Causes[0].Kind != telemetry.CauseLead || got[0].Causes[0].Code != code {
			t.Errorf("first %v: recorded %+v", first, got)
		}
	}
}

// sources is a record that knows of one sync.
type sources struct {
	lab.Recording
	wrote string // the resourceVersion
}

func (s *sources) SyncOf(_, _, _, rv string) (uint64, bool) { return 7, rv == s.wrote }

// A status that is signed as ours, and that no sync of ours wrote, is a rival's, unless this
// process stands by, or does not know what became of its own write.
func TestRival(t *testing.T) {
	status := []decision.Change{{Field: "status.replicas"}}
	for name, c := range map[string]struct {
		manager  string
		fields   []decision.Change
		wrote    string
		standby  bool
		doubtful bool
		rival    bool
		author   string
	}{
		"a rival":                    {manager: "loopscope", fields: status, rival: true, author: "loopscope"},
		"somebody else":              {manager: "kubectl", fields: status, author: "kubectl"},
		"upstream":                   {manager: "kube-controller-manager", fields: status, rival: true, author: "kube-controller-manager"},
		"upstream, which may":        {manager: "kube-controller-manager", fields: status, standby: true, author: "kube-controller-manager"},
		"upstream, and no status":    {manager: "kube-controller-manager", fields: []decision.Change{{Field: "spec.replicas"}}, author: "kube-controller-manager"},
		"a sync of ours":             {manager: "loopscope", fields: status, wrote: "2"},
		"no status":                  {manager: "loopscope", fields: []decision.Change{{Field: "spec.replicas"}}},
		"the leader":                 {manager: "loopscope", fields: status, standby: true, author: "loopscope"},
		"the leader, and no status":  {manager: "loopscope", fields: []decision.Change{{Field: "spec.replicas"}}, standby: true, author: "loopscope"},
		"ours, with the reply lost?": {manager: "loopscope", fields: status, doubtful: true},
	} {
		var told []string
		r := &sources{wrote: c.wrote}
		l := New(Settings{Name: "test"}, fake.NewClientset(), Options{Signature: "loopscope", Recorder: r, Leads: func() bool { return !c.standby }, Rival: func(manager, o string) { told = append(told, manager+" "+o) }})
		old := signedBy(t, l, "1", 100, "operator")
		changed := signedBy(t, l, "2", 200, c.manager)
		x := &telemetry.Trace{Object: telemetry.Object{Loop: "test", Namespace: "shop", Name: "web"}, Causes: []telemetry.Cause{{Kind: telemetry.CauseModified, Object: "Deployment web", OldRV: "1", NewRV: "2",
			Fields: c.fields, Manager: l.OwnAuthor("Deployment", old, changed, []decision.Change{{Field: "spec.replicas"}, c.fields[0]})}}}
		if c.doubtful {
			l.MarkUnresolved("shop/web")
			l.record(&telemetry.Trace{Object: x.Object, Result: telemetry.ResultUnknown}, nil)
			l.Resolved("shop/web")
		}
		l.record(x, nil)
		if got := x.Causes[0]; slices.Equal(told, []string{c.manager + " Deployment shop/web"}) != c.rival || len(told) > 1 || got.Manager != c.author || (got.Sync == 7) != (c.wrote != "") {
			t.Errorf("%s: told %q, and the cause is %+v", name, told, got)
		}
		told = nil
		l.record(&telemetry.Trace{Object: x.Object, Causes: []telemetry.Cause{{Object: "Deployment web", NewRV: "3", Manager: "loopscope"}}}, nil)
		if (len(told) == 1) == c.standby {
			t.Errorf("%s: of the next one it told %q", name, told)
		}
	}
}

// A write whose reply was lost is no rival's, also where the cache shows it before the live read
// that asks what became of it, and where that read fails first.
func TestLostReplyIsNoRival(t *testing.T) {
	changed := []decision.Change{{Field: "spec.replicas"}, {Field: "status.replicas"}}
	for name, readFails := range map[string]int{"read at once": 0, "read fails": 1, "read fails twice": 2} {
		for _, shown := range []int{0, 1, 2, 3} { // The sync after the lost reply that the write's event comes to.
			told := 0
			l := New(Settings{Name: "test"}, fake.NewClientset(), Options{Signature: "loopscope", Recorder: &sources{}, Rival: func(string, string) { told++ }})
			object := telemetry.Object{Loop: "test", Namespace: "shop", Name: "web"}
			author := l.OwnAuthor("Deployment", signedBy(t, l, "1", 100, "operator"), signedBy(t, l, "2", 200, "loopscope"), changed)
			l.MarkUnresolved("shop/web")
			l.record(&telemetry.Trace{Object: object, Result: telemetry.ResultUnknown}, nil)
			for i := range 4 {
				x := &telemetry.Trace{Object: object, Result: telemetry.ResultFailed}
				if i >= readFails {
					l.opts.Ledger.Confirmed("u", l.opts.Clock.Now(), []Entry{{UID: "u", Resource: "deployments", RV: "2"}})
					l.Resolved("shop/web")
					x.UID, x.Result = "u", telemetry.ResultUnchanged
				}
				if i == shown {
					x.Causes = []telemetry.Cause{{Object: "Deployment web", OldRV: "1", NewRV: "2", Fields: changed, Manager: author}}
				}
				l.record(x, nil)
				if told > 0 || len(x.Causes) > 0 && x.Causes[0].Manager != "" {
					t.Errorf("%s, shown to sync %d: %d rivals, and the cause is %+v", name, shown, told, x.Causes)
				}
			}
			l.record(&telemetry.Trace{Object: object, UID: "u", Causes: []telemetry.Cause{{Object: "Deployment web", NewRV: "3", Manager: "loopscope"}}}, nil)
			if told != 1 {
				t.Errorf("%s, shown to sync %d: the next one is of %d rivals", name, shown, told)
			}
		}
	}
}
