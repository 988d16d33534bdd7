package deployment

import (
	"time"

	"github.com/loopscope/loopscope/controllers/decision"
)

// Settle computes the report after the last round: the status as it follows
// from what was observed, whether it must be published, the events, and when to
// look again ([2.13]). The verdict's own timers are not repeated in it.
func Settle(s *Snapshot, rounds []decision.Round) Report {
	if len(rounds) == 0 {
		return Report{Status: s.Status}
	}
	last := rounds[len(rounds)-1]
	seen := *s
	seen.Learnt = last.Learnt
	c := &closing{view: look(&seen), last: last, now: s.Now.UTC().Truncate(time.Second)}
	c.report.Status = copyStatus(s.Status)
	c.report.Events = c.events(rounds)
	c.settle()
	return c.report
}

// closing is one settling. Its report's status starts as the published one.
type closing struct {
	*view
	last   decision.Round
	now    time.Time // whole seconds, as conditions hold them
	report Report
}

func (c *closing) settle() {
	switch {
	case c.last.Verdict.Stop, c.rollingBack():
	case c.answered(qSelects, decision.Yes): // [D-3]
		c.report.Status.ObservedGeneration = max(c.s.Generation, c.s.Status.ObservedGeneration)
		c.publish()
	case c.refusedCreate() != nil: // [2.5] 5d
		c.createError(c.refusedCreate())
		c.publish()
	case c.failed():
	case c.stamping():
		c.requeue()
	case c.rollout():
		c.early()
		c.calculate()
		c.progress()
		c.failure()
		c.publish()
		c.requeue()
	default:
		c.early()
		c.calculate()
		c.publish()
		c.requeue()
	}
	if !c.last.Verdict.Stop {
		c.minReadyTimer()
	}
}

// rollingBack is true where the sync ended with a write of the Deployment
// itself: its echo brings the sync that publishes a status, and this one has
// only events to tell ([2.9]).
func (c *closing) rollingBack() bool {
	_, asked := c.last.Verdict.Path.Answer(qRBRevision)
	return asked
}

// answered reports whether the last round answered a question with a word.
func (c *closing) answered(question, answer string) bool {
	got, asked := c.last.Verdict.Path.Answer(question)
	return asked && got == answer
}

// rollout is true where the status also says how the rollout goes: not while
// the Deployment is being deleted, paused, or scaled ([2.13]).
func (c *closing) rollout() bool {
	_, asked := c.last.Verdict.Path.Answer(qStrategy)
	return asked
}

// stamping is true where the sync ended with the annotations of the new
// ReplicaSet. Its status would observe the new generation beside a Progressing
// condition of the template before, which kubectl takes for its failure; the
// echo brings the sync that can tell.
func (c *closing) stamping() bool {
	return c.answered(qStamp, decision.No) && !c.s.Deleting && !c.s.Paused
}

// failed is true where a write failed that ends the sync without a status.
// Failures of shrinking old ReplicaSets do not: Kubernetes carries on there.
func (c *closing) failed() bool {
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
func (c *closing) refusedCreate() *refusal {
	for i, o := range c.last.Outcomes {
		if i >= len(c.last.Verdict.Actions) || o.State != decision.Refused || o.Failure == nil || o.Failure.Terminal {
			continue
		}
		if a := c.last.Verdict.Actions[i]; a.Kind == decision.CreateReplicaSet {
			return &refusal{name: a.Target.Name, failure: *o.Failure}
		}
	}
	return nil
}

type refusal struct {
	name    string
	failure decision.Failure
}

func (r refusal) message() string {
	return `Failed to create new replica set "` + r.name + `": ` + r.failure.Message
}

// created is the ReplicaSet that this sync made, nil if it made none.
func (c *closing) created() *decision.Action {
	for i, o := range c.last.Outcomes {
		if i < len(c.last.Verdict.Actions) && o.State == decision.Written && c.last.Verdict.Actions[i].Kind == decision.CreateReplicaSet {
			return &c.last.Verdict.Actions[i]
		}
	}
	return nil
}

// early sets what upstream writes on its way: the pause condition ([D-7]), the
// revision and the condition of a ReplicaSet found or created ([2.5]), and the
// collision count. Here they go into the one status write.
func (c *closing) early() {
	c.pauseCondition()
	c.collisions()
	_, stamp := c.last.Verdict.Path.Answer(qStamp)
	switch made := c.created(); {
	case made != nil:
		c.setRevision(made.Stamp.Revision)
		c.setProgressing("True", reasonCreated, `Created new replica set "`+made.Target.Name+`"`)
	case c.fresh == nil, stamp && c.answered(qStamp, decision.No):
		// Where the ReplicaSet itself was being written, the next sync goes on.
	default:
		c.setRevision(c.fresh.Revision)
		if condition(c.report.Status.Conditions, condProgressing) == nil {
			c.setProgressing("True", reasonFound, `Found new replica set "`+c.fresh.Name+`"`)
		}
	}
}

func (c *closing) pauseCondition() {
	if !c.answered(qPauseCondition, decision.Yes) {
		return
	}
	if c.pauseReason() == reasonPaused {
		c.setProgressing("Unknown", reasonPaused, "Deployment is paused")
		return
	}
	c.setProgressing("Unknown", reasonResumed, "Deployment is resumed")
}

// collisions counts one where the name was taken by something else.
func (c *closing) collisions() {
	if c.answered(qTaken, decision.No) {
		c.report.Status.Collisions = new(collided(c.s))
	}
}

func (c *closing) setRevision(to string) {
	if to != "" && to != c.s.Revision {
		c.report.Revision = to
	}
}

// createError is what the status says while a ReplicaSet is refused: the
// counts stay as they were published.
func (c *closing) createError(r *refusal) {
	c.pauseCondition()
	c.collisions()
	c.setProgressing("False", reasonCreateError, r.message())
}

// setProgressing sets the condition where there is a deadline to judge by.
func (c *closing) setProgressing(status, reason, message string) {
	if c.s.Deadline != nil {
		setCondition(&c.report.Status, c.condition(condProgressing, status, reason, message))
	}
}

func (c *closing) condition(kind, status, reason, message string) decision.Condition {
	return decision.Condition{Type: kind, Status: status, Reason: reason, Message: message, Updated: c.now, Transition: c.now}
}
