package app

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/kubernetes/fake"

	"github.com/loopscope/loopscope/controllers/engine"
	"github.com/loopscope/loopscope/telemetry"
)

// Each step of the start is told with its own time, and why it is not there; the log hears
// of the end.
func TestStartup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		began := time.Now()
		after := func(d time.Duration) time.Duration { return there(time.Since(began) >= d) }
		s := &startup{began: began, took: map[string]time.Duration{}, skipped: map[string]bool{}, now: func() []telemetry.StartStep {
			return []telemetry.StartStep{{Name: "API server", Took: after(0), Error: "it was away"}, {Name: "pods", Took: after(time.Second), Error: "forbidden"}, {Name: "loops", Took: after(time.Minute)}}
		}}
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			s.run(t.Context(), slog.New(slog.NewTextHandler(&log, nil)))
		}()
		time.Sleep(500 * time.Millisecond)
		if got := s.steps(); got[1].Done() || got[1].Error != "forbidden" || got[2].Done() {
			t.Errorf("after half a second: %+v", got)
		}
		<-ended
		got := s.steps()
		if got[1].Took < time.Second || got[1].Took > 1100*time.Millisecond || got[1].Error != "" || got[2].Took < time.Minute || got[2].Took > 62*time.Second || got[0].Error != "" && got[0].Done() {
			t.Errorf("at the end: %+v", got)
		}
		if !strings.Contains(log.String(), "msg=Started after=1m") {
			t.Errorf("log: %s", log.String())
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		(&startup{began: time.Now(), took: map[string]time.Duration{}, skipped: map[string]bool{}, now: func() []telemetry.StartStep { return []telemetry.StartStep{{Name: "never"}} }}).run(ctx, slog.New(slog.DiscardHandler))
	})
}

// What the API server does not serve is skipped, and the start is over without it; served later
// it is told, too.
func TestSkippedStep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		began := time.Now()
		s := &startup{began: began, took: map[string]time.Duration{}, skipped: map[string]bool{}, now: func() []telemetry.StartStep {
			served := time.Since(began) >= time.Minute
			return []telemetry.StartStep{{Name: "pods", Took: there(true)}, {Name: "nodes", Took: there(served), Skipped: !served, Error: "no such resource"}}
		}}
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			s.run(t.Context(), slog.New(slog.NewTextHandler(&log, nil)))
		}()
		time.Sleep(10 * time.Second)
		if got := s.steps(); !got[1].Skipped || got[1].Took != 0 || got[1].Error != "no such resource" {
			t.Errorf("not served: %+v", got)
		}
		<-ended
		if got := s.steps(); got[1].Skipped || got[1].Took < time.Minute || got[1].Error != "" {
			t.Errorf("served: %+v", got)
		}
		for text, n := range map[string]int{"level=WARN msg=\"Skipped:": 1, "msg=Started after=0s": 1, "serves this resource now\" resource=nodes": 1} {
			if strings.Count(log.String(), text) != n {
				t.Errorf("%q is not %d times in the log: %s", text, n, log.String())
			}
		}
	})
}

// A controller is not ready while its caches are not filled, nor where nobody works on its keys.
func TestChecks(t *testing.T) {
	a, err := New(Options{Config: nowhere(), Listen: "127.0.0.1:0", Logger: quiet()})
	if err != nil {
		t.Fatal(err)
	}
	defer stop(t, a)
	for _, c := range a.cluster.checks() {
		if !strings.HasSuffix(c.Name, "-controller") || c.Err == nil || c.Err.Error() != "its caches are not filled yet" {
			t.Errorf("%s: %v", c.Name, c.Err)
		}
	}
	if got := lacking([]telemetry.CacheState{{Resource: "pods", Error: "forbidden"}, {Resource: "nodes"}, {Resource: "quotas", Synced: true, Error: "late"}}); got != "; pods: forbidden" {
		t.Errorf("lacking %q", got)
	}
	l := engine.New(engine.Settings{Name: "test"}, fake.NewClientset(), engine.Options{})
	r := running{Loop: l, controller: "test-controller"}
	if err := r.lack(time.Now().Add(time.Hour)); err != nil {
		t.Errorf("with nothing to do: %v", err)
	}
	end := l.Begin(t.Context()) // Its queue is open, and nobody takes anything from it.
	defer end()
	l.Enqueue("shop/web", telemetry.Cause{Kind: telemetry.CauseAdded})
	l.Enqueue("shop/api", telemetry.Cause{Kind: telemetry.CauseAdded})
	if err := r.lack(time.Now()); err != nil {
		t.Errorf("at once: %v", err)
	}
	if err := r.lack(time.Now().Add(90 * time.Second)); err == nil || err.Error() != "its queue stands still: 2 keys ready, the first for 1m 30s" {
		t.Errorf("later: %v", err)
	}
}
