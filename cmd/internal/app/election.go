package app

import (
	"fmt"
	"time"

	"k8s.io/client-go/kubernetes"

	"github.com/loopscope/loopscope/cmd/internal/leadership"
	"github.com/loopscope/loopscope/controllers"
	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/decision"
)

// Election is Options.Election.
type Election = leadership.Options

// DefaultElection is what a manager takes part in unless it is told otherwise.
func DefaultElection() Election { return leadership.Defaults() }

// newElection takes part in the election that the options name, if any.
func (a *App) newElection() error {
	o := a.opts.Election
	if o.Name == "" || a.opts.Watch {
		return nil
	}
	o.Logger, o.Console = a.opts.Logger, a.myConsole
	if !a.opts.Untraced {
		o.Record = a.journal.Record
	}
	config := configOf(a.opts, a.metrics, "leader-election")
	config.Timeout = max(time.Second, o.RenewDeadline/2) // One request that hangs must not cost the Lease [M-2].
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("client for the leader election: %w", err)
	}
	a.election, err = leadership.New(client, o, func(first bool) { a.cluster.lead(first) })
	if err == nil {
		a.newFollower()
	}
	return err
}

// kept are the loops of which the journal keeps syncs: the election is one where there is any, and so is
// the comparison of a process that watches.
func (o *Options) kept() decision.Loops {
	switch {
	case o.Watch:
		return controllers.Loops.With(decision.Loops{telemetry.Comparison(controllers.Loops)})
	case o.Election.Name == "":
		return controllers.Loops
	default:
		return controllers.Loops.With(decision.Loops{leadership.Loop})
	}
}

// leads is whether this process may write.
func (a *App) leads() bool { return a.election == nil || a.election.Leads() }

// leadership tells who leads; nil where nobody is elected.
func (a *App) leadership() func() telemetry.Leadership {
	if a.election == nil {
		return nil
	}
	return a.followed
}

// followed is who leads, and what is received of that one.
func (a *App) followed() telemetry.Leadership {
	l := a.election.State()
	l.Epoch = a.journal.Epoch()
	if a.follower == nil {
		return l
	}
	return a.follower.State(l)
}

// healthy is nil unless this process holds on to a Lease that has run out.
func (a *App) healthy() error {
	if a.election == nil {
		return nil
	}
	return a.election.Healthy()
}
