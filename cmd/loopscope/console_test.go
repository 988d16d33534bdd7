package main

import (
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/loopscope/loopscope/cmd/internal/signin"
	"github.com/loopscope/loopscope/web"
)

// contexts is a kubeconfig of two clusters, of which the API server is at an address.
func contexts(t *testing.T, server string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "kubeconfig")
	text := fmt.Sprintf(`apiVersion: v1
kind: Config
current-context: one
clusters:
- {name: first, cluster: {server: %[1]q}}
- {name: second, cluster: {server: %[1]q}}
contexts:
- {name: one, context: {cluster: first, user: u, namespace: shop}}
- {name: two, context: {cluster: second, user: u}}
users: [{name: u, user: {token: t}}]
`, server)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// at is a cluster of these contexts.
func at(cluster string) place { return place{cluster, "http://127.0.0.1:1"} }

// Commands ask the console of the cluster of the current context, about its namespace, and
// no other one.
func TestFindsTheConsole(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	var asked string
	console := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = r.URL.String()
		_, _ = io.WriteString(w, `{"cluster":"first","page":{"headline":"All is well.","story":{}}}`)
	}))
	defer console.Close()
	config := contexts(t, "http://127.0.0.1:1")
	var log strings.Builder
	gone := announce(at("first"), console.URL, slog.New(slog.NewTextHandler(&log, nil)))
	for _, c := range []struct{ args, want string }{
		{"top", "q=ns%3Ashop"}, {"top -n other", "q=ns%3Aother"}, {"top -A", "/deployments.json"}, {"story deployment/web", "/deployments/shop/web/story.json"}, {"story claim/web -n -", "/claims/-/web/story.json"},
	} {
		if _, err := run(t, append(strings.Fields(c.args), "--kubeconfig", config)...); err != nil || !strings.Contains(asked, c.want) {
			t.Errorf("%s: %v, asked for %s", c.args, err, asked)
		}
	}
	announceOther := announce(at("second"), console.URL, slog.New(slog.NewTextHandler(&log, nil)))
	for _, command := range []string{"top", "story deployment/web", "export"} {
		_, err := run(t, append(strings.Fields(command), "--kubeconfig", config, "--context=two")...)
		if err == nil || !strings.Contains(err.Error(), `is of the cluster "first", and the current context of "second"`) {
			t.Errorf("%s of another cluster: %v", command, err)
		}
	}
	if _, err := run(t, "top", "--kubeconfig", config, "--context=two", "--server", console.URL); err != nil {
		t.Errorf("a console that was named: %v", err)
	}
	announceOther()
	path, err := at("first").file(os.Getenv)
	if err != nil {
		t.Fatal(err)
	}
	later := announce(at("first"), "http://127.0.0.1:9", slog.New(slog.NewTextHandler(&log, nil)))
	gone() // It is no longer the newest, and leaves that there.
	if list := announced(path); !slices.Equal(list, []string{"http://127.0.0.1:9"}) {
		t.Errorf("%q are left", list)
	}
	later()
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Errorf("the address is still there: %v", err)
	}
	t.Setenv("KUBECONFIG", os.DevNull)
	if c := newConsoleFlags(); c.find(t.Context(), "") != (found{server: usualServer}) {
		t.Errorf("without a cluster: %+v", c.find(t.Context(), ""))
	}
	t.Setenv("XDG_STATE_HOME", filepath.Join(config, "no-folder"))
	announce(at("first"), console.URL, slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})))()
	if !strings.Contains(log.String(), "have to be told the address") {
		t.Errorf("log: %s", log.String())
	}
}

// Where no console has left its address, the kubeconfig may have it, as that of a sandbox does.
func TestFindsTheConsoleInTheKubeconfig(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	config := contexts(t, "http://127.0.0.1:1")
	text, err := os.ReadFile(config)
	if err != nil {
		t.Fatal(err)
	}
	flags := newConsoleFlags()
	for extension, want := range map[string]string{`"http://127.0.0.1:2"`: "http://127.0.0.1:2", `{"address": 3}`: usualServer} {
		with := strings.Replace(string(text), `cluster: {`, `cluster: {extensions: [{name: loopscope.dev/console, extension: `+extension+`}], `, 1)
		if err := os.WriteFile(config, []byte(with), 0o600); err != nil {
			t.Fatal(err)
		}
		flags.kubeconfig = newConsoleFlags().kubeconfig
		*flags.kubeconfig.KubeConfig = config
		if got := flags.find(t.Context(), ""); got != (found{server: want, cluster: "first"}) {
			t.Errorf("%s: %+v", extension, got)
		}
	}
	announce(at("first"), "http://127.0.0.1:9", slog.New(slog.DiscardHandler))
	if got := flags.find(t.Context(), "").server; got != "http://127.0.0.1:9" {
		t.Errorf("a console that has left its address: %s", got)
	}
}

