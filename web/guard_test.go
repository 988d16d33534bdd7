package web

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// raw sends a request as it stands, since net/http fixes what is tested here.
func raw(t *testing.T, base, method, target string, header ...string) *http.Response {
	t.Helper()
	address := strings.TrimPrefix(base, "http://")
	conn, err := net.DialTimeout("tcp", address, 5*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(30 * time.Second)) // A test that hangs ends; nothing is asserted of the time.
	host := address
	var rest strings.Builder
	for i := 0; i+1 < len(header); i += 2 {
		if header[i] == "Host" {
			host = header[i+1]
			continue
		}
		fmt.Fprintf(&rest, "%s: %s\r\n", header[i], header[i+1])
	}
	if _, err := fmt.Fprintf(conn, "%s %s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n%s\r\n", method, target, host, rest.String()); err != nil {
		t.Fatal(err)
	}
	res, err := http.ReadResponse(bufio.NewReader(conn), &http.Request{Method: method})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = res.Body.Close() })
	return res
}

type guardCase struct {
	name   string
	header []string
	status int
}

// paths are those that the case holds for.
func (c guardCase) paths() []string {
	if c.name == "link in a chat" {
		return []string{"/deployments", "/queues", "/history", "/healthz"}
	}
	return []string{"/deployments", "/metrics", "/healthz", "/debug/controllers"}
}

// TestForeignNavigation: another site may link to a page, and to nothing that is
// downloaded or costs more than a page. The same addresses open when they are typed, from the
// console's own pages, and for programs, which send no such headers.
func TestForeignNavigation(t *testing.T) {
	s, h := planWorld(t).serve(func(o *Options) { o.Profiling = true })
	for _, path := range []string{"/export.jsonl", "/metrics", "/debug/controllers", "/debug/controllers/deployment", "/debug/pprof/", "/debug/pprof/cmdline",
		"/deployments.json", "/deployments/shop/web.json", "/deployments/shop/web/what-if.json", "/deployments/shop/web/story.json", "/history.json"} {
		for _, site := range []string{"cross-site", "same-site"} {
			if res := raw(t, h.URL, "GET", path, "Sec-Fetch-Site", site, "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "document", "Sec-Fetch-User", "?1"); res.StatusCode != http.StatusForbidden {
				t.Errorf("%s from a %s page: %s", path, site, res.Status)
			}
		}
		for _, site := range []string{"same-origin", "none", ""} {
			header := []string{"Sec-Fetch-Site", site, "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "document"}
			if site == "" {
				header = nil
			}
			eventually(t, "a place is free", func() bool { return s.exports.Used() == 0 })
			if res := raw(t, h.URL, "GET", path, header...); res.StatusCode != http.StatusOK {
				t.Errorf("%s, Sec-Fetch-Site %q: %s", path, site, res.Status)
			}
		}
	}
	eventually(t, "no place is taken by what was refused", func() bool { return s.exports.Used() == 0 })
}

func TestHostAndOrigin(t *testing.T) {
	w := newWorld(t, storyNow)
	_, h := w.serve(func(o *Options) {
		o.Hosts = []string{"console.example", "other.example:9000", "https://tls.example", "http://plain.example", "https://", "http://", "", "https://:99"}
	})
	address := strings.TrimPrefix(h.URL, "http://")
	_, port, _ := net.SplitHostPort(address)
	cases := []guardCase{
		{"loopback address", []string{"Host", address}, 200},
		{"localhost", []string{"Host", "localhost:" + port}, 200},
		{"localhost in capitals with a dot", []string{"Host", "LOCALHOST.:" + port}, 200},
		{"another loopback address", []string{"Host", "127.7.7.7:" + port}, 200},
		{"loopback v6", []string{"Host", "[::1]:" + port}, 200},
		{"listed name", []string{"Host", "console.example"}, 200},
		{"listed name, any port", []string{"Host", "console.example:444"}, 200},
		{"listed name and port", []string{"Host", "other.example:9000"}, 200},
		{"listed name, with its scheme", []string{"Host", "plain.example"}, 200},
		{"origin of a listed name, with its scheme", []string{"Host", "plain.example", "Origin", "http://plain.example"}, 200},
		{"no name", []string{"Host", ""}, 421},
		{"a port alone", []string{"Host", ":99"}, 421},
		{"listed name, other port", []string{"Host", "other.example:9001"}, 421},
		{"rebinding name", []string{"Host", "evil.example:" + port}, 421},
		{"name that begins like loopback", []string{"Host", "127.0.0.1.evil.example:" + port}, 421},
		{"name that ends like localhost", []string{"Host", "localhost.evil.example:" + port}, 421},
		{"subdomain of localhost", []string{"Host", "a.localhost:" + port}, 421},
		{"loopback, other port", []string{"Host", "127.0.0.1:1"}, 421},
		{"loopback without a port", []string{"Host", "127.0.0.1"}, 421},
		{"private address", []string{"Host", "10.0.0.1:" + port}, 421},
		{"all addresses", []string{"Host", "0.0.0.0:" + port}, 421},
		{"own origin", []string{"Origin", h.URL}, 200},
		{"own origin in another scheme", []string{"Origin", "https://" + address}, 403},
		{"origin without a host", []string{"Origin", "https://"}, 403},
		{"origin without a host, plain", []string{"Origin", "http://"}, 403},
		{"origin with a path", []string{"Origin", h.URL + "/"}, 403},
		{"two origins", []string{"Origin", h.URL, "Origin", "https://evil.example"}, 403},
		{"empty origin", []string{"Origin", ""}, 403},
		{"origin of a listed name", []string{"Host", "console.example", "Origin", "http://console.example"}, 200},
		{"origin of a listed name in another scheme", []string{"Host", "console.example", "Origin", "https://console.example"}, 403},
		{"origin of a name behind TLS", []string{"Host", "tls.example", "Origin", "https://tls.example"}, 200},
		{"origin of a name behind TLS, plain", []string{"Host", "tls.example", "Origin", "http://tls.example"}, 403},
		{"foreign origin", []string{"Origin", "https://evil.example"}, 403},
		{"null origin", []string{"Origin", "null"}, 403},
		{"origin of another port", []string{"Origin", "http://127.0.0.1:1"}, 403},
		{"origin that begins alike", []string{"Origin", h.URL + ".evil.example"}, 403},
		{"own fetch", []string{"Sec-Fetch-Site", "same-origin"}, 200},
		{"typed address", []string{"Sec-Fetch-Site", "none", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "document"}, 200},
		{"link in a chat", []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "document"}, 200},
		{"foreign frame", []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "iframe"}, 403},
		{"foreign fetch", []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "no-cors", "Sec-Fetch-Dest", "script"}, 403},
		{"fetch of a neighbour", []string{"Sec-Fetch-Site", "same-site", "Sec-Fetch-Mode", "cors"}, 403},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			for _, path := range c.paths() {
				if res := raw(t, h.URL, "GET", path, c.header...); res.StatusCode != c.status {
					t.Errorf("%s: %s, want %d", path, res.Status, c.status)
				}
			}
		})
	}
}

