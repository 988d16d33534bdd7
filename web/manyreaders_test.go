package web

import (
	"fmt"
	"net/http"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/loopscope/loopscope/telemetry"
	packing "github.com/loopscope/loopscope/telemetry/wire"
	"github.com/loopscope/loopscope/web/address"
	"github.com/loopscope/loopscope/web/live"
	"github.com/loopscope/loopscope/web/page"
	"github.com/loopscope/loopscope/web/words"
)

// crowd says how many read, and what goes on meanwhile. A sample is what CI
// runs; LOOPSCOPE_READERS=1000 is the measurement: make scale-readers.
type crowd struct {
	readers int
	// deployments that roll, at most as many as a page has rows: what changes none
	// of them waits for the next frame.
	deployments int
	perSecond   int // syncs, of which a rollout bench has some 300
	warm, feed  time.Duration
	bar         time.Duration // p99 from a sync to its frame; 0 for none, beside other tests
}

func crowdAsked() crowd {
	c := crowd{readers: 120, deployments: 30, perSecond: 200, warm: time.Second, feed: 3 * time.Second}
	if n, err := strconv.Atoi(os.Getenv("LOOPSCOPE_READERS")); err == nil && n > 0 {
		c = crowd{readers: n, deployments: page.MaxRows, perSecond: 300, warm: 3 * time.Second, feed: 20 * time.Second, bar: 250 * time.Millisecond}
	}
	if n, err := strconv.Atoi(os.Getenv("LOOPSCOPE_RATE")); err == nil && n > 0 {
		c.perSecond = n
	}
	return c
}

// TestManyReaders lets a crowd read mixed pages, each reader in a process that
// is not the server's, while a recording of rollouts is fed at a bench's rate.
func TestManyReaders(t *testing.T) {
	if testing.Short() {
		t.Skip("measures time, for which the race detector has no regard")
	}
	c := crowdAsked()
	now := time.Now()
	recording := rolloutsOf(t, c.deployments, now)
	w := newWorld(t, now.Add(-2*time.Hour))
	for i := range 1000 {
		w.journal.Record(plain("settled", "d-"+words.Digits(i)))
	}
	feed := w.feeder(recording, len(recording)/8, time.Second/time.Duration(c.perSecond)) // So that every Deployment is there.
	w.pump()
	s, h := w.serve(func(o *Options) { o.Now, o.MaxReaders, o.Loops = time.Now, c.readers+8, nil })
	settled(t)
	before := runtime.NumGoroutine()

	feed.run(c.warm)
	alone := feed.measure(c.warm)
	pages := mixedPages(t, c)
	distinct := map[string]bool{}
	for _, p := range pages {
		distinct[p] = true
	}
	crowd := startCrowd(t, h.URL, pages)
	eventually(t, "all are connected", func() bool { return s.live.Load().Connections == c.readers })
	feed.run(c.warm)
	made := s.live.Load().Drawings
	drawings := func() int { return int(s.live.Load().Drawings - made) }
	began := time.Now()
	busy := feed.measure(c.feed)
	for drawings() < 4*len(distinct) && time.Since(began) < time.Minute { // On a busy machine there is too little to measure yet.
		busy += feed.measure(c.feed)
	}
	drawn, ended := drawings(), time.Now()
	frames := crowd.stop(t)
	eventually(t, "all have left", func() bool { return s.live.Load().Connections == 0 })
	eventually(t, fmt.Sprintf("goroutines are back at %d", before), func() bool { http.DefaultClient.CloseIdleConnections(); return runtime.NumGoroutine() <= before+2 })

	took := feed.latencies(pages, frames, began, ended)
	n, bytes := inside(frames, began, ended)
	if len(took) < 20 || n == 0 {
		t.Fatalf("%d syncs met a reader in %d frames: nothing was measured", len(took), n)
	}
	slices.Sort(took)
	at := func(share int) time.Duration { return took[(len(took)-1)*share/100].Round(time.Millisecond / 10) }
	kinds := map[string]int{}
	for _, x := range frames {
		kinds[kindOfPage(pages[x.reader])]++
	}
	t.Logf("frames by page: %v", kinds)
	fed := ended.Sub(began)
	cpu := busy - time.Duration(float64(alone)*fed.Seconds()/c.warm.Seconds())
	t.Logf("%d readers of %d different pages, %d syncs/s for %s, load %s", c.readers, len(distinct), c.perSecond, fed.Round(time.Second), load())
	t.Logf("from a sync to its frame: p50 %s, p95 %s, p99 %s, slowest %s, of %d", at(50), at(95), at(99), at(100), len(took))
	t.Logf("%d frames, %d KB; server CPU %s, less %s of feeding is %s a frame", n, bytes>>10, busy.Round(time.Millisecond), (busy - cpu).Round(time.Millisecond), (cpu / time.Duration(n)).Round(time.Microsecond/10))
	t.Logf("%d drawings: one for %.1f frames", drawn, float64(n)/float64(drawn))
	if c.bar > 0 && at(99) > c.bar {
		t.Errorf("p99 is %s, the bar %s", at(99), c.bar)
	}
	// A page is drawn once for a trace that concerns it and once in a while
	// without one, however many look at it.
	if most := feed.concerning(distinct, began, ended) + len(distinct)*(int(fed/live.LookEvery)+2); drawn > most {
		t.Errorf("%d drawings, at most %d are of different syncs", drawn, most)
	}
}

