package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"

	"github.com/loopscope/loopscope/cmd/internal/app"
	"github.com/loopscope/loopscope/cmd/internal/migrate"
)

type migrateOptions struct {
	s          streams
	kubeconfig *genericclioptions.ConfigFlags
	output     outputFlag
	options    migrate.Options
	write      bool
	timeout    time.Duration
}

// migrated is a plan, and what became of it.
type migrated struct {
	*migrate.Plan
	Report *migrate.Report `json:"report,omitempty"`
	Stuck  string          `json:"stuck,omitempty"`
}

func newMigrate(s streams, width int) *cobra.Command {
	o := migrateOptions{s: s, kubeconfig: writingConfig(s, "migrate")}
	cmd := &cobra.Command{
		Use:   "migrate rc/NAME...",
		Short: "Have a Deployment take over the pods of a ReplicationController, without a restart",
		Long: `Moves the pods of a ReplicationController under a Deployment: none is deleted,
restarted or created. The Deployment gets the template, the size and the selector of
the ReplicationController, and its name unless --name gives another one.

Without --write it prints the steps, what each of them writes and what the loops
answer, and all that is in the way; nothing is written. With --write it takes the
steps. Wherever that is interrupted, the same command continues, and with --undo it
goes back. The last step deletes the ReplicationController, after which there is no
way back; --keep-rc omits that step. A Deployment that you have paused stays paused.

HorizontalPodAutoscalers of the ReplicationController are named, with the command that
points them to the Deployment. With --move-autoscaler that is one of the steps, and
--undo points them back.

From the step that releases the pods to the one that unseals their ReplicaSet, a
second or so, no loop would replace a pod that ends.

The exit code is 0 if all is done or could be, 1 after an error or --timeout, and 2
if something is in the way that needs you.`,
		Example: `  # What would happen? Nothing is written
  loopscope migrate rc/web -n shop

  # Do it, and keep the ReplicationController for a way back
  loopscope migrate rc/web -n shop --write --keep-rc

  # Go back
  loopscope migrate rc/web -n shop --undo --write

  # It works: delete the ReplicationController
  loopscope migrate rc/web -n shop --write

  # Have its autoscaler scale the Deployment
  loopscope migrate rc/web -n shop --write --move-autoscaler

  # Several, one after the other
  loopscope migrate rc/web rc/api rc/worker -n shop --write

  # The steps for a script
  loopscope migrate rc/web -n shop -o json | jq -r '.items[].steps[].do'`,
		Args: o.arguments,
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), args) },
	}
	flags := cmd.Flags()
	flags.BoolVar(&o.write, "write", false, "take the steps; without it they are only printed")
	flags.BoolVar(&o.options.Undo, "undo", false, "go back: the ReplicationController takes its pods over again")
	flags.BoolVar(&o.options.Keep, "keep-rc", false, "keep the ReplicationController with a size of 0, so that --undo stays possible")
	flags.BoolVar(&o.options.MoveScalers, "move-autoscaler", false, "point the HorizontalPodAutoscalers of the ReplicationController to the Deployment")
	flags.StringVar(&o.options.Name, "name", "", "name of the Deployment (default that of the ReplicationController)")
	flags.DurationVar(&o.timeout, "timeout", 5*time.Minute, "with --write, how long each ReplicationController may take; 0 for as long as it takes")
	o.output.addFlag(cmd, "the plan")
	addClusterFlags(cmd, s.out, o.kubeconfig, width)
	completeNamespace(cmd, o.kubeconfig)
	cmd.ValidArgsFunction = completeMany(completeObjects(o.kubeconfig, func() []string { return []string{migrate.Loop} }))
	return cmd
}

// completeMany completes the next of several objects as if it were the first, after its kind if
// that stands there once.
func completeMany(one cobra.CompletionFunc) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 && !strings.Contains(args[0], "/") {
			return one(cmd, args[:1], typed)
		}
		return one(cmd, nil, typed)
	}
}

