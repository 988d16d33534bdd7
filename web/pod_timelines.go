package web

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/loopscope/loopscope/controllers/replicaset"
	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/decision"
)

// maxLanePods bounds the pods of a ReplicaSet that have lanes: of more no line
// could be told from the next. maxLaneSnapshot bounds what is read for them,
// whatever the numbers say: they count no pod that is going.
const (
	maxLanePods     = 500
	maxLaneSnapshot = 192 << 10
)

func crowded(t *telemetry.Trace) bool {
	return numbersOf(t).or("pods") > maxLanePods || t.Snapshot.Bytes() > maxLaneSnapshot
}

// laneSnapshot is what a sync saw of the pods; nil where it saw none, or too many.
func laneSnapshot(loops decision.Loops, t *telemetry.Trace) *replicaset.Snapshot {
	if crowded(t) {
		return nil
	}
	snap, err := replicaSetSnapshot(loops, t)
	if err != nil {
		return nil
	}
	return snap
}

// podState is how far a pod is.
type podState uint8

const (
	podPending podState = iota // it does not run yet
	podRunning                 // it runs and is not ready
	podReady
	podTerminating
	podGone
)

type podStep struct {
	at time.Time
	is podState
}

// podTimeline is what is recorded of one pod: its steps, and what the newest sync
// of its ReplicaSet saw of it.
type podTimeline struct {
	name     string
	isNew    bool // of the new ReplicaSet
	minReady time.Duration
	steps    []podStep
	pod      *replicaset.Pod // nil where that sync did not see it
}

// timelinesOf puts together what is recorded of the pods of one ReplicaSet since
// then: the snapshots of the first and the newest sync, what woke the syncs
// between them, and what they created and deleted.
func timelinesOf(loops decision.Loops, traces []*telemetry.Trace, newest *telemetry.Trace, since time.Time) (lives []*podTimeline, last *replicaset.Snapshot) {
	first := slices.IndexFunc(traces, func(t *telemetry.Trace) bool { return !t.Ended.Before(since) })
	if first < 0 {
		traces = nil
	} else {
		traces = traces[first:]
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
		of.endMissing(newest.Ended)
	}
	return of.sorted(), last
}

// podTimelines is pods by name.
type podTimelines map[string]*podTimeline

func (of podTimelines) of(name string) *podTimeline {
	if of[name] == nil {
		of[name] = &podTimeline{name: name}
	}
	return of[name]
}

// addSnapshot adds what a snapshot says and no event has said.
func (of podTimelines) addSnapshot(snap *replicaset.Snapshot) {
	for _, l := range of {
		l.pod = nil
	}
	for i := range snap.Pods {
		p := &snap.Pods[i]
		if !p.Mine {
			continue
		}
		l := of.of(p.Name)
		l.pod, l.minReady = p, time.Duration(snap.MinReady)*time.Second
		l.once(podPending, p.Created)
		switch {
		case p.Ready:
			l.once(podReady, p.ReadySince)
		case p.Phase == "Running":
			l.once(podRunning, p.Created)
		case p.Phase == "Succeeded" || p.Phase == "Failed":
			l.once(podGone, snap.Now)
		}
		if p.Terminating {
			l.once(podTerminating, snap.Now)
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
			a, o := &r.Verdict.Actions[i], outcomeAt(r, i)
			switch {
			case a.Kind == decision.CreatePods:
				for _, name := range o.Names {
					of.of(name).once(podPending, t.Ended)
				}
			case a.Kind == decision.DeletePods && o.State == decision.Written:
				for _, v := range a.Victims {
					of.of(v.Name).once(podTerminating, t.Ended)
				}
			}
		}
	}
}

// endMissing ends those that the newest snapshot does not hold: what was recorded of
// their end came with a sync that is no longer kept.
func (of podTimelines) endMissing(at time.Time) {
	for _, l := range of {
		if l.pod == nil && l.furthest() != podPending { // A pod just created is not in the cache yet.
			l.once(podGone, at)
		}
	}
}

func (of podTimelines) sorted() []*podTimeline {
	list := make([]*podTimeline, 0, len(of))
	for _, l := range of {
		slices.SortStableFunc(l.steps, func(a, b podStep) int { return a.at.Compare(b.at) })
		l.steps = slices.CompactFunc(l.steps, func(a, b podStep) bool { return a.is == b.is }) // A snapshot and an event tell of one step.
		list = append(list, l)
	}
	slices.SortFunc(list, func(a, b *podTimeline) int {
		return cmp.Or(a.began().Compare(b.began()), strings.Compare(a.name, b.name))
	})
	return list
}

// event adds the step that an event of the pod tells of.
func (l *podTimeline) event(c *telemetry.Cause) {
	switch c.Kind {
	case telemetry.CauseAdded:
		l.once(podPending, c.At)
	case telemetry.CauseDeleted, telemetry.CauseTombstone:
		l.add(podGone, c.At)
	default:
		if is, ok := stepOf(c.Fields); ok {
			l.add(is, c.At)
		}
	}
}

// stepOf is how far a pod is by the fields that changed, the last step of several.
func stepOf(fields []decision.Change) (is podState, ok bool) {
	for _, f := range fields {
		next := podPending
		switch {
		case f.Field == "metadata.deletionTimestamp":
			next = podTerminating
		case f.Field == "status.phase" && (f.To == "Succeeded" || f.To == "Failed"):
			next = podGone
		case f.Field == "status.phase" && f.To == "Running":
			next = podRunning
		case f.Field == "status.conditions[Ready]" && f.To == "true":
			next = podReady
		case f.Field == "status.conditions[Ready]":
			next = podRunning
		}
		if next > is {
			is, ok = next, true
		}
	}
	return is, ok
}

func (l *podTimeline) add(is podState, at time.Time) { l.steps = append(l.steps, podStep{at, is}) }

// once adds a step of which nothing is known yet.
func (l *podTimeline) once(is podState, at time.Time) {
	if at.IsZero() || slices.ContainsFunc(l.steps, func(s podStep) bool { return s.is == is }) {
		return
	}
	l.add(is, at)
}

// began is when it was first seen.
func (l *podTimeline) began() time.Time {
	if len(l.steps) == 0 {
		return time.Time{}
	}
	return l.steps[0].at
}

// furthest is the last state that is recorded of it.
func (l *podTimeline) furthest() podState {
	is := podPending
	for _, s := range l.steps {
		is = max(is, s.is)
	}
	return is
}

// over reports whether it is gone.
func (l *podTimeline) over() bool {
	return slices.ContainsFunc(l.steps, func(s podStep) bool { return s.is == podGone })
}

// available reports whether the newest sync saw it available, as of now.
func (l *podTimeline) available(now time.Time) bool {
	return l.pod != nil && l.pod.Active() && l.pod.Ready && !l.pod.ReadySince.Add(l.minReady).After(now)
}
