package deployment

import (
	"strings"

	"github.com/loopscope/loopscope/controllers/decision"
)

func (p *speaker) gone() bool {
	if p.s.Found {
		return false
	}
	return p.say("gone", decision.ToneNeutral, "is", "gone",
		words("no Deployment of that name exists"), words("Its ReplicaSets are left to the garbage collector"))
}

func (p *speaker) deleting() bool {
	if !p.s.Deleting {
		return false
	}
	return p.say("deleting", decision.ToneNeutral, "is", "being deleted",
		words("only its status is kept up"), words("Its ReplicaSets are left to the garbage collector"))
}

func (p *speaker) namespaceEnds() bool {
	if !p.answered(qNamespace, decision.Yes) {
		return false
	}
	return p.say("namespace-terminating", decision.ToneNeutral, "is", "stopped",
		words("its namespace is being deleted, so nothing can be created"), words("Nothing is retried"))
}

func (p *speaker) dropped() bool {
	if !p.try.Dropped {
		return false
	}
	lead := words("dropped after ").Count("tries", p.try.Limit).Say(plural(p.try.Limit, " try", " tries"))
	if f := p.last.Failed(); f != nil && f.Failure != nil {
		lead = lead.Say(", the last error: ").Quote(clipped(f.Failure.Message, 70))
	} else if p.last.Verdict.Invalid != "" {
		lead = lead.Say(", the last error: ").Quote(clipped(p.last.Verdict.Invalid, 70))
	}
	return p.fails("dropped", lead, words("Looks again when it or a ReplicaSet changes, or at the next resync"))
}

func (p *speaker) selectsAll() bool {
	if !p.answered(qSelects, decision.Yes) {
		return false
	}
	return p.fails("selects-all", words("its empty selector selects every pod, so nothing is done for it"),
		words("Unblocks when it is made anew with a selector"))
}

func (p *speaker) invalid() bool {
	if p.last.Verdict.Invalid == "" {
		return false
	}
	return p.fails("invalid", decision.Words{}.Quote(clipped(p.last.Verdict.Invalid, 130)), words("Looks again when it changes"))
}

func (p *speaker) createRefused() bool {
	return p.each(func(a *decision.Action, o *decision.Outcome) bool {
		if a.Kind != decision.CreateReplicaSet || o.State != decision.Refused || o.Failure == nil {
			return false
		}
		return p.fails("create-refused",
			words("ReplicaSet ").Name(a.Target.Name).Say(" was refused: ").Quote(clipped(o.Failure.Message, 80)), p.tries())
	})
}

// writeRefused covers every other write, the status included.
func (p *speaker) writeRefused() bool {
	said := p.each(func(a *decision.Action, o *decision.Outcome) bool {
		return o.State == decision.Refused && o.Failure != nil && p.refused(a.Target, o)
	})
	if !said && p.report != nil && p.report.Outcome != nil && p.report.Outcome.State == decision.Refused && p.report.Outcome.Failure != nil {
		return p.refused(p.self(), p.report.Outcome)
	}
	return said
}

func (p *speaker) refused(target decision.Ref, o *decision.Outcome) bool {
	return p.fails("write-refused", words("the write of "+target.Kind+" ").Name(target.Name).
		Say(" was refused: ").Quote(clipped(o.Failure.Message, 80)), p.tries())
}

// deadlineOver is ProgressDeadlineExceeded: a mark, nothing more is done.
func (p *speaker) deadlineOver() bool {
	c := p.progressing()
	if c == nil || c.Reason != reasonDeadline || p.s.Deadline == nil {
		return false
	}
	since := p.s.LastProgress
	if since.IsZero() && !c.Updated.IsZero() {
		since = c.Updated.Add(-seconds(*p.s.Deadline))
	}
	p.out.Since = c.Updated
	lead := words("no progress before its deadline")
	if !since.IsZero() {
		lead = words("no progress for ").Since(since)
	}
	if p.missing() > 0 {
		lead = append(lead.Say(", "), p.blockers()...)
	}
	then := words("Unblocks when they become ready or the template changes")
	if p.imagePull() {
		then = words("Unblocks when that image exists or the template changes")
	}
	if p.oldTotal > 0 {
		then = then.Say("; ").Count(fOld, p.oldTotal).Say(plural(p.oldTotal, " old pod stays", " old pods stay"))
	}
	return p.fails("deadline", lead, then.Say("; nothing is rolled back, no timer runs"))
}

// podsRefused is ReplicaFailure: a ReplicaSet may not create or delete pods.
func (p *speaker) podsRefused() bool {
	rs := p.failing()
	if rs == nil || (rs.StatusReplicas == rs.Replicas && rs.Failure.Reason == "FailedCreate") {
		return false
	}
	p.out.Since = rs.Failure.Transition
	missing := max(0, rs.Replicas-rs.StatusReplicas)
	if rs == p.fresh && failureCode(rs.Failure) == heldQuota && missing > 0 {
		return p.overQuota(rs.Failure.Message, missing)
	}
	lead := words("ReplicaSet ").Name(rs.Name).Say(" cannot change its pods: ").Quote(clipped(rs.Failure.Message, 80))
	return p.fails("replica-failure", lead, p.clock(words("Its ReplicaSet goes on trying")))
}

// overQuota names the quota and its numbers in the words of the API server.
func (p *speaker) overQuota(message string, missing int64) bool {
	q := parseQuota(message)
	lead := words("quota ").Name(q.name).Say(" refuses ").Count(fUnborn, missing).Say(plural(missing, " new pod", " new pods"))
	if q.used != "" {
		lead = lead.Say(" (used ").Quote(q.used).Say(", limit ").Quote(q.limited).Say(")")
	}
	if p.oldTotal > 0 {
		lead = p.stay(lead)
	}
	return p.fails("quota", lead, p.clock(words("Its ReplicaSet goes on trying; unblocks when the quota leaves room")))
}

type quota struct{ name, used, limited string }

// parseQuota reads `exceeded quota: NAME, requested: ..., used: ..., limited: ...`.
func parseQuota(message string) quota {
	_, rest, _ := strings.Cut(message, "exceeded quota: ")
	name, rest, _ := strings.Cut(rest, ", requested: ")
	_, rest, _ = strings.Cut(rest, ", used: ")
	used, limited, _ := strings.Cut(rest, ", limited: ")
	return quota{clipped(name, 63), clipped(used, 30), clipped(limited, 30)}
}