// rolloutsOf is the recording of rollouts that happen beside each other. It is
// bytes, as a file would be: half a gigabyte of traces that no console has would
// keep the garbage collector at work.
func rolloutsOf(t *testing.T, n int, now time.Time) [][]byte {
	t.Helper()
	var each [][]*telemetry.Trace
	longest := 0
	for i := range n {
		w := newWorld(t, now.Add(-2*time.Hour))
		w.now = now.Add(-time.Hour)
		r := w.rollout("roll-" + words.Digits(i))
		r.begin()
		for v := range 3 {
			r.roll("registry.example/shop/web:"+words.Digits(v), 0)
		}
		each = append(each, w.journal.Kept(0, 1<<20))
		longest = max(longest, len(each[i]))
	}
	var all [][]byte
	for k := range longest {
		var beside []*telemetry.Trace
		for _, list := range each {
			if k < len(list) {
				beside = append(beside, list[k])
			}
		}
		all = append(all, packed(t, beside)...)
	}
	return all
}

func packed(t *testing.T, traces []*telemetry.Trace) [][]byte {
	t.Helper()
	list := make([][]byte, len(traces))
	for i, x := range traces {
		data, err := packing.Append(nil, x)
		if err != nil {
			t.Fatal(err)
		}
		list[i] = data
	}
	return list
}

func unpacked(t testing.TB, data []byte) *telemetry.Trace {
	t.Helper()
	x := new(telemetry.Trace)
	if err := packing.Read(data, x); err != nil {
		t.Fatal(err)
	}
	return x
}

// feeder records a recording again, as of now.
type feeder struct {
	t       testing.TB
	journal *telemetry.Journal
	list    [][]byte
	every   time.Duration
	next    int
	sent    map[uint64]fedTrace
}

// feeder records the first of a recording as they were, and will feed the others.
func (w *world) feeder(recording [][]byte, first int, every time.Duration) *feeder {
	for _, x := range recording[:first] {
		w.journal.Record(unpacked(w.t, x))
	}
	return &feeder{t: w.t, journal: w.journal, list: recording[first:], every: every, sent: map[uint64]fedTrace{}}
}

type fedTrace struct {
	object telemetry.Object
	at     time.Time
}

func (f *feeder) run(d time.Duration) {
	tick := time.NewTicker(f.every)
	defer tick.Stop()
	for end := time.Now().Add(d); time.Now().Before(end); {
		<-tick.C
		x := unpacked(f.t, f.list[f.next%len(f.list)])
		f.next++
		x.Queued, x.Started, x.Ended = time.Now(), time.Now(), time.Now()
		at := time.Now()
		f.journal.Record(x)
		f.sent[x.Seq] = fedTrace{x.Object, at}
	}
}

// measure feeds and returns the CPU time that this process took meanwhile.
func (f *feeder) measure(d time.Duration) time.Duration {
	runtime.GC()
	before := cpuTime()
	f.run(d)
	return cpuTime() - before
}

func cpuTime() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u) // fails for no argument that is given here
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func load() string {
	b, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	return strings.Join(strings.Fields(string(b))[:3], " ")
}

// concerns reports whether a page of mixedPages must show a sync.
func concerns(page string, o telemetry.Object) bool {
	if strings.HasPrefix(page, "/deployments?") || page == "/deployments" {
		return o.Loop == "deployment"
	}
	return page == address.Of(o)
}

func (f *feeder) concerning(pages map[string]bool, from, to time.Time) (n int) {
	for _, x := range f.sent {
		if x.at.Before(from) || x.at.After(to) {
			continue
		}
		for page := range pages {
			if concerns(page, x.object) || x.object.Loop == "replicaset" && strings.Contains(page, "/roll-") {
				n++ // A Deployment's page shows its ReplicaSets, too.
			}
		}
	}
	return n
}

// mixedPages is what each reader looks at: half of them one Deployment, a
// quarter the list or a part of it, the others a ReplicaSet or the queues.
func mixedPages(t *testing.T, c crowd) []string {
	t.Helper()
	var pages []string
	for i := range c.readers {
		name := "roll-" + words.Digits(i%c.deployments)
		switch i % 20 {
		case 0, 1, 2, 3:
			pages = append(pages, "/deployments?q=ns:shop")
		case 4:
			pages = append(pages, "/deployments")
		case 5, 6:
			pages = append(pages, "/queues")
		default:
			pages = append(pages, "/deployments/shop/"+name)
		}
	}
	return pages
}

// frame is a message that a reader got.
type gotFrame struct {
	reader int
	seq    uint64
	at     time.Time
	size   int
}

// latencies pairs the syncs of a span of time with the first frame of each
// reader that knows them.
func (f *feeder) latencies(pages []string, frames []gotFrame, from, to time.Time) []time.Duration {
	of := make([][]gotFrame, len(pages))
	for _, x := range frames {
		of[x.reader] = append(of[x.reader], x)
	}
	var seqs []uint64
	for seq, x := range f.sent {
		if x.at.After(from) && x.at.Before(to.Add(-time.Second)) { // The last ones may still be under way.
			seqs = append(seqs, seq)
		}
	}
	slices.Sort(seqs)
	var took []time.Duration
	for i, page := range pages {
		at := 0
		for _, seq := range seqs {
			if page == "/queues" || page == "/deployments" || !concerns(page, f.sent[seq].object) {
				continue // The first page of all has other rows than those that roll.
			}
			for at < len(of[i]) && of[i][at].seq < seq {
				at++
			}
			if at == len(of[i]) {
				break
			}
			took = append(took, of[i][at].at.Sub(f.sent[seq].at))
		}
	}
	return took
}

func kindOfPage(page string) string {
	if strings.Contains(page, "/roll-") {
		return "Deployment"
	}
	return page
}

func inside(frames []gotFrame, from, to time.Time) (n, size int) {
	for _, x := range frames {
		if x.at.After(from) && x.at.Before(to) {
			n++
			size += x.size
		}
	}
	return n, size
}
