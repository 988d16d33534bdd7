package web

import (
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/loopscope/loopscope/web/answer"
)

// FuzzRequest proves that no address can break the console: an answer is a page
// or a refusal, never a failure, and never without the headers that fence it in.
func FuzzRequest(f *testing.F) {
	for _, target := range []string{"/", "/deployments", "/deployments?q=ns:shop+-is:waiting&after=shop/web", "/deployments.json?after=%ff", "/deployments?after=waiting~2026-11-21T03:12:04.5Z~shop/web",
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

// FuzzOrigin: a browser's request gets in that is of the console's own pages, or a window that somebody has
// led to one of them, and no other.
func FuzzOrigin(f *testing.F) {
	for _, s := range [][5]string{{"http://127.0.0.1:8077", "", "", "", "/"}, {"null", "", "", "", "/"}, {"", "cross-site", "navigate", "document", "/deployments"}, {"", "cross-site", "navigate", "document", "/metrics"},
		{"", "same-site", "cors", "empty", "/"}, {"HTTP://127.0.0.1:8077", "same-origin", "", "", "/live"}, {"http://127.0.0.1:8077.evil.example", "", "", "", "/"}} {
		f.Add(s[0], s[1], s[2], s[3], s[4])
	}
	g := newGuard([]string{"https://console.example"})
	f.Fuzz(func(t *testing.T, origin, site, mode, dest, path string) {
		r := &http.Request{Method: http.MethodGet, Host: "127.0.0.1:8077", URL: &url.URL{Path: path}, Header: http.Header{"Sec-Fetch-Site": {site}, "Sec-Fetch-Mode": {mode}, "Sec-Fetch-Dest": {dest}}}
		if origin != "" {
			r.Header.Set("Origin", origin)
		}
		if !g.origin(r) {
			return
		}
		own := strings.EqualFold(origin, "http://127.0.0.1:8077")
		led := origin == "" && mode == "navigate" && dest == "document" && !forPrograms(path)
		if !own && !led && (origin != "" || site != "" && site != "same-origin" && site != "none") {
			t.Fatalf("%q, %q, %q, %q may read %q", origin, site, mode, dest, path)
		}
	})
}

// FuzzFind: what a page says that it is leads to a page that can be watched, of one spelling, or nowhere.
func FuzzFind(f *testing.F) {
	for _, path := range []string{"/deployments?q=ns:shop&x=1", "/d%65ployments", "/deployments/shop/web?all&at=1m", "//evil.example/deployments", "/queues#a", "/decisions/deployment", "/live", "/%2e%2e/metrics", "/deployments/a%2fb/c", "\x00", "?", "///s", "/deployments?%zz"} {
		f.Add(path)
	}
	w, _ := told(f)
	s := site{w.server(nil)}
	f.Fuzz(func(t *testing.T, path string) {
		to, err := s.Find(path)
		if err != nil {
			return
		}
		again, err := s.Find(to.Address)
		if err != nil || again.Address != to.Address || again.Path != to.Path {
			t.Fatalf("%q leads to %q, which leads to %+v, %v", path, to.Address, again, err)
		}
		if !strings.HasPrefix(to.Address, "/") || strings.HasPrefix(to.Path, "//") || forPrograms(to.Path) {
			t.Fatalf("%q leads to %q", path, to.Address)
		}
	})
}

// FuzzExportQuery: a query of an export is bounded, or refused with what to write instead.
func FuzzExportQuery(f *testing.F) {
	for _, q := range []string{"", "limit=5&namespace=shop", "limit=0", "limit=99999999999999999999", "since=1h&until=2026-01-01T00:00:00Z", "since=x", "what=ever", "since=-1h&until=%00"} {
		f.Add(q)
	}
	f.Fuzz(func(t *testing.T, query string) {
		args, err := url.ParseQuery(query)
		if err != nil {
			return
		}
		q, err := exportQuery(args, storyNow)
		if problem := (*answer.Problem)(nil); err != nil && (!errors.As(err, &problem) || problem.Status != http.StatusBadRequest || len(problem.Lines) < 2) {
			t.Fatalf("%q: %v", query, err)
		}
		if err == nil && (q.Limit < 1 || q.Limit > mostExported || !q.Since.IsZero() && !q.Until.IsZero() && !q.Since.Before(q.Until)) {
			t.Fatalf("%q asks for %+v", query, q)
		}
	})
}
