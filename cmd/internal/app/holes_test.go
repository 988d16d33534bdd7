package app

import (
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/loopscope/loopscope/cmd/internal/signin"
	"github.com/loopscope/loopscope/telemetry"
)

// world is a manager that serves both ports: this machine with a token, and others by what the API
// server says of them. It has synced a Deployment in each of two namespaces.
type world struct {
	*testing.T
	app          *App
	base, secure string // addresses of the two ports
	token        string
	client       *http.Client
}

// credential is that of the manager itself, which admits it to everything.
const credential = "the-credential-of-the-manager"

func newWorld(t *testing.T) *world {
	a := served(t, func(o *Options) {
		o.Door, o.Secure = signin.New(signin.NewToken(), "Run `loopscope open`."), securely(t)
		o.Config = &rest.Config{Host: o.Config.Host, BearerToken: credential}
		o.History = History{Path: filepath.Join(t.TempDir(), "history.db")}
	})
	now := time.Now()
	for _, o := range []telemetry.Object{{Loop: "deployment", Namespace: "shop", Name: "web"}, {Loop: "deployment", Namespace: "bank", Name: "vault"}} {
		a.journal.Record(&telemetry.Trace{Version: telemetry.TraceVersion, Object: o, Queued: now, Started: now, Ended: now, Result: telemetry.ResultWrote,
			Causes: []telemetry.Cause{{Kind: telemetry.CauseModified, At: now, Object: "javascript:window.hostile=1"}}})
	}
	base, token := signin.Split(a.URL())
	w := &world{T: t, app: a, base: base, secure: "https://" + a.secure.Addr().String(), token: token,
		client: &http.Client{Timeout: 2 * time.Minute, Transport: &http.Transport{TLSClientConfig: insecure}, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
	t.Cleanup(w.client.CloseIdleConnections)
	return w
}

// ask asks as the user of a token, "" for nobody.
func (w *world) ask(who, method, address string, header ...string) (status int, body string) {
	w.Helper()
	r, err := http.NewRequestWithContext(w.Context(), method, address, nil)
	if err != nil {
		w.Fatal(err)
	}
	if who != "" {
		r.Header.Set("Authorization", "Bearer "+who)
	}
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	res, err := w.client.Do(r)
	if err != nil {
		w.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		w.Fatal(err)
	}
	return res.StatusCode, string(text)
}

// walk visits everything that is answered.
func (w *world) walk(visit func(method, path string)) {
	w.Helper()
	list, err := os.ReadFile("../../../web/testdata/routes.txt") // A test there keeps it.
	if err != nil {
		w.Fatal(err)
	}
	routes := strings.Fields(strings.NewReplacer("{objects}", "claims", "{namespace}", "shop", "{name}", "web", "{epoch}", w.app.journal.Epoch(), "{seq}", "1", "{loop}", "deployment",
		"{check}", "ping", "{file}", "none", "*", "heap?debug=1").Replace(string(list)))
	for i := 0; i < len(routes); i += 2 {
		path := routes[i+1]
		if path == "/debug/pprof/profile" || path == "/debug/pprof/trace" {
			path += "?seconds=1"
		}
		visit(routes[i], path)
	}
}

// sources visits the source of every program of this repository.
func sources(t *testing.T, visit func(path, text string)) {
	t.Helper()
	n := 0
	err := filepath.WalkDir("../../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		visit(path, string(text))
		n++
		return err
	})
	if err != nil || n < 100 {
		t.Fatalf("%d files, %v", n, err)
	}
}

// TestKnownHoles tries what consoles of this kind have been broken by, each by its name.
func TestKnownHoles(t *testing.T) {
	w := newWorld(t)
	for _, hole := range []struct {
		name string
		try  func(w *world)
	}{
		{"Tesla 2018: a console for everybody", triesTesla},
		{"CVE-2018-18264 (Kubernetes Dashboard): the console's own rights", triesOwnRights},
		{"CVE-2025-62714 (Karmada Dashboard): what is behind the pages asks nobody", triesEveryRoute},
		{"CVE-2021-44458 (Lens): a page of another site opens a websocket", triesForeignWebsocket},
		{"Headlamp, kubewall 2026: CheckOrigin says yes", triesCheckOrigin},
		{"CVE-2025-14269 (Headlamp): what one user has asked is answered to another", triesCaches},
		{"headlamp#4077: the kubeconfig of the console is everybody's", triesAmbientAuthority},
		{"CVE-2025-53542 (Headlamp): names become commands", triesShells},
		{"CVE-2022-29165 (Argo CD): a forged token beside anonymous access", triesForgedToken},
		{"CVE-2024-22424 (Argo CD): a sibling site changes something", triesSibling},
		{"CVE-2024-37152 (Argo CD): what anybody may read says too much", triesAnonymous},
		{"CVE-2025-55190 (Argo CD): credentials in an answer", triesCredentials},
		{"GHSA-jwv5-8mqv-g387 (Argo CD): links that run", triesLinks},
		{"GHSA-3cqf-953p-h5cp (Argo CD): names are found by their errors", triesNames},
		{"GHSA-9766-5277-j5hr (Argo CD): the store beside it is open", triesStore},
		{"GHSA-9m6p-x4h2-6frq and GHSA-jhwx-mhww-rgc3 (Argo CD): questions without a bound", triesLargeQuestions},
		{"GHSA-6v85-wr92-q4p7 and GHSA-2vgg-9h6w-m454 (Argo CD): many users at once", triesManyUsers},
		{"CVE-2019-11248 (kubelet): profiles on the port of health checks", triesProfiles},
		{"Envoy admin: an address that changes something", triesMethods},
	} {
		t.Run(hole.name, func(t *testing.T) {
			mine := *w
			mine.T = t
			hole.try(&mine)
		})
	}
}

func triesTesla(w *world) {
	for _, address := range []string{"0.0.0.0:8077", ":8077", "[::]:8077", "192.0.2.1:8077"} {
		if CheckListen(address) == nil {
			w.Errorf("%s is taken for a console without TLS", address)
		}
	}
	for _, address := range []string{w.base + "/deployments", w.secure + "/deployments"} {
		if status, body := w.ask("", http.MethodGet, address); status != http.StatusUnauthorized && status != http.StatusForbidden || strings.Contains(body, "vault") {
			w.Errorf("%s: %d %s", address, status, body)
		}
	}
}

func triesOwnRights(w *world) {
	for _, path := range []string{"/deployments", "/deployments.json", "/history.json", "/queues.json", "/export.jsonl", "/metrics", "/debug/controllers/deployment"} {
		if _, body := w.ask("bob", http.MethodGet, w.secure+path); strings.Contains(body, "vault") || strings.Contains(body, "bank") {
			w.Errorf("%s shows a namespace that the user may not see:\n%.500s", path, body)
		}
	}
	if _, body := w.ask("bob", http.MethodGet, w.secure+"/deployments.json"); !strings.Contains(body, "web") {
		w.Errorf("what the user may see is missing:\n%.500s", body)
	}
}

func triesEveryRoute(w *world) {
	open := map[string]bool{"/healthz": true, "/livez": true, "/readyz": true} // The last two by the token's door alone.
	w.walk(func(method, path string) {
		for _, who := range []string{"", "forged", "eve"} {
			for _, base := range []string{w.base, w.secure} {
				status, body := w.ask(who, method, base+path)
				if status != http.StatusUnauthorized && status != http.StatusForbidden && !open[path] {
					w.Errorf("%s %s as %q: %d %.200s", method, base+path, who, status, body)
				}
			}
		}
	})
}

func triesForeignWebsocket(w *world) {
	for _, c := range []struct {
		base, who, origin string
		status            int
	}{
		{w.base, "", "http://evil.example", http.StatusUnauthorized}, {w.base, w.token, "http://evil.example", http.StatusForbidden}, {w.base, w.token, "null", http.StatusForbidden},
		{w.base, w.token, strings.Replace(w.base, "http", "https", 1), http.StatusForbidden},
		{w.secure, "", "https://evil.example", http.StatusForbidden}, {w.secure, "ann", "https://evil.example", http.StatusForbidden}, {w.secure, "ann", "null", http.StatusForbidden},
		{w.base, w.token, w.base, http.StatusSwitchingProtocols}, {w.secure, "ann", w.secure, http.StatusSwitchingProtocols},
	} {
		status, body := 0, ""
		if c.status == http.StatusSwitchingProtocols {
			status, body = w.upgraded(c.base, c.who, c.origin)
		} else {
			status, body = w.ask(c.who, http.MethodGet, c.base+"/live", "Connection", "Upgrade", "Upgrade", "websocket", "Sec-WebSocket-Version", "13", "Sec-WebSocket-Key", "AAAAAAAAAAAAAAAAAAAAAA==",
				"Sec-WebSocket-Protocol", "loopscope.trace.v1+json", "Origin", c.origin)
		}
		if status != c.status {
			w.Errorf("%+v: %d %.200s", c, status, body)
		}
	}
}

// upgraded opens a websocket and closes it.
func (w *world) upgraded(base, who, origin string) (status int, body string) {
	w.Helper()
	r, err := http.NewRequestWithContext(w.Context(), http.MethodGet, base+"/live", nil)
	if err != nil {
		w.Fatal(err)
	}
	for name, value := range map[string]string{"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA==",
		"Sec-WebSocket-Protocol": "loopscope.trace.v1+json", "Origin": origin, "Authorization": "Bearer " + who} {
		r.Header.Set(name, value)
	}
	res, err := w.client.Do(r)
	if err != nil {
		w.Fatal(err)
	}
	_ = res.Body.Close()
	return res.StatusCode, ""
}

func triesCheckOrigin(w *world) {
	upgrader, yes := regexp.MustCompile(`(?s)websocket\.Upgrader\{.*?\n\t?[^\n]*\}\n`), regexp.MustCompile(`CheckOrigin:?[^\n]*return true`)
	found := 0
	sources(w.T, func(path, text string) {
		for _, literal := range upgrader.FindAllString(text, -1) {
			if found++; !strings.Contains(literal, "CheckOrigin: s.site.Origin") {
				w.Errorf("%s upgrades without looking at the origin: %s", path, literal)
			}
		}
		if yes.MatchString(text) {
			w.Errorf("%s takes every origin", path)
		}
	})
	if found == 0 {
		w.Error("no upgrader is found")
	}
}

func triesCaches(w *world) {
	for range 5 {
		for _, path := range []string{"/deployments.json", "/deployments/bank/vault.json", "/deployments/bank/vault", "/deployments/bank/vault/story.json", "/history.json"} {
			_, all := w.ask("ann", http.MethodGet, w.secure+path)
			if path != "/deployments/bank/vault.json" && !strings.Contains(all, "vault") {
				w.Errorf("%s hides something from somebody who may see everything", path)
			}
			for _, who := range []string{"bob", "eve", ""} {
				status, body := w.ask(who, http.MethodGet, w.secure+path)
				if status == http.StatusOK && strings.Contains(body, "vault") || strings.Contains(body, w.app.journal.Epoch()+"/2") {
					w.Errorf("%s after somebody else, as %q: %d %.200s", path, who, status, body)
				}
			}
		}
	}
}

func triesAmbientAuthority(w *world) {
	for _, header := range [][]string{
		nil, {"X-Remote-User", "ann"}, {"X-Remote-User", "system:admin", "X-Remote-Group", "system:masters"}, {"Impersonate-User", "ann"}, {"X-Forwarded-User", "ann"}, {"X-Forwarded-For", "127.0.0.1"},
	} {
		if status, body := w.ask("", http.MethodGet, w.secure+"/deployments.json", header...); status != http.StatusForbidden || !strings.Contains(body, "system:anonymous") {
			w.Errorf("%v: %d %.200s", header, status, body)
		}
		if status, body := w.ask("", http.MethodGet, w.base+"/deployments.json", header...); status != http.StatusUnauthorized {
			w.Errorf("%v: %d %.200s", header, status, body)
		}
	}
	if status, _ := w.ask("eve", http.MethodGet, w.secure+"/deployments.json", "Impersonate-User", "ann"); status != http.StatusForbidden {
		w.Errorf("somebody who poses as another: %d", status)
	}
}

func triesShells(w *world) {
	shell := regexp.MustCompile(`exec\.Command(Context)?\([^)"]*"(/bin/)?(ba|z|da)?sh"`)
	sources(w.T, func(path, text string) {
		if shell.MatchString(text) && !strings.Contains(path, "/mutants/") { // What a shell reads there is fixed.
			w.Errorf("%s has a shell read a command", path)
		}
	})
}

func triesForgedToken(w *world) {
	const none = "eyJhbGciOiJub25lIn0.eyJzdWIiOiJhZG1pbiJ9.forged"
	for _, base := range []string{w.base, w.secure} {
		for _, path := range []string{"/deployments", "/about.json", "/metrics"} {
			if status, body := w.ask(none, http.MethodGet, base+path); status != http.StatusUnauthorized {
				w.Errorf("%s: %d %.200s", base+path, status, body)
			}
		}
	}
	if status, _ := w.ask(none, http.MethodGet, w.secure+"/healthz"); status != http.StatusUnauthorized {
		w.Errorf("what anybody may read, with a token that is nobody's: %d", status)
	}
}

func triesSibling(w *world) {
	for _, c := range []struct{ base, who string }{{w.base, w.token}, {w.secure, "ann"}} {
		for _, header := range [][]string{{"Origin", "https://other.loopscope.example"}, {"Sec-Fetch-Site", "same-site"}, {"Sec-Fetch-Site", "cross-site"}} {
			for _, change := range []struct{ method, path string }{{http.MethodPut, "/debug/flags/v"}, {http.MethodDelete, "/metrics/slis"}, {http.MethodPost, "/deployments"}} {
				status, body := w.ask(c.who, change.method, c.base+change.path, append(header, "Content-Type", "text/plain")...)
				if status != http.StatusForbidden && status != http.StatusMethodNotAllowed {
					w.Errorf("%s %s%s with %v: %d %.200s", change.method, c.base, change.path, header, status, body)
				}
			}
		}
	}
}

func triesAnonymous(w *world) {
	for address, want := range map[string]string{w.base + "/healthz": "ok", w.base + "/livez?verbose": "[+]ping ok\nlivez check passed\n", w.secure + "/healthz?verbose": "[+]ping ok\nhealthz check passed\n"} {
		if _, body := w.ask("", http.MethodGet, address); body != want {
			w.Errorf("%s: %q, want %q", address, body, want)
		}
	}
	_, body := w.ask("", http.MethodGet, w.base+"/readyz")
	for line := range strings.Lines(body) {
		if !regexp.MustCompile(`^(\[\+\][a-z-]+ ok|\[-\][a-z-]+ failed: reason withheld|readyz check failed)\n$`).MatchString(line) {
			w.Errorf("anybody is told %q", line)
		}
	}
}

func triesCredentials(w *world) {
	w.walk(func(method, path string) {
		for base, who := range map[string]string{w.base: w.token, w.secure: "ann"} {
			if path == "/live" {
				continue
			}
			_, body := w.ask(who, method, base+path)
			for _, secret := range []string{credential, w.token} {
				if strings.Contains(body, secret) {
					w.Errorf("%s %s has a credential", method, base+path)
				}
			}
		}
	})
}

func triesLinks(w *world) {
	link := regexp.MustCompile(`(?i)(href|src|action)="\s*(javascript|data|vbscript):`)
	w.walk(func(method, path string) {
		if method != http.MethodGet || path == "/live" {
			return
		}
		if _, body := w.ask("ann", method, w.secure+path, "Accept", "text/html"); link.MatchString(body) {
			w.Errorf("%s has a link that runs: %s", path, link.FindString(body))
		}
	})
}

func triesNames(w *world) {
	// The page's time, and the ages it shows: a second may begin between two requests.
	clock := regexp.MustCompile(`data-now="\d+"|(data-since="\d+"[^>]*>)[^<]+`)
	for _, path := range []string{"/deployments/bank/%s", "/deployments/bank/%s/story", "/deployments/bank/%s/story.json", "/deployments/bank/%s/what-if", "/debug/controllers/deployment/bank/%s"} {
		status, hidden := w.ask("bob", http.MethodGet, w.secure+fmt.Sprintf(path, "vault"))
		other, absent := w.ask("bob", http.MethodGet, w.secure+fmt.Sprintf(path, "valet"))
		hidden, absent = clock.ReplaceAllString(strings.ReplaceAll(hidden, "vault", "valet"), "$1"), clock.ReplaceAllString(absent, "$1")
		if status != other || status == http.StatusOK || hidden != absent {
			w.Errorf("%s: %d and %d\n%.1000s\n%.1000s", path, status, other, hidden, absent)
		}
	}
}

func triesStore(w *world) {
	path := w.app.opts.History.Path
	for deadline := time.Now().Add(time.Minute); ; {
		if info, err := os.Stat(path); err == nil {
			if info.Mode().Perm() != 0o600 {
				w.Errorf("others may use the history: %v", info.Mode())
			}
			return
		} else if time.Now().After(deadline) {
			w.Fatal(err)
		}
	}
}

func triesLargeQuestions(w *world) {
	if status, body := w.ask("ann", http.MethodGet, w.secure+"/deployments?q="+strings.Repeat("x+", 2000)); status != http.StatusRequestURITooLong {
		w.Errorf("2,000 terms: %d %.200s", status, body)
	}
	began := time.Now()
	for _, q := range []string{strings.Repeat("-ns:a+", 150), strings.Repeat("%22", 300), strings.Repeat("*", 900), "ns:" + strings.Repeat("%2a", 300)} {
		for _, path := range []string{"/deployments.json", "/history.json"} {
			if status, body := w.ask("ann", http.MethodGet, w.secure+path+"?q="+q); status >= http.StatusInternalServerError {
				w.Errorf("%s?q=%.20s: %d %.200s", path, q, status, body)
			}
		}
	}
	if took := time.Since(began); took > 20*time.Second {
		w.Errorf("8 questions take %s", took)
	}
}

func triesManyUsers(w *world) {
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for n := range 8 {
				who := fmt.Sprint("somebody-", i*100+n)
				if status, _ := w.ask(who, http.MethodGet, w.secure+"/deployments.json"); status != http.StatusOK && status != http.StatusTooManyRequests && status != http.StatusServiceUnavailable {
					w.Errorf("%s: %d", who, status)
				}
				if status, body := w.ask("bob", http.MethodGet, w.secure+"/deployments.json"); status == http.StatusOK && (strings.Contains(body, "vault") || !strings.Contains(body, "web")) {
					w.Errorf("among others bob sees %.300s", body)
				}
			}
		})
	}
	all.Wait()
}

func triesProfiles(w *world) {
	for _, path := range []string{"/debug/pprof/", "/debug/pprof/heap", "/debug/pprof/cmdline", "/healthz/../debug/pprof/heap", "/healthz/%2e%2e/debug/pprof/heap"} {
		for _, base := range []string{w.base, w.secure} {
			if status, body := w.ask("", http.MethodGet, base+path); status != http.StatusUnauthorized && status != http.StatusForbidden || strings.Contains(body, "goroutine") {
				w.Errorf("%s: %d %.200s", base+path, status, body)
			}
		}
	}
}

func triesMethods(w *world) {
	changes := map[string]bool{"PUT /debug/flags/v": true, "DELETE /metrics/slis": true}
	w.walk(func(_, path string) {
		for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions, http.MethodTrace} {
			for base, who := range map[string]string{w.base: w.token, w.secure: "ann"} {
				status, body := w.ask(who, method, base+path)
				if !changes[method+" "+path] && status != http.StatusMethodNotAllowed && status != http.StatusNotAcceptable && status != http.StatusForbidden {
					w.Errorf("%s %s: %d %.200s", method, base+path, status, body)
				}
			}
		}
	})
}
