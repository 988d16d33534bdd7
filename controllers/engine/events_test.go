package engine

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/loopscope/loopscope/controllers/internal/lab"
	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/decision"
)

// publishing is a loop that has begun and has told of that many events, each of which create sends.
func publishing(ctx context.Context, events int, create func() error) (end func()) {
	client := fake.NewClientset()
	client.PrependReactor("create", "events", func(a clienttesting.Action) (bool, runtime.Object, error) {
		return true, a.(clienttesting.CreateAction).GetObject(), create()
	})
	l := New(Settings{Name: "test", Component: "test-controller"}, client, Options{})
	end = l.Begin(ctx)
	for i := range events {
		l.recorder.Event(lab.Deployment(fmt.Sprint("web-", i), "1", appsv1.RecreateDeploymentStrategyType), "Normal", "Created", "m")
	}
	return end
}

// What the last syncs told is sent before the end, however slow the API server is about it.
func TestLastEventsAreSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sent := 0
		end := publishing(t.Context(), 20, func() error {
			time.Sleep(100 * time.Millisecond) // Fake time.
			sent++
			return nil
		})
		end()
		if sent != 20 {
			t.Errorf("%d of 20 events were sent", sent)
		}
	})
}

// Events do not keep a loop from ending where nobody takes them, nor where its time is up.
func TestEventsThatNobodyTakes(t *testing.T) {
	for name, c := range map[string]struct {
		over bool
		want time.Duration
	}{
		"in time": {false, lastEventsWithin},
		"late":    {true, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			end := publishing(ctx, 2, func() error { return errors.New("nobody is there") })
			synctest.Wait()
			if c.over {
				cancel()
			}
			began := time.Now()
			if end(); time.Since(began) != c.want {
				t.Errorf("%s: it ends after %v, want %v", name, time.Since(began), c.want)
			}
		})
	}
}

// A loop that is stopped sends what its last sync told.
func TestEventsOfTheLastSync(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, sent := fake.NewClientset(), 0
		client.PrependReactor("create", "events", func(a clienttesting.Action) (bool, runtime.Object, error) {
			time.Sleep(100 * time.Millisecond) // Fake time.
			sent++
			return true, a.(clienttesting.CreateAction).GetObject(), nil
		})
		l := New(Settings{Name: "test"}, client, Options{})
		s := &script{object: lab.Deployment("web", "1", appsv1.RecreateDeploymentStrategyType)}
		for i := range 9 {
			s.report.Events = append(s.report.Events, decision.Event{Type: "Normal", Reason: fmt.Sprint("Created", i), Message: "m"})
		}
		l.Use(s)
		ctx, cancel := context.WithCancel(t.Context())
		s.decideFunc = func(int) decision.Verdict { cancel(); return decision.Verdict{} }
		l.Enqueue("shop/web", telemetry.Cause{Kind: telemetry.CauseAdded})
		lab.Check(t, l.Run(ctx, 1))
		if sent != 9 {
			t.Errorf("%d of 9 events were sent", sent)
		}
	})
}
