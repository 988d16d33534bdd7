package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	_ "k8s.io/client-go/plugin/pkg/client/auth" // exec and other credential plugins of kubeconfigs
	"k8s.io/client-go/rest"
	cliflag "k8s.io/component-base/cli/flag"
	"k8s.io/component-base/term"
	"k8s.io/klog/v2"

	"github.com/loopscope/loopscope/telemetry/prose"
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
unblock it.

A command ends with exit code 0, with 1 after an error, and with 2 if something
needs you: its own help says when. top and explain do so with --exit-code alone.`,
		Example: `  # Why is this rollout stuck?
  loopscope explain deployment/web -n shop

  # What needs me, anywhere?
  loopscope top -A

  # Run the loops and the console against the cluster of the current context
  loopscope manager`,
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          noArguments,
		// Two letters that changed places are still the command that was meant.
		SuggestionsMinimumDistance: 2,
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			klog.SetSlogLogger(newLogger(s.err)) // What client-go logs by itself goes where all else goes.
			return checkContext(cmd)
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetGlobalNormalizationFunc(cliflag.WordSepNormalizeFunc) // as Kubernetes' own programs: concurrent_rc_syncs is known, too
	root.Version = stamped()
	root.SetVersionTemplate(versionLine())
	root.SetOut(s.out)
	root.SetErr(s.err)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return fmt.Errorf("%w\nSee '%s --help' for the available flags", err, cmd.CommandPath())
	})
	root.SetUsageTemplate(strings.ReplaceAll(root.UsageTemplate(), ".FlagUsages", ".FlagUsagesWrapped "+strconv.Itoa(width(raw.out))))
	root.AddCommand(newManager(s, width(raw.out)), newExplain(s, width(raw.out)), newCreate(raw), newApply(raw), newRollingUpdate(s, width(raw.out)), newMigrate(s, width(raw.out)), newStory(s), newTop(raw), newExport(streams{out: raw.out, err: s.err}), newReplay(s), newView(s), newDecisions(s), newOpen(s, width(raw.out)), newVersion(s))
	for _, cmd := range root.Commands() {
		completeKubeconfig(cmd)
	}
	refuseUnknown(root)
	return root
}

// refuseUnknown has cobra's own commands take a name that is none for an error, as the root does.
func refuseUnknown(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	for _, cmd := range root.Commands() {
		switch cmd.Name() {
		case "help":
			cmd.Example = "  # The same as 'loopscope explain --help'\n  loopscope help explain"
			cmd.Args = func(_ *cobra.Command, args []string) error {
				about, rest, err := root.Find(args)
				if err != nil {
					return err
				}
				return noArguments(about, rest)
			}
		case "completion":
			cmd.Example = "  # In this shell, if it is bash\n  source <(loopscope completion bash)"
			cmd.Args, cmd.RunE = noArguments, func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
		}
	}
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
	meant := ""
	if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
		meant = "; did you mean " + prose.Or(near) + "?"
	}
	return fmt.Errorf("%q is not a command of %s%s\nSee '%s --help' for those there are", args[0], cmd.CommandPath(), meant, cmd.CommandPath())
}

// flagsAlone refuses arguments of a command that has flags alone.
func flagsAlone(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return fmt.Errorf("%s takes flags and no arguments: omit %q\nSee '%s --help' for the flags", cmd.CommandPath(), args[0], cmd.CommandPath())
}

// rulesOf is whose rules the loops follow.
const rulesOf = "Kubernetes v1.36.3"

func newVersion(s streams) *cobra.Command {
	var output outputFlag
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version, and the Kubernetes release whose rules it follows",
		Example: `  # For people
  loopscope version

  # For a script
  loopscope version -o json | jq -r .version`,
		Args:              flagsAlone,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(*cobra.Command, []string) error {
			if err := output.check(); err != nil {
				return err
			}
			if output.forPrograms() {
				return output.print(s.out, map[string]string{"version": stamped(), "goVersion": runtime.Version(), "platform": runtime.GOOS + "/" + runtime.GOARCH, "rules": rulesOf})
			}
			_, err := io.WriteString(s.out, versionLine())
			return err
		},
	}
	output.addFlag(cmd, "the version")
	return cmd
}

func versionLine() string {
	return fmt.Sprintf("loopscope %s (%s %s/%s), rules of %s\n", stamped(), runtime.Version(), runtime.GOOS, runtime.GOARCH, rulesOf)
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
	if text := flags.Timeout; text != nil && !isTimeout(*text) {
		return nil, fmt.Errorf("--request-timeout=%s is not a time: give one such as 30s, or 0 for no limit", *text)
	}
	config, err := flags.ToRESTConfig()
	if err == nil && unconfigured(flags) {
		err = errors.New("no cluster is configured")
	}
	if err != nil {
		return nil, fmt.Errorf("%w\nGive a kubeconfig with --kubeconfig, set KUBECONFIG, or start a cluster to try with `make sandbox`", err)
	}
	return config, nil
}

// isTimeout reports whether a text is a time as kubeconfigs have them: a number is of seconds.
func isTimeout(text string) bool {
	_, noNumber := strconv.Atoi(text)
	_, noTime := time.ParseDuration(text)
	return text == "" || noNumber == nil || noTime == nil
}

// checkContext refuses a context that the kubeconfig does not have, and says which it has.
func checkContext(cmd *cobra.Command) error {
	flag := cmd.Flag("context")
	if flag == nil || flag.Value.String() == "" {
		return nil
	}
	names, err := namesIn(cmd, flag.Name)
	switch {
	case err != nil || slices.Contains(names, flag.Value.String()):
		return nil // What is wrong with the file is said by whoever needs it.
	case len(names) == 0:
		return fmt.Errorf("there is no context %q: no kubeconfig has any\nGive a kubeconfig with --kubeconfig, or set KUBECONFIG", flag.Value)
	default:
		return fmt.Errorf("there is no context %q in the kubeconfig; those there are: %s", flag.Value, prose.Some(names, 10))
	}
}

// unconfigured reports whether nothing names a cluster, where the library would
// go on and try a port of this machine.
func unconfigured(flags *genericclioptions.ConfigFlags) bool {
	raw, err := flags.ToRawKubeConfigLoader().RawConfig()
	return err == nil && len(raw.Clusters) == 0 && *flags.APIServer == "" && os.Getenv("KUBERNETES_SERVICE_HOST") == ""
}
