package telemetry

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/loopscope/loopscope/telemetry/decision"
)

// BenchmarkRecord records as fast as it can, with nobody watching and with 200
// readers that each take every trace they can get. The readers share the cores
// with the recorder, so ns/op holds their work too; what a sync waits for is
// BenchmarkRecordPaced.
func BenchmarkRecord(b *testing.B) {
	for _, readers := range []int{0, 200} {
		b.Run(fmt.Sprintf("readers=%d", readers), func(b *testing.B) {
			watched(b, readers, func(j *Journal, traces []Trace) {
				for i := range traces {
					j.Record(&traces[i])
				}
			})
		})
	}
}

// BenchmarkRecordPaced records 1,000 traces a second, several times what a busy
// cluster gives, and reports the time inside Record: the median and the slowest
// hundredth. p50-ratio divides the medians: what 200 readers cost a sync.
func BenchmarkRecordPaced(b *testing.B) {
	medians := map[int]float64{}
	for _, readers := range []int{0, 200} {
		b.Run(fmt.Sprintf("readers=%d", readers), func(b *testing.B) {
			watched(b, readers, func(j *Journal, traces []Trace) {
				spent := paced(j, traces)
				medians[readers] = spent[len(spent)/2]
				b.ReportMetric(medians[readers], "p50-ns")
				b.ReportMetric(spent[len(spent)*99/100], "p99-ns")
				if alone := medians[0]; readers > 0 && alone > 0 {
					b.ReportMetric(medians[readers]/alone, "p50-ratio")
				}
			})
		})
	}
}

// paced returns the time of each Record, sorted.
func paced(j *Journal, traces []Trace) []float64 {
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	spent := make([]float64, len(traces))
	for i := range traces {
		<-tick.C
		start := time.Now()
		j.Record(&traces[i])
		spent[i] = float64(time.Since(start))
	}
	slices.Sort(spent)
	return spent
}

// watched times work on a journal with that many readers.
func watched(b *testing.B, readers int, work func(*Journal, []Trace)) {
	j := NewJournal(JournalOptions{Loops: TestLoops})
	ctx, cancel := context.WithCancel(context.Background())
	var wait sync.WaitGroup
	wait.Go(func() { j.Run(ctx) })
	var seen atomic.Uint64
	for range readers {
		wait.Go(func() { seen.Add(follow(ctx, j)) })
	}
	traces := make([]Trace, b.N)
	for i := range traces {
		traces[i] = typical(i)
	}
	b.ReportAllocs()
	b.ResetTimer()
	work(j, traces)
	b.StopTimer()
	cancel()
	wait.Wait()
	if readers > 0 {
		b.ReportMetric(float64(seen.Load())/float64(readers), "seen/reader")
	}
}

func follow(ctx context.Context, j *Journal) (seen uint64) {
	for after := uint64(0); ; {
		batch, _, err := j.Next(ctx, after)
		if err != nil {
			return seen
		}
		seen += uint64(len(batch))
		after = batch[len(batch)-1].Seq
	}
}

var benchKeys = func() (names [500]string) {
	for i := range names {
		names[i] = fmt.Sprintf("web-%d", i)
	}
	return names
}()

// typical is a sync as the loops record them: one in four writes, and some
// other version each time. The path is shared, so that the benchmark measures
// Record and not the memory of a million paths.
func typical(i int) Trace {
	t := Trace{Object: object(benchKeys[i%len(benchKeys)]), Result: ResultUnchanged, Sentence: decision.Sentence{Tone: decision.ToneOK}, Rounds: benchRounds}
	if i%4 == 0 {
		t.Result = ResultWrote
		t.Report = &decision.Report{Outcome: &decision.Outcome{State: decision.Written, RV: strconv.Itoa(i)}}
	}
	return t
}

var benchRounds = []decision.Round{{Verdict: decision.Verdict{Path: make(decision.Path, 20)}}}
