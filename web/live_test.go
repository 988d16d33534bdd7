package web

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/loopscope/loopscope/controllers/decision"
	"github.com/loopscope/loopscope/telemetry"
)

// counts is ReaderMetrics for tests.
type counts struct {
	mu     sync.Mutex
	opened int
	missed uint64
	closed map[string]int
}

func (c *counts) Opened() { c.mu.Lock(); defer c.mu.Unlock(); c.opened++ }
func (c *counts) Closed(reason string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed == nil {
		c.closed = map[string]int{}
	}
	c.closed[reason]++
}
func (c *counts) Missed(n uint64) { c.mu.Lock(); defer c.mu.Unlock(); c.missed += n }

func (c *counts) was(reason string) int { c.mu.Lock(); defer c.mu.Unlock(); return c.closed[reason] }

// eventually waits for a condition without assuming how long it takes.
func eventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	deadline := time.Now().Add(10 * time.Second)
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		if time.Now().After(deadline) {
			t.Fatalf("never: %s", what)
		}
		<-tick.C
	}
}

// pump wakes the readers of the world's journal.
func (w *world) pump() {
	w.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done, j := make(chan struct{}), w.journal
	go func() { defer close(done); j.Run(ctx) }()
	w.t.Cleanup(func() { cancel(); <-done })
}

func dial(t testing.TB, base, query string, protocol string) *websocket.Conn {
	t.Helper()
	d := websocket.Dialer{Subprotocols: []string{protocol}, HandshakeTimeout: 5 * time.Second}
	conn, res, err := d.Dial(strings.Replace(base, "http", "ws", 1)+"/live"+query, nil)
	if err != nil {
		t.Fatalf("%v %v", err, res)
	}
	t.Cleanup(func() { _ = conn.Close() })
	_ = conn.SetReadDeadline(time.Now().Add(10 * time.Second))
	return conn
}

func receive[T any](t testing.TB, conn *websocket.Conn) T {
	t.Helper()
	var v T
	if err := conn.ReadJSON(&v); err != nil {
		t.Fatal(err)
	}
	return v
}

// traceMessage is any message of loopscope.trace.v1+json.
type traceMessage struct {
	Hello *hello           `json:"hello"`
	Gap   *gap             `json:"gap"`
	Trace *telemetry.Trace `json:"trace"`
}

func TestTraceStream(t *testing.T) {
	w := newWorld(t, storyNow)
	w.journal = telemetry.NewJournal(telemetry.JournalOptions{Epoch: "7c41", Recent: 8})
	w.pump()
	for range 3 {
		w.journal.Record(plain("shop", "web"))
	}
	c := &counts{}
	_, h := w.serve(func(o *Options) { o.Readers = c })

	t.Run("from now", func(t *testing.T) {
		conn := dial(t, h.URL, "", traceProtocol)
		if m := receive[traceMessage](t, conn); m.Hello == nil || m.Hello.Epoch != "7c41" || m.Hello.Last != 3 || m.Hello.After != 3 {
			t.Fatalf("hello %+v", m.Hello)
		}
		w.journal.Record(plain("shop", "web"))
		if m := receive[traceMessage](t, conn); m.Trace == nil || m.Trace.Seq != 4 || m.Trace.Name != "web" {
			t.Fatalf("want trace 4, got %+v", m)
		}
	})
	t.Run("resume", func(t *testing.T) {
		conn := dial(t, h.URL, "?after=1&epoch=7c41", traceProtocol)
		receive[traceMessage](t, conn)
		for want := uint64(2); want <= 4; want++ {
			if m := receive[traceMessage](t, conn); m.Trace == nil || m.Trace.Seq != want {
				t.Fatalf("want trace %d, got %+v", want, m)
			}
		}
	})
	t.Run("gap", func(t *testing.T) {
		for range 16 {
			w.journal.Record(plain("shop", "web"))
		}
		conn := dial(t, h.URL, "?after=4&epoch=7c41", traceProtocol)
		receive[traceMessage](t, conn)
		if m := receive[traceMessage](t, conn); m.Gap == nil || m.Gap.Missed != 8 || m.Gap.Next != 13 {
			t.Fatalf("want a gap of 8 before 13, got %+v", m.Gap)
		}
		if m := receive[traceMessage](t, conn); m.Trace == nil || m.Trace.Seq != 13 {
			t.Fatalf("want trace 13, got %+v", m)
		}
		eventually(t, "the missed are counted", func() bool { c.mu.Lock(); defer c.mu.Unlock(); return c.missed >= 8 })
	})
	t.Run("other epoch", func(t *testing.T) {
		conn := dial(t, h.URL, "?after=900&epoch=dead", traceProtocol)
		if m := receive[traceMessage](t, conn); m.Hello == nil || !m.Hello.Restarted || m.Hello.After != 0 {
			t.Fatalf("hello %+v", m.Hello)
		}
	})
	t.Run("ends politely", func(t *testing.T) {
		conn := dial(t, h.URL, "", traceProtocol)
		receive[traceMessage](t, conn)
		before := c.was(closedByClient)
		_ = conn.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(websocket.CloseNormalClosure, ""), time.Now().Add(time.Second))
		eventually(t, "counted as closed by the client", func() bool { return c.was(closedByClient) > before })
	})
}

