package lab

import (
	"net/http"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Answer is one of the ways in which a request ends.
type Answer struct {
	Name  string
	Reply Reply
	Times int // of the same answer; 0 for always
	Over  Transport
}

// Answers are all that a write may meet. Code and reason are Kubernetes' own.
func Answers() []Answer {
	return []Answer{
		{Name: "taken", Reply: Taken},
		{Name: "404 not found", Reply: Refuse(404, metav1.StatusReasonNotFound, `not found`)},
		{Name: "409 name taken", Reply: Refuse(409, metav1.StatusReasonAlreadyExists, `already exists`)},
		{Name: "409 by version", Reply: Refuse(409, metav1.StatusReasonConflict, `the object has been modified`)},
		{Name: "410 gone", Reply: Refuse(410, metav1.StatusReasonGone, `no longer available`)},
		{Name: "422 invalid", Reply: Refuse(422, metav1.StatusReasonInvalid, `is invalid`)},
		{Name: "429 once, Retry-After 0", Reply: throttled(429, metav1.StatusReasonTooManyRequests), Times: 1},
		{Name: "503 once, Retry-After 0", Reply: throttled(503, metav1.StatusReasonServiceUnavailable), Times: 1},
		{Name: "429 always, Retry-After 0", Reply: throttled(429, metav1.StatusReasonTooManyRequests)},
		{Name: "429 without Retry-After", Reply: Refuse(429, metav1.StatusReasonTooManyRequests, `too many requests`)},
		{Name: "401 unauthorized", Reply: Refuse(401, metav1.StatusReasonUnauthorized, `Unauthorized`)},
		{Name: "403 by RBAC", Reply: Refuse(403, metav1.StatusReasonForbidden, `is forbidden: User "loopscope" cannot do this`)},
		{Name: "403 by quota", Reply: Refuse(403, metav1.StatusReasonForbidden, `is forbidden: exceeded quota: full, requested: pods=1, used: pods=3, limited: pods=3`)},
		{Name: "403 by webhook", Reply: Refuse(403, metav1.StatusReasonForbidden, `admission webhook "policy.example.com" denied the request: no`)},
		{Name: "400 by webhook", Reply: Refuse(400, "", `admission webhook "policy.example.com" denied the request without explanation`)},
		{Name: "403 by a terminating namespace", Reply: terminatingNamespace},
		{Name: "500 by webhook", Reply: Refuse(500, metav1.StatusReasonInternalError, `Internal error occurred: failed calling webhook "policy.example.com": failed to call webhook: connection refused`)},
		{Name: "500 internal error", Reply: Refuse(500, metav1.StatusReasonInternalError, `Internal error occurred: resource quota evaluation timed out`)},
		{Name: "500 of etcd", Reply: Refuse(500, "", `etcdserver: request timed out`)},
		{Name: "502 bad gateway", Reply: Refuse(502, "", `bad gateway`)},
		{Name: "503 unavailable", Reply: Refuse(503, metav1.StatusReasonServiceUnavailable, `the server is currently unable to handle the request`)},
		{Name: "504 timeout", Reply: Refuse(504, metav1.StatusReasonTimeout, `request did not complete within requested timeout`)},
		{Name: "reply lost after the commit", Reply: replyLost},
		{Name: "reply lost after the commit, HTTP/1.1", Reply: replyLost, Over: OverHTTP1},
		{Name: "connection cut before the commit", Reply: cutOff},
		{Name: "connection cut in the body", Reply: cutInBody},
		{Name: "connection cut in the body, HTTP/1.1", Reply: cutInBody, Over: OverHTTP1},
		{Name: "connection refused", Over: ToNobody},
	}
}

// AnswerNamed is one of answers, and an empty one where there is none.
func AnswerNamed(name string) Answer {
	for _, a := range Answers() {
		if a.Name == name {
			return a
		}
	}
	panic("no answer " + name)
}

// Taken is the answer of an API server that does what it is asked for.
func Taken(w http.ResponseWriter, r *http.Request, take func() Response) {
	w.(*codeWriter).write(r, take())
}

// Refuse is a refusal by a status.
func Refuse(code int, reason metav1.StatusReason, message string) Reply {
	return func(w http.ResponseWriter, r *http.Request, _ func() Response) {
		w.(*codeWriter).write(r, failed(code, reason, message))
	}
}

// throttled asks to come again at once, which client-go does by itself, ten times.
func throttled(code int, reason metav1.StatusReason) Reply {
	return func(w http.ResponseWriter, r *http.Request, _ func() Response) {
		w.Header().Set("Retry-After", "0")
		w.(*codeWriter).write(r, failed(code, reason, `please try again later`))
	}
}

func terminatingNamespace(w http.ResponseWriter, r *http.Request, _ func() Response) {
	a := failed(403, metav1.StatusReasonForbidden, `is forbidden: unable to create new content in namespace shop because it is being terminated`)
	a.object.(*metav1.Status).Details = &metav1.StatusDetails{Causes: []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause, Field: "metadata.namespace"}}}
	w.(*codeWriter).write(r, a)
}

func replyLost(_ http.ResponseWriter, _ *http.Request, take func() Response) {
	take()
	panic(http.ErrAbortHandler)
}

func cutOff(http.ResponseWriter, *http.Request, func() Response) { panic(http.ErrAbortHandler) }

// cutInBody says that it went well, and breaks off.
func cutInBody(w http.ResponseWriter, r *http.Request, take func() Response) {
	a := take()
	w.Header().Set("Content-Type", runtime.ContentTypeProtobuf)
	w.Header().Set("Content-Length", "5000")
	w.WriteHeader(a.code)
	_, _ = w.Write(encoded(r, a.object)[:4])
	_ = http.NewResponseController(w).Flush()
	panic(http.ErrAbortHandler)
}
