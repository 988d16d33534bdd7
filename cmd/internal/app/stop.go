package app

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// step is one named part of the teardown.
type step struct {
	name string
	stop func(context.Context) error
}

func (a *App) push(name string, stop func(context.Context) error) {
	a.teardown = append(a.teardown, step{name, stop})
}

// afterLate is how long a part may take to end once the time for all of them is over: the Lease is given
// back, and the last syncs are kept, also where a part before them was late.
const afterLate = 2 * time.Second

// Stop ends everything Start began, in reverse order, within ctx; once that is over, each part that is left
// has two seconds. It may be called more than once, and before Start.
func (a *App) Stop(ctx context.Context) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.stopped {
		return nil
	}
	a.stopped = true
	if !a.started {
		return errors.Join(a.listener.Close(), a.stopSecurely(ctx))
	}
	var errs []error
	var late []string
	for _, s := range slices.Backward(a.teardown) {
		wasLate, err := s.end(ctx)
		if wasLate {
			late = append(late, s.name)
		} else if err != nil {
			errs = append(errs, fmt.Errorf("stop %s: %w", s.name, err))
		}
	}
	if len(late) > 0 { // One line for all that nobody waited for.
		errs = append(errs, fmt.Errorf("stop %s: %w", strings.Join(late, ", "), context.DeadlineExceeded))
	}
	a.end(nil)
	return errors.Join(errs...)
}

// end ends a part; late is true if it had not ended when its time was over.
func (s step) end(ctx context.Context) (late bool, err error) {
	if ctx.Err() != nil {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), afterLate)
		defer cancel()
	}
	err = s.stop(ctx)
	return err != nil && err == ctx.Err(), err
}
