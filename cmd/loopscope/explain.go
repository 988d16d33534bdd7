package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"sigs.k8s.io/yaml"

	"github.com/loopscope/loopscope/cmd/internal/app"
	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/decision"
)

type explainOptions struct {
	output     string
	at, sync   string
	history    string
	exitCode   bool
	kubeconfig *genericclioptions.ConfigFlags
}

func newExplain(s streams) *cobra.Command {
	o := explainOptions{kubeconfig: genericclioptions.NewConfigFlags(true)}
	cmd := &cobra.Command{
		Use:   "explain deployment/NAME",
		Short: "Say why a Deployment is as it is, and what its loop would do next",
		Long: `Reads one Deployment with its ReplicaSets and pods, decides once, and prints the
sentence, the decision path, what would be written and what is held back.
It writes nothing, and needs no running loopscope.

With --at or --sync it explains a past state: a sync is read from the history file
that a loopscope has written, and needs neither a cluster nor a running one.`,
		Example: `  # Why is this rollout stuck?
  loopscope explain deployment/web -n shop

  # Is it all right? Then the exit code is 0, and 2 if it is waiting or failed
  loopscope explain deployment/web -n shop --exit-code

  # The same for a script
  loopscope explain deployment/web -n shop -o json | jq -r .text

  # Why was it stuck last night?
  loopscope explain deployment/web -n shop --at 2026-11-21T03:02:24Z --history history.db

  # What did this one sync do?
  loopscope explain --sync 7c41d2aa/311 --history history.db`,
		Args: o.arguments,
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), s, args) },
	}
	cmd.Flags().StringVarP(&o.output, "output", "o", "", "print the whole trace as json or yaml")
	cmd.Flags().StringVar(&o.at, "at", "", "explain a past state, at a time (2026-11-21T03:02:24Z, 03:02) or how long ago (90m)")
	cmd.Flags().StringVar(&o.sync, "sync", "", "explain one past sync, by EPOCH/NUMBER")
	cmd.Flags().StringVar(&o.history, "history", "", "history file to read for --at and --sync (default as for `loopscope manager` with the same cluster)")
	cmd.Flags().BoolVar(&o.exitCode, "exit-code", false, "end with exit code 2 if it is waiting or failed")
	o.kubeconfig.AddFlags(cmd.Flags())
	cmd.ValidArgsFunction = completeObjects(o.kubeconfig)
	return cmd
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
	if o.output != "" && o.output != "json" && o.output != "yaml" {
		return fmt.Errorf("output format %q is not known; choose json or yaml, or omit -o", o.output)
	}
	if o.at != "" || o.sync != "" {
		return o.past(ctx, s, args)
	}
	loop, name, err := objectArg(args)
	if err != nil {
		return err
	}
	if loop != app.Explained {
		return fmt.Errorf("explain reads only %ss from a cluster, not %q; give --at or --sync to explain a sync of the history", app.Loops().Kind(app.Explained), args[0])
	}
	config, err := restConfig(o.kubeconfig)
	if err != nil {
		return err
	}
	namespace, _, err := o.kubeconfig.ToRawKubeConfigLoader().Namespace()
	if err != nil {
		return fmt.Errorf("namespace: %w", err)
	}
	t, err := app.Explain(ctx, config, namespace, name, stamped())
	if err != nil {
		return err
	}
	now := time.Now()
	warnings, failure := app.Warnings(ctx, config, t, stamped()) // Evidence only: without it the rest still stands.
	return o.print(s, explained{t.Sentence.At(now), warnings, t}, func() error { return explainText(s.out, t, evidence{warnings, failure}, now) })
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
	out := explained{inThePast(x.trace.Sentence).At(x.at), nil, x.trace}
	return o.print(s, out, func() error { return recordedText(s.out, x.trace, x.at) })
}

// oneObject takes the name of an object, in one word or two.
func oneObject(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return fmt.Errorf("which object? Write KIND/NAME, such as %s %s/web\nSee '%s --help' for examples", cmd.CommandPath(), app.Loops()[0].Name, cmd.CommandPath())
	}
	return cobra.MaximumNArgs(2)(cmd, args)
}

// objectArg takes KIND/NAME with a kind as kubectl has it, or the two as two words. A
// kind that is not known here may be that of a loop of the program that is asked.
func objectArg(args []string) (loop, name string, err error) {
	kind, name, found := strings.Cut(strings.Join(args, "/"), "/")
	if loop = app.Loops().Named(kind); loop == "" {
		loop = strings.TrimSuffix(strings.ToLower(kind), "s")
	}
	if !found || !decision.IsLoopName(loop) || name == "" || strings.Contains(name, "/") {
		return "", "", fmt.Errorf("%q does not name an object; write KIND/NAME, such as %s/web", strings.Join(args, " "), app.Loops()[0].Name)
	}
	return loop, name, nil
}

// explained is the trace with its sentence as plain text beside it.
type explained struct {
	Text string `json:"text"`
	// Warnings are events of the pods that keep it, read beside the sync.
	Warnings []telemetry.Warning `json:"warnings,omitempty"`
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
	switch o.output {
	case "json":
		encoder := json.NewEncoder(s.out)
		encoder.SetIndent("", "  ")
		return encoder.Encode(out)
	case "yaml":
		raw, err := yaml.Marshal(out)
		if err != nil {
			return fmt.Errorf("print trace: %w", err)
		}
		_, err = s.out.Write(raw)
		return err
	default:
		return text()
	}
}