func TestLiveRefusals(t *testing.T) {
	w := newWorld(t, storyNow)
	w.pump()
	_, h := w.serve(nil)
	cases := []struct {
		name, query, protocol, origin string
		status                        int
	}{
		{"foreign origin", "", pageProtocol, "https://evil.example", 403},
		{"no subprotocol", "", "", "", 400},
		{"unknown subprotocol", "", "chat", "", 400},
		{"after is no number", "?after=x", traceProtocol, "", 400},
		{"after is ahead", "?after=77", traceProtocol, "", 400},
		{"own origin", "", pageProtocol, h.URL, 101},
	}
	for _, x := range cases {
		d := websocket.Dialer{}
		if x.protocol != "" {
			d.Subprotocols = []string{x.protocol}
		}
		header := http.Header{}
		if x.origin != "" {
			header.Set("Origin", x.origin)
		}
		conn, res, err := d.Dial(strings.Replace(h.URL, "http", "ws", 1)+"/live"+x.query, header)
		if res == nil || res.StatusCode != x.status {
			t.Errorf("%s: %v %v, want %d", x.name, res, err, x.status)
		}
		if conn != nil {
			_ = conn.Close()
		}
	}
	if res, body := get(t, h.URL, "/live"); res.StatusCode != http.StatusUpgradeRequired || !strings.Contains(body, traceProtocol) {
		t.Errorf("plain GET: %s %s", res.Status, body)
	}
}

func TestTooManyReaders(t *testing.T) {
	w := newWorld(t, storyNow)
	w.pump()
	_, h := w.serve(func(o *Options) { o.MaxReaders = 2 })
	first := dial(t, h.URL, "", traceProtocol)
	dial(t, h.URL, "", traceProtocol)
	address := strings.Replace(h.URL, "http", "ws", 1) + "/live"
	d := websocket.Dialer{Subprotocols: []string{traceProtocol}}
	if _, res, err := d.Dial(address, nil); err == nil || res.StatusCode != http.StatusServiceUnavailable || res.Header.Get("Retry-After") == "" {
		t.Fatalf("the third reader: %v %v", res, err)
	}
	_ = first.Close()
	eventually(t, "a seat is free again", func() bool {
		conn, _, err := d.Dial(address, nil)
		if err == nil {
			_ = conn.Close()
		}
		return err == nil
	})
}

// TestBadFrames sends what no page sends.
func TestBadFrames(t *testing.T) {
	w := newWorld(t, storyNow)
	w.pump()
	c := &counts{}
	_, h := w.serve(func(o *Options) { o.Readers = c })
	cases := []struct {
		name   string
		kind   int
		data   string
		code   int
		reason string
	}{
		{"oversized", websocket.TextMessage, strings.Repeat("x", maxMessage+1), websocket.CloseMessageTooBig, closedOversize},
		{"malformed", websocket.TextMessage, "{", websocket.ClosePolicyViolation, closedProtocol},
		{"unknown field", websocket.TextMessage, `{"page":"/deployments","sql":"drop"}`, websocket.ClosePolicyViolation, closedProtocol},
		{"bytes", websocket.BinaryMessage, "{}", websocket.ClosePolicyViolation, closedProtocol},
		{"foreign page", websocket.TextMessage, `{"page":"//evil.example/deployments"}`, websocket.ClosePolicyViolation, closedProtocol},
		{"no path", websocket.TextMessage, `{"page":"deployments"}`, websocket.ClosePolicyViolation, closedProtocol},
		{"no page", websocket.TextMessage, `{"page":"/nowhere"}`, websocket.ClosePolicyViolation, closedProtocol},
		{"not live", websocket.TextMessage, `{"page":"/metrics"}`, websocket.ClosePolicyViolation, closedProtocol},
		{"long query", websocket.TextMessage, `{"page":"/deployments?q=` + strings.Repeat("x", 1500) + `"}`, websocket.ClosePolicyViolation, closedProtocol},
	}
	for _, x := range cases {
		t.Run(x.name, func(t *testing.T) {
			before := c.was(x.reason)
			conn := dial(t, h.URL, "", pageProtocol)
			if err := conn.WriteMessage(x.kind, []byte(x.data)); err != nil {
				t.Fatal(err)
			}
			_, _, err := conn.ReadMessage()
			var closed *websocket.CloseError
			if !errors.As(err, &closed) || closed.Code != x.code || closed.Text == "" && x.code != websocket.CloseMessageTooBig {
				t.Fatalf("closed with %v, want %d and a reason", err, x.code)
			}
			eventually(t, "counted", func() bool { return c.was(x.reason) > before })
		})
	}
}

