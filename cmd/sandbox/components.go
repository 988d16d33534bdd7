package main

import (
	"fmt"
	"os"
	_ "time/tzdata" // CronJobs name time zones

	"github.com/loopscope/loopscope/cmd/sandbox/internal/supervise"
	"github.com/spf13/cobra"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/metrics/prometheus/clientgo" // client metrics of the components
	_ "k8s.io/component-base/metrics/prometheus/version"  // version metric of the components
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
)

// childArgument as first argument makes this binary run one component. It is
// hidden: only the sandbox itself starts its children.
const childArgument = "__component"

// Names of the components, as printed and as given to "sandbox kill".
const (
	nameEtcd              = "etcd"
	nameAPIServer         = "kube-apiserver"
	nameScheduler         = "kube-scheduler"
	nameControllerManager = "kube-controller-manager"
	nameKwok              = "kwok"
	nameLoops             = "loops"
)

// entryPoints maps a component's name to the function that runs it until it is
// told to stop, and returns the exit code.
var entryPoints = map[string]func(args []string) int{
	nameEtcd:              runEtcd,
	nameAPIServer:         cobraEntry(apiserver.NewAPIServerCommand),
	nameScheduler:         cobraEntry(func() *cobra.Command { return scheduler.NewSchedulerCommand() }),
	nameControllerManager: cobraEntry(controllermanager.NewControllerManagerCommand),
	nameLoops:             cobraEntry(controllermanager.NewControllerManagerCommand),
	nameKwok:              runKwok,
}

// cobraEntry adapts a Kubernetes command to an entry point.
func cobraEntry(build func() *cobra.Command) func(args []string) int {
	return func(args []string) int {
		cmd := build()
		cmd.SetArgs(args)
		return cli.Run(cmd)
	}
}

// runComponent is the whole life of a child process.
func runComponent(args []string) int {
	if len(args) == 0 {
		fmt.Fprintln(os.Stderr, "sandbox: no component named; children are started by the sandbox itself")
		return 2
	}
	entry, known := entryPoints[args[0]]
	if !known {
		fmt.Fprintf(os.Stderr, "sandbox: unknown component %q\n", args[0])
		return 2
	}
	supervise.ExitWithParent()
	if err := stampKubernetesVersion(); err != nil {
		fmt.Fprintf(os.Stderr, "sandbox: stamp the Kubernetes version: %v\n", err)
		return 1
	}
	os.Args[0] = programOf(args[0]) // It begins the user agent, and so it is the field manager of what it writes.
	return entry(args[1:])
}

// programOf is the program that a component is a part of.
func programOf(component string) string {
	if component == nameLoops {
		return nameControllerManager
	}
	return component
}
