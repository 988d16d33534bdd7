package deployment

import (
	"slices"
	"strings"

	"github.com/loopscope/loopscope/controllers/diagnosis"
	"github.com/loopscope/loopscope/telemetry/decision"
	"github.com/loopscope/loopscope/telemetry/prose"
)

// ownWrite is [L-1].
func (p *teller) ownWrite() bool {
	e := p.s.Echo[0]
	p.out.Since = e.Since
	lead := words("its own write of ").Name(e.Object).Say(" at rv ").Name(e.Written).
		Say(" is not in the cache ")
	if e.Since.IsZero() {
		lead = lead.Say("yet")
	} else {
		lead = lead.Say("after ").Since(e.Since)
	}
	return p.waits("echo", lead.Say("; the cache is at ").Name(e.Cached), words("Continues when the cache shows it"))
}

// interrupted is a write that did not get through, though nobody refused it: somebody
// else wrote the object first, its reply was lost, or it was not sent since a newer
// one of ours exists.
func (p *teller) interrupted() bool {
	if _, target, o := p.outcome(decision.Conflicted); o != nil {
		return p.conflict(target, o)
	}
	_, target, o := p.outcome(decision.Unknown, decision.Superseded)
	switch {
	case o == nil:
		return false
	case o.State == decision.Unknown:
		return p.waits("unknown-outcome", p.fit(diagnosis.Unsure(words("its write of ").Name(target.Name), o)),
			words("Reads it live before it decides again"))
	default:
		return p.waits("superseded", words("the cache does not show its own newer write to ").Name(target.Name).Say(" yet, so nothing was sent"),
			words("Continues when the cache shows it"))
	}
}

func (p *teller) conflict(target decision.Ref, o *decision.Outcome) bool {
	lead := words("another writer")
	other := decision.Writer{}
	if o.Other != nil {
		other = *o.Other
	}
	if other.Manager != "" {
		lead = decision.Words{}.Name(other.Manager)
	}
	lead = lead.Say(" wrote ")
	if target.Kind == "Deployment" {
		lead = lead.Say("it first")
	} else {
		lead = lead.Name(target.Name).Say(" first")
	}
	if other.RV != "" {
		lead = lead.Say(", rv ").Name(target.RV).Say(" became ").Name(other.RV)
	}
	if len(other.Fields) > 0 {
		lead = lead.Say(" (").Quote(prose.Clip(strings.Join(other.Fields, ", "), 60)).Say(")")
	}
	then := words("Decides again on the new version")
	if !p.try.Next.IsZero() {
		then = then.Say(" in ").Until(p.try.Next)
	}
	return p.waits("conflict", lead, then)
}

// claiming is the adoption or release of ReplicaSets ([D-4]).
func (p *teller) claiming() bool {
	var lead decision.Words
	adopted := int64(len(p.adopt))
	if n := adopted; n > 0 {
		lead = lead.Say("adopted ").Count("adopt", n).Say(prose.Plural(n, " ReplicaSet that matches", " ReplicaSets that match") + " its selector")
	}
	if n := int64(len(p.release)); n > 0 {
		noLonger := " that no longer " + prose.Plural(n, "matches", "match")
		if adopted > 0 {
			lead = lead.Say(" and released ").Count("release", n).Say(noLonger)
		} else {
			lead = lead.Say("released ").Count("release", n).Say(prose.Plural(n, " ReplicaSet", " ReplicaSets") + noLonger + " its selector")
		}
	}
	return p.waits("claiming", lead, words("Continues when the cache shows it"))
}

// lookingAgain is a wait for a cache that a live read has overtaken.
func (p *teller) lookingAgain() bool {
	if p.leaf == leafNotCached {
		return p.waits("cache", words("its ReplicaSet ").Name(p.learnt.NameTaken.Name).Say(" exists but is not in the cache yet"),
			words("Continues when the cache shows it"))
	}
	return p.waits("cache", words("a live read says that it is "+parentWord(p.learnt.Parent)+"; the cache does not show this yet"), nil)
}

func parentWord(parent string) string {
	if parent == "deleting" {
		return "being deleted"
	}
	return "gone"
}

// annotated is a write of annotations alone: no size, but its echo has to come first.
func (p *teller) annotated() bool {
	list := p.written(func(a *decision.Action) bool {
		return a.Kind == decision.UpdateReplicaSet && !resized(a)
	})
	if len(list) == 0 || !p.changePending() {
		return false
	}
	lead := words("the annotations of ").Name(list[0].Target.Name).Say(" were out of date and were updated first")
	return p.waits("annotations", lead, p.clock(words("The rollout continues when the cache shows it")))
}

