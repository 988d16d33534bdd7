package deployment

import (
	"slices"
	"time"

	"github.com/loopscope/loopscope/controllers/diagnosis"
	"github.com/loopscope/loopscope/telemetry/decision"
	"github.com/loopscope/loopscope/telemetry/prose"
)

// longLead is how many characters each half of a sentence may have.
const longLead = 150

// deadlineOver is ProgressDeadlineExceeded: a mark on what keeps the pods anyway,
// nothing more is done.
func (p *teller) deadlineOver() bool {
	c := p.progressing()
	if c == nil || c.Reason != reasonDeadline || p.s.Deadline == nil || p.s.Paused {
		return false // The reason outlives a pause, and what goes on then is the pause.
	}
	since := p.s.LastProgress
	if began := p.stalled(c); !c.Updated.IsZero() && (since.IsZero() || began.Before(since)) {
		since = began // What changed after that, as a pod that came to be seen, or was lost, is no progress.
	}
	p.out.Since = since
	lead := words("no progress before its deadline")
	if !since.IsZero() {
		lead = words("no progress for ").Since(since)
	}
	after := words(notRolledBack + noRetry)
	if slices.ContainsFunc(p.relevant(), podsRefusedBy) {
		after = words(notRolledBack) // Its ReplicaSet goes on trying.
	}
	f := p.blocker()
	if f == nil {
		lead = append(lead.Say(", "), p.ready()...)
		return p.fails("deadline", lead, append(words("Unblocks when the rollout makes progress or the template changes; "), after...))
	}
	then := append(p.unblocks().Say("; "), after...)
	if fitted, ok := diagnosis.Fair(then, longLead); ok {
		return p.fails(f.Code, p.blockedLead(lead.Say(", ")), fitted)
	}
	return p.fails(f.Code, p.blockedLead(lead.Say(", ")), p.fit(p.unblocks().Say("; "+notRolledBack)))
}

// stalled is since when there was no progress when the deadline passed. Where the deadline was raised since, that
// would be before the rollout began.
func (p *teller) stalled(c *decision.Condition) time.Time {
	began := c.Updated.Add(-seconds(*p.s.Deadline))
	if p.newSet != nil && p.newSet.Created.After(began) && !p.newSet.Created.After(c.Updated) {
		return p.newSet.Created
	}
	return began
}

// What a deadline does not do, as far as there is room for it.
const (
	notRolledBack = "nothing is rolled back"
	noRetry       = " and no retry is scheduled"
)

// podsRefused is ReplicaFailure: a ReplicaSet may not create or delete pods. What a quota refuses only until pods of
// its own are gone has not failed.
func (p *teller) podsRefused() bool {
	f := p.blocker()
	if f == nil || !podsRefusedBy(*f) || f.Code == diagnosis.Quota && !f.NeedsAction {
		return false
	}
	p.out.Since = f.Since
	then := p.unblocks()
	if p.s.Paused {
		then = p.whilePaused(then)
	}
	return p.fails(f.Code, p.blockedLead(nil), p.clock(p.fit(then)))
}

// podsRefusedBy reports whether a finding is that a ReplicaSet may not create or delete pods.
func podsRefusedBy(f decision.Finding) bool {
	return diagnosis.IsRefusal(f.Code) || f.Code == diagnosis.Delete
}

// blocked is a rollout of which it is known why it does not go on.
func (p *teller) blocked() bool {
	f := p.blocker()
	if f == nil || !p.rollingNow() && !p.changePending() {
		return false
	}
	p.out.Since = p.s.LastProgress
	if f.Code == diagnosis.MinReady && !f.Old {
		return p.minReadyWait()
	}
	lead := p.blockedLead(nil)
	if why := p.atTheFloor(lead); why != nil {
		lead = why
	}
	return p.waits(f.Code, lead, p.clock(p.fit(p.unblocks())))
}

// atTheFloor says what would be left without one more old pod; nil where something
// else keeps it, or where it is too long. The equation of the held write says it, too.
func (p *teller) atTheFloor(lead decision.Words) decision.Words {
	f := p.blocker()
	if p.oldTotal == 0 || p.available != p.floor() || f.NeedsAction || f.Old || p.wrongBeside() != nil {
		return nil
	}
	why := append(slices.Clone(lead), decision.Words{}.Say(prose.Plural(p.oldTotal, ": removing it leaves ", ": removing one leaves ")).Count(fWithout, max(0, p.available-1)).
		Say(" available, below the floor of ").Count(fFloor, p.floor())...)
	if diagnosis.Length(why) > longLead {
		return nil
	}
	return why
}

