package controllers

import (
	"cmp"
	"regexp"
	"strings"
	"testing"
)

// [M-1]
func TestEnabled(t *testing.T) {
	for list, want := range map[string]string{
		"*": "a b", "": "", "a": "a", "-a": "", "*,-a": "b", "-a,*": "b", "a,-a": "a", "-a,a": "", "b,a": "a b", "*,a,-b": "a", "A": "", "- a,*": "a b",
	} {
		var got []string
		for _, name := range []string{"a", "b"} {
			if Enabled(name, strings.Split(list, ",")) {
				got = append(got, name)
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%q runs %q, want %q", list, got, want)
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
