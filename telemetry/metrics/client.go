package metrics

import (
	"context"
	"io"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/util/flowcontrol"
)

// clientVecs is the metrics of Kubernetes clients.
type clientVecs struct {
	requests, retries      *prometheus.CounterVec
	duration, limited      *prometheus.HistogramVec
	requestSize, replySize *prometheus.HistogramVec
}

func newClientVecs() clientVecs {
	seconds := []float64{.005, .025, .1, .25, .5, 1, 2, 4, 8, 15, 30, 60}
	bytes := []float64{64, 256, 512, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216}
	histogram := func(name, help string, buckets []float64) *prometheus.HistogramVec {
		return prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Namespace: "rest_client", Name: name, Help: help, Buckets: buckets,
		}, []string{"verb", "host"})
	}
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: "rest_client", Name: name, Help: help}, labels)
	}
	return clientVecs{
		requests:    counter("requests_total", "Requests that were sent, by status code.", "code", "method", "host"),
		retries:     counter("request_retries_total", "Replies that asked for the request to be sent again later.", "code", "verb", "host"),
		duration:    histogram("request_duration_seconds", "Time from the request to the end of the reply; watches are not in it.", seconds),
		limited:     histogram("rate_limiter_duration_seconds", "Time that a request waited for the client's own rate limiter.", seconds),
		requestSize: histogram("request_size_bytes", "Size of request bodies.", bytes),
		replySize:   histogram("response_size_bytes", "Size of reply bodies; watches are not in it.", bytes),
	}
}

func (v clientVecs) collectors() []prometheus.Collector {
	return []prometheus.Collector{v.requests, v.retries, v.duration, v.limited, v.requestSize, v.replySize}
}

// InstrumentTransport counts what goes through rt: give it to rest.Config.Wrap.
//
// It sees requests where client-go's own metrics see calls. A call that
// client-go repeats, because the reply says 429 or 5xx and when to come back,
// is one request each time here, and one retry for each such reply.
func (m *Metrics) InstrumentTransport(rt http.RoundTripper) http.RoundTripper {
	return &transport{next: rt, vecs: m.client}
}

type transport struct {
	next http.RoundTripper
	vecs clientVecs
}

// WrappedRoundTripper lets client-go find the transport below, whose idle
// connections it closes.
func (t *transport) WrappedRoundTripper() http.RoundTripper { return t.next }

// RoundTrip sends the request and counts it.
func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	start := time.Now()
	method, host := req.Method, req.URL.Host
	if req.ContentLength > 0 {
		t.vecs.requestSize.WithLabelValues(method, host).Observe(float64(req.ContentLength))
	}
	resp, err := t.next.RoundTrip(req)
	if err != nil {
		t.vecs.requests.WithLabelValues("<error>", method, host).Inc()
		t.vecs.duration.WithLabelValues(method, host).Observe(time.Since(start).Seconds())
		return resp, err
	}
	code := strconv.Itoa(resp.StatusCode)
	t.vecs.requests.WithLabelValues(code, method, host).Inc()
	if comeBack(resp) {
		t.vecs.retries.WithLabelValues(code, method, host).Inc()
	}
	if resp.StatusCode != http.StatusSwitchingProtocols && !watches(req) {
		resp.Body = &body{ReadCloser: resp.Body, ended: func(size int64) {
			t.vecs.duration.WithLabelValues(method, host).Observe(time.Since(start).Seconds())
			t.vecs.replySize.WithLabelValues(method, host).Observe(float64(size))
		}}
	}
	return resp, nil
}

// comeBack is the sign on which client-go sends a request again.
func comeBack(resp *http.Response) bool {
	if resp.StatusCode != http.StatusTooManyRequests && resp.StatusCode < http.StatusInternalServerError {
		return false
	}
	_, err := strconv.Atoi(resp.Header.Get("Retry-After"))
	return err == nil
}

func watches(req *http.Request) bool {
	on, _ := strconv.ParseBool(req.URL.Query().Get("watch"))
	return on
}

// body reports its size once when it is closed.
type body struct {
	io.ReadCloser
	size  int64
	once  sync.Once
	ended func(size int64)
}

func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.size += int64(n)
	return n, err
}

func (b *body) Close() error {
	b.once.Do(func() { b.ended(b.size) })
	return b.ReadCloser.Close()
}

// InstrumentLimiter measures how long requests wait for a client's rate limiter:
// set it as rest.Config.RateLimiter. A limiter is not told the verb of a
// request, so that label is empty. The host is that of their URLs.
func (m *Metrics) InstrumentLimiter(l flowcontrol.RateLimiter, host string) flowcontrol.RateLimiter {
	return &limiter{RateLimiter: l, waited: m.client.limited.WithLabelValues("", host)}
}

type limiter struct {
	flowcontrol.RateLimiter
	waited prometheus.Observer
}

// Accept waits for a token.
func (l *limiter) Accept() {
	defer l.since(time.Now())
	l.RateLimiter.Accept()
}

// Wait waits for a token or the end of ctx.
func (l *limiter) Wait(ctx context.Context) error {
	defer l.since(time.Now())
	return l.RateLimiter.Wait(ctx)
}

func (l *limiter) since(start time.Time) { l.waited.Observe(time.Since(start).Seconds()) }
