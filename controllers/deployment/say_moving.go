package deployment

import (
	"slices"
	"strings"

	"github.com/loopscope/loopscope/controllers/diagnosis"
	"github.com/loopscope/loopscope/telemetry/decision"
	"github.com/loopscope/loopscope/telemetry/prose"
)

// paused is somebody's choice; the sizes that are written all the same are told as well, and what is left after them.
func (p *teller) paused() bool {
	if !p.s.Paused {
		return false
	}
	if c := p.progressing(); c != nil && c.Reason == reasonPaused {
		p.out.Since = c.Updated
	}
	then, left := p.scalingWorks(), p.afterScaling()
	switch {
	case p.pausedInTrouble():
		return true
	case p.newSet == nil:
		return p.pending(p.withShare(words("the new template has no ReplicaSet yet")), then)
	case left.old > 0 && left.scales:
		return p.pending(p.withShare(words(prose.Plural(left.old, "its old pod is not replaced", "its old pods are not replaced"))), then)
	case left.old > 0:
		return p.pending(p.withShare(decision.Words{}.Count(fNew, p.newSize()).Say(" new and ").Count(fOld, p.oldTotal).
			Say(prose.Plural(p.oldTotal, " old pod stay", " old pods stay")+" as they are")), then)
	default:
		return p.say("paused", decision.ToneNeutral, "is", "paused", p.withTrouble(p.share()), then)
	}
}

// pending is a pause that a change of the template waits for.
func (p *teller) pending(lead, then decision.Words) bool {
	return p.say("paused-pending", decision.ToneNeutral, "is", "paused with a change pending", p.withTrouble(lead), then)
}

// withShare adds how few of the pods that there are serve.
func (p *teller) withShare(lead decision.Words) decision.Words {
	if p.total == 0 || !p.down() || len(p.written(resized)) > 0 {
		return lead
	}
	return append(lead.Say("; "), p.share()...)
}

// scalingWorks tells the sizes that were written in a pause, or are to be where nobody acts.
func (p *teller) scalingWorks() decision.Words {
	w, written := words("Scaling still works"), p.written(resized)
	switch {
	case len(written) > 0:
		return p.steps(w.Say(": "), written)
	case len(p.last.Outcomes) > 0, !slices.ContainsFunc(p.actions(), resized):
		return w
	case p.aside != nil: // Who reads the sync sees no sizes in it.
		return w.Say("; not written yet")
	default:
		return p.steps(w.Say("; not written yet: "), p.actions())
	}
}

// pausedInTrouble is one that has too few pods for more than what every pod goes through: that it was paused on
// purpose is then the smaller news.
func (p *teller) pausedInTrouble() bool {
	f := p.blocker()
	if f == nil || !inTrouble(f) || !p.down() || len(p.written(resized)) > 0 {
		return false
	}
	p.out.Since = f.Since
	return p.waits(f.Code, p.withCause(append(words("it is paused with "), p.share()...)),
		p.fit(p.whilePaused(p.recovers())))
}

// inTrouble reports whether pods wait for somebody, or for longer than pods usually do.
func inTrouble(f *decision.Finding) bool {
	return f.NeedsAction || !f.Usual && f.Code != diagnosis.MinReady
}

// withTrouble adds what is wrong with pods.
func (p *teller) withTrouble(lead decision.Words) decision.Words {
	if f := p.blocker(); f == nil || !inTrouble(f) {
		return lead
	}
	return p.withCause(lead)
}

// whilePaused adds that a new template, which may be what would help, does nothing yet. Of old pods it may be said already.
func (p *teller) whilePaused(w decision.Words) decision.Words {
	list := p.relevant()
	said := slices.ContainsFunc(w, func(part decision.Part) bool { return strings.HasSuffix(part.Text, diagnosis.RolloutResumed) })
	if onlyOld(list) && (said || !p.resumingEnds(list)) {
		return w
	}
	return w.Say("; a new template waits until it is resumed")
}

// share is "8 of 8 available".
func (p *teller) share() decision.Words {
	return decision.Words{}.Count(fAvailable, p.available).Say(" of ").Count(fWanted, p.s.Want).Say(" available")
}

// planned tells what would be written, where nobody acts.
func (p *teller) planned() bool {
	actions := p.actions()
	if len(actions) == 0 || len(p.last.Outcomes) > 0 {
		return false
	}
	then := words("Nothing was written")
	switch a := actions[0]; {
	case a.Kind == decision.DeleteReplicaSet:
		return false
	case p.aside != nil:
		return p.moves("planned", p.besides(a), then)
	case a.Kind == decision.CreateReplicaSet:
		return p.moves("planned", words("the next write creates ").Name(a.Target.Name).Say(" with ").
			Count(fStart, a.Size.To).Say(prose.Plural(a.Size.To, " pod", " pods")), then)
	case resized(a):
		return p.moves("planned", p.steps(words("the next write scales "), actions), then)
	default:
		return p.moves("planned", words("the next write is to ").Name(a.Target.Name), then)
	}
}

