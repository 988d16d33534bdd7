package app

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

// work runs every loop at once, each after a pause of its own, until ctx ends and they have
// finished their syncs ([M-7]). One that cannot run ends the program.
func (a *App) work(ctx context.Context) {
	var group sync.WaitGroup
	for _, l := range a.cluster.loops {
		group.Go(func() {
			a.atWork.begin(l.controller)
			defer a.atWork.end(l.controller)
			if !a.pause(ctx, a.opts.StartInterval) {
				return
			}
			if err := l.Run(ctx, l.workers); err != nil {
				a.end(fmt.Errorf("%s: %w", l.controller, err))
			}
		})
	}
	group.Wait()
}

// atWork are the controllers that run. The zero value is none.
type atWork struct {
	mu    sync.Mutex
	names []string
}

func (w *atWork) begin(name string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.names = append(w.names, name)
}

func (w *atWork) end(name string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.names = slices.DeleteFunc(w.names, func(x string) bool { return x == name })
}

// String is their names in order.
func (w *atWork) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	names := slices.Sorted(slices.Values(w.names))
	return strings.Join(names, ", ")
}

// remindEvery is how often the log says who has not ended yet, where nothing bounds the time.
const remindEvery = 5 * time.Second

// remind says who has not ended yet, three times in the time that is left, until done.
func (a *App) remind(ctx context.Context, done <-chan struct{}) {
	every := remindEvery
	if until, bounded := ctx.Deadline(); bounded {
		every = max(time.Until(until)/3, time.Millisecond)
	}
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-done:
			return
		case <-ctx.Done():
			return
		case <-tick.C:
			a.opts.Logger.Info("Controllers have not ended their syncs yet", "controllers", a.atWork.String())
		}
	}
}

// startLoops runs the loops until their turn in the teardown. Syncs under way may end in the time
// that is left then ([M-7]).
func (a *App) startLoops(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		a.work(ctx)
	}()
	a.push("controllers", func(stopping context.Context) error {
		cancel()
		if !a.leads() { // Whoever has lost the Lease finishes nothing.
			a.cluster.cancelSyncs()
		}
		go a.remind(stopping, done)
		select {
		case <-done:
			return nil
		case <-stopping.Done():
			late := a.atWork.String()
			a.cluster.cancelSyncs() // Nothing may be written once the Lease is given back.
			select {
			case <-done: // What they did is recorded.
			case <-time.After(afterLate):
			}
			return fmt.Errorf("%s did not end in time: %w", late, stopping.Err())
		}
	})
}
