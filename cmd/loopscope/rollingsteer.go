package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/loopscope/loopscope/cmd/internal/rolling"
	"github.com/loopscope/loopscope/controllers/rollingupdate"
	"github.com/loopscope/loopscope/telemetry/prose"
)

func span(d time.Duration) string { return prose.Span(d) }

// steering is a command that changes the request of an update: how, and what is said then.
type steering struct {
	short, long string
	// change says what keeps it from changing anything, of the rolling update.
	change func(r *rollingupdate.Request, cleanup rollingupdate.Cleanup) error
	asked  string
}

var steerings = map[string]steering{
	"abort": {
		short: "Take a rolling update back: the old ReplicationController gets its pods again",
		long: `Takes back a rolling update that is under way: the old ReplicationController gets its
pods again, by the same steps, and the new one is deleted. It also takes back what
kubectl left half-done, unless the new one has replaced the old one already.`,
		change: func(r *rollingupdate.Request, _ rollingupdate.Cleanup) error {
			if r.Abort {
				return errors.New("is being taken back already")
			}
			r.Abort, r.Paused = true, false
			return nil
		},
		asked: "is to be taken back",
	},
	"pause": {
		short: "Hold a rolling update: both ReplicationControllers keep the pods that they have",
		long:  "Holds a rolling update that is under way. Both keep the number of pods that they have.",
		change: func(r *rollingupdate.Request, _ rollingupdate.Cleanup) error {
			if r.Paused {
				return errors.New("is paused already")
			}
			r.Paused = true
			return nil
		},
		asked: "is to be paused",
	},
	"resume": {
		short: "Go on with a rolling update that was paused, or that kubectl left half-done",
		long: `Goes on with a rolling update that was paused, or that kubectl left half-done.

What kubectl left ends as it would have ended there: where only an image had been
given the old ReplicationController keeps its name and takes over the new pods, and
is deleted otherwise. --cleanup chooses otherwise, also later.`,
		change: func(r *rollingupdate.Request, cleanup rollingupdate.Cleanup) error {
			if !r.Paused && cleanup == "" {
				return errors.New("is not paused")
			}
			r.Paused, r.Cleanup = false, cmp.Or(cleanup, r.Cleanup)
			return nil
		},
		asked: "is to go on",
	},
}

// newSteering is abort, pause or resume.
func (o *rollingOptions) newSteering(s streams, width int, verb string) *cobra.Command {
	own := &rollingOptions{s: s, kubeconfig: writingConfig(s, "rolling-update "+verb)}
	watched := "\n\nIt is watched to its end. With --detach only until the loop has taken notice, and\nwith --wait=false not at all."
	if verb == "pause" {
		watched = "\n\nThe command ends when the loop has taken notice; with --wait=false at once."
	}
	cmd := &cobra.Command{
		Use: verb + " OLD", Short: steerings[verb].short, Long: steerings[verb].long + watched,
		Example: "  loopscope rolling-update " + verb + " web -n shop",
		Args:    oneController,
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := own.client(cmd.Context())
			if err != nil {
				return err
			}
			return own.steer(cmd.Context(), c, args[0], verb)
		},
	}
	cmd.Flags().BoolVar(&own.wait, "wait", true, "wait until the loop has taken notice")
	if verb != "pause" {
		cmd.Flags().BoolVar(&own.detach, "detach", false, "do not watch it to its end")
	}
	if verb == "resume" {
		cmd.Flags().StringVar(&own.cleanup, "cleanup", "", "what becomes of the old one: delete, rename (it keeps its name and gets the new pods) or preserve")
		completeChoice(cmd, "cleanup", cleanups...)
	}
	addClusterFlags(cmd, s.out, own.kubeconfig, width)
	completeNamespace(cmd, own.kubeconfig)
	cmd.ValidArgsFunction = own.completeNames
	return cmd
}

func oneController(cmd *cobra.Command, args []string) error {
	if len(args) != 1 || strings.Contains(args[0], "/") {
		return fmt.Errorf("which update? Give the name of the old ReplicationController: %s web", cmd.CommandPath())
	}
	return nil
}

func (o *rollingOptions) steer(ctx context.Context, c *rolling.Client, old, verb string) error {
	started, err := c.Steer(ctx, old, func(r *rollingupdate.Request) error {
		if err := steerings[verb].change(r, rollingupdate.Cleanup(o.cleanup)); err != nil {
			return fmt.Errorf("the rolling update of %s %w", old, err)
		}
		return nil
	})
	if err != nil {
		return err
	}
	o.warn(started.Unread)
	o.steered(&started, verb)
	switch {
	case !o.wait:
		return nil
	case verb == "pause" || o.detach:
		return o.notice(ctx, c, started)
	}
	return o.follow(ctx, c, started)
}

