package web

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/web/live"
	"github.com/loopscope/loopscope/web/page"
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
	deadline := time.Now().Add(time.Minute)
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
	d := websocket.Dialer{Subprotocols: []string{protocol}, HandshakeTimeout: time.Minute}
	conn, res, err := d.Dial(strings.Replace(base, "http", "ws", 1)+"/live"+query, nil)
	if err != nil {
		t.Fatalf("%v %v", err, res)
	}
	t.Cleanup(func() { _ = conn.Close() })
	_ = conn.SetReadDeadline(time.Now().Add(time.Minute))
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
	Hello *live.Hello      `json:"hello"`
	Gap   *live.Gap        `json:"gap"`
	Trace *telemetry.Trace `json:"trace"`
}

func TestTraceStream(t *testing.T) {
	w := newWorld(t, storyNow)
	w.journal = telemetry.NewJournal(telemetry.JournalOptions{Loops: testLoops, Epoch: "7c41", Recent: 8})
	w.pump()
	for range 3 {
		w.journal.Record(plain("shop", "web"))
	}
	c := &counts{}
	_, h := w.serve(func(o *Options) { o.Readers = c })

	t.Run("from now", func(t *testing.T) {
		conn := dial(t, h.URL, "", live.TraceProtocol)
		if m := receive[traceMessage](t, conn); m.Hello == nil || m.Hello.Epoch != "7c41" || m.Hello.Last != 3 || m.Hello.After != 3 {
			t.Fatalf("hello %+v", m.Hello)
		}
		w.journal.Record(plain("shop", "web"))
		if m := receive[traceMessage](t, conn); m.Trace == nil || m.Trace.Seq != 4 || m.Trace.Name != "web" {
			t.Fatalf("want trace 4, got %+v", m)
		}
	})
	t.Run("resume", func(t *testing.T) {
		conn := dial(t, h.URL, "?after=1&epoch=7c41", live.TraceProtocol)
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
		conn := dial(t, h.URL, "?after=4&epoch=7c41", live.TraceProtocol)
		receive[traceMessage](t, conn)
		if m := receive[traceMessage](t, conn); m.Gap == nil || m.Gap.Missed != 8 || m.Gap.Next != 13 {
			t.Fatalf("want a gap of 8 before 13, got %+v", m.Gap)
		}
		if m := receive[traceMessage](t, conn); m.Trace == nil || m.Trace.Seq != 13 {
			t.Fatalf("want trace 13, got %+v", m)
		}
		eventually(t, "the missed are counted", func() bool { c.mu.Lock(); defer c.mu.Unlock(); return c.missed >= 8 })
	})
	t.Run("newest of an object", func(t *testing.T) {
		w.journal.Record(plain("shop", "old")) // 21
		for range 16 {
			w.journal.Record(plain("shop", "web"))
		}
		conn := dial(t, h.URL, "?after=20&epoch=7c41", live.TraceProtocol)
		receive[traceMessage](t, conn)
		if m := receive[traceMessage](t, conn); m.Gap == nil || m.Gap.Missed != 8 || m.Gap.Next != 30 {
			t.Fatalf("want a gap of 8 before 30, got %+v", m.Gap)
		}
		for _, want := range []uint64{21, 30} {
			if m := receive[traceMessage](t, conn); m.Trace == nil || m.Trace.Seq != want {
				t.Fatalf("want trace %d, got %+v", want, m.Trace)
			}
		}
	})
	t.Run("other epoch", func(t *testing.T) {
		conn := dial(t, h.URL, "?after=900&epoch=dead", live.TraceProtocol)
		if m := receive[traceMessage](t, conn); m.Hello == nil || !m.Hello.Restarted || m.Hello.After != 0 {
			t.Fatalf("hello %+v", m.Hello)
		}
	})
	t.Run("ends politely", func(t *testing.T) {
		conn := dial(t, h.URL, "", live.TraceProtocol)
		receive[traceMessage](t, conn)
		before := c.was(live.ClosedByClient)
		_ = conn.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(websocket.CloseNormalClosure, ""), time.Now().Add(time.Second))
		eventually(t, "counted as closed by the client", func() bool { return c.was(live.ClosedByClient) > before })
	})
}

