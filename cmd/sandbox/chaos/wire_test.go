package chaos_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// spoil is what becomes of one request. next sends it.
type spoil func(request *http.Request, next http.RoundTripper) (*http.Response, error)

// The ways in which a write goes wrong between us and the API server.
var spoils = map[string]spoil{
	"409": refuse(func(method string) metav1.Status {
		if method == http.MethodPost {
			return metav1.Status{Code: http.StatusConflict, Reason: metav1.StatusReasonAlreadyExists, Message: "already exists"}
		}
		return metav1.Status{Code: http.StatusConflict, Reason: metav1.StatusReasonConflict, Message: "the object has been modified"}
	}),
	"429": refuse(func(string) metav1.Status {
		return metav1.Status{Code: http.StatusTooManyRequests, Reason: metav1.StatusReasonTooManyRequests, Message: "too many requests"}
	}),
	"500": refuse(func(string) metav1.Status {
		return metav1.Status{Code: http.StatusInternalServerError, Message: "etcdserver: request timed out"}
	}),
	"timeout": func(request *http.Request, _ http.RoundTripper) (*http.Response, error) {
		drop(request)
		return nil, &net.OpError{Op: "read", Net: "tcp", Err: os.ErrDeadlineExceeded}
	},
	"reply lost": func(request *http.Request, next http.RoundTripper) (*http.Response, error) {
		response, err := next.RoundTrip(request)
		if err != nil {
			return nil, err
		}
		_, err = io.Copy(io.Discard, response.Body)
		_ = response.Body.Close()
		if err != nil {
			return nil, err
		}
		return nil, io.ErrUnexpectedEOF
	},
}

// refuse answers in the API server's place, without sending anything.
func refuse(status func(method string) metav1.Status) spoil {
	return func(request *http.Request, _ http.RoundTripper) (*http.Response, error) {
		drop(request)
		s := status(request.Method)
		s.TypeMeta, s.Status = metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, metav1.StatusFailure
		body, err := json.Marshal(s)
		if err != nil {
			return nil, err
		}
		header := http.Header{"Content-Type": {"application/json"}}
		if s.Code == http.StatusTooManyRequests {
			header.Set("Retry-After", "1")
		}
		return &http.Response{
			StatusCode: int(s.Code), Status: http.StatusText(int(s.Code)), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
			Header: header, Body: io.NopCloser(bytes.NewReader(body)), ContentLength: int64(len(body)), Request: request,
		}, nil
	}
}

// drop ends a request that is never sent, as a RoundTripper has to.
func drop(request *http.Request) {
	if request.Body != nil {
		_ = request.Body.Close()
	}
}

// wire stands between the loops and the API server. Safe for concurrent use.
type wire struct {
	mu      sync.Mutex
	plans   map[string]*plan // by namespace
	watches map[*watching]bool
}

// plan spoils the writes of one kind in one namespace, one after the other, until
// it has hit so many times: with the same write tried again, some fail twice and
// more.
type plan struct {
	kind  string
	spoil spoil
	most  int
	hit   int
}

func newWire() *wire {
	return &wire{plans: map[string]*plan{}, watches: map[*watching]bool{}}
}

func (w *wire) arm(namespace string, p *plan) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.plans[namespace] = p
}

func (w *wire) hits(p *plan) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return p.hit
}

// sever breaks every watch that is open, and returns how many there were.
func (w *wire) sever() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := len(w.watches)
	for open := range w.watches {
		_ = open.ReadCloser.Close()
	}
	clear(w.watches)
	return n
}

// wrap is for rest.Config.Wrap.
func (w *wire) wrap(next http.RoundTripper) http.RoundTripper { return tapped{w, next} }

type tapped struct {
	wire *wire
	next http.RoundTripper
}

// RoundTrip spoils the request if a plan says so.
func (t tapped) RoundTrip(request *http.Request) (*http.Response, error) {
	if request.Method == http.MethodGet {
		return t.get(request)
	}
	if spoil := t.wire.take(request); spoil != nil {
		return spoil(request, t.next)
	}
	return t.next.RoundTrip(request)
}

func (t tapped) get(request *http.Request) (*http.Response, error) {
	response, err := t.next.RoundTrip(request)
	if err != nil || request.URL.Query().Get("watch") == "" {
		return response, err
	}
	open := &watching{response.Body, t.wire}
	t.wire.mu.Lock()
	defer t.wire.mu.Unlock()
	t.wire.watches[open] = true
	response.Body = open
	return response, nil
}

// watching is the body of a watch.
type watching struct {
	io.ReadCloser
	wire *wire
}

// Close forgets the watch.
func (w *watching) Close() error {
	w.wire.mu.Lock()
	delete(w.wire.watches, w)
	w.wire.mu.Unlock()
	return w.ReadCloser.Close()
}

// take decides what happens to a write.
func (w *wire) take(request *http.Request) spoil {
	kind, namespace := kindOf(request)
	w.mu.Lock()
	defer w.mu.Unlock()
	p := w.plans[namespace]
	if p == nil || p.kind != kind || p.hit >= p.most {
		return nil
	}
	p.hit++
	return p.spoil
}

var verbs = map[string]string{http.MethodPost: "create", http.MethodPut: "update", http.MethodPatch: "patch", http.MethodDelete: "delete"}

// kindOf names a write as "replicasets/status update", and its namespace.
func kindOf(request *http.Request) (kind, namespace string) {
	_, path, found := strings.Cut(request.URL.Path, "/namespaces/")
	parts := strings.Split(path, "/")
	if !found || len(parts) < 2 {
		return "", ""
	}
	resource := parts[1]
	if len(parts) == 4 {
		resource += "/" + parts[3]
	}
	return resource + " " + verbs[request.Method], parts[0]
}
