// Command sandbox runs a real Kubernetes control plane on this machine, with
// Loopscope as its Deployment and ReplicaSet loops.
//
// It may not decide anything about Deployments, listen anywhere but on
// loopback, or leave a process, a port or a temporary file behind. It is one
// binary that starts itself once for each component: child processes keep the
// components' global state apart, and any of them can be killed alone.
package main

import (
	"fmt"
	"os"
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == childArgument {
		os.Exit(runComponent(os.Args[2:]))
	}
	if err := stampKubernetesVersion(); err != nil {
		fmt.Fprintf(os.Stderr, "sandbox: stamp the Kubernetes version: %v\n", err)
		os.Exit(1)
	}
	if err := newRootCommand().Execute(); err != nil {
		fmt.Fprintf(os.Stderr, "sandbox: %v\n", err)
		os.Exit(1)
	}
}
