package metrics

import (
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/loopscope/loopscope/telemetry"
)

func TestHistory(t *testing.T) {
	m, reg := newMetrics(t)
	compare(t, reg, "", "loopscope_history_syncs", "loopscope_history_failing")
	state := telemetry.ArchiveState{Kept: 1, Bytes: 2, MaxBytes: 3, Written: 4, Dropped: 5, Expired: 6, Errors: 7}
	m.History(func() telemetry.ArchiveState { return state })
	compare(t, reg, `
# HELP loopscope_history_syncs Syncs that the history holds.
# TYPE loopscope_history_syncs gauge
loopscope_history_syncs 1
# HELP loopscope_history_size_bytes Bytes that the history takes on the disk.
# TYPE loopscope_history_size_bytes gauge
loopscope_history_size_bytes 2
# HELP loopscope_history_limit_bytes Bytes that the history may take.
# TYPE loopscope_history_limit_bytes gauge
loopscope_history_limit_bytes 3
# HELP loopscope_history_oldest_timestamp_seconds When the oldest sync of the history started, 0 while there is none.
# TYPE loopscope_history_oldest_timestamp_seconds gauge
loopscope_history_oldest_timestamp_seconds 0
# HELP loopscope_history_failing Whether syncs are not kept for now, as the file cannot be had or written.
# TYPE loopscope_history_failing gauge
loopscope_history_failing 0
# HELP loopscope_history_written_total Syncs that this process has kept.
# TYPE loopscope_history_written_total counter
loopscope_history_written_total 4
# HELP loopscope_history_dropped_total Syncs that this process could not keep.
# TYPE loopscope_history_dropped_total counter
loopscope_history_dropped_total 5
# HELP loopscope_history_expired_total Syncs that were let go for their age or for room.
# TYPE loopscope_history_expired_total counter
loopscope_history_expired_total 6
# HELP loopscope_history_errors_total Failed attempts to open or write the history.
# TYPE loopscope_history_errors_total counter
loopscope_history_errors_total 7
`, "loopscope_history_syncs", "loopscope_history_size_bytes", "loopscope_history_limit_bytes", "loopscope_history_oldest_timestamp_seconds", "loopscope_history_failing",
		"loopscope_history_written_total", "loopscope_history_dropped_total", "loopscope_history_expired_total", "loopscope_history_errors_total")
	state.Error, state.Oldest = "the disk is full", time.UnixMilli(1500)
	compare(t, reg, `
# HELP loopscope_history_oldest_timestamp_seconds When the oldest sync of the history started, 0 while there is none.
# TYPE loopscope_history_oldest_timestamp_seconds gauge
loopscope_history_oldest_timestamp_seconds 1.5
# HELP loopscope_history_failing Whether syncs are not kept for now, as the file cannot be had or written.
# TYPE loopscope_history_failing gauge
loopscope_history_failing 1
`, "loopscope_history_oldest_timestamp_seconds", "loopscope_history_failing")
	if problems, err := testutil.GatherAndLint(reg); err != nil || len(problems) > 0 {
		t.Errorf("lint: %v, %v", problems, err)
	}
}
