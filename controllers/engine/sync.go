package engine

import (
	"context"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/reference"

	"github.com/loopscope/loopscope/controllers/diagnosis"
	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/decision"
	"github.com/loopscope/loopscope/telemetry/queue"
	"github.com/loopscope/loopscope/telemetry/redact"
)

// sync is one sync of one key, from taking it to giving it back: run it, see
// how it ended, ask for the next one, record it. The record comes last so that
// it says when the key is looked at again, and it never blocks.
func (l *Loop) sync(ctx context.Context, w queue.Work[string], worker int) {
	defer l.queue.Done(w.Key)
	l.stranded.forget(w.Key)
	namespace, name, _ := strings.Cut(w.Key, "/")
	t := &telemetry.Trace{
		Object:  telemetry.Object{Loop: l.name, Namespace: namespace, Name: name},
		Causes:  w.Causes,
		Folded:  w.Folded,
		TakenBy: w.TakenBy,
		Worker:  worker,
		Queued:  w.Queued,
		Started: l.opts.Clock.Now(),
	}
	l.opts.Ledger.NoteWait(l.name, t.Wait())
	target := l.attempt(ctx, t)
	t.Result = result(t, target)
	l.requeue(t)
	t.Ended = l.opts.Clock.Now()
	if l.opts.Recorder == (discard{}) {
		l.unblocks.follow(t)
		return
	}
	l.describe(t, target)
	l.unblocks.follow(t)
	l.record(t, target)
}

// Look is one sync of an object that nobody asked for but the reader: nothing is queued,
// recorded or tried again. In Watch mode nothing is written either.
func (l *Loop) Look(ctx context.Context, namespace, name string) *telemetry.Trace {
	t := &telemetry.Trace{
		Version: telemetry.TraceVersion,
		Object:  telemetry.Object{Loop: l.name, Namespace: namespace, Name: name},
		Causes:  []telemetry.Cause{},
		Started: l.opts.Clock.Now(),
	}
	t.Queued = t.Started
	target := l.attempt(ctx, t)
	t.Result = result(t, target)
	t.Ended = l.opts.Clock.Now()
	l.describe(t, target)
	return t
}

// attempt runs the four verbs and recovers a panic into the trace, so that one
// broken object cannot stop the loop for all others.
func (l *Loop) attempt(ctx context.Context, t *telemetry.Trace) (target Sync) {
	defer func() {
		if p := recover(); p != nil {
			t.Failure = &decision.Failure{Reason: reasonPanic, Message: redact.Message(fmt.Sprint(p))}
			l.opts.Logger.Error("Sync panicked", "controller", l.name, "key", t.Key(), "panic", t.Failure.Message, "stack", string(debug.Stack()))
		}
	}()
	t.Standby = l.mode() == Standby // For an Observe that panics.
	clock := l.stopwatch()
	target, err := l.controller.Observe(ctx, t.Key())
	t.Phases.Observe = clock()
	mode := l.mode()
	t.Standby = mode == Standby
	if err != nil {
		t.Failure = FailureOf(fmt.Errorf("observe: %w", err))
		t.Failure.Message = redact.Message(t.Failure.Message)
		return nil
	}
	s := decision.Sync{Core: target.Core()}
	defer func() { t.Rounds = s.Rounds }() // Where it panics, too.
	s.Run(func(v decision.Verdict) ([]decision.Outcome, decision.Learnt) {
		t.Phases.Decide += clock()
		if mode != Act {
			return nil, decision.Learnt{}
		}
		outcomes, learnt := l.act(ctx, target, v.Actions)
		t.Phases.Act += clock()
		if learnt.NamespaceTerminating {
			l.opts.Ledger.namespaces.markTerminating(t.Namespace, WallTime(l.opts.Clock.Now()))
		}
		return outcomes, learnt
	})
	t.Rounds, t.Report = s.Rounds, s.Report
	t.Timers = t.Rounds[len(t.Rounds)-1].Verdict.Timers
	if t.Report != nil {
		t.Phases.Settle = clock()
		l.publish(ctx, t, target, mode)
		t.Phases.Publish = clock()
	}
	return target
}

// publish writes the status, once, and then the events, in Act mode alone.
func (l *Loop) publish(ctx context.Context, t *telemetry.Trace, target Sync, mode Mode) {
	t.Timers = slices.Concat(t.Timers, t.Report.Timers)
	uid := types.UID(target.Identity().UID)
	if t.Report.Hold {
		l.Hold(t.Key(), uid, t.Started)
	} else {
		l.deferred.forget(t.Key())
	}
	if mode != Act {
		return
	}
	if t.Report.Publish {
		outcome := target.Publish(ctx)
		target.RedactFailure(outcome.Failure)
		t.Report.Outcome = &outcome
		if outcome.State == decision.Refused || outcome.State == decision.Unanswered {
			// It is due: held back once more, the next try would pass for a success.
			l.Hold(t.Key(), uid, t.Started.Add(-decision.LongestWindow))
		}
	}
	if object := target.Object(); object != nil {
		for _, e := range t.Report.Events {
			l.recorder.Event(eventObject(object, e.On), e.Type, e.Reason, target.Unredact(e.Message))
		}
	}
}

