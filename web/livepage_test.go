package web

import (
	"context"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gorilla/websocket"

	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/decision"
	"github.com/loopscope/loopscope/web/address"
	"github.com/loopscope/loopscope/web/live"
	"github.com/loopscope/loopscope/web/page"
	"github.com/loopscope/loopscope/web/source"
	"github.com/loopscope/loopscope/web/words"
)

// look subscribes to a page as a browser does that has nothing yet.
func look(t testing.TB, base, path string, rows ...string) *websocket.Conn {
	t.Helper()
	conn := dial(t, base, "", page.PageProtocol)
	if err := conn.WriteJSON(live.Subscribe{Page: path, Epoch: "7c41", Rows: rows, Sight: len(rows)}); err != nil {
		t.Fatal(err)
	}
	return conn
}

func ids(m live.Update) map[string]string {
	got := map[string]string{}
	for _, f := range m.Frags {
		got[f.ID] = f.HTML
	}
	return got
}

func TestPageStream(t *testing.T) {
	w := newWorld(t, storyNow.Add(-2*time.Hour))
	w.pump()
	r := stuckRollout(w)
	_, h := w.serve(nil)
	conn := look(t, h.URL, "/deployments/shop/web")
	all := ids(receive[live.Update](t, conn))
	for _, id := range []string{"f-head", "f-path", "f-side", "f-step", "f-syncs", "f-sets", "f-notice", "f-window"} {
		if all[id] == "" {
			t.Errorf("the first message lacks %s", id)
		}
	}
	_, body := get(t, h.URL, "/deployments/shop/web")
	if d := parse(t, body); !strings.Contains(all["f-step"], "Sync "+words.Digits(w.journal.Last())) || d.one("#f-head") == "" {
		t.Errorf("stream and page differ: %s", all["f-step"])
	}

	t.Run("a sync changes only what it changes", func(t *testing.T) {
		w.now = storyNow
		w.journal.Record(plain("elsewhere", "other"))
		x := r.sync(telemetry.Cause{Kind: telemetry.CauseResync, Object: "Deployment web"})
		got := map[string]string{}
		for got["f-step"] == "" {
			for id, html := range ids(receive[live.Update](t, conn)) {
				got[id] = html
			}
		}
		if !strings.Contains(got["f-step"], "Sync "+words.Digits(x.Seq)) || got["f-notice"] != "" {
			t.Errorf("got %v", got)
		}
	})
	t.Run("an equal page is not sent again", func(t *testing.T) {
		_, body := get(t, h.URL, "/deployments/shop/web")
		version := attr(parse(t, body).all("body")[0], "data-v")
		again := dial(t, h.URL, "", page.PageProtocol)
		if err := again.WriteJSON(live.Subscribe{Page: "/deployments/shop/web", Epoch: "7c41", After: w.journal.Last(), V: version}); err != nil {
			t.Fatal(err)
		}
		if taken := receive[live.Update](t, again); len(taken.Frags) != 0 || taken.Seq != w.journal.Last() {
			t.Errorf("an equal page is answered with %d fragments as of %d", len(taken.Frags), taken.Seq)
		}
		x := r.sync(telemetry.Cause{Kind: telemetry.CauseResync, Object: "Deployment web"})
		m := receive[live.Update](t, again)
		if m.Seq != x.Seq || ids(m)["f-sets"] != "" {
			t.Errorf("the first message is %d with %d fragments, want %d with what changed alone", m.Seq, len(m.Frags), x.Seq)
		}
	})
	t.Run("a pinned sync stays", func(t *testing.T) {
		first := w.journal.Of(telemetry.Object{Loop: "deployment", Namespace: "shop", Name: "web"}, source.HistoryRows)[0]
		if err := conn.WriteJSON(live.Subscribe{Page: "/deployments/shop/web?epoch=7c41&sync=" + words.Digits(first.Seq), Epoch: "7c41", After: w.journal.Last()}); err != nil {
			t.Fatal(err)
		}
		// What was on its way when the page changed its mind still arrives first.
		for step := ""; !strings.Contains(step, "Sync "+words.Digits(first.Seq)+"<"); {
			step = ids(receive[live.Update](t, conn))["f-step"]
			if strings.Contains(step, "Sync "+words.Digits(first.Seq)+"<") && !strings.Contains(step, "newer") {
				t.Errorf("the cursor does not say that newer syncs are there: %s", step)
			}
		}
	})
	t.Run("an unknown object ends the page", func(t *testing.T) {
		gone := look(t, h.URL, "/deployments/shop/none")
		if m := receive[live.Update](t, gone); !strings.Contains(m.Gone, "shop/none") {
			t.Errorf("got %+v", m)
		}
	})
}

