package rollingupdate_test

import (
	"strings"
	"testing"
	"time"

	"github.com/loopscope/loopscope/controllers/rollingupdate"
	"github.com/loopscope/loopscope/telemetry/decision"
)

// TestPeriodThatHasPassed: of a sync whose update period has ended since, without another sync, nothing
// is said to be watched for another 0s, and no instant of the past makes another sentence of it.
func TestPeriodThatHasPassed(t *testing.T) {
	p := play(moving(3, 1, 1, stepped(20*time.Second)), decision.Try{}, nil)
	due := p.told.Sentence.ChangesAt
	for at, want := range map[time.Time]string{
		due.Add(-time.Second): "its pods are watched for another 1s. Then 1 pod of web is deleted.",
		due:                   "its pods have been watched for long enough. With the next sync 1 pod of web is deleted.",
		due.Add(time.Hour):    "its pods have been watched for long enough. With the next sync 1 pod of web is deleted.",
	} {
		said := p.tell(at)
		if text := said.At(at); !strings.HasSuffix(text, want) {
			t.Errorf("%s: %q, want %q", at, text, want)
		}
		if !said.ChangesAt.IsZero() && !said.ChangesAt.After(at) {
			t.Errorf("%s: it changes at %s", at, said.ChangesAt)
		}
	}
}

// TestBlockersSince: a held write tells no time of a pod that was ready until its last crash.
func TestBlockersSince(t *testing.T) {
	for crashed, want := range map[time.Duration]time.Time{10 * time.Second: {}, 2 * time.Minute: now.Add(-2 * time.Minute)} { // Since it was last ready.
		s := moving(3, 1, 0, stepped(20*time.Second))
		p := &s.New.Pods[0]
		p.Reason, p.Since, p.Exit = "CrashLoopBackOff", now.Add(-crashed), &decision.Exit{Code: 1, Restarts: 5, At: now.Add(-10 * time.Second)}
		v := rollingupdate.Decide(s)
		if len(v.Held) != 1 || len(v.Held[0].Blockers) != 1 || !v.Held[0].Blockers[0].Since.Equal(want) {
			t.Errorf("ready until %s ago: held %+v, want one blocker since %s", crashed, v.Held, want)
		}
	}
}
