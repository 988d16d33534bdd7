package rollingupdate

import (
	"slices"
	"strings"
)

// deployers are how the keys of labels and annotations begin by which deployers know what they have
// deployed.
var deployers = []string{
	"argocd.argoproj.io/", "kustomize.toolkit.fluxcd.io/", "helm.toolkit.fluxcd.io/",
	"meta.helm.sh/", "helm.sh/", "config.k8s.io/", "config.kubernetes.io/", "configsync.gke.io/",
}

// OfDeployer reports whether a label or an annotation is a deployer's mark. A deployer deletes what
// carries its mark and is not in its sources.
func OfDeployer(key string) bool {
	return slices.ContainsFunc(deployers, func(prefix string) bool { return strings.HasPrefix(key, prefix) })
}

// OfOne reports whether a label or an annotation belongs to one object alone: by an update, kubectl
// or a deployer.
func OfOne(key string) bool {
	return strings.HasPrefix(key, "rollingupdate.loopscope.dev/") || strings.HasPrefix(key, "kubectl.kubernetes.io/") || OfDeployer(key)
}
