package signin

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"
)

// A console that has the token is known by it, and is asked over the connection on which it proved that.
func TestKnown(t *testing.T) {
	s := guarded(t)
	known, err := Known(t.Context(), s.URL, secret)
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Transport: known}
	if got := ask(t, client, s.URL+"/a", "Authorization", "Bearer "+secret); got.status != http.StatusOK || got.body != "page /a /a" {
		t.Errorf("%+v", got)
	}
	s.CloseClientConnections()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL+"/b", nil)
	if err != nil {
		t.Fatal(err)
	}
	if answer, err := client.Do(r); err == nil {
		_ = answer.Body.Close()
		t.Error("it is asked over another connection")
	}
	if _, err := Known(t.Context(), s.URL, "another-token-of-a-test"); !errors.Is(err, ErrImpostor) {
		t.Errorf("a console of another token: %v", err)
	}
	if got := ask(t, staying(), s.URL+"/a", challengeHeader, strings.Repeat("x", longestChallenge+1)); got.status != http.StatusBadRequest || got.header.Get(proofHeader) != "" {
		t.Errorf("a long challenge: %+v", got)
	}
	if got := ask(t, staying(), s.URL+"/a", challengeHeader, "x", "Authorization", "Bearer "+secret); got.status != http.StatusNoContent || got.body != "" || strings.Contains(got.header.Get(proofHeader), secret) {
		t.Errorf("a challenge is answered with more than a proof: %+v", got)
	}
	s.Close()
	if _, err := Known(t.Context(), s.URL, secret); err == nil || errors.Is(err, ErrImpostor) {
		t.Errorf("no console: %v", err)
	}
}

// Nothing that answers without the token is known, whatever it says, whomever it asks, and is sent it.
func TestImpostors(t *testing.T) {
	genuine := guarded(t)
	to, err := url.Parse(genuine.URL)
	if err != nil {
		t.Fatal(err)
	}
	relay := &httputil.ReverseProxy{Rewrite: func(p *httputil.ProxyRequest) { p.SetURL(to); p.Out.Host = to.Host }}
	for name, h := range map[string]http.HandlerFunc{
		"any server": func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hello") },
		"one that says the same": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set(proofHeader, r.Header.Get(challengeHeader))
		},
		"one that proves nothing": func(w http.ResponseWriter, _ *http.Request) { w.Header().Set(proofHeader, "") },
		"one with a token of its own": func(w http.ResponseWriter, r *http.Request) {
			New("another-token-of-a-test", "").prove(w, r, r.Header.Get(challengeHeader))
		},
		"one that leads to the console": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, genuine.URL, http.StatusTemporaryRedirect)
		},
		"one that asks the console at another port": relay.ServeHTTP,
	} {
		impostor := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if all, err := httputil.DumpRequest(r, true); err != nil || strings.Contains(string(all), secret) {
				t.Errorf("%s is sent %s, %v", name, all, err)
			}
			h(w, r)
		}))
		if _, err := Known(t.Context(), impostor.URL, secret); !errors.Is(err, ErrImpostor) {
			t.Errorf("%s: %v", name, err)
		}
		impostor.Close()
	}
}

// Nor is one known that has the console's port at another address of this machine, and asks it.
func TestImpostorAtTheSamePort(t *testing.T) {
	genuine := guarded(t)
	to, err := url.Parse(genuine.URL)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.2", to.Port()))
	if err != nil {
		t.Skip("this machine has one address on loopback, or another program the port:", err)
	}
	impostor := httptest.NewUnstartedServer(&httputil.ReverseProxy{Rewrite: func(p *httputil.ProxyRequest) { p.SetURL(to) }})
	_ = impostor.Listener.Close() // It has a port of its own.
	impostor.Listener = l
	impostor.Start()
	defer impostor.Close()
	if _, err := Known(t.Context(), impostor.URL, secret); !errors.Is(err, ErrImpostor) {
		t.Error(err)
	}
}

// What does not speak HTTP, and hangs up, is not the console either.
func TestKnownByNothing(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = io.WriteString(conn, "220 mail.example.com\r\n")
			_ = conn.Close()
		}
	}()
	if _, err := Known(t.Context(), "http://"+l.Addr().String(), secret); err == nil || strings.Contains(err.Error(), secret) {
		t.Errorf("%v", err)
	}
	if _, err := Known(t.Context(), "%", secret); err == nil || strings.Contains(err.Error(), secret) {
		t.Errorf("no address: %v", err)
	}
}

// FuzzSplit: an address that was left by a console gives its token and an address without it, and what is
// no address gives no token.
func FuzzSplit(f *testing.F) {
	for _, address := range []string{"http://127.0.0.1:8077/?token=abc", "http://127.0.0.1:8077/base?a=b&token=%61&c", "http://[::1]:1?token=a&token=b", "%", "", "token=x", "http://x/?%74oken=a", "http://x/?token=a#token=b"} {
		f.Add(address)
	}
	f.Fuzz(func(t *testing.T, address string) {
		console, token := Split(address)
		u, err := url.Parse(console)
		if err != nil {
			if token != "" {
				t.Errorf("%q gives a token and %q", address, console)
			}
			return
		}
		if _, again := Split(console); again != "" || u.Query().Has(parameter) {
			t.Errorf("%q leaves a token in %q", address, console)
		}
	})
}

// FuzzChallenge: whatever is asked of a console in a challenge, it lets nobody in and says nothing but a proof.
func FuzzChallenge(f *testing.F) {
	f.Add("/", "x")
	f.Add("/deployments", strings.Repeat("x", longestChallenge+1))
	f.Add("/healthz", "\x00\r\n")
	h := New(secret, "Run it.").Guard(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("somebody is let in") }), func(*http.Request) bool { return false }, http.NotFoundHandler())
	at := context.WithValue(context.Background(), http.LocalAddrContextKey, &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 8077})
	f.Fuzz(func(t *testing.T, path, challenge string) {
		r := (&http.Request{Method: http.MethodGet, URL: &url.URL{Path: path}, Host: "127.0.0.1:8077", Header: http.Header{challengeHeader: {challenge}}}).WithContext(at)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		given := w.Header().Get(proofHeader)
		if proved := w.Code == http.StatusNoContent; proved != (given == proof(secret, "127.0.0.1:8077", challenge)) || !proved && given != "" || strings.Contains(w.Body.String()+given, secret) {
			t.Errorf("%q, %q: %d %q %q", path, challenge, w.Code, given, w.Body)
		}
	})
}
