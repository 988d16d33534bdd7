package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

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
	return managedAt(t, server.URL, args...)
}

// managedAt is managed with the API server at that address.
func managedAt(t *testing.T, server string, args ...string) (url string, log *lines) {
	t.Helper()
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	child := exec.Command(os.Args[0], "-test.run=^TestManagedChild$")
	child.Env = append(os.Environ(), managedArguments+"="+strings.Join(append([]string{"manager", "--kubeconfig", contexts(t, server), "--listen=127.0.0.1:0", "--console-auth=none", "--leader-elect=false"}, args...), "\n"))
	log = &lines{}
	child.Stderr = log
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	said := bufio.NewReader(out)
	t.Cleanup(func() {
		if err := child.Process.Signal(os.Interrupt); err != nil {
			t.Error(err)
		}
		_, _ = io.Copy(io.Discard, said)
		if err := child.Wait(); err != nil {
			t.Errorf("the manager ended: %v; log:\n%s", err, log)
		}
		if said := log.String(); !regexp.MustCompile(`(?s)Stopping.*interrupt signal received.*Stopped[^\n]*\n$`).MatchString(said) {
			t.Errorf("the log does not end with why it was stopped, and that it has:\n%s", said)
		}
	})
	line, err := said.ReadString('\n')
	if err != nil || !strings.HasPrefix(line, "dashboard: ") {
		t.Fatalf("it says %q, %v; log:\n%s", line, err, log)
	}
	return strings.TrimSpace(strings.TrimPrefix(line, "dashboard: ")), log
}

// managedArguments are those of the manager that a child process is.
const managedArguments = "LOOPSCOPE_MANAGED_ARGUMENTS"

// TestManagedChild is that process, and nothing in any other. client-go's log, Go's settings and
// the configuration that is served are of the whole process.
func TestManagedChild(*testing.T) {
	if args := os.Getenv(managedArguments); args != "" {
		os.Args = append([]string{"loopscope"}, strings.Split(args, "\n")...)
		main()
	}
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
	if testing.Short() {
		t.Skip("from --v=9 on, client-go notes a dial after the request that it was for has ended: its own data race")
	}
	const secret = "hunter2-of-a-manager"
	written, err := runManager("--concurrent-rc-syncs=7", "--v=10", "--profiling", "--history=off", "--listen=127.0.0.1:0", "--console-auth=none", "--leader-elect=false", "--write-config-to=-")
	if err != nil {
		t.Fatal(err)
	}
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
	notSecret := []string{"client-key", "tls-private-key-file", "tls-cert-file", "tls-sni-cert-key", "cert-dir", "authentication-token-webhook-cache-ttl", "tls-curve-preferences", "console-auth", "console-token-file"} // paths, a time, numbers, and a choice
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
	const listing = `msg="Listing and watching"` // which client-go does again and again here
	if strings.Contains(log.String(), listing) {
		t.Fatal("the log is verbose before")
	}
	if said := fetch(t, http.MethodPut, url+"/debug/flags/v", "", "6"); said != "successfully set klog.logging.verbosity to 6\n" {
		t.Errorf("it says %q", said)
	}
	for deadline := time.Now().Add(time.Minute); !strings.Contains(log.String(), listing); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("client-go does not log what it lists:\n%s", log)
		}
	}
}

// A verbosity that is none changes nothing. No manager runs meanwhile, whose client-go would log to
// this log.
func TestVerbosity(t *testing.T) {
	t.Cleanup(klog.CaptureState().Restore)
	o := logOptions{format: "text"}
	own := o.logger(io.Discard)
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

// TestManagerWaitsForItsCluster: a cluster that does not answer yet keeps nobody from the console, which says so,
// as does the log.
func TestManagerWaitsForItsCluster(t *testing.T) {
	url, log := managedAt(t, "http://127.0.0.1:1", "--history=off") // Nothing listens there, and the system gives it to nobody.
	const told = "The API server does not answer"
	deadline := time.Now().Add(time.Minute)
	for tick := time.NewTicker(20 * time.Millisecond); ; <-tick.C {
		page := fetch(t, http.MethodGet, url+"/deployments", "text/html", "")
		if strings.Contains(page, told) && strings.Contains(log.String(), told) {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("neither page nor log say so:\n%s\n%s", page, log)
		}
	}
	fetch(t, http.MethodGet, url+"/livez", "", "")
}
