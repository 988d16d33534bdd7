package deployment

import (
	"github.com/loopscope/loopscope/controllers/decision"
	"github.com/loopscope/loopscope/controllers/diagnosis"
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
	if !p.answered(qNamespace, decision.Yes) && p.s.NamespaceEnding.IsZero() {
		return false
	}
	lead, then := words("its namespace is being deleted, so nothing can be created"), words("Nothing is retried")
	if list := p.outliving(); list != nil {
		f := &list[0]
		p.turnsWithGrace()
		lead = p.fit(append(words("its namespace is being deleted; "), p.clause(f, true)...))
		then = words("The namespace goes ")
		if f.NeedsAction {
			then = words("Needs action: the namespace goes ")
		}
		then = append(then, f.Unblocks...)
	}
	p.out.Since = p.s.NamespaceEnding
	return p.say("namespace-terminating", decision.ToneNeutral, "is", "stopped", lead, then)
}

func (p *speaker) dropped() bool {
	if !p.try.Dropped {
		return false
	}
	lead := words("dropped after ").Count("tries", p.try.Limit).Say(plural(p.try.Limit, " try", " tries"))
	if f := p.last.Failed(); f != nil && f.Failure != nil {
		lead = lead.Say(", the last error: ").Quote(f.Failure.Message)
	} else if p.last.Verdict.Invalid != "" {
		lead = lead.Say(", the last error: ").Quote(p.last.Verdict.Invalid)
	}
	return p.fails("dropped", p.fit(lead), words("Looks again when it or a ReplicaSet changes, or at the next resync"))
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
	return p.fails("invalid", p.fit(decision.Words{}.Quote(p.last.Verdict.Invalid)), words("Looks again when it changes"))
}

// unanswered is an API server that is not there, or cannot serve.
func (p *speaker) unanswered() bool {
	said := p.each(func(a *decision.Action, o *decision.Outcome) bool { return p.due(a.Target, o) })
	if !said && p.report != nil && p.report.Outcome != nil {
		return p.due(p.self(), p.report.Outcome)
	}
	return said
}

// due says which write is due while nobody answers.
func (p *speaker) due(target decision.Ref, o *decision.Outcome) bool {
	why, ok := diagnosis.Unanswered(o)
	if !ok {
		return false
	}
	lead := append(why, words(", so the write of "+target.Kind+" ").Name(target.Name).Say(" is still due")...)
	return p.waits("unanswered", p.fit(lead), diagnosis.Again(p.try))
}

func (p *speaker) createRefused() bool {
	return p.each(func(a *decision.Action, o *decision.Outcome) bool {
		if a.Kind != decision.CreateReplicaSet || o.State != decision.Refused || o.Failure == nil {
			return false
		}
		return p.fails("create-refused",
			p.fit(words("ReplicaSet ").Name(a.Target.Name).Say(" was refused: ").Quote(o.Failure.Message)), p.tries())
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
	return p.fails("write-refused", p.fit(words("the write of "+target.Kind+" ").Name(target.Name).
		Say(" was refused: ").Quote(o.Failure.Message)), p.tries())
}
