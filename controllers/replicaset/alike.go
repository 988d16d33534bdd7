package replicaset

import (
	"slices"

	"github.com/loopscope/loopscope/telemetry/decision"
)

// upstream compares as Kubernetes does: without what departure 31 adds, and with 0 for two that it
// does not put in an order.
func upstream(a, b *candidate) int {
	switch c := state(a, b); {
	case c != 0:
		return c
	case place(a, b) != 0:
		return place(a, b)
	case !a.readyAt().Equal(b.readyAt()):
		return byUID(a, b)
	case history(a, b) != 0:
		return history(a, b)
	case a.pod.Created.Equal(b.pod.Created):
		return 0
	default:
		return byUID(a, b)
	}
}

// ranks are the active pods as Kubernetes ranks them, first those that go first. Pods of one rank
// go in any order: its comparison leaves it open, or goes round in a circle among them.
func (s *Snapshot) ranks() (list [][]candidate) {
	var cs []candidate
	for _, p := range canonical(s.Pods) {
		if s.claimed(p) {
			c := newCandidate(s, p)
			c.settling = false
			cs = append(cs, c)
		}
	}
	order(cs)
	for start, reach := 0, 0; start < len(cs); start = reach {
		reach = start + 1
		for i := start; i < reach; i++ {
			for j := len(cs) - 1; j >= reach; j-- {
				if upstream(&cs[i], &cs[j]) >= 0 {
					reach = j + 1
				}
			}
		}
		list = append(list, cs[start:reach])
	}
	return list
}

// Alike are the pods that Kubernetes ranks as it ranks that one, itself included; see decision.Ranked.
func (s *Snapshot) Alike(kind, name string) (names []string) {
	if s.podNamed(kind, name) < 0 {
		return nil
	}
	for _, rank := range s.ranks() {
		if slices.ContainsFunc(rank, func(c candidate) bool { return c.pod.Name == name }) {
			for i := range rank {
				names = append(names, rank[i].pod.Name)
			}
		}
	}
	return names
}

// Departure is 31 where Kubernetes may have deleted an available pod on this snapshot before one that is
// ready and not available yet, as it ranks pods without asking for that. See decision.Departing.
func (s *Snapshot) Departure(seen *decision.Prediction) int {
	at := s.podNamed(seen.Of, seen.Name)
	if seen.Aspect != decision.AspectDeletion || at < 0 || !s.Pods[at].available(s.MinReady, s.Now) {
		return 0
	}
	ranks := s.ranks()
	surplus := -s.Want
	for _, rank := range ranks {
		surplus += int64(len(rank))
	}
	settling := func(c candidate) bool { return c.pod.Ready && !c.pod.available(s.MinReady, s.Now) }
	for i, rank := range ranks {
		if surplus > 0 && slices.ContainsFunc(rank, func(c candidate) bool { return c.pod.Name == seen.Name }) {
			if slices.ContainsFunc(slices.Concat(ranks[i:]...), settling) {
				return 31
			}
			return 0
		}
		surplus -= int64(len(rank))
	}
	return 0
}