// eventObject is what an event is about: the object of the sync, or another one of its kind.
func eventObject(own runtime.Object, on *decision.Ref) runtime.Object {
	if on == nil {
		return own
	}
	other, err := reference.GetReference(scheme.Scheme, own)
	if err != nil {
		return own
	}
	other = other.DeepCopy()
	other.Name, other.UID, other.ResourceVersion = on.Name, types.UID(on.UID), on.RV
	return other
}

// result is how the sync ended: the worst that happened to any write.
func result(t *telemetry.Trace, target Sync) telemetry.Result {
	if t.Failure != nil {
		if t.Failure.Reason == reasonPanic {
			return telemetry.ResultPanicked
		}
		return telemetry.ResultFailed
	}
	if target.Identity().Waiting {
		return telemetry.ResultWaiting
	}
	worst := 0
	for _, o := range lastOutcomes(t) {
		worst = max(worst, slices.Index(severities, resultOf(o)))
		if t.Failure == nil && !o.OK() {
			t.Failure = o.LostReply()
		}
	}
	if invalid := t.Rounds[len(t.Rounds)-1].Verdict.Invalid; invalid != "" {
		// The object itself is wrong: no retry fixes that, and its next change wakes the key.
		t.Failure = &decision.Failure{Reason: "Invalid", Message: invalid, Terminal: true}
		return telemetry.ResultFailed
	}
	return severities[worst]
}

// lastOutcomes are the outcomes that stand: those of the last round, what
// earlier rounds wrote, and the status write.
func lastOutcomes(t *telemetry.Trace) []decision.Outcome {
	var all []decision.Outcome
	for i, r := range t.Rounds {
		for _, o := range r.Outcomes {
			// What failed in an earlier round was answered by the next one.
			if i == len(t.Rounds)-1 || o.State == decision.Written {
				all = append(all, o)
			}
		}
	}
	if t.Report != nil && t.Report.Outcome != nil {
		all = append(all, *t.Report.Outcome)
	}
	return all
}

func resultOf(o decision.Outcome) telemetry.Result {
	switch o.State {
	case decision.Written:
		return telemetry.ResultWrote
	case decision.Superseded:
		return telemetry.ResultSuperseded
	case decision.Conflicted:
		return telemetry.ResultStale
	case decision.Unknown:
		return telemetry.ResultUnknown
	case decision.Refused, decision.Unanswered, decision.Partly:
		return telemetry.ResultFailed
	default:
		return telemetry.ResultUnchanged
	}
}

// severities are the results of writes, the most severe last. A sync has that of its writes.
var severities = []telemetry.Result{
	telemetry.ResultUnchanged, telemetry.ResultWrote, telemetry.ResultSuperseded, telemetry.ResultStale, telemetry.ResultFailed, telemetry.ResultUnknown,
}

// requeue asks for the next sync of the key: by back-off after an error, at the
// armed timers otherwise. An error that no retry fixes ends it.
func (l *Loop) requeue(t *telemetry.Trace) {
	key := t.Key()
	l.arm(t)
	switch t.Result {
	case telemetry.ResultFailed, telemetry.ResultPanicked, telemetry.ResultStale, telemetry.ResultUnknown:
	case telemetry.ResultWaiting:
		return // Not a try: the echo brings the next sync, its timer otherwise.
	case telemetry.ResultSuperseded:
		l.lookAgain(t)
		return
	default:
		l.queue.Forget(key)
		return
	}
	if t.Result == telemetry.ResultUnknown {
		l.MarkUnresolved(key)
	}
	if t.Failure != nil && t.Failure.Terminal {
		l.queue.Forget(key)
		return
	}
	l.retry(t)
}

// lookAgain sets a timer for the echo that a superseded write waits for: a wait
// that only an event ends is one that a lost event never ends.
func (l *Loop) lookAgain(t *telemetry.Trace) {
	timer := decision.Timer{At: l.opts.Clock.Now().Add(echoFirst), Code: telemetry.CodeEcho}
	t.Timers = append(t.Timers, timer)
	l.wake(t.Key(), timer)
}

func (l *Loop) retry(t *telemetry.Trace) {
	key := t.Key()
	tries := int64(l.queue.NumRequeues(key)) + 1
	t.Try = decision.Try{Number: tries, Limit: l.limit}
	if t.Failure.Down() {
		l.stranded.add(key)
		if tries > outageTries {
			l.retryDuringOutage(t)
			return
		}
	}
	if l.limit > 0 && tries > l.limit {
		t.Try.Dropped = true
		t.Result = telemetry.ResultDropped
		l.queue.Forget(key)
		l.opts.Logger.Error("Dropped after its last try", "controller", l.name, "key", key, "tries", tries-1, "error", message(t.Failure))
		return
	}
	next := l.queue.Retry(key, telemetry.Cause{Kind: telemetry.CauseBackoff, At: l.opts.Clock.Now(), Code: string(t.Result)})
	if next.IsZero() { // The loop ends.
		l.opts.Logger.Info("Sync failed, and the loop ends", "controller", l.name, "key", key, "try", tries, "error", message(t.Failure))
		return
	}
	t.Try.Next = next
	t.Timers = append(t.Timers, decision.Timer{At: t.Try.Next, Code: telemetry.CodeBackoff})
	l.opts.Logger.Info("Sync failed, will try again", "controller", l.name, "key", key, "try", tries, "next", t.Try.Next, "error", message(t.Failure))
}

