package controllers

import (
	"net/http"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// answer is one of the ways in which a request ends.
type answer struct {
	name  string
	reply reply
	times int // of the same answer; 0 for always
	over  transport
}

// answers are all that a write may meet. Code and reason are Kubernetes' own.
func answers() []answer {
	return []answer{
		{name: "taken", reply: taken},
		{name: "404 not found", reply: refuse(404, metav1.StatusReasonNotFound, `not found`)},
		{name: "409 name taken", reply: refuse(409, metav1.StatusReasonAlreadyExists, `already exists`)},
		{name: "409 by version", reply: refuse(409, metav1.StatusReasonConflict, `the object has been modified`)},
		{name: "410 gone", reply: refuse(410, metav1.StatusReasonGone, `no longer available`)},
		{name: "422 invalid", reply: refuse(422, metav1.StatusReasonInvalid, `is invalid`)},
		{name: "429 once, Retry-After 0", reply: throttled(429, metav1.StatusReasonTooManyRequests), times: 1},
		{name: "503 once, Retry-After 0", reply: throttled(503, metav1.StatusReasonServiceUnavailable), times: 1},
		{name: "429 always, Retry-After 0", reply: throttled(429, metav1.StatusReasonTooManyRequests)},
		{name: "429 without Retry-After", reply: refuse(429, metav1.StatusReasonTooManyRequests, `too many requests`)},
		{name: "401 unauthorized", reply: refuse(401, metav1.StatusReasonUnauthorized, `Unauthorized`)},
		{name: "403 by RBAC", reply: refuse(403, metav1.StatusReasonForbidden, `is forbidden: User "loopscope" cannot do this`)},
		{name: "403 by quota", reply: refuse(403, metav1.StatusReasonForbidden, `is forbidden: exceeded quota: full, requested: pods=1, used: pods=3, limited: pods=3`)},
		{name: "403 by webhook", reply: refuse(403, metav1.StatusReasonForbidden, `admission webhook "policy.example.com" denied the request: no`)},
		{name: "400 by webhook", reply: refuse(400, "", `admission webhook "policy.example.com" denied the request without explanation`)},
		{name: "403 by a terminating namespace", reply: terminatingNamespace},
		{name: "500 internal error", reply: refuse(500, metav1.StatusReasonInternalError, `failed calling webhook "policy.example.com"`)},
		{name: "500 of etcd", reply: refuse(500, "", `etcdserver: request timed out`)},
		{name: "502 bad gateway", reply: refuse(502, "", `bad gateway`)},
		{name: "503 unavailable", reply: refuse(503, metav1.StatusReasonServiceUnavailable, `the server is currently unable to handle the request`)},
		{name: "504 timeout", reply: refuse(504, metav1.StatusReasonTimeout, `request did not complete within requested timeout`)},
		{name: "reply lost after the commit", reply: replyLost},
		{name: "reply lost after the commit, HTTP/1.1", reply: replyLost, over: overHTTP1},
		{name: "connection cut before the commit", reply: cutOff},
		{name: "connection cut in the body", reply: cutInBody},
		{name: "connection cut in the body, HTTP/1.1", reply: cutInBody, over: overHTTP1},
		{name: "connection refused", over: toNobody},
	}
}

// answerNamed is one of answers, and an empty one where there is none.
func answerNamed(name string) answer {
	for _, a := range answers() {
		if a.name == name {
			return a
		}
	}
	panic("no answer " + name)
}

func taken(w http.ResponseWriter, r *http.Request, take func() response) {
	w.(*codeWriter).write(r, take())
}

func refuse(code int, reason metav1.StatusReason, message string) reply {
	return func(w http.ResponseWriter, r *http.Request, _ func() response) {
		w.(*codeWriter).write(r, failed(code, reason, message))
	}
}

// throttled asks to come again at once, which client-go does by itself, ten times.
func throttled(code int, reason metav1.StatusReason) reply {
	return func(w http.ResponseWriter, r *http.Request, _ func() response) {
		w.Header().Set("Retry-After", "0")
		w.(*codeWriter).write(r, failed(code, reason, `please try again later`))
	}
}

func terminatingNamespace(w http.ResponseWriter, r *http.Request, _ func() response) {
	a := failed(403, metav1.StatusReasonForbidden, `is forbidden: unable to create new content in namespace shop because it is being terminated`)
	a.object.(*metav1.Status).Details = &metav1.StatusDetails{Causes: []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause, Field: "metadata.namespace"}}}
	w.(*codeWriter).write(r, a)
}

func replyLost(_ http.ResponseWriter, _ *http.Request, take func() response) {
	take()
	panic(http.ErrAbortHandler)
}

func cutOff(http.ResponseWriter, *http.Request, func() response) { panic(http.ErrAbortHandler) }

// cutInBody says that it went well, and breaks off.
func cutInBody(w http.ResponseWriter, r *http.Request, take func() response) {
	a := take()
	w.Header().Set("Content-Type", runtime.ContentTypeProtobuf)
	w.Header().Set("Content-Length", "5000")
	w.WriteHeader(a.code)
	_, _ = w.Write(encoded(r, a.object)[:4])
	_ = http.NewResponseController(w).Flush()
	panic(http.ErrAbortHandler)
}
