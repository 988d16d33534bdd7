package app

import (
	"context"
	"time"

	"github.com/loopscope/loopscope/telemetry/otlp"
)

// spansWithin is how long the export of spans may take to end, so that a
// receiver that is down leaves time for what ends after it.
const spansWithin = 3 * time.Second

// newSpans is the export to OpenTelemetry, nil where the environment asks for none.
func (a *App) newSpans() (err error) {
	a.spans, err = otlp.New(context.Background(), otlp.Options{
		Journal: a.journal, Counts: a.metrics, Logger: a.opts.Logger, Cluster: a.opts.Cluster, Version: a.opts.Version,
	})
	return err
}

// startSpans exports until its turn in the teardown: after the loops have ended,
// before the journal does.
func (a *App) startSpans(ctx context.Context) error {
	if a.spans == nil {
		return nil
	}
	if err := a.spans.Start(ctx); err != nil {
		return err
	}
	a.push("export of spans", func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, spansWithin)
		defer cancel()
		if err := a.spans.Stop(ctx); err != nil { // A receiver that is down must not make the program fail.
			a.opts.Logger.Warn("The last spans are lost", "error", err)
		}
		return nil
	})
	return nil
}
