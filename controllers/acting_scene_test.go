package controllers

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	testclock "k8s.io/utils/clock/testing"

	deployments "github.com/loopscope/loopscope/controllers/deployment/effects"
	"github.com/loopscope/loopscope/controllers/engine"
	"github.com/loopscope/loopscope/controllers/internal/lab"
	replicasets "github.com/loopscope/loopscope/controllers/replicaset/effects"
	rollingupdates "github.com/loopscope/loopscope/controllers/rollingupdate/effects"
	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/changes"
)

// scene is one loop with caches that a test fills, in front of an API server. The loop
// sends through client-go's real transport, as a manager sets it up.
type scene struct {
	t      *testing.T
	server *lab.Server
	clock  *testclock.FakeClock
	opts   engine.Options
	caches *lab.Caches
	loop   *engine.Loop
	record *lab.Recording
}

// userAgents are those of the clients of the manager, by loop.
var userAgents = map[string]string{
	"deployment":            "loopscope/test deployment-controller",
	"replicaset":            "loopscope/test replicaset-controller",
	"replicationcontroller": "loopscope/test replication-controller",
	"rollingupdate":         "loopscope/test rollingupdate-controller",
}

// closedPort is one that no server is ever given.
const closedPort = "https://127.0.0.1:1"

func newScene(t *testing.T, loop string, over lab.Transport) *scene {
	t.Helper()
	server := lab.NewServer(t, over != lab.OverHTTP1)
	if over == lab.ToNobody {
		server.URL = closedPort
	}
	s := &scene{t: t, server: server, clock: testclock.NewFakeClock(lab.At), record: &lab.Recording{}}
	s.opts = engine.Options{Clock: s.clock, Recorder: s.record, Ledger: engine.NewLedger(s.clock), Managers: changes.NewManagers(), Signature: "loopscope",
		Logger: slog.New(slog.NewTextHandler(io.Discard, nil))}
	s.build(loop)
	return s
}

// client is one that closes its connections with the test.
func (s *scene) client(userAgent string) kubernetes.Interface {
	config := s.server.ConfigFor(userAgent)
	h, err := rest.HTTPClientFor(config)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { utilnet.CloseIdleConnectionsFor(h.Transport) })
	client, err := kubernetes.NewForConfigAndClient(config, h)
	if err != nil {
		s.t.Fatal(err)
	}
	return client
}

// build makes the loop on informers that nobody starts, and its event pipeline.
func (s *scene) build(loop string) {
	client := s.client(userAgents[loop])
	f := informers.NewSharedInformerFactory(client, 0)
	s.caches = &lab.Caches{Factory: f}
	var err error
	switch loop {
	case "deployment":
		s.loop, err = deployments.New(s.t.Context(), f.Apps().V1().Deployments(), f.Apps().V1().ReplicaSets(), f.Core().V1().Pods(), client, s.opts)
	case "replicaset":
		s.loop, err = replicasets.New(s.t.Context(), f.Apps().V1().ReplicaSets(), f.Core().V1().Pods(), client, s.opts)
	case "replicationcontroller":
		s.loop, err = replicasets.NewReplicationController(s.t.Context(), f.Core().V1().ReplicationControllers(), f.Core().V1().Pods(), client, s.opts)
	case "rollingupdate":
		s.loop, err = rollingupdates.New(s.t.Context(), f, client, s.opts)
	}
	if err != nil {
		s.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	end := s.loop.Begin(ctx)
	s.t.Cleanup(func() {
		cancel()
		end()
	})
}

// have puts objects into the caches and into the API server, alike.
func (s *scene) have(objects ...runtime.Object) {
	s.t.Helper()
	for _, o := range objects {
		s.cached(o)
		s.server.Store(o.DeepCopyObject())
	}
}

// cached puts objects into the caches alone.
func (s *scene) cached(objects ...runtime.Object) {
	s.t.Helper()
	for _, o := range objects {
		s.caches.Add(s.t, o)
	}
}

// sync runs one sync of shop/web, as a worker does, and returns what it recorded.
func (s *scene) sync() *telemetry.Trace {
	s.t.Helper()
	s.loop.Enqueue("shop/web", telemetry.Cause{Kind: telemetry.CauseAdded, At: lab.At})
	if !s.loop.Step(s.t.Context(), 0) {
		s.t.Fatal("the queue is shut down")
	}
	traces := s.record.All()
	return traces[len(traces)-1]
}

// events waits until the API server has answered that many events.
func (s *scene) events(n int) {
	s.t.Helper()
	deadline := time.Now().Add(time.Minute)
	for {
		have := 0
		for _, x := range s.server.All() {
			again := x.Method == http.MethodPatch && strings.HasPrefix(x.Answer, "404") // Then it is created.
			if resource, _, _ := x.Parts(); resource == "events" && x.Answer != "" && !again {
				have++
			}
		}
		if have >= n {
			return
		}
		if time.Now().After(deadline) {
			s.t.Fatalf("%d of %d events were answered", have, n)
		}
		time.Sleep(time.Millisecond)
	}
}
