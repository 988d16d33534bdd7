package controllers

import (
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/loopscope/loopscope/controllers/engine"
	"github.com/loopscope/loopscope/controllers/internal/lab"
)

// rightsOf is every rule for a loop, by the name of its client.
func rightsOf(component string) []rbacv1.PolicyRule {
	for _, r := range Registered {
		if r.Settings.Component == component {
			own := engine.MergeRights(engine.CommonRights(), r.Rights)
			return slices.Concat(own.Decide, own.Cluster, own.Act)
		}
	}
	return nil
}

func permits(rules []rbacv1.PolicyRule, group, resource, verb string) bool {
	return slices.ContainsFunc(rules, func(r rbacv1.PolicyRule) bool {
		return slices.Contains(r.APIGroups, group) && slices.Contains(r.Resources, resource) && slices.Contains(r.Verbs, verb)
	})
}

// checkRights fails for every request of a loop that its declared rights do not cover.
func checkRights(t *testing.T, results []played) {
	t.Helper()
	checked, missing := 0, map[string]bool{}
	for _, r := range results {
		for _, x := range r.all {
			component, resource, verb := asked(x)
			rules := rightsOf(component)
			if rules == nil {
				continue // Informers and readers have all rights to read.
			}
			if checked++; !permits(rules, groupOf(x.Path), resource, verb) {
				missing[component+" may not "+verb+" "+resource+" of "+groupOf(x.Path)] = true
			}
		}
	}
	for what := range missing {
		t.Error(what)
	}
	if checked < 1000 {
		t.Errorf("only %d requests were checked", checked)
	}
}

// asked is who sends a request, and the right that it takes.
func asked(x lab.Sent) (component, resource, verb string) {
	sent, _, _ := strings.Cut(seenLine(x), ":")
	words := strings.Fields(sent)
	if len(words) < 3 {
		return "", "", ""
	}
	return words[0], words[len(words)-1], words[1]
}

// seen are the requests that the suites have seen.
func seen(t *testing.T) []string {
	t.Helper()
	data, err := os.ReadFile("testdata/acting/seen.txt")
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(string(data)), "\n")
}

func groupOf(path string) string {
	if rest, named := strings.CutPrefix(path, "/apis/"); named {
		group, _, _ := strings.Cut(rest, "/")
		return group
	}
	return ""
}

// TestSeenRequestsArePermitted holds the rights against what was seen on a real control plane.
func TestSeenRequestsArePermitted(t *testing.T) {
	n := 0
	for _, r := range Registered {
		rules := rightsOf(r.Settings.Component)
		for _, line := range seen(t) {
			sent, _, _ := strings.Cut(line, ":")
			words := strings.Fields(sent)
			if words[0] != r.Settings.Component {
				continue
			}
			resource := words[len(words)-1]
			if n++; !slices.ContainsFunc(rules, func(p rbacv1.PolicyRule) bool {
				return slices.Contains(p.Resources, resource) && slices.Contains(p.Verbs, words[1])
			}) {
				t.Errorf("%s is not permitted", line)
			}
		}
	}
	if n < fewestSeen {
		t.Errorf("only %d requests were checked", n)
	}
}

// TestRightsAreFew: reads are reads, nothing is granted by a wildcard, and no Secret is among it.
func TestRightsAreFew(t *testing.T) {
	all := Rights()
	for _, r := range slices.Concat(all.Decide, all.Cluster) {
		for _, verb := range r.Verbs {
			if !slices.Contains(engine.Reads, verb) {
				t.Errorf("%v is no read", r)
			}
		}
	}
	for _, r := range slices.Concat(all.Decide, all.Cluster, all.Act) {
		for _, word := range slices.Concat(r.APIGroups, r.Resources, r.Verbs) {
			if strings.Contains(word, "*") || word == "secrets" {
				t.Errorf("%v is too much", r)
			}
		}
	}
	if !permits(all.Decide, "", "pods", "watch") || permits(all.Decide, "", "configmaps", "list") || !permits(all.Act, "", "pods", "delete") {
		t.Errorf("the rights are %+v", all)
	}
	for _, method := range []string{http.MethodGet, http.MethodHead} {
		if permits(all.Act, "", "pods", strings.ToLower(method)) {
			t.Errorf("to act, %s of pods is granted once more", method)
		}
	}
}
