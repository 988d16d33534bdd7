package instrument

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/decision"
)

// What one sync may say; what is beyond is left out, and a trace stays readable.
const (
	maxSteps  = 256
	maxFacts  = 32
	maxWrites = 256
	maxHeld   = 64
	maxTimers = 16
)

// syncUnderWay is the sync of one key from Get to Done. A sync may ask and write from several
// goroutines; what comes after Done is left out.
type syncUnderWay struct {
	controller *Controller

	mu      sync.Mutex
	done    bool
	trace   *telemetry.Trace
	verdict decision.Verdict
	writes  []decision.Outcome
	said    *decision.Sentence
	api     time.Duration
	err     error
	gone    bool
	silent  bool // the last request was a read, and no API server answered it
}

type contextKey struct{}

// under is the sync that a context belongs to; nil for none.
func under(ctx context.Context) *syncUnderWay {
	s, _ := ctx.Value(contextKey{}).(*syncUnderWay)
	return s
}

// note calls f, unless the sync is over.
func (s *syncUnderWay) note(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.done {
		f()
	}
}

// run calls the handler of the sync and keeps how it ended. A panic goes on.
func (s *syncUnderWay) run(ctx context.Context, handle func(context.Context) error) (err error) {
	began := time.Now()
	defer func() {
		p := recover()
		s.note(func() {
			s.err = err
			s.trace.Phases.Act = s.api
			s.trace.Phases.Decide = max(0, time.Since(began)-s.api)
			if p != nil {
				s.trace.Failure = &decision.Failure{Reason: reasonPanic, Message: line(fmt.Sprint(p))}
			}
		})
		if p != nil {
			panic(p)
		}
	}()
	return handle(context.WithValue(ctx, contextKey{}, s))
}

// reasonPanic is the reason of a failure that was a panic.
const reasonPanic = "Panic"

// finish is the trace of the sync, which is over.
func (s *syncUnderWay) finish(ended time.Time) *telemetry.Trace {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.done = true
	t := s.trace
	t.Ended, t.Gone = ended, s.gone
	if s.err != nil && t.Failure == nil {
		t.Failure = s.failureOf(s.err)
	}
	t.Rounds = []decision.Round{{Verdict: s.verdict, Outcomes: s.writes}}
	t.Report = &decision.Report{}
	t.Result = s.result()
	t.Sentence = s.tell()
	return t
}

// result is how the sync ended. An error that its handler took for none is none.
func (s *syncUnderWay) result() telemetry.Result {
	switch {
	case s.trace.Failure != nil && s.trace.Failure.Reason == reasonPanic:
		return telemetry.ResultPanicked
	case apierrors.IsConflict(s.err):
		return telemetry.ResultStale
	case s.err != nil && s.lost():
		return telemetry.ResultUnknown
	case s.err != nil:
		return telemetry.ResultFailed
	}
	for i := range s.writes {
		if s.writes[i].State == decision.Written {
			return telemetry.ResultWrote
		}
	}
	return telemetry.ResultUnchanged
}

// lost reports whether the reply to the last write was.
func (s *syncUnderWay) lost() bool {
	n := len(s.writes)
	return n > 0 && s.writes[n-1].State == decision.Unknown
}

// failureOf keeps of an error what the record may hold. That no API server answered is not read from
// the error itself: it may be of another server that the handler asks.
func (s *syncUnderWay) failureOf(err error) *decision.Failure {
	f := &decision.Failure{Message: line(err.Error()), Reason: string(apierrors.ReasonForError(err))}
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		f.Code = int(status.Status().Code)
	}
	if f.Code == 0 && s.silent {
		f.Reason = decision.Unreachable
	}
	return f
}
