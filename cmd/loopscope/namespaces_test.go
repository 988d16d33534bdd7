package main

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/loopscope/loopscope/cmd/internal/create"
)

// observing is a console of a namespace, "" for all of them, whose list is empty for some reason. Whatever it is
// asked for but its namespace it puts into last.
func observing(t *testing.T, name, namespace, code string, last *string) (url string, end func()) {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/about.json" {
			fmt.Fprintf(w, `{"cluster":"first","page":{"namespace":%q}}`, namespace)
			return
		}
		*last = name + " " + r.URL.Path
		fmt.Fprintf(w, `{"cluster":"first","page":{"headline":"All is well.","story":{},"empty":{"code":%q,"heading":"It is empty.","lines":["Why so."]}}}`, code)
	}))
	t.Cleanup(s.Close)
	gone := announce(at("first"), s.URL, slog.New(slog.DiscardHandler))
	return s.URL, func() { s.Close(); gone() }
}

// TestAsksTheConsoleThatKnowsTheNamespace: a console of another namespace is passed over while there is one that
// knows what is asked for, and where there is none that is said.
func TestAsksTheConsoleThatKnowsTheNamespace(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	config := contexts(t, "http://127.0.0.1:1")
	var asked string
	whole, end := observing(t, "whole", "", "no-match", &asked)
	quiet, _ := observing(t, "quiet", "quiet", "no-match", &asked)
	_, _ = observing(t, "still", "still", "no-match", &asked)
	open := func(namespace string) string {
		o := openOptions{manager: newManagerOptions()}
		*o.manager.kubeconfig.KubeConfig, *o.manager.kubeconfig.Namespace = config, namespace
		return o.running(t.Context())
	}
	ask := func(line string) (out string, err error) {
		out, beside, err := runBoth(t, append(strings.Fields(line), "--kubeconfig", config)...)
		return out + beside, err
	}
	for line, want := range map[string]string{"top -A --exit-code": "whole", "top --exit-code": "whole", "top -n quiet --exit-code": "quiet", "story deployment/web": "whole", "story deployment/web -n quiet": "quiet", "export": "whole", "export -n quiet": "quiet"} {
		if out, err := ask(line); err != nil || !strings.HasPrefix(asked, want+" ") || strings.Contains(out, "observes only") {
			t.Errorf("%s: %v, asked %s\n%s", line, err, asked, out)
		}
	}
	if got := open(""); got != whole {
		t.Errorf("open finds %q", got)
	}
	if got := open("quiet"); got != quiet {
		t.Errorf("open -n quiet finds %q", got)
	}
	end()
	for _, line := range []string{"top -A", "top", "story deployment/web", "export", "top -A -o json"} {
		if out, err := ask(line); err != nil || !strings.HasPrefix(asked, "still ") || !strings.Contains(out, " observes only the namespace still, and does not know how others are now. `loopscope open` starts one") || strings.Contains(out, "-A lists") {
			t.Errorf("%s: %v, asked %s\n%s", line, err, asked, out)
		}
	}
	for _, line := range []string{"top -A --exit-code", "top --exit-code", "top -A --exit-code -o json"} {
		if _, err := ask(line); err == nil || errors.As(err, new(needsYou)) || !strings.Contains(err.Error(), "observes only the namespace still") {
			t.Errorf("%s: %v", line, err)
		}
	}
	for _, line := range []string{"top -n quiet --exit-code", "top -A ns:quiet --exit-code", "top -A --exit-code is:failed NS:Quiet"} {
		if out, err := ask(line); err != nil || !strings.HasPrefix(asked, "quiet ") || strings.Contains(out, "observes only") {
			t.Errorf("%s: %v, asked %s\n%s", line, err, asked, out)
		}
	}
	if _, _, err := runBoth(t, "top", "--kubeconfig", config, "-A", "--exit-code", "--", "-ns:quiet"); err == nil || !strings.Contains(err.Error(), "observes only the namespace still") {
		t.Errorf("without a namespace: %v", err)
	}
}

// TestTheExitCodeOfWhatIsNotKnown: a loop that has looked at nothing does not say that nobody is needed.
func TestTheExitCodeOfWhatIsNotKnown(t *testing.T) {
	for code, known := range map[string]bool{"loop-waiting": false, "loop-off": false, "loop-skipped": false, "no-match": true, "first-run": true} {
		t.Setenv("XDG_STATE_HOME", t.TempDir())
		var asked string
		server, _ := observing(t, "one", "", code, &asked)
		if out, err := run(t, "top", "-A", "--server", server); err != nil || !strings.Contains(out, "It is empty. Why so.") {
			t.Errorf("%s: %v\n%s", code, err, out)
		}
		_, err := run(t, "top", "-A", "--server", server, "--exit-code", "-o", "json")
		if (err == nil) != known || errors.As(err, new(needsYou)) || !known && err.Error() != "whether anything needs you is not known. It is empty. Why so." {
			t.Errorf("%s: %v", code, err)
		}
	}
	failed := topList{unknown: "It observes another namespace.", rows: []topRow{{State: mark{Tone: "fail"}}}}
	if err := failed.verdict(); !errors.As(err, new(needsYou)) {
		t.Errorf("what failed needs somebody, whatever else is not known: %v", err)
	}
}

// Of objects of one namespace a console of that is asked, of others one of all. What no loop keeps is not asked for.
func TestOnlyNamespace(t *testing.T) {
	of := func(kind, namespace string) create.Object {
		return create.Object{Kind: schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: kind}, Namespace: namespace}
	}
	shop, quiet := of("Deployment", "shop"), of("ReplicaSet", "quiet")
	for _, c := range []struct {
		list []create.Object
		want string
	}{
		{[]create.Object{shop, of("ReplicaSet", "shop")}, "shop"},
		{[]create.Object{shop, quiet}, ""},
		{[]create.Object{shop, quiet, shop}, ""},
		{[]create.Object{of("ControllerRevision", ""), shop, of("StatefulSet", "quiet")}, "shop"},
	} {
		if got := onlyNamespace(c.list); got != c.want {
			t.Errorf("%v: %q, want %q", c.list, got, c.want)
		}
	}
}
