package controllers

import (
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/client-go/kubernetes/scheme"
)

// apiServer plays the API server's part over HTTPS and HTTP/2: it stores objects of one
// namespace, speaks protobuf where it is asked to, writes down every request, and
// answers otherwise where a script says so.
type apiServer struct {
	*httptest.Server

	mu                     sync.Mutex
	version, made, arrived int
	objects                map[string]runtime.Object // by "RESOURCE/NAME"
	scripts                []*apiScript
	sent                   []sent
	before                 []sent // what requests has returned
}

// script is what becomes of the requests that match.
type apiScript struct {
	match func(*sent) bool
	reply reply
	times int // 0: always
}

// reply answers a request in the API server's place. take carries the request out as
// the API server would, and returns its answer.
type reply func(w http.ResponseWriter, r *http.Request, take func() response)

// sent is one request as it arrived, and the answer that it got.
type sent struct {
	Method, Path, Query, ContentType, UserAgent string
	Body                                        any
	Answer                                      string `json:"-"`
	at                                          int
}

// response is an answer of the API server.
type response struct {
	code   int
	object runtime.Object
}

func newAPIServer(t *testing.T, http2 bool) *apiServer {
	t.Helper()
	s := &apiServer{version: 1000, objects: map[string]runtime.Object{}}
	s.Server = httptest.NewUnstartedServer(s)
	s.EnableHTTP2 = http2
	s.Config.ErrorLog = log.New(io.Discard, "", 0) // Handlers that cut connections panic.
	s.StartTLS()
	t.Cleanup(s.Close)
	return s
}

// ServeHTTP writes the request down and answers it.
func (s *apiServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	x := sent{Method: r.Method, Path: r.URL.Path, Query: r.URL.RawQuery, ContentType: r.Header.Get("Content-Type"), UserAgent: r.UserAgent()}
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
	take := func() response { return s.take(&x, object, body) }
	recorder := &codeWriter{ResponseWriter: w, told: func(code int, reason string) { s.answered(&x, strings.TrimSpace(fmt.Sprint(code, " ", reason))) }}
	if reply == nil {
		recorder.write(r, take())
		return
	}
	reply(recorder, r, take)
}

func (s *apiServer) scripted(x *sent) reply {
	for _, script := range s.scripts {
		if script.match(x) {
			if script.times--; script.times == 0 {
				script.match = func(*sent) bool { return false }
			}
			return script.reply
		}
	}
	return nil
}

// answered notes the answer of a request, unless a test has taken the request already.
func (s *apiServer) answered(x *sent, answer string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.sent {
		if s.sent[i].at == x.at {
			s.sent[i].Answer = answer
		}
	}
}

// decodeBody notes the body as JSON and returns the object that it holds, nil for none.
func decodeBody(x *sent, body []byte) runtime.Object {
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

// on scripts the next requests of a method to a path that ends so.
func (s *apiServer) on(method, suffix string, times int, r reply) {
	s.script(times, r, func(x *sent) bool { return x.Method == method && strings.HasSuffix(x.Path, suffix) })
}

func (s *apiServer) script(times int, r reply, match func(*sent) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.scripts = append(s.scripts, &apiScript{match, r, times})
}

// answerAll forgets every script.
func (s *apiServer) answerAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.scripts = nil
}

// store puts objects as they are; remove takes one away.
func (s *apiServer) store(objects ...runtime.Object) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, o := range objects {
		s.objects[resourceNamed(o)+"/"+accessor(o).GetName()] = o
	}
}

func (s *apiServer) remove(o runtime.Object) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.objects, resourceNamed(o)+"/"+accessor(o).GetName())
}

// requests returns what was sent since the last call. Their answers are known by then.
func (s *apiServer) requests() []sent {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := s.sent
	s.sent, s.before = nil, append(s.before, list...)
	return list
}

// everything is all that was ever sent.
func (s *apiServer) everything() []sent {
	s.requests()
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.before
}

func accessor(o runtime.Object) metav1.Object {
	m, err := meta.Accessor(o)
	if err != nil {
		panic(err)
	}
	return m
}

func resourceNamed(o runtime.Object) string {
	switch o.(type) {
	case *appsv1.Deployment:
		return resourceDeployments
	case *appsv1.ReplicaSet:
		return resourceReplicaSets
	case *corev1.ReplicationController:
		return resourceReplicationControllers
	case *corev1.Pod:
		return resourcePods
	}
	return "events"
}

// resource, name and subresource of a request.
func (x *sent) parts() (resource, name, sub string) {
	_, path, _ := strings.Cut(x.Path, "/namespaces/shop/")
	p := append(strings.Split(path, "/"), "", "")
	return p[0], p[1], p[2]
}