// minReadyWait is new pods that are ready but not for long enough.
func (p *teller) minReadyWait() bool {
	f := p.blocker()
	lead := decision.Words{}.Count(f.Fact(), f.Count).Say(prose.Plural(f.Count, " new pod is", " new pods are") + " ready but must stay ready")
	if at := p.firstToStay(); !at.IsZero() {
		lead = lead.Say(" for ").Until(at)
	}
	lead = lead.Say(" (minReadySeconds ").Count(fMinReady, p.newSet.MinReady).Say(")")
	if p.oldTotal > 0 {
		lead = lead.Say(" before an old pod can be removed")
	}
	if fitted, ok := diagnosis.Short(slices.Concat(lead, p.wrongBeside()), longLead); ok {
		lead = fitted
	}
	return p.waits("min-ready", lead, p.clock(nil))
}

// blockedLead names everything that keeps pods, as far as there is room, each with
// its number, and what is left for users.
func (p *teller) blockedLead(lead decision.Words) decision.Words {
	list := p.relevant()
	for n := len(list); n > 0; n-- {
		all := p.clauses(slices.Clone(lead), list, n)
		if fitted, ok := p.withRest(all, diagnosis.Fair); ok {
			return fitted
		}
		if fitted, ok := diagnosis.Fair(all, longLead); ok && n > 1 {
			return fitted // What keeps the pods comes before what is left.
		}
	}
	one := p.clauses(lead, list, 1)
	if fitted, ok := p.withRest(one, diagnosis.Short); ok {
		return fitted // What others say of the cause comes before what is left, too.
	}
	if fitted, ok := diagnosis.Short(one, longLead); ok {
		return fitted
	}
	return p.first(lead, list)
}

// first is the first of the findings where there is room for hardly more.
func (p *teller) first(lead decision.Words, list []decision.Finding) decision.Words {
	w := p.clauses(lead, list[:1], 1)
	if fitted, ok := diagnosis.Short(slices.Clone(w).Say("; others wait, too"), longLead); ok && len(list) > 1 {
		return fitted
	}
	return p.fit(w)
}

// withRest adds what is left for users and what is wrong with old pods beside it, or the one that there is room
// for: the second comes first, as nothing else says it.
func (p *teller) withRest(lead decision.Words, fits func(decision.Words, int) (decision.Words, bool)) (fitted decision.Words, ok bool) {
	left, beside := p.left(), p.wrongBeside()
	for _, rest := range []decision.Words{slices.Concat(left, beside), beside, left} {
		if fitted, ok = fits(slices.Concat(lead, rest), longLead); ok && (len(rest) > 0 || len(left) == 0) {
			return fitted, true
		}
	}
	return nil, false
}

// wrongBeside is "; 2 old pods keep crashing (exit code 1)", nothing where all is well with them.
func (p *teller) wrongBeside() decision.Words {
	list := diagnosis.Beside(p.diagnosis().Findings)
	if len(list) == 0 {
		return nil
	}
	return p.clauses(words("; "), list, 1)
}

// fit leaves out of words of others what is too long.
func (p *teller) fit(w decision.Words) decision.Words { return diagnosis.Fit(w, longLead) }

// clauses are the first n findings in a row, and a word of the others.
func (v *view) clauses(w decision.Words, list []decision.Finding, n int) decision.Words {
	for i := range list[:n] {
		switch {
		case i == 0:
		case i == n-1 && n == len(list):
			w = w.Say(diagnosis.And(w))
		default:
			w = w.Say(", ")
		}
		w = append(w, v.clause(&list[i], i == 0)...)
	}
	if n < len(list) {
		w = w.Say(", and others wait for other reasons")
	}
	return w
}

// clause is "3 new pods cannot pull web:404 (not found)". The only pod of the first
// one is named.
func (v *view) clause(f *decision.Finding, first bool) decision.Words {
	w := slices.Clone(f.Before)
	side := v.whose(f)
	switch {
	case first && f.Count == 1 && len(f.Pods) == 1:
		w = w.Say(side + "pod ").Name(f.Pods[0])
	case first || f.Old:
		w = w.Count(f.Fact(), f.Count).Say(" " + side + prose.Plural(f.Count, "pod", "pods"))
	default:
		w = w.Count(f.Fact(), f.Count)
	}
	return append(w, f.After...)
}

