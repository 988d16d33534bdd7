package controllers

import (
	"cmp"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/loopscope/loopscope/controllers/engine"
	"github.com/loopscope/loopscope/telemetry"
)

// [M-1]
func TestOff(t *testing.T) {
	for list, want := range map[string]string{
		"*": "a b", "": "", "a": "a", "-a": "", "*,-a": "b", "-a,*": "b", "a,-a": "a", "-a,a": "", "b,a": "a b", "*,a,-b": "a", "A": "", "- a,*": "a b",
	} {
		var got []string
		for _, name := range []string{"a", "b"} {
			if Off(&engine.Registration{Controller: name}, strings.Split(list, ","), nil) == nil {
				got = append(got, name)
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%q runs %q, want %q", list, got, want)
		}
	}
	leftOut, byDefault, gate := &telemetry.Off{}, &telemetry.Off{ByDefault: true}, func(name string) *telemetry.Off { return &telemetry.Off{Gate: name} }
	alpha, beta := engine.Registration{Gates: []engine.Gate{{Name: "A"}}}, engine.Registration{Gates: []engine.Gate{{Name: "B", On: true}}}
	both := engine.Registration{OffByDefault: true, Gates: append(slices.Clone(beta.Gates), alpha.Gates...)}
	for _, c := range []struct {
		r        engine.Registration
		list     string
		features map[string]bool
		want     *telemetry.Off
	}{
		{engine.Registration{OffByDefault: true}, "*", nil, byDefault},
		{engine.Registration{OffByDefault: true}, "*,a", nil, nil},
		{engine.Registration{OffByDefault: true}, "*,-a", nil, leftOut},
		{alpha, "*", nil, gate("A")},
		{alpha, "a", map[string]bool{"A": false}, gate("A")},
		{alpha, "*", map[string]bool{"A": true}, nil},
		{alpha, "-a,*", map[string]bool{"A": true}, leftOut},
		{alpha, "b", nil, leftOut},
		{beta, "*", map[string]bool{"A": true}, nil},
		{beta, "*", map[string]bool{"B": false}, gate("B")},
		{both, "*", map[string]bool{"A": true}, byDefault},
		{both, "a", nil, gate("A")},
		{both, "a", map[string]bool{"A": true, "B": false}, gate("B")},
		{both, "a", map[string]bool{"A": true}, nil},
	} {
		c.r.Controller = "a"
		if got := Off(&c.r, strings.Split(c.list, ","), c.features); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%+v of %s with %v: %+v, want %+v", c.r.Gates, c.list, c.features, got, c.want)
		}
	}
}

// Names of controllers are kube-controller-manager's, each with a flag of its own.
func TestNamesOfControllers(t *testing.T) {
	form, seen := regexp.MustCompile(`^[a-z]([-a-z]*[a-z])?-controller$`), map[string]bool{}
	for _, r := range Registered {
		if !form.MatchString(r.Controller) || seen[r.Controller] || seen[r.SyncsFlag] || !regexp.MustCompile(`^concurrent-[a-z]+-syncs$`).MatchString(r.SyncsFlag) {
			t.Errorf("%s: controller %q, flag %q", r.Loop.Name, r.Controller, r.SyncsFlag)
		}
		seen[r.Controller], seen[r.SyncsFlag] = true, true
		if want := strings.ToLower(cmp.Or(r.Kind, r.Loop.Kind)) + "s"; r.Resource.Resource != want || r.Resource.Version == "" {
			t.Errorf("%s: resource %v, want %s", r.Loop.Name, r.Resource, want)
		}
	}
}
