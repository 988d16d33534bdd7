package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/loopscope/loopscope/cmd/internal/app"
	"github.com/loopscope/loopscope/cmd/internal/signin"
)

// stopWithin is how long what runs may take to end after a signal, unless a flag says so.
const stopWithin = 10 * time.Second

// completedManager is all that a manager needs to run.
type completedManager struct {
	program    app.Options
	stopWithin time.Duration
	quiet      bool
	// shown is told the address of the console once it serves; nil for nobody.
	shown func(url string)
}

// Run runs the loops and the console until ctx or one of their parts ends.
func (c *completedManager) Run(ctx context.Context, out io.Writer) error {
	program, err := app.New(c.program)
	if err != nil {
		return err
	}
	if err := program.Start(ctx); err != nil {
		stopping, cancel := context.WithTimeout(context.Background(), stopWithin)
		defer cancel()
		return errors.Join(err, program.Stop(stopping))
	}
	defer announce(place{c.program.Cluster, c.program.Config.Host}, program.URL(), c.program.Logger)()
	fmt.Fprintf(out, "dashboard: %s\n", c.printed(program.URL()))
	if c.shown != nil {
		c.shown(program.URL())
	}
	return until(ctx, program, c.stopWithin, c.program.Logger)
}

// printed is the address as it may stand in a log that others read: where they are served by their own
// rights, the token that is for all is printed only if somebody has asked for it.
func (c *completedManager) printed(url string) string {
	if c.quiet {
		url, _ = signin.Split(url)
	}
	return url
}

// until waits for a signal or for a part that ends by itself, and stops the rest within that
// time, 0 for as long as it takes. The log says why, and when all has ended.
func until(ctx context.Context, program *app.App, within time.Duration, log *slog.Logger) error {
	ended := make(chan error, 1)
	go func() { ended <- program.Wait() }()
	var err error
	select {
	case <-ctx.Done():
		log.Info("Stopping", "cause", context.Cause(ctx))
	case err = <-ended:
		log.Info("Stopping", "cause", err)
	}
	stopping := context.Background()
	if within > 0 {
		var cancel context.CancelFunc
		stopping, cancel = context.WithTimeout(stopping, within)
		defer cancel()
	}
	err = errors.Join(err, program.Stop(stopping))
	if err == nil {
		log.Info("Stopped")
	}
	return err
}
