package engine

import "github.com/loopscope/loopscope/telemetry"

// Lead syncs every key once more, as what was decided so far was not written. It is for
// the moment in which Leads becomes true; first is whether nobody has led since the process started.
func (l *Loop) Lead(first bool) {
	cause := telemetry.Cause{Kind: telemetry.CauseLead, At: l.opts.Clock.Now()}
	if first {
		cause.Code = telemetry.CodeFirstLeader
	}
	for _, key := range l.allKeys() {
		l.tryNow(key, cause)
	}
}

func (l *Loop) allKeys() []string {
	if c, ok := l.controller.(Keyed); ok {
		return c.Keys()
	}
	return l.caches[0].informer.GetStore().ListKeys()
}

// tryNow tries a key at once, and as if for the first time.
func (l *Loop) tryNow(key string, cause telemetry.Cause) {
	l.queue.Forget(key)
	l.queue.Enqueue(key, cause)
}