// arm sets every timer of the sync; the queue keeps the earliest.
func (l *Loop) arm(t *telemetry.Trace) {
	for _, timer := range t.Timers {
		l.wake(t.Key(), timer)
	}
}

func (l *Loop) wake(key string, timer decision.Timer) {
	now := l.opts.Clock.Now()
	l.queue.EnqueueAfter(key, telemetry.Cause{
		Kind: telemetry.CauseTimer, At: now, Code: timer.Code, Due: timer.At,
	}, timer.At.Sub(now))
}

// describe adds what a person reads: the sentence, the numbers, the snapshot. A
// sync that panicked keeps the snapshot that made it panic.
func (l *Loop) describe(t *telemetry.Trace, target Sync) {
	if target == nil || !l.say(t, target) {
		t.Sentence = unobserved(t)
	}
}

// say adds what the sync itself has to say. It reports whether there is a sentence.
func (l *Loop) say(t *telemetry.Trace, target Sync) (said bool) {
	defer func() {
		if p := recover(); p != nil { // Words must never stop a loop.
			l.opts.Logger.Error("Describing a sync panicked", "controller", l.name, "key", t.Key(), "panic", redact.Message(fmt.Sprint(p)))
		}
	}()
	id := target.Identity()
	t.UID, t.Owner, t.Gone = id.UID, id.Owner, !id.Found
	var err error
	if t.Snapshot, err = target.Snapshot(); err != nil {
		l.opts.Logger.Error("Snapshot cannot be recorded", "controller", l.name, "key", t.Key(), "error", redact.Message(err.Error()))
	}
	if t.Result == telemetry.ResultPanicked {
		return false
	}
	told := target.Core().Tell(t.Rounds, t.Report, t.Try, target.Now())
	t.Numbers, t.Diagnosis, t.Sentence = told.Numbers, told.Diagnosis, told.Sentence
	return true
}

// unobserved is the sentence of a sync that has no snapshot to speak of.
func unobserved(t *telemetry.Trace) decision.Sentence {
	s := decision.Sentence{
		Namespace: t.Namespace, Object: t.Name, Tone: decision.ToneFailed, Verb: "has", State: "failed", Code: telemetry.CodeUnobserved,
		Lead: decision.Words{}.Say("the sync ended before it could decide (").Quote(message(t.Failure)).Say(")"),
	}
	switch why, _ := diagnosis.Unanswered(&decision.Outcome{State: decision.Unanswered, Failure: t.Failure}); {
	case t.Failure.Down():
		s.Tone, s.Verb, s.State, s.Code = decision.ToneWaiting, "is", "waiting", telemetry.CodeUnanswered
		s.Lead, s.Then = why.Say(", so the sync ended before it could decide"), diagnosis.Again(t.Try)
	case !t.Try.Next.IsZero():
		s.Then = decision.Words{}.Say("Tries again in ").Until(t.Try.Next)
	}
	return s
}

// record links echoes to the syncs that wrote them and hands the trace over. A
// broken recorder costs a trace and never the process.
func (l *Loop) record(t *telemetry.Trace, target Sync) {
	defer func() {
		if p := recover(); p != nil {
			l.opts.Logger.Error("Recording a sync panicked", "controller", l.name, "key", t.Key(), "panic", redact.Message(fmt.Sprint(p)))
		}
	}()
	for i := range t.Causes {
		c := &t.Causes[i]
		if c.NewRV == "" {
			continue
		}
		kind, name, _ := strings.Cut(c.Object, " ")
		if seq, ok := l.opts.Recorder.SyncOf(kind, t.Namespace, name, c.NewRV); ok {
			c.Sync, c.Manager = seq, "" // It is our own, whatever was signed.
		} else {
			l.signedAlike(t, c)
		}
	}
	if l.Unresolved(t.Key()) { // What the next sync is told of may be our own.
		l.doubtful.add(t.Key())
	} else {
		l.doubtful.forget(t.Key())
	}
	if target != nil {
		target.Remember(t)
	}
	l.opts.Recorder.Record(t)
	l.queue.Taken(t.Key(), t.Seq)
}

// stopwatch returns a function that gives the time since it was called last.
func (l *Loop) stopwatch() func() time.Duration {
	last := l.opts.Clock.Now()
	return func() time.Duration {
		now := l.opts.Clock.Now()
		took := now.Sub(last)
		last = now
		return took
	}
}

func message(f *decision.Failure) string {
	if f == nil {
		return ""
	}
	return f.Message
}
