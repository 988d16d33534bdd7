package app

import (
	"context"
	"errors"
	"net/http"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/utils/clock"

	"github.com/loopscope/loopscope/controllers/engine"
)

// refusals is a RoundTripper that refuses so many times and answers then.
type refusals struct{ left, asked int }

func (r *refusals) RoundTrip(*http.Request) (*http.Response, error) {
	r.asked++
	if r.asked <= r.left {
		return nil, syscall.ECONNREFUSED
	}
	return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody}, nil
}

func TestPatientWaitsForTheProbe(t *testing.T) {
	for _, c := range []struct {
		name    string
		method  string
		within  time.Duration // of the reader's patience
		refused bool
		asked   int
	}{
		{"a read", http.MethodGet, time.Minute, false, 3},
		{"a reader that gives up", http.MethodGet, 1500 * time.Millisecond, true, 2},
		{"a write", http.MethodPost, time.Minute, true, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cluster := &cluster{answers: make(chan struct{}), release: newRelease(), now: time.Now, failures: engine.NewListFailures(clock.RealClock{}), logger: quiet()}
				done := make(chan struct{})
				go func() { // a probe each second
					for {
						select {
						case <-time.After(time.Second):
							cluster.note(nil)
						case <-done:
							return
						}
					}
				}()
				ctx, cancel := context.WithTimeout(t.Context(), c.within)
				defer cancel()
				request, err := http.NewRequestWithContext(ctx, c.method, "https://cluster/api/v1/pods", http.NoBody)
				if err != nil {
					t.Fatal(err)
				}
				next := &refusals{left: 2}
				response, err := waitingTransport{next, cluster.answering}.RoundTrip(request)
				close(done)
				if err == nil {
					response.Body.Close()
				}
				if refused := errors.Is(err, syscall.ECONNREFUSED); refused != c.refused || next.asked != c.asked {
					t.Errorf("error %v after %d requests, want refused %v after %d", err, next.asked, c.refused, c.asked)
				}
			})
		})
	}
}
