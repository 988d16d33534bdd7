package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
)

// clusterOf is an API server that has objects of these names, by the path of their list.
func clusterOf(t *testing.T, names map[string]string) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		list, known := names[r.URL.Path]
		if !known {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		var items []string
		for name := range strings.FieldsSeq(list) {
			items = append(items, `{"metadata":{"name":"`+name+`"}}`)
		}
		_, _ = io.WriteString(w, `{"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/v1","items":[`+strings.Join(items, ",")+`]}`)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// completed is what a shell is offered after these words, and how it goes on.
func completed(t *testing.T, words ...string) string {
	t.Helper()
	out, _ := run(t, append([]string{cobra.ShellCompNoDescRequestCmd}, words...)...) // What fails is in the output, too.
	return strings.Join(strings.Fields(out), " ")
}

// A shell completes what stands in the kubeconfig, what the cluster has, and the words of flags
// and filters.
func TestCompletes(t *testing.T) {
	config := contexts(t, clusterOf(t, map[string]string{
		"/api/v1/namespaces":                             "shop default",
		"/apis/apps/v1/namespaces/shop/deployments":      "web api",
		"/apis/apps/v1/namespaces/shop/replicasets":      "web-1",
		"/api/v1/namespaces/shop/replicationcontrollers": "old",
	}))
	for typed, want := range map[string]string{
		"explain de":                "deployment/ rollingupdate/ :6",
		"explain rs":                "deployment/ rollingupdate/ :6",
		"explain --at=1m rs":        "deployment/ replicaset/ rs/ replicationcontroller/ rollingupdate/ :6",
		"explain --at=1m rs/":       "rs/web-1 :4",
		"explain --at=1m rc/":       "rc/old :4",
		"explain deployment/":       "deployment/web deployment/api :4",
		"explain deploy/w":          "deploy/web deploy/api :4",
		"explain deployments.apps/": "deployments.apps/web deployments.apps/api :4",
		"explain deployment ":       "web api :4",
		"explain deployment/web ":   ":4",
		"explain deployment web ":   ":4",
		"explain pods/":             ":4",
		"explain -n other deploy/":  ":1",
		"story ":                    "deployment/ replicationcontroller/ rollingupdate/ :6",
		"story deployment/":         "deployment/web deployment/api :4",
		"explain -n ":               "shop default :4",
		"story -n ":                 "shop default :4",
		"top --namespace ":          "shop default :4",
		"export -n ":                "shop default :4",
		"top --context ":            "one two :4",
		"manager --context ":        "one two :4",
		"explain --cluster ":        "first second :4",
		"manager --user ":           "u :4",
		"top -o ":                   "wide name json yaml kyaml :4",
		"explain -o ":               "json yaml kyaml :4",
		"story -o ":                 "json yaml kyaml :4",
		"top --loop ":               "deployment replicaset replicationcontroller rollingupdate :4",
		"export --loop ":            "deployment replicaset replicationcontroller rollingupdate :4",
		"top ":                      "at: by: image: is: ns: reason: :6",
		"top is:failed -- -":        "-at: -by: -image: -is: -ns: -reason: :6",
		"top ns:":                   "ns:shop ns:default :4",
		"top -- -ns:s":              "-ns:shop -ns:default :4",
		"top reason:":               ":4",
		"explain --kubeconfig=/nowhere deployment/": ":1",
		"top --kubeconfig=/nowhere --context ":      ":1",
	} {
		words := strings.Split(typed, " ")
		if words = append(words[:1:1], append([]string{"--kubeconfig=" + config}, words[1:]...)...); completed(t, words...) != want {
			t.Errorf("%q: %q, want %q", typed, completed(t, words...), want)
		}
	}
	for typed, want := range map[string]string{"replay ": "jsonl gz :8", "replay night.jsonl ": "jsonl gz :8", "view ": "jsonl gz :8", "view night.jsonl ": ":4", "version ": ":4", "version -o ": "json yaml kyaml :4", "export ": ":4", "decisions -o ": "markdown mermaid dot svg :4"} {
		if got := completed(t, strings.Split(typed, " ")...); got != want {
			t.Errorf("%q: %q, want %q", typed, got, want)
		}
	}
	for typed, want := range map[string]string{
		"rolling-update --cleanup ":           "delete rename preserve :4",
		"rolling-update resume --cleanup ":    "delete rename preserve :4",
		"rolling-update --image-pull-policy ": "Always IfNotPresent Never :4",
		"rolling-update --dry-run=":           "none client server :4",
		"create --dry-run=":                   "none client server :4",
		"apply --dry-run=":                    "none client server :4",
		"create --validate=":                  "strict warn ignore :4",
		"apply --validate=":                   "strict warn ignore :4",
		"manager --console-auth ":             "token none :4",
		"view --console-auth ":                "token none :4",
		"manager --logging-format ":           "text json :4",
	} {
		if got := completed(t, strings.Split(typed, " ")...); got != want {
			t.Errorf("%q: %q, want %q", typed, got, want)
		}
	}
	for typed, want := range map[string]string{"at:": " at:RR-3.may-go ", "is:": " is:failed "} {
		if got := " " + completed(t, "top", typed); !strings.Contains(got, want) || !strings.HasSuffix(got, " :4") {
			t.Errorf("%q: %q, want%q", typed, got, want)
		}
	}
}

// A shell does not wait for a cluster that is slow.
func TestCompletesInTime(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	t.Cleanup(server.Close)
	before := completeWithin
	completeWithin = 10 * time.Millisecond
	t.Cleanup(func() { completeWithin = before })
	config := contexts(t, server.URL)
	for _, typed := range [][]string{{"explain", "deployment/"}, {"explain", "-n", ""}, {"top", "ns:"}} {
		if got := completed(t, append([]string{typed[0], "--kubeconfig=" + config}, typed[1:]...)...); got != ":1" {
			t.Errorf("%v: %q", typed, got)
		}
	}
}
