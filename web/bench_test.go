package web

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/decision/decisiontest"
	"github.com/loopscope/loopscope/web/live"
	"github.com/loopscope/loopscope/web/page"
	"github.com/loopscope/loopscope/web/words"
)

// BenchmarkOverview draws the live parts of the list with ten thousand objects, as one new
// trace makes it necessary: of Deployments, and of a loop that somebody else declared.
func BenchmarkOverview(b *testing.B) {
	for path, trace := range map[string]func(w *world, namespace, name string) *telemetry.Trace{
		"/deployments": func(_ *world, namespace, name string) *telemetry.Trace { return plain(namespace, name) },
		"/claims": func(w *world, namespace, name string) *telemetry.Trace {
			s := decisiontest.Claim{Now: storyNow, Namespace: namespace, Name: name, Bound: true, Size: 3}
			return w.run(&telemetry.Trace{Object: telemetry.Object{Loop: "claim", Namespace: namespace, Name: name}, UID: name, Queued: s.Now, Started: s.Now, Ended: s.Now}, s.Begin(), script{})
		},
	} {
		b.Run(strings.TrimPrefix(path, "/"), func(b *testing.B) {
			w := newWorld(b, storyNow)
			w.journal = telemetry.NewJournal(telemetry.JournalOptions{Loops: append(slices.Clone(testLoops), decisiontest.Loop)})
			for i := range 10_000 {
				w.journal.Record(trace(w, "n"+words.Digits(i%40), "d-"+words.Digits(i)))
			}
			s := w.server(func(o *Options) { o.Now = time.Now })
			to, err := site{s}.Find(path)
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				w.journal.Record(trace(w, "n1", "d-1"))
				drawOnce(b, to)
			}
		})
	}
}

// BenchmarkDeployment draws the live parts of a Deployment in a rollout.
func BenchmarkDeployment(b *testing.B) {
	w := newWorld(b, storyNow.Add(-2*time.Hour))
	stuckRollout(w)
	s := w.server(nil)
	to, err := site{s}.Find("/deployments/shop/web")
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		drawOnce(b, to)
	}
}

// BenchmarkRecord shows what readers cost a sync: nothing that depends on them.
func BenchmarkRecord(b *testing.B) {
	for _, readers := range []int{0, 200} {
		b.Run(words.Digits(readers)+" readers", func(b *testing.B) {
			w := newWorld(b, storyNow)
			w.pump()
			w.journal.Record(plain("shop", "web"))
			s, h := w.serve(nil)
			got := make(chan struct{}, readers)
			for range readers {
				conn := dial(b, h.URL, "", live.TraceProtocol)
				_ = conn.SetReadDeadline(time.Time{})
				go readUntil(conn, 1<<62, got)
			}
			eventually(b, "all are connected", func() bool { return s.live.Load().Connections == readers })
			traces := make([]*telemetry.Trace, 1024)
			for i := range traces {
				traces[i] = plain("shop", "web")
			}
			tick := time.NewTicker(10 * time.Millisecond)
			defer tick.Stop()
			var spent []time.Duration
			for b.Loop() {
				<-tick.C // A busy cluster's hundred syncs a second; clients and server share this machine.
				x := *traces[len(spent)%len(traces)]
				began := time.Now()
				w.journal.Record(&x)
				spent = append(spent, time.Since(began))
			}
			slices.Sort(spent)
			b.ReportMetric(float64(spent[len(spent)/2].Nanoseconds()), "ns/median-record")
			b.ReportMetric(float64(spent[len(spent)*99/100].Nanoseconds()), "ns/p99-record")
		})
	}
}

// drawOnce draws the live parts of a page as they are now.
func drawOnce(t testing.TB, to *live.Target) []page.Fragment {
	t.Helper()
	p, err := to.Build(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	frags, err := p.Draw(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return frags
}
