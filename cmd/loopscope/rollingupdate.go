package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/rest"

	"github.com/loopscope/loopscope/cmd/internal/app"
	"github.com/loopscope/loopscope/cmd/internal/rolling"
	"github.com/loopscope/loopscope/controllers/rollingupdate"
	"github.com/loopscope/loopscope/telemetry/prose"
	"github.com/loopscope/loopscope/telemetry/redact"
)

// rollingOptions are the flags of rolling-update and of the commands below it.
type rollingOptions struct {
	s          streams
	kubeconfig *genericclioptions.ConfigFlags

	image, container, pullPolicy, key string
	file, surge, unavailable, cleanup string
	period, timeout, poll             time.Duration
	rollback, detach, wait            bool
	dryRun                            string
	output                            outputFlag
	// given reports whether somebody has given a flag.
	given func(name string) bool
}

// The values of --dry-run and --cleanup.
var (
	dryRuns  = []string{"none", "client", "server"}
	cleanups = []string{string(rollingupdate.Delete), string(rollingupdate.Rename), string(rollingupdate.Preserve)}
)

// reactWithin is how long nobody may react to a request while something is due.
const reactWithin = 10 * time.Second

func newRollingUpdate(s streams, width int) *cobra.Command {
	o := &rollingOptions{s: s, kubeconfig: writingConfig(s, "rolling-update"), wait: true}
	cmd := &cobra.Command{
		Use:   "rolling-update OLD ([NEW] --image=IMAGE | -f FILE)",
		Short: "Replace a ReplicationController by another one, pod by pod",
		Long: `Replaces a ReplicationController by a new one, pod by pod, as kubectl's rolling-update
did until 1.18. A manager does the work, with its controller rollingupdate-controller:
this command asks for the update and watches it. It may be left with Ctrl-C at any
time; the update goes on, and the same command watches it again.

With --image the new one is made from the old one. Without a name for it the old
name is kept; with a name, or with the file of a new one, the old one is deleted at
the end. --cleanup chooses otherwise.

While an update is under way the same command watches it again, and --surge,
--unavailable, --update-period, --timeout and --cleanup change it; what is not given
stays as it is. An update is refused, before anything is written, where a
HorizontalPodAutoscaler scales one of the two or another object controls the old
one: they would undo its steps.

'rolling-update status OLD' says how far it is, and 'abort OLD', 'pause OLD' and
'resume OLD' steer it; 'resume' also finishes what kubectl left half-done.

The exit code is 0 if the update is complete, 2 if it cannot be carried out (with a
container that is not there, say), does not move or was taken back, and 1 after any
other error, such as a flag that cannot be read, a HorizontalPodAutoscaler in the way,
or no manager that runs. That of a --dry-run is the same, as far as it goes.`,
		Example: `  # A new image, and the same name
  loopscope rolling-update web --image=web:2

  # The new one gets a name of its own, and the old one is deleted
  loopscope rolling-update web web-v2 --image=web:2

  # The new one is in a file
  loopscope rolling-update web -f web-v2.yaml

  # Three more pods at once, and half a minute between steps
  loopscope rolling-update web --image=web:2 --surge=3 --update-period=30s

  # Faster, in the middle of it
  loopscope rolling-update web --image=web:2 --surge=5

  # What would be written? Both objects, as the API server would take them
  loopscope rolling-update web --image=web:2 --dry-run=server -o yaml

  # How far is it, and why does it not go on?
  loopscope rolling-update status web

  # Go back
  loopscope rolling-update abort web`,
		Args: o.arguments,
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), args) },
	}
	o.addFlags(cmd)
	addClusterFlags(cmd, s.out, o.kubeconfig, width)
	completeNamespace(cmd, o.kubeconfig)
	cmd.ValidArgsFunction = o.completeNames
	cmd.AddCommand(o.newStatus(s, width), o.newSteering(s, width, "abort"), o.newSteering(s, width, "pause"), o.newSteering(s, width, "resume"))
	return cmd
}

