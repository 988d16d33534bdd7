package main

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/component-base/cli"
	"k8s.io/component-base/logs"
	kubectl "k8s.io/kubectl/pkg/cmd"
	kubectlutil "k8s.io/kubectl/pkg/cmd/util"

	_ "github.com/loopscope/loopscope/cmd/sandbox/internal/english" // before kubectl's commands
)

// newKubectlCommand hands everything behind its name to kubectl, flags included.
func newKubectlCommand() *cobra.Command {
	return &cobra.Command{
		Use: "kubectl ARGS...", Short: "kubectl of the same version, pointed at the running sandbox",
		Long: "kubectl of the same version as the control plane. Unless KUBECONFIG or --kubeconfig\n" +
			"says otherwise, it talks to the sandbox that was started last.",
		Example:            "  sandbox kubectl get pods -A\n  sandbox kubectl -n demo rollout status deployment/rolling",
		DisableFlagParsing: true,
		RunE:               func(_ *cobra.Command, args []string) error { return runKubectl(args) },
	}
}

// runKubectl does what kubectl's own main does, after finding the cluster.
func runKubectl(args []string) error {
	if needsCluster(args, os.Getenv("KUBECONFIG")) {
		running, err := findRunning("")
		if err != nil {
			return fmt.Errorf("%w (or set KUBECONFIG to use kubectl on another cluster)", err)
		}
		if err := os.Setenv("KUBECONFIG", running.Kubeconfig); err != nil {
			return fmt.Errorf("set KUBECONFIG: %w", err)
		}
	}
	os.Args = append([]string{"kubectl"}, args...) // kubectl reads its arguments there
	_, _ = logs.GlogSetter(kubectl.GetLogVerbosity(os.Args))
	if err := cli.RunNoErrOutput(kubectl.NewDefaultKubectlCommand()); err != nil {
		kubectlutil.CheckErr(err) // prints the error and exits with kubectl's code
	}
	return nil
}

// needsCluster reports whether kubectl will look for a cluster that the user
// has not named.
func needsCluster(args []string, kubeconfig string) bool {
	if kubeconfig != "" || len(args) == 0 {
		return false
	}
	if slices.Contains([]string{"help", "completion", "options"}, args[0]) {
		return false
	}
	for _, arg := range args {
		if arg == "--" {
			break
		}
		if arg == "-h" || arg == "--help" || arg == "--client" || arg == "--kubeconfig" ||
			strings.HasPrefix(arg, "--kubeconfig=") || strings.HasPrefix(arg, "--client=") {
			return false
		}
	}
	return true
}