// besides is what would be written but for annotations.
func (p *teller) besides(a *decision.Action) decision.Words {
	w := words("annotations")
	if p.aside.MinReadySeconds != nil {
		w = words("annotations and minReadySeconds")
	}
	if resized(a) {
		return w.Say(" aside, the next write scales ").Name(a.Target.Name)
	}
	return w.Say(" aside, the next write is to ").Name(a.Target.Name)
}

// mutated is a new ReplicaSet that has another template than it was created with, and not for the first time:
// none is ever that of the template, and one after another is created.
func (p *teller) mutated() bool {
	if p.s.Mutated == nil || p.newSet != nil || p.leaf != leafCreates && p.leaf != leafCollides || !p.mutatedAtOnce() {
		return false
	}
	lead := p.s.Mutated.first(words("its ReplicaSets are changed on creation")).Say(", so another one is created each time")
	return p.fails("mutated", p.fit(lead), words("Needs action: unblocks when the webhook or policy that changes ReplicaSets leaves their templates alone"))
}

// mutatedAtOnce tells what changes every ReplicaSet within seconds from somebody who edits one.
func (p *teller) mutatedAtOnce() bool {
	i := slices.IndexFunc(p.s.ReplicaSets, func(rs ReplicaSet) bool { return rs.Name == p.s.NextName })
	return i >= 0 && p.s.Status.Collisions != nil && *p.s.Status.Collisions > 0 && p.s.Now.Sub(p.s.ReplicaSets[i].Created) < recent
}

// first appends the first field of a change, where one is known.
func (c *TemplateChange) first(w decision.Words) decision.Words {
	if len(c.Fields) == 0 {
		return w
	}
	w = w.Say(" (").Quote(c.Fields[0].Field)
	if len(c.Fields) > 1 {
		w = w.Say(" and others")
	}
	return w.Say(")")
}

// collision is a name taken by another template, in the second round.
func (p *teller) collision() bool {
	lead := p.taken().Say(", so it raised collisionCount to ").Count("collisions", collided(p.s))
	made := p.written(func(a *decision.Action) bool { return a.Kind == decision.CreateReplicaSet })
	if len(made) == 0 {
		return p.moves("collision", p.fit(lead), words("The next sync uses the next name"))
	}
	return p.moves("collision", p.fit(lead.Say(" and created ").Name(made[0].Target.Name)), nil)
}

// taken says by what the name is taken.
func (p *teller) taken() decision.Words {
	n := p.learnt.NameTaken
	switch {
	case p.s.Mutated != nil && n.Name == p.s.NextName:
		return p.s.Mutated.first(words("ReplicaSet ").Name(n.Name).Say(" was changed"))
	case n.Mine:
		return words("the name ").Name(n.Name).Say(" is taken by a ReplicaSet of its own with another template")
	}
	return words("the name ").Name(n.Name).Say(" is taken by another object")
}

// made is a new ReplicaSet.
func (p *teller) made() bool {
	made := p.written(func(a *decision.Action) bool { return a.Kind == decision.CreateReplicaSet })
	if len(made) == 0 {
		return false
	}
	size := made[0].Size.To
	lead := words("created ").Name(made[0].Target.Name).Say(" for the new template, initially with ").
		Count(fStart, size).Say(prose.Plural(size, " pod", " pods"))
	var then decision.Words
	if p.oldTotal > 0 {
		then = words("Old pods are removed as new ones become available")
	}
	return p.moves("created", lead, p.clock(then))
}

// usedAgain is a template that an older ReplicaSet has already.
func (p *teller) usedAgain() bool {
	stamped := p.written(func(a *decision.Action) bool { return a.Stamp.Revision != "" && p.newSet.Revision != "" })
	if len(stamped) == 0 {
		return false
	}
	was, _ := revision(p.newSet)
	lead := words("back to the template of revision ").Count("revision", was).Say(", so ").Name(p.newSet.Name).
		Say(" is used again as revision ").Count("newRevision", p.newRevision())
	return p.moves("used-again", lead, p.share())
}

// scaledFirst is a change of size and template at once: scaling comes first.
func (p *teller) scaledFirst() bool {
	list := p.written(resized)
	if p.branch != branchScaling || len(list) == 0 || !p.changePending() || p.newSize() > 0 {
		return false
	}
	lead := p.steps(words("scaling comes first, so the "+prose.Plural(int64(len(list)), "ReplicaSet is", "ReplicaSets are")+" scaled now, "), list)
	p.moves("scaled-before-roll", lead, words("The rollout follows"))
	p.out.Verb, p.out.State = "was", "scaled before the rollout"
	return true
}