func (o *migrateOptions) arguments(cmd *cobra.Command, args []string) error {
	names, err := controllersIn(args)
	switch {
	case len(args) == 0:
		return fmt.Errorf("which ReplicationController? Write %s rc/web\nSee '%s --help' for examples", cmd.CommandPath(), cmd.CommandPath())
	case err != nil:
		return err
	case len(names) > 1 && o.options.Name != "":
		return errors.New("--name is of one Deployment: omit it, or give one ReplicationController")
	case o.options.Undo && o.options.Keep:
		return errors.New("--undo keeps the ReplicationController anyway: omit --keep-rc")
	case o.options.Undo && o.options.Name != "":
		return errors.New("--undo knows the Deployment from the ReplicationController: omit --name")
	case o.options.Undo && o.options.MoveScalers:
		return errors.New("--undo points back what --move-autoscaler has pointed to the Deployment: omit --move-autoscaler")
	case o.timeout < 0:
		return errors.New("--timeout has to be 0s or more")
	case cmd.Flags().Changed("timeout") && !o.write:
		return errors.New("--timeout is how long --write may take: give --write as well")
	}
	return o.output.check()
}

// controllersIn takes rc/NAME as often as it stands there, or the kind once and names after it.
func controllersIn(args []string) (names []string, err error) {
	if len(args) > 1 && !strings.Contains(args[0], "/") && app.Loops().Named(args[0]) == migrate.Loop {
		args = append([]string{args[0] + "/" + args[1]}, args[2:]...)
		for i := 1; i < len(args); i++ {
			args[i] = migrate.Loop + "/" + args[i]
		}
	}
	seen := map[string]bool{}
	for _, arg := range args {
		loop, name, err := objectArg([]string{arg})
		switch {
		case err != nil:
			return nil, err
		case loop != migrate.Loop:
			return nil, fmt.Errorf("migrate moves the pods of ReplicationControllers, and %q is none: write rc/NAME", arg)
		case seen[name]:
			return nil, fmt.Errorf("rc/%s stands there twice: omit it once", name)
		}
		seen[name] = true
		names = append(names, name)
	}
	return names, nil
}

func (o *migrateOptions) run(ctx context.Context, args []string) error {
	config, err := restConfig(o.kubeconfig)
	if err != nil {
		return err
	}
	namespace, _, err := o.kubeconfig.ToRawKubeConfigLoader().Namespace()
	if err != nil {
		return fmt.Errorf("namespace: %w", err)
	}
	names, err := controllersIn(args)
	if err != nil {
		return err
	}
	if err := app.Check(ctx, config, stamped()); err != nil {
		return err
	}
	list := make([]migrated, 0, len(names))
	stuck := false
	for _, name := range names {
		how := o.options
		how.Controller = name
		m, err := migrate.New(config, namespace, how, func(s migrate.Step) { o.say(name, s) })
		if err != nil {
			return err
		}
		one, err := o.one(ctx, m)
		if one.Plan != nil {
			list = append(list, one)
		}
		if err != nil {
			return errors.Join(o.printAll(list), err)
		}
		stuck = stuck || one.Stuck != "" || len(one.Problems) > 0
	}
	if err := o.printAll(list); err != nil {
		return err
	}
	if stuck {
		return needsYou{}
	}
	return nil
}

// one plans one migration and, with --write, carries it out.
func (o *migrateOptions) one(ctx context.Context, m *migrate.Migration) (done migrated, err error) {
	if done.Plan, err = m.Plan(ctx); err != nil {
		return done, err
	}
	if !o.output.forPrograms() {
		if err := o.planText(done.Plan); err != nil {
			return done, err
		}
	}
	if !o.write || len(done.Problems) > 0 {
		return done, nil
	}
	if o.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, o.timeout)
		defer cancel()
	}
	report, err := m.Run(ctx)
	if stuck := new(migrate.Stuck); errors.As(err, &stuck) {
		done.Stuck = stuck.Sentence
		fmt.Fprintf(o.s.err, "rc/%s is stuck: %s\n", done.Controller, stuck.Sentence)
		return done, nil
	}
	if err != nil {
		return done, fmt.Errorf("rc/%s: %w", done.Controller, err)
	}
	done.Report = &report
	if o.output.forPrograms() {
		return done, nil
	}
	return done, o.doneText(done.Plan, &report)
}

func (o *migrateOptions) printAll(list []migrated) error {
	if !o.output.forPrograms() {
		return nil
	}
	return o.output.print(o.s.out, map[string]any{"items": list})
}
