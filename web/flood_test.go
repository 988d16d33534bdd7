package web

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/loopscope/loopscope/views"
	"github.com/loopscope/loopscope/web/live"
	"github.com/loopscope/loopscope/web/page"
	"github.com/loopscope/loopscope/web/words"
)

// TestOnePageHasOneAddress: what makes no difference to a page makes no other page of it.
func TestOnePageHasOneAddress(t *testing.T) {
	s, h := planWorld(t).serve(nil)
	for want, others := range map[string][]string{
		"/deployments":                     {"/deployments?x=1", "/deployments?x=2&y=", "/deployments?q=", "/deployments#a", "/d%65ployments", "/deployments?still=1&theme=dark"},
		"/deployments?q=web":               {"/deployments?q=web&x=1", "/deployments?x=1&q=web&q=other", "/deployments?q=%77eb"},
		"/deployments?after=a&q=web":       {"/deployments?q=web&after=a"},
		"/deployments/shop/web":            {"/deployments/shop/web?x=9", "/deployments/sh%6fp/web", "/deployments/shop/web?replicas=3"},
		"/deployments/shop/web?all=":       {"/deployments/shop/web?all", "/deployments/shop/web?all=1", "/deployments/shop/web?all=2&all=3"},
		"/deployments/shop/web?window=23m": {"/deployments/shop/web?window=23m&window=1h"},
		"/queues":                          {"/queues?q=web", "/queues?at=1h"},
	} {
		for _, address := range append(others, want) {
			to, err := site{s}.Find(address)
			if err != nil || to.Address != want {
				t.Errorf("%s is the page %+v, %v; want %s", address, to, err, want)
			}
			u, err := url.Parse(address)
			if err != nil || u.Fragment != "" || u.Query().Has("after") {
				continue
			}
			if _, body := get(t, h.URL, address); !strings.Contains(body, `data-page="`+strings.ReplaceAll(want, "&", "&amp;")+`"`) && u.RawPath == "" {
				t.Errorf("the page at %s does not follow %s", address, want)
			}
		}
	}
}

// TestUnknownParametersShareADrawing: many sockets on addresses that differ by what no
// page knows watch one page.
func TestUnknownParametersShareADrawing(t *testing.T) {
	w := planWorld(t)
	w.pump()
	s, h := w.serve(nil)
	const readers = 64
	for i := range readers {
		conn := dial(t, h.URL, "", page.PageProtocol)
		if err := conn.WriteJSON(live.Subscribe{Page: fmt.Sprintf("/deployments/shop/web?x=%d", i), Epoch: "7c41"}); err != nil {
			t.Fatal(err)
		}
		receive[live.Update](t, conn)
	}
	if n := s.live.Load().Pages; n != 1 {
		t.Errorf("%d pages are drawn for %d readers of one", n, readers)
	}
}

// TestOnlyLivePagesAreWatched: what never changes by itself is not drawn for a socket.
func TestOnlyLivePagesAreWatched(t *testing.T) {
	w := planWorld(t)
	w.pump()
	s, h := w.serve(nil)
	for _, path := range []string{"/deployments/shop/web/what-if?replicas=500", "/deployments/shop/web/story", "/history?q=web", "/about", "/reasons", "/deployments.json",
		"/deployments/shop/web/what-if.json", "/deployments/shop/web/syncs/7c41/1", "/deployments/shop/web/syncs/7c41/1/chain", "/metrics", "/export.jsonl"} {
		conn := dial(t, h.URL, "", page.PageProtocol)
		if err := conn.WriteJSON(live.Subscribe{Page: path, Epoch: "7c41"}); err != nil {
			t.Fatal(err)
		}
		_, message, err := conn.ReadMessage()
		if closed := (*websocket.CloseError)(nil); !errors.As(err, &closed) || closed.Code != websocket.ClosePolicyViolation || closed.Text != "that page is not live" {
			t.Errorf("%s: %v %.200s", path, err, message)
		}
	}
	eventually(t, "all connections are released", func() bool { return s.live.Load().Connections == 0 })
}

// TestSubscriptionFlood: a socket that subscribes without a pause is told why it is
// closed, and what it asked for was drawn no more often than that of another.
func TestSubscriptionFlood(t *testing.T) {
	w := planWorld(t)
	w.pump()
	c := &counts{}
	s, h := w.serve(func(o *Options) { o.Readers = c })
	var built atomic.Int64
	for pattern, p := range s.pages.Routes {
		next := p.Build
		p.Build = func(q *page.Query) (*page.Page, error) { built.Add(1); return next(q) }
		s.pages.Routes[pattern] = p
	}
	conn := dial(t, h.URL, "", page.PageProtocol)
	began := time.Now()
	go func() {
		for i := 0; ; i++ {
			if conn.WriteJSON(live.Subscribe{Page: []string{"/deployments", "/queues"}[i%2], Epoch: "7c41"}) != nil {
				return
			}
		}
	}()
	for {
		_, _, err := conn.ReadMessage()
		if err == nil {
			continue
		}
		if closed := (*websocket.CloseError)(nil); !errors.As(err, &closed) || closed.Code != websocket.ClosePolicyViolation || closed.Text != "at most 100 messages and pings at once and 50 a second" {
			t.Errorf("closed with %v", err)
		}
		break
	}
	eventually(t, "counted", func() bool { return c.was(live.ClosedProtocol) == 1 })
	took := time.Since(began)
	if took < live.FloodPause {
		t.Errorf("closed after %s: it could be back at once", took)
	}
	if n, most := built.Load(), int64(live.BeginBurst+3+live.BeginRate*(took/time.Second+1)); n > most {
		t.Errorf("%d drawings for one socket in %s, want %d at most", n, took, most)
	}
}