func TestPageStreamRestart(t *testing.T) {
	w := newWorld(t, storyNow)
	w.pump()
	w.journal.Record(plain("shop", "web"))
	_, h := w.serve(nil)
	conn := dial(t, h.URL, "", page.PageProtocol)
	if err := conn.WriteJSON(live.Subscribe{Page: "/deployments", Epoch: "dead", After: 4711}); err != nil {
		t.Fatal(err)
	}
	if m := receive[live.Update](t, conn); !m.Restarted || m.Epoch != "7c41" || len(m.Frags) == 0 {
		t.Errorf("a page of another run got %+v", m)
	}
}

// TestPageStreamGap lets a page fall behind further than is kept.
func TestPageStreamGap(t *testing.T) {
	w := newWorld(t, storyNow)
	w.journal = telemetry.NewJournal(telemetry.JournalOptions{Loops: testLoops, Epoch: "7c41", Recent: 8})
	w.pump()
	w.journal.Record(plain("shop", "web"))
	c := &counts{}
	_, h := w.serve(func(o *Options) { o.Readers = c })
	for range 40 {
		w.journal.Record(plain("shop", "web"))
	}
	conn := dial(t, h.URL, "", page.PageProtocol)
	if err := conn.WriteJSON(live.Subscribe{Page: "/deployments/shop/web", Epoch: "7c41", After: 1}); err != nil {
		t.Fatal(err)
	}
	for {
		if m := receive[live.Update](t, conn); m.Missed > 0 {
			if m.Missed != 32 {
				t.Errorf("missed %d, want 32", m.Missed)
			}
			return
		}
	}
}

// TestOverviewStream keeps every row where it is, and tells what would move.
func TestOverviewStream(t *testing.T) {
	w := newWorld(t, storyNow)
	w.pump()
	a, b := plain("shop", "a"), plain("shop", "b")
	w.journal.Record(a)
	w.journal.Record(b)
	_, h := w.serve(nil)
	rows := []string{address.Row(a.Object), address.Row(b.Object)}
	conn := look(t, h.URL, "/deployments", rows...)
	receive[live.Update](t, conn)
	bad := plain("shop", "b")
	bad.Sentence = decision.Sentence{Namespace: "shop", Object: "b", Tone: decision.ToneFailed, Verb: "has", State: "failed", Lead: decision.Words{}.Say("everything is wrong")}
	w.journal.Record(bad)
	var row string
	var order []string
	for row == "" || order == nil {
		m := receive[live.Update](t, conn)
		if html := ids(m)[rows[1]]; html != "" {
			row = html
		}
		if m.Order != nil {
			order = m.Order
		}
	}
	if !strings.Contains(row, "Everything is wrong") || !strings.Contains(row, `data-g="Failed"`) {
		t.Errorf("the row says %s", row)
	}
	if len(order) != 2 || order[0] != rows[1] {
		t.Errorf("order %v, want b first", order)
	}
}

// TestOverviewStreamOfAnOldPage: what came between the page and its stream is told
// as well, the order of the rows included.
func TestOverviewStreamOfAnOldPage(t *testing.T) {
	w := newWorld(t, storyNow)
	w.pump()
	a, b := plain("shop", "a"), plain("shop", "b")
	w.journal.Record(a)
	w.journal.Record(b)
	_, h := w.serve(nil)
	_, html := get(t, h.URL, "/deployments")
	had := attr(parse(t, html).all("body")[0], "data-v")
	if had == "" {
		t.Fatal("the page has no version")
	}
	bad := plain("shop", "b")
	bad.Sentence = decision.Sentence{Namespace: "shop", Object: "b", Tone: decision.ToneFailed, Verb: "has", State: "failed", Lead: decision.Words{}.Say("everything is wrong")}
	w.journal.Record(bad)
	rows := []string{address.Row(a.Object), address.Row(b.Object)}
	conn := dial(t, h.URL, "", page.PageProtocol)
	if err := conn.WriteJSON(live.Subscribe{Page: "/deployments", Epoch: w.journal.Epoch(), After: w.journal.Last() - 1, V: had, Rows: rows, Sight: len(rows)}); err != nil {
		t.Fatal(err)
	}
	m := receive[live.Update](t, conn)
	if len(m.Order) != 2 || m.Order[0] != rows[1] || !strings.Contains(ids(m)[rows[1]], "Everything is wrong") {
		t.Errorf("order %v, fragments %v", m.Order, ids(m))
	}
}

// TestOverviewStreamOfAnEmptiedList: a reader is told that the last row has left a list, also where
// it left between the page and its stream.
func TestOverviewStreamOfAnEmptiedList(t *testing.T) {
	for _, before := range []bool{false, true} {
		w := newWorld(t, storyNow)
		w.pump()
		a := failing("shop", "a")
		w.journal.Record(a)
		_, h := w.serve(nil)
		if before {
			w.journal.Record(plain("shop", "a"))
		}
		conn := look(t, h.URL, "/deployments?q=is:failed", address.Row(a.Object))
		m := receive[live.Update](t, conn)
		if !before {
			w.journal.Record(plain("shop", "a"))
			for len(m.Order) > 0 || m.Order == nil {
				m = receive[live.Update](t, conn)
			}
		}
		if m.Order == nil || len(m.Order) > 0 {
			t.Errorf("emptied before the stream: %v: order %v, want an empty one", before, m.Order)
		}
	}
}

