package web

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gorilla/websocket"

	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/decision"
	"github.com/loopscope/loopscope/web/live"
)

// TestNeverReadingClient is closed at the write deadline, and counted.
func TestNeverReadingClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, storyNow)
		w.journal = telemetry.NewJournal(telemetry.JournalOptions{Loops: testLoops, Epoch: "7c41", Recent: 4096})
		w.pump()
		for range 200 {
			w.journal.Record(plain("shop", "web"))
		}
		c := &counts{}
		const deadline = 300 * time.Millisecond
		w.dialInMemory("?after=0&epoch=7c41", live.TraceProtocol, func(o *Options) { o.Readers, o.WriteTimeout = c, deadline })
		began := time.Now()
		for c.was(live.ClosedSlow) == 0 && time.Since(began) < time.Minute {
			time.Sleep(time.Millisecond)
		}
		if took := time.Since(began); c.was(live.ClosedSlow) != 1 || took < deadline || took > deadline+10*time.Millisecond {
			t.Errorf("closed as slow %d times after %s, the deadline is %s", c.was(live.ClosedSlow), took, deadline)
		}
	})
}

// TestPausedReader stops reading for a while, and is told what it missed.
func TestPausedReader(t *testing.T) {
	w := newWorld(t, storyNow)
	w.journal = telemetry.NewJournal(telemetry.JournalOptions{Loops: testLoops, Epoch: "7c41", Recent: 16, Wrote: 1, Failed: 1})
	w.pump()
	c := &counts{}
	_, h := w.serve(func(o *Options) { o.Readers = c })
	d := websocket.Dialer{Subprotocols: []string{live.TraceProtocol}, NetDial: func(network, addr string) (net.Conn, error) {
		conn, err := net.Dial(network, addr)
		if tcp, ok := conn.(*net.TCPConn); ok {
			_ = tcp.SetReadBuffer(256 << 10)
		}
		return conn, err
	}}
	conn, _, err := d.Dial(strings.Replace(h.URL, "http", "ws", 1)+"/live", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	receive[traceMessage](t, conn)
	big := plain("shop", "web")
	big.Failure = &decision.Failure{Message: strings.Repeat("x", 64<<10)}
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for range 300 { // Slower than a reader that reads, so that only the pause is to blame.
		<-tick.C
		x := *big
		w.journal.Record(&x)
	}
	last := uint64(0)
	for last < 300 {
		m := receive[traceMessage](t, conn)
		switch {
		case m.Gap != nil:
			if m.Gap.Missed == 0 || m.Gap.Next != last+m.Gap.Missed+1 {
				t.Errorf("after %d a gap of %d before %d", last, m.Gap.Missed, m.Gap.Next)
			}
			last = m.Gap.Next - 1
		case m.Trace.Seq != last+1:
			t.Fatalf("trace %d after %d without a gap", m.Trace.Seq, last)
		default:
			last = m.Trace.Seq
		}
	}
	if c.missed == 0 || c.was(live.ClosedSlow) != 0 {
		t.Errorf("missed %d, closed %v: want a gap and an open connection", c.missed, c.closed)
	}
	t.Logf("missed %d of 300", c.missed)
}

// TestSilentClient answers no ping, and is closed.
func TestSilentClient(t *testing.T) {
	w := newWorld(t, storyNow)
	w.pump()
	c := &counts{}
	_, h := w.serve(func(o *Options) { o.Readers, o.SilentAfter = c, 200*time.Millisecond })
	dial(t, h.URL, "", live.TraceProtocol)
	eventually(t, "closed as silent", func() bool { return c.was(live.ClosedSilent) == 1 })
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
			conns[i] = dial(t, h.URL, "", live.TraceProtocol)
		} else {
			conns[i] = look(t, h.URL, "/deployments/shop/web")
		}
		reading.Add(1)
		go func() { defer reading.Done(); readUntil(conns[i], after+1, got) }()
	}
	eventually(t, "all are connected", func() bool { return s.live.Load().Connections == readers })
	w.now = storyNow
	began := time.Now()
	r.sync(telemetry.Cause{Kind: telemetry.CauseResync, Object: "Deployment web"})
	recorded := time.Since(began)
	for range readers {
		select {
		case <-got:
		case <-time.After(time.Minute):
			t.Fatal("a reader did not get the sync")
		}
	}
	t.Logf("deciding and recording took %s, %d readers had it after %s", recorded.Round(time.Microsecond), readers, time.Since(began).Round(time.Millisecond))
	for _, conn := range conns {
		_ = conn.Close()
	}
	reading.Wait()
	eventually(t, "all have left", func() bool { return s.live.Load().Connections == 0 })
	eventually(t, fmt.Sprintf("goroutines are back at %d", before), func() bool { return runtime.NumGoroutine() <= before+2 })
	if n := c.was(live.ClosedByClient); n != readers {
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
	conn := dial(t, h.URL, "", live.TraceProtocol)
	receive[traceMessage](t, conn)
	if err := s.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	_, _, err := conn.ReadMessage()
	if !websocket.IsCloseError(err, websocket.CloseGoingAway) || c.was(live.ClosedShutdown) != 1 {
		t.Errorf("closed with %v, counted %v", err, c.closed)
	}
	d := websocket.Dialer{Subprotocols: []string{live.TraceProtocol}}
	if _, res, err := d.Dial(strings.Replace(h.URL, "http", "ws", 1)+"/live", nil); err == nil || res.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("a reader after the end: %v %v", res, err)
	}
}
