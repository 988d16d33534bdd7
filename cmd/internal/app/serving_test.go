package app

import (
	"context"
	"errors"
	"io"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/loopscope/loopscope/controllers"
)

// request is one request to the console, and what has to come of it.
type request struct {
	method string // "" for GET
	path   string
	accept string
	send   string
	status int // 0 for 200
	media  string
	has    []string
	lacks  []string
}

func (q request) name() string { return strings.TrimSpace(q.method + " " + q.path + " " + q.accept) }

// served is a program that runs against nothing, with all that a process may know of itself.
func served(t *testing.T, change func(*Options)) *App {
	t.Helper()
	o := Options{Config: nowhere(), Listen: "127.0.0.1:0", Logger: quiet(), Version: "v1.2.3", Profiling: true, Component: Component{
		Flags:         map[string]string{"listen": "127.0.0.1:0", "token": "CLASSIFIED"},
		Configuration: map[string]any{"apiVersion": "loopscope.dev/v1alpha1", "kind": "LoopscopeManagerConfiguration", "concurrentRcSyncs": int64(5)},
		SetVerbosity: func(level string) (string, error) {
			if level != "4" {
				return "", errors.New("no verbosity")
			}
			return "verbosity is 4", nil
		},
	}}
	if change != nil {
		change(&o)
	}
	a, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stop(t, a) })
	return a
}

// ask sends a request and says what is not as it has to be.
func (q request) ask(t *testing.T, base string, header ...string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), q.method, base+q.path, strings.NewReader(q.send))
	if err != nil {
		t.Fatal(err)
	}
	if q.accept != "" {
		r.Header.Set("Accept", q.accept)
	}
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	client := &http.Client{Timeout: time.Minute}
	defer client.CloseIdleConnections()
	res, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	shown := body[:min(len(body), 1500)]
	if want := max(q.status, http.StatusOK); res.StatusCode != want {
		t.Errorf("%s: %s, want %d:\n%s", q.name(), res.Status, want, shown)
	}
	if q.media != "" && !strings.HasPrefix(res.Header.Get("Content-Type"), q.media) {
		t.Errorf("%s is %s, want %s", q.name(), res.Header.Get("Content-Type"), q.media)
	}
	for _, want := range q.has {
		if !strings.Contains(string(body), want) {
			t.Errorf("%s lacks %q:\n%s", q.name(), want, shown)
		}
	}
	for _, not := range q.lacks {
		if strings.Contains(string(body), not) {
			t.Errorf("%s has %q:\n%s", q.name(), not, shown)
		}
	}
}

const (
	flagzJSON   = "application/json;v=v1beta1;g=config.k8s.io;as=Flagz"
	statuszJSON = "application/json;v=v1beta1;g=config.k8s.io;as=Statusz"
	statuszYAML = "application/yaml;v=v1beta1;g=config.k8s.io;as=Statusz"
)

