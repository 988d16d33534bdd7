package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/loopscope/loopscope/cmd/sandbox/internal/supervise"
)

const rootLong = `Starts a real Kubernetes control plane on this machine: etcd, kube-apiserver,
kube-scheduler, kube-controller-manager without the Deployment, ReplicaSet and
ReplicationController loops, and kwok, which plays the nodes. Loopscope runs in
the loops' place and shows what they do. Ctrl-C stops everything.

Pods are simulated: they become Ready after about a second, and are gone a second
after their deletion. A pod's image, or an annotation of its template, can make
it do something else:

  image tag 404 or bad...                       ErrImagePull, then ImagePullBackOff
  sandbox.loopscope.dev/ready-after: 5s         Ready after that time
  sandbox.loopscope.dev/never-ready: "true"     Running, but never Ready
  sandbox.loopscope.dev/crash-loop: "true"      CrashLoopBackOff, with ever more restarts
  sandbox.loopscope.dev/gone-after: 10s         is gone that long after its deletion

More (exit codes, probes, init containers, evictions) is in cmd/sandbox/README.md.`

const rootExample = `  # A control plane with a few Deployments that tell a story
  sandbox

  # Keep the cluster between starts, and record what is written to it
  sandbox --state-dir ./cluster --demo=false --audit

  # The same with upstream's own loops, to compare
  sandbox --loops=upstream

  # The control plane of another release, with its own kube-apiserver and so on
  sandbox --components-dir ./v1.30.14

  # In another terminal: look, and break something
  sandbox kubectl get deployments -A
  sandbox kill kube-apiserver --for 10s`

func newRootCommand() *cobra.Command {
	// The linked components register flags of their own in this global set,
	// which cobra would mix into ours. Only component processes want them.
	pflag.CommandLine = pflag.NewFlagSet("sandbox", pflag.ContinueOnError)
	var o options
	cmd := &cobra.Command{
		Use: "sandbox", Short: "A real Kubernetes control plane with Loopscope as its loops",
		Long: rootLong, Example: rootExample, Version: version() + " (Kubernetes " + kubernetesVersion + ")",
		Args: cobra.NoArgs, SilenceErrors: true, SilenceUsage: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o.ListenExplicit = cmd.Flags().Changed("listen")
			if err := o.validate(); err != nil {
				return err
			}
			return runSandbox(o, cmd.OutOrStdout())
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&o.Listen, "listen", defaultListen, "dashboard's address, on loopback; if omitted, a busy port gives way to a free one")
	flags.StringVar(&o.StateDir, "state-dir", "", "keep data, credentials and logs here and use them again (default: a temporary directory, removed at the end)")
	flags.StringVar(&o.ComponentsDir, "components-dir", "", "run kube-apiserver, kube-controller-manager and kube-scheduler of another release, from this directory (default: those of "+kubernetesVersion+", built in)")
	flags.IntVar(&o.Nodes, "nodes", 3, fmt.Sprintf("simulated nodes, 1 to %d", mostNodes))
	flags.BoolVar(&o.Demo, "demo", true, "create Deployments that tell a story in namespaces demo and demo-quota")
	flags.StringVar(&o.Loops, "loops", loopsOwn, "who runs the loops: own (Loopscope), upstream (kube-controller-manager) or none; the last two start no dashboard")
	flags.IntVar(&o.LoopsQPS, "loops-qps", 0, "maximum number of requests per second of each loop; 0 for upstream's default, which is also Loopscope's")
	flags.IntVar(&o.Processors, "component-processors", 0, "processors that each component may use; 0 for all. With 1 a sandbox uses about an eighth less CPU, which helps on a shared machine")
	flags.BoolVar(&o.Audit, "audit", false, "record requests for Deployments, ReplicaSets, ReplicationControllers and Pods in STATE-DIR/audit.log")
	flags.BoolVarP(&o.Verbose, "verbose", "v", false, "print the components' logs, too (they are in STATE-DIR/logs)")
	flags.BoolVar(&o.UntilStdinCloses, "until-stdin-closes", false, "stop when standard input ends, as it does when the program that started this one dies")
	cmd.AddCommand(newKubectlCommand(), newKillCommand(), newStatusCommand())
	return cmd
}