func TestMethodsAndHeaders(t *testing.T) {
	_, h := newWorld(t, storyNow).serve(nil)
	for _, method := range []string{"POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT", "PROPFIND"} {
		res := raw(t, h.URL, method, "/deployments", "Content-Length", "0")
		if res.StatusCode != http.StatusMethodNotAllowed || res.Header.Get("Allow") != "GET, HEAD" {
			t.Errorf("%s: %s, Allow %q", method, res.Status, res.Header.Get("Allow"))
		}
	}
	res := raw(t, h.URL, "HEAD", "/deployments")
	if res.StatusCode != http.StatusOK || res.Header.Get("Content-Length") == "" {
		t.Errorf("HEAD: %s, %v", res.Status, res.Header)
	}
	for _, path := range []string{"/deployments", "/nowhere", "/deployments.json", "/metrics", "/healthz"} {
		res, _ := get(t, h.URL, path)
		for name, want := range map[string]string{"X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY", "Referrer-Policy": "no-referrer",
			"Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Resource-Policy": "same-origin", "Content-Security-Policy": policy} {
			if got := res.Header.Get(name); got != want {
				t.Errorf("%s: %s is %q, want %q", path, name, got, want)
			}
		}
	}
	if strings.Contains(policy, "unsafe") || !strings.Contains(policy, "default-src 'none'") {
		t.Errorf("the policy is too wide: %s", policy)
	}
}

// TestTraversal asks for files above the root in many spellings.
func TestTraversal(t *testing.T) {
	_, h := newWorld(t, storyNow).serve(nil)
	for _, target := range []string{"/static/../web.go", "/static/..%2f..%2fgo.mod", "/../../etc/passwd", "/static/%2e%2e/%2e%2e/etc/passwd", "/static/....//go.mod",
		"/static/", "/static/console.css", "/deployments/../../etc/passwd", "/%00", "/deployments/%2e%2e/%2e%2e", "/static/..\\..\\go.mod"} {
		res := raw(t, h.URL, "GET", target)
		if res.StatusCode != http.StatusNotFound && res.StatusCode != http.StatusBadRequest {
			t.Errorf("%s: %s, want 404", target, res.Status)
		}
	}
}
