package history

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/loopscope/loopscope/telemetry"
)

// benchRate is how many syncs a second the rollout bench makes: 200 Deployments,
// about 75 syncs each, in 100 seconds.
const benchRate = 150

// TestFeed records syncs of 10,000 objects with the history behind the journal,
// and says what that takes of memory. LOOPSCOPE_FEED=10m does so for ten minutes
// at the rate of the rollout bench; without it a few go in as fast as they can.
func TestFeed(t *testing.T) {
	lasts, _ := time.ParseDuration(os.Getenv("LOOPSCOPE_FEED"))
	syncs, pause := 2000, time.Duration(0)
	if lasts > 0 {
		syncs, pause = int(lasts.Seconds()*benchRate), time.Second/benchRate
	}
	journal := telemetry.NewJournal(telemetry.JournalOptions{})
	path := filepath.Join(t.TempDir(), "history.db")
	keeper := Keep(path, Options{}, slog.New(slog.DiscardHandler))
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go journal.Run(ctx)
	go func() { ended <- keeper.Run(ctx, journal) }()
	g := newGenerator(t, 1, 10_000)
	before := heap()
	began, slowest := time.Now(), time.Duration(0)
	for n := range syncs {
		x := g.next()
		at := time.Now()
		journal.Record(x)
		slowest = max(slowest, time.Since(at))
		time.Sleep(time.Until(began.Add(time.Duration(n) * pause))) // The rate that is asked for; none in the sample.
	}
	took := time.Since(began)
	after := heap()
	cancel()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	st := keeper.State()
	if st.Written+st.Dropped < uint64(syncs) || st.Dropped > 0 && lasts > 0 {
		t.Errorf("%d of %d syncs are kept, %d were dropped", st.Written, syncs, st.Dropped)
	}
	t.Logf("%d syncs of %d objects in %s: heap in use %d MB, before it %d MB; the process at most %s; the file %d MB; the slowest Record %s",
		syncs, journal.Board().Len(), took.Round(time.Second), after>>20, before>>20, peak(t), onDisk(path)>>20, slowest)
}

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapInuse
}

// peak is the most memory that this process ever had, as the kernel says it.
func peak(t *testing.T) string {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return "(unknown on this system)"
	}
	for line := range strings.Lines(string(text)) {
		if rest, found := strings.CutPrefix(line, "VmHWM:"); found {
			return strings.TrimSpace(rest)
		}
	}
	t.Log("/proc has no VmHWM")
	return "(unknown)"
}
