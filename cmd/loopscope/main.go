// Command loopscope runs the Deployment, ReplicaSet and ReplicationController
// loops with a console that shows why each of them did what it did, explains
// single Deployments, creates objects and says what the loops will do with them, has Deployments
// take over the pods of ReplicationControllers, and looks back into what was recorded. It may not do more than turn flags into options and values into text.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/loopscope/loopscope/cmd/internal/create"
	"github.com/loopscope/loopscope/telemetry/redact"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // A second signal ends the program at once.
	root := newRoot(streams{out: os.Stdout, err: os.Stderr})
	root.SetArgs(asPlugin(root, os.Args[0], os.Args[1:]))
	err := root.ExecuteContext(ctx)
	if errors.As(err, new(needsYou)) {
		os.Exit(exitNeedsYou)
	}
	if err != nil {
		fmt.Fprintln(newSafeWriter(os.Stderr), errorText(err))
		os.Exit(1)
	}
}

// errorText is an error as it is printed, whoever wrote words of it.
func errorText(err error) string {
	if errors.As(err, new(*create.Failed)) {
		return redact.Text(err.Error()) // kubectl's words begin as kubectl's do.
	}
	return "error: " + redact.Text(err.Error())
}
