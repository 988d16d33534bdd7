package history

import (
	"bufio"
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/loopscope/loopscope/telemetry"
)

// childFile names the history that a child process writes until it is killed.
const childFile = "LOOPSCOPE_HISTORY_CHILD"

// childKills asks for another number of kills than three, at a higher rate.
const childKills = "LOOPSCOPE_HISTORY_KILLS"

// TestChild is that process, and nothing in any other.
func TestChild(t *testing.T) {
	path := os.Getenv(childFile)
	if path == "" {
		return
	}
	g := newGenerator(t, uint64(os.Getpid()), 1000)
	pool := g.many(500)
	j := telemetry.NewJournal(telemetry.JournalOptions{})
	go j.Run(t.Context())
	k := Keep(path, Options{}, slog.Default())
	go func() { _ = k.Run(context.Background(), j) }()
	until(t, k, "open", func(s telemetry.ArchiveState) bool { return s.Bytes > 0 })
	out := bufio.NewWriter(os.Stdout)
	every := 40 * time.Millisecond // bursts of 2 to 5: 90 a second, which the race detector leaves time for
	if os.Getenv(childKills) != "" {
		every = 5 * time.Millisecond // 700 a second
	}
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		<-tick.C
		for range 2 + rand.IntN(4) {
			sync := *pool[rand.IntN(len(pool))]
			sync.Started = time.Now()
			sync.Ended = sync.Started.Add(time.Millisecond)
			j.Record(&sync)
			fmt.Fprintf(out, "recorded %s %d %d\n", sync.Epoch, sync.Seq, time.Now().UnixNano())
		}
		if err := out.Flush(); err != nil {
			return // The parent is gone.
		}
	}
}

// recording is what a child said it had recorded, by number from 1.
type recording struct {
	epoch string
	at    []time.Time
}

// TestKilled kills a writer at any moment, again and again on one file: the file
// opens every time, is whole, and misses at most the last second.
func TestKilled(t *testing.T) {
	if testing.Short() {
		t.Skip("under the race detector and beside other tests, a commit takes longer than the second that is held")
	}
	rounds := 3
	if n, err := strconv.Atoi(os.Getenv(childKills)); err == nil {
		rounds = n
	}
	path := filepath.Join(t.TempDir(), "h.db")
	var worst time.Duration
	recorded, lost := 0, 0
	for round := range rounds {
		said, killed := runAndKill(t, path, 300*time.Millisecond+rand.N(1500*time.Millisecond))
		check(t, path)
		file, err := Read(path)
		if err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		kept := lastKept(t, file, said)
		if err := file.Close(); err != nil {
			t.Error(err)
		}
		recorded += len(said.at)
		if missing := len(said.at) - kept; missing > 0 {
			lost += missing
			worst = max(worst, killed.Sub(said.at[kept]))
		}
	}
	t.Logf("%d kills: %d syncs recorded, %d of them lost, the oldest of those %v before its kill", rounds, recorded, lost, worst.Round(time.Millisecond))
	if worst > time.Second {
		t.Errorf("a sync recorded %v before the kill is lost, want at most the last second", worst)
	}
}

// runAndKill lets a child write for a while from its first syncs on.
func runAndKill(t *testing.T, path string, after time.Duration) (said recording, killed time.Time) {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestChild$", "-test.timeout=5m")
	cmd.Env = append(os.Environ(), childFile+"="+path)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var timer *time.Timer
	moment := make(chan time.Time, 1)
	for lines := bufio.NewScanner(out); lines.Scan(); {
		var seq, at int64
		if n, _ := fmt.Sscanf(lines.Text(), "recorded %s %d %d", &said.epoch, &seq, &at); n != 3 {
			continue // Half a line, or the test binary's own words.
		}
		if said.at = append(said.at, time.Unix(0, at)); int(seq) != len(said.at) {
			t.Fatalf("the child says number %d after %d", seq, len(said.at)-1)
		}
		if timer == nil {
			timer = time.AfterFunc(after, func() { moment <- time.Now(); _ = cmd.Process.Kill() })
		}
	}
	if timer == nil {
		t.Fatalf("the child recorded nothing: %v", cmd.Wait())
	}
	_ = cmd.Wait() // It says that it was killed.
	return said, <-moment
}

// lastKept is up to which number the syncs of a child are there, without a gap.
func lastKept(t *testing.T, file File, said recording) int {
	t.Helper()
	last := 0
	for n := 1; n <= len(said.at); n++ {
		_, err := file.Get(t.Context(), said.epoch, uint64(n))
		switch {
		case err == nil && last == n-1:
			last = n
		case err == nil:
			t.Fatalf("sync %d is there, and %d is not", n, last+1)
		}
	}
	return last
}