// steered says what was asked for.
func (o *rollingOptions) steered(started *rolling.Started, verb string) {
	text := fmt.Sprintf("The rolling update of %s %s", started.Old, steerings[verb].asked)
	if len(started.Changed) > 0 && !started.Left {
		text += ", and was changed: " + prose.And(started.Changed)
	}
	fmt.Fprintln(o.s.out, text+".")
	if started.Left && verb == "resume" {
		fmt.Fprintln(o.s.out, started.End(o.cleanup != ""))
	}
}

// notice waits until the loop has taken notice, and says in its words how the update stands.
func (o *rollingOptions) notice(ctx context.Context, c *rolling.Client, started rolling.Started) error {
	l, err := c.Noticed(ctx, started, o.watching())
	if err := o.outcome(&started, err); err != nil {
		return err
	}
	o.tell(l)
	return nil
}

// looked is how an update stands, for a program.
type looked struct {
	Text string `json:"text"`
	*rolling.Look
}

func (o *rollingOptions) newStatus(s streams, width int) *cobra.Command {
	own := &rollingOptions{s: s, kubeconfig: writingConfig(s, "rolling-update status")}
	var output outputFlag
	var watch bool
	cmd := &cobra.Command{
		Use: "status OLD", Short: "How far a rolling update is, and why it does not go on",
		Long: `Says how far a rolling update is, what it waits for and what unblocks it. It reads the
cluster, writes nothing, and needs no manager that runs.

With --watch it goes on until the update has ended: the exit code is then 0, or 2 if
it does not move, was left half-done, or is taken back meanwhile. It is 0 if the update
has ended before.`,
		Example: "  loopscope rolling-update status web -n shop\n\n  # To its end\n  loopscope rolling-update status web -n shop --watch\n\n  # For a script\n  loopscope rolling-update status web -n shop -o json | jq -r .text",
		Args:    oneController,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := output.check(); err != nil {
				return err
			}
			if watch && output.forPrograms() {
				return errors.New("--watch prints for people: omit -o")
			}
			c, err := own.client(cmd.Context())
			if err != nil {
				return err
			}
			return own.status(cmd.Context(), c, args[0], watch, &output)
		},
	}
	cmd.Flags().BoolVarP(&watch, "watch", "w", false, "watch it until it has ended")
	output.addFlag(cmd, "how it stands")
	addClusterFlags(cmd, s.out, own.kubeconfig, width)
	completeNamespace(cmd, own.kubeconfig)
	cmd.ValidArgsFunction = own.completeNames
	return cmd
}

func (o *rollingOptions) status(ctx context.Context, c *rolling.Client, old string, watch bool, output *outputFlag) error {
	l, err := c.Look(ctx, old)
	if err != nil {
		return err
	}
	if watched, goesOn := l.Watched(c.Namespace, old); watch && goesOn {
		return o.follow(ctx, c, watched)
	}
	if output.forPrograms() {
		return output.print(o.s.out, looked{l.Text(), l})
	}
	o.tell(l)
	if watch && l.Needs() {
		return needsYou{}
	}
	return nil
}

// tell prints one line: the time, a bar, and the sentence.
func (o *rollingOptions) tell(l *rolling.Look) {
	bar := ""
	if l.Trace != nil && (l.UnderWay() || l.Sentence.Code == rollingupdate.CodeHalfDone) {
		bar = progressBar(l) + "  "
	}
	fmt.Fprintf(o.s.out, "%s  %s%s\n", l.Now.UTC().Format("15:04:05"), bar, l.Text())
}

// barWidth is how many characters a bar has.
const barWidth = 20

// progressBar has the new pods that are available, those that are not, and the old ones.
func progressBar(l *rolling.Look) string {
	wanted, n, available, old := l.Number("wanted"), l.Number("new"), l.Number("newAvailable"), l.Number("old")
	if wanted <= 0 {
		return ""
	}
	part := func(n int64) int { return int(min(n, wanted) * barWidth / wanted) }
	done, made := part(available), max(part(n), part(available))
	return fmt.Sprintf("[%s%s%s] new %d of %d, old %d", strings.Repeat("#", done), strings.Repeat("+", made-done), strings.Repeat(".", barWidth-made), n, wanted, old)
}
