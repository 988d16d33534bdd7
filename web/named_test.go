package web

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/gorilla/websocket"

	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/web/live"
)

// named serves a console over TLS to whom something before it has let in.
func named(t *testing.T, change func(*Options), before func(http.Handler) http.Handler) *httptest.Server {
	t.Helper()
	s := newWorld(t, storyNow).server(change)
	h := httptest.NewTLSServer(before(s.Named(func(host string) bool { return host == "console.example" || host == "127.0.0.1" }, everybody)))
	t.Cleanup(h.Close)
	return h
}

func directly(h http.Handler) http.Handler { return h }

// TestNamed: where others may ask, a console is asked by the names that it was given, loopback or
// not; its own pages are those of https; and whoever probes it is not told why something fails.
func TestNamed(t *testing.T) {
	h := named(t, func(o *Options) {
		o.Hosts = []string{"proxy.example"}
		o.Checks = func() []telemetry.Check { return []telemetry.Check{{Name: "loops", Err: errors.New("at 10.0.0.1")}} }
	}, directly)
	get := func(path, host, origin string) (int, string) {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, h.URL+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		if r.Host = host; origin != "" {
			r.Header.Set("Origin", origin)
		}
		res, err := h.Client().Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		body, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		return res.StatusCode, string(body)
	}
	for _, c := range []struct {
		host, origin string
		status       int
	}{
		{"console.example", "", 200}, {"CONSOLE.example:10257", "", 200}, {"127.0.0.1:9", "", 200}, {"localhost", "", 421}, {"proxy.example", "", 421}, {"evil.example", "", 421},
		{"console.example", "https://console.example", 200}, {"console.example", "http://console.example", 403}, {"console.example:1", "https://console.example", 403}, {"127.0.0.1", "https://console.example", 403},
	} {
		if status, body := get("/deployments", c.host, c.origin); status != c.status {
			t.Errorf("%+v: %d: %.200s", c, status, body)
		}
	}
	if _, body := get("/deployments", "evil.example", ""); !strings.Contains(body, "--tls-cert-file") {
		t.Errorf("it says %s", body)
	}
	for _, path := range []string{"/readyz", "/readyz/loops"} {
		if status, body := get(path, "127.0.0.1", ""); status != http.StatusServiceUnavailable || !strings.Contains(body, "[-]loops failed: reason withheld\n") || strings.Contains(body, "10.0.0.1") {
			t.Errorf("%s: %d %s", path, status, body)
		}
	}
}

// TestRefusedReader: a websocket ends with the request that it came from, and says why.
func TestRefusedReader(t *testing.T) {
	c := &counts{}
	ends := make(chan context.CancelFunc, 1)
	h := named(t, func(o *Options) { o.Readers = c }, func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			ctx, end := context.WithCancel(r.Context())
			ends <- end
			next.ServeHTTP(w, r.WithContext(ctx))
		})
	})
	d := websocket.Dialer{Subprotocols: []string{live.TraceProtocol}, TLSClientConfig: h.Client().Transport.(*http.Transport).TLSClientConfig}
	conn, _, err := d.Dial(strings.Replace(h.URL, "https", "wss", 1)+"/live", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	(<-ends)()
	for err = nil; err == nil; {
		_, _, err = conn.ReadMessage()
	}
	if !websocket.IsCloseError(err, websocket.ClosePolicyViolation) || !strings.Contains(err.Error(), "the right to read this has ended") {
		t.Errorf("it ends with %v", err)
	}
	eventually(t, "counted", func() bool { return c.was(live.ClosedRefused) == 1 })
}
