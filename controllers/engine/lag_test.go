package engine

import (
	"testing"
	"time"
)

// The lag follows the waits of the loop that is behind the most, and falls
// again when nothing waits.
func TestLagFollowsTheWaits(t *testing.T) {
	var l lags
	if l.longest() != 0 {
		t.Fatal("a lag before anything waited")
	}
	for range 50 {
		l.note("replicaset", time.Second)
		l.note("deployment", time.Millisecond)
	}
	if lag := l.longest(); lag < 950*time.Millisecond || lag > time.Second {
		t.Errorf("after waits of a second the lag is %s", lag)
	}
	for range 50 {
		l.note("replicaset", 0)
	}
	if lag := l.longest(); lag > 5*time.Millisecond {
		t.Errorf("after no waits the lag is %s", lag)
	}
}
