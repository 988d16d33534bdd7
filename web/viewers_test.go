package web

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/loopscope/loopscope/web/live"
	"github.com/loopscope/loopscope/web/page"
	"github.com/loopscope/loopscope/web/sight"
	"github.com/loopscope/loopscope/web/slots"
)

// somebody is a viewer who may get and list what rights say, and read every path but those that are shut.
type somebody struct {
	name string
	mu   sync.Mutex
	may  func(r Resource, namespace string) bool
	shut string
}

func (v *somebody) Name() string { return v.name }

func (v *somebody) May(_ context.Context, r Resource, namespace string) (bool, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.may != nil && v.may(r, namespace), nil
}

func (v *somebody) Opens(_ context.Context, path string) (bool, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	return path != v.shut, nil
}

// close takes the right to a path.
func (v *somebody) close(path string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.shut = path
}

// everybody may see everything.
func everybody(*http.Request) sight.Viewer {
	return &somebody{name: "everybody", may: func(Resource, string) bool { return true }}
}

// byHeader is who a request says that it is from, as nothing but a test may believe.
func byHeader(who map[string]*somebody) func(*http.Request) Viewer {
	for name, v := range who {
		v.name = name
	}
	return func(r *http.Request) Viewer {
		if v := who[r.Header.Get("Who")]; v != nil {
			return v
		}
		return nil
	}
}

// subscribed is a page that somebody looks at.
func subscribed(t *testing.T, base, who, path string) (*websocket.Conn, error) {
	t.Helper()
	d := websocket.Dialer{Subprotocols: []string{page.PageProtocol}, HandshakeTimeout: time.Minute}
	conn, res, err := d.Dial(strings.Replace(base, "http", "ws", 1)+"/live", http.Header{"Who": {who}})
	if err != nil {
		return nil, fmt.Errorf("%w: %d", err, res.StatusCode)
	}
	t.Cleanup(func() { _ = conn.Close() })
	_ = conn.SetReadDeadline(time.Now().Add(time.Minute))
	if err := conn.WriteJSON(live.Subscribe{Page: path, Epoch: "7c41"}); err != nil {
		t.Fatal(err)
	}
	return conn, nil
}

// TestAPageTakesItsOwnRight: the right to open a websocket is not the right to every page that can be
// watched, and a page ends with its right.
func TestAPageTakesItsOwnRight(t *testing.T) {
	all := func(Resource, string) bool { return true }
	ann := &somebody{may: all, shut: "/queues"}
	_, h := planWorld(t).serve(func(o *Options) { o.Viewer = byHeader(map[string]*somebody{"ann": ann, "bob": {may: all}}) })
	end := func(who, path string) error {
		conn, err := subscribed(t, h.URL, who, path)
		if err != nil {
			t.Fatal(err)
		}
		_, _, err = conn.ReadMessage()
		return err
	}
	if err := end("ann", "/queues"); !websocket.IsCloseError(err, websocket.ClosePolicyViolation) || !strings.Contains(err.Error(), "there is no such page") {
		t.Errorf("it ends with %v", err)
	}
	if err := end("ann", "/decisions"); err != nil {
		t.Error(err)
	}
	if err := end("bob", "/queues"); err != nil {
		t.Error(err)
	}
	if err := end("nobody", "/queues"); !websocket.IsCloseError(err, websocket.ClosePolicyViolation) {
		t.Errorf("it ends with %v", err)
	}
	longUnderRace(t)
	conn, err := subscribed(t, h.URL, "ann", "/decisions")
	if err != nil {
		t.Fatal(err)
	}
	ann.close("/decisions")
	for err == nil {
		_, _, err = conn.ReadMessage()
	}
	if !websocket.IsCloseError(err, websocket.ClosePolicyViolation) || !strings.Contains(err.Error(), "the right to read this has ended") {
		t.Errorf("it ends with %v", err)
	}
}