// scaledNow tells the sizes that this sync wrote.
func (p *teller) scaledNow() bool {
	list := p.written(resized)
	if len(list) == 0 {
		return false
	}
	switch p.leaf {
	case leafProportional:
		lead := words("scaled ").Count("desired", p.wantedBefore()).Say(" → ").Count(fWanted, p.s.Want)
		return p.moves("shared", p.steps(lead.Say(" during a rollout, in proportion to their sizes: "), list), p.clock(words("The rollout continues")))
	case leafScales:
		size := list[0].Size
		return p.moves("scaled", words("scaled ").Count("from", size.From).Say(" → ").Count("to", size.To), p.share())
	}
	lead := p.steps(p.ready().Say("; just scaled "), list)
	return p.moves("rolling", lead, p.next())
}

// ready is "4 of 12 new pods are available".
func (p *teller) ready() decision.Words {
	n, of := p.newAvailable(), p.s.Want
	w := decision.Words{}.Count(fNewAvailable, n)
	if n > of {
		return w.Say(prose.Plural(n, " new pod is", " new pods are") + " available")
	}
	return w.Say(" of ").Count(fWanted, of).Say(prose.Plural(of, " new pod is", " new pods are") + " available")
}

// steps appends "old 6 → 5 and new 9 → 10", the first three of them.
func (p *teller) steps(w decision.Words, list []*decision.Action) decision.Words {
	list = slices.DeleteFunc(slices.Clone(list), func(a *decision.Action) bool { return !resized(a) })
	for i, a := range list[:min(len(list), 3)] {
		if i > 0 {
			w = w.Say(" and ")
		}
		w = w.Say(p.side(a.Target.UID)+" ").Count("from", a.Size.From).Say(" → ").Count("to", a.Size.To)
	}
	return w
}

func (p *teller) side(uid string) string {
	if p.newSet != nil && p.newSet.UID == uid {
		return "new"
	}
	return "old"
}

// wantedBefore is the number that the ReplicaSets were sized for.
func (p *teller) wantedBefore() int64 {
	for _, rs := range p.active() {
		if n, ok := desired(rs); ok && n != p.s.Want {
			return n
		}
	}
	return p.s.Want
}

// next is what the rollout continues with.
func (p *teller) next() decision.Words {
	if p.missing() <= 0 || p.oldTotal == 0 {
		return p.clock(nil)
	}
	n := max(1, p.needed())
	return p.clock(words("Continues when ").Count(fNeeded, n).Say(" more " + prose.Plural(n, "becomes", "become") + " available"))
}

// restored is a rollback that was written.
func (p *teller) restored() bool {
	list := p.written(func(a *decision.Action) bool { return a.Kind == decision.UpdateDeployment })
	if len(list) == 0 {
		return false
	}
	if list[0].Restore == nil {
		return p.moves("rollback-cleared", p.whyCleared(), words("The request for the rollback was cleared"))
	}
	return p.moves("rolled-back", words("restored the template of ").Name(list[0].Restore.Name), words("It rolls out like any other change"))
}

// whyCleared is why a rollback cannot be done.
func (p *teller) whyCleared() decision.Words {
	switch p.leaf {
	case leafNoRevision:
		return words("there is no earlier revision to go back to")
	case leafNoSource:
		return words("no ReplicaSet has revision ").Count("revision", p.asked).Say(" to go back to; these exist: ").Told(p.revisions())
	default:
		return words("revision ").Count("revision", p.asked).Say(" has the current template")
	}
}

// maxRevisions is how many revisions a sentence names.
const maxRevisions = 6

// revisions are those that ReplicaSets have, the newest first.
func (p *teller) revisions() string {
	var list []int64
	for _, rs := range p.children {
		if n, err := revision(rs); err == nil && n > 0 {
			list = append(list, n)
		}
	}
	slices.Sort(list)
	list = slices.Compact(list)
	slices.Reverse(list)
	var said []string
	for _, n := range list {
		said = append(said, digits(n))
	}
	if len(said) == 0 {
		return none
	}
	return prose.Some(said, maxRevisions)
}

// moving is progress not longer ago than a pod usually takes here, while something
// is left to do and nothing is known that keeps it.
func (p *teller) moving() bool {
	at, usual := p.s.LastProgress, p.usual()
	if at.IsZero() || p.now.Sub(at) >= usual || p.complete(p.status) || p.stuck() {
		return false
	}
	if f := p.blocker(); !p.rollingNow() && !p.changePending() && f != nil && !diagnosis.IsStarting(f.Code) && f.Code != diagnosis.Uncounted {
		return false // What a finished rollout loses does not move.
	}
	p.out.NoteChange(at.Add(usual), p.now)
	if p.newSet == nil {
		return p.moves("rolling", p.share(), p.clock(nil))
	}
	lead := p.ready()
	if p.oldTotal > 0 {
		lead = lead.Say(" and ").Count(fOld, p.oldTotal).Say(prose.Plural(p.oldTotal, " old one is", " old ones are") + " left")
	}
	return p.moves("rolling", lead, p.next())
}
