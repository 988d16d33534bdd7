package engine

import (
	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/decision"
)

// outageTries is how many tries an API server that is down may cost a key: with
// the twelfth the back-off has grown to ten seconds.
const outageTries = 12

// retryDuringOutage tries a key again every echoMost for as long as no API server can
// serve. Counted as tries, an outage of three minutes would drop every
// Deployment with work to do, and no event would bring it back; a back-off
// that goes on to double would leave a ReplicaSet without pods for a quarter of
// an hour after one of ten.
func (l *Loop) retryDuringOutage(t *telemetry.Trace) {
	now := l.opts.Clock.Now()
	t.Try.Next = l.queue.EnqueueAfter(t.Key(), telemetry.Cause{Kind: telemetry.CauseBackoff, At: now, Code: string(t.Result), Due: now.Add(echoMost)}, echoMost)
	if t.Try.Next.IsZero() { // The loop ends.
		return
	}
	t.Timers = append(t.Timers, decision.Timer{At: t.Try.Next, Code: telemetry.CodeBackoff})
}

// Resume tries at once, and as if for the first time, every key whose last sync
// failed because no API server could serve. It is for whoever learns earlier
// than a back-off ends that one serves again.
func (l *Loop) Resume() {
	for _, key := range l.stranded.take() {
		l.tryNow(key, telemetry.Cause{Kind: telemetry.CauseBackoff, At: l.opts.Clock.Now(), Code: telemetry.CodeAnswersAgain})
	}
}