// TestPingFlood: pings and pongs count as messages do, so that none is answered without a bound.
func TestPingFlood(t *testing.T) {
	for _, kind := range []int{websocket.PingMessage, websocket.PongMessage} {
		w := planWorld(t)
		w.pump()
		c := &counts{}
		_, h := w.serve(func(o *Options) { o.Readers = c })
		conn := dial(t, h.URL, "", live.TraceProtocol)
		pongs := 0
		conn.SetPongHandler(func(string) error { pongs++; return nil })
		began := time.Now()
		go func() {
			for conn.WriteControl(kind, nil, time.Now().Add(time.Second)) == nil && time.Since(began) < time.Minute {
			}
		}()
		var err error
		for err == nil {
			_, _, err = conn.ReadMessage()
		}
		if closed := (*websocket.CloseError)(nil); !errors.As(err, &closed) || closed.Code != websocket.ClosePolicyViolation || closed.Text != "at most 100 messages and pings at once and 50 a second" {
			t.Errorf("closed with %v", err)
		}
		eventually(t, "counted", func() bool { return c.was(live.ClosedProtocol) == 1 })
		took := time.Since(began)
		if most := live.SubscribeBurst + int(took.Seconds()+1)*live.SubscribeRate; took < live.FloodPause || pongs > most {
			t.Errorf("%d pings were answered in %s, want %d at most", pongs, took, most)
		}
	}
}

// TestHeldKey: a reader who steps from sync to sync as fast as a key repeats is not
// closed, and ends with the page that it asked for last.
func TestHeldKey(t *testing.T) {
	w := planWorld(t)
	w.pump()
	_, h := w.serve(nil)
	conn := dial(t, h.URL, "", page.PageProtocol)
	tick := time.NewTicker(time.Second / 30)
	defer tick.Stop()
	const steps = 45
	for i := range steps {
		<-tick.C
		path := "/queues"
		if i == steps-1 {
			path = "/deployments/shop/web"
		}
		if err := conn.WriteJSON(live.Subscribe{Page: path, Epoch: "7c41"}); err != nil {
			t.Fatal(err)
		}
	}
	for {
		m := receive[live.Update](t, conn)
		for _, f := range m.Frags {
			if f.ID == "f-step" { // of the Deployment's page alone
				return
			}
		}
	}
}

// keptBusy is a page that is drawn until nobody waits for it any more.
func keptBusy(s *Server, begun, ended *atomic.Int64) page.Builder {
	return func(q *page.Query) (*page.Page, error) {
		begun.Add(1)
		<-q.Ctx.Done()
		ended.Add(1)
		p := &page.Page{Status: http.StatusOK, Frame: s.pages.Frame(q, "busy"), Body: views.ProblemBody(views.Problem{})}
		return p, q.Ctx.Err()
	}
}

// TestSeatsEndWithTheirSockets: sockets that are closed while their pages are being drawn
// leave at once, and nobody goes on drawing for them.
func TestSeatsEndWithTheirSockets(t *testing.T) {
	w := planWorld(t)
	w.pump()
	s, h := w.serve(nil)
	var begun, ended atomic.Int64
	p := s.pages.Routes["/deployments/{namespace}/{name}"]
	p.Build = keptBusy(s, &begun, &ended)
	s.pages.Routes["/deployments/{namespace}/{name}"] = p
	const readers = 32
	conns := make([]*websocket.Conn, readers)
	for i := range conns {
		conns[i] = dial(t, h.URL, "", page.PageProtocol)
		if err := conns[i].WriteJSON(live.Subscribe{Page: "/deployments/shop/d-" + words.Digits(i), Epoch: "7c41"}); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "one is drawn and the others wait", func() bool {
		return begun.Load() > 0 && s.live.Load().Pages == readers
	})
	for _, conn := range conns {
		_ = conn.Close()
	}
	eventually(t, "all connections are released", func() bool { return s.live.Load().Connections == 0 })
	eventually(t, "no drawing goes on", func() bool { return begun.Load() == ended.Load() })
	if res, _ := get(t, h.URL, "/queues"); res.StatusCode != http.StatusOK {
		t.Errorf("a page afterwards: %s", res.Status)
	}
}

// TestRequestsEndWithTheirReaders: so do plans, which look at it between their slices.
func TestRequestsEndWithTheirReaders(t *testing.T) {
	w := planWorld(t)
	s, h := w.serve(nil)
	s.whatIfs.Within = time.Hour // Nothing but the reader's leaving ends it soon.
	ctx, leave := context.WithCancel(t.Context())
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, h.URL+"/deployments/shop/web/what-if?replicas=3900", nil)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error)
	go func() {
		res, err := http.DefaultClient.Do(r)
		if err == nil {
			_ = res.Body.Close()
		}
		done <- err
	}()
	eventually(t, "the plan is being made", s.whatIfs.Planning)
	leave()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Fatalf("the plan was made before its reader left: %v", err)
	}
	eventually(t, "its place is free", func() bool { return !s.whatIfs.Planning() })
}
