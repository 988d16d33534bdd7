package replicaset

import (
	"cmp"
	"math/bits"
	"slices"
	"strings"
	"time"

	"github.com/loopscope/loopscope/telemetry/decision"
)

// victimFacts bounds the victims whose ranking is recorded, so that a trace
// stays small where hundreds of pods go at once.
const victimFacts = 50

// candidate is an active pod with the values that rank it ([P-5]), computed once.
type candidate struct {
	pod   *Pod
	phase int64 // Pending 0, Unknown 1, Running 2
	// settling is set on a pod that is ready but not available yet.
	settling  bool
	cost      int64
	colocated int64
	// readyZero is set on a ready pod that does not say since when.
	readyZero   bool
	readyBucket int64
	ageBucket   int64
}

func newCandidate(s *Snapshot, p *Pod) candidate {
	c := candidate{pod: p, phase: phaseRank(p.Phase), colocated: s.Siblings[p.Node]}
	c.settling = p.Ready && !p.available(s.MinReady, s.Now)
	if s.DeletionCost {
		c.cost = p.Cost
	}
	if p.Ready {
		c.readyZero, c.readyBucket = p.ReadySince.IsZero(), bucket(p.ReadySince, s.Now)
	}
	c.ageBucket = bucket(p.Created, s.Now)
	return c
}

func phaseRank(phase string) int64 {
	switch phase {
	case "Running":
		return 2
	case "Unknown":
		return 1
	default:
		return 0
	}
}

// bucket is the whole binary logarithm of an age in nanoseconds, -1 for no age
// at all ([P-8]). Ages of one bucket are alike, so that deletions spread over failure
// domains instead of following the clock.
func bucket(since, now time.Time) int64 {
	age := now.Sub(since)
	if since.IsZero() || age <= 0 {
		return -1
	}
	return int64(bits.Len64(uint64(age))) - 1
}

// head compares criteria 1 to 5 and, of ready pods, the bucket of criterion 6.
// Among the ready ones those that are not available yet go first, which upstream
// does not ask: a Deployment that shrinks an old ReplicaSet by its unavailable
// pods counts on that, or it would fall below its floor.
// Pods that it finds equal make a run, which tail and UIDs put in order.
func head(a, b *candidate) int {
	return cmp.Or(state(a, b), first(a.settling, b.settling), place(a, b))
}

// state compares criteria 1 to 3.
func state(a, b *candidate) int {
	return cmp.Or(first(a.pod.Node == "", b.pod.Node == ""), cmp.Compare(a.phase, b.phase), first(!a.pod.Ready, !b.pod.Ready))
}

// place compares criteria 4, 5 and the bucket of 6.
func place(a, b *candidate) int {
	return cmp.Or(cmp.Compare(a.cost, b.cost), cmp.Compare(b.colocated, a.colocated), first(a.readyZero, b.readyZero), cmp.Compare(a.readyBucket, b.readyBucket))
}

// tail compares criteria 7 and 8 of pods that got ready at the same instant.
func tail(a, b *candidate) int { return cmp.Or(history(a, b), byUID(a, b)) }

// history compares criteria 7 and 8 without the UIDs.
func history(a, b *candidate) int {
	return cmp.Or(
		cmp.Compare(b.pod.Restarts, a.pod.Restarts),
		cmp.Compare(b.pod.SidecarRestarts, a.pod.SidecarRestarts),
		first(a.pod.Created.IsZero(), b.pod.Created.IsZero()),
		cmp.Compare(a.ageBucket, b.ageBucket),
	)
}

func byUID(a, b *candidate) int {
	return cmp.Or(strings.Compare(a.pod.UID, b.pod.UID), strings.Compare(a.pod.Name, b.pod.Name))
}

// first puts the one that is before the one that is not.
func first(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	default:
		return 1
	}
}

