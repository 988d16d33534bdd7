package controllers

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/loopscope/loopscope/controllers/internal/lab"
)

// checkSeen fails for every kind of request, with its answer, that the suites parity and
// chaos have seen on a real control plane ("make requests") and the table has not.
func checkSeen(t *testing.T, results []played) {
	t.Helper()
	have := map[string]bool{}
	for _, r := range results {
		for _, x := range r.all {
			have[seenLine(x)] = true
		}
	}
	n := 0
	for _, line := range seen(t) {
		if n++; !have[line] && !watchedLine(line) {
			t.Errorf("the table has no %q, which the suites have seen", line)
		}
	}
	if n < fewestSeen {
		t.Errorf("%d kinds of requests were seen, want %d at least: run make requests", n, fewestSeen)
	}
}

// fewestSeen is less than any run of the suites sees.
const fewestSeen = 60

// watchedLine reports whether TestActingUnblock or TestActingNamespaces has such a request.
func watchedLine(line string) bool {
	for _, path := range append(slices.Collect(maps.Values(lab.WatchesOf)), "/namespaces") {
		resource := path[strings.LastIndexByte(path, '/')+1:]
		for _, answer := range []string{"200", "403 Forbidden", "404 NotFound", "500", "none"} {
			if line == "unblock list "+resource+": "+answer || line == "unblock watch "+resource+": "+answer {
				return true
			}
		}
	}
	return false
}

// seenLine is a request in the words of cmd/sandbox/internal/requestlog.
func seenLine(x lab.Sent) string {
	_, part, _ := strings.Cut(x.UserAgent, " ")
	resource, name, sub := x.Parts()
	verb := map[string]string{"POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete", "GET": "get"}[x.Method]
	switch {
	case x.Method == "PATCH":
		verb += " (" + strings.TrimSuffix(strings.TrimPrefix(x.ContentType, "application/"), "+json") + ")"
	case strings.Contains(x.Query, "watch="):
		verb = "watch"
	case verb == "get" && name == "":
		verb = "list"
	}
	if sub != "" {
		resource += "/" + sub
	}
	answer := x.Answer
	if answer == "cut off" {
		answer = "none"
	}
	return part + " " + verb + " " + resource + ": " + answer
}
