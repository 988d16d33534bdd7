package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"
	"k8s.io/klog/v2"
)

// lines is a log that several goroutines write.
type lines struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// managed runs `loopscope manager` against an API server that serves nothing but its version,
// until the test is over.
func managed(t *testing.T, args ...string) (url string, log *lines) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.URL.Path != "/version" {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		_, _ = io.WriteString(w, `{"major":"1","minor":"36","gitVersion":"v1.36.3"}`)
	}))
	t.Cleanup(server.Close)
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	state, percent, limit := klog.CaptureState(), debug.SetGCPercent(100), debug.SetMemoryLimit(-1)
	t.Cleanup(func() { state.Restore(); debug.SetGCPercent(percent); debug.SetMemoryLimit(limit) })
	out, in := io.Pipe()
	log = &lines{}
	root := newRoot(streams{out: in, err: log})
	root.SetArgs(append([]string{"manager", "--kubeconfig", contexts(t, server.URL), "--listen=127.0.0.1:0", "--leader-elect=false"}, args...))
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() {
		ended <- root.ExecuteContext(ctx)
		_ = in.Close()
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("the manager ended: %v", err)
		}
	})
	said := bufio.NewScanner(out)
	if !said.Scan() || !strings.HasPrefix(said.Text(), "dashboard: ") {
		t.Fatalf("it says %q; log:\n%s", said.Text(), log)
	}
	go func() { _, _ = io.Copy(io.Discard, out) }()
	return strings.TrimPrefix(said.Text(), "dashboard: "), log
}

func fetch(t *testing.T, method, url, accept, body string) string {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Accept", accept)
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		t.Errorf("%s %s: %s, %v: %s", method, url, res.Status, err, text)
	}
	return string(text)
}

// What a manager was started with is served, and no credential of it is, nor logged.
func TestManagerTellsWhatItRunsWith(t *testing.T) {
	const secret = "hunter2-of-a-manager"
	written, err := runManager("--concurrent-rc-syncs=7", "--v=10", "--profiling", "--history=off", "--listen=127.0.0.1:0", "--leader-elect=false", "--write-config-to=-")
	if err != nil {
		t.Fatal(err)
	}
	// After the other one: client-go logs to whoever began last.
	url, log := managed(t, "--token="+secret, "--as=https://user:"+secret+"@example.org/", "--as-group=password="+secret, "--concurrent-rc-syncs=7", "--v=10", "--profiling", "--history=off")
	want, got := map[string]any{}, map[string]map[string]any{}
	if err := yaml.Unmarshal([]byte(written), &want); err != nil {
		t.Fatal(err)
	}
	configz := fetch(t, http.MethodGet, url+"/configz", "", "")
	if err := json.Unmarshal([]byte(configz), &got); err != nil {
		t.Fatal(err)
	}
	if config := got["loopscope.dev"]; len(got) != 1 || fmt.Sprint(config) != fmt.Sprint(want) || config["concurrentRcSyncs"] != 7.0 || config["history"] != "off" || config["kind"] != configKind {
		t.Errorf("/configz has %v, want %v", got, want)
	}
	flagz := fetch(t, http.MethodGet, url+"/flagz", "", "") + fetch(t, http.MethodGet, url+"/flagz", "application/json;v=v1beta1;g=config.k8s.io;as=Flagz", "")
	for _, want := range []string{`"concurrent-rc-syncs":"7"`, `"token":"CLASSIFIED"`, `"as":"https://`, "example.org", `"leader-elect":"false"`, `"kubeconfig":"`} {
		if !strings.Contains(flagz, want) {
			t.Errorf("/flagz lacks %s:\n%s", want, flagz)
		}
	}
	logged := log.String()
	for _, want := range []string{"msg=Starting version=", `rules="Kubernetes v1.36.3"`, `msg="Settings of Go" GOGC=`, "GOMAXPROCS=", "GOTRACEBACK=", "GOMEMLIMIT=", "msg=Flag name=concurrent-rc-syncs value=7"} {
		if !strings.Contains(logged, want) {
			t.Errorf("the log lacks %s:\n%s", want, logged)
		}
	}
	about := fetch(t, http.MethodGet, url+"/about.json", "", "")
	if !strings.Contains(about, `"memory"`) {
		t.Errorf("About does not say what bounds the memory: %s", about)
	}
	for name, text := range map[string]string{"/configz": configz, "/flagz": flagz, "log": logged, "/about": about} {
		if strings.Contains(text, secret) {
			t.Errorf("%s has a credential:\n%s", name, text)
		}
	}
}

