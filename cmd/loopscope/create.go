package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/cli-runtime/pkg/resource"
	"k8s.io/client-go/rest"
	"k8s.io/kubectl/pkg/cmd/util"

	"github.com/loopscope/loopscope/cmd/internal/create"
)

// createOptions are those of create and apply.
type createOptions struct {
	s          streams // for reading
	kubeconfig *genericclioptions.ConfigFlags
	request    *create.Request
	explain    bool
	watch      bool
	timeout    time.Duration
}

func newCreate(raw streams) *cobra.Command {
	o := newCreateOptions(raw, "create")
	o.request = create.New(util.NewFactory(o.kubeconfig), objectStreams(raw))
	o.request.Progress = progressTo(raw)
	cmd := &cobra.Command{
		Use:   "create -f FILE",
		Short: "Create the objects of files, and say what the loops will do with them",
		Long: `Creates the objects of files, directories, addresses or standard input, in YAML
or JSON and of every kind, with the flags and the messages of 'kubectl create'.

With --explain it first says, for each Deployment, ReplicaSet and
ReplicationController, what its loop will do: the first verdict, the whole planned
sequence, and what would be in the way: quotas and LimitRanges too, those of the same
input included. What else refuses pods (Pod Security, a PriorityClass that is missing,
webhooks, policies) it asks the API server by a dry run of one pod, if you may create
pods and the namespace is there. What nodes have room for is not looked at.

With --watch it follows them to their end, also where some of the objects were refused;
the exit code is then 1, or 2 if one of them needs you.

It makes objects from files only. What 'kubectl create deployment' and its like
make from flags, kubectl prints with --dry-run=client -o yaml.`,
		Example: `  # What will happen if I create this? Nothing is written
  loopscope create -f web.yaml --explain --dry-run=server

  # Create it, and wait until every rollout is complete or one needs you
  loopscope create -f web.yaml --explain --watch --timeout 5m

  # A directory with all that is below it, an address, standard input
  loopscope create -R -f manifests/
  loopscope create -f https://example.com/web.yaml
  kubectl create deployment web --image=nginx --dry-run=client -o yaml | loopscope create -f -`,
		Args: filesOnly,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd) },
	}
	o.addFlags(cmd, width(raw.out))
	return cmd
}

func newApply(raw streams) *cobra.Command {
	o := newCreateOptions(raw, "apply")
	o.request = create.NewApply(util.NewFactory(o.kubeconfig), objectStreams(raw))
	o.request.Progress = progressTo(raw)
	cmd := &cobra.Command{
		Use:   "apply -f FILE",
		Short: "Apply the objects of files on the server's side, and say what the loops will do with them",
		Long: `Applies the objects of files, directories, addresses or standard input, as
'kubectl apply --server-side' does: the API server merges them with what is there,
and refuses to change fields that others have set. It then names them, the fields
and what to do. What 'loopscope create' has set is not in its way: it takes that over.
It deletes nothing: there is no --prune.

--explain and --watch are those of 'loopscope create'.`,
		Example: `  # What would this change do? Nothing is written
  loopscope apply -f web.yaml --explain --dry-run=server

  # Apply it, and wait until every rollout is complete or one needs you
  loopscope apply -f web.yaml --watch

  # Take over fields that others have set
  loopscope apply -f web.yaml --force-conflicts`,
		Args: filesOnly,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd) },
	}
	o.addFlags(cmd, width(raw.out))
	return cmd
}

func newCreateOptions(raw streams, part string) *createOptions {
	s := streams{out: newSafeWriter(raw.out), err: newSafeWriter(raw.err)}
	return &createOptions{s: s, kubeconfig: writingConfig(s, part)}
}

// writingConfig are the flags of the cluster of a command that writes to it.
func writingConfig(s streams, part string) *genericclioptions.ConfigFlags {
	kubeconfig := genericclioptions.NewConfigFlags(true).WithDiscoveryBurst(300).WithDiscoveryQPS(50)
	warnings := rest.NewWarningWriter(s.err, rest.WarningWriterOptions{Deduplicate: true}) // One for all clients.
	kubeconfig.WrapConfigFn = func(c *rest.Config) *rest.Config {
		c.QPS, c.Burst = 50, 100 // --explain and --watch read more than client-go's 5 a second.
		c.UserAgent = "loopscope/" + stamped() + " " + part
		c.WarningHandler = warnings
		return c
	}
	return kubeconfig
}