// Commands send the token of the console, which stands beside its address, and clusters of one name
// are told apart by their API servers.
func TestSignsWithTheToken(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	door := signin.New(signin.NewToken(), "Run it.")
	console := httptest.NewServer(door.Guard(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, `{"cluster":"first","page":{"headline":"All is well.","story":{}}}`)
	}), web.OpenToAll, http.NotFoundHandler()))
	defer console.Close()
	config := contexts(t, "http://127.0.0.1:1")
	defer announce(at("first"), door.Address(console.URL), slog.New(slog.DiscardHandler))()
	for _, command := range []string{"top", "story deployment/web", "top --server " + door.Address(console.URL)} {
		if out, err := run(t, append(strings.Fields(command), "--kubeconfig", config)...); err != nil {
			t.Errorf("%s: %v\n%s", command, err, out)
		}
	}
	if _, err := run(t, "top", "--server", console.URL); err == nil || !strings.Contains(err.Error(), "You are not signed in to this console.") {
		t.Errorf("without the token: %v", err)
	}
	flags := newConsoleFlags()
	*flags.kubeconfig.KubeConfig = contexts(t, "http://127.0.0.1:2")
	if got := flags.find(t.Context(), ""); got != (found{server: usualServer, cluster: "first"}) {
		t.Errorf("of another cluster of that name: %+v", got)
	}
}

// A console that was killed leaves its address behind. Whatever has the port since is not sent the
// token, and the user is told.
func TestTheTokenIsNotForWhoeverTakesThePort(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	token := signin.NewToken()
	var heard atomic.Int64
	impostor := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		heard.Add(1)
		if all, err := httputil.DumpRequest(r, true); err != nil || strings.Contains(string(all), token) {
			t.Errorf("it is sent the token: %s, %v", all, err)
		}
		_, _ = io.WriteString(w, `{"cluster":"first","page":{"headline":"All is well.","story":{}}}`)
	}))
	defer impostor.Close()
	announce(at("first"), signin.New(token, "").Address(impostor.URL), slog.New(slog.DiscardHandler))
	config := contexts(t, "http://127.0.0.1:1")
	for _, command := range []string{"top", "story deployment/web", "export"} {
		_, err := run(t, append(strings.Fields(command), "--kubeconfig", config)...)
		want := "another program answers at " + impostor.URL + ", where a console of the cluster \"first\" was: it does not know the token of that console, and was not sent it\nStart a console with `loopscope open`, or give the console's address with --server"
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", command, err)
		}
	}
	open := openOptions{manager: newManagerOptions()}
	*open.manager.kubeconfig.KubeConfig = config
	if url := open.running(t.Context()); url != "" || heard.Load() != 8 {
		t.Errorf("a browser would be sent to %q; it was asked %d times", url, heard.Load())
	}
}

// Where nothing else is said, the past is read from the history of the running console, or
// else from that of an earlier manager.
func TestFindsTheHistory(t *testing.T) {
	state := t.TempDir()
	t.Setenv("XDG_STATE_HOME", state)
	kept := nightly(t)
	var says string
	console := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, `{"cluster":"first","page":{"headline":"x","history":%q}}`, says)
	}))
	defer console.Close()
	announce(at("first"), console.URL, slog.New(slog.DiscardHandler))
	ask := func() (string, error) {
		return run(t, "explain", "deployment/web", "-n", "shop", "--at", "2026-11-21T03:04:00Z", "--kubeconfig", contexts(t, "http://127.0.0.1:1"))
	}
	usual := filepath.Join(state, "loopscope", "first.db")
	for _, c := range []struct {
		name, says string
		before     func()
		want       string
	}{
		{"that of the console", kept, nil, ""},
		{"one of another machine", "/nowhere/history.db", nil, "is not on this machine"},
		{"a console without one", "", nil, "keeps no history"},
		{"no console", "", console.Close, `no manager of the cluster "first" runs on this machine`},
		{"that of an earlier manager", "", func() { copyFile(t, kept, usual) }, ""},
	} {
		if says = c.says; c.before != nil {
			c.before()
		}
		out, err := ask()
		if c.want == "" && (err != nil || !strings.Contains(out, "As of 2026-11-21T03:04:00Z")) || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "loopscope")) {
			t.Errorf("%s: %v\n%s", c.name, err, out)
		}
	}
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	text, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, text, 0o600); err != nil {
		t.Fatal(err)
	}
}
