package web

import (
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
)

// FuzzRequest proves that no address can break the console: an answer is a page
// or a refusal, never a failure, and never without the headers that fence it in.
func FuzzRequest(f *testing.F) {
	for _, target := range []string{"/", "/deployments", "/deployments?q=ns:shop+-is:waiting&after=shop/web", "/deployments.json?after=%ff",
		"/deployments/shop/web", "/deployments/shop/web?held=10m&at=RR-3&window=5m", "/deployments/shop/web/syncs/7c41/1", "/deployments/shop/web/syncs/7c41/99999999999999999999",
		"/replicasets/shop/web-7d4b9c6f5x", "/replicasets/shop/web/syncs/x/0", "/queues", "/queues.json", "/debug/controllers/deployment/shop/web",
		"/live?after=0&epoch=7c41", "/static/..%2f..%2fetc", "/%2e%2e/", "/deployments/%3Cb%3E/%22", "/healthz?verbose", "//", "/?\x7f", "/deployments/shop/web?;&=%zz"} {
		f.Add(target, "text/html")
		f.Add(target, "application/json")
	}
	w, _ := told(f)
	handler := w.server(nil).Handler()
	f.Fuzz(func(t *testing.T, target, accept string) {
		u, err := url.ParseRequestURI(target)
		if err != nil || !strings.HasPrefix(target, "/") {
			return
		}
		req := &http.Request{Method: http.MethodGet, URL: u, Host: "127.0.0.1", RequestURI: target, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
			Header: http.Header{"Accept": {accept}}, RemoteAddr: "127.0.0.1:1"}
		res := httptest.NewRecorder()
		handler.ServeHTTP(res, req.WithContext(t.Context()))
		if res.Code >= 500 && !strings.HasSuffix(u.Path, "readyz") {
			t.Fatalf("%q: %d\n%.500s", target, res.Code, res.Body)
		}
		if res.Header().Get("Content-Security-Policy") != policy || res.Header().Get("X-Content-Type-Options") != "nosniff" {
			t.Fatalf("%q: %d without its headers: %v", target, res.Code, res.Header())
		}
	})
}

// FuzzHost proves that the console answers to loopback and to the names on its
// list, and to nothing that only looks like them.
func FuzzHost(f *testing.F) {
	for _, host := range []string{"127.0.0.1:8077", "localhost:8077", "LOCALHOST.:8077", "[::1]:8077", "console.example", "console.example:444",
		"127.0.0.1.evil.example:8077", "localhost.evil.example", "10.0.0.1:8077", "[::ffff:127.0.0.1]:8077", "[", "a:b:c", "", "\x00", "0:8077", "console.example.evil"} {
		f.Add(host)
	}
	g := newGuard([]string{"console.example"})
	local := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 8077}
	f.Fuzz(func(t *testing.T, host string) {
		if !g.host(host, local) {
			return
		}
		name := host
		if n, _, err := net.SplitHostPort(host); err == nil {
			name = n
		}
		name = strings.TrimSuffix(strings.ToLower(strings.Trim(name, "[]")), ".")
		if ip := net.ParseIP(name); name != "localhost" && name != "console.example" && (ip == nil || !ip.IsLoopback()) {
			t.Fatalf("answers to %q", host)
		}
	})
}