// unfinished is every other rollout that waits.
func (p *teller) unfinished() bool {
	if !p.rollingNow() && !p.changePending() {
		return false
	}
	switch {
	case p.newSet == nil:
		return p.waits("no-replicaset", words("the template has no ReplicaSet yet"), p.clock(words("Continues when the ReplicaSet is created")))
	case p.leaf == leafBehind:
		return p.waits("status-behind", words("the status of an old ReplicaSet has not caught up with its size, so no old pod is removed"), p.clock(words("Continues when it has caught up")))
	}
	lead := p.share()
	if p.oldTotal > 0 {
		lead = lead.Say(" and ").Count(fOld, p.oldTotal).Say(prose.Plural(p.oldTotal, " old pod", " old pods") + " left")
	}
	return p.waits("unfinished", lead, p.clock(words("Continues when the cache shows its last write")))
}

// onItsWay is everything available, of a ReplicaSet that is being deleted: when it goes, so do its pods.
func (p *teller) onItsWay() bool {
	rs := p.newSet
	if rs == nil || rs.Replicas == 0 {
		return false
	}
	f := p.pods().Finalizer(rs.Deletion)
	if f == nil {
		return false
	}
	p.out.Since = rs.Deletion.Since
	lead := append(p.share().Say(", but ReplicaSet ").Name(rs.Name).Say(" is being deleted: "), f.After...)
	then := append(words("Continues with new pods, all at once, "), f.Unblocks...)
	return p.waits("replicaset-deleting", p.fit(lead), p.fit(then.Say("; until then a lost one is not replaced")))
}

// settled is everything wanted, updated and available, and seen. It is asked where no
// rollout is under way.
func (p *teller) settled() bool {
	if !p.complete(p.status) && p.available < p.s.Want {
		return false
	}
	since := p.unchangedSince()
	p.out.Since = since
	if p.s.Want == 0 {
		return p.say("settled", decision.ToneOK, "is", "settled", p.withStaying(p.withRecentChange(words("scaled to ").Count(fWanted, 0))), nil)
	}
	lead := p.share()
	switch {
	case since.IsZero():
	case p.now.Sub(since) < recent:
		p.out.NoteChange(since.Add(recent), p.now)
	default:
		lead = lead.Say(", unchanged for ").Since(since)
	}
	return p.say("settled", decision.ToneOK, "is", "settled", p.withStaying(p.withRecentChange(lead)), nil)
}

// withStaying adds deleted pods that stay, where there is room.
func (p *teller) withStaying(lead decision.Words) decision.Words {
	if fitted, ok := diagnosis.Short(slices.Concat(lead, p.wrongBeside()), longLead); ok {
		return fitted
	}
	return lead
}

// withCause is a lead with what keeps pods from being available, as far as there is room.
func (p *teller) withCause(lead decision.Words) decision.Words {
	list := p.relevant()
	lead = lead.Say("; ")
	for n := len(list); n > 0; n-- {
		if fitted, ok := diagnosis.Fair(p.clauses(slices.Clone(lead), list, n), longLead); ok {
			return fitted
		}
	}
	return p.first(lead, list)
}

// shortSince adds since when so few are available. Who has not seen it happen, as the first look of a process
// has not, knows no more than since when they are fewer than the floor: the last change that it was told of is
// that of the rollout.
func (p *teller) shortSince(lead decision.Words) decision.Words {
	changed, rollout := p.s.LastProgress, condition(p.s.Status.Conditions, condProgressing)
	if rollout == nil || changed.After(rollout.Updated) {
		p.out.Since = changed
	}
	if c := condition(p.s.Status.Conditions, condAvailable); p.out.Since.IsZero() && c != nil && c.Status == "False" && p.available < p.floor() {
		p.out.Since = c.Transition
	}
	if !p.out.Since.IsZero() {
		lead = lead.Say(" since ").Clock(p.out.Since)
	}
	return lead
}

// short is a rollout that is complete, with fewer pods available than wanted.
func (p *teller) short() bool {
	lead := p.shortSince(p.share())
	code, then := "short", words("Its rollout is complete, so no deadline runs")
	if f := p.blocker(); f != nil {
		code = f.Code
		if lead = p.withCause(lead); diagnosis.Length(lead) > longLead {
			lead = p.withCause(p.share()) // What keeps the pod comes before since when.
		}
		then = p.fit(append(p.recovers().Say("; "), words("its rollout is complete, so no deadline runs")...))
	}
	if !p.down() {
		return p.say("short", decision.ToneOK, "is", "settled", lead, then)
	}
	return p.waits(code, lead, then)
}
