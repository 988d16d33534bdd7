package app

import (
	"encoding/json"

	"k8s.io/apimachinery/pkg/runtime"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// ConsoleExtension is what a kubeconfig may have of a cluster: the address of its console.
const ConsoleExtension = "loopscope.dev/console"

// ConsoleIn is the address of the console that a kubeconfig has of a cluster, as that of a sandbox
// does; "" where it has none.
func ConsoleIn(c *clientcmdapi.Cluster) (address string) {
	if c == nil {
		return ""
	}
	if x, ok := c.Extensions[ConsoleExtension].(*runtime.Unknown); ok && json.Unmarshal(x.Raw, &address) != nil {
		return ""
	}
	return address
}
