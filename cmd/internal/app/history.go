package app

import (
	"context"
	"path/filepath"
	"time"

	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/history"
)

// MinHistoryBytes is the least that History.MaxBytes may be.
const MinHistoryBytes = history.MinBytes

// History says where syncs are kept, and how many. The zero value keeps none.
type History struct {
	// Path is the file; "" for no history. One program at a time writes it. Where
	// it cannot be had the program says so and runs without, and tries again.
	Path string
	// MaxAge is how long a sync is kept. Default 7 days.
	MaxAge time.Duration
	// MaxBytes bounds what the file takes on the disk. Default 1 GiB.
	MaxBytes int64
}

// newHistory is what the console reads, nil where no history is kept. The file
// is opened by Start.
func (a *App) newHistory() telemetry.Archive {
	o := a.opts.History
	if o.Path == "" {
		return nil
	}
	path, err := filepath.Abs(o.Path) // Commands elsewhere on this machine read it, too.
	if err != nil {
		path = o.Path
	}
	a.history = history.Keep(path, history.Options{MaxAge: o.MaxAge, MaxBytes: o.MaxBytes}, a.opts.Logger)
	a.metrics.History(a.history.State)
	return a.history
}

// startHistory keeps what the journal records until its turn in the teardown:
// when the loops have ended, so that their last syncs are kept, too.
func (a *App) startHistory(ctx context.Context) {
	if a.history == nil {
		return
	}
	a.background(ctx, "history", func(ctx context.Context) error {
		if err := a.history.Run(ctx, a.journal); err != nil {
			a.opts.Logger.Error("The history did not end well", "error", err)
		}
		return nil
	})
}
