package sim

import (
	"time"

	"github.com/loopscope/loopscope/controllers/deployment"
	"github.com/loopscope/loopscope/controllers/replicaset"
	"github.com/loopscope/loopscope/controllers/rollingupdate"
	"github.com/loopscope/loopscope/telemetry/decision"
)

// Bound is how far a run goes at most. A part that is 0 stands for its usual value.
type Bound struct {
	Syncs int           // 10,000
	Time  time.Duration // a day, of the model
}

const (
	usualSyncs = 10_000
	usualTime  = 24 * time.Hour
)

// End is how a run ended.
type End string

// The ends of a run. All but Unsettled mean that nothing more would ever happen
// without somebody's help.
const (
	Complete  End = "complete"
	Aborted   End = "aborted"           // an update was taken back
	Waiting   End = "waiting"           // for what the sentence and Held say
	Overdue   End = "deadline-exceeded" // the same, and the progress deadline is over
	Failed    End = "failed"            // the loop cannot go on, as the sentence says
	Unsettled End = "did-not-settle"    // within the bound
)

// Result is what a run came to.
type Result struct {
	End   End       `json:"end"`
	Began time.Time `json:"began"`
	// Ended is when the last write was, of this run or of one that it takes up again.
	Ended time.Time `json:"ended"`
	Steps []Step    `json:"steps"`
	// Sentence and Held are what the loop of the Deployment or of the update says and holds back in the
	// end, as of At.
	At       time.Time         `json:"at"`
	Sentence decision.Sentence `json:"sentence"`
	Held     []decision.Held   `json:"held,omitempty"`
}

// Step is one sync: any of the Deployment or of the update, or one of a ReplicaSet that wrote.
type Step struct {
	At   time.Time `json:"at"`
	Loop string    `json:"loop"` // as the catalogues call it
	Name string    `json:"name"`
	// Round is what was decided and done, Report what was settled; nil where nothing was.
	Round    decision.Round    `json:"round"`
	Report   *decision.Report  `json:"report,omitempty"`
	Sentence decision.Sentence `json:"sentence"`
	// Snapshot is what a Deployment's sync decided on, and Update what an update's did; nil
	// for any other.
	Snapshot *deployment.Snapshot    `json:"-"`
	Update   *rollingupdate.Snapshot `json:"-"`
	// Sets are the ReplicaSets after the step, by age, Asked and Available their sums.
	Sets      []Size `json:"sets"`
	Asked     int64  `json:"asked"`
	Available int64  `json:"available"`
}

// Leads reports whether the step is of the loop that the run is about, where it has others
// below it.
func (s *Step) Leads() bool { return s.Snapshot != nil || s.Update != nil }

// Wrote reports whether the step changed anything.
func (s *Step) Wrote() bool {
	return len(s.Round.Verdict.Actions) > 0 || s.Report != nil && s.Report.Publish
}

// Size is a ReplicaSet at one moment. What it counts are its pods, whatever its
// status says of them.
type Size struct {
	Name        string `json:"name"`
	Revision    string `json:"revision,omitempty"`
	New         bool   `json:"new,omitempty"` // it has the wanted template
	Replicas    int64  `json:"replicas"`      // spec.replicas
	Pods        int64  `json:"pods"`          // active ones
	Ready       int64  `json:"ready"`
	Available   int64  `json:"available"`
	Terminating int64  `json:"ending,omitempty"`
}

// Run lets the loops sync until nothing is left to happen, or to the bound. The
// cluster stays as it ends, so that it can be edited and run on.
func (c *Cluster) Run(b Bound) Result {
	if b.Syncs <= 0 {
		b.Syncs = usualSyncs
	}
	if b.Time <= 0 {
		b.Time = usualTime
	}
	r := Result{Began: c.now}
	last, settled := c.now.Add(b.Time), false
	for syncs := 0; syncs < b.Syncs; syncs++ {
		var more bool
		if more, settled = c.advance(last); !more {
			break
		}
		step := c.sync(c.pick())
		if step.Leads() || step.Wrote() {
			r.Steps = append(r.Steps, step)
		}
		if step.Wrote() {
			c.wrote = step.At
		}
	}
	r.Ended = c.wrote
	c.conclude(&r, settled)
	return r
}

// conclude says how the run ended, by deciding once more without acting. Where
// nothing will happen any more it speaks as of the moment from which the clock
// does not change the sentence: what has just happened is no news then. What is
// settled it tells as of when it came to be.
func (c *Cluster) conclude(r *Result, settled bool) {
	begin := c.conclusion()
	now := c.now
	if c.rolling != nil {
		now = c.wrote // Its deadline goes on ticking after its end.
	}
	r.describe(begin(now), now)
	for turns := 0; settled && turns < maxClockChanges && r.Sentence.ChangesAt.After(now); turns++ {
		now = r.Sentence.ChangesAt
		r.describe(begin(now), now)
	}
	if settled && r.Sentence.Tone == decision.ToneOK && !r.Sentence.Since.IsZero() {
		c.retell(r, begin)
	}
	switch {
	case !settled:
		r.End = Unsettled
	case c.rolling != nil && r.Sentence.Code == rollingupdate.Aborted:
		r.End = Aborted
	case c.rolling != nil && r.Sentence.Code == "gone":
		r.End = Complete // Nobody but the end of the update deletes the old one here.
	case r.Sentence.Tone == decision.ToneOK, c.alone != nil && c.alone.Want == 0 && len(c.sets[0].pods) == 0:
		r.End = Complete
	case c.overdue():
		r.End = Overdue
	case r.Sentence.Tone == decision.ToneFailed:
		r.End = Failed
	default:
		r.End = Waiting
	}
}