// TestServing asks a manager what people ask kube-controller-manager, address by address, and
// gets what that would answer but for what controllers/DESIGN.md lists as a departure [M-6].
// There is no API server.
func TestServing(t *testing.T) {
	a := served(t, func(o *Options) {
		o.Election = DefaultElection()
		o.Election.Identity = "one"
	})
	// What is said of the API server depends on whether it was asked already.
	if err := wait.PollUntilContextTimeout(t.Context(), 20*time.Millisecond, time.Minute, true, func(context.Context) (bool, error) {
		return !a.cluster.server().Reachable, nil
	}); err != nil {
		t.Fatalf("the API server was not asked: %v", err)
	}
	for path, list := range map[string][]request{
		"/healthz": {
			{path: "/healthz", media: "text/plain", has: []string{"ok"}, lacks: []string{"ping"}},
			{path: "/healthz?verbose", has: []string{"[+]ping ok\n", "[+]leaderElection ok\n", "healthz check passed\n"}},
			{path: "/healthz?verbose&exclude=ping&exclude=ping", has: []string{"[+]ping excluded: ok\n"}, lacks: []string{"warn"}},
			{path: "/healthz?verbose&exclude=nothing", has: []string{`warn: nothing is called ["nothing"]`}},
			{method: http.MethodHead, path: "/healthz", lacks: []string{"ok"}},
		},
		"/healthz/<check>": {
			{path: "/healthz/ping", media: "text/plain", has: []string{"ok"}},
			{path: "/healthz/leaderElection", has: []string{"ok"}},
			{path: "/readyz/api-server", status: 503, media: "text/plain", has: []string{"[-]api-server failed: it has not answered since"}, lacks: []string{"ping"}},
			{path: "/readyz/deployment-controller", status: 503, has: []string{"caches are not filled"}},
			{path: "/healthz/nothing", status: 404, has: []string{"/healthz has no such check: it has ping, leaderElection"}},
		},
		"/livez": {
			{path: "/livez", has: []string{"ok"}},
			{path: "/livez?verbose", has: []string{"[+]ping ok\n", "livez check passed\n"}},
		},
		"/readyz": {
			{path: "/readyz", status: 503, has: []string{"[+]ping ok\n", "[-]api-server failed: it has not answered since", "[-]deployment-controller failed: its caches are not filled", "[-]replicationcontroller-controller failed", "readyz check failed\n"}, lacks: []string{"reason withheld"}},
			{path: "/readyz?exclude=api-server&exclude=deployment-controller&exclude=replicaset-controller&exclude=replicationcontroller-controller&exclude=rollingupdate-controller", has: []string{"ok"}},
		},
		"/metrics": {
			{path: "/metrics", media: "text/plain", has: []string{"rest_client_requests_total", "leader_election_master_status", "replicaset_controller_sorting_deletion_age_ratio_count 0\n", `replicaset_controller_stale_sync_skips_total{group="apps",resource="replicasets"} 0`},
				lacks: []string{"kubernetes_healthcheck", "informer_store_resource_version", "leader_election_slowpath_total", "rest_client_dns", "rest_client_exec", "rest_client_transport", "kubernetes_build_info", "kubernetes_feature_enabled", "version_info"}},
		},
		"/metrics/slis": {
			{path: "/metrics/slis", media: "text/plain", has: []string{
				`kubernetes_healthcheck{name="ping",type="healthz"} 1`, `kubernetes_healthcheck{name="leaderElection",type="livez"} 1`,
				`kubernetes_healthcheck{name="deployment-controller",type="readyz"} 0`, `kubernetes_healthchecks_total{name="api-server",status="error",type="readyz"} `}},
			{method: http.MethodHead, path: "/metrics/slis"},
			{method: http.MethodDelete, path: "/metrics/slis", has: []string{"metrics reset"}},
			{path: "/metrics/slis", has: []string{`kubernetes_healthchecks_total{name="api-server",status="error",type="readyz"} 1` + "\n", `kubernetes_healthcheck{name="ping",type="readyz"} 1`}},
			{method: http.MethodPut, path: "/metrics/slis", status: 405, has: []string{"GET, HEAD and DELETE"}},
		},
		"/configz": {
			{path: "/configz", media: "application/json", has: []string{`{"loopscope.dev":{`, `"apiVersion":"loopscope.dev/v1alpha1"`, `"kind":"LoopscopeManagerConfiguration"`, `"concurrentRcSyncs":5`}},
			{method: http.MethodHead, path: "/configz"},
			{method: http.MethodPost, path: "/configz", status: 405},
		},
		"/flagz": {
			{path: "/flagz", media: "text/plain", has: []string{"loopscope-manager flagz", "listen", "127.0.0.1:0", "CLASSIFIED"}},
			{path: "/flagz", accept: "text/html,*/*;q=0.8", media: "text/plain", has: []string{"loopscope-manager flagz"}},
			{path: "/flagz", accept: flagzJSON, media: "application/json", has: []string{`"kind":"Flagz"`, `"apiVersion":"config.k8s.io/v1beta1"`, `"listen":"127.0.0.1:0"`}},
			{path: "/flagz", accept: "application/json", status: 406},
		},
		"/statusz": {
			{path: "/statusz", media: "text/plain", has: []string{"loopscope-manager statusz", "Started", "Up", "Go version", "1.2.3", "/configz", "/debug", "/statusz"}, lacks: []string{"{"}},
			{path: "/statusz", accept: statuszJSON, media: "application/json", has: []string{`"kind":"Statusz"`, `"binaryVersion":"1.2.3"`, `"emulationVersion":"1.36"`, `"/healthz"`}},
			{path: "/statusz", accept: statuszYAML, media: "application/yaml", has: []string{"kind: Statusz"}},
		},
		"/debug/pprof/": {
			{path: "/debug/pprof/", has: []string{"goroutine"}},
			{path: "/debug/pprof/cmdline", has: []string{".test"}},
			{path: "/debug/pprof/symbol", has: []string{"num_symbols"}},
			{path: "/debug/pprof/goroutine?debug=1", has: []string{"goroutine profile"}},
			{path: "/debug/pprof/trace?seconds=0.01", media: "application/octet-stream"},
			{path: "/debug/pprof/profile?seconds=1", media: "application/octet-stream"},
		},
		"/debug/flags": {
			{path: "/debug/flags", media: "text/html", has: []string{"/debug/flags/v", "from 0 to 10"}},
			{path: "/debug/flags/", media: "text/html", has: []string{"/debug/flags/v"}},
			{path: "/debug/flags/other", status: 404},
		},
		"/debug/flags/v": {
			{path: "/debug/flags/v", status: 406, has: []string{"takes PUT", "curl -X PUT --data 4 http://" + a.Addr().String() + "/debug/flags/v"}},
			{method: http.MethodHead, path: "/debug/flags/v", status: 406},
			{method: http.MethodPost, path: "/debug/flags/v", send: "4", status: 406},
			{method: http.MethodPut, path: "/debug/flags/v", send: "4\n", media: "text/plain", has: []string{"verbosity is 4\n"}},
			{method: http.MethodPut, path: "/debug/flags/v", send: "loud", status: 400, has: []string{"no verbosity", "from 0 to 10"}},
			{method: http.MethodPut, path: "/debug/flags/v", send: strings.Repeat("4", 1000), status: 400},
		},
		"/debug/controllers/<name>": slices.Collect(func(yield func(request) bool) {
			for _, r := range controllers.Registered {
				for _, name := range []string{r.Controller, r.Loop.Name} {
					yield(request{path: "/debug/controllers/" + name, media: "application/json", has: []string{`"name": "` + r.Loop.Name + `"`, `"verdicts"`}})
					yield(request{path: "/debug/controllers/" + name + "/", media: "application/json", has: []string{`"name": "` + r.Loop.Name + `"`}})
					yield(request{path: "/debug/controllers/" + name + "/graph", media: "text/vnd.graphviz", has: []string{`digraph "` + r.Loop.Name + `" {`}})
					yield(request{method: http.MethodPost, path: "/debug/controllers/" + name + "/graph", status: 405})
					yield(request{path: "/debug/controllers/" + name + "/shop/web", status: 404, media: "application/json", lacks: []string{"unknown-loop"}})
				}
			}
			for _, below := range []string{"", "/", "/graph", "/shop/web"} {
				yield(request{path: "/debug/controllers/garbage-collector-controller" + below, status: 404, has: []string{"no loop of that name", "/debug/controllers/deployment-controller", "/debug/controllers/rollingupdate-controller"}})
			}
		}),
		"/debug": {
			{path: "/debug", media: "text/html", has: []string{"metrics/slis", "healthz", "readyz", "statusz", "flagz", "configz", "debug/controllers", "debug/flags", "debug/pprof/", "export.jsonl"}},
			{path: "/debug", accept: "application/json", media: "application/json", has: []string{`"/configz"`}},
		},
		"anything else": {
			{path: "/nowhere", status: 404},
			{path: "/configz/", status: 404},
			{path: "/flagz.json", status: 404},
			{method: http.MethodPut, path: "/debug/flags", send: "4", status: 405, has: []string{"GET and HEAD"}},
			{method: http.MethodDelete, path: "/metrics", status: 405},
			{method: http.MethodPost, path: "/deployments", status: 405},
			{method: http.MethodHead, path: "/nowhere", status: 404},
		},
	} {
		t.Run(path, func(t *testing.T) {
			for _, q := range list {
				q.ask(t, a.URL())
			}
		})
	}
}

