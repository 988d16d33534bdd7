package app

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"path"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// readOnly lets nothing through but reads. Loops that watch write nothing; this
// is the second lock on the same door, and rights that allow no more the third.
type readOnly struct{ next http.RoundTripper }

// RoundTrip refuses whatever is no read.
func (r readOnly) RoundTrip(request *http.Request) (*http.Response, error) {
	if !reads(request) {
		return nil, fmt.Errorf("%s %s is refused: this process only watches", request.Method, request.URL.Path)
	}
	return r.next.RoundTrip(request)
}

func reads(request *http.Request) bool {
	return request.Method == http.MethodGet || request.Method == http.MethodHead
}

// isEvent reports whether a request is about an event, which tells what was done before.
func isEvent(request *http.Request) bool {
	return path.Base(request.URL.Path) == "events" || path.Base(path.Dir(request.URL.Path)) == "events"
}

// leaderOnly lets writes through as long as this process leads. A loop asks at the
// beginning of a sync; until its write is sent, the process may have been held up for longer
// than its Lease lasts. Events, which may be late, are let through.
type leaderOnly struct {
	next  http.RoundTripper
	leads func() bool
}

// RoundTrip answers a write as an API server does that refuses it: nothing was done.
func (r leaderOnly) RoundTrip(request *http.Request) (*http.Response, error) {
	if reads(request) || isEvent(request) || r.leads() {
		return r.next.RoundTrip(request)
	}
	return refusal(request, "not sent: this process does not lead")
}

// refusal answers a request as an API server does that refuses it, without sending it.
func refusal(request *http.Request, message string) (*http.Response, error) {
	if request.Body != nil {
		_ = request.Body.Close() // It was to be read to its end.
	}
	status := metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure,
		Code: http.StatusForbidden, Reason: metav1.StatusReasonForbidden, Message: message}
	body, err := json.Marshal(status)
	if err != nil {
		return nil, err
	}
	return &http.Response{Status: http.StatusText(http.StatusForbidden), StatusCode: http.StatusForbidden, Proto: request.Proto, ProtoMajor: request.ProtoMajor, ProtoMinor: request.ProtoMinor,
		Header: http.Header{"Content-Type": {"application/json"}}, ContentLength: int64(len(body)), Body: io.NopCloser(bytes.NewReader(body)), Request: request}, nil
}
