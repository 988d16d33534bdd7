package app

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/kubernetes/fake"

	"github.com/loopscope/loopscope/cmd/internal/leadership"
	"github.com/loopscope/loopscope/controllers/engine"
	"github.com/loopscope/loopscope/telemetry"
)

// logged is a log that is read while it is written.
type logged struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

// take is what was written since the last time.
func (l *logged) take() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	defer l.text.Reset()
	return l.text.String()
}

// slow is a controller whose syncs end when they are let go.
type slow chan struct{}

func (s slow) Observe(context.Context, string) (engine.Sync, error) {
	<-s
	return nil, errors.New("let go")
}

func (slow) Pending() []telemetry.EchoState { return nil }

// loopNamed is a loop with a key whose sync never ends before it is let go.
func loopNamed(name string, does engine.Controller) running {
	l := engine.New(engine.Settings{Name: "test"}, fake.NewClientset(), engine.Options{Logger: slog.New(slog.DiscardHandler)})
	l.Use(does)
	l.Enqueue("shop/web", telemetry.Cause{Kind: telemetry.CauseAsked})
	return running{l, name, 1}
}

// Whoever does not end in time is named, in the log meanwhile and in the error. The others have
// ended by then ([M-7]).
func TestLoopsThatDoNotEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log logged
		a := &App{opts: Options{Logger: slog.New(slog.NewTextHandler(&log, nil))}.withDefaults(), cluster: &cluster{}, ended: make(chan error, 1)}
		quick, hangs := make(slow), make(slow)
		close(quick)
		a.cluster.loops = []running{loopNamed("web-controller", quick), loopNamed("slow-controller", hangs)}
		a.startLoops(t.Context())
		time.Sleep(time.Second)
		if got := a.atWork.String(); got != "slow-controller, web-controller" {
			t.Errorf("at work are %q", got)
		}
		stopping, cancel := context.WithTimeout(t.Context(), 9*time.Second)
		defer cancel()
		err := a.teardown[0].stop(stopping)
		if !errors.Is(err, context.DeadlineExceeded) || !strings.HasPrefix(err.Error(), "slow-controller did not end in time") {
			t.Errorf("stopping ends with %v", err)
		}
		said := log.take()
		if n := strings.Count(said, `have not ended their syncs yet" controllers=slow-controller`); n < 2 || n > 3 {
			t.Errorf("%d times it is in the log: %s", n, said)
		}
		go func() {
			time.Sleep(6 * time.Second)
			close(hangs)
		}()
		if err := a.teardown[0].stop(t.Context()); err != nil || a.atWork.String() != "" {
			t.Errorf("in the end: %v, at work are %q", err, a.atWork.String())
		}
		said = log.take()
		if n := strings.Count(said, "controllers=slow-controller"); n < 1 || n > 2 { // every 5 s, and a last time of before
			t.Errorf("%d times it is in the log: %s", n, said)
		}
	})
}

// asking is a controller whose syncs wait for an answer that never comes.
type asking struct{}

func (asking) Observe(ctx context.Context, _ string) (engine.Sync, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

func (asking) Pending() []telemetry.EchoState { return nil }

// The requests of syncs have the time that there is to end in. They end with it, so that nothing is
// written once the Lease is given back, and at once where it was lost ([M-3], [M-7]).
func TestRequestsWhenTheProgramEnds(t *testing.T) {
	for name, c := range map[string]struct {
		election *leadership.Election
		within   time.Duration
		failure  error
	}{
		"leading":      {nil, 9 * time.Second, context.DeadlineExceeded},
		"no longer so": {&leadership.Election{}, 0, nil},
	} {
		synctest.Test(t, func(t *testing.T) {
			a := &App{opts: Options{Logger: quiet()}.withDefaults(), election: c.election, cluster: &cluster{loops: []running{loopNamed("web-controller", asking{})}}, ended: make(chan error, 1)}
			a.startLoops(t.Context())
			synctest.Wait()
			began := time.Now()
			stopping, cancel := context.WithTimeout(t.Context(), 9*time.Second)
			defer cancel()
			if err := a.teardown[0].stop(stopping); !errors.Is(err, c.failure) || time.Since(began) != c.within {
				t.Errorf("%s: stopped with %v after %v, want %v", name, err, time.Since(began), c.within)
			}
			synctest.Wait()
			if got := a.atWork.String(); got != "" {
				t.Errorf("%s: %s still waits for an answer", name, got)
			}
		})
	}
}

// A sync that is cut off costs neither the Lease nor the last lines of the history: what ends after it still
// has time ([M-7]).
func TestStopAfterALateSync(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &App{started: true, opts: Options{Logger: quiet()}.withDefaults(), cluster: &cluster{loops: []running{loopNamed("web-controller", asking{})}}, ended: make(chan error, 1)}
		var ended []string
		slowly := func(name string) {
			a.background(t.Context(), name, func(ctx context.Context) error {
				<-ctx.Done()
				if got := a.atWork.String(); got != "" {
					t.Errorf("%s ends while %s still waits for an answer", name, got)
				}
				time.Sleep(time.Second)
				ended = append(ended, name)
				return nil
			})
		}
		slowly("history")
		slowly("leader election")
		a.startLoops(t.Context())
		synctest.Wait()
		stopping, cancel := context.WithTimeout(t.Context(), 9*time.Second)
		defer cancel()
		err := a.Stop(stopping)
		if err == nil || err.Error() != "stop controllers: web-controller did not end in time: context deadline exceeded" {
			t.Errorf("Stop = %v", err)
		}
		if got := strings.Join(ended, ", "); got != "leader election, history" {
			t.Errorf("%q had ended when Stop returned", got)
		}
	})
}

// A process without loops waits until it is stopped ([M-7]).
func TestNoControllers(t *testing.T) {
	a, err := New(Options{Config: nowhere(), Listen: "127.0.0.1:0", Logger: quiet(), Controllers: []string{""}})
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := len(a.cluster.loops); n != 0 {
		t.Errorf("%d loops run", n)
	}
	select {
	case err := <-a.ended:
		t.Errorf("it ended by itself: %v", err)
	case <-time.After(100 * time.Millisecond):
	}
	stop(t, a)
	if err := a.Wait(); err != nil {
		t.Error(err)
	}
}

// A loop that cannot run ends the program, with its name.
func TestLoopThatCannotRun(t *testing.T) {
	let := make(slow)
	close(let)
	l := loopNamed("web-controller", let)
	l.workers = 0
	a := &App{opts: Options{}.withDefaults(), cluster: &cluster{loops: []running{l}}, ended: make(chan error, 1)}
	a.startLoops(t.Context())
	if err := <-a.ended; err == nil || !strings.HasPrefix(err.Error(), "web-controller: ") {
		t.Errorf("it ended with %v", err)
	}
}
