package metrics

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/util/flowcontrol"
)

var errRefused = errors.New("connection refused")

// replies answers by the path of the request.
type replies struct{}

func (replies) RoundTrip(req *http.Request) (*http.Response, error) {
	resp := func(code int, body, retryAfter string) (*http.Response, error) {
		return &http.Response{StatusCode: code, Header: http.Header{"Retry-After": {retryAfter}}, Body: io.NopCloser(strings.NewReader(body)), Request: req}, nil
	}
	switch req.URL.Path {
	case "/conflict":
		return resp(http.StatusConflict, "no", "")
	case "/busy":
		return resp(http.StatusTooManyRequests, "later", "1")
	case "/upgrade":
		return resp(http.StatusSwitchingProtocols, "a stream", "")
	case "/broken":
		return resp(http.StatusInternalServerError, "oh", "")
	case "/refused":
		return nil, errRefused
	}
	return resp(http.StatusOK, strings.Repeat("x", 300), "")
}

func TestTransportCountsRequests(t *testing.T) {
	m, reg := newMetrics(t)
	client := &http.Client{Transport: m.InstrumentTransport(replies{})}
	for _, r := range []struct {
		method, path string
		size         int
	}{
		{http.MethodGet, "/pods", 0}, {http.MethodGet, "/pods?watch=true", 0}, {http.MethodPut, "/conflict", 1},
		{http.MethodPut, "/busy", 100}, {http.MethodPut, "/broken", 199}, {http.MethodGet, "/refused", 0}, {http.MethodGet, "/upgrade", 0},
	} {
		send(t, client, r.method, "http://10.0.0.1:6443"+r.path, strings.Repeat("y", r.size))
	}
	compare(t, reg, `
# HELP rest_client_requests_total Requests that were sent, by status code.
# TYPE rest_client_requests_total counter
rest_client_requests_total{code="101",host="10.0.0.1:6443",method="GET"} 1
rest_client_requests_total{code="200",host="10.0.0.1:6443",method="GET"} 2
rest_client_requests_total{code="409",host="10.0.0.1:6443",method="PUT"} 1
rest_client_requests_total{code="429",host="10.0.0.1:6443",method="PUT"} 1
rest_client_requests_total{code="500",host="10.0.0.1:6443",method="PUT"} 1
rest_client_requests_total{code="<error>",host="10.0.0.1:6443",method="GET"} 1
# HELP rest_client_request_retries_total Replies that asked for the request to be sent again later.
# TYPE rest_client_request_retries_total counter
rest_client_request_retries_total{code="429",host="10.0.0.1:6443",verb="PUT"} 1
`, "rest_client_requests_total", "rest_client_request_retries_total")
	sums := histograms(t, reg)
	want := map[string][2]float64{ // number and sum; of durations the number alone is known
		"rest_client_request_duration_seconds GET": {2, 0},
		"rest_client_request_duration_seconds PUT": {3, 0},
		"rest_client_request_size_bytes PUT":       {3, 300},
		"rest_client_response_size_bytes GET":      {1, 300},
		"rest_client_response_size_bytes PUT":      {3, 9},
	}
	if diff := cmp.Diff(want, sums); diff != "" {
		t.Errorf("histograms (-want +got):\n%s", diff)
	}
}

// TestTransportHandsOnErrors of requests and of bodies.
func TestTransportHandsOnErrors(t *testing.T) {
	m, _ := newMetrics(t)
	if _, err := m.InstrumentTransport(replies{}).RoundTrip(httptest.NewRequest(http.MethodGet, "/refused", http.NoBody)); !errors.Is(err, errRefused) {
		t.Errorf("refused: %v", err)
	}
	from, to := io.Pipe()
	to.CloseWithError(errRefused)
	b := &body{ReadCloser: readOnly{from}, ended: func(int64) {}}
	if _, err := b.Read(make([]byte, 1)); !errors.Is(err, errRefused) {
		t.Errorf("read: %v", err)
	}
	if err := b.Close(); !errors.Is(err, errRefused) {
		t.Errorf("closed: %v", err)
	}
}

// readOnly cannot be closed.
type readOnly struct{ io.Reader }

func (readOnly) Close() error { return errRefused }

// TestComeBack: a reply has to say so by its code and by when.
func TestComeBack(t *testing.T) {
	for _, c := range []struct {
		code  int
		after string
		want  bool
	}{
		{429, "1", true}, {429, "", false}, {429, "soon", false},
		{500, "1", true}, {500, "", false}, {503, "0", true}, {499, "1", false}, {200, "1", false},
	} {
		if got := comeBack(&http.Response{StatusCode: c.code, Header: http.Header{"Retry-After": {c.after}}}); got != c.want {
			t.Errorf("%d after %q: %t", c.code, c.after, got)
		}
	}
}

// histograms reads number and sum of the client's histograms by verb.
func histograms(t *testing.T, reg *prometheus.Registry) map[string][2]float64 {
	t.Helper()
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string][2]float64{}
	for _, f := range families {
		if !strings.HasPrefix(f.GetName(), "rest_client_") {
			continue
		}
		for _, metric := range f.GetMetric() {
			h, verb := metric.GetHistogram(), ""
			for _, l := range metric.GetLabel() {
				if l.GetName() == "verb" {
					verb = l.GetValue()
				}
			}
			if h == nil {
				continue
			}
			sum := h.GetSampleSum()
			if strings.HasSuffix(f.GetName(), "_seconds") {
				sum = 0
			}
			got[f.GetName()+" "+verb] = [2]float64{float64(h.GetSampleCount()), sum}
		}
	}
	return got
}

func TestTransportCanBeUnwrapped(t *testing.T) {
	m, _ := newMetrics(t)
	wrapped, ok := m.InstrumentTransport(replies{}).(interface{ WrappedRoundTripper() http.RoundTripper })
	if !ok || wrapped.WrappedRoundTripper() != (replies{}) {
		t.Error("client-go cannot find the transport below")
	}
}

func TestLimiterIsMeasured(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, reg := newMetrics(t)
		l := m.InstrumentLimiter(flowcontrol.NewTokenBucketRateLimiter(1, 1), "here")
		l.Accept()
		if err := l.Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := l.Wait(ctx); err == nil {
			t.Error("a token for an ended context")
		}
		families, err := reg.Gather()
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range families {
			if f.GetName() != "rest_client_rate_limiter_duration_seconds" {
				continue
			}
			if h := f.GetMetric()[0].GetHistogram(); h.GetSampleCount() != 3 || h.GetSampleSum() != 1 {
				t.Errorf("%d waits of %v s in all, want 3 of 1 s", h.GetSampleCount(), h.GetSampleSum())
			}
		}
	})
}
