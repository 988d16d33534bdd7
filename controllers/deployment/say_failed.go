package deployment

import (
	"slices"
	"strings"

	"github.com/loopscope/loopscope/controllers/diagnosis"
	"github.com/loopscope/loopscope/telemetry/decision"
	"github.com/loopscope/loopscope/telemetry/prose"
)

func (p *teller) gone() bool {
	if p.s.Found {
		return false
	}
	return p.say("gone", decision.ToneNeutral, "is", "gone",
		words("no Deployment of that name exists"), words("The garbage collector deletes its ReplicaSets, unless they were orphaned"))
}

func (p *teller) deleting() bool {
	if !p.s.Deleting {
		return false
	}
	kept := diagnosis.Kept{Deletion: p.s.Deletion, Awaited: p.awaited}
	if len(p.children) > 0 {
		kept.Meanwhile = "; until then its ReplicaSets keep their pods"
	}
	if going := p.pods().Deletion(kept, longLead); going != nil {
		p.out.Since = p.s.Deletion.Since
		return p.say("deleting", going.Tone, "is", "being deleted", going.Lead, going.Then)
	}
	return p.say("deleting", decision.ToneNeutral, "is", "being deleted",
		words("only its status is updated"), words("Its ReplicaSets are left to the garbage collector"))
}

func (p *teller) stopped() bool {
	if !p.namespaceTerminating() {
		return false
	}
	tone, lead, then := decision.ToneNeutral, words("its namespace is being deleted, so nothing can be created"), words("Nothing is retried")
	if list := p.blockingNamespace(); list != nil {
		f := &list[0]
		lead = p.fit(append(words("its namespace is being deleted; "), p.clause(f, true)...))
		then = words("The namespace is removed ")
		if f.NeedsAction {
			tone, then = decision.ToneWaiting, words("Needs action: the namespace is removed ")
		}
		then = append(then, f.Unblocks...)
	}
	p.out.Since = p.s.NamespaceTerminating
	return p.say("namespace-terminating", tone, "is", "stopped", lead, then)
}

func (p *teller) dropped() bool {
	if !p.try.Dropped {
		return false
	}
	const looks = "Looks again when it or a ReplicaSet changes, or at the next resync"
	lead := words("dropped after ").Count("tries", p.try.Limit).Say(prose.Plural(p.try.Limit, " try", " tries"))
	if kind, target, o := p.outcome(decision.Refused); o != nil && o.Failure != nil {
		return p.fails("dropped", p.droppedFor(lead, kind, target, o.Failure.Message), touched(o.Failure.Message).Say(looks))
	}
	switch f := p.last.Failed(); {
	case f != nil && f.Failure != nil:
		return p.fails("dropped", p.fit(lead.Say(lastError).Quote(f.Failure.Message)), touched(f.Failure.Message).Say(looks))
	case p.last.Verdict.Invalid != "":
		lead = lead.Say(lastError).Quote(p.last.Verdict.Invalid)
	}
	return p.fails("dropped", p.fit(lead), words(looks))
}

const lastError = ", the last error: "

// droppedFor adds the refusal that it was dropped for; of a permission, who lacks it is enough.
func (p *teller) droppedFor(lead decision.Words, kind decision.ActionKind, target decision.Ref, message string) decision.Words {
	all := append(slices.Clone(lead).Say(lastError), refusedWrite(kind, target, message)...)
	if who, ok := diagnosis.MayNot(message); ok && diagnosis.Length(all) > longLead {
		return append(lead.Say(": "), who...)
	}
	return p.fit(all)
}

// touched is what somebody has to do for one that is dropped: that its cause has ended wakes nobody.
func touched(message string) decision.Words {
	mended := "resolved"
	if _, lacking := diagnosis.MayNot(message); lacking {
		mended = "granted"
	}
	return words("Needs action: once that is " + mended + ", annotate the Deployment to wake it. ")
}

// refusedBefore is a new ReplicaSet that was refused when it was last tried, by whoever runs the loop: its
// condition says so to those who only look.
func (p *teller) refusedBefore() bool {
	c := refusedCreation(p.s)
	if c == nil || p.leaf != leafCreates || len(p.last.Outcomes) > 0 {
		return false
	}
	_, why, named := strings.Cut(c.Message, `": `)
	if !named {
		why = c.Message
	}
	p.out.Since = c.Transition
	lead := words("its new ReplicaSet was refused when it was last tried: ").Quote(why)
	if before, after, ok := diagnosis.ByName(why, "be created"); ok {
		lead = append(before.Say("its new ReplicaSet"), after...)
	}
	then := words("Unblocks when the refusing component allows it, or the template changes; after the last try it takes a change of the Deployment as well")
	if _, lacking := diagnosis.MayNot(why); lacking {
		then = diagnosis.UnlessGranted(why, words("After the last try it takes a change of the Deployment as well"))
	}
	return p.fails("create-refused", p.fit(lead), then)
}

func (p *teller) selectsAll() bool {
	if p.branch != branchSelectsAll {
		return false
	}
	return p.fails("selects-all", words("its empty selector selects every pod, so the loop does not act on it"),
		words("Unblocks when it is recreated with a selector"))
}

func (p *teller) invalid() bool {
	if p.last.Verdict.Invalid == "" {
		return false
	}
	return p.fails("invalid", p.fit(decision.Words{}.Quote(p.last.Verdict.Invalid)), words("Not retried until it changes"))
}

// refusal is a write that an API server refused, or that none answered.
func (p *teller) refusal() bool {
	if kind, target, o := p.outcome(decision.Unanswered); o != nil {
		return p.due(kind, target, o)
	}
	kind, target, o := p.outcome(decision.Refused)
	if o == nil || o.Failure == nil {
		return false
	}
	code := "write-refused"
	if kind == decision.CreateReplicaSet {
		code = "create-refused"
	}
	last := "; after the last try it is not retried until it or a ReplicaSet changes"
	if _, lacking := diagnosis.MayNot(o.Failure.Message); lacking {
		last = "; after the last it also takes a change of the Deployment"
	}
	return p.fails(code, p.fit(refusedWrite(kind, target, o.Failure.Message)), diagnosis.UnlessGranted(o.Failure.Message, p.tries(last)))
}

// refusedWrite tells of a refused write by its kind, which is "" for the status.
func refusedWrite(kind decision.ActionKind, target decision.Ref, message string) decision.Words {
	if kind == "" {
		return diagnosis.RefusedBy(words("its status update"), message, "proceed")
	}
	return diagnosis.RefusedWrite(target, kind == decision.CreateReplicaSet, message)
}

// due says what still has to be written while no API server is there, or able to serve.
func (p *teller) due(kind decision.ActionKind, target decision.Ref, o *decision.Outcome) bool {
	why, ok := diagnosis.Unanswered(o)
	if !ok {
		return false
	}
	lead := append(why, words(", so "+target.Kind+" ").Name(target.Name).Say(" still has to be "+diagnosis.Done(kind))...)
	return p.waits("unanswered", p.fit(lead), diagnosis.Again(p.try))
}
