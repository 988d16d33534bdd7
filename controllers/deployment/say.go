package deployment

import (
	"slices"
	"time"

	"github.com/loopscope/loopscope/controllers/diagnosis"
	"github.com/loopscope/loopscope/telemetry/decision"
)

// recent is for how long a sentence tells what has just happened to a Deployment.
const recent = time.Minute

// sentence says what there is to say, as of p.now. What makes the rest pointless
// comes first, then in the order of tones: failed, neutral, moving, waiting, ok.
func (p *teller) sentence() decision.Sentence {
	said := p.ended() || p.failed() || p.paused() || p.mutated() || p.contested() || p.planned() || p.wrote() || p.moving() || p.interrupted()
	if !said {
		p.waitsOrIdle()
	}
	p.out.NoteChange(p.turns, p.now)
	return p.out
}

// ended is an object that is not there for long, or not any more.
func (p *teller) ended() bool { return p.gone() || p.deleting() || p.stopped() }

// failed is what failed in this sync, and then what fails by the cluster's word.
func (p *teller) failed() bool {
	if p.dropped() || p.selectsAll() || p.invalid() || p.refusal() || p.refusedBefore() {
		return true
	}
	return !p.answersRollback() && (p.deadlineOver() || p.podsRefused()) // Who asked for a rollback is told what became of it.
}

// answersRollback reports whether this sync did what a rollback asks for, or found that it cannot be done.
func (p *teller) answersRollback() bool {
	return p.branch == branchRestore && len(p.written(func(*decision.Action) bool { return true })) > 0
}

// wrote tells what this sync wrote, where that moves the object on.
func (p *teller) wrote() bool {
	switch p.leaf {
	case leafCollides:
		return p.collision()
	case leafCreates:
		return p.made()
	case leafStamps:
		return p.usedAgain()
	case leafScales, leafProportional, leafSteps:
		return p.scaledFirst() || p.scaledNow()
	case leafNoRevision, leafNoSource, leafSame, leafRestores:
		return p.restored()
	default:
		return false
	}
}

// waitsOrIdle tells what it waits for, or that it waits for nothing.
func (p *teller) waitsOrIdle() {
	switch p.leaf {
	case leafEcho:
		p.ownWrite()
	case leafClaims:
		p.claiming()
	case leafNotCached, leafParent:
		p.lookingAgain()
	default:
		_ = p.annotated() || p.blocked() || p.unfinished() || p.onItsWay() || p.settled() || p.short()
	}
}

// teller says one sentence.
type teller struct {
	*view
	end
	last   decision.Round
	report *Report
	status Status // as it is after this sync
	try    decision.Try
	out    decision.Sentence
	aside  *decision.Action // as of a Sync
}

func newTeller(v *view, e end, rounds []decision.Round, report *Report, try decision.Try) *teller {
	p := &teller{view: v, end: e, last: rounds[len(rounds)-1], report: report, status: v.s.Status, try: try}
	p.out = decision.Sentence{Namespace: v.s.Namespace, Object: v.s.Name}
	if report != nil && (report.Publish || report.Hold) {
		p.status = report.Status
	}
	return p
}

// words of an empty sentence part.
func words(text string) decision.Words { return decision.Words{}.Say(text) }

// say fills in the sentence and reports that it is said.
func (p *teller) say(code string, tone decision.Tone, verb, state string, lead, then decision.Words) bool {
	p.out.Code, p.out.Tone, p.out.Verb, p.out.State = code, tone, verb, state
	p.out.Lead, p.out.Then = lead, then
	return true
}

func (p *teller) fails(code string, lead, then decision.Words) bool {
	return p.say(code, decision.ToneFailed, "has", "failed", lead, then)
}

func (p *teller) waits(code string, lead, then decision.Words) bool {
	return p.say(code, decision.ToneWaiting, "is", "waiting", lead, then)
}

func (p *teller) moves(code string, lead, then decision.Words) bool {
	at := p.s.LastProgress
	if len(p.written(func(*decision.Action) bool { return true })) > 0 {
		at = p.now
	}
	p.out.NoteChange(at.Add(recent), p.now)
	return p.say(code, decision.ToneMoving, "is", "moving", p.withUnresolved(lead), then)
}

