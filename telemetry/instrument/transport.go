package instrument

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	utilnet "k8s.io/apimachinery/pkg/util/net"

	"github.com/loopscope/loopscope/telemetry/decision"
)

// Transport records the writes of syncs: give it to the client with
//
//	config.Wrap(instrument.Transport)
//
// A request belongs to the sync whose context it has; what has none goes through
// untouched. Of a write are kept: what it was and to which object, the
// resourceVersion that it was decided on and the one that came back, what a patch
// changes, and how it was answered. Events are no writes, and neither is a dry run.
// Of a read is kept whether it was answered.
func Transport(next http.RoundTripper) http.RoundTripper { return &transport{next: next} }

type transport struct {
	next http.RoundTripper
	// kinds are those of resources, learnt from what came back: the answer to a deletion
	// may have the resource alone.
	kinds sync.Map
}

// WrappedRoundTripper is for those who look for what is inside.
func (t *transport) WrappedRoundTripper() http.RoundTripper { return t.next }

// RoundTrip implements http.RoundTripper.
func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	s := under(r.Context())
	if s == nil {
		return t.next.RoundTrip(r)
	}
	w, ok := writeOf(r)
	if !ok {
		res, err := t.next.RoundTrip(r)
		s.note(func() { s.silent = err != nil && !errors.Is(err, context.Canceled) })
		return res, err
	}
	began := time.Now()
	res, err := t.next.RoundTrip(r)
	took := time.Since(began)
	outcome := w.answered(res, err)
	outcome.Took = took
	t.learn(w)
	s.note(func() {
		s.api += outcome.Took
		s.silent = false
		if len(s.writes) >= maxWrites {
			return
		}
		if last := s.verdict.Path.Last(); last != nil {
			w.action.Question = last.Question
		}
		s.verdict.Actions = append(s.verdict.Actions, w.action)
		s.writes = append(s.writes, outcome)
	})
	return res, err
}

// learn keeps the kind of a write's resource, or says it.
func (t *transport) learn(w *write) {
	resource, target := w.path.group+"/"+w.path.resource, &w.action.Target
	if target.Kind != w.path.resource {
		t.kinds.Store(resource, target.Kind)
	} else if kind, ok := t.kinds.Load(resource); ok {
		target.Kind, _ = kind.(string)
	}
}

// The kinds of write; that of a subresource has its name behind a hyphen: "update-status".
const (
	kindCreate = "create"
	kindUpdate = "update"
	kindPatch  = "patch"
	kindApply  = "apply"
	kindDelete = "delete"
)

var kinds = map[string]string{http.MethodPost: kindCreate, http.MethodPut: kindUpdate, http.MethodPatch: kindPatch, http.MethodDelete: kindDelete}

// write is a request that changes an object.
type write struct {
	action decision.Action
	path   resourcePath
}

// writeOf reads what a request changes; false for one that changes nothing.
func writeOf(r *http.Request) (*write, bool) {
	kind, ok := kinds[r.Method]
	path, isResource := pathOf(r.URL.Path)
	if !ok || !isResource || path.says() || r.URL.Query().Get("dryRun") != "" {
		return nil, false
	}
	body := requestBody(r)
	if dryRun(r.Method, path, body) {
		return nil, false
	}
	w := &write{path: path, action: decision.Action{Target: decision.Ref{Kind: path.resource, Namespace: path.namespace, Name: path.name}}}
	switch {
	case r.Method == http.MethodPatch:
		if strings.HasPrefix(r.Header.Get("Content-Type"), "application/apply-patch") {
			kind = kindApply
		}
		w.action.Changes = patched(body)
	case r.Method != http.MethodDelete:
		if o, ok := objectOf(body); ok {
			w.fill(o)
			w.action.Target.RV = o.rv
		}
	}
	if path.subresource != "" {
		kind += "-" + path.subresource
	}
	w.action.Kind = decision.ActionKind(kind)
	return w, true
}

// fill takes from an object what the address does not say.
func (w *write) fill(o object) {
	t := &w.action.Target
	if sub := w.path.subresource; o.kind != "" && (sub == "" || sub == "status") { // Others have objects of their own: Scale, Eviction.
		t.Kind = o.kind
	}
	if t.Name == "" {
		t.Name = o.name
	}
	if t.UID == "" {
		t.UID = o.uid
	}
}

// answered is what became of the write. The answer can still be read.
func (w *write) answered(res *http.Response, err error) decision.Outcome {
	if err != nil {
		return unanswered(err)
	}
	body, err := peek(res)
	if err != nil {
		return decision.Outcome{State: decision.Unknown, Failure: &decision.Failure{Message: line("the answer broke off: " + err.Error())}}
	}
	if res.StatusCode >= 300 {
		return refused(w.action.Kind, res.StatusCode, body)
	}
	outcome := decision.Outcome{State: decision.Written}
	ofAll := w.action.Kind == kindDelete && w.path.name == "" // Answered with the list of what there was.
	if o, ok := objectOf(body); ok && o.kind != "Status" && !ofAll {
		w.fill(o)
		if w.action.Kind != kindDelete {
			outcome.RV = o.rv
		}
	}
	return outcome
}

// unanswered is a request without an answer: refused, nothing was sent; otherwise nobody knows.
func unanswered(err error) decision.Outcome {
	o := decision.Outcome{State: decision.Unknown, Failure: &decision.Failure{Reason: decision.Unreachable, Message: line(err.Error())}}
	if utilnet.IsConnectionRefused(err) {
		o.State = decision.Unanswered
	}
	return o
}

// refused is a write to which the API server said no.
func refused(kind decision.ActionKind, code int, body []byte) decision.Outcome {
	f := &decision.Failure{Code: code, Message: http.StatusText(code)}
	if s, ok := statusOf(body); ok {
		f.Reason, f.Message = line(s.Reason), line(s.Message)
	}
	o := decision.Outcome{State: decision.Refused, Failure: f}
	switch {
	case code == http.StatusNotFound && kind == kindDelete:
		o.State = decision.Tolerated
	case code == http.StatusConflict && f.Reason != "AlreadyExists":
		o.State = decision.Conflicted
	case f.WebhookFailed():
	case code == http.StatusInternalServerError, code == http.StatusBadGateway, code == http.StatusGatewayTimeout:
		o.State = decision.Unknown
	case f.Down():
		o.State = decision.Unanswered
	}
	return o
}

// maxBody bounds what is read of a request or an answer: the API server takes no larger
// objects.
const maxBody = 3 << 20

// requestBody is what a request sends, nil where it cannot be read twice or is too large.
func requestBody(r *http.Request) []byte {
	if r.GetBody == nil {
		return nil
	}
	body, err := r.GetBody()
	if err != nil {
		return nil
	}
	defer body.Close()
	text, err := io.ReadAll(io.LimitReader(body, maxBody+1))
	if err != nil || len(text) > maxBody {
		return nil
	}
	return text
}

// peek reads an answer and puts it back. What is larger than any object stays unread,
// and is nobody's object. An answer that breaks off does so for its reader, too.
func peek(res *http.Response) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(res.Body, maxBody+1))
	rest := io.Reader(res.Body)
	if err != nil {
		rest = broken{err}
	}
	res.Body = replaced{io.MultiReader(bytes.NewReader(text), rest), res.Body}
	if len(text) > maxBody {
		text = nil
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return text, err
}

type broken struct{ err error }

func (b broken) Read([]byte) (int, error) { return 0, b.err }

type replaced struct {
	io.Reader
	io.Closer
}