// retell says the same as of its beginning: for how long it has been so depends on how long the clock ran on.
func (c *Cluster) retell(r *Result, begin func(time.Time) decision.Core) {
	now, then := r.Sentence.Since, *r
	if r.Ended.After(now) {
		now = r.Ended
	}
	if then.describe(begin(now), now); then.Sentence.Code == r.Sentence.Code && len(then.Held) == len(r.Held) {
		*r = then
	}
}

// maxClockChanges bounds how often the clock alone may change a sentence.
const maxClockChanges = 4

// conclusion is a sync of the loop that the run is about, at an instant.
func (c *Cluster) conclusion() func(time.Time) decision.Core {
	if c.alone != nil {
		s := c.observe(c.sets[0])
		return func(now time.Time) decision.Core { s.Now = now; return replicaset.NewSync(s) }
	}
	if c.rolling != nil {
		s := c.updateOf(c.rolling.survivor())
		return func(now time.Time) decision.Core { s.Now = now; return rollingupdate.NewSync(s) }
	}
	s := c.Snapshot()
	return func(now time.Time) decision.Core { s.Now = now; return deployment.NewSync(s) }
}

// describe sets what the loop says in a sync.
func (r *Result) describe(core decision.Core, now time.Time) {
	x := decision.Sync{Core: core}
	x.Run(decision.Nobody)
	r.At, r.Held, r.Sentence = now, x.Rounds[0].Verdict.Held, x.Tell(decision.Try{}, now).Sentence
}

func (c *Cluster) overdue() bool {
	if c.rolling != nil {
		return c.rolling.overdue()
	}
	for _, cond := range c.spec.Status.Conditions {
		if cond.Reason == "ProgressDeadlineExceeded" {
			return true
		}
	}
	return false
}

// advance moves the clock to the first instant at which a loop is due. more is
// false where there is none up to last, settled where there is none at all.
func (c *Cluster) advance(last time.Time) (more, settled bool) {
	for {
		c.applyDue()
		if c.dueCount() > 0 {
			return true, false
		}
		at := c.upcoming()
		if at.IsZero() || at.After(last) {
			return false, at.IsZero()
		}
		c.now = at
	}
}

// upcoming is when the next thing happens; zero for never.
func (c *Cluster) upcoming() time.Time {
	next := timer{at: c.due.at}
	if len(c.plans) > 0 {
		next.fire(c.plans[0].at)
	}
	for _, m := range c.sets {
		next.fire(m.due.at)
		for _, p := range m.pods {
			next.fire(p.at)
		}
	}
	return next.at
}

// isDue reports whether an instant has come; a zero one never does.
func (c *Cluster) isDue(at time.Time) bool { return !at.IsZero() && !at.After(c.now) }

// applyDue lets everything happen whose time has come: edits, pods and alarms.
func (c *Cluster) applyDue() {
	for len(c.plans) > 0 && c.isDue(c.plans[0].at) {
		p := c.plans[0]
		c.plans = c.plans[1:]
		c.Edit(p.edits...)
	}
	for _, m := range c.sets {
		c.movePods(m)
	}
	for _, a := range c.timers() {
		if c.isDue(a.at) {
			*a = timer{now: true}
		}
	}
}

// timers are those of the Deployment and of its ReplicaSets.
func (c *Cluster) timers() []*timer {
	var list []*timer
	if c.alone == nil {
		list = append(list, &c.due)
	}
	for _, m := range c.sets {
		list = append(list, &m.due)
	}
	return list
}

// movePods lets the pods of a ReplicaSet change. A pod wakes its ReplicaSet, and
// as it comes and goes the Deployment; one that is gone leaves room for others.
func (c *Cluster) movePods(m *set) {
	kept := m.pods[:0]
	for _, p := range m.pods {
		gone := false
		for c.isDue(p.at) {
			gone, m.due.now, c.due.now = p.move(c), true, true
		}
		if !gone {
			kept = append(kept, p)
		}
	}
	if len(kept) < len(m.pods) {
		c.retry()
	}
	clear(m.pods[len(kept):])
	m.pods = kept
}

// retry wakes the ReplicaSets whose pods were refused.
func (c *Cluster) retry() {
	for _, m := range c.sets {
		m.due.now = m.due.now || m.refused
	}
}

func (c *Cluster) dueCount() (n int) {
	for _, a := range c.timers() {
		if a.now {
			n++
		}
	}
	return n
}

// pick chooses the loop that syncs now: nil for the Deployment, or a ReplicaSet.
func (c *Cluster) pick() *set {
	var due []*set
	if c.due.now && c.alone == nil {
		due = append(due, nil)
	}
	for _, m := range c.sets {
		if m.due.now {
			due = append(due, m)
		}
	}
	if len(due) < 2 || c.Rules.Next == nil {
		return due[0]
	}
	return due[c.Rules.Next(len(due))]
}