func (o *rollingOptions) addFlags(cmd *cobra.Command) {
	flags := cmd.Flags()
	o.given = flags.Changed
	flags.StringVar(&o.image, "image", "", "image of the new one")
	flags.StringVar(&o.container, "container", "", "whose image that is; needed where there are several containers")
	flags.StringVar(&o.pullPolicy, "image-pull-policy", "", "pull policy of that container; needed where the image is the same")
	flags.StringVarP(&o.file, "filename", "f", "", "file, address or - with the new one")
	flags.StringVar(&o.key, "deployment-label-key", rollingupdate.DefaultKey, "label that tells the pods of the two apart")
	flags.DurationVar(&o.period, "update-period", rollingupdate.DefaultUpdatePeriod, "how long the new pods are watched before old ones go")
	flags.DurationVar(&o.timeout, "timeout", rollingupdate.DefaultTimeout, "how long nothing may move before that is reported")
	flags.DurationVar(&o.poll, "poll-interval", 3*time.Second, "how often this command looks at the update")
	flags.StringVar(&o.surge, "surge", "1", "how many pods more there may be, as a number or a percentage")
	flags.StringVar(&o.unavailable, "unavailable", "0", "how many pods may be missing, as a number or a percentage; 1 where it and --surge come to 0")
	flags.StringVar(&o.cleanup, "cleanup", "", "what becomes of the old one: delete, rename (it keeps its name and gets the new pods) or preserve")
	flags.BoolVar(&o.rollback, "rollback", false, "take back an update that is under way, as 'rolling-update abort' does")
	flags.BoolVar(&o.detach, "detach", false, "ask for the update, and do not watch it")
	flags.StringVar(&o.dryRun, "dry-run", "none", "client or server: say what the update would do, or print both objects with -o, and write nothing")
	cmd.Flag("dry-run").NoOptDefVal = "client"
	o.output.addFlag(cmd, "both objects of a --dry-run")
	completeChoice(cmd, "dry-run", dryRuns...)
	completeChoice(cmd, "cleanup", cleanups...)
	completeChoice(cmd, "image-pull-policy", "Always", "IfNotPresent", "Never")
}

// completeNames offers the ReplicationControllers of the namespace.
func (o *rollingOptions) completeNames(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, noFiles
	}
	names, err := asked(cmd.Context(), o.kubeconfig, func(ctx context.Context, config *rest.Config) ([]string, error) {
		namespace, _, err := o.kubeconfig.ToRawKubeConfigLoader().Namespace()
		if err != nil {
			return nil, err
		}
		return app.Names(ctx, config, rollingupdate.Loop.Name, namespace, stamped())
	})
	return offer(names, err, noFiles)
}

// arguments are kubectl's: an old name, and with --image perhaps a new one.
func (o *rollingOptions) arguments(cmd *cobra.Command, args []string) error {
	switch {
	case len(args) == 0:
		return fmt.Errorf("which ReplicationController? Write %s web --image=IMAGE\nSee '%s --help' for examples", cmd.CommandPath(), cmd.CommandPath())
	case len(args) > 2:
		return fmt.Errorf("an old name and a new one are enough: omit %q", args[2])
	case strings.Contains(strings.Join(args, ""), "/"):
		return errors.New("these are names of ReplicationControllers: omit the kind and the slash")
	case o.key == "":
		return errors.New("--deployment-label-key may not be empty")
	case o.rollback && len(args) > 1:
		return fmt.Errorf("--rollback takes back what is under way: omit the new name, %q", args[1])
	case o.rollback && len(o.forward()) > 0:
		return fmt.Errorf("--rollback takes back what is under way, and changes nothing else of it: omit %s", prose.And(o.forward()))
	case !o.rollback && o.image == "" && o.file == "":
		return errors.New("what is the new one? Give --image or -f")
	case o.image != "" && o.file != "":
		return errors.New("--image makes the new one from the old one, and -f reads it from a file: give one of them")
	case o.file != "" && len(args) > 1:
		return errors.New("the file of -f has the name of the new one: omit it here")
	case o.file != "" && (o.container != "" || o.pullPolicy != ""):
		return errors.New("--container and --image-pull-policy are for --image: write them into the file")
	case len(args) > 1 && args[0] == args[1]:
		return fmt.Errorf("%s cannot be replaced by itself: give another name, or omit the second one to keep the name", args[0])
	case o.poll < 100*time.Millisecond:
		return errors.New("--poll-interval has to be 100ms or more")
	case !slices.Contains(dryRuns, o.dryRun):
		return fmt.Errorf("--dry-run %q: use none, client or server", o.dryRun)
	case o.dryRun != "none" && o.detach:
		return errors.New("--dry-run asks for nothing: omit --detach")
	case o.dryRun == "none" && o.output.value != "":
		return errors.New("-o prints what would be written: give --dry-run as well")
	}
	return o.output.check()
}

