package web

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/go-chi/chi/v5"

	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/decision"
	"github.com/loopscope/loopscope/web/live"
	"github.com/loopscope/loopscope/web/page"
	"github.com/loopscope/loopscope/web/slots"
)

// occupied is a console all of whose slots are taken until free.
func occupied(t *testing.T, s *Server) (free func()) {
	t.Helper()
	var all []*slots.Slot
	for range max(1, runtime.GOMAXPROCS(0)-1) {
		one, err := s.pages.Slots.Request(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, one)
	}
	return sync.OnceFunc(func() {
		for _, one := range all {
			one.Release()
		}
	})
}

// TestEverythingExpensiveTakesASlot: no page, twin or scrape is made while all slots
// are taken, and all of them are late rather than refused.
func TestEverythingExpensiveTakesASlot(t *testing.T) {
	s, h := planWorld(t).serve(nil)
	free := occupied(t, s)
	defer free()
	paths := []string{"/deployments", "/deployments.json", "/deployments/shop/web", "/deployments/shop/web.json", "/deployments/shop/stuck/story", "/deployments/shop/stuck/what-if",
		"/queues", "/decisions/deployment", "/about", "/reasons", "/shadow", "/history?q=web", "/metrics", "/debug/controllers", "/debug/controllers/deployment", "/debug/controllers/deployment/shop/web", "/nowhere"}
	var early atomic.Int64
	answers := make(chan *http.Response, len(paths))
	for _, path := range paths {
		go func() {
			res, err := http.Get(h.URL + path)
			early.Add(1)
			if err != nil {
				t.Error(err)
			}
			answers <- res
		}()
	}
	eventually(t, "all of them wait", func() bool { n, _ := s.pages.Slots.Queued(); return n == int64(len(paths)) })
	if res, _ := get(t, h.URL, "/healthz"); res.StatusCode != http.StatusOK {
		t.Errorf("a probe waits with the pages: %s", res.Status)
	}
	if n := early.Load(); n > 0 {
		t.Errorf("%d were answered without a slot", n)
	}
	free()
	for range paths {
		if res := <-answers; res != nil {
			want := http.StatusOK
			if strings.HasSuffix(res.Request.URL.Path, "/nowhere") {
				want = http.StatusNotFound
			}
			if res.StatusCode != want {
				t.Errorf("%s: %s", res.Request.URL, res.Status)
			}
			_ = res.Body.Close()
		}
	}
}

// TestDrawingsAreBounded counts how many pages are drawn at once when many are asked
// for, by requests and over sockets.
func TestDrawingsAreBounded(t *testing.T) {
	w := newWorld(t, storyNow)
	w.pump()
	s, h := w.serve(nil)
	var now, most atomic.Int64
	count := func(next page.Builder) page.Builder {
		return func(q *page.Query) (*page.Page, error) {
			n := now.Add(1)
			defer now.Add(-1)
			for old := most.Load(); n > old && !most.CompareAndSwap(old, n); old = most.Load() {
			}
			runtime.Gosched()
			return next(q)
		}
	}
	for pattern, p := range s.pages.Routes {
		p.Build = count(p.Build)
		s.pages.Routes[pattern] = p
	}
	bound := int64(max(1, runtime.GOMAXPROCS(0)-1))
	var drawing sync.WaitGroup
	for i := range 32 {
		drawing.Go(func() {
			w := httptest.NewRecorder()
			routed := context.WithValue(t.Context(), chi.RouteCtxKey, chi.NewRouteContext())
			s.pages.Serve(s.pages.Routes["/queues"].Build)(w, httptest.NewRequestWithContext(routed, http.MethodGet, "/queues", nil))
			if w.Code != http.StatusOK {
				t.Error(w.Code)
			}
		})
		drawing.Go(func() { // Each is another page, which is drawn by itself.
			receive[live.Update](t, look(t, h.URL, fmt.Sprintf("/deployments?q=n%d", i)))
		})
	}
	drawing.Wait()
	if n := most.Load(); n == 0 || n > bound {
		t.Errorf("%d drawings at once, want 1 to %d", n, bound)
	}
}

