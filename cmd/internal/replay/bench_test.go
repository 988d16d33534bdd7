package replay_test

import (
	"testing"

	"github.com/loopscope/loopscope/cmd/internal/replay"
)

// BenchmarkReplay is deciding, settling and comparing what the real loops
// recorded, a sync at a time.
func BenchmarkReplay(b *testing.B) {
	traces := recorded(b)
	b.ResetTimer()
	for i := 0; b.Loop(); i++ {
		if f := rules.Trace(traces[i%len(traces)]); f.Kind != replay.Equal {
			b.Fatal(f)
		}
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "syncs/s")
}
