package e2e_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/loopscope/loopscope/cmd/sandbox/testplane"
)

// TestSignIn is a person with a browser: the printed address opens the console and goes live, a link in a
// chat opens a page, others get nowhere, and where the manager is started again with another token
// an open page says what to do. With a token in a file it goes on by itself.
func TestSignIn(t *testing.T) {
	t.Parallel()
	plane := testplane.Start(t, testplane.Options{Loops: "none", Nodes: 1})
	client := clientOf(t, plane)
	namespace := newNamespace(t, client, "signin")
	plane.Kubectl(t, "-n", namespace, "create", "deployment", "web", "--image=shop:v1")
	start := func(flags ...string) *manager {
		cmd := exec.Command(testplane.Loopscope(t), append([]string{"manager", "--watch", "--history=off"}, flags...)...)
		return startConsole(t, cmd, "KUBECONFIG="+plane.LoopscopeKubeconfig, "XDG_STATE_HOME="+t.TempDir())
	}
	m := start("--listen=127.0.0.1:0")
	base, token, found := strings.Cut(m.Dashboard, "/?token=")
	if !found {
		t.Fatalf("the address has no token: %s", m.Dashboard)
	}
	page := base + "/deployments/" + namespace + "/web"
	testplane.Until(t, settleLimit, "the page", func() error { return statusOf(page+".json?token="+token, http.StatusOK) })
	ctx := browser(t)
	open := func(address string) {
		t.Helper()
		if err := chromedp.Do(ctx, chromedp.Navigate(address)); err != nil {
			t.Fatal(err)
		}
	}
	shows := func(text string) {
		t.Helper()
		holds(t, ctx, settleLimit, fmt.Sprintf("document.body?.innerText.includes(%q)", text))
	}
	open(page)
	shows("You are not signed in to this console.")
	open(m.Dashboard)
	shows(namespace + "/web")
	if at := evaluate[string](t, ctx, `location.href`); strings.Contains(at, token) || evaluate[string](t, ctx, `document.cookie`) != "" {
		t.Errorf("the token stays in %s, or a script reads the cookie", at)
	}
	chat := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`<!doctype html><a href="` + page + `">why</a>`))
	}))
	defer chat.Close()
	open(strings.Replace(chat.URL, "127.0.0.1", "localhost", 1))
	evaluate[int](t, ctx, `setTimeout(() => document.querySelector('a').click())`)
	shows("Why it ran")
	shows("live")

	if err := m.stop(20 * time.Second); err != nil {
		t.Error(err)
	}
	listen := "--listen=" + strings.TrimPrefix(base, "http://")
	m = start(listen)
	shows("Not signed in any more")
	shows("loopscope open")
	if err := m.stop(20 * time.Second); err != nil {
		t.Error(err)
	}

	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte("a-token-that-stays-0123456789\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	m = start(listen, "--console-token-file="+file)
	open(m.Dashboard)
	shows(namespace + "/web")
	open(page)
	shows("live")
	if err := m.stop(20 * time.Second); err != nil {
		t.Error(err)
	}
	shows("Not live")
	start(listen, "--console-token-file="+file)
	holds(t, ctx, settleLimit, "!/Not live|Not signed in/.test(document.body?.innerText)")
}