// withUnresolved adds what keeps a rollout from ever completing, to which its estimate refers, as far as there is room.
// A rollback gives that template up.
func (p *teller) withUnresolved(lead decision.Words) decision.Words {
	f, told := p.blocker(), lead
	if _, e := p.outlook(); e != nil && f != nil && e.Code == f.Code && stuckWords[f.Code] == "" && p.branch != branchRestore {
		told = p.withCause(slices.Clone(lead))
	}
	if diagnosis.Length(told) > longLead {
		return lead
	}
	return told
}

// outcome finds the first write of the sync that ended in one of some states: of
// its actions, or else of its status. It is nil where there is none.
func (p *teller) outcome(states ...decision.State) (decision.ActionKind, decision.Ref, *decision.Outcome) {
	for i := range p.last.Outcomes {
		if o := &p.last.Outcomes[i]; i < len(p.last.Verdict.Actions) && slices.Contains(states, o.State) {
			return p.last.Verdict.Actions[i].Kind, p.last.Verdict.Actions[i].Target, o
		}
	}
	if p.report != nil && p.report.Outcome != nil && slices.Contains(states, p.report.Outcome.State) {
		return "", p.self(), p.report.Outcome
	}
	return "", decision.Ref{}, nil
}

// actions are those of the last round.
func (p *teller) actions() []*decision.Action {
	list := make([]*decision.Action, len(p.last.Verdict.Actions))
	for i := range list {
		list[i] = &p.last.Verdict.Actions[i]
	}
	return list
}

// written are the actions of the last round that were written and pass the filter.
func (p *teller) written(keep func(*decision.Action) bool) []*decision.Action {
	var list []*decision.Action
	for i := range p.last.Outcomes {
		if i < len(p.last.Verdict.Actions) && p.last.Outcomes[i].State == decision.Written && keep(&p.last.Verdict.Actions[i]) {
			list = append(list, &p.last.Verdict.Actions[i])
		}
	}
	return list
}

func resized(a *decision.Action) bool {
	return a.Kind == decision.UpdateReplicaSet && a.Size != nil
}

// progressing is the Progressing condition after this sync, nil if there is none.
func (p *teller) progressing() *decision.Condition {
	return condition(p.status.Conditions, condProgressing)
}

// rollingNow is true while a rollout is under way, as of after this sync.
func (p *teller) rollingNow() bool { return p.rolling(p.progressing()) }

// deadline is when the running rollout is overdue; zero if none is running.
func (p *teller) deadline() time.Time {
	c := p.progressing()
	if p.s.Deadline == nil || p.s.Paused || c == nil || c.Reason == reasonDone || c.Reason == reasonDeadline {
		return time.Time{}
	}
	return c.Updated.Add(seconds(*p.s.Deadline))
}

// clock adds the deadline to a second sentence.
func (p *teller) clock(w decision.Words) decision.Words {
	at := p.deadline()
	if at.IsZero() {
		return w
	}
	p.out.NoteChange(at, p.now)
	if len(w) == 0 {
		return w.Say("Deadline in ").Until(at)
	}
	return w.Say("; deadline in ").Until(at)
}

// tries adds where the worker stands with retries, and what is said of the last one.
func (p *teller) tries(last string) decision.Words {
	var w decision.Words
	if p.try.Number == 0 {
		return w.Say("It will be retried")
	}
	w = w.Say("Try ").Count("try", p.try.Number)
	if p.try.Limit > 0 {
		w = w.Say(" of ").Count("tries", p.try.Limit)
	}
	if p.try.Next.IsZero() {
		w = w.Say("; it will be retried")
	} else {
		w = w.Say(", again in ").Until(p.try.Next)
	}
	if p.try.Limit > 0 {
		w = w.Say(last)
	}
	return w
}

// unchangedSince is the latest moment of which anything is known.
func (p *teller) unchangedSince() time.Time {
	since := p.s.LastProgress
	for _, c := range p.status.Conditions {
		at := c.Transition
		if c.Type == condProgressing {
			at = c.Updated
		}
		if at.After(since) {
			since = at
		}
	}
	return since
}
