// Package timeline puts together what syncs recorded over time: the lives of pods, the
// sizes of an object, the bursts in which syncs come. It draws nothing.
package timeline

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/loopscope/loopscope/controllers/replicaset"
	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/decision"
	"github.com/loopscope/loopscope/web/facts"
)

// maxLanePods bounds the pods of a ReplicaSet that have lanes: of more no line
// could be told from the next. maxLaneSnapshot bounds what is read for them,
// whatever the numbers say: they count no pod that is going.
const (
	maxLanePods     = 500
	maxLaneSnapshot = 192 << 10
)

// Crowded reports whether a ReplicaSet has too many pods for each to have a line.
func Crowded(t *telemetry.Trace) bool {
	return facts.NumbersOf(t).Or("pods") > maxLanePods || t.Snapshot.Bytes() > maxLaneSnapshot
}

// laneSnapshot is what a sync saw of the pods; nil where it saw none, or too many.
func laneSnapshot(loops decision.Loops, t *telemetry.Trace) *replicaset.Snapshot {
	if Crowded(t) {
		return nil
	}
	snap, err := facts.ReplicaSet(loops, t)
	if err != nil {
		return nil
	}
	return snap
}

// State is how far a pod is.
type State uint8

// The states in their order.
const (
	Pending State = iota // it does not run yet
	Running              // it runs and is not ready
	Ready
	Terminating
	Gone
)

// Step is how far a pod was from a moment on.
type Step struct {
	At time.Time
	Is State
}

// Pod is what is recorded of one pod: its steps, and what the newest sync
// of its ReplicaSet saw of it.
type Pod struct {
	Name     string
	IsNew    bool // of the new ReplicaSet
	MinReady time.Duration
	Steps    []Step
	Pod      *replicaset.Pod // nil where that sync did not see it
}

// Of puts together what is recorded of the pods of one ReplicaSet since
// then: the snapshots of the first and the newest sync, what woke the syncs
// between them, and what they created and deleted.
func Of(loops decision.Loops, traces []*telemetry.Trace, newest *telemetry.Trace, since time.Time) (lives []*Pod, last *replicaset.Snapshot) {
	first := slices.IndexFunc(traces, func(t *telemetry.Trace) bool { return !t.Ended.Before(since) })
	if first < 0 {
		traces = nil
	} else {
		traces = traces[first:]
	}
	if later := slices.IndexFunc(traces, func(t *telemetry.Trace) bool { return t.Started.After(newest.Started) }); later >= 0 {
		traces = traces[:later] // They were recorded while the page was put together.
	}
	last = laneSnapshot(loops, newest)
	of := podTimelines{}
	if len(traces) > 0 && traces[0] != newest {
		if opening := laneSnapshot(loops, traces[0]); opening != nil {
			of.addSnapshot(opening)
		}
	}
	for _, t := range traces {
		of.addCauses(t)
	}
	if last != nil {
		of.addSnapshot(last)
		if n := len(traces); n == 0 || traces[n-1] != newest {
			traces = append(traces[:n:n], newest)
		}
		of.endMissing(sightingsOf(loops, traces))
	}
	return of.sorted(), last
}

// podTimelines is pods by name.
type podTimelines map[string]*Pod

func (of podTimelines) of(name string) *Pod {
	if of[name] == nil {
		of[name] = &Pod{Name: name}
	}
	return of[name]
}

// addSnapshot adds what a snapshot says and no event has said.
func (of podTimelines) addSnapshot(snap *replicaset.Snapshot) {
	for _, l := range of {
		l.Pod = nil
	}
	for i := range snap.Pods {
		p := &snap.Pods[i]
		if !p.Mine {
			continue
		}
		l := of.of(p.Name)
		l.Pod, l.MinReady = p, time.Duration(snap.MinReady)*time.Second
		l.Once(Pending, p.Created)
		switch {
		case p.Ready:
			l.Once(Ready, p.ReadySince)
		case p.Phase == "Running":
			l.Once(Running, p.Created)
		case p.Phase == "Succeeded" || p.Phase == "Failed":
			l.Once(Gone, snap.Now)
		}
		if p.Terminating {
			l.Once(Terminating, snap.Now)
		}
	}
}

