package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	cliflag "k8s.io/component-base/cli/flag"

	"github.com/loopscope/loopscope/cmd/internal/app"
	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/decision"
	"github.com/loopscope/loopscope/telemetry/prose"
)

type explainOptions struct {
	output     outputFlag
	at, sync   string
	history    string
	exitCode   bool
	kubeconfig *genericclioptions.ConfigFlags
}

func newExplain(s streams, width int) *cobra.Command {
	o := explainOptions{kubeconfig: genericclioptions.NewConfigFlags(true)}
	cmd := &cobra.Command{
		Use:     "explain deployment/NAME",
		Aliases: []string{"why"},
		Short:   "Say why a Deployment is as it is, and what its loop would do next",
		Long: `Reads one Deployment with its ReplicaSets and pods, decides once, and prints the
sentence, the decision path, what would be written and what is held back.
It writes nothing, and needs no running loopscope.

With --at or --sync it explains a past state: a sync is read from the history that
the manager of the current context's cluster keeps on this machine, or has kept,
or from the file of --history. That needs no cluster. A rolling update is
rollingupdate/NAME, with the name of the old ReplicationController; of the past any
other loop's objects are explained as well, such as replicaset/NAME.

It is also called 'why'.

The exit code is 0, 1 after an error, and with --exit-code 2 if it is waiting or
failed.`,
		Example: `  # Why is this rollout stuck?
  loopscope explain deployment/web -n shop

  # Is it all right? Then the exit code is 0, and 2 if it is waiting or failed
  loopscope explain deployment/web -n shop --exit-code

  # The same for a script
  loopscope explain deployment/web -n shop -o json | jq -r .text

  # Why was it stuck last night?
  loopscope explain deployment/web -n shop --at 2026-11-21T03:02:24Z

  # What did this one sync do?
  loopscope explain --sync 7c41d2aa/311 --history history.db`,
		Args: o.arguments,
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), s, args) },
	}
	flags := cmd.Flags()
	flags.StringVar(&o.at, "at", "", "explain a past state, at a time (2026-11-21T03:02:24Z, 03:02) or how long ago (90m)")
	flags.StringVar(&o.sync, "sync", "", "explain one past sync, by EPOCH/NUMBER")
	flags.StringVar(&o.history, "history", "", "history file to read for --at and --sync (default that of the cluster's manager on this machine)")
	flags.BoolVar(&o.exitCode, "exit-code", false, "end with exit code 2 if it is waiting or failed")
	o.output.addFlag(cmd, "the whole trace")
	addClusterFlags(cmd, s.out, o.kubeconfig, width)
	cmd.Flag("namespace").Usage = "namespace of the Deployment (default that of the current context)"
	completeNamespace(cmd, o.kubeconfig)
	cmd.ValidArgsFunction = completeObjects(o.kubeconfig, o.loops)
	return cmd
}

// addClusterFlags adds the flags that say which cluster is meant, which the help of the command
// has apart from its own.
func addClusterFlags(cmd *cobra.Command, out io.Writer, kubeconfig *genericclioptions.ConfigFlags, width int) {
	var sections cliflag.NamedFlagSets
	own := sections.FlagSet(cmd.Name())
	cmd.Flags().BoolP("help", "h", false, "print this help")
	cmd.Flags().VisitAll(own.AddFlag)
	kubeconfig.AddFlags(cmd.Flags())
	own.AddFlag(cmd.Flag("namespace"))
	cmd.Flags().VisitAll(func(flag *pflag.Flag) {
		if own.Lookup(flag.Name) == nil {
			sections.FlagSet("cluster").AddFlag(flag)
		}
	})
	helpInSections(cmd, out, sections, width)
}

// helpInSections prints the help of a command with its flags by what they are about.
func helpInSections(cmd *cobra.Command, out io.Writer, sections cliflag.NamedFlagSets, width int) {
	cmd.SetHelpFunc(func(cmd *cobra.Command, _ []string) {
		fmt.Fprintf(out, "%s\n\nUsage:\n  %s\n\nExamples:\n%s\n", cmd.Long, cmd.UseLine(), cmd.Example)
		cliflag.PrintSections(out, sections, width)
	})
}

// loops are those of which something can be explained: of the past, all of them.
func (o *explainOptions) loops() []string {
	if o.at != "" {
		return loopNames()
	}
	return app.Explained
}

// arguments are the object's name, but for --sync, which names one itself.
func (o *explainOptions) arguments(cmd *cobra.Command, args []string) error {
	if o.sync == "" {
		return oneObject(cmd, args)
	}
	if len(args) > 0 {
		return errors.New("--sync names a sync and with it its object: omit the object")
	}
	return nil
}