// TestEachViewerHasAShare: one viewer leaves places for the others, whatever is asked for.
func TestEachViewerHasAShare(t *testing.T) {
	ann, bob := &somebody{}, &somebody{}
	s, h := planWorld(t).serve(func(o *Options) {
		o.MaxReaders, o.Viewer = 16, byHeader(map[string]*somebody{"ann": ann, "bob": bob})
	})
	for i := range 3 {
		if _, err := subscribed(t, h.URL, "ann", "/queues"); (err != nil) != (i == 2) || err != nil && !strings.HasSuffix(err.Error(), "503") {
			t.Errorf("websocket %d: %v", i, err)
		}
	}
	if _, err := subscribed(t, h.URL, "bob", "/queues"); err != nil {
		t.Error(err)
	}
	anns := slots.Whose(t.Context(), "ann")
	leave, err := s.exports.Take(anns)
	if err != nil {
		t.Fatal(err)
	}
	var waits []func()
	for err == nil {
		var done func()
		if done, err = s.places.Queue(anns); err == nil {
			waits = append(waits, done)
		}
	}
	for path, status := range map[string]int{"/export.jsonl": http.StatusTooManyRequests, "/metrics": http.StatusTooManyRequests, "/queues.json": http.StatusTooManyRequests} {
		for who, want := range map[string]int{"ann": status, "bob": http.StatusOK} {
			res, body := get(t, h.URL, path, "Who", who)
			if res.StatusCode != want || want != http.StatusOK && (!strings.Contains(body, "too-many-of-one") || res.Header.Get("Retry-After") == "") {
				t.Errorf("%s: %s: %s: %.200s", who, path, res.Status, body)
			}
		}
	}
	leave()
	for _, done := range waits {
		done()
	}
	if len(waits) != slots.MaxWaiting/8 {
		t.Errorf("one viewer has %d requests waiting", len(waits))
	}
	if res, _ := get(t, h.URL, "/export.jsonl", "Who", "ann"); res.StatusCode != http.StatusOK {
		t.Errorf("the place is not free again: %s", res.Status)
	}
}

// TestViewerOfAComponent: a console that is part of another program shows what that program says, and
// without a word of it everything.
func TestViewerOfAComponent(t *testing.T) {
	ann := &somebody{may: func(_ Resource, namespace string) bool { return namespace == "shop" }}
	w := planWorld(t)
	w.journal.Record(plain("other", "planted"))
	_, h := w.serve(func(o *Options) { o.Viewer = byHeader(map[string]*somebody{"ann": ann}) })
	_, all := w.serve(nil)
	for _, c := range []struct {
		base, who     string
		shop, planted bool
	}{{h.URL, "ann", true, false}, {h.URL, "nobody", false, false}, {all.URL, "", true, true}} {
		_, body := get(t, c.base, "/deployments", "Who", c.who)
		if strings.Contains(body, "stuck") != c.shop || strings.Contains(body, "planted") != c.planted {
			t.Errorf("%s sees %s", c.who, parse(t, body).one("main"))
		}
	}
	_, body := get(t, h.URL, "/deployments", "Who", "ann")
	if h1 := parse(t, body).one("h1"); !strings.Contains(h1, "that you may see") || !strings.Contains(body, " in all since ") {
		t.Errorf("it counts %q", h1)
	}
	if _, body = get(t, h.URL, "/deployments/other/planted", "Who", "ann"); !strings.Contains(parse(t, body).one("main"), "may get and list deployments.apps, replicasets.apps and pods there") {
		t.Errorf("it says %s", parse(t, body).one("main"))
	}
}

// TestConsolesAreBounded: however many ask, so many have a console, and what one may is never another's.
func TestConsolesAreBounded(t *testing.T) {
	w := planWorld(t)
	s := w.server(func(o *Options) {
		o.Viewer = func(r *http.Request) Viewer {
			name := r.Header.Get("Who")
			return &somebody{name: name, may: func(_ Resource, namespace string) bool { return namespace == "shop" && strings.HasSuffix(name, "0") }}
		}
	})
	for i := range mostConsoles + 50 {
		r := httptest.NewRequest(http.MethodGet, "/deployments.json", nil)
		r.Host = "localhost"
		r.Header.Set("Who", fmt.Sprint(i))
		rec := httptest.NewRecorder()
		s.Handler().ServeHTTP(rec, r)
		if rec.Code != http.StatusOK || strings.Contains(rec.Body.String(), "stuck") != (i%10 == 0) {
			t.Fatalf("%d: %d %s", i, rec.Code, rec.Body.String())
		}
	}
	if n := s.viewers.consoles.Len(); n != mostConsoles {
		t.Errorf("there are %d consoles", n)
	}
}

// BenchmarkViewers asks for the list of 5,000 Deployments in 1,000 namespaces.
func BenchmarkViewers(b *testing.B) {
	w := newWorld(b, storyNow.Add(-time.Hour))
	for i := range 5000 {
		w.journal.Record(plain(fmt.Sprintf("ns-%d", i%1000), fmt.Sprintf("d-%d", i)))
	}
	s := w.server(func(o *Options) {
		o.Viewer = byHeader(map[string]*somebody{"of all": {may: func(Resource, string) bool { return true }}, "of one": {may: func(_ Resource, namespace string) bool { return namespace == "ns-7" }}})
	})
	for name, h := range map[string]http.Handler{"everything": s.handler, "of all": s.Handler(), "of one": s.Handler()} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				r := httptest.NewRequest(http.MethodGet, "/deployments", nil)
				r.Host = "localhost"
				r.Header.Set("Who", name)
				rec := httptest.NewRecorder()
				if h.ServeHTTP(rec, r); rec.Code != http.StatusOK {
					b.Fatal(rec.Code)
				}
			}
		})
	}
}
