package main

import (
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
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
	gone := announce("first", console.URL, slog.New(slog.NewTextHandler(&log, nil)))
	for _, c := range []struct{ args, want string }{
		{"top", "q=ns%3Ashop"}, {"top -n other", "q=ns%3Aother"}, {"top -A", "/deployments.json"}, {"story deployment/web", "/deployments/shop/web/story.json"}, {"story claim/web -n -", "/claims/-/web/story.json"},
	} {
		if _, err := run(t, append(strings.Fields(c.args), "--kubeconfig", config)...); err != nil || !strings.Contains(asked, c.want) {
			t.Errorf("%s: %v, asked for %s", c.args, err, asked)
		}
	}
	announceOther := announce("second", console.URL, slog.New(slog.NewTextHandler(&log, nil)))
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
	path := filepath.Join(os.Getenv("XDG_STATE_HOME"), "loopscope", "first.console")
	later := announce("first", "http://127.0.0.1:9", slog.New(slog.NewTextHandler(&log, nil)))
	gone() // It is no longer the newest, and leaves that alone.
	if text, err := os.ReadFile(path); err != nil || string(text) != "http://127.0.0.1:9\n" {
		t.Errorf("%q, %v", text, err)
	}
	later()
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Errorf("the address is still there: %v", err)
	}
	t.Setenv("KUBECONFIG", os.DevNull)
	if c := newConsoleFlags(); c.find() != (found{server: usualServer}) {
		t.Errorf("without a cluster: %+v", c.find())
	}
	t.Setenv("XDG_STATE_HOME", filepath.Join(config, "no-folder"))
	announce("first", console.URL, slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})))()
	if !strings.Contains(log.String(), "have to be told the address") {
		t.Errorf("log: %s", log.String())
	}
}

// A shell completes the kind, and then the names of the namespace.
func TestCompletesNames(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.URL.Path != "/apis/apps/v1/namespaces/shop/deployments" {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		_, _ = io.WriteString(w, `{"kind":"DeploymentList","apiVersion":"apps/v1","items":[{"metadata":{"name":"web"}},{"metadata":{"name":"api"}}]}`)
	}))
	defer server.Close()
	config := contexts(t, server.URL)
	for args, want := range map[string]string{
		"explain de": "deployment/\n:6\n", "explain deployment/": "deployment/web\ndeployment/api\n:4\n", "story deployment/": "deployment/web\ndeployment/api\n:4\n",
		"explain deployment/web ": ":4\n", "explain -n other deployment/": ":1\n", "explain --kubeconfig=/nowhere deployment/": ":1\n",
	} {
		words := append([]string{"__complete"}, strings.Split(args, " ")...)
		words = append(words[:2:2], append([]string{"--kubeconfig=" + config}, words[2:]...)...)
		if out, _ := run(t, words...); !strings.HasPrefix(out, want) {
			t.Errorf("%s: %q, want %q", args, out, want)
		}
	}
}
