package lab

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/client-go/kubernetes/scheme"
)

// take carries a request out. Its answer is a copy, as encoding writes into it while others read
// and change what is stored.
func (s *Server) take(x *Sent, object runtime.Object, body []byte) Response {
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.carryOut(x, object, body)
	a.object = a.object.DeepCopyObject()
	return a
}

func (s *Server) carryOut(x *Sent, object runtime.Object, body []byte) Response {
	resource, name, _ := x.Parts()
	stored := s.objects[resource+"/"+name]
	switch {
	case x.Method == http.MethodPost:
		return Response{http.StatusCreated, s.create(resource, object)}
	case x.Method == http.MethodGet && name == "":
		return s.list(resource, x.Query)
	case stored == nil && resource != "events":
		return failed(http.StatusNotFound, metav1.StatusReasonNotFound, resource+" "+name+" not found")
	case x.Method == http.MethodPut:
		return Response{http.StatusOK, s.keep(resource, object)}
	case x.Method == http.MethodPatch:
		return Response{http.StatusOK, s.keep(resource, patched(stored, body))}
	case x.Method == http.MethodDelete:
		delete(s.objects, resource+"/"+name)
		return Response{http.StatusOK, &metav1.Status{Status: metav1.StatusSuccess}}
	}
	return Response{http.StatusOK, stored}
}

func (s *Server) create(resource string, object runtime.Object) runtime.Object {
	m := Accessor(object)
	s.made++
	m.SetUID(types.UID(fmt.Sprint("made-", s.made)))
	if m.GetName() == "" {
		m.SetName(fmt.Sprint(m.GetGenerateName(), "made-", s.made))
	}
	return s.keep(resource, object)
}

// keep stores an object, unless there is nothing new in it.
func (s *Server) keep(resource string, object runtime.Object) runtime.Object {
	m := Accessor(object)
	if s.mutate != nil {
		s.mutate(object)
	}
	if stored := s.objects[resource+"/"+m.GetName()]; stored != nil && same(stored, object) {
		return stored
	}
	s.version++
	m.SetResourceVersion(fmt.Sprint(s.version))
	s.objects[resource+"/"+m.GetName()] = object
	return object
}

// same compares what objects say, as kind and group are filled in by whoever decoded them.
func same(a, b runtime.Object) bool {
	a, b = a.DeepCopyObject(), b.DeepCopyObject()
	a.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
	b.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
	return equality.Semantic.DeepEqual(a, b)
}

func (s *Server) list(resource, query string) Response {
	selector := labels.Everything()
	if _, text, found := strings.Cut(query, "labelSelector="); found {
		var err error
		if selector, err = labels.Parse(strings.NewReplacer("%3D", "=", "%2C", ",").Replace(text)); err != nil {
			return failed(http.StatusBadRequest, metav1.StatusReasonBadRequest, "unable to parse requirement")
		}
	}
	sets, pods := &appsv1.ReplicaSetList{}, &corev1.PodList{}
	for _, o := range s.objects {
		if ResourceOf(o) != resource || !selector.Matches(labels.Set(Accessor(o).GetLabels())) {
			continue
		}
		switch o := o.(type) {
		case *appsv1.ReplicaSet:
			sets.Items = append(sets.Items, *o)
		case *corev1.Pod:
			pods.Items = append(pods.Items, *o)
		}
	}
	if resource == "pods" {
		return Response{http.StatusOK, pods}
	}
	return Response{http.StatusOK, sets}
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
	Accessor(out).SetOwnerReferences(nil) // Unmarshalling adds to what is there.
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
func (w *codeWriter) write(r *http.Request, a Response) {
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

func failed(code int, reason metav1.StatusReason, message string) Response {
	return Response{code, &metav1.Status{Status: metav1.StatusFailure, Code: int32(code), Reason: reason, Message: message}}
}
