package leadership_test

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/loopscope/loopscope/cmd/internal/leadership"
	"github.com/loopscope/loopscope/telemetry"
)

// Three writes within a minute make a rival, of which the log is told once, until it has
// been quiet for a minute.
func TestRivals(t *testing.T) {
	var log bytes.Buffer
	now := time.Date(2026, 3, 14, 12, 0, 0, 0, time.UTC)
	r := leadership.NewRivals(slog.New(slog.NewTextHandler(&log, nil)), func() time.Time { return now })
	for i, step := range []struct {
		after  time.Duration
		writes int // that are held against it after this one
		warned int
	}{{0, 0, 0}, {59 * time.Second, 0, 0}, {time.Second, 0, 0}, {58 * time.Second, 3, 1}, {0, 4, 1}, {time.Minute, 0, 1}, {time.Second, 0, 1}, {time.Second, 3, 2}} {
		now = now.Add(step.after)
		r.Note("loopscope", "Deployment shop/web")
		want := telemetry.Rival{}
		if step.writes > 0 {
			want = telemetry.Rival{Writes: step.writes, Last: now, Manager: "loopscope", Object: "Deployment shop/web"}
		}
		if got := r.State(); got != want || strings.Count(log.String(), "Another manager") != step.warned || r.Total() != uint64(i+1) {
			t.Errorf("write %d: %+v, %d in all, log:\n%s", i+1, got, r.Total(), log.String())
		}
	}
	now = now.Add(time.Minute)
	if got := r.State(); got != (telemetry.Rival{}) {
		t.Errorf("long after the last write: %+v", got)
	}
}