// Every flag that a credential may be given with is known as one.
func TestSecretFlags(t *testing.T) {
	notSecret := []string{"client-key"} // a path
	root := newRoot(streams{out: io.Discard, err: io.Discard})
	manager, _, err := root.Find([]string{"manager"})
	if err != nil {
		t.Fatal(err)
	}
	seen := false
	manager.Flags().VisitAll(func(flag *pflag.Flag) {
		if flag.Value.Type() == "bool" {
			return
		}
		words := strings.ToLower(flag.Name + " " + flag.Usage)
		if !slices.ContainsFunc([]string{"token", "password", "secret", "credential", "key ", "bearer"}, func(word string) bool { return strings.Contains(words, word) }) {
			return
		}
		if seen = true; !slices.Contains(secretFlags, flag.Name) && !slices.Contains(notSecret, flag.Name) {
			t.Errorf("--%s may be given a credential (%s), and is not among the secret flags", flag.Name, flag.Usage)
		}
	})
	if !seen {
		t.Error("there is no flag for a token any more")
	}
}

// The verbosity of what runs can be changed, for its own log and for that of client-go, and
// nothing is changed by what is none.
func TestVerbosityOfWhatRuns(t *testing.T) {
	url, log := managed(t, "--profiling", "--history=off")
	if klog.V(6).Enabled() {
		t.Fatal("the log is verbose before")
	}
	if said := fetch(t, http.MethodPut, url+"/debug/flags/v", "", "6"); said != "successfully set klog.logging.verbosity to 6\n" {
		t.Errorf("it says %q", said)
	}
	if !klog.V(6).Enabled() || klog.V(7).Enabled() {
		t.Error("client-go's log is not as verbose as it was asked to be")
	}
	klog.V(6).Info("of client-go")
	if !strings.Contains(log.String(), "of client-go") {
		t.Errorf("the log does not take it:\n%s", log)
	}
	o := logOptions{format: "text"}
	own := o.logger(os.Stderr)
	for level, want := range map[string]string{"": "no verbosity", "-1": "no verbosity", "11": "from 0 to 10", "4x": `"4x" is no verbosity`} {
		if _, err := o.setVerbosity(level); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", level, err)
		}
	}
	if own.Enabled(t.Context(), -1) {
		t.Error("a verbosity that is none was taken")
	}
	if _, err := o.setVerbosity("4"); err != nil || !own.Enabled(t.Context(), -4) || own.Enabled(t.Context(), -5) {
		t.Errorf("a verbosity of 4 was not taken: %v", err)
	}
}

// A recording has nothing of a process.
func TestRecordingServesNoProcess(t *testing.T) {
	base := consoleOn(t)
	for _, path := range []string{"/configz", "/flagz", "/statusz", "/metrics/slis", "/debug/flags", "/debug/flags/v", "/debug/pprof/"} {
		if res, err := http.Get(base + path); err != nil || res.StatusCode != http.StatusNotFound || res.Body.Close() != nil {
			t.Errorf("%s: %v, %v", path, res, err)
		}
	}
	list := fetch(t, http.MethodGet, base+"/debug", "application/json", "")
	for _, path := range []string{"/configz", "/flagz", "/statusz", "/metrics/slis"} {
		if strings.Contains(list, path) {
			t.Errorf("/debug lists %s: %s", path, list)
		}
	}
}
