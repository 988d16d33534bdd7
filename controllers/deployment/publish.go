package deployment

import "github.com/loopscope/loopscope/telemetry/decision"

// publish decides whether the status is written now, later or not at all: where
// it differs from the published one, and nobody may be waiting for the
// difference, it waits for more to come.
func (c *settler) publish() {
	r := &c.report
	r.Changes = statusChanges(c.s.Status, r.Status)
	if r.Revision != "" {
		r.Changes = append(r.Changes, decision.Change{Field: "metadata.annotations[" + annRevision + "]", From: c.s.Revision, To: r.Revision})
	}
	if !r.Path.Ask(qStatus, len(r.Changes) > 0, decision.Count("changes", int64(len(r.Changes)))) {
		return
	}
	due := decision.Due(c.now, c.s.Held, c.s.Lag)
	r.Hold = r.Path.Ask(qHold, !c.urgent() && c.moving() && c.now.Before(due), decision.Duration("lag", c.s.Lag), decision.Instant("due", due))
	r.Publish = !r.Hold
	if r.Hold {
		r.Timers = append(r.Timers, decision.Timer{At: due, Code: timerStatus, Question: qHold})
	}
}

// urgent reports whether somebody may be waiting for this very change: a
// generation observed, fewer pods than published, a collision, a revision, a
// condition. That a rollout goes on progressing is no news.
func (c *settler) urgent() bool {
	was, is := c.s.Status, c.report.Status
	return is.ObservedGeneration != was.ObservedGeneration || c.report.Revision != "" ||
		is.Replicas < was.Replicas || is.Ready < was.Ready || is.Available < was.Available ||
		maybe(is.Collisions) != maybe(was.Collisions) ||
		c.news(condProgressing) || c.news(condAvailable) || c.news(condReplicaFailure)
}

// news reports whether a condition says something else than the published one.
// That a rollout goes on progressing is none.
func (c *settler) news(kind string) bool {
	was, is := condition(c.s.Status.Conditions, kind), condition(c.report.Status.Conditions, kind)
	if was == nil || is == nil {
		return was != is
	}
	goesOn := is.Reason == reasonUpdated && (was.Reason == reasonCreated || was.Reason == reasonFound)
	return was.Status != is.Status || was.Reason != is.Reason && !goesOn
}

// moving reports whether more is to come without anybody's help: this sync
// wrote something, a ReplicaSet has not answered its last change, or pods are
// still coming up or ending. A rollout that is complete is news at once.
func (c *settler) moving() bool {
	for _, o := range c.last.Outcomes {
		if o.State == decision.Written {
			return true
		}
	}
	for _, rs := range c.children {
		if rs.ObservedGeneration < rs.Generation || rs.Available < rs.Replicas || rs.Terminating != nil && *rs.Terminating > 0 {
			return true
		}
	}
	return false
}