// objectStreams are where objects are printed: as they are, so that they can be read again,
// and as text where that is for reading.
func objectStreams(raw streams) genericiooptions.IOStreams {
	out := raw.out
	if terminal(out) {
		out = newSafeWriter(out)
	}
	return genericiooptions.IOStreams{In: os.Stdin, Out: out, ErrOut: newSafeWriter(raw.err)}
}

func (o *createOptions) addFlags(cmd *cobra.Command, width int) {
	o.request.AddFlags(cmd)
	completeChoice(cmd, "dry-run", dryRuns...)
	completeChoice(cmd, "validate", "strict", "warn", "ignore")
	cmd.Flags().BoolVar(&o.explain, "explain", false, "first say what the loops will do with each Deployment, ReplicaSet and ReplicationController")
	cmd.Flags().BoolVar(&o.watch, "watch", false, "follow them until all are complete, or one needs you (exit code 2)")
	cmd.Flags().DurationVar(&o.timeout, "timeout", 0, "with --watch, how long at most; 0 for as long as it takes")
	addClusterFlags(cmd, o.s.out, o.kubeconfig, width)
}

// filesOnly says how to have what kubectl makes of arguments.
func filesOnly(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	all := strings.Join(args, " ")
	return fmt.Errorf("%s makes objects from files, and %q is none of its arguments: give the file with -f"+
		"\nkubectl makes an object from arguments: kubectl create %s --dry-run=client -o yaml | %s -f -", cmd.CommandPath(), all, all, cmd.CommandPath())
}

func (o *createOptions) run(cmd *cobra.Command) error {
	if o.timeout < 0 {
		return errors.New("--timeout has to be 0s or more")
	}
	if o.timeout != 0 && !o.watch {
		return errors.New("--timeout is how long --watch follows: give --watch as well")
	}
	if o.explain {
		o.request.Before = o.foresee
	}
	if err := o.request.Complete(cmd); err != nil {
		return err
	}
	if o.watch && !o.request.Writes() {
		return errors.New("--watch follows what is written: omit --dry-run, --edit and --raw")
	}
	if _, err := restConfig(o.kubeconfig); err != nil {
		return err
	}
	began := time.Now()
	ctx := cmd.Context()
	written, err := o.request.Run(ctx, cmd)
	switch {
	case !o.watch || err != nil && (ctx.Err() != nil || !followed(written)):
		return err
	case err == nil:
		return o.follow(ctx, written, began, "All is complete")
	}
	fmt.Fprintln(o.s.err, errorText(err))
	fmt.Fprintln(o.s.err, "What was written is followed.")
	return o.alsoRefused(o.follow(ctx, written, began, "What was written is complete"))
}

// alsoRefused is the end of a watch beside objects that were not written.
func (o *createOptions) alsoRefused(end error) error {
	const also = "not everything was written, as said above"
	switch {
	case errors.As(end, new(needsYou)):
		fmt.Fprintf(o.s.err, "And %s.\n", also)
		return end
	case end != nil:
		return fmt.Errorf("%w\nAnd %s", end, also)
	}
	return errors.New(also)
}

// foresee prints what the loops will do, beside what is printed for other programs.
func (o *createOptions) foresee(ctx context.Context, r *create.Request, infos []*resource.Info) error {
	if len(infos) == 0 {
		return nil // That is an error by itself.
	}
	list, err := r.Foresee(ctx, infos)
	if err != nil {
		return err
	}
	if len(list) == 0 && r.Unread() {
		return nil // A Deployment may be what could not be read.
	}
	out := o.s.out
	if r.PrintsObjects() {
		out = o.s.err
	}
	return forecastText(out, list, time.Now())
}

// progressTo is the terminal on which nothing else is printed meanwhile; nil for none.
func progressTo(raw streams) io.Writer {
	if terminal(raw.err) && !terminal(raw.out) {
		return raw.err
	}
	return nil
}
