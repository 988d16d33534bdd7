package rolling

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/loopscope/loopscope/controllers/engine"
	"github.com/loopscope/loopscope/controllers/rollingupdate"
	"github.com/loopscope/loopscope/controllers/rollingupdate/effects"
	"github.com/loopscope/loopscope/telemetry"
)

// Look is how an update stands: the sync that its loop would do now, and how the last one
// ended, which may be another request's.
type Look struct {
	*telemetry.Trace
	Result *rollingupdate.Result `json:"result,omitempty"`
	// Now is when it was looked at.
	Now time.Time `json:"now"`

	old, new *corev1.ReplicationController
	// results are those of all its updates that are still told.
	results []*rollingupdate.Result
}

// Look looks at an update once. One that exists neither before nor after it is an error.
func (c *Client) Look(ctx context.Context, name string) (*Look, error) {
	l := &Look{Now: time.Now()}
	var err error
	if l.Trace, err = effects.Explain(ctx, c.API, c.Namespace, name, engine.Options{}); err != nil && !apierrors.IsNotFound(err) {
		return nil, err
	}
	list, err := c.API.CoreV1().ReplicationControllers(c.Namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	l.read(list.Items, name)
	if l.Trace == nil && l.Result == nil {
		return nil, fmt.Errorf("%w ReplicationController %s in namespace %s, and none that replaces it; list them with 'kubectl get rc -n %s'", errNone, name, c.Namespace, c.Namespace)
	}
	return l, nil
}

var errNone = errors.New("there is no")

// read finds the two, and how their last update ended.
func (l *Look) read(list []corev1.ReplicationController, name string) {
	for i := range list {
		if list[i].Name == name {
			l.old = &list[i]
		}
	}
	for i := range list {
		rc := &list[i]
		r := rollingupdate.ParseResult(rc.Annotations[rollingupdate.AnnotationResult])
		if r != nil && (rc.Name == name || r.From == name) {
			l.results = append(l.results, r)
			if l.Result == nil || r.At.After(l.Result.At) {
				l.Result = r
			}
		}
		if replaces(rc, name, l.old) || l.old != nil && rc.Name == l.old.Annotations[rollingupdate.AnnotationNext] {
			l.new = rc
		}
	}
}

// replaces reports whether one was made to replace that of the name, which is old, or nil
// where it is gone.
func replaces(rc *corev1.ReplicationController, name string, old *corev1.ReplicationController) bool {
	from, uid, _ := strings.Cut(rc.Annotations[rollingupdate.AnnotationSource], ":")
	return from == name && (old == nil || uid == string(old.UID))
}

// Number is one of the key numbers, 0 where it is not known.
func (l *Look) Number(fact string) int64 {
	if l.Trace == nil {
		return 0
	}
	for _, f := range l.Numbers {
		if n, is := f.Value.Int(); f.Name == fact && is {
			return n
		}
	}
	return 0
}

// end is how the request of that ID has ended, nil until everything is cleaned up. Results of
// other requests, however new, say nothing about it.
func (l *Look) end(id string) *rollingupdate.Result {
	i := slices.IndexFunc(l.results, func(r *rollingupdate.Result) bool { return r.ID == id })
	if i < 0 || l.asks(id) {
		return nil
	}
	return l.results[i]
}

// asks reports whether the request of that ID still stands, or what its last step waits for.
func (l *Look) asks(id string) bool {
	for _, rc := range []*corev1.ReplicationController{l.old, l.new} {
		if rc == nil {
			continue
		}
		if r, _ := requestOf(rc); r != nil && r.ID == id {
			return true
		}
		if p, err := rollingupdate.ParseParked(rc.Annotations[rollingupdate.AnnotationParked]); err == nil && p.ID == id {
			return true
		}
	}
	return false
}

// Invalid is what is wrong with the request, "" for nothing.
func (l *Look) Invalid() string {
	if l.Trace == nil || len(l.Rounds) == 0 {
		return ""
	}
	return l.Rounds[0].Verdict.Invalid
}

// bearer is the one that bears the request: the old one, or where that is gone the one that
// replaces it. It is nil where there is neither.
func (l *Look) bearer() *corev1.ReplicationController {
	if l.old == nil {
		return l.new
	}
	return l.old
}

// Request is what is asked for; nil for nothing.
func (l *Look) Request() *rollingupdate.Request {
	rc := l.bearer()
	if rc == nil {
		return nil
	}
	r, _ := requestOf(rc)
	return r
}

// UnderWay reports whether somebody asks for an update.
func (l *Look) UnderWay() bool { return l.Request() != nil }

// Watched is what has to end for the update to have ended: the request, or the last step of one
// that was removed meanwhile. It is false where nothing goes on.
func (l *Look) Watched(namespace, old string) (Started, bool) {
	s := Started{Namespace: namespace, Old: old}
	if r := l.Request(); r != nil {
		s.ID, s.Back = r.ID, r.Abort
		return s, true
	}
	if rc := l.bearer(); rc != nil {
		if p, err := rollingupdate.ParseParked(rc.Annotations[rollingupdate.AnnotationParked]); err == nil {
			s.ID = p.ID
			return s, true
		}
	}
	return s, false
}

// Needs reports whether nothing goes on by itself although no update has ended: one was left
// half-done, or its request cannot be carried out.
func (l *Look) Needs() bool {
	return l.Trace != nil && (l.Sentence.Code == rollingupdate.CodeHalfDone || l.Invalid() != "")
}

// Text is how it stands, as people are told.
func (l *Look) Text() string {
	if l.Trace == nil {
		return l.Gone()
	}
	return l.Sentence.At(l.Now)
}

// Gone says what became of the old one where it is gone.
func (l *Look) Gone() string {
	return fmt.Sprintf("%s has been replaced by %s", l.Result.From, l.Result.To)
}
