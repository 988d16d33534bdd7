package timeline

import (
	"maps"
	"slices"
	"sort"
	"time"

	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/decision"
)

// maxLooks bounds how many snapshots are read to find when pods went.
const maxLooks = 32

// sightings are the syncs of a ReplicaSet that say which pods it had, oldest first.
type sightings struct {
	loops  decision.Loops
	traces []*telemetry.Trace
	read   map[*telemetry.Trace]*sighting
}

// sighting is what one sync saw of the pods.
type sighting struct {
	pods map[string]bool
	// since is when pods began to be created that the cache may not have held yet.
	since time.Time
}

func sightingsOf(loops decision.Loops, traces []*telemetry.Trace) *sightings {
	return &sightings{loops: loops, traces: traces, read: map[*telemetry.Trace]*sighting{}}
}

// look reads what a sync saw; nil where that is not known, or enough was read.
func (s *sightings) look(t *telemetry.Trace) *sighting {
	if seen, ok := s.read[t]; ok || len(s.read) >= maxLooks {
		return seen
	}
	s.read[t] = nil
	snap := laneSnapshot(s.loops, t)
	if snap == nil {
		return nil
	}
	seen := &sighting{pods: make(map[string]bool, len(snap.Pods)), since: snap.Now}
	if snap.Expect.Creates > 0 {
		seen.since = snap.Expect.Since
	}
	for i := range snap.Pods {
		seen.pods[snap.Pods[i].Name] = true
	}
	s.read[t] = seen
	return seen
}

// without reports whether a pod was gone when that sync looked, as far as that is known.
func (s *sightings) without(t *telemetry.Trace, l *Pod) bool {
	seen := s.look(t)
	return seen != nil && !seen.pods[l.Name] && (l.Furthest() != Pending || l.began().Before(seen.since))
}

// end is when the first sync looked that found a pod gone, which the newest did.
func (s *sightings) end(l *Pod) time.Time {
	after := slices.MaxFunc(l.Steps, func(a, b Step) int { return a.At.Compare(b.At) }).At
	before := len(s.traces) - 1
	first := sort.Search(before, func(i int) bool { return !s.traces[i].Started.Before(after) && s.without(s.traces[i], l) })
	return s.traces[first].Started
}

// endMissing ends those that the newest sync did not see: what was recorded of their end
// was only counted, or came with a sync that is no longer kept.
func (of podTimelines) endMissing(s *sightings) {
	newest := s.traces[len(s.traces)-1]
	for _, name := range slices.Sorted(maps.Keys(of)) { // In that order, should enough have been read.
		if l := of[name]; l.Pod == nil && len(l.Steps) > 0 && !l.Over() && s.without(newest, l) {
			l.add(Gone, s.end(l))
		}
	}
}
