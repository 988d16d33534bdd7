package leadership

import (
	"strings"
	"time"

	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/decision"
	"github.com/loopscope/loopscope/telemetry/prose"
)

// recordChange hands over that somebody else holds the Lease now, or nobody. Callers hold the mutex.
func (e *Election) recordChange(c telemetry.LeaderChange) {
	fields := []decision.Change{{Field: "spec.holderIdentity", From: c.From, To: c.To}}
	var verdict decision.Verdict
	var outcomes []decision.Outcome
	cause := telemetry.Cause{Kind: telemetry.CauseModified, Fields: fields}
	if c.To == e.opts.Identity || c.To == "" && c.From == e.opts.Identity {
		cause = telemetry.Cause{Kind: telemetry.CauseTimer}
		verdict.Actions = []decision.Action{{Kind: "update", Target: decision.Ref{Kind: Loop.Kind, Namespace: e.opts.Namespace, Name: e.opts.Name}, Question: askHeld, Changes: fields}}
		outcomes = []decision.Outcome{{State: decision.Written}}
	}
	e.record(cause, verdict, outcomes...)
}

// Missed hands over that syncs of a leader were not received, as a sync of the Lease.
func (e *Election) Missed(m telemetry.MissedSyncs) {
	e.mu.Lock()
	defer e.mu.Unlock()
	said := e.sentence()
	said.Code, said.Lead, said.Then = codeMissed, m.Lead(), nil
	e.recordSaid(telemetry.Cause{Kind: telemetry.CauseTimer}, decision.Verdict{}, said)
}

// record hands over a look at the Lease that found something new, as a sync of it. Callers hold
// the mutex.
func (e *Election) record(cause telemetry.Cause, verdict decision.Verdict, outcomes ...decision.Outcome) {
	e.recordSaid(cause, verdict, e.sentence(), outcomes...)
}

func (e *Election) recordSaid(cause telemetry.Cause, verdict decision.Verdict, said decision.Sentence, outcomes ...decision.Outcome) {
	if e.opts.Record == nil {
		return
	}
	now := time.Now()
	verdict.Path = e.path()
	cause.At, cause.Object = now, Loop.Kind+" "+e.opts.Name
	t := &telemetry.Trace{
		Object: telemetry.Object{Loop: Loop.Name, Namespace: e.opts.Namespace, Name: e.opts.Name}, Causes: []telemetry.Cause{cause},
		Queued: now, Started: now, Ended: now, Result: telemetry.ResultUnchanged, Report: &decision.Report{},
		Rounds: []decision.Round{{Verdict: verdict, Outcomes: outcomes}}, Sentence: said,
	}
	if len(outcomes) > 0 {
		t.Result = telemetry.ResultWrote
	}
	if e.state.Error != "" {
		t.Result, t.Failure = telemetry.ResultFailed, &decision.Failure{Message: e.state.Error}
	}
	e.opts.Record(t)
}

// path is what the Lease says, in questions.
func (e *Election) path() (p decision.Path) {
	s := &e.state
	if !p.Ask(askReachable, s.Error == "", decision.Text("lease", s.Lease)) {
		return p
	}
	if !p.Ask(askHeld, s.Leader != "") {
		return p
	}
	if !p.Ask(askOurs, s.Leader == s.Identity, decision.Text("holder", s.Leader), decision.Instant("since", s.Since), decision.Text("this process", s.Identity)) {
		p.Ask(askElected, s.Elected)
	}
	return p
}

func (e *Election) sentence() decision.Sentence {
	s := &e.state
	said := decision.Sentence{Namespace: e.opts.Namespace, Object: e.opts.Name, Verb: "is", State: "held", Tone: decision.ToneOK}
	words := decision.Words{}
	switch {
	case s.Error != "":
		said.Tone, said.Verb, said.State, said.Code = decision.ToneFailed, "has", "failed", codeUnavailable
		said.Lead = words.Say("it cannot be read or written (").Quote(prose.ClipMiddle(s.Error, maxMessage)).Say(")")
		said.Then = words.Say("Nothing is written meanwhile, and it is tried again every ").Told(prose.Span(e.opts.RetryPeriod))
	case s.Leader == "":
		said.Tone, said.State, said.Code = decision.ToneWaiting, "free", codeFree
		said.Lead, said.Then = words.Say("nobody leads"), words.Say("The first manager that takes it leads")
	case s.Leader == s.Identity:
		said.Code, said.Lead, said.Then = codeLeads, words.Say("this process leads"), e.before()
	default:
		said.Code, said.Lead = codeStandsBy, words.Name(host(s.Leader)).Say(" has led since ").Clock(s.Since)
		said.Then = words.Say("This process stands by until the Lease is given back or runs out")
	}
	return said
}

// maxMessage bounds what a sentence quotes of an error, in bytes.
const maxMessage = 200

// before says who led before this process did, where that is known.
func (e *Election) before() (w decision.Words) {
	n := len(e.state.Changes)
	if n == 0 {
		return nil
	}
	switch c := e.state.Changes[n-1]; {
	case c.Gap() == 0:
		return nil
	case c.From == "":
		return w.Say("Nobody led for ").Told(prose.Span(c.Gap())).Say(" before")
	default:
		return w.Name(host(c.From)).Say(" led before, and last renewed the Lease ").Told(prose.Span(c.Gap())).Say(" earlier")
	}
}

// host is the part of an identity that a person knows.
func host(identity string) string {
	name, _, _ := strings.Cut(identity, "_")
	return name
}