// TestGonePageIsNotSilent: the pulse of a page that cannot be drawn says so, so that no reader takes the
// stream for a broken one, and the first message of a page that is back does not.
func TestGonePageIsNotSilent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, storyNow)
		w.pump()
		conn := w.dialInMemory("", page.PageProtocol, nil)
		if err := conn.WriteJSON(live.Subscribe{Page: "/deployments/shop/web", Epoch: "7c41"}); err != nil {
			t.Fatal(err)
		}
		_ = conn.SetReadDeadline(time.Now().Add(time.Minute)) // Fake time.
		for range 3 {
			if m := receive[live.Update](t, conn); m.Gone == "" {
				t.Errorf("got %+v", m)
			}
		}
		w.journal.Record(plain("shop", "web"))
		if m := receive[live.Update](t, conn); m.Gone != "" || len(m.Frags) == 0 {
			t.Errorf("the page that is back: %+v", m)
		}
	})
}

// TestGonePageRests: what is held back of a page that cannot be drawn any more is waited for by nobody.
func TestGonePageRests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, storyNow)
		w.pump()
		w.journal.Record(plain("shop", "a"))
		w.journal.Record(plain("shop", "b"))
		conn := w.dialInMemory("", page.PageProtocol, nil)
		if err := conn.WriteJSON(live.Subscribe{Page: "/deployments?q=is:settled&after=shop/a", Epoch: "7c41"}); err != nil {
			t.Fatal(err)
		}
		_ = conn.SetReadDeadline(time.Now().Add(time.Minute)) // Fake time.
		receive[live.Update](t, conn)
		for range 2 { // The counter of the header, which is sent once a second.
			w.journal.Record(plain("shop", "b"))
			time.Sleep(600 * time.Millisecond)
		}
		deleted := plain("shop", "a")
		deleted.Gone = true
		w.journal.Record(deleted)
		for gone := 0; gone < 2; {
			if m := receive[live.Update](t, conn); m.Gone != "" {
				gone++
			}
		}
	})
}

// TestSwapsAreBounded sends a burst after a pause and looks at the swaps: the first comes at once, the
// others no sooner than swapEvery allows, and as often as a page is drawn.
func TestSwapsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, storyNow)
		w.pump()
		w.journal.Record(plain("shop", "web"))
		conn := w.dialInMemory("", page.PageProtocol, nil)
		if err := conn.WriteJSON(live.Subscribe{Page: "/deployments/shop/web", Epoch: "7c41"}); err != nil {
			t.Fatal(err)
		}
		receive[live.Update](t, conn)
		time.Sleep(time.Second) // Fake time.
		burst := time.NewTicker(time.Millisecond)
		var writing sync.WaitGroup
		ctx, stop := context.WithCancel(t.Context())
		began := time.Now()
		writing.Go(func() {
			for ctx.Err() == nil {
				<-burst.C
				w.journal.Record(plain("shop", "web"))
			}
		})
		var at []time.Duration
		for len(at) < 6 {
			if ids(receive[live.Update](t, conn))["f-step"] != "" {
				at = append(at, time.Since(began))
			}
		}
		stop()
		writing.Wait()
		const most, atOnce = 2 * live.SwapEvery, 5 * time.Millisecond
		if at[0] > atOnce {
			t.Errorf("the first swap came after %s", at[0])
		}
		for i, next := range at[1:] {
			if gap := next - at[i]; gap < live.SwapEvery || gap > most {
				t.Errorf("swap %d came %s after the one before, want between %s and %s", i+2, gap, live.SwapEvery, most)
			}
		}
	})
}

// dialInMemory is dial for a console that is reached through memory: fake time passes only when nobody
// reads or writes, which cannot be told of a socket.
func (w *world) dialInMemory(query, protocol string, change func(*Options)) *websocket.Conn {
	w.t.Helper()
	s := w.server(change)
	l := pipes{conns: make(chan net.Conn), ended: make(chan struct{})}
	h := HTTPServer(s.Handler(), nil)
	go func() { _ = h.Serve(l) }()
	w.t.Cleanup(func() { _ = h.Close() })
	w.t.Cleanup(func() { _ = s.Shutdown(w.t.Context()) })
	d := websocket.Dialer{Subprotocols: []string{protocol}, NetDial: func(string, string) (net.Conn, error) {
		here, there := net.Pipe()
		l.conns <- there
		return here, nil
	}}
	conn, res, err := d.Dial("ws://127.0.0.1/live"+query, nil)
	if err != nil {
		w.t.Fatalf("%v %v", err, res)
	}
	w.t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// pipes is a listener for connections through memory.
type pipes struct {
	conns chan net.Conn
	ended chan struct{}
}

func (p pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.ended:
		return nil, net.ErrClosed
	}
}

func (p pipes) Close() error   { close(p.ended); return nil }
func (p pipes) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 80} }
