package decision_test

import (
	"testing"
	"time"

	"github.com/loopscope/loopscope/telemetry/decision"
)

func TestNewsLastsAMinute(t *testing.T) {
	at := func(m int) time.Time { return noon.Add(time.Duration(m) * time.Minute) }
	for name, tc := range map[string]struct {
		news  decision.RecentChange
		rest  time.Time
		until time.Time
	}{
		"at rest before":            {decision.RecentChange{At: at(5)}, at(0), at(6)},
		"at rest after a rollout":   {decision.RecentChange{At: at(5)}, at(9), at(10)},
		"nobody knows since when":   {decision.RecentChange{At: at(5)}, time.Time{}, at(6)},
		"told, and moved once more": {decision.RecentChange{At: at(5), Told: at(6)}, at(9), at(7)},
	} {
		if got := tc.news.Until(tc.rest); !got.Equal(tc.until) {
			t.Errorf("%s: told until %s, want %s", name, got, tc.until)
		}
	}
}

func TestNewsIsOver(t *testing.T) {
	for name, tc := range map[string]struct {
		news decision.RecentChange
		over bool
	}{
		"told just now":           {decision.RecentChange{At: noon.Add(-time.Hour), Told: noon.Add(-time.Minute)}, false},
		"told before":             {decision.RecentChange{At: noon.Add(-time.Hour), Told: noon.Add(-time.Minute - 1)}, true},
		"waits":                   {decision.RecentChange{At: noon.Add(-time.Hour)}, false},
		"has waited for too long": {decision.RecentChange{At: noon.Add(-time.Hour - 1)}, true},
	} {
		if got := tc.news.Over(noon); got != tc.over {
			t.Errorf("%s: over is %v", name, got)
		}
	}
}