// look subscribes to a page as a browser does that has nothing yet.
func look(t testing.TB, base, page string, rows ...string) *websocket.Conn {
	t.Helper()
	conn := dial(t, base, "", pageProtocol)
	if err := conn.WriteJSON(subscribe{Page: page, Epoch: "7c41", Rows: rows}); err != nil {
		t.Fatal(err)
	}
	return conn
}

func ids(m update) map[string]string {
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
	all := ids(receive[update](t, conn))
	for _, id := range []string{"f-head", "f-path", "f-side", "f-step", "f-syncs", "f-sets", "f-notice", "f-window"} {
		if all[id] == "" {
			t.Errorf("the first message lacks %s", id)
		}
	}
	_, body := get(t, h.URL, "/deployments/shop/web")
	if d := parse(t, body); !strings.Contains(all["f-step"], "Sync "+digits(w.journal.Last())) || d.one("#f-head") == "" {
		t.Errorf("stream and page differ: %s", all["f-step"])
	}

	t.Run("a sync changes only what it changes", func(t *testing.T) {
		w.now = storyNow
		w.journal.Record(plain("elsewhere", "other"))
		x := r.sync(telemetry.Cause{Kind: telemetry.CauseResync, Object: "Deployment web"})
		got := map[string]string{}
		for got["f-step"] == "" {
			for id, html := range ids(receive[update](t, conn)) {
				got[id] = html
			}
		}
		if !strings.Contains(got["f-step"], "Sync "+digits(x.Seq)) || got["f-notice"] != "" {
			t.Errorf("got %v", got)
		}
	})
	t.Run("an equal page is not sent again", func(t *testing.T) {
		_, body := get(t, h.URL, "/deployments/shop/web")
		version := attr(parse(t, body).all("body")[0], "data-v")
		again := dial(t, h.URL, "", pageProtocol)
		if err := again.WriteJSON(subscribe{Page: "/deployments/shop/web", Epoch: "7c41", After: w.journal.Last(), V: version}); err != nil {
			t.Fatal(err)
		}
		x := r.sync(telemetry.Cause{Kind: telemetry.CauseResync, Object: "Deployment web"})
		m := receive[update](t, again)
		if m.Seq != x.Seq || ids(m)["f-sets"] != "" {
			t.Errorf("the first message is %d with %d fragments, want %d with what changed alone", m.Seq, len(m.Frags), x.Seq)
		}
	})
	t.Run("a pinned sync stays", func(t *testing.T) {
		first := w.journal.Of(telemetry.Object{Loop: telemetry.LoopDeployment, Namespace: "shop", Name: "web"}, historyRows)[0]
		if err := conn.WriteJSON(subscribe{Page: "/deployments/shop/web?epoch=7c41&sync=" + digits(first.Seq), Epoch: "7c41", After: w.journal.Last()}); err != nil {
			t.Fatal(err)
		}
		for {
			if step := ids(receive[update](t, conn))["f-step"]; step != "" {
				if !strings.Contains(step, "Sync "+digits(first.Seq)+"<") || !strings.Contains(step, "newer") {
					t.Errorf("the cursor is not on sync %d: %s", first.Seq, step)
				}
				return
			}
		}
	})
	t.Run("an unknown object ends the page", func(t *testing.T) {
		gone := look(t, h.URL, "/deployments/shop/none")
		if m := receive[update](t, gone); !strings.Contains(m.Gone, "shop/none") {
			t.Errorf("got %+v", m)
		}
	})
}

