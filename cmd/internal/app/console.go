package app

import (
	"time"

	"github.com/loopscope/loopscope/controllers"
	"github.com/loopscope/loopscope/controllers/engine"
	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/web"
)

// consoleOptions are those of a console that shows the syncs of a journal.
func (a *App) consoleOptions(journal *telemetry.Journal, tally *telemetry.Tally) web.Options {
	o := web.Options{
		Shadow:       a.shadowState(),
		Profiling:    a.opts.Profiling,
		Journal:      journal,
		Tally:        tally,
		Rules:        controllers.Rules(),
		ReleaseRules: controllers.ReleaseRules,
		Loops:        a.cluster.states,
		Features:     a.opts.ruleFeatures(),
		Queue:        a.cluster.queue,
		Server:       a.cluster.server,
		Checks:       a.cluster.checks,
		Healthy:      a.healthy,
		Blind:        a.blind,
		Start:        a.startup.steps,
		Warnings:     a.cluster.warnings,
		Component:    a.self,
		Controllers:  byController(),
		Memory:       a.opts.Component.Memory,
		Gatherer:     without(a.registry, a.opts.DisabledMetrics),
		Readers:      a.metrics.Readers(),
		Cluster:      a.opts.Cluster,
		Namespace:    a.opts.Namespace,
		Unguarded:    a.opts.Unguarded,
		Version:      a.opts.Version,
		Mode:         string(a.mode()),
		Leadership:   a.leadership(),
		Rival:        a.rivals.State,
		Others:       a.others,
		Started:      a.startup.began,
		Logger:       a.opts.Logger,
		Archive:      a.archive,
	}
	if a.shadow != nil {
		o.Due, o.Stall = a.shadow.Due, func() telemetry.Stall { return a.shadow.Stall(a.seenUntil()) }
	}
	return o
}

// seenUntil is up to when somebody's writes have been seen. In an outage nobody can write, and nothing
// that is due then is overdue.
func seenUntil(server telemetry.ServerState, now time.Time) time.Time {
	if o, down := server.Outage(); down {
		return o.Began
	}
	return now
}

func (a *App) seenUntil() time.Time { return seenUntil(a.cluster.server(), a.opts.Clock.Now()) }

// mode is what the loops do to the cluster.
func (a *App) mode() engine.Mode {
	if a.opts.Watch {
		return engine.Watch
	}
	return engine.Act
}

// shadowState is how decisions compare with those of another controller; nil where the loops act.
func (a *App) shadowState() func() telemetry.ShadowState {
	if a.shadow == nil {
		return nil
	}
	return func() telemetry.ShadowState { return a.shadow.State(a.seenUntil()) }
}
