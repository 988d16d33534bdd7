package deployment

import (
	"time"

	"github.com/loopscope/loopscope/telemetry/decision"
)

// settle computes the report after the last round: the status as it follows
// from what was observed, whether it must be published, the events, and when to
// look again ([R-1]). The verdict's own timers are not repeated in it.
func settle(t *decider, rounds []decision.Round) Report {
	c := newSettler(t, rounds[len(rounds)-1])
	c.report.Events = c.events(rounds)
	if t.branch != branchStopped {
		c.settle()
		c.minReadyTimer()
	}
	return c.report
}

// settler is one settling. Its report's status starts as the published one.
type settler struct {
	*view
	end
	last   decision.Round
	second time.Time // conditions hold whole ones
	report Report
}

func newSettler(t *decider, last decision.Round) *settler {
	c := &settler{view: t.view, end: t.end, last: last, second: t.now.UTC().Truncate(time.Second)}
	c.report.Status = copyStatus(t.s.Status)
	return c
}

func (c *settler) settle() {
	switch {
	case c.branch == branchRestore:
		// The echo brings the sync that publishes a status; this one has only events to tell ([RB-4]).
	case c.branch == branchSelectsAll: // [D-3]
		c.report.Status.ObservedGeneration = max(c.s.Generation, c.s.Status.ObservedGeneration)
		c.publish()
	case c.refusedCreate() != nil: // [N-5]
		c.createError(c.refusedCreate())
		c.publish()
	case c.failed():
	case c.branch == branchRevision:
		// Its status would observe the new generation beside a Progressing condition of
		// the template before, which kubectl takes for its failure; the echo brings the
		// sync that can tell.
		c.requeue()
	default:
		c.early()
		c.calculate()
		if c.branch == branchRollout { // The others do not say how a rollout goes ([RR-5]).
			c.progress()
			c.failure()
		}
		c.publish()
		c.requeue()
	}
}

// failed is true where a write failed that ends the sync without a status.
// Failures of shrinking old ReplicaSets do not: Kubernetes carries on there.
func (c *settler) failed() bool {
	for i, o := range c.last.Outcomes {
		if i >= len(c.last.Verdict.Actions) || o.OK() {
			continue
		}
		switch c.last.Verdict.Actions[i].Question {
		case qUnhealthy, qHealthy:
		default:
			return true
		}
	}
	return false
}

// refusedCreate is the refusal of a new ReplicaSet, nil if there was none.
// A name that is taken and a namespace that is ending are no refusals: they were learnt.
func (c *settler) refusedCreate() *refusal {
	for i, o := range c.last.Outcomes {
		if i >= len(c.last.Verdict.Actions) || !refused(&o) {
			continue
		}
		if a := c.last.Verdict.Actions[i]; a.Kind == decision.CreateReplicaSet {
			return &refusal{name: a.Target.Name, failure: *o.Failure}
		}
	}
	return nil
}

// refused reports whether an API server said no. One that says that it failed inside is taken at its
// word: that it has stored the object all the same is for the live read to find out. Of a name that is
// taken, that read is what failed ([N-4]).
func refused(o *decision.Outcome) bool {
	switch f := o.Failure; {
	case f == nil || f.Terminal || f.Reason == decision.AlreadyExists:
		return false
	case o.State == decision.Unknown:
		return f.Code != 0 && !f.Down()
	default:
		return o.State == decision.Refused
	}
}

type refusal struct {
	name    string
	failure decision.Failure
}

func (r refusal) message() string {
	return `Failed to create new replica set "` + r.name + `": ` + r.failure.Message
}

// created is the ReplicaSet that this sync made, nil if it made none.
func (c *settler) created() *decision.Action {
	for i, o := range c.last.Outcomes {
		if i < len(c.last.Verdict.Actions) && o.State == decision.Written && c.last.Verdict.Actions[i].Kind == decision.CreateReplicaSet {
			return &c.last.Verdict.Actions[i]
		}
	}
	return nil
}

// early sets what upstream writes on its way: the pause condition ([D-7]), the
// revision and the condition of a ReplicaSet found or created ([N-6]), and the
// collision count. Here they go into the one status write.
func (c *settler) early() {
	c.pauseCondition()
	c.collisions()
	c.found()
}

// found sets the revision of the ReplicaSet that was created or found, and the condition that says so.
func (c *settler) found() {
	switch made := c.created(); {
	case made != nil:
		c.setRevision(made.Stamp.Revision)
		c.setProgressing("True", reasonCreated, `Created new replica set "`+made.Target.Name+`"`)
	case c.newSet == nil, c.leaf == leafStamps:
		// Where the ReplicaSet itself was being written, the next sync goes on.
	default:
		c.setRevision(c.newSet.Revision)
		if condition(c.report.Status.Conditions, condProgressing) == nil {
			c.setProgressing("True", reasonFound, `Found new replica set "`+c.newSet.Name+`"`)
		}
	}
}

func (c *settler) pauseCondition() {
	switch reason := c.pauseReason(); {
	case c.branch == branchDeleting: // [D-7] was not asked.
	case reason == reasonPaused:
		c.setProgressing("Unknown", reasonPaused, "Deployment is paused")
	case reason == reasonResumed:
		c.setProgressing("Unknown", reasonResumed, "Deployment is resumed")
	}
}

// collisions counts one where the name was taken by something else.
func (c *settler) collisions() {
	if c.leaf == leafCollides {
		c.report.Status.Collisions = new(collided(c.s))
	}
}

func (c *settler) setRevision(to string) {
	if to != "" && to != c.s.Revision {
		c.report.Revision = to
	}
}

// createError is what the status says while a ReplicaSet is refused: the
// counts stay as they were published.
func (c *settler) createError(r *refusal) {
	c.pauseCondition()
	c.collisions()
	c.setProgressing("False", reasonCreateError, r.message())
}

// setProgressing sets the condition where there is a deadline to judge by.
func (c *settler) setProgressing(status, reason, message string) {
	if c.s.Deadline != nil {
		setCondition(&c.report.Status, c.condition(condProgressing, status, reason, message))
	}
}

func (c *settler) condition(kind, status, reason, message string) decision.Condition {
	return decision.Condition{Type: kind, Status: status, Reason: reason, Message: message, Updated: c.second, Transition: c.second}
}
