package engine

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/changes"
	"github.com/loopscope/loopscope/telemetry/decision"
)

// Author is who changed an object from one version to the next, as causes name him:
// by name, or by names where several wrote unseen by each other. It is empty for
// what this process wrote, which is known by its version, and for what nobody can
// know.
func (l *Loop) Author(old, new metav1.Object, changed []decision.Change) string {
	if l.ours(old, new) {
		return ""
	}
	return l.others(l.opts.Managers.Wrote(old, new, changed))
}

// OwnAuthor is the Author of a change of one of the loop's own objects. Nobody but this loop
// writes its status: who does so is a rival. What was signed as ours there is of another
// process under our name, unless a sync is found that wrote it, which is known only when the
// next one is recorded, or it may be the write whose reply was lost.
func (l *Loop) OwnAuthor(kind string, old, new metav1.Object, changed []decision.Change) string {
	status := slices.ContainsFunc(changed, func(c decision.Change) bool { return strings.HasPrefix(c.Field, "status.") })
	if !status || l.ours(old, new) {
		return l.Author(old, new, changed)
	}
	names := l.opts.Managers.Wrote(old, new, changed)
	if slices.Contains(names, Upstream) && l.mode() == Act {
		l.opts.Rival(Upstream, kind+" "+KeyOf(new))
	}
	if l.opts.Ledger.doubtful(new.GetUID(), new.GetResourceVersion()) {
		return l.others(names)
	}
	return strings.Join(names, telemetry.BetweenManagers)
}

// Upstream is the field manager of the program whose loops these are.
const Upstream = "kube-controller-manager"

// signedAlike is for a change that seems to be ours, of which no sync is known: another
// process made it under our name, unless a reply to this one was lost.
func (l *Loop) signedAlike(t *telemetry.Trace, c *telemetry.Cause) {
	names := c.Managers()
	if !slices.Contains(names, l.opts.Signature) || l.mode() != Act {
		return
	}
	kind, name, _ := strings.Cut(c.Object, " ")
	if l.doubtful.has(t.Key()) || name == t.Name && l.perhapsOurs(types.UID(t.UID), c.NewRV) {
		c.Manager = l.others(names)
		return
	}
	l.opts.Rival(l.opts.Signature, kind+" "+t.Key())
}

// perhapsOurs reports whether another loop of this process wrote that version, whose sync is
// recorded later, or it may be a write whose reply was lost.
func (l *Loop) perhapsOurs(uid types.UID, rv string) bool {
	return l.opts.Ledger.wroteOnceAnswered(uid, rv) || l.opts.Ledger.doubtful(uid, rv)
}

// ours reports whether a version of an object is known to be this process's own, or is no other
// one.
func (l *Loop) ours(old, new metav1.Object) bool {
	return old.GetResourceVersion() == new.GetResourceVersion() || l.opts.Ledger.wrote(new.GetUID(), new.GetResourceVersion())
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
// change with another one that seems to be ours is not. While another process leads it is
// that one's name.
func (l *Loop) others(names []string) string {
	if l.mode() == Act {
		names = slices.DeleteFunc(names, func(name string) bool { return name == l.opts.Signature })
	}
	return strings.Join(names, telemetry.BetweenManagers)
}
