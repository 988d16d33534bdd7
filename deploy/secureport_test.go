package deploy_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/loopscope/loopscope/controllers"
	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/decision"
)

// TestSecurePortRights: what the secure port needs and what its readers get is no more than they need.
func TestSecurePortRights(t *testing.T) {
	type object struct {
		Kind     string
		Metadata struct{ Name, Namespace string }
		RoleRef  struct{ Kind, Name string }
		Subjects []struct{ Kind, Namespace, Name string }
		Rules    []struct {
			APIGroups, Resources, NonResourceURLs, Verbs []string
		}
	}
	bound := map[string]string{}
	for _, text := range strings.Split(read(t, "secure-port.yaml"), "\n---\n") {
		var o object
		if err := yaml.Unmarshal([]byte(text), &o); err != nil {
			t.Fatal(err)
		}
		for _, who := range o.Subjects {
			if who.Kind != "ServiceAccount" || who.Namespace != "kube-system" || who.Name != "loopscope" {
				t.Errorf("%s is given to %v", o.Metadata.Name, who)
			}
			bound[o.RoleRef.Kind+" "+o.RoleRef.Name] = o.Metadata.Namespace
		}
		for _, rule := range o.Rules {
			if len(rule.Resources)+len(rule.APIGroups) > 0 || len(rule.NonResourceURLs) == 0 || slices.ContainsFunc(rule.Verbs, func(verb string) bool { return verb != "get" && verb != "head" }) {
				t.Errorf("%s may %v", o.Metadata.Name, rule)
			}
		}
	}
	if namespace, is := bound["Role extension-apiserver-authentication-reader"]; len(bound) != 3 || !is || namespace != "kube-system" || bound["ClusterRole system:auth-delegator"] != "" {
		t.Errorf("it binds %v", bound)
	}
	for _, role := range []string{"system:auth-delegator", "loopscope-standby"} {
		if _, is := bound["ClusterRole "+role]; !is {
			t.Errorf("it binds %v", bound)
		}
	}
}

// TestViewersReadTheConsoleAlone: a right to a path holds for every component of the cluster, so
// viewers have all addresses of the console but those at which others show what they are doing.
func TestViewersReadTheConsoleAlone(t *testing.T) {
	var urls []string
	for _, text := range strings.Split(read(t, "secure-port.yaml"), "\n---\n") {
		var o struct {
			Metadata struct{ Name string }
			Rules    []struct{ NonResourceURLs []string }
		}
		if err := yaml.Unmarshal([]byte(text), &o); err != nil {
			t.Fatal(err)
		}
		for _, rule := range o.Rules {
			if o.Metadata.Name == "loopscope-viewer" {
				urls = append(urls, rule.NonResourceURLs...)
			}
		}
	}
	used := map[string]bool{}
	may := func(path string) (is bool) {
		for _, url := range urls {
			prefix, all := strings.CutSuffix(url, "*")
			if url == path || all && strings.HasPrefix(path, prefix) {
				used[url], is = true, true
			}
		}
		return is
	}
	elsewhere := regexp.MustCompile(`^/(metrics|configz|flagz|statusz|debug/(flags|pprof))(/|$)`)
	for line := range strings.Lines(read(t, "../web/testdata/routes.txt")) { // A test there keeps it.
		method, route, _ := strings.Cut(strings.TrimSpace(line), " ")
		if method != "GET" {
			continue
		}
		for _, l := range controllers.Loops.With(decision.Loops{{Name: "lease"}, telemetry.Comparison(nil)}) {
			if !controllers.Loops.Has(l.Name) && !strings.HasPrefix(route, "/{objects}/") {
				continue // These have no list, and are no controllers.
			}
			for _, name := range []string{l.Name, l.Name + "-controller"} {
				path := strings.NewReplacer("{objects}", l.Name+"s", "{loop}", name, "{namespace}", "shop", "{name}", "web", "*", "heap").Replace(route)
				if is := may(path); is == elsewhere.MatchString(path) {
					t.Errorf("viewers may get %s: %t", path, is)
				}
			}
		}
	}
	for _, url := range urls {
		if !used[url] {
			t.Errorf("no address of the console is at %s", url)
		}
	}
	for _, path := range []string{"/debug/controllers/garbage-collector/graph", "/debug/api_priority_and_fairness/dump_requests", "/logs/kube-apiserver.log", "/openapi/v2", "/api", "/debug/pprof"} {
		if may(path) {
			t.Errorf("viewers may get %s of other components", path)
		}
	}
}
