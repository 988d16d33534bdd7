package deployment

import (
	"strings"
	"time"

	"github.com/loopscope/loopscope/controllers/decision"
)

// recent is how long a change of a count keeps a Deployment moving.
const recent = time.Minute

// Say builds the sentence of the sync. report is nil where nothing was settled.
// The clock is s.Now: when Sentence.Turns has come, the caller sets Now and says again.
func Say(s *Snapshot, rounds []decision.Round, report *Report, try decision.Try) decision.Sentence {
	return look(s).sentence(rounds, report, try)
}

// Tell is Numbers, EstimateOf, Diagnose and Say of a sync, from one look at the snapshot.
func Tell(s *Snapshot, rounds []decision.Round, report *Report, try decision.Try) decision.Telling {
	v := look(s)
	return decision.Telling{Numbers: v.numbers(), Estimate: v.completes(), Diagnosis: v.diagnosis().Worth(), Sentence: v.sentence(rounds, report, try)}
}

func (v *view) sentence(rounds []decision.Round, report *Report, try decision.Try) decision.Sentence {
	p := newSpeaker(v, rounds, report, try)
	for _, situation := range situations {
		if situation(p) {
			break
		}
	}
	return p.out
}

// situations are asked in this order, and the first that holds speaks: failed,
// neutral, moving, waiting, ok. What makes the others pointless comes first.
var situations = []func(*speaker) bool{
	(*speaker).gone,
	(*speaker).deleting,
	(*speaker).namespaceEnds,
	// failed
	(*speaker).dropped,
	(*speaker).selectsAll,
	(*speaker).invalid,
	(*speaker).unanswered,
	(*speaker).createRefused,
	(*speaker).writeRefused,
	(*speaker).deadlineOver,
	(*speaker).podsRefused,
	// neutral
	(*speaker).paused,
	// moving
	(*speaker).planned,
	(*speaker).collision,
	(*speaker).made,
	(*speaker).usedAgain,
	(*speaker).scaledFirst,
	(*speaker).scaledNow,
	(*speaker).restored,
	(*speaker).moving,
	// waiting
	(*speaker).ownWrite,
	(*speaker).otherWriter,
	(*speaker).uncertain,
	(*speaker).claiming,
	(*speaker).lookingAgain,
	(*speaker).annotated,
	(*speaker).blocked,
	(*speaker).unfinished,
	// ok
	(*speaker).settled,
	(*speaker).short,
}

// speaker holds what the situations look at.
type speaker struct {
	*view
	last   decision.Round
	report *Report
	status Status // as it is after this sync
	try    decision.Try
	out    decision.Sentence
}

func newSpeaker(v *view, rounds []decision.Round, report *Report, try decision.Try) *speaker {
	p := &speaker{view: v, report: report, status: v.s.Status, try: try}
	p.out = decision.Sentence{Namespace: v.s.Namespace, Object: v.s.Name}
	if len(rounds) > 0 {
		p.last = rounds[len(rounds)-1]
		if s := v.s.knowing(p.last.Learnt); s != v.s {
			p.view = look(s)
		}
	}
	if report != nil && (report.Publish || report.Hold) {
		p.status = report.Status
	}
	return p
}

// knowing is the snapshot with that instead of what it says was learnt.
func (s *Snapshot) knowing(l decision.Learnt) *Snapshot {
	if l.IsZero() && s.Learnt.IsZero() {
		return s
	}
	known := *s
	known.Learnt = l
	return &known
}

// words of an empty sentence part.
func words(text string) decision.Words { return decision.Words{}.Say(text) }

// say fills in the sentence and reports that it is said.
func (p *speaker) say(code string, tone decision.Tone, verb, state string, lead, then decision.Words) bool {
	p.out.Code, p.out.Tone, p.out.Verb, p.out.State = code, tone, verb, state
	p.out.Lead, p.out.Then = lead, then
	return true
}

func (p *speaker) fails(code string, lead, then decision.Words) bool {
	return p.say(code, decision.ToneFailed, "has", "failed", lead, then)
}

func (p *speaker) waits(code string, lead, then decision.Words) bool {
	return p.say(code, decision.ToneWaiting, "is", "waiting", lead, then)
}

