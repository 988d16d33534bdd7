package main

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/loopscope/loopscope/controllers"
	"github.com/loopscope/loopscope/controllers/engine"
)

// The help names what it takes to run a controller, and its feature is one that can be switched ([M-1]).
func TestGatesOfTheManager(t *testing.T) {
	if out, err := runManager("--feature-gates=Claims=true", "--write-config-to=-"); err == nil || !strings.Contains(err.Error(), "unrecognized feature gate: Claims") {
		t.Errorf("without such a controller: %v\n%s", err, out)
	}
	before := controllers.Registered
	t.Cleanup(func() { controllers.Registered = before })
	more := before[0]
	more.Controller, more.SyncsFlag, more.OffByDefault = "claim-controller", "concurrent-claim-syncs", true
	more.Gates = []engine.Gate{{Name: "Claims"}, {Name: "Volumes", On: true}}
	controllers.Registered = append(slices.Clone(before), more)
	help, err := runManager("--help")
	for _, want := range []string{"claim-controller (off by default, needs the feature Claims, needs the feature Volumes)", "there are AllAlpha, AllBeta, Claims (alpha, off by default), Volumes (beta, on by default), DeploymentReplicaSetTerminatingReplicas (beta, on by default from v1.35 of the API server on), PodDeletionCost (beta, on by default)"} {
		if text := strings.Join(strings.Fields(help), " "); err != nil || !strings.Contains(text, want) {
			t.Errorf("%v: no %q in\n%s", err, want, help)
		}
	}
	for flags, want := range map[string][2]bool{"": {false, true}, "Claims=true,Volumes=false": {true, false}, "AllAlpha=true": {true, true}, "AllBeta=false": {false, false}} {
		o := newManagerOptions()
		_ = o.sections()
		if err := o.features.Set(flags); err != nil {
			t.Fatal(err)
		}
		if on := o.switched(); on["Claims"] != want[0] || on["Volumes"] != want[1] || len(on) != 2 && flags != "AllBeta=false" {
			t.Errorf("%q: %v, want %v", flags, on, want)
		}
	}
	for flags, want := range map[string]map[string]bool{
		"PodDeletionCost=true,DeploymentReplicaSetTerminatingReplicas=false": {engine.FeatureDeletionCost: true, engine.FeatureTerminating: false},
		"AllBeta=false": {engine.FeatureDeletionCost: false, engine.FeatureTerminating: false},
		"AllBeta=true":  {},
	} {
		o := newManagerOptions()
		_ = o.sections()
		if err := o.features.Set(flags); err != nil {
			t.Fatal(err)
		}
		on := o.switched()
		delete(on, "Claims")
		delete(on, "Volumes")
		if !maps.Equal(on, want) {
			t.Errorf("%q: %v, want %v", flags, on, want)
		}
	}
	if _, err := runManager("--controllers=*,claim-controller", "--feature-gates=Claims=true", "--write-config-to=-"); err != nil {
		t.Error(err)
	}
	if _, err := runManager("--feature-gates=Clams=true", "--write-config-to=-"); err == nil || !strings.Contains(err.Error(), "unrecognized feature gate: Clams") {
		t.Errorf("a feature that is none: %v", err)
	}
}
