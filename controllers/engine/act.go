package engine

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"runtime/debug"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	utilnet "k8s.io/apimachinery/pkg/util/net"

	"github.com/loopscope/loopscope/telemetry/decision"
	"github.com/loopscope/loopscope/telemetry/redact"
)

// act carries out the actions in order, in runs that share a discipline, and
// stops after the first run that failed or learnt something: what was learnt is
// decided on before anything else is done.
func (l *Loop) act(ctx context.Context, t Sync, actions []decision.Action) ([]decision.Outcome, decision.Learnt) {
	outcomes := make([]decision.Outcome, len(actions))
	for i := range outcomes {
		outcomes[i].State = decision.NotTried
	}
	var learnt decision.Learnt
	for start := 0; start < len(actions); {
		end := start + 1
		for end < len(actions) && actions[end].Discipline == actions[start].Discipline {
			end++
		}
		ok := l.run(ctx, t, actions[start:end], outcomes[start:end], &learnt)
		if !ok || !learnt.IsZero() {
			break
		}
		start = end
	}
	return outcomes, learnt
}

// run carries out actions of one discipline and reports whether all went well.
// Slow start and all-at-once hold for the many pods inside one action.
func (l *Loop) run(ctx context.Context, t Sync, actions []decision.Action, outcomes []decision.Outcome, learnt *decision.Learnt) bool {
	all := true
	for i, a := range actions {
		clock := l.stopwatch()
		o, found := t.Do(ctx, a)
		o.Took = clock()
		t.RedactFailure(o.Failure)
		t.RedactFailure(o.Lost)
		outcomes[i] = o
		learnt.Add(found)
		if o.OK() {
			continue
		}
		all = false
		if a.Discipline == decision.StopAtFirst {
			return false
		}
	}
	return all
}

// OutcomeOf turns an API reply into an outcome. A reply that never came, or a
// server that gave up in the middle, leaves the outcome unknown.
func OutcomeOf(rv string, err error) decision.Outcome {
	switch {
	case err == nil:
		return decision.Outcome{State: decision.Written, RV: rv}
	case apierrors.IsConflict(err):
		return decision.Outcome{State: decision.Conflicted, Failure: FailureOf(err)}
	case OutcomeUnknown(err):
		return decision.Outcome{State: decision.Unknown, Failure: FailureOf(err)}
	default:
		return Refusal(err)
	}
}

// Refusal is the outcome of a request that did nothing: somebody said no, or nobody
// was there to say anything.
func Refusal(err error) decision.Outcome {
	o := decision.Outcome{State: decision.Refused, Failure: FailureOf(err)}
	if o.Failure.Down() {
		o.State = decision.Unanswered
	}
	return o
}

// OutcomeUnknown reports whether a write may have been committed although it failed.
func OutcomeUnknown(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return !utilnet.IsConnectionRefused(err) // Refused: nothing was sent.
	}
	switch status.Status().Code {
	case http.StatusInternalServerError:
		return !FailureOf(err).WebhookFailed()
	case http.StatusGatewayTimeout, http.StatusBadGateway:
		return true
	}
	return false
}

// panicked is a panic where an error was due.
type panicked struct{ what any }

func (p panicked) Error() string { return fmt.Sprint("panic: ", p.what) }

// WithRecover sends a request in a goroutine of its own, where nobody else would
// recover a panic. Whether it was committed is then unknown.
func (l *Loop) WithRecover(send func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			l.opts.Logger.Error("Request panicked", "controller", l.name, "panic", redact.Message(fmt.Sprint(p)), "stack", string(debug.Stack()))
			err = panicked{p}
		}
	}()
	return send()
}

// FailureOf keeps of an error what the record may hold.
func FailureOf(err error) *decision.Failure {
	f := &decision.Failure{Message: err.Error(), Reason: string(apierrors.ReasonForError(err))}
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		f.Code = int(status.Status().Code)
	}
	if f.Code == 0 && unanswered(err) {
		f.Reason = decision.Unreachable
	}
	if p := (panicked{}); errors.As(err, &p) {
		f.Reason = reasonPanic
	}
	f.Terminal = NamespaceTerminating(err)
	return f
}

// reasonPanic is the reason of a failure that was a panic.
const reasonPanic = "Panic"

// unanswered reports whether a request got no answer at all.
func unanswered(err error) bool {
	var request *url.Error
	return errors.As(err, &request) && !errors.Is(err, context.Canceled)
}

// NamespaceTerminating reports whether a request was refused because its namespace is being
// deleted.
func NamespaceTerminating(err error) bool {
	return apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause)
}

// Unsupported is the outcome of an action nobody carries out: a defect of ours that
// must be seen, not guessed around.
func Unsupported(a decision.Action) decision.Outcome {
	return decision.Outcome{State: decision.Refused, Failure: &decision.Failure{Reason: "Unsupported", Message: fmt.Sprintf("no code carries out %s", a.Kind)}}
}