func (p *speaker) moves(code string, lead, then decision.Words) bool {
	at := p.s.LastProgress
	if len(p.written(func(*decision.Action) bool { return true })) > 0 {
		at = p.s.Now
	}
	p.turns(at.Add(recent))
	return p.say(code, decision.ToneMoving, "is", "moving", lead, then)
}

// turns notes an instant at which the clock changes the sentence; the earliest counts.
func (p *speaker) turns(at time.Time) {
	if at.After(p.s.Now) && (p.out.Turns.IsZero() || at.Before(p.out.Turns)) {
		p.out.Turns = at.UTC().Round(0)
	}
}

// answered reports whether the last round answered a question so.
func (p *speaker) answered(question, answer string) bool {
	got, asked := p.last.Verdict.Path.Answer(question)
	return asked && got == answer
}

// each calls f with every action of the last round and its outcome.
func (p *speaker) each(f func(*decision.Action, *decision.Outcome) bool) bool {
	for i := range p.last.Verdict.Actions {
		if i < len(p.last.Outcomes) && f(&p.last.Verdict.Actions[i], &p.last.Outcomes[i]) {
			return true
		}
	}
	return false
}

// actions are those of the last round.
func (p *speaker) actions() []*decision.Action {
	list := make([]*decision.Action, len(p.last.Verdict.Actions))
	for i := range list {
		list[i] = &p.last.Verdict.Actions[i]
	}
	return list
}

// written are the actions of the last round that were written and pass the filter.
func (p *speaker) written(keep func(*decision.Action) bool) []*decision.Action {
	var list []*decision.Action
	p.each(func(a *decision.Action, o *decision.Outcome) bool {
		if o.State == decision.Written && keep(a) {
			list = append(list, a)
		}
		return false
	})
	return list
}

func resized(a *decision.Action) bool {
	return a.Kind == decision.UpdateReplicaSet && a.Size != nil && a.Size.From != a.Size.To
}

// progressing is the Progressing condition after this sync, nil if there is none.
func (p *speaker) progressing() *decision.Condition {
	return condition(p.status.Conditions, condProgressing)
}

// rollingNow is true while a rollout is under way, as of after this sync.
func (p *speaker) rollingNow() bool { return p.rolling(p.progressing()) }

// deadline is when the running rollout is overdue; zero if none is running.
func (p *speaker) deadline() time.Time {
	c := p.progressing()
	if p.s.Deadline == nil || p.s.Paused || c == nil || c.Reason == reasonDone || c.Reason == reasonDeadline {
		return time.Time{}
	}
	return c.Updated.Add(seconds(*p.s.Deadline))
}

// clock adds the deadline to a second sentence.
func (p *speaker) clock(w decision.Words) decision.Words {
	at := p.deadline()
	if at.IsZero() {
		return w
	}
	p.turns(at)
	if len(w) == 0 {
		return w.Say("Deadline in ").Until(at)
	}
	return w.Say("; deadline in ").Until(at)
}

// tries adds where the worker stands with retries.
func (p *speaker) tries() decision.Words {
	var w decision.Words
	if p.try.Number == 0 {
		return w.Say("It is tried again")
	}
	w = w.Say("Try ").Count("try", p.try.Number)
	if p.try.Limit > 0 {
		w = w.Say(" of ").Count("tries", p.try.Limit)
	}
	if p.try.Next.IsZero() {
		w = w.Say("; it is tried again")
	} else {
		w = w.Say(", again in ").Until(p.try.Next)
	}
	if p.try.Limit > 0 {
		w = w.Say("; after the last it is dropped until something changes")
	}
	return w
}

// clipped shortens foreign words and puts them into one line; nothing of ours is ever cut.
func clipped(s string, limit int) string {
	if strings.ContainsAny(s, "\n\t") {
		s = strings.Join(strings.Fields(s), " ")
	}
	r := []rune(s)
	if len(r) <= limit {
		return s
	}
	return string(r[:limit-1]) + "…"
}

// unchangedSince is the latest moment of which anything is known.
func (p *speaker) unchangedSince() time.Time {
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