// order sorts candidates, the one to delete first in front.
func order(cs []candidate) {
	slices.SortFunc(cs, func(a, b candidate) int { return cmp.Or(head(&a, &b), byUID(&a, &b)) })
	for start := 0; start < len(cs); {
		end := start
		for end < len(cs) && head(&cs[start], &cs[end]) == 0 {
			end++
		}
		orderRun(cs[start:end])
		start = end
	}
}

// orderRun sorts a run that is sorted by UID. Upstream compares pods that got
// ready at different instants by UID, and those of one instant by tail; that
// relation is not transitive among three pods, and its result then depends on the
// sorting algorithm; nor does it put pods of one instant in order that were created
// in one second. Here a pod's place is the number of pods that go before it
// pair by pair, then its UID: the same order wherever upstream has one, and a
// deterministic one where it has none.
func orderRun(run []candidate) {
	if len(run) < 2 {
		return
	}
	type placed struct {
		candidate
		before int
	}
	places, groups := make([]placed, len(run)), map[time.Time][]int{}
	for i, c := range run {
		places[i] = placed{c, i}
		groups[c.readyAt()] = append(groups[c.readyAt()], i)
	}
	for _, group := range groups {
		byTail := slices.Clone(group)
		slices.SortFunc(byTail, func(i, j int) int { return tail(&run[i], &run[j]) })
		for at, i := range group {
			places[i].before -= at
		}
		for at, i := range byTail {
			places[i].before += at
		}
	}
	slices.SortStableFunc(places, func(a, b placed) int { return cmp.Compare(a.before, b.before) })
	for i := range places {
		run[i] = places[i].candidate
	}
}

// ranked returns the n active pods that go first, with the facts of the first few.
func ranked(s *Snapshot, active []*Pod, n int64) []decision.Victim {
	cs := make([]candidate, len(active))
	for i, p := range active {
		cs[i] = newCandidate(s, p)
	}
	order(cs)
	victims := make([]decision.Victim, n)
	for i := range victims {
		victims[i] = decision.Victim{Name: cs[i].pod.Name, UID: cs[i].pod.UID, Rank: int64(i) + 1}
		if i < victimFacts {
			victims[i].Facts = cs[i].facts(s.Now)
		}
	}
	return victims
}

// listed returns all pods as victims. Nothing ranks them, so nothing is recorded.
func listed(active []*Pod) []decision.Victim {
	victims := make([]decision.Victim, len(active))
	for i, p := range active {
		victims[i] = decision.Victim{Name: p.Name, UID: p.UID, Rank: int64(i) + 1}
	}
	return victims
}

// readyAt is the instant at which a pod got ready; the zero time of one that is not.
func (c *candidate) readyAt() time.Time {
	if !c.pod.Ready {
		return time.Time{}
	}
	return c.pod.ReadySince.UTC().Round(0)
}

// facts are the values of all criteria, in the order in which they are compared.
func (c *candidate) facts(now time.Time) []decision.Fact {
	facts := []decision.Fact{
		decision.Bool("unassigned", c.pod.Node == ""),
		decision.Text("phase", c.pod.Phase),
		decision.Bool("ready", c.pod.Ready),
		decision.Bool("settling", c.settling),
		decision.Count("deletionCost", c.cost),
		decision.Count("colocated", c.colocated),
	}
	if c.pod.Ready {
		facts = append(facts, age("readyFor", c.pod.ReadySince, now), decision.Count("readyBucket", c.readyBucket))
	}
	return append(facts,
		decision.Count("restarts", c.pod.Restarts),
		decision.Count("sidecarRestarts", c.pod.SidecarRestarts),
		age("age", c.pod.Created, now), decision.Count("ageBucket", c.ageBucket),
		decision.Text("uid", c.pod.UID))
}

// age is how long ago something was; what has no time has no age.
func age(name string, since, now time.Time) decision.Fact {
	if since.IsZero() {
		return decision.Duration(name, 0)
	}
	return decision.Duration(name, now.Sub(since))
}
