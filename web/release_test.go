package web

import (
	"strings"
	"testing"

	"github.com/loopscope/loopscope/controllers"
	"github.com/loopscope/loopscope/telemetry"
)

// beside is an API server of a release.
func beside(version string, minor int) func(*Options) {
	return func(o *Options) {
		o.ReleaseRules = controllers.ReleaseRules
		o.Server = func() telemetry.ServerState {
			return telemetry.ServerState{Reachable: true, Release: telemetry.Release{Version: version, Minor: minor}}
		}
	}
}

// TestAboutSaysWhoseRules: beside an earlier release About has what that does otherwise, and whether
// the loops do the same ([C-3]).
func TestAboutSaysWhoseRules(t *testing.T) {
	w := planWorld(t)
	for _, c := range []struct {
		name       string
		options    func(*Options)
		has, lacks []string
	}{
		{"1.30", beside("v1.30.14", 30), []string{
			"those of Kubernetes v1.36; the API server is v1.30.14, a release that differs in 10 rules: see below", "Rules in Kubernetes v1.30",
			"Before v1.35: A Deployment has no number of terminating pods in its status.", "Before v1.32: Restarts of sidecars do not count. The loops do the same.",
			"as it is. The loops follow the rule.",
		}, []string{"--feature-gates"}},
		{"1.35", beside("v1.35.4", 35), []string{"a release that differs in 3 rules", "Before v1.36:"}, []string{"Before v1.35:"}},
		{"1.36", beside("v1.36.3", 36), []string{"those of Kubernetes v1.36; the API server is v1.36.3"}, []string{"Rules in Kubernetes", "differs"}},
		{"1.37", beside("v1.37.0", 37), []string{"the API server is v1.37.0, a later release that these rules were not tried beside"}, []string{"Rules in Kubernetes"}},
		{"not known", func(*Options) {}, []string{"those of Kubernetes v1.36; the API server has not told its version"}, []string{"Rules in Kubernetes"}},
		{"switched", func(o *Options) {
			beside("v1.34.4", 34)(o)
			o.Features = map[string]bool{"DeploymentReplicaSetTerminatingReplicas": true}
		}, []string{"features DeploymentReplicaSetTerminatingReplicas=true, by --feature-gates", "Here the feature is switched on."}, nil},
	} {
		_, h := w.serve(c.options)
		_, body := get(t, h.URL, "/about")
		d := parse(t, body)
		d.sound()
		main := d.one("main")
		for _, want := range c.has {
			if !strings.Contains(main, want) {
				t.Errorf("%s: %q is not on the page:\n%s", c.name, want, main)
			}
		}
		for _, other := range c.lacks {
			if strings.Contains(main, other) {
				t.Errorf("%s: %q is on the page", c.name, other)
			}
		}
	}
}

// TestRulesSayWhatIsOtherwise: so do the page of rules, the foot of every page and the page of the
// comparison.
func TestRulesSayWhatIsOtherwise(t *testing.T) {
	_, h := planWorld(t).serve(func(o *Options) {
		beside("v1.30.14", 30)(o)
		o.Mode, o.Shadow = "watch", shadowed
	})
	for path, want := range map[string]string{
		"/rules":       "Before v1.32: Restarts of sidecars do not count. The loops do the same.",
		"/deployments": "rules of Kubernetes v1.36 beside v1.30.14",
		"/shadow":      "The API server is v1.30.14, whose release differs from v1.36 in 10 rules. Decided here as in that release: ST-5, RS-7, P-5, EV-1. Decided as in v1.36: RS-1,",
	} {
		_, body := get(t, h.URL, path)
		d := parse(t, body)
		d.sound()
		if !strings.Contains(d.one("body"), want) {
			t.Errorf("%s does not have %q", path, want)
		}
	}
	_, h = planWorld(t).serve(func(o *Options) {
		beside("v1.36.3", 36)(o)
		o.Mode, o.Shadow = "watch", shadowed
	})
	if _, body := get(t, h.URL, "/shadow"); strings.Contains(body, "Another release") {
		t.Error("the same release is said to be another one")
	}
}
