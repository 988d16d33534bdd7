package installed

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/gorilla/websocket"
	"k8s.io/client-go/rest"
)

// proxied is a proxy before a console over TLS, which has a certificate of its own making.
func proxied(t *testing.T, console http.HandlerFunc) *httptest.Server {
	t.Helper()
	at := httptest.NewTLSServer(console)
	t.Cleanup(at.Close)
	return proxyTo(t, func(ctx context.Context) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "tcp", at.Listener.Addr().String())
	})
}

func proxyTo(t *testing.T, dial func(context.Context) (net.Conn, error)) *httptest.Server {
	t.Helper()
	h, err := Proxy(&rest.Config{Host: "https://192.0.2.1", BearerToken: "of-the-user"}, dial, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s
}

// What a browser sends beside its question stays here, and the console sees the user of the
// kubeconfig, at an address that it answers to.
func TestProxySendsTheUserAlone(t *testing.T) {
	var got *http.Request
	s := proxied(t, func(w http.ResponseWriter, r *http.Request) { got = r; _, _ = io.WriteString(w, "page") })
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL+"/deployments/shop/web?q=a%2Fb", nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{
		"Authorization": "Bearer forged", "Cookie": "session=of-this-machine", "X-Remote-User": "admin", "Impersonate-User": "admin", "X-Forwarded-For": "192.0.2.7",
		"Forwarded": "for=192.0.2.7", "Accept": "application/json", "Origin": s.URL, "Sec-Fetch-Site": "same-origin", "Referer": s.URL + "/?token=x",
	} {
		r.Header.Set(name, value)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if body, _ := io.ReadAll(answer.Body); answer.StatusCode != http.StatusOK || string(body) != "page" {
		t.Errorf("it answers %s, %q", answer.Status, body)
	}
	want := http.Header{"Authorization": {"Bearer of-the-user"}, "Accept": {"application/json"}, "Origin": {"https://127.0.0.1"}, "Sec-Fetch-Site": {"same-origin"}}
	for name := range got.Header {
		if name != "Accept-Encoding" && name != "User-Agent" && strings.Join(got.Header[name], ",") != strings.Join(want[name], ",") {
			t.Errorf("%s is sent on as %q", name, got.Header[name])
		}
	}
	for name := range want {
		if got.Header.Get(name) == "" {
			t.Errorf("%s is not sent on", name)
		}
	}
	if got.Host != "127.0.0.1" || got.URL.RequestURI() != "/deployments/shop/web?q=a%2Fb" {
		t.Errorf("it is asked at %s for %s", got.Host, got.URL.RequestURI())
	}
}

// Whether it lets the user in is found out before a browser is opened.
func TestLetsIn(t *testing.T) {
	for status, want := range map[int]string{
		http.StatusOK: "", http.StatusForbidden: "it does not let you in (403 Forbidden): somebody has to bind ClusterRole loopscope-viewer to you",
		http.StatusInternalServerError: "it cannot say who may read it (500 Internal Server Error)",
	} {
		at := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/about.json" || r.Header.Get("Authorization") != "Bearer of-the-user" {
				t.Errorf("it is asked for %s by %s", r.URL, r.Header.Get("Authorization"))
			}
			w.WriteHeader(status)
		}))
		err := LetsIn(t.Context(), &rest.Config{Host: "https://192.0.2.1", BearerToken: "of-the-user"}, func(ctx context.Context) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "tcp", at.Listener.Addr().String())
		})
		if err == nil && want != "" || err != nil && err.Error() != want {
			t.Errorf("%d: %v, want %q", status, err, want)
		}
		at.Close()
	}
}

// A page of another site, or by another name, gets nothing through.
func TestProxyIsForThisMachine(t *testing.T) {
	s := proxied(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "page") })
	for _, c := range []struct {
		name, host, origin string
		status             int
	}{
		{"its own page", "", s.URL, http.StatusOK},
		{"no page", "localhost:1", "", http.StatusOK},
		{"another site", "", "http://example.org", http.StatusForbidden},
		{"another port", "", "http://127.0.0.1:1", http.StatusForbidden},
		{"no site at all", "", "null", http.StatusForbidden},
		{"another name for this machine (DNS rebinding)", "example.org", "", http.StatusMisdirectedRequest},
		{"another address", "192.0.2.1", "", http.StatusMisdirectedRequest},
	} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL, nil)
		if err != nil {
			t.Fatal(err)
		}
		if r.Host = c.host; c.origin != "" {
			r.Header.Set("Origin", c.origin)
		}
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		if answer.Body.Close(); answer.StatusCode != c.status {
			t.Errorf("%s: %s", c.name, answer.Status)
		}
	}
}

// Pages that change by themselves do so through it.
func TestProxyPassesWebsockets(t *testing.T) {
	s := proxied(t, func(w http.ResponseWriter, r *http.Request) {
		up := websocket.Upgrader{CheckOrigin: func(r *http.Request) bool { return r.Header.Get("Origin") == "https://"+r.Host }}
		conn, err := up.Upgrade(w, r, nil)
		if err != nil {
			return
		}
		defer conn.Close()
		kind, text, err := conn.ReadMessage()
		if err == nil {
			_ = conn.WriteMessage(kind, append(text, " of "+r.Header.Get("Authorization")...))
		}
	})
	conn, _, err := websocket.DefaultDialer.DialContext(t.Context(), "ws"+strings.TrimPrefix(s.URL, "http")+"/live", http.Header{"Origin": {s.URL}})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.WriteMessage(websocket.TextMessage, []byte("hello")); err != nil {
		t.Fatal(err)
	}
	if _, text, err := conn.ReadMessage(); err != nil || string(text) != "hello of Bearer of-the-user" {
		t.Errorf("%q, %v", text, err)
	}
}

// A console that is gone is an answer that says so.
func TestProxyWithoutConsole(t *testing.T) {
	s := proxyTo(t, func(context.Context) (net.Conn, error) {
		return nil, errors.New("the console in namespace loopscope: none of its 2 pods is ready")
	})
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	body, _ := io.ReadAll(answer.Body)
	if want := "The console cannot be reached: the console in namespace loopscope: none of its 2 pods is ready"; answer.StatusCode != http.StatusBadGateway || !strings.Contains(string(body), want) {
		t.Errorf("%s: %s", answer.Status, body)
	}
}
