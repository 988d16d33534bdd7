package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	componentversion "k8s.io/component-base/version"
)

// TestVersionMatchesTheModule: a version that is not that of the linked code
// would be a lie to every client.
func TestVersionMatchesTheModule(t *testing.T) {
	module := readFile(t, "go.mod")
	for _, want := range []string{"k8s.io/kubernetes " + kubernetesVersion + "\n", "k8s.io/client-go v0" + strings.TrimPrefix(kubernetesVersion, "v1") + "\n"} {
		if !strings.Contains(module, want) {
			t.Errorf("go.mod does not require %q", want)
		}
	}
	if err := stampKubernetesVersion(); err != nil {
		t.Fatal(err)
	}
	info := componentversion.Get()
	if got := info.GitVersion + " " + info.Major + "." + info.Minor; got != kubernetesVersion+" 1.36" {
		t.Errorf("the components report %s", got)
	}
}

// TestModuleHasOneReplace: a second one would not hold for those who build
// this module from elsewhere.
func TestModuleHasOneReplace(t *testing.T) {
	var replaces []string
	for line := range strings.Lines(readFile(t, "go.mod")) {
		if strings.Contains(line, "=>") {
			replaces = append(replaces, strings.TrimSpace(line))
		}
	}
	if diff := cmp.Diff([]string{"replace github.com/loopscope/loopscope => ../.."}, replaces); diff != "" {
		t.Errorf("replaces (-want +got):\n%s", diff)
	}
}