func (o *explainOptions) run(ctx context.Context, s streams, args []string) error {
	if err := o.output.check(); err != nil {
		return err
	}
	if o.at != "" || o.sync != "" {
		return o.past(ctx, s, args)
	}
	loop, name, err := objectArg(args)
	if err != nil {
		return err
	}
	if !slices.Contains(app.Explained, loop) {
		return fmt.Errorf("explain reads objects of %s from a cluster, not %q; with --at or --sync it explains those of the history: %s", prose.Or(app.Explained), strings.Join(args, "/"), prose.Or(loopNames()))
	}
	config, err := restConfig(o.kubeconfig)
	if err != nil {
		return err
	}
	namespace, _, err := o.kubeconfig.ToRawKubeConfigLoader().Namespace()
	if err != nil {
		return fmt.Errorf("namespace: %w", err)
	}
	t, err := app.Explain(ctx, config, loop, namespace, name, stamped())
	if err != nil {
		return err
	}
	now := time.Now()
	warnings, failure := app.Warnings(ctx, config, t, stamped()) // Evidence only: without it the rest still stands.
	return o.print(s, explained{Text: t.Sentence.At(now), Warnings: warnings, Trace: t}, func() error { return explainText(s.out, t, evidence{warnings, failure}, now) })
}

// past tells of a sync of the history.
func (o *explainOptions) past(ctx context.Context, s streams, args []string) error {
	if o.at != "" && o.sync != "" {
		return errors.New("--at and --sync cannot be used together: give one of them")
	}
	x, err := o.recall(ctx, args, time.Now())
	if err != nil {
		return err
	}
	out := explained{Text: inThePast(x.trace.Sentence).At(x.at), UnknownSince: x.unknownSince(), Trace: x.trace}
	return o.print(s, out, func() error { return recordedText(s.out, x) })
}

// oneObject takes the name of an object, in one word or two.
func oneObject(cmd *cobra.Command, args []string) error {
	switch {
	case len(args) == 0:
		return fmt.Errorf("which object? Write KIND/NAME, such as %s %s/web\nSee '%s --help' for examples", cmd.CommandPath(), app.Loops()[0].Name, cmd.CommandPath())
	case len(args) > 2 || len(args) == 2 && strings.Contains(args[1], "/"):
		return fmt.Errorf("one object at a time: omit %q", args[len(args)-1])
	}
	return nil
}

// objectArg takes KIND/NAME with a kind as kubectl has it, or the two as two words. A
// kind that is not known here may be that of a loop of the program that is asked.
func objectArg(args []string) (loop, name string, err error) {
	kind, name, found := strings.Cut(strings.Join(args, "/"), "/")
	if loop = app.Loops().Named(kind); loop == "" {
		loop = strings.TrimSuffix(strings.ToLower(kind), "s")
	}
	switch {
	case !found && app.Loops().Has(loop):
		return "", "", fmt.Errorf("which %s? Write KIND/NAME, such as %s/web", app.Loops().Kind(loop), loop)
	case !found && decision.IsLoopName(kind):
		return "", "", fmt.Errorf("%q is half of an object's name: write KIND/NAME, such as %s/%s", kind, app.Loops()[0].Name, kind)
	case !found || !decision.IsLoopName(loop) || name == "" || strings.Contains(name, "/"):
		return "", "", fmt.Errorf("%q does not name an object; write KIND/NAME, such as %s/web", strings.Join(args, " "), app.Loops()[0].Name)
	}
	return loop, name, nil
}

// explained is the trace with its sentence as plain text beside it.
type explained struct {
	Text string `json:"text"`
	// Warnings are events of the pods that keep it, read beside the sync.
	Warnings []telemetry.Warning `json:"warnings,omitempty"`
	// UnknownSince is the moment that the text is of, where nobody knows what happened from then to the one
	// that was asked for.
	UnknownSince time.Time `json:"unknownSince,omitzero"`
	*telemetry.Trace
}

// evidence is what was read beside the sync, or why it could not be.
type evidence struct {
	warnings []telemetry.Warning
	failure  error
}

func (o *explainOptions) print(s streams, out explained, text func() error) error {
	if err := o.write(s, out, text); err != nil {
		return err
	}
	if tone := out.Sentence.Tone; o.exitCode && (tone == decision.ToneFailed || tone == decision.ToneWaiting) {
		return needsYou{}
	}
	return nil
}

func (o *explainOptions) write(s streams, out explained, text func() error) error {
	if o.output.forPrograms() {
		return o.output.print(s.out, out)
	}
	return text()
}