// No page of another site, nor one of the console's own, changes anything of a process.
func TestNoBrowserChangesAnything(t *testing.T) {
	a := served(t, nil)
	for _, q := range []request{{method: http.MethodPut, path: "/debug/flags/v", send: "4"}, {method: http.MethodDelete, path: "/metrics/slis"}} {
		for header, status := range map[[2]string]int{
			{"Origin", "https://evil.example"}: 403, {"Origin", "null"}: 403, {"Origin", a.URL()}: 403, {"Sec-Fetch-Site", "same-site"}: 403, {"Sec-Fetch-Site", "cross-site"}: 403,
			{"Sec-Fetch-Site", "same-origin"}: 403, {"X-Anything", "else"}: 200,
		} {
			q.status = status
			q.ask(t, a.URL(), header[0], header[1])
		}
		rebound := request{method: q.method, path: q.path, send: q.send, status: http.StatusMisdirectedRequest}
		_, port, _ := net.SplitHostPort(a.Addr().String())
		rebound.askAs(t, a.URL(), "evil.example:"+port)
	}
	for _, path := range []string{"/configz", "/flagz", "/statusz", "/metrics/slis", "/debug"} {
		request{path: path, status: 403}.ask(t, a.URL(), "Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "document")
	}
}

// askAs asks under a name that a resolver of somebody else has for this machine.
func (q request) askAs(t *testing.T, base, host string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), q.method, base+q.path, strings.NewReader(q.send))
	if err != nil {
		t.Fatal(err)
	}
	r.Host = host
	client := &http.Client{Timeout: time.Minute}
	defer client.CloseIdleConnections()
	res, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	if res.StatusCode != q.status {
		t.Errorf("%s of %s: %s, want %d", q.name(), host, res.Status, q.status)
	}
}