// forward are the flags that were given and say how an update goes forward.
func (o *rollingOptions) forward() (list []string) {
	for _, name := range []string{"image", "container", "image-pull-policy", "filename", "deployment-label-key", "surge", "unavailable", "update-period", "timeout", "cleanup"} {
		if o.given(name) {
			list = append(list, "--"+name)
		}
	}
	return list
}

// request is what the flags ask for. What is not given is left to the defaults of requests, or
// to the one that is under way.
func (o *rollingOptions) request(args []string) rollingupdate.Request {
	r := rollingupdate.Request{Image: o.image, Container: o.container, ImagePullPolicy: o.pullPolicy, Cleanup: rollingupdate.Cleanup(o.cleanup)}
	if len(args) > 1 {
		r.To = args[1]
	}
	if o.given("deployment-label-key") {
		r.DeploymentKey = o.key
	}
	if o.given("surge") {
		r.Surge = rollingupdate.Amount(o.surge)
	}
	if o.given("unavailable") {
		r.Unavailable = rollingupdate.Amount(o.unavailable)
	}
	if o.given("update-period") {
		r.UpdatePeriod = new(rollingupdate.Period(o.period))
	}
	if o.given("timeout") {
		r.Timeout = new(rollingupdate.Period(o.timeout))
	}
	return r
}

// client talks to the cluster and the namespace of the flags.
func (o *rollingOptions) client(ctx context.Context) (*rolling.Client, error) {
	config, err := restConfig(o.kubeconfig)
	if err != nil {
		return nil, err
	}
	namespace, _, err := o.kubeconfig.ToRawKubeConfigLoader().Namespace()
	if err != nil {
		return nil, fmt.Errorf("namespace: %w", err)
	}
	if err := app.Check(ctx, config, stamped()); err != nil {
		return nil, err
	}
	return rolling.New(config, namespace)
}

func (o *rollingOptions) run(ctx context.Context, args []string) error {
	c, err := o.client(ctx)
	if err != nil {
		return err
	}
	switch {
	case o.rollback && o.dryRun != "none":
		return o.planBack(ctx, c, args[0])
	case o.rollback:
		return o.steer(ctx, c, args[0], "abort")
	}
	ask := rolling.Ask{Old: args[0], Request: o.request(args)}
	if o.file != "" {
		if err = interruptible(ctx, func() (err error) {
			ask.New, err = rolling.Read(o.kubeconfig, o.file)
			return err
		}); err != nil {
			return err
		}
	}
	if o.dryRun != "none" {
		return o.plan(ctx, c, ask)
	}
	started, err := c.Begin(ctx, ask)
	switch {
	case err != nil && ctx.Err() != nil:
		return fmt.Errorf("interrupted: %w", err)
	case err != nil:
		return o.outcome(&started, err)
	}
	o.warn(started.Unread)
	switch keeps := started.Keeps(); {
	case started.Again:
		fmt.Fprintln(o.s.out, started.Told())
	case keeps != "":
		fmt.Fprintln(o.s.out, keeps)
	}
	if lends := started.Lends(); lends != "" {
		fmt.Fprintln(o.s.out, lends)
	}
	if o.detach {
		if !started.Again {
			fmt.Fprintf(o.s.out, "The rolling update of %s was asked for.\n", ask.Old)
		}
		fmt.Fprintf(o.s.out, "Watch it with 'loopscope rolling-update status %s -n %s --watch'.\n", ask.Old, c.Namespace)
		return nil
	}
	if started.Again {
		fmt.Fprintln(o.s.out, "This command watches it from here on; Ctrl-C leaves it alone.")
	}
	return o.follow(ctx, c, started)
}

