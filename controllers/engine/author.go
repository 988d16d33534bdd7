package engine

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/changes"
	"github.com/loopscope/loopscope/telemetry/decision"
)

// Author is who changed an object from one version to the next, as causes name him:
// by name, or by names where several wrote unseen by each other. It is empty for
// what this process wrote, which is known by its version, and for what nobody can
// know.
func (l *Loop) Author(old, new metav1.Object, changed []decision.Change) string {
	if old.GetResourceVersion() == new.GetResourceVersion() || l.opts.Ledger.wrote(new.GetUID(), new.GetResourceVersion()) {
		return ""
	}
	return l.others(l.opts.Managers.Wrote(old, new, changed))
}

// Added describes the first sight of an object, and who made it, as far as that is
// known: what the first list shows was made by whoever it was.
func (l *Loop) Added(kind string, o metav1.Object, initial bool) telemetry.Cause {
	c := changes.Added(kind, o, initial, l.opts.Clock.Now())
	if !initial && !l.opts.Ledger.wrote(o.GetUID(), o.GetResourceVersion()) {
		c.Manager = l.others(l.opts.Managers.Made(o))
	}
	return c
}

// others joins names without our own: what we wrote is known by its version, so a
// change with another one that seems to be ours is not.
func (l *Loop) others(names []string) string {
	names = slices.DeleteFunc(names, func(name string) bool { return name == l.opts.Signature })
	return strings.Join(names, telemetry.BetweenManagers)
}
