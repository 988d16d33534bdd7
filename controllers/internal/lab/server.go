// Package lab is what tests of loops are made in: an API server that does what a script
// says, objects, and a recorder. It is for tests alone, and knows no loop.
package lab

import (
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
)

// Server plays the API server's part over HTTPS and HTTP/2: it stores objects of one
// namespace, speaks protobuf where it is asked to, writes down every request, and
// answers otherwise where a script says so.
type Server struct {
	*httptest.Server

	mu                     sync.Mutex
	version, made, arrived int
	objects                map[string]runtime.Object // by "RESOURCE/NAME"
	scripts                []*script
	mutate                 func(o runtime.Object)
	sent                   []Sent
	before                 []Sent // what requests has returned
}

// script is what becomes of the requests that match.
type script struct {
	match func(*Sent) bool
	reply Reply
	times int // 0: always
}

// Reply answers a request in the API server's place. take carries the request out as
// the API server would, and returns its answer.
type Reply func(w http.ResponseWriter, r *http.Request, take func() Response)

// Sent is one request as it arrived, and the answer that it got.
type Sent struct {
	Method, Path, Query, ContentType, UserAgent string
	Body                                        any
	Answer                                      string `json:"-"`
	at                                          int
}

// Response is an answer of the API server.
type Response struct {
	code   int
	object runtime.Object
}

// NewServer starts an API server for one test.
func NewServer(t *testing.T, http2 bool) *Server {
	t.Helper()
	s := &Server{version: 1000, objects: map[string]runtime.Object{}}
	s.Server = httptest.NewUnstartedServer(s)
	s.EnableHTTP2 = http2
	s.Config.ErrorLog = log.New(io.Discard, "", 0) // Handlers that cut connections panic.
	s.StartTLS()
	t.Cleanup(s.Close)
	return s
}

// ServeHTTP writes the request down and answers it.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	x := Sent{Method: r.Method, Path: r.URL.Path, Query: r.URL.RawQuery, ContentType: r.Header.Get("Content-Type"), UserAgent: r.UserAgent()}
	object := decodeBody(&x, body)
	s.mu.Lock()
	s.arrived++
	x.at = s.arrived
	s.sent = append(s.sent, x)
	reply := s.scripted(&x)
	s.mu.Unlock()
	defer func() {
		if p := recover(); p != nil {
			s.answered(&x, "cut off")
			panic(p)
		}
	}()
	take := func() Response { return s.take(&x, object, body) }
	recorder := &codeWriter{ResponseWriter: w, told: func(code int, reason string) { s.answered(&x, strings.TrimSpace(fmt.Sprint(code, " ", reason))) }}
	if reply == nil {
		recorder.write(r, take())
		return
	}
	reply(recorder, r, take)
}

func (s *Server) scripted(x *Sent) Reply {
	for _, script := range s.scripts {
		if script.match(x) {
			if script.times--; script.times == 0 {
				script.match = func(*Sent) bool { return false }
			}
			return script.reply
		}
	}
	return nil
}

// answered notes the answer of a request, unless a test has taken the request already.
func (s *Server) answered(x *Sent, answer string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.sent {
		if s.sent[i].at == x.at {
			s.sent[i].Answer = answer
		}
	}
}

// decodeBody notes the body as JSON and returns the object that it holds, nil for none.
func decodeBody(x *Sent, body []byte) runtime.Object {
	if len(body) == 0 {
		return nil
	}
	if strings.Contains(x.ContentType, "patch") {
		_ = json.Unmarshal(body, &x.Body) // What is no JSON is missing from the golden.
		return nil
	}
	object, _, err := scheme.Codecs.UniversalDeserializer().Decode(body, nil, nil)
	if err != nil {
		x.Body = "cannot be read: " + err.Error()
		return nil
	}
	text, _ := json.Marshal(object)
	_ = json.Unmarshal(text, &x.Body)
	return object
}

// Change changes every object that is stored.
func (s *Server) Change(f func(o runtime.Object)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, o := range s.objects {
		f(o)
	}
}

// All are the requests that have arrived.
func (s *Server) All() []Sent {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.sent)
}

// Mutate has every object changed before it is stored, as a policy or webhook does.
func (s *Server) Mutate(change func(o runtime.Object)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mutate = change
}

// On scripts the next requests of a method to a path that ends so.
func (s *Server) On(method, suffix string, times int, r Reply) {
	s.Script(times, r, func(x *Sent) bool { return x.Method == method && strings.HasSuffix(x.Path, suffix) })
}

// Script answers the next requests that match, of times many; 0 for all.
func (s *Server) Script(times int, r Reply, match func(*Sent) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.scripts = append(s.scripts, &script{match, r, times})
}

// AnswerAll forgets every script.
func (s *Server) AnswerAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.scripts = nil
}

// Store puts objects as they are; remove takes one away.
func (s *Server) Store(objects ...runtime.Object) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, o := range objects {
		s.objects[ResourceOf(o)+"/"+Accessor(o).GetName()] = o
	}
}

// Remove takes an object away.
func (s *Server) Remove(o runtime.Object) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.objects, ResourceOf(o)+"/"+Accessor(o).GetName())
}

// Requests returns what was sent since the last call. Their answers are known by then.
func (s *Server) Requests() []Sent {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := s.sent
	s.sent, s.before = nil, append(s.before, list...)
	return list
}

// Everything is all that was ever sent.
func (s *Server) Everything() []Sent {
	s.Requests()
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.before
}

// Accessor is the metadata of an object.
func Accessor(o runtime.Object) metav1.Object {
	m, err := meta.Accessor(o)
	if err != nil {
		panic(err)
	}
	return m
}

// ResourceOf is the resource that an object is of.
func ResourceOf(o runtime.Object) string {
	switch o.(type) {
	case *appsv1.Deployment:
		return "deployments"
	case *appsv1.ReplicaSet:
		return "replicasets"
	case *corev1.ReplicationController:
		return "replicationcontrollers"
	case *corev1.Pod:
		return "pods"
	}
	return "events"
}

// Parts are resource, name and subresource of a request.
func (x *Sent) Parts() (resource, name, sub string) {
	_, path, _ := strings.Cut(x.Path, "/namespaces/shop/")
	p := append(strings.Split(path, "/"), "", "")
	return p[0], p[1], p[2]
}

// Metadata is the client of a manager for metadata alone.
func (s *Server) Metadata(t *testing.T) metadata.Interface {
	t.Helper()
	config := metadata.ConfigFor(s.ConfigFor("loopscope/test unblock"))
	h, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { utilnet.CloseIdleConnectionsFor(h.Transport) })
	client, err := metadata.NewForConfigAndClient(config, h)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// ConfigFor is how a manager reaches the API server: protobuf, and a user agent of its own.
func (s *Server) ConfigFor(userAgent string) *rest.Config {
	return &rest.Config{
		Host: s.URL, UserAgent: userAgent, QPS: -1,
		TLSClientConfig: rest.TLSClientConfig{CAData: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})},
		ContentConfig:   rest.ContentConfig{ContentType: runtime.ContentTypeProtobuf, AcceptContentTypes: runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON},
	}
}

// Await waits for something that comes of itself.
func Await(t *testing.T, what string, met func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !met(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s did not come", what)
		}
	}
}