// take carries a request out.
func (s *apiServer) take(x *sent, object runtime.Object, body []byte) response {
	s.mu.Lock()
	defer s.mu.Unlock()
	resource, name, _ := x.parts()
	stored := s.objects[resource+"/"+name]
	switch {
	case x.Method == http.MethodPost:
		return response{http.StatusCreated, s.create(resource, object)}
	case x.Method == http.MethodGet && name == "":
		return s.list(resource, x.Query)
	case stored == nil && resource != "events":
		return failed(http.StatusNotFound, metav1.StatusReasonNotFound, resource+" "+name+" not found")
	case x.Method == http.MethodPut:
		return response{http.StatusOK, s.keep(resource, object)}
	case x.Method == http.MethodPatch:
		return response{http.StatusOK, s.keep(resource, patched(stored, body))}
	case x.Method == http.MethodDelete:
		delete(s.objects, resource+"/"+name)
		return response{http.StatusOK, &metav1.Status{Status: metav1.StatusSuccess}}
	}
	return response{http.StatusOK, stored}
}

func (s *apiServer) create(resource string, object runtime.Object) runtime.Object {
	m := accessor(object)
	s.made++
	m.SetUID(types.UID(fmt.Sprint("made-", s.made)))
	if m.GetName() == "" {
		m.SetName(fmt.Sprint(m.GetGenerateName(), "made-", s.made))
	}
	return s.keep(resource, object)
}

func (s *apiServer) keep(resource string, object runtime.Object) runtime.Object {
	s.version++
	m := accessor(object)
	m.SetResourceVersion(fmt.Sprint(s.version))
	s.objects[resource+"/"+m.GetName()] = object
	return object
}

func (s *apiServer) list(resource, query string) response {
	selector := labels.Everything()
	if _, text, found := strings.Cut(query, "labelSelector="); found {
		var err error
		if selector, err = labels.Parse(strings.NewReplacer("%3D", "=", "%2C", ",").Replace(text)); err != nil {
			return failed(http.StatusBadRequest, metav1.StatusReasonBadRequest, "unable to parse requirement")
		}
	}
	sets, pods := &appsv1.ReplicaSetList{}, &corev1.PodList{}
	for _, o := range s.objects {
		if resourceNamed(o) != resource || !selector.Matches(labels.Set(accessor(o).GetLabels())) {
			continue
		}
		switch o := o.(type) {
		case *appsv1.ReplicaSet:
			sets.Items = append(sets.Items, *o)
		case *corev1.Pod:
			pods.Items = append(pods.Items, *o)
		}
	}
	if resource == resourcePods {
		return response{http.StatusOK, pods}
	}
	return response{http.StatusOK, sets}
}

func patched(stored runtime.Object, patch []byte) runtime.Object {
	if stored == nil {
		return &corev1.Event{}
	}
	was, err := json.Marshal(stored)
	if err != nil {
		panic(err)
	}
	is, err := strategicpatch.StrategicMergePatch(was, patch, stored)
	if err != nil {
		panic(err)
	}
	out := stored.DeepCopyObject()
	accessor(out).SetOwnerReferences(nil) // Unmarshalling adds to what is there.
	if err := json.Unmarshal(is, out); err != nil {
		panic(err)
	}
	return out
}

// codeWriter tells what code is written.
type codeWriter struct {
	http.ResponseWriter
	told func(code int, reason string)
}

// Unwrap is for http.ResponseController.
func (w *codeWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// write encodes an answer as the client wants it.
func (w *codeWriter) write(r *http.Request, a response) {
	w.Header().Set("Content-Type", mediaType(r))
	w.told(a.code, reasonOf(a.object))
	w.WriteHeader(a.code)
	_, _ = w.Write(encoded(r, a.object)) // The client may be gone.
}

// reasonOf is a failure's reason, with who refused where that is told apart.
func reasonOf(o runtime.Object) string {
	s, ok := o.(*metav1.Status)
	switch {
	case !ok || s.Status != metav1.StatusFailure:
		return ""
	case s.Details != nil:
		return string(s.Reason) + " by a terminating namespace"
	case strings.Contains(s.Message, "exceeded quota"):
		return string(s.Reason) + " by quota"
	}
	return string(s.Reason)
}

// mediaType is protobuf where the client takes it, as an API server decides.
func mediaType(r *http.Request) string {
	if strings.Contains(r.Header.Get("Accept"), runtime.ContentTypeProtobuf) {
		return runtime.ContentTypeProtobuf
	}
	return runtime.ContentTypeJSON
}

func encoded(r *http.Request, o runtime.Object) []byte {
	info, _ := runtime.SerializerInfoForMediaType(scheme.Codecs.SupportedMediaTypes(), mediaType(r))
	group := schema.GroupVersion{Version: "v1"}
	if kinds, _, err := scheme.Scheme.ObjectKinds(o); err == nil {
		group = kinds[0].GroupVersion()
	}
	data, err := runtime.Encode(scheme.Codecs.EncoderForVersion(info.Serializer, group), o)
	if err != nil {
		panic(err)
	}
	return data
}

func failed(code int, reason metav1.StatusReason, message string) response {
	return response{code, &metav1.Status{Status: metav1.StatusFailure, Code: int32(code), Reason: reason, Message: message}}
}
