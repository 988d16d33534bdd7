package signin

import (
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const secret = "a-token-of-a-test-0123456789"

// guarded is a console behind a door, that says what it was asked for.
func guarded(t testing.TB) *httptest.Server {
	say := func(prefix string) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.WriteString(w, prefix+r.URL.RequestURI()+" "+r.RequestURI)
		})
	}
	s := httptest.NewServer(New(secret, "Run it.").Guard(say("page "), func(r *http.Request) bool { return r.URL.Path == "/healthz" }, say("public ")))
	t.Cleanup(s.Close)
	return s
}

type asked struct {
	status int
	body   string
	header http.Header
}

func ask(t testing.TB, client *http.Client, address string, header ...string) asked {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	answer, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return asked{answer.StatusCode, string(body), answer.Header}
}

// staying does not follow where it is led.
func staying() *http.Client {
	return &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// A browser gets a cookie for the token, once, and the address that it goes on with has none.
func TestExchange(t *testing.T) {
	s := guarded(t)
	got := ask(t, staying(), s.URL+"/deployments/shop/web?q=a%2Fb&token="+secret+"&still", "Accept", "text/html,*/*")
	if got.status != http.StatusSeeOther || got.header.Get("Location") != "/deployments/shop/web?q=a%2Fb&still" || got.header.Get("Referrer-Policy") != "no-referrer" || got.header.Get("Cache-Control") != "no-store" {
		t.Errorf("%+v", got)
	}
	_, port, _ := strings.Cut(strings.TrimPrefix(s.URL, "http://"), ":")
	cookie := got.header.Get("Set-Cookie")
	if !strings.HasPrefix(cookie, "loopscope-"+port+"=") || !strings.HasSuffix(cookie, "; Path=/; HttpOnly; SameSite=Strict") || strings.Contains(cookie, secret) {
		t.Errorf("the cookie is %s", cookie)
	}
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	browser := &http.Client{Jar: jar}
	if got := ask(t, browser, New(secret, "").Address(s.URL), "Accept", "text/html"); got.status != http.StatusOK || got.body != "page / /" {
		t.Errorf("signing in: %+v", got)
	}
	if got := ask(t, browser, s.URL+"/history?q=x"); got.body != "page /history?q=x /history?q=x" {
		t.Errorf("afterwards: %+v", got)
	}
}

// Nobody is led to another host by a token that was put before its name.
func TestExchangeLeadsNowhereElse(t *testing.T) {
	s := guarded(t)
	for _, path := range []string{"//example.org/", "///example.org", `/\example.org`, "/%2F/example.org", "/%5Cexample.org"} {
		got := ask(t, staying(), s.URL+path+"?token="+secret, "Accept", "text/html")
		at, err := url.Parse(s.URL + "/")
		if err != nil {
			t.Fatal(err)
		}
		to, err := at.Parse(got.header.Get("Location"))
		if err != nil || got.status != http.StatusSeeOther || to.Host != at.Host || strings.Contains(got.header.Get("Location"), `\`) {
			t.Errorf("%s leads to %s, %v", path, got.header.Get("Location"), err)
		}
	}
}

// What is let in and what is not, each as the case of such consoles that it stands for.
func TestDoor(t *testing.T) {
	s := guarded(t)
	session := New(secret, "").session
	other := New("another-token-0123456789", "").session
	_, port, _ := strings.Cut(strings.TrimPrefix(s.URL, "http://"), ":")
	for _, c := range []struct {
		name, path string
		header     []string
		status     int
		says       string
	}{
		{"a program with the token", "/a.json", []string{"Authorization", "Bearer " + secret}, 200, "page /a.json"},
		{"curl with the address", "/metrics?token=" + secret, nil, 200, "page /metrics /metrics"},
		{"health", "/healthz", nil, 200, "public /healthz"},
		{"health below", "/healthz/x", nil, 401, "You are not signed in"},
		{"CVE-2021-44458 (Lens): a page of another site opens a websocket", "/live", []string{"Upgrade", "websocket", "Connection", "Upgrade", "Origin", "http://example.org", "Sec-Fetch-Mode", "websocket"}, 401, "You are not signed in"},
		{"CVE-2025-62714 (Karmada): what is behind the pages", "/deployments.json", nil, 401, `"code": "sign-in"`},
		{"CVE-2019-11248 (kubelet): profiles", "/debug/pprof/", nil, 401, "You are not signed in"},
		{"CVE-2022-29165 (Argo CD): a forged token", "/", []string{"Authorization", "Bearer eyJhbGciOiJub25lIn0.e30."}, 401, "You are not signed in"},
		{"an empty token", "/", []string{"Authorization", "Bearer "}, 401, ""},
		{"the token as a cookie", "/", []string{"Cookie", "loopscope-" + port + "=" + secret}, 401, ""},
		{"the cookie of an earlier start", "/", []string{"Cookie", "loopscope-" + port + "=" + other}, 401, ""},
		{"the cookie beside that of an earlier start", "/", []string{"Cookie", "loopscope-" + port + "=" + other + "; loopscope-" + port + "=" + session}, 200, "page /"},
		{"the cookie of another port", "/", []string{"Cookie", "loopscope-1=" + session}, 401, ""},
		{"the cookie as a token", "/", []string{"Authorization", "Bearer " + session}, 401, ""},
		{"a wrong token beside the cookie", "/?token=x", []string{"Cookie", "loopscope-" + port + "=" + session}, 401, "not, or no longer"},
		{"a parameter in other letters", "/a?%74oken=" + secret, nil, 200, "page /a /a"},
		{"two tokens", "/?token=" + secret + "&token=" + secret, nil, 401, "not, or no longer"},
		{"a browser", "/", []string{"Accept", "text/html"}, 401, "<h1>You are not signed in to this console.</h1>"},
		{"a link of another site", "/deployments/a/b", []string{"Accept", "text/html", "Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "document"}, 200, ""},
		{"a frame of another site", "/", []string{"Accept", "text/html", "Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "iframe"}, 401, ""},
	} {
		got := ask(t, staying(), s.URL+c.path, c.header...)
		if got.status != c.status || !strings.Contains(got.body, c.says) || strings.Contains(got.body, secret) || c.says == "" && strings.Contains(got.body, "page /") {
			t.Errorf("%s: %d %q, want %d %q", c.name, got.status, got.body, c.status, c.says)
		}
		if far := c.name == "a link of another site"; far != (got.header.Get("Refresh") == "0") {
			t.Errorf("%s: it is to load again: %q", c.name, got.header.Get("Refresh"))
		}
	}
}

func TestSplit(t *testing.T) {
	for address, want := range map[string][2]string{
		"http://127.0.0.1:8077/?token=abc":          {"http://127.0.0.1:8077", "abc"},
		"http://127.0.0.1:8077/base/?a=b&token=abc": {"http://127.0.0.1:8077/base/?a=b", "abc"},
		"http://127.0.0.1:8077":                     {"http://127.0.0.1:8077", ""},
		"http://127.0.0.1:8077/":                    {"http://127.0.0.1:8077/", ""},
		"%":                                         {"%", ""},
	} {
		if console, token := Split(address); console != want[0] || token != want[1] {
			t.Errorf("%s: %q, %q", address, console, token)
		}
	}
}

func TestReadToken(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		mode os.FileMode
		says string
	}{
		"a token":        {secret + "\n", 0o600, ""},
		"a short one":    {"abc\n", 0o600, "it has 3 characters, and needs 20 or more"},
		"nothing":        {"", 0o600, "it has 0 characters"},
		"one of others":  {secret, 0o644, "others may use"},
		"a long one":     {strings.Repeat("x", 2000), 0o600, "more than 1024 characters"},
		"two lines":      {secret + "\n" + secret, 0o600, "characters other than"},
		"a parameter":    {secret + "&x=y", 0o600, "characters other than"},
		"no text at all": {"\x00\x01" + secret, 0o600, "characters other than"},
	} {
		path := filepath.Join(t.TempDir(), "token")
		if err := os.WriteFile(path, []byte(c.text), c.mode); err != nil {
			t.Fatal(err)
		}
		got, err := ReadToken(path)
		if c.says == "" && (err != nil || got != secret) || c.says != "" && (err == nil || !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), secret)) {
			t.Errorf("%s: %q, %v, want %q", name, got, err, c.says)
		}
	}
	if _, err := ReadToken(filepath.Join(t.TempDir(), "none")); err == nil {
		t.Error("a file that is not there is read")
	}
	if a, b := NewToken(), NewToken(); a == b || check(a) != nil {
		t.Errorf("new tokens are %s and %s", a, b)
	}
}

// No request gets through by chance, breaks the door, or is led to another host.
func FuzzDoor(f *testing.F) {
	for _, s := range []string{"/", "/?token=x", "//x?token=" + secret, "/a?token=%61&b", "/?token=" + secret + "x"} {
		f.Add(s, "Bearer x", "loopscope-80=x")
	}
	d := New(secret, "Run it.")
	in := false
	h := d.Guard(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { in = true }), func(*http.Request) bool { return false }, http.NotFoundHandler())
	f.Fuzz(func(t *testing.T, target, authorization, cookie string) {
		u, err := url.ParseRequestURI(target)
		if err != nil {
			return
		}
		r := &http.Request{Method: http.MethodGet, URL: u, Host: "127.0.0.1", Header: http.Header{"Authorization": {authorization}, "Cookie": {cookie}, "Accept": {"text/html"}}, RequestURI: target}
		w := httptest.NewRecorder()
		in = false
		h.ServeHTTP(w, r)
		if in && !strings.Contains(target+authorization+cookie, secret) && !strings.Contains(cookie, d.session) && u.Query().Get(parameter) != secret {
			t.Errorf("%q, %q, %q is let in", target, authorization, cookie)
		}
		if to := w.Header().Get("Location"); strings.HasPrefix(to, "//") || to != "" && !strings.HasPrefix(to, "/") {
			t.Errorf("%q leads to %q", target, to)
		}
	})
}
