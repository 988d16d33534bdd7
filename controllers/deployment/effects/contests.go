package effects

import (
	"slices"
	"strconv"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/loopscope/loopscope/controllers/deployment"
	"github.com/loopscope/loopscope/controllers/engine"
	"github.com/loopscope/loopscope/controllers/family"
	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/changes"
	"github.com/loopscope/loopscope/telemetry/decision"
	"github.com/loopscope/loopscope/telemetry/redact"
)

const (
	// unrelated is after how long a change has nothing to do with the one before it.
	unrelated = 10 * time.Minute
	// manyUnfinished is how many templates in turn are more than somebody's second and third try.
	manyUnfinished = 4
	// manyReturns is how often a field has to be set back to what it was before, and how many
	// pods have to be deleted that replaced others.
	manyReturns = 3
	// earlierValues bounds what is remembered of those.
	earlierValues = 4
)

// contests remembers how the template, the size and the pods of each Deployment were changed
// lately. The zero value is ready.
type contests struct {
	mu sync.Mutex
	of map[types.UID]*contest
}

// contest is of one Deployment. Of unfinished, the changes since a rollout completed are kept alone.
type contest struct {
	template, unfinished, size series
	// resizes are those by others of the ReplicaSet of that name, which was set back so many times.
	resizes series
	set     string
	setBack int
	// deleted are pods that others deleted since a ReplicaSet was resized.
	deleted series
}

// series are changes of one field, each soon after the one before.
type series struct {
	since, last time.Time
	changes     int64
	returns     int      // to a value that it had before; of pods, those that replaced others
	values      []string // those that it had, but for the present one
	by          []string
	low, high   int64
}

// note takes a change of a Deployment by whom its cause names.
func (c *contests) note(old, d *appsv1.Deployment, cause *telemetry.Cause) {
	changed := func(field string) bool {
		return slices.ContainsFunc(cause.Fields, func(f decision.Change) bool { return f.Field == field })
	}
	template, size := changed(changes.PathTemplate), changed(pathReplicas)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.of[d.UID] == nil && !template && !size {
		return
	}
	known := c.get(d.UID)
	if template {
		was, is := TemplateHash(&old.Spec.Template, nil), TemplateHash(&d.Spec.Template, nil)
		known.template.add(was, is, cause)
		known.unfinished.add(was, is, cause)
	}
	if d.Spec.Paused || rolledOut(d) {
		known.unfinished = series{}
	}
	if size {
		was, is := family.DefaultToOne(old.Spec.Replicas), family.DefaultToOne(d.Spec.Replicas)
		known.size.add(strconv.Itoa(int(was)), strconv.Itoa(int(is)), cause)
		known.size.between(int64(was), int64(is))
	}
}

// noteSet takes a change of a ReplicaSet of a Deployment: by others, or by whoever runs the Deployment loop.
func (c *contests) noteSet(d types.UID, old, rs *appsv1.ReplicaSet, cause *telemetry.Cause) {
	was, is := family.DefaultToOne(old.Spec.Replicas), family.DefaultToOne(rs.Spec.Replicas)
	if was == is {
		return
	}
	others := slices.ContainsFunc(cause.Managers(), func(name string) bool { return name != engine.Upstream })
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.of[d] == nil && !others {
		return
	}
	known := c.get(d)
	known.deleted = series{} // What was taken for others' doing may have been its loop, which had seen the new size.
	if known.set != rs.Name {
		known.set, known.resizes = rs.Name, series{}
	}
	switch {
	case others:
		if known.resizes.add(strconv.Itoa(int(was)), strconv.Itoa(int(is)), cause); known.resizes.changes == 1 {
			known.setBack = 0
		}
	case slices.Contains(known.resizes.values, strconv.Itoa(int(is))):
		known.setBack++
	}
}

// noteDeleted takes a pod that others deleted.
func (c *contests) noteDeleted(d types.UID, created, at time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	deleted := &c.get(d).deleted
	deleted.at(at)
	if !created.Before(deleted.since) {
		deleted.returns++
	}
}

// get is what is known of a Deployment, from now on.
func (c *contests) get(d types.UID) *contest {
	known := c.of[d]
	if known == nil {
		known = &contest{}
		if c.of == nil {
			c.of = map[types.UID]*contest{}
		}
		c.of[d] = known
	}
	return known
}

// rolledOut reports whether all pods are of the newest template, and available.
func rolledOut(d *appsv1.Deployment) bool {
	s, want := &d.Status, family.DefaultToOne(d.Spec.Replicas)
	return s.ObservedGeneration >= d.Generation && s.UpdatedReplicas == want && s.Replicas == want && s.AvailableReplicas == want
}

func (s *series) at(now time.Time) {
	if now.Sub(s.last) > unrelated {
		*s = series{since: now}
	}
	s.last = now
	s.changes++
}

func (s *series) add(was, is string, cause *telemetry.Cause) {
	s.at(cause.At)
	if slices.Contains(s.values, is) {
		s.returns++
	}
	if !slices.Contains(s.values, was) {
		s.values = append(s.values[max(0, len(s.values)-earlierValues+1):], was)
	}
	for _, name := range cause.Managers() {
		if name = redact.Line(name); !slices.Contains(s.by, name) && len(s.by) < deployment.MaxContestants {
			s.by = append(s.by, name)
			slices.Sort(s.by)
		}
	}
}

func (s *series) between(sizes ...int64) {
	if s.changes == 1 {
		s.low, s.high = sizes[0], sizes[0]
	}
	s.low, s.high = min(s.low, slices.Min(sizes)), max(s.high, slices.Max(sizes))
}

// backAndForth reports whether at least two set a field back time and again. One alone, such as an
// autoscaler, may have its reasons.
func (s *series) backAndForth() bool { return s.returns >= manyReturns && len(s.by) > 1 }

// current is what a snapshot takes of it; nil for nothing.
func (c *contests) current(d types.UID, now time.Time) *deployment.Contest {
	c.mu.Lock()
	defer c.mu.Unlock()
	known := c.of[d]
	switch {
	case known == nil:
		return nil
	case known.template.backAndForth():
		return known.template.contest(deployment.ContestedTemplate, now)
	case known.unfinished.changes >= manyUnfinished:
		return known.unfinished.contest(deployment.ContestedTemplate, now)
	case known.size.backAndForth():
		return known.size.contest(deployment.ContestedSize, now)
	case known.setBack >= manyReturns:
		c := known.resizes.contest(deployment.ContestedSet, now)
		if c != nil {
			c.Object, c.BackAndForth = known.set, true
		}
		return c
	case known.deleted.returns >= manyReturns:
		return known.deleted.contest(deployment.ContestedPods, now)
	default:
		return nil
	}
}

func (s *series) contest(field deployment.ContestedField, now time.Time) *deployment.Contest {
	c := &deployment.Contest{Field: field, Since: s.since, Last: s.last, Changes: s.changes, By: slices.Clone(s.by), BackAndForth: s.backAndForth(), Low: s.low, High: s.high}
	if !now.Before(c.Over()) {
		return nil
	}
	return c
}

func (c *contests) forget(d types.UID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.of, d)
}
