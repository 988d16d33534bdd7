package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	_ "k8s.io/client-go/plugin/pkg/client/auth" // exec and other credential plugins of kubeconfigs
	"k8s.io/client-go/rest"
	cliflag "k8s.io/component-base/cli/flag"
	"k8s.io/component-base/term"
	"k8s.io/klog/v2"
)

// version is stamped by the linker: -X main.version=v1.2.3.
var version string

// streams is where commands print.
type streams struct{ out, err io.Writer }

// newRoot prints everything that is for reading through a safeWriter: what is told
// was written by others, who may aim at a terminal. A recording goes to raw.out as it is.
func newRoot(raw streams) *cobra.Command {
	s := streams{out: newSafeWriter(raw.out), err: newSafeWriter(raw.err)}
	root := &cobra.Command{
		Use:   "loopscope",
		Short: "An oscilloscope for Kubernetes control loops",
		Long: `Loopscope shows why a Deployment does what it does: the questions its control loop
asked, the values it compared, what it wrote, what it held back and what would
unblock it.`,
		Example: `  # Why is this rollout stuck?
  loopscope explain deployment/web -n shop

  # Run the loops and the console against the cluster of the current context
  loopscope manager`,
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          noArguments,
		// What client-go logs by itself goes where all else goes.
		PersistentPreRun: func(*cobra.Command, []string) { klog.SetSlogLogger(newLogger(s.err)) },
		RunE:             func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetGlobalNormalizationFunc(cliflag.WordSepNormalizeFunc) // as Kubernetes' own programs: concurrent_rc_syncs is known, too
	root.Version = stamped()
	root.SetVersionTemplate(versionLine())
	root.SetOut(s.out)
	root.SetErr(s.err)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return fmt.Errorf("%w\nSee '%s --help' for the available flags", err, cmd.CommandPath())
	})
	root.AddCommand(newManager(s, width(raw.out)), newExplain(s), newCreate(raw), newApply(raw), newStory(s), newTop(raw), newExport(streams{out: raw.out, err: s.err}), newReplay(s), newView(s), newDecisions(s), newVersion(s))
	return root
}

// width is that of the terminal, 0 where it is none.
func width(out io.Writer) int {
	cols, _, err := term.TerminalSize(out)
	if err != nil {
		return 0
	}
	return cols
}

func noArguments(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return fmt.Errorf("%q is not a command of %s\nSee '%s --help' for those there are", args[0], cmd.CommandPath(), cmd.CommandPath())
}

func newVersion(s streams) *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print the version, and the Kubernetes release whose rules it follows",
		Example: "  loopscope version",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := io.WriteString(s.out, versionLine())
			return err
		},
	}
}

func versionLine() string {
	return fmt.Sprintf("loopscope %s (%s %s/%s), rules of Kubernetes v1.36.3\n", stamped(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

// stamped is the linker's version, or the module's for `go install …@version`.
func stamped() string {
	if version != "" {
		return version
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return "dev"
}

// restConfig finds the cluster by the usual rules: --kubeconfig, then
// $KUBECONFIG, then ~/.kube/config, then the pod's own service account.
func restConfig(flags *genericclioptions.ConfigFlags) (*rest.Config, error) {
	config, err := flags.ToRESTConfig()
	if err == nil && unconfigured(flags) {
		err = errors.New("no cluster is configured")
	}
	if err != nil {
		return nil, fmt.Errorf("%w\nGive a kubeconfig with --kubeconfig, set KUBECONFIG, or start a cluster to try with `make sandbox`", err)
	}
	return config, nil
}

// unconfigured reports whether nothing names a cluster, where the library would
// go on and try a port of this machine.
func unconfigured(flags *genericclioptions.ConfigFlags) bool {
	raw, err := flags.ToRawKubeConfigLoader().RawConfig()
	return err == nil && len(raw.Clusters) == 0 && *flags.APIServer == "" && os.Getenv("KUBERNETES_SERVICE_HOST") == ""
}
