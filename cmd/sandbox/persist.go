package main

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"k8s.io/utils/clock"
)

const (
	// persistPause lies between two attempts of a write.
	persistPause = 300 * time.Millisecond
	// persistLimit bounds the attempts; then kwok's own, slower retry takes over.
	persistLimit = 5 * time.Minute
)

// persistentTransport repeats kwok's writes while the API server is away. kwok
// drops a stage whose write failed for another reason than a refused
// connection, and its watch, which goes on where it was, never shows the pod
// again: one killed API server would leave pods starting or ending forever.
// Its writes may be repeated: they are status patches, lease updates under a
// resource version and deletions.
type persistentTransport struct {
	next  http.RoundTripper
	clock clock.Clock
}

// RoundTrip repeats a write until it was answered by a working API server.
func (p *persistentTransport) RoundTrip(request *http.Request) (*http.Response, error) {
	if request.Method != http.MethodPatch && request.Method != http.MethodDelete {
		return p.next.RoundTrip(request)
	}
	began := p.clock.Now()
	for {
		response, err := p.attempt(request)
		if !passing(response, err) || p.clock.Since(began) > persistLimit {
			return response, err
		}
		if response != nil {
			_, _ = io.Copy(io.Discard, response.Body)
			_ = response.Body.Close()
		}
		if err := p.rest(request); err != nil {
			return nil, err
		}
	}
}

// attempt sends a copy of the request, for the first one uses up the body.
func (p *persistentTransport) attempt(request *http.Request) (*http.Response, error) {
	again := request.Clone(request.Context())
	if request.Body != nil {
		if request.GetBody == nil {
			return nil, errors.New("repeat a request: its body cannot be read again")
		}
		body, err := request.GetBody()
		if err != nil {
			return nil, fmt.Errorf("repeat a request: %w", err)
		}
		again.Body = body
	}
	return p.next.RoundTrip(again)
}

func (p *persistentTransport) rest(request *http.Request) error {
	timer := p.clock.NewTimer(persistPause)
	defer timer.Stop()
	select {
	case <-timer.C():
		return nil
	case <-request.Context().Done():
		return request.Context().Err()
	}
}

// passing reports whether an answer is one that passes by itself: no answer, a
// server in trouble, or one that has just started and knows no roles yet.
func passing(response *http.Response, err error) bool {
	if err != nil {
		return true
	}
	return response.StatusCode >= 500 || response.StatusCode == http.StatusForbidden ||
		response.StatusCode == http.StatusUnauthorized || response.StatusCode == http.StatusTooManyRequests
}
