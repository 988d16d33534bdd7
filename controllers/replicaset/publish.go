package replicaset

import (
	"slices"

	"github.com/loopscope/loopscope/telemetry/decision"
)

// publish decides whether the status is written now, later or not at all. It is
// the one place for that decision.
func publish(s *Snapshot, r *Report) {
	differs := r.Path.Ask("RS-9.status", len(r.Changes) > 0, decision.Count("changes", int64(len(r.Changes))))
	if !differs {
		return
	}
	due := decision.Due(s.Now, s.Held, s.Lag)
	r.Hold = r.Path.Ask("RS-9.hold", !s.urgent(r.Status) && !s.reached(r.Status) && s.Now.Before(due),
		decision.Count("wanted", s.Want), decision.Count("available", r.Status.Available), decision.Duration("lag", s.Lag), decision.Instant("due", due))
	r.Publish = !r.Hold
	if r.Hold {
		r.Timers = append(r.Timers, decision.Timer{At: due, Code: timerStatus, Question: "RS-9.hold"})
	}
}

// urgent reports whether somebody may be waiting for this very change: fewer
// pods than published, a condition, a generation observed. Where a Deployment
// gave it a larger size nobody waits to hear that this was seen, only for the
// pods.
func (s *Snapshot) urgent(is Status) bool {
	was := s.Status
	grows := s.Owner != "" && is.Replicas > was.Replicas
	return is.ObservedGeneration != was.ObservedGeneration && !grows ||
		is.Replicas < was.Replicas || is.Ready < was.Ready || is.Available < was.Available ||
		!slices.Equal(is.Conditions, was.Conditions)
}

// reached reports whether the pods that were waited for are all there.
func (s *Snapshot) reached(is Status) bool {
	return is.Available > s.Status.Available && is.Replicas == s.Want && is.Available == s.Want
}

// reported is the tally that the status tells: pods that were created but are
// not in the cache yet count, and pods that were deleted do not, although the
// cache still shows them. Without this every creation and deletion would cost a
// status as of before it and another as of after it.
func reported(s *Snapshot, rounds []decision.Round, t tally) tally {
	created, deleted := s.Expect.Creates, map[string]bool{}
	for _, r := range rounds {
		for i := range r.Verdict.Actions {
			a := &r.Verdict.Actions[i]
			if i >= len(r.Outcomes) {
				break
			}
			switch a.Kind {
			case decision.CreatePods:
				created = r.Outcomes[i].Done // One creates only while nothing is expected.
			case decision.DeletePods:
				removed(deleted, a.Victims, &r.Outcomes[i])
			}
		}
	}
	for i := range s.Pods {
		if p := &s.Pods[i]; (p.Expected || deleted[p.UID]) && s.claimed(p) {
			t.remove(p, s)
		}
	}
	t.addExpected(created, max(s.Want, s.Status.Replicas))
	return t
}

// removed adds the victims that a deletion removed: all of them, or where it
// went only so far, those that its outcome names.
func removed(into map[string]bool, victims []decision.Victim, o *decision.Outcome) {
	for _, v := range victims {
		if o.State == decision.Written || slices.Contains(o.Names, v.Name) {
			into[v.UID] = true
		}
	}
}

// addExpected counts pods that are still to come into the cache. One may have come
// since the expectations were read, so they never make more than most: those that are
// wanted, or were counted before fewer were.
func (t *tally) addExpected(pods, most int64) {
	n := max(0, min(pods, most-t.pods))
	t.pods += n
	t.fullLabels += n
}

// remove takes a claimed pod out of the tally. On a node it ends slowly;
// anywhere else it is gone at once.
func (t *tally) remove(p *Pod, s *Snapshot) {
	t.pods--
	if p.FullLabels {
		t.fullLabels--
	}
	if p.Ready {
		t.ready--
	}
	if p.available(s.MinReady, s.Now) {
		t.available--
	}
	if p.Node != "" {
		t.terminating++
	}
}
