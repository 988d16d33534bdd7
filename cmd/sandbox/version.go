package main

import (
	"runtime/debug"
	_ "unsafe" // for go:linkname

	clientversion "k8s.io/client-go/pkg/version"
	componentversion "k8s.io/component-base/version"
)

// kubernetesVersion is the release the control plane is built from. It must
// equal the version of k8s.io/kubernetes in go.mod; a test compares the two.
const kubernetesVersion = "v1.36.3"

// Kubernetes' own build stamps these variables with linker flags. Reaching
// them by name keeps a plain "go build" right: unstamped, every component
// would call itself v0.0.0 and kubectl would refuse to talk to the server.
var (
	//go:linkname componentGitVersion k8s.io/component-base/version.gitVersion
	componentGitVersion string
	//go:linkname componentGitMajor k8s.io/component-base/version.gitMajor
	componentGitMajor string
	//go:linkname componentGitMinor k8s.io/component-base/version.gitMinor
	componentGitMinor string
	//go:linkname clientGitVersion k8s.io/client-go/pkg/version.gitVersion
	clientGitVersion string
)

// stampKubernetesVersion makes every component of this process report
// kubernetesVersion. It must run before any of them is built.
func stampKubernetesVersion() error {
	componentGitVersion, clientGitVersion = kubernetesVersion, kubernetesVersion
	componentGitMajor, componentGitMinor = "1", "36"
	_ = clientversion.Get() // keeps the package, and with it the variable above, linked
	return componentversion.SetDynamicVersion(kubernetesVersion)
}

// version is the sandbox's own version: what the build recorded, or "dev".
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" || info.Main.Version == "(devel)" {
		return "dev"
	}
	return info.Main.Version
}