// A console that stops has sent every trace before. One whose place another takes sends readers
// away, who may come back.
func TestLastTraces(t *testing.T) {
	w := newWorld(t, storyNow)
	w.pump()
	c := &counts{}
	s, h := w.serve(func(o *Options) {
		o.Readers, o.Leadership = c, func() telemetry.Leadership { return telemetry.Leadership{Identity: "pod-7"} }
	})
	moved := dial(t, h.URL, "", live.TraceProtocol)
	if m := receive[traceMessage](t, moved); m.Hello == nil || m.Hello.By != "pod-7" {
		t.Errorf("hello %+v", m.Hello)
	}
	s.Disconnect()
	if _, _, err := moved.ReadMessage(); !websocket.IsCloseError(err, websocket.CloseServiceRestart) {
		t.Errorf("it is closed with %v", err)
	}
	eventually(t, "counted as moved", func() bool { return c.was(live.ClosedMoved) == 1 })
	conn := dial(t, h.URL, "", live.TraceProtocol)
	receive[traceMessage](t, conn)
	for range 500 {
		w.journal.Record(plain("shop", "web"))
	}
	stopped := make(chan error, 1)
	go func() { stopped <- s.Shutdown(t.Context()) }()
	for want := uint64(1); want <= 500; want++ {
		if m := receive[traceMessage](t, conn); m.Trace == nil || m.Trace.Seq != want {
			t.Fatalf("want trace %d, got %+v", want, m)
		}
	}
	if _, _, err := conn.ReadMessage(); !websocket.IsCloseError(err, websocket.CloseGoingAway) {
		t.Errorf("it is closed with %v", err)
	}
	if err := <-stopped; err != nil {
		t.Error(err)
	}
}

func TestLiveRefusals(t *testing.T) {
	w := newWorld(t, storyNow)
	w.pump()
	_, h := w.serve(nil)
	cases := []struct {
		name, query, protocol, origin string
		status                        int
	}{
		{"foreign origin", "", page.PageProtocol, "https://evil.example", 403},
		{"no subprotocol", "", "", "", 400},
		{"unknown subprotocol", "", "chat", "", 400},
		{"after is no number", "?after=x", live.TraceProtocol, "", 400},
		{"after is ahead", "?after=77", live.TraceProtocol, "", 400},
		{"own origin", "", page.PageProtocol, h.URL, 101},
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
	if res, body := get(t, h.URL, "/live"); res.StatusCode != http.StatusUpgradeRequired || !strings.Contains(body, live.TraceProtocol) {
		t.Errorf("plain GET: %s %s", res.Status, body)
	}
}

func TestTooManyReaders(t *testing.T) {
	w := newWorld(t, storyNow)
	w.pump()
	_, h := w.serve(func(o *Options) { o.MaxReaders = 2 })
	first := dial(t, h.URL, "", live.TraceProtocol)
	dial(t, h.URL, "", live.TraceProtocol)
	address := strings.Replace(h.URL, "http", "ws", 1) + "/live"
	d := websocket.Dialer{Subprotocols: []string{live.TraceProtocol}}
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
		{"oversized", websocket.TextMessage, strings.Repeat("x", live.MaxMessage+1), websocket.CloseMessageTooBig, live.ClosedOversize},
		{"malformed", websocket.TextMessage, "{", websocket.ClosePolicyViolation, live.ClosedProtocol},
		{"unknown field", websocket.TextMessage, `{"page":"/deployments","sql":"drop"}`, websocket.ClosePolicyViolation, live.ClosedProtocol},
		{"bytes", websocket.BinaryMessage, "{}", websocket.ClosePolicyViolation, live.ClosedProtocol},
		{"foreign page", websocket.TextMessage, `{"page":"//evil.example/deployments"}`, websocket.ClosePolicyViolation, live.ClosedProtocol},
		{"no path", websocket.TextMessage, `{"page":"deployments"}`, websocket.ClosePolicyViolation, live.ClosedProtocol},
		{"no page", websocket.TextMessage, `{"page":"/nowhere"}`, websocket.ClosePolicyViolation, live.ClosedProtocol},
		{"not live", websocket.TextMessage, `{"page":"/metrics"}`, websocket.ClosePolicyViolation, live.ClosedProtocol},
		{"long query", websocket.TextMessage, `{"page":"/deployments?q=` + strings.Repeat("x", 1500) + `"}`, websocket.ClosePolicyViolation, live.ClosedProtocol},
	}
	for _, x := range cases {
		t.Run(x.name, func(t *testing.T) {
			before := c.was(x.reason)
			conn := dial(t, h.URL, "", page.PageProtocol)
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