func TestPageStreamRestart(t *testing.T) {
	w := newWorld(t, storyNow)
	w.pump()
	w.journal.Record(plain("shop", "web"))
	_, h := w.serve(nil)
	conn := dial(t, h.URL, "", pageProtocol)
	if err := conn.WriteJSON(subscribe{Page: "/deployments", Epoch: "dead", After: 4711}); err != nil {
		t.Fatal(err)
	}
	if m := receive[update](t, conn); !m.Restarted || m.Epoch != "7c41" || len(m.Frags) == 0 {
		t.Errorf("a page of another run got %+v", m)
	}
}

// TestPageStreamGap lets a page fall behind further than is kept.
func TestPageStreamGap(t *testing.T) {
	w := newWorld(t, storyNow)
	w.journal = telemetry.NewJournal(telemetry.JournalOptions{Epoch: "7c41", Recent: 8})
	w.pump()
	w.journal.Record(plain("shop", "web"))
	c := &counts{}
	_, h := w.serve(func(o *Options) { o.Readers = c })
	for range 40 {
		w.journal.Record(plain("shop", "web"))
	}
	conn := dial(t, h.URL, "", pageProtocol)
	if err := conn.WriteJSON(subscribe{Page: "/deployments/shop/web", Epoch: "7c41", After: 1}); err != nil {
		t.Fatal(err)
	}
	for {
		if m := receive[update](t, conn); m.Missed > 0 {
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
	rows := []string{rowID(a.Object), rowID(b.Object)}
	conn := look(t, h.URL, "/deployments", rows...)
	receive[update](t, conn)
	bad := plain("shop", "b")
	bad.Sentence = decision.Sentence{Namespace: "shop", Object: "b", Tone: decision.ToneFailed, Verb: "has", State: "failed", Lead: decision.Words{}.Say("everything is wrong")}
	w.journal.Record(bad)
	var row string
	var order []string
	for row == "" || order == nil {
		m := receive[update](t, conn)
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

// TestSwapsAreBounded sends a burst and counts swaps: the first at once, then
// no more than four a second.
func TestSwapsAreBounded(t *testing.T) {
	w := newWorld(t, storyNow)
	w.pump()
	w.journal.Record(plain("shop", "web"))
	_, h := w.serve(nil)
	conn := look(t, h.URL, "/deployments/shop/web")
	receive[update](t, conn)
	stop := make(chan struct{})
	var writing sync.WaitGroup
	writing.Add(1)
	go func() {
		defer writing.Done()
		tick := time.NewTicker(time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-stop:
				return
			case <-tick.C:
				w.journal.Record(plain("shop", "web"))
			}
		}
	}()
	began := time.Now()
	var at []time.Time
	for len(at) < 6 {
		if ids(receive[update](t, conn))["f-step"] != "" {
			at = append(at, time.Now())
		}
	}
	close(stop)
	writing.Wait()
	if first := at[0].Sub(began); first > swapEvery+200*time.Millisecond {
		t.Errorf("the first swap came after %s", first)
	}
	if five := at[5].Sub(at[0]); five < 5*swapEvery-100*time.Millisecond {
		t.Errorf("five swaps took %s, want at least %s", five, 5*swapEvery)
	}
}

// TestNeverReadingClient is closed at the write deadline, and counted.
func TestNeverReadingClient(t *testing.T) {
	w := newWorld(t, storyNow)
	w.journal = telemetry.NewJournal(telemetry.JournalOptions{Epoch: "7c41", Recent: 4096})
	w.pump()
	big := plain("shop", "web")
	big.Failure = &decision.Failure{Message: strings.Repeat("x", 64<<10)}
	for range 200 {
		x := *big
		w.journal.Record(&x)
	}
	c := &counts{}
	const deadline = 300 * time.Millisecond
	_, h := w.serve(func(o *Options) { o.Readers, o.WriteTimeout = c, deadline })
	d := websocket.Dialer{Subprotocols: []string{traceProtocol}, NetDial: func(network, addr string) (net.Conn, error) {
		conn, err := net.Dial(network, addr)
		if tcp, ok := conn.(*net.TCPConn); ok {
			_ = tcp.SetReadBuffer(4 << 10)
		}
		return conn, err
	}}
	conn, _, err := d.Dial(strings.Replace(h.URL, "http", "ws", 1)+"/live?after=0&epoch=7c41", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	began := time.Now()
	eventually(t, "closed as slow", func() bool { return c.was(closedSlow) == 1 })
	if took := time.Since(began); took < deadline/2 || took > 5*time.Second {
		t.Errorf("closed after %s, the deadline is %s", took, deadline)
	}
	t.Logf("closed after %s", time.Since(began).Round(time.Millisecond))
}

// TestSilentClient answers no ping, and is closed.
func TestSilentClient(t *testing.T) {
	w := newWorld(t, storyNow)
	w.pump()
	c := &counts{}
	_, h := w.serve(func(o *Options) { o.Readers, o.SilentAfter = c, 200*time.Millisecond })
	dial(t, h.URL, "", traceProtocol)
	eventually(t, "closed as silent", func() bool { return c.was(closedSilent) == 1 })
}

// TestTwoHundredReaders follow pages and traces, and leave nothing behind.
func TestTwoHundredReaders(t *testing.T) {
	w := newWorld(t, storyNow.Add(-2*time.Hour))
	w.pump()
	r := stuckRollout(w)
	c := &counts{}
	s, h := w.serve(func(o *Options) { o.Readers = c })
	settled(t)
	before := runtime.NumGoroutine()
	const readers = 200
	var reading sync.WaitGroup
	conns := make([]*websocket.Conn, readers)
	got := make(chan struct{}, readers)
	after := w.journal.Last()
	for i := range conns {
		if i%2 == 0 {
			conns[i] = dial(t, h.URL, "", traceProtocol)
		} else {
			conns[i] = look(t, h.URL, "/deployments/shop/web")
		}
		reading.Add(1)
		go func() { defer reading.Done(); readUntil(conns[i], after+1, got) }()
	}
	eventually(t, "all are seated", func() bool { return len(s.seats) == readers })
	w.now = storyNow
	began := time.Now()
	r.sync(telemetry.Cause{Kind: telemetry.CauseResync, Object: "Deployment web"})
	recorded := time.Since(began)
	for range readers {
		select {
		case <-got:
		case <-time.After(10 * time.Second):
			t.Fatal("a reader did not get the sync")
		}
	}
	t.Logf("deciding and recording took %s, %d readers had it after %s", recorded.Round(time.Microsecond), readers, time.Since(began).Round(time.Millisecond))
	for _, conn := range conns {
		_ = conn.Close()
	}
	reading.Wait()
	eventually(t, "all have left", func() bool { return len(s.seats) == 0 })
	eventually(t, fmt.Sprintf("goroutines are back at %d", before), func() bool { return runtime.NumGoroutine() <= before+2 })
	if n := c.was(closedByClient); n != readers {
		t.Errorf("%d counted as closed by the client, want %d: %v", n, readers, c.closed)
	}
}

// settled waits until goroutines of earlier tests have ended.
func settled(t *testing.T) {
	t.Helper()
	http.DefaultClient.CloseIdleConnections()
	n, since := runtime.NumGoroutine(), time.Now()
	eventually(t, "goroutines settle", func() bool {
		if now := runtime.NumGoroutine(); now != n {
			n, since = now, time.Now()
		}
		return time.Since(since) > 50*time.Millisecond
	})
}

// readUntil reads to the end, and says once when it has met that number.
func readUntil(conn *websocket.Conn, seq uint64, got chan<- struct{}) {
	said := false
	for {
		_, raw, err := conn.ReadMessage()
		if err != nil {
			return
		}
		var m struct {
			Seq   uint64 `json:"seq"`
			Trace *struct {
				Seq uint64 `json:"seq"`
			} `json:"trace"`
		}
		if json.Unmarshal(raw, &m) != nil || said {
			continue
		}
		if m.Seq >= seq || m.Trace != nil && m.Trace.Seq >= seq {
			said = true
			got <- struct{}{}
		}
	}
}

func TestShutdownSaysGoodbye(t *testing.T) {
	w := newWorld(t, storyNow)
	w.pump()
	c := &counts{}
	s, h := w.serve(func(o *Options) { o.Readers = c })
	conn := dial(t, h.URL, "", traceProtocol)
	receive[traceMessage](t, conn)
	if err := s.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	_, _, err := conn.ReadMessage()
	if !websocket.IsCloseError(err, websocket.CloseGoingAway) || c.was(closedShutdown) != 1 {
		t.Errorf("closed with %v, counted %v", err, c.closed)
	}
	d := websocket.Dialer{Subprotocols: []string{traceProtocol}}
	if _, res, err := d.Dial(strings.Replace(h.URL, "http", "ws", 1)+"/live", nil); err == nil || res.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("a reader after the end: %v %v", res, err)
	}
}