// warn says what could not be looked at.
func (o *rollingOptions) warn(unread string) {
	if unread != "" {
		fmt.Fprintln(o.s.err, "Warning: "+unread)
	}
}

// plan says what an update would do, or prints what it would write.
func (o *rollingOptions) plan(ctx context.Context, c *rolling.Client, ask rolling.Ask) error {
	l, err := c.Foresee(ctx, ask, o.dryRun == "server")
	if err != nil {
		return err
	}
	return o.foreseen(l)
}

// planBack is plan for taking an update back.
func (o *rollingOptions) planBack(ctx context.Context, c *rolling.Client, old string) error {
	l, err := c.ForeseeSteered(ctx, old, func(r *rollingupdate.Request) error { return steerings["abort"].change(r, "") }, o.dryRun == "server")
	if err != nil {
		return fmt.Errorf("%s: %w", old, err)
	}
	return o.foreseen(l)
}

func (o *rollingOptions) foreseen(l *rolling.Foreseen) error {
	o.warn(l.Unread)
	if keeps := l.Keeps(); keeps != "" {
		fmt.Fprintln(o.s.err, keeps)
	}
	if lends := l.Lends(); lends != "" {
		fmt.Fprintln(o.s.err, lends)
	}
	invalid := l.Invalid() != ""
	switch {
	case o.output.forPrograms() && invalid:
		fmt.Fprintln(o.s.err, l.Sentence.At(l.Now))
		return needsYou{}
	case o.output.forPrograms():
		return o.output.print(o.s.out, l.Objects())
	}
	p := printer{w: tabwriter.NewWriter(o.s.out, 0, 0, 2, ' ', 0), now: l.Now}
	if !invalid {
		p.line("%s", l.Both())
	}
	p.line("%s", l.Sentence.At(l.Now))
	p.numbers(l.Loop, l.Numbers)
	if invalid {
		return errors.Join(p.end(), needsYou{})
	}
	p.foreseen(l.Rounds[len(l.Rounds)-1].Verdict.Actions)
	p.plan(&l.Plan, true)
	return p.end()
}

// follow watches an update to its end, or until somebody has enough of it.
func (o *rollingOptions) follow(ctx context.Context, c *rolling.Client, started rolling.Started) error {
	began := time.Now()
	if err := o.outcome(&started, c.Follow(ctx, started, o.watching())); err != nil {
		return err
	}
	what := "complete"
	if started.Back {
		what = "taken back"
	}
	fmt.Fprintf(o.s.out, "The rolling update of %s is %s after %s.\n", started.Old, what, span(time.Since(began)))
	return nil
}

// watching is how an update is looked at.
func (o *rollingOptions) watching() rolling.Watching {
	return rolling.Watching{Every: cmp.Or(o.poll, time.Second), Within: reactWithin, Tell: o.tell, Unread: o.unread}
}

// unread says why nothing is said for a while.
func (o *rollingOptions) unread(err error) {
	fmt.Fprintf(o.s.out, "%s  The update cannot be read, will try again: %v\n", time.Now().UTC().Format("15:04:05"), redact.Error(err))
}

// outcome is how following an update ends the command.
func (o *rollingOptions) outcome(started *rolling.Started, err error) error {
	var stuck *rolling.Stuck
	switch {
	case errors.As(err, &stuck):
		fmt.Fprintln(o.s.err, stuck.Sentence)
		return needsYou{}
	case errors.Is(err, context.Canceled):
		return fmt.Errorf("interrupted, and what was asked for stands without this command: %s, hold it with 'pause', go back with 'abort'", started.Watch())
	}
	return err
}
