package controllers

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/loopscope/loopscope/controllers/engine"
	"github.com/loopscope/loopscope/controllers/family"
	"github.com/loopscope/loopscope/controllers/internal/lab"
	replicasets "github.com/loopscope/loopscope/controllers/replicaset/effects"
	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/decision"
)

// stopped is what a ReplicaSet loop records and sends that is told to end while the API server has
// its first pod, which is then answered so.
func stopped(t *testing.T, answer string) (*telemetry.Trace, map[string]int) {
	t.Helper()
	s := &scene{t: t, server: lab.NewServer(t, true), record: &lab.Recording{}}
	rs := setStatus(keeper(family.KindReplicaSet, 20), 1)
	s.server.Store(rs.DeepCopyObject())
	arrived, let := make(chan struct{}), make(chan struct{})
	s.server.On(http.MethodPost, "/pods", 1, func(w http.ResponseWriter, r *http.Request, take func() lab.Response) {
		close(arrived)
		<-let
		lab.AnswerNamed(answer).Reply(w, r, take)
	})
	f := informers.NewSharedInformerFactory(fake.NewClientset(rs), 0)
	loop, err := replicasets.New(t.Context(), f.Apps().V1().ReplicaSets(), f.Core().V1().Pods(), s.client(userAgents["replicaset"]),
		engine.Options{Recorder: s.record, Logger: slog.New(slog.NewTextHandler(io.Discard, nil))})
	lab.Check(t, err)
	f.StartWithContext(t.Context())
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- loop.Run(ctx, 1) }()
	lab.Within(t, arrived, "first pod")
	cancel()
	tried := 0
	lab.Await(t, "end of the queue", func() bool {
		tried++
		late := fmt.Sprint("shop/late-", tried)
		loop.Enqueue(late, telemetry.Cause{Kind: telemetry.CauseAdded})
		_, taken := lab.KeyState(loop, late)
		return !taken
	})
	close(let)
	lab.Check(t, lab.Within(t, ended, "end of the loop"))
	sent := map[string]int{}
	for _, x := range s.server.All() {
		resource, _, sub := x.Parts()
		sent[strings.TrimSuffix(x.Method+" "+resource+"/"+sub, "/")]++
	}
	all := s.record.All()
	if len(all) != 1 {
		t.Fatalf("%d syncs are recorded, want the one that was under way", len(all))
	}
	return all[0], sent
}

// A sync that is under way when the loop is told to end does all that it has decided: the request that
// waits is answered, the next ones are sent, and so are status and events ([M-7]).
func TestStoppedLoopFinishesItsSync(t *testing.T) {
	x, sent := stopped(t, "taken")
	if x.Result != telemetry.ResultWrote || x.Failure != nil || x.Report == nil || x.Report.Outcome == nil || x.Report.Outcome.State != decision.Written {
		t.Errorf("it ended as %s: %+v", x.Result, x.Failure)
	}
	if sent["POST pods"] != 20 || sent["PUT replicasets/status"] != 1 || sent["POST events"] == 0 {
		t.Errorf("sent was %v", sent)
	}
}

// A sync that fails when the loop ends is not said to be tried again at any time.
func TestStoppedLoopTriesNothingAgain(t *testing.T) {
	x, sent := stopped(t, "403 by quota")
	if x.Result != telemetry.ResultFailed || x.Try.Number != 1 || !x.Try.Next.IsZero() || sent["POST pods"] != 1 {
		t.Errorf("it ended as %s, %+v; sent was %v", x.Result, x.Try, sent)
	}
	for _, timer := range x.Timers {
		if timer.Code == telemetry.CodeBackoff || timer.At.IsZero() {
			t.Errorf("it has a timer: %+v", timer)
		}
	}
}