// What was not asked for, and what a process does not know of itself, has no address.
func TestServingLess(t *testing.T) {
	a := served(t, func(o *Options) { o.Profiling, o.Component = false, Component{} })
	for _, path := range []string{"/configz", "/flagz", "/debug/pprof/", "/debug/pprof/cmdline", "/debug/flags", "/debug/flags/v"} {
		request{path: path, status: 404}.ask(t, a.URL())
	}
	request{method: http.MethodPut, path: "/debug/flags/v", send: "4", status: 405}.ask(t, a.URL())
	request{path: "/statusz", has: []string{"1.2.3"}}.ask(t, a.URL())
	request{path: "/debug", has: []string{"statusz"}, lacks: []string{"configz", "flagz", "debug/flags", "pprof"}}.ask(t, a.URL())
}

// A metric that is switched off is not served, and no other is missing.
func TestDisabledMetrics(t *testing.T) {
	a := served(t, func(o *Options) { o.DisabledMetrics = []string{"leader_election_master_status"} })
	request{path: "/metrics", has: []string{"loopscope_syncs_total"}, lacks: []string{"leader_election_master_status"}}.ask(t, a.URL())
}

// Two programs of one process cannot both have its configuration, and the next one may.
func TestConfigzOfTwo(t *testing.T) {
	a := served(t, nil)
	o := a.opts
	o.Listener, o.Config = nil, nowhere()
	second, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	if err := second.Start(t.Context()); err == nil || !strings.Contains(err.Error(), `/configz: register config "loopscope.dev" twice`) {
		t.Errorf("a second one: %v", err)
	}
	stop(t, second)
	stop(t, a)
	request{path: "/configz", has: []string{"loopscope.dev"}}.ask(t, served(t, nil).URL())
}

// A commit is no version that Kubernetes reads, and is told as one.
func TestBinaryVersion(t *testing.T) {
	for stamped, want := range map[string]string{"v1.2.3": "v1.2.3", "v1.2.3-4-gabcdef0-dirty": "v1.2.3-4-gabcdef0-dirty", "dev": "0.0.0-dev", "e54c0e9-dirty": "0.0.0-e54c0e9-dirty", "": "0.0.0-dev", "what?": "0.0.0-dev"} {
		if got := binaryVersion(stamped); got != want {
			t.Errorf("%q is %q, want %q", stamped, got, want)
		}
	}
}

// Of the names of controllers each leads to its loop, and to no other.
func TestByController(t *testing.T) {
	want := map[string]string{}
	for _, c := range Controllers() {
		want[c.Name] = c.Alias
	}
	if got := byController(); !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
