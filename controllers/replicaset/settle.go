package replicaset

import (
	"fmt"
	"slices"
	"time"

	"github.com/loopscope/loopscope/controllers/decision"
	"github.com/loopscope/loopscope/controllers/prose"
)

// ExpectationsTimeout is how long a creation or deletion that was not seen
// blocks the next ones ([RS-3]).
const ExpectationsTimeout = 5 * time.Minute

// replicaFailure is the only condition of this loop.
const replicaFailure = "ReplicaFailure"

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

// status computes [RS-9], with what this process asked for counted as done.
func status(s *Snapshot, rounds []decision.Round, t tally) Status {
	t = reported(s, rounds, t)
	st := Status{
		ObservedGeneration: s.Generation,
		Replicas:           t.pods,
		FullyLabeled:       t.fullLabels,
		Ready:              t.ready,
		Available:          t.available,
		Conditions:         conditions(s, rounds),
	}
	if s.countsTerminating() {
		st.Terminating = &t.terminating
	}
	return st
}

// countsTerminating reports whether status says how many pods are terminating. A
// ReplicationController's status has no such field.
func (s *Snapshot) countsTerminating() bool {
	return s.CountTerminating && s.Kind != "ReplicationController"
}

// conditions keeps a ReplicaFailure as it is while creating or deleting fails,
// adds it where there was none and removes it where nothing failed.
func conditions(s *Snapshot, rounds []decision.Round) []decision.Condition {
	isFailure := func(c decision.Condition) bool { return c.Type == replicaFailure }
	why, message := manageError(rounds)
	switch {
	case why == "":
		return slices.DeleteFunc(slices.Clone(s.Status.Conditions), isFailure)
	case slices.ContainsFunc(s.Status.Conditions, isFailure):
		return s.Status.Conditions
	default:
		return append(slices.Clone(s.Status.Conditions), decision.Condition{
			Type: replicaFailure, Status: "True", Reason: why, Message: message,
			Transition: s.Now.UTC().Round(0),
		})
	}
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
	if !slices.Equal(from.Conditions, to.Conditions) {
		out = append(out, decision.Change{
			Field: "status.conditions", From: named(from.Conditions), To: named(to.Conditions),
		})
	}
	return out
}

func pointed(n *int64) string {
	if n == nil {
		return "unset"
	}
	return fmt.Sprint(*n)
}

// named prints conditions by type, status and reason.
func named(conditions []decision.Condition) string {
	text := ""
	for _, c := range conditions {
		if text != "" {
			text += ", "
		}
		text += c.Type + "=" + c.Status
		if c.Reason != "" {
			text += " (" + c.Reason + ")"
		}
	}
	if text == "" {
		return "none"
	}
	return text
}

// events are the words of [EV-2] for everything that was created or deleted and
// for the first error of each kind. Claims have none.
func events(rounds []decision.Round) []decision.Event {
	var out []decision.Event
	for _, r := range rounds {
		for i := range r.Verdict.Actions {
			a := &r.Verdict.Actions[i]
			if i < len(r.Outcomes) {
				out = append(out, eventsOf(a, &r.Outcomes[i])...)
			}
		}
	}
	return out
}

func eventsOf(a *decision.Action, o *decision.Outcome) []decision.Event {
	var done, bad decision.Event
	switch a.Kind {
	case decision.CreatePods:
		done = decision.Event{Type: "Normal", Reason: "SuccessfulCreate", Message: "Created pod: "}
		bad = decision.Event{Type: "Warning", Reason: "FailedCreate", Message: "Error creating: "}
	case decision.DeletePods:
		done = decision.Event{Type: "Normal", Reason: "SuccessfulDelete", Message: "Deleted pod: "}
		bad = decision.Event{Type: "Warning", Reason: "FailedDelete", Message: "Error deleting: "}
	default:
		return nil
	}
	var out []decision.Event
	for _, name := range o.Names {
		e := done
		e.Message += name
		out = append(out, e)
	}
	if o.OK() || o.State == decision.NotTried {
		return out
	}
	if f := failure(o); f != nil {
		bad.Message += cause(f)
		out = append(out, bad)
	}
	return out
}

// timers arms [RS-11] and the end of new expectations, so that the key is
// looked at again even if no event ever comes.
func timers(s *Snapshot, rounds []decision.Round, t tally, p *decision.Path) []decision.Timer {
	var out []decision.Timer
	if p.Ask("RS-11", s.MinReady > 0 && t.ready != t.available,
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
// are still to come, or those that a terminating namespace refused, which stay
// expected so that nobody asks for them again soon ([P-4]).
func asked(rounds []decision.Round) bool {
	for _, r := range rounds {
		for i := range r.Verdict.Actions {
			a := &r.Verdict.Actions[i]
			if i >= len(r.Outcomes) {
				continue
			}
			if o := r.Outcomes[i]; toCome(a, o) > 0 || o.Failure != nil && o.Failure.Terminal {
				return true
			}
		}
	}
	return false
}
