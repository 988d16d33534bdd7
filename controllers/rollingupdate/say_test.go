package rollingupdate_test

import (
	"strings"
	"testing"
	"time"

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
