package timeline

import (
	"time"

	"github.com/loopscope/loopscope/telemetry"
)

// burstGap is how long after the one before a sync still belongs to its burst:
// a status that waits for more to come waits a second. burstMost bounds a burst.
const burstGap, burstMost = 1500 * time.Millisecond, 15 * time.Second

// Bursts parts syncs, oldest first, where they pause.
func Bursts(kept []*telemetry.Trace) [][]*telemetry.Trace {
	var bursts [][]*telemetry.Trace
	for _, t := range kept {
		if n := len(bursts); n > 0 {
			b := bursts[n-1]
			if last := b[len(b)-1]; t.Started.Sub(last.Ended) <= burstGap && t.Started.Sub(b[0].Started) <= burstMost {
				bursts[n-1] = append(b, t)
				continue
			}
		}
		bursts = append(bursts, []*telemetry.Trace{t})
	}
	return bursts
}