func newKillCommand() *cobra.Command {
	var stateDir string
	var pause time.Duration
	cmd := &cobra.Command{
		Use: "kill NAME", Short: "Kill a component of the running sandbox (SIGKILL) and delay its restart",
		Example: "  sandbox kill kube-apiserver --for 10s\n  sandbox kill etcd",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return fmt.Errorf("kill takes the name of one component; sandbox status lists them")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if pause < 0 || pause > time.Hour {
				return fmt.Errorf("--for=%s: want 0s to 1h", pause)
			}
			running, err := findRunning(stateDir)
			if err != nil {
				return err
			}
			reply, err := askSandbox(running.Socket, controlRequest{Operation: operationKill, Name: args[0], For: pause})
			if err != nil {
				return err
			}
			said := fmt.Sprintf("killed %s (process %d)", args[0], reply.PID)
			if reply.PID == 0 {
				said = args[0] + " was not running"
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s; it is started again in %s\n", said, pause)
			return err
		},
	}
	cmd.Flags().DurationVar(&pause, "for", 0, "how long it stays dead")
	stateDirFlag(cmd, &stateDir)
	return cmd
}

func newStatusCommand() *cobra.Command {
	var stateDir, format string
	cmd := &cobra.Command{
		Use: "status", Short: "Show the running sandbox and its components", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if format != "text" && format != "json" {
				return fmt.Errorf("--output=%s: want text or json", format)
			}
			running, err := findRunning(stateDir)
			if err != nil {
				return err
			}
			reply, err := askSandbox(running.Socket, controlRequest{Operation: operationStatus})
			if err != nil {
				return err
			}
			if format == "json" {
				return json.NewEncoder(cmd.OutOrStdout()).Encode(struct {
					record
					Children []supervise.Status `json:"children"`
				}{running, reply.Children})
			}
			return printStatus(cmd.OutOrStdout(), running, reply.Children, time.Now())
		},
	}
	cmd.Flags().StringVarP(&format, "output", "o", "text", "text or json")
	stateDirFlag(cmd, &stateDir)
	return cmd
}

func stateDirFlag(cmd *cobra.Command, dir *string) {
	cmd.Flags().StringVar(dir, "state-dir", "", "which sandbox, when several run (default: the one started last)")
}

// printStatus prints a sandbox and its children as they are at now.
func printStatus(out io.Writer, r record, children []supervise.Status, now time.Time) error {
	lines := []string{
		fmt.Sprintf("process:    %d, up %s", r.PID, now.Sub(r.Started).Round(time.Second)),
		"state:      " + r.StateDir,
		"kubeconfig: " + r.Kubeconfig,
		"release:    " + r.Kubernetes,
	}
	if r.Dashboard != "" {
		lines = append(lines, "dashboard:  "+r.Dashboard)
	}
	if !r.Ready {
		lines = append(lines, "not ready yet")
	}
	if _, err := fmt.Fprintln(out, strings.Join(lines, "\n")); err != nil {
		return err
	}
	table := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	fmt.Fprintln(table, "\nNAME\tPROCESS\tRESTARTS\tMEMORY\tSTATE")
	for _, c := range children {
		fmt.Fprintf(table, "%s\t%s\t%d\t%s\t%s\n", c.Name, number(int64(c.PID), ""), c.Restarts, number(c.Memory>>20, " MiB"), stateOf(c, now))
	}
	return table.Flush()
}

func number(n int64, unit string) string {
	if n == 0 {
		return "-"
	}
	return fmt.Sprintf("%d%s", n, unit)
}

func stateOf(c supervise.Status, now time.Time) string {
	since := now.Sub(c.Since).Round(time.Second)
	if c.PID != 0 {
		return fmt.Sprintf("running for %s", since)
	}
	return fmt.Sprintf("dead for %s, back in %s", since, c.Until.Sub(now).Round(time.Second))
}
