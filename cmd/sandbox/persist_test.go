package main

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"
)

func TestPersistentTransport(t *testing.T) {
	for _, c := range []struct {
		name    string
		method  string
		answers []int // 0 breaks the connection; the last one repeats
		want    int   // status in the end; 0 is an error
		asked   int
	}{
		{"success", http.MethodPatch, []int{200}, 200, 1},
		{"trouble passes", http.MethodPatch, []int{0, 500, 503, 403, 429, 401, 200}, 200, 7},
		{"deletion", http.MethodDelete, []int{0, 200}, 200, 2},
		{"gone stays gone", http.MethodDelete, []int{404}, 404, 1},
		{"conflict is an answer", http.MethodPatch, []int{409}, 409, 1},
		{"reads are not repeated", http.MethodGet, []int{0, 200}, 0, 1},
		{"creations are not repeated", http.MethodPost, []int{503, 200}, 503, 1},
		{"not forever", http.MethodPatch, []int{503}, 503, int(persistLimit/persistPause) + 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			asked := 0
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				answer := c.answers[min(asked, len(c.answers)-1)]
				asked++
				if c.method == http.MethodPatch && string(body) != "body" {
					t.Errorf("attempt %d has body %q", asked, body)
				}
				if answer == 0 {
					panic(http.ErrAbortHandler)
				}
				w.WriteHeader(answer)
			}))
			defer server.Close()
			clock := clocktesting.NewFakeClock(time.Unix(0, 0))
			request, err := http.NewRequestWithContext(t.Context(), c.method, server.URL, strings.NewReader("body"))
			if err != nil {
				t.Fatal(err)
			}
			done := make(chan struct{})
			go stepWhileWaiting(clock, done)
			// Without keep-alive the plain transport repeats nothing by itself.
			response, err := (&persistentTransport{next: &http.Transport{DisableKeepAlives: true}, clock: clock}).RoundTrip(request)
			close(done)
			got := 0
			if err == nil {
				got = response.StatusCode
				_ = response.Body.Close()
			}
			if got != c.want || asked != c.asked {
				t.Errorf("status %d (%v) after %d attempts, want %d after %d", got, err, asked, c.want, c.asked)
			}
		})
	}
}

// stepWhileWaiting moves the clock on whenever somebody waits for it.
func stepWhileWaiting(clock *clocktesting.FakeClock, done <-chan struct{}) {
	for {
		select {
		case <-done:
			return
		default:
			if clock.HasWaiters() {
				clock.Step(persistPause)
			}
		}
	}
}

func TestPersistentTransportEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	var attempts atomic.Int32
	broken := roundTripper(func(*http.Request) (*http.Response, error) {
		attempts.Add(1)
		cancel()
		return nil, errors.New("connection reset")
	})
	request, err := http.NewRequestWithContext(ctx, http.MethodDelete, "http://127.0.0.1", nil)
	if err != nil {
		t.Fatal(err)
	}
	_, err = (&persistentTransport{next: broken, clock: clocktesting.NewFakeClock(time.Unix(0, 0))}).RoundTrip(request)
	if !errors.Is(err, context.Canceled) || attempts.Load() != 1 {
		t.Errorf("%d attempts, error %v; want one and the context's error", attempts.Load(), err)
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