// TestBusyAnswer is what the reader sees then.
func TestBusyAnswer(t *testing.T) {
	s, h := newWorld(t, storyNow).serve(nil)
	for range slots.MaxWaiting {
		if _, err := s.pages.Slots.Queue(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	for _, path := range []string{"/deployments", "/deployments.json", "/metrics"} {
		res, body := get(t, h.URL, path)
		if res.StatusCode != http.StatusServiceUnavailable || res.Header.Get("Retry-After") != "5" || !strings.Contains(body, "more readers than it can serve right now") {
			t.Errorf("%s: %s, Retry-After %q: %.300s", path, res.Status, res.Header.Get("Retry-After"), body)
		}
	}
}

// TestTracesOfThePastTakeASlot: a reader who asks for all that is kept has it unpacked
// and encoded when there is time for that.
func TestTracesOfThePastTakeASlot(t *testing.T) {
	w := newWorld(t, storyNow)
	w.pump()
	s, h := w.serve(nil)
	const kept = 512 // more than the stream keeps encoded
	for range kept {
		w.journal.Record(plain("shop", "web"))
	}
	free := occupied(t, s)
	defer free()
	conn := dial(t, h.URL, "?after=0&epoch=7c41", live.TraceProtocol)
	if m := receive[traceMessage](t, conn); m.Hello == nil {
		t.Fatalf("want hello, got %+v", m)
	}
	eventually(t, "it waits for a slot", func() bool { _, n := s.pages.Slots.Queued(); return n == 1 })
	free()
	for want := uint64(1); want <= kept; want++ {
		if m := receive[traceMessage](t, conn); m.Trace == nil || m.Trace.Seq != want {
			t.Fatalf("want trace %d, got %+v", want, m)
		}
	}
}

// TestSlowReadersHoldNoSlot: an answer that nobody takes is no drawing.
func TestSlowReadersHoldNoSlot(t *testing.T) {
	s, h := newWorld(t, storyNow).serve(nil)
	big := strings.Repeat("x", 8<<20)
	s.handler.Get("/big", s.pages.Serve(func(q *page.Query) (*page.Page, error) {
		q.Twin = true
		return &page.Page{Status: http.StatusOK, Frame: s.pages.Frame(q, "big"), Data: struct{ Text string }{big}}, nil
	}))
	res := raw(t, h.URL, "GET", "/big") // and reads nothing of its body
	defer func() { _, _ = io.Copy(io.Discard, res.Body) }()
	if res, _ := get(t, h.URL, "/deployments"); res.StatusCode != http.StatusOK {
		t.Errorf("beside a reader who reads nothing: %s", res.Status)
	}
}

// TestWarningsHoldNoSlot: others draw while the API server is asked for events.
func TestWarningsHoldNoSlot(t *testing.T) {
	asked := 0
	w := newWorld(t, storyNow)
	x := plain("shop", "web")
	x.Diagnosis.Findings = []decision.Finding{{Code: "image-pull", Count: 1, Pods: []string{"web-1"}}}
	w.journal.Record(x)
	var s *Server
	s, h := w.serve(func(o *Options) {
		o.Warnings = func(ctx context.Context, _ string, _ []string) ([]telemetry.Warning, error) {
			place, err := s.pages.Slots.Request(ctx)
			if asked++; err != nil {
				t.Errorf("a slot is held while the API server is asked: %v", err)
			}
			place.Release()
			return nil, nil
		}
	})
	for range max(1, runtime.GOMAXPROCS(0)-1) - 1 {
		if _, err := s.pages.Slots.Request(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if res, _ := get(t, h.URL, "/deployments/shop/web"); res.StatusCode != http.StatusOK || asked != 1 {
		t.Errorf("%s, and it was asked %d times", res.Status, asked)
	}
}