// whose is "new " or "old ", and nothing where all pods are of one template.
func (v *view) whose(f *decision.Finding) string {
	switch {
	case f.Old:
		return "old "
	case v.rolling(condition(v.s.Status.Conditions, condProgressing)):
		return "new "
	default:
		return ""
	}
}

// left is what is left for users: old pods that stay, and how many pods serve where
// that is fewer than there should be.
func (p *teller) left() decision.Words {
	var w decision.Words
	f := p.blocker()
	switch {
	case (f.Code == diagnosis.Terminating || f.Code == diagnosis.SetTerminating) && p.available == 0 && p.s.Want > 0:
		return w.Say("; none is available until then")
	case p.available < p.floor():
		return w.Say("; ").Count(fAvailable, p.available).Say(" of ").Count(fWanted, p.s.Want).
			Say(" available (floor ").Count(fFloor, p.floor()).Say(")")
	case p.oldTotal == 0 || f.Old:
		return nil
	case p.oldTotal == 1:
		return w.Say(", so the last old one stays")
	default:
		return w.Say(", so ").Count(fOld, p.oldTotal).Say(" old pods stay")
	}
}

// unblocks is what ends it; where several things keep pods, all of them have to end.
func (p *teller) unblocks() decision.Words { return p.ends("Unblocks ", "Needs action: unblocks ") }

// recovers is the same of an object that has nothing left to roll out.
func (p *teller) recovers() decision.Words { return p.ends("Recovers ", "Needs action: recovers ") }

// needsAction reports whether the next step does. It does not where enough of the new pods become ready without;
// what the API server refuses until somebody acts has failed all the same.
func (p *teller) needsAction(list []decision.Finding) bool {
	fails := diagnosis.IsRefusal(list[0].Code) && list[0].NeedsAction
	if p.anyWillDo() && !fails && p.unaided() >= p.needed() {
		return false
	}
	return slices.ContainsFunc(list, func(f decision.Finding) bool { return f.NeedsAction })
}

func (p *teller) ends(alone, byAction string) decision.Words {
	list := p.relevant()
	w := words(alone)
	if p.needsAction(list) {
		w = words(byAction)
	}
	switch {
	case p.anyWillDo():
		if f := p.decisive(&list[0]); f != nil {
			return append(w, f.Unblocks...)
		}
		return append(w, p.oldUnblocks(&list[0])...)
	case len(list) == 1 && p.oldTotal > 0 && !list[0].Old && list[0].Code != diagnosis.Terminating:
		return append(w, p.oldUnblocks(&list[0])...)
	case len(list) == 1:
		return append(w, list[0].Unblocks...)
	}
	if p.resumingEnds(list) {
		return append(w, words("when all of them are resolved or ").Say(diagnosis.RolloutResumed)...)
	}
	all := append(slices.Clone(w), diagnosis.Together(list)...)
	if diagnosis.Length(all) > longLead-len("; "+notRolledBack+noRetry) {
		return append(w, diagnosis.AllEnd...)
	}
	return all
}

// resumingEnds reports whether resuming the rollout ends all of the findings, which are of old pods.
func (p *teller) resumingEnds(list []decision.Finding) bool {
	return p.s.Paused && onlyOld(list) && !slices.ContainsFunc(list, func(f decision.Finding) bool { return !p.resumed(&f) })
}

// resumed reports whether a finding of old pods ends when the rollout is resumed: where it says so, and where they exist
// and can be replaced then, which Recreate does not before their node lets them end.
func (p *teller) resumed(f *decision.Finding) bool {
	switch {
	case slices.ContainsFunc(f.Unblocks, func(part decision.Part) bool { return part.Text == diagnosis.RolloutResumed }):
		return true
	case diagnosis.IsRefusal(f.Code), diagnosis.IsDisruption(f.Code), f.Code == diagnosis.Delete, f.Code == diagnosis.Terminating:
		return false
	default:
		return f.Code != diagnosis.NodeGone || p.s.Strategy == rollingUpdate
	}
}

func onlyOld(list []decision.Finding) bool {
	return !slices.ContainsFunc(list, func(f decision.Finding) bool { return !f.Old })
}
