package effects

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The new one carries no mark of an update, of kubectl or of a deployer ([RU-7]).
func TestUntracked(t *testing.T) {
	got := untracked(map[string]string{
		"team": "red", "app.kubernetes.io/name": "web", "example.com/helm.sh": "mine",
		"kubectl.kubernetes.io/last-applied-configuration": "{}", "rollingupdate.loopscope.dev/request": "{}",
		"argocd.argoproj.io/tracking-id": "x", "kustomize.toolkit.fluxcd.io/name": "x", "meta.helm.sh/release-name": "x", "helm.sh/chart": "x",
		"config.k8s.io/owning-inventory": "x",
	})
	if diff := cmp.Diff(map[string]string{"team": "red", "app.kubernetes.io/name": "web", "example.com/helm.sh": "mine"}, got); diff != "" {
		t.Error(diff)
	}
	before := map[string]string{"kustomize.toolkit.fluxcd.io/name": "web", "team": "blue"}
	if diff := cmp.Diff(map[string]string{"team": "red", "kustomize.toolkit.fluxcd.io/name": "web"}, tracked(map[string]string{"team": "red"}, before)); diff != "" {
		t.Error(diff)
	}
	if got := untracked(nil); got != nil {
		t.Errorf("%v of nothing", got)
	}
}
