package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/spf13/cobra"

	"github.com/loopscope/loopscope/cmd/internal/app"
)

type viewOptions struct {
	listen, epoch string
	signIn        signInOptions
}

func newView(s streams) *cobra.Command {
	var o viewOptions
	cmd := &cobra.Command{
		Use:   "view FILE",
		Short: "Open the console on a recording, without a cluster",
		Long: `Serves the pages of the console for a recording that was made with
'loopscope export': the same overview, objects, syncs and permalinks, with
time frozen at its end. It needs no cluster and changes nothing.

Sync numbers start at 1 in each run of loopscope. Where a recording holds
several runs, the one that ended last is shown; --epoch chooses another.`,
		Example: `  # Look at what a colleague recorded
  loopscope view incident.jsonl.gz

  # Another run in the same file, another port
  loopscope view incident.jsonl.gz --epoch 7c41d2aa --listen 127.0.0.1:9000`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				return fmt.Errorf("view shows one recording: omit %q", args[1])
			}
			return oneRecording(cmd, args)
		},
		ValidArgsFunction: completeRecordings(1),
		RunE:              func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), s, args[0]) },
	}
	cmd.Flags().StringVar(&o.listen, "listen", app.DefaultListen, "address of the console; loopback only")
	o.signIn.addFlags(cmd.Flags())
	completeChoice(cmd, "console-auth", authToken, authNone)
	cmd.Flags().StringVar(&o.epoch, "epoch", "", "show this run of loopscope; the one that ended last by default")
	return cmd
}

// oneRecording wants one at least.
func oneRecording(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return fmt.Errorf("which recording? Give the file that `loopscope export -o FILE` wrote\nSee '%s --help' for examples", cmd.CommandPath())
	}
	return nil
}

func (o *viewOptions) run(ctx context.Context, s streams, file string) error {
	var program *app.App
	if err := o.signIn.check(); err != nil {
		return err
	}
	door, err := o.signIn.door(howToRecording)
	if err != nil {
		return err
	}
	err = interruptible(ctx, func() (err error) {
		program, err = app.NewView(ctx, app.ViewOptions{File: file, Epoch: o.epoch, Listen: o.listen, Door: door, Logger: newLogger(s.err), Version: stamped()})
		return err
	})
	if err != nil {
		return err
	}
	if err := program.Start(ctx); err != nil {
		return err
	}
	fmt.Fprintf(s.out, "recording: %s\n", program.URL())
	return until(ctx, program, stopWithin, slog.New(slog.DiscardHandler))
}

// interruptible runs what reads a file, and leaves it behind when ctx ends: one line may
// take long, and a pipe that nobody writes to forever.
func interruptible(ctx context.Context, read func() error) error {
	ended := make(chan error, 1)
	go func() { ended <- read() }()
	select {
	case err := <-ended:
		if err != nil && ctx.Err() != nil {
			return errInterrupted
		}
		return err
	case <-ctx.Done():
		return errInterrupted
	}
}

// errInterrupted is the error of a command that a signal ended.
var errInterrupted = errors.New("interrupted before everything was read")
