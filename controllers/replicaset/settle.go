package replicaset

import (
	"fmt"
	"slices"
	"time"

	"github.com/loopscope/loopscope/telemetry/decision"
	"github.com/loopscope/loopscope/telemetry/prose"
)

// ExpectationsTimeout is how long a creation or deletion that was not seen
// blocks the next ones ([RS-3]).
const ExpectationsTimeout = 5 * time.Minute

// settle computes the report after the last round: the status as of the pods
// that were decided on, and the events of what acting did. It publishes nothing
// where the sync stopped or a claim failed ([RS-6]).
func settle(s *Snapshot, rounds []decision.Round) Report {
	r := last(rounds)
	report := Report{Status: s.Status}
	report.Events = events(rounds)
	if _, claim := failed(r, decision.Adopt, decision.Release); r.Verdict.Stop || claim != nil {
		return report
	}
	s = s.knowing(rounds)
	t := count(s)
	report.Status = status(s, rounds, t)
	report.Path = settlePath(s, rounds, t)
	report.Changes = changes(s.Status, report.Status)
	publish(s, &report)
	report.Timers = append(report.Timers, timers(s, rounds, t, &report.Path)...)
	return report
}

// settlePath asks what the status rests on.
func settlePath(s *Snapshot, rounds []decision.Round, t tally) decision.Path {
	var p decision.Path
	p.Ask("RS-7", s.countsTerminating(), decision.Count("terminating", t.terminating))
	why, message := manageError(rounds)
	if p.Ask("RS-9.failure", why != "") {
		_, o := managed(rounds)
		p.Last().Facts = []decision.Fact{
			decision.Text("reason", why), decision.Text("message", prose.ClipMiddle(message, longest)),
			decision.Count("done", o.Done), decision.Count("failed", o.Failed),
			decision.Count("untried", o.Untried), decision.Count("left", left(s, t, o)),
		}
	}
	p.Ask("RS-9.available", t.available == t.pods,
		decision.Count("pods", t.pods), decision.Count("ready", t.ready), decision.Count("available", t.available),
		decision.Count("unavailable", t.pods-t.available), decision.Count("notReady", t.pods-t.ready),
		decision.Count("settling", t.settling), decision.Count("blocked", t.blocked))
	if t.blocker != nil {
		p.Last().Facts = append(p.Last().Facts,
			decision.Text("blocker", t.blocker.Name), decision.Text("reason", reason(t.blocker)))
	}
	return p
}

// changes lists the fields in which the statuses differ.
func changes(from, to Status) []decision.Change {
	var out []decision.Change
	add := func(field string, a, b any) {
		if x, y := fmt.Sprint(a), fmt.Sprint(b); x != y {
			out = append(out, decision.Change{Field: "status." + field, From: x, To: y})
		}
	}
	add("observedGeneration", from.ObservedGeneration, to.ObservedGeneration)
	add("replicas", from.Replicas, to.Replicas)
	add("fullyLabeledReplicas", from.FullyLabeled, to.FullyLabeled)
	add("readyReplicas", from.Ready, to.Ready)
	add("availableReplicas", from.Available, to.Available)
	add("terminatingReplicas", pointed(from.Terminating), pointed(to.Terminating))
	add("conditions["+replicaFailure+"]", stated(failing(from.Conditions)), stated(failing(to.Conditions)))
	return out
}

func pointed(n *int64) string {
	if n == nil {
		return ""
	}
	return fmt.Sprint(*n)
}

// failing is the ReplicaFailure of a status; nil for none.
func failing(conditions []decision.Condition) *decision.Condition {
	i := slices.IndexFunc(conditions, func(c decision.Condition) bool { return c.Type == replicaFailure })
	if i < 0 {
		return nil
	}
	return &conditions[i]
}

// stated is status and reason of a condition, as one says of any what it was; "" for none.
func stated(c *decision.Condition) string {
	if c == nil {
		return ""
	}
	return c.Status + " " + c.Reason
}

// timers arms [RS-11] and the end of new expectations, so that the key is
// looked at again even if no event ever comes.
func timers(s *Snapshot, rounds []decision.Round, t tally, p *decision.Path) []decision.Timer {
	var out []decision.Timer
	if p.Ask("RS-11", t.ready != t.available,
		decision.Count("settling", t.settling), decision.Count("minReadySeconds", s.MinReady)) {
		at := t.settledAt
		if at.IsZero() {
			at = s.Now.Add(seconds(s.MinReady))
		}
		out = append(out, decision.Timer{At: at.UTC().Round(0), Code: timerMinReady, Question: "RS-11"})
	}
	if asked(rounds) {
		at := s.Now.Add(ExpectationsTimeout)
		out = append(out, decision.Timer{At: at.UTC().Round(0), Code: timerRequests, Question: "RS-3"})
	}
	return out
}

func seconds(n int64) time.Duration { return time.Duration(n) * time.Second }

// asked reports whether the sync leaves expectations behind: pods whose events
// are still to come. Those that a terminating namespace refused are not ([P-4]).
func asked(rounds []decision.Round) bool {
	for _, r := range rounds {
		for i := range r.Verdict.Actions {
			a := &r.Verdict.Actions[i]
			if i >= len(r.Outcomes) {
				continue
			}
			if toCome(a, r.Outcomes[i]) > 0 {
				return true
			}
		}
	}
	return false
}