// addCauses adds what woke a sync, and what it created and deleted.
func (of podTimelines) addCauses(t *telemetry.Trace) {
	for i := range t.Causes {
		c := &t.Causes[i]
		if name, ok := strings.CutPrefix(c.Object, "Pod "); ok {
			of.of(name).event(c)
		}
	}
	for _, r := range t.Rounds {
		for i := range r.Verdict.Actions {
			a, o := &r.Verdict.Actions[i], facts.OutcomeAt(r, i)
			switch {
			case a.Kind == decision.CreatePods:
				for _, name := range o.Names {
					of.of(name).Once(Pending, t.Ended)
				}
			case a.Kind == decision.DeletePods:
				for _, name := range deleted(a, o) {
					of.of(name).Once(Terminating, t.Started) // One without a node is gone before the sync ends.
				}
			}
		}
	}
}

// deleted are the pods that were, or the first of them where others were not.
func deleted(a *decision.Action, o *decision.Outcome) []string {
	if o.State != decision.Written {
		return o.Names
	}
	names := make([]string, len(a.Victims))
	for i, v := range a.Victims {
		names[i] = v.Name
	}
	return names
}

func (of podTimelines) sorted() []*Pod {
	list := make([]*Pod, 0, len(of))
	for _, l := range of {
		slices.SortStableFunc(l.Steps, func(a, b Step) int { return a.At.Compare(b.At) })
		l.endOnly()
		l.Steps = slices.CompactFunc(l.Steps, func(a, b Step) bool { return a.Is == b.Is }) // A snapshot and an event tell of one step.
		list = append(list, l)
	}
	slices.SortFunc(list, func(a, b *Pod) int {
		return cmp.Or(a.began().Compare(b.began()), strings.Compare(a.Name, b.Name))
	})
	return list
}

// endOnly removes the steps of a pod that is on its way out or gone, which becomes unready as it stops.
func (l *Pod) endOnly() {
	if end := slices.IndexFunc(l.Steps, func(s Step) bool { return s.Is >= Terminating }); end >= 0 {
		ends := slices.DeleteFunc(l.Steps[end:], func(s Step) bool { return s.Is < Terminating })
		l.Steps = l.Steps[:end+len(ends)]
	}
}

// event adds the step that an event of the pod tells of.
func (l *Pod) event(c *telemetry.Cause) {
	switch c.Kind {
	case telemetry.CauseAdded:
		l.Once(Pending, c.At)
	case telemetry.CauseDeleted, telemetry.CauseTombstone:
		l.add(Gone, c.At)
	default:
		if is, ok := stepOf(c.Fields); ok {
			l.add(is, c.At)
		}
	}
}

// stepOf is how far a pod is by the fields that changed, the last step of several.
func stepOf(fields []decision.Change) (is State, ok bool) {
	for _, f := range fields {
		next := Pending
		switch {
		case f.Field == "metadata.deletionTimestamp":
			next = Terminating
		case f.Field == "status.phase" && (f.To == "Succeeded" || f.To == "Failed"):
			next = Gone
		case f.Field == "status.phase" && f.To == "Running":
			next = Running
		case f.Field == "status.conditions[Ready]" && f.To == "true":
			next = Ready
		case f.Field == "status.conditions[Ready]":
			next = Running
		}
		if next > is {
			is, ok = next, true
		}
	}
	return is, ok
}

func (l *Pod) add(is State, at time.Time) { l.Steps = append(l.Steps, Step{at, is}) }

// Once adds a step of which nothing is known yet.
func (l *Pod) Once(is State, at time.Time) {
	if at.IsZero() || slices.ContainsFunc(l.Steps, func(s Step) bool { return s.Is == is }) {
		return
	}
	l.add(is, at)
}

// began is when it was first seen.
func (l *Pod) began() time.Time {
	if len(l.Steps) == 0 {
		return time.Time{}
	}
	return l.Steps[0].At
}

// Furthest is the last state that is recorded of it.
func (l *Pod) Furthest() State {
	is := Pending
	for _, s := range l.Steps {
		is = max(is, s.Is)
	}
	return is
}

// Over reports whether it is gone.
func (l *Pod) Over() bool {
	return slices.ContainsFunc(l.Steps, func(s Step) bool { return s.Is == Gone })
}

// Available reports whether the newest sync saw it available, as of now.
func (l *Pod) Available(now time.Time) bool {
	return l.Pod != nil && l.Pod.Active() && l.Pod.Ready && !l.Pod.ReadySince.Add(l.MinReady).After(now)
}
