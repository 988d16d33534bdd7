package deployment

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/loopscope/loopscope/controllers/decision"
)

// ownWrite is [L-1].
func (p *speaker) ownWrite() bool {
	if len(p.s.Echo) == 0 {
		return false
	}
	e := p.s.Echo[0]
	p.out.Since = e.Since
	lead := words("its own write of ").Name(e.Object).Say(" at rv ").Name(e.Written).
		Say(" is not seen yet, the cache is at ").Name(e.Cached)
	if !e.Since.IsZero() {
		lead = lead.Say(", for ").Since(e.Since)
	}
	return p.waits("echo", lead, words("Decides when it is seen"))
}

// otherWriter is a conflict: somebody else wrote the object first.
func (p *speaker) otherWriter() bool {
	said := p.each(func(a *decision.Action, o *decision.Outcome) bool {
		return o.State == decision.Conflicted && p.conflict(a.Target, o)
	})
	if !said && p.report != nil && p.report.Outcome != nil && p.report.Outcome.State == decision.Conflicted {
		return p.conflict(p.self(), p.report.Outcome)
	}
	return said
}

func (p *speaker) conflict(target decision.Ref, o *decision.Outcome) bool {
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
		lead = lead.Say(" (").Quote(clipped(strings.Join(other.Fields, ", "), 60)).Say(")")
	}
	then := words("Decides again on the new one")
	if !p.try.Next.IsZero() {
		then = then.Say(" in ").Until(p.try.Next)
	}
	return p.waits("conflict", lead, then)
}

// uncertain is a write whose reply was lost, or that was not sent since a
// newer one of ours exists.
func (p *speaker) uncertain() bool {
	said := p.each(func(a *decision.Action, o *decision.Outcome) bool { return p.unsure(a.Target, o) })
	if !said && p.report != nil && p.report.Outcome != nil {
		return p.unsure(p.self(), p.report.Outcome)
	}
	return said
}

func (p *speaker) unsure(target decision.Ref, o *decision.Outcome) bool {
	switch o.State {
	case decision.Unknown:
		return p.waits("unknown-outcome", words("the reply to its write of ").Name(target.Name).Say(" was lost"),
			words("Reads it live before it decides again"))
	case decision.Superseded:
		return p.waits("superseded", words("a newer write of its own to ").Name(target.Name).Say(" is not seen yet, so nothing was sent"),
			words("Decides when it is seen"))
	default:
		return false
	}
}

// claiming is the adoption or release of ReplicaSets ([D-4]).
func (p *speaker) claiming() bool {
	if !p.answered(qClaim, decision.Yes) {
		return false
	}
	var lead decision.Words
	if n := int64(len(p.adopt)); n > 0 {
		lead = lead.Say("adopts ").Count("adopt", n).Say(plural(n, " ReplicaSet that matches", " ReplicaSets that match") + " its selector")
	}
	if n := int64(len(p.release)); n > 0 {
		if len(lead) > 0 {
			lead = lead.Say(" and ")
		}
		lead = lead.Say("releases ").Count("release", n).Say(" that no longer " + plural(n, "does", "do"))
	}
	return p.waits("claiming", lead, words("Goes on when that is seen"))
}

// lookingAgain is a wait for a cache that a live read has overtaken.
func (p *speaker) lookingAgain() bool {
	switch {
	case p.answered(qTaken, decision.Yes):
		return p.waits("cache", words("its ReplicaSet ").Name(p.last.Learnt.NameTaken.Name).Say(" exists but is not in the cache yet"),
			words("Goes on when it is seen"))
	case p.last.Learnt.Parent != "":
		return p.waits("cache", words("read live it is "+parentWord(p.last.Learnt.Parent)+", which the cache does not show yet"), nil)
	}
	return false
}

func parentWord(parent string) string {
	if parent == "deleting" {
		return "being deleted"
	}
	return "gone"
}

// annotated is a write of annotations alone: no size, but its echo has to come first.
func (p *speaker) annotated() bool {
	list := p.written(func(a *decision.Action) bool {
		return a.Kind == decision.UpdateReplicaSet && !resized(a)
	})
	if len(list) == 0 || !p.changePending() {
		return false
	}
	lead := words("the annotations of ").Name(list[0].Target.Name).Say(" were out of date and came first")
	return p.waits("annotations", lead, p.clock(words("The rollout goes on when that is seen")))
}

// podsEnding is Recreate between old and new ([RC-3]).
func (p *speaker) podsEnding() bool {
	if !p.answered(qOldRunning, decision.Yes) {
		return false
	}
	then := p.clock(words("Recreate starts no new pod before the last is gone"))
	if n := p.ending(); n > 0 {
		return p.waits("pods-ending", decision.Words{}.Count(fEnding, n).Say(plural(n, " old pod is", " old pods are")+" still ending"), then)
	}
	_, running := p.oldRunningCounts()
	return p.waits("pods-ending", decision.Words{}.Count(fRunning, running).Say(plural(running, " old pod is", " old pods are")+" still running"), then)
}

// minReadyWait is new pods that are ready but not for long enough.
func (p *speaker) minReadyWait() bool {
	if p.fresh == nil || p.missing() <= 0 || !allReady(p.fresh) || !p.rolling() {
		return false
	}
	n, left := int64(len(p.fresh.Blocking)), p.fresh.MinReady
	lead := decision.Words{}.Count(fBlocking, n).Say(plural(n, " new pod is", " new pods are") + " ready but must stay so")
	if at := firstAvailable(p.fresh, p.s.Now); !at.IsZero() {
		p.turns(at)
		lead = lead.Say(" for ").Until(at)
	}
	lead = lead.Say(" (minReadySeconds ").Count(fMinReady, left).Say(")")
	if p.oldTotal > 0 {
		lead = lead.Say(" before an old one may go")
	}
	return p.waits("min-ready", lead, p.clock(nil))
}

// rolling is true while a rollout is under way, so that a pod that is not
// available holds something back.
func (p *speaker) rolling() bool {
	switch c := p.progressing(); {
	case p.oldTotal > 0:
		return true
	case c != nil:
		return c.Reason != reasonDone
	default: // Without a deadline there never is a condition.
		return p.s.Deadline != nil || p.missing() > 0
	}
}

// blockedRollout is every other rollout that waits.
func (p *speaker) blockedRollout() bool {
	if !p.rolling() && !p.changePending() {
		return false
	}
	switch {
	case p.fresh == nil:
		return p.waits("no-replicaset", words("the template has no ReplicaSet yet"), p.clock(nil))
	case p.missing() > 0:
		return p.waitsForPods()
	case p.heldBack(heldBehind):
		return p.waits("status-behind", words("the status of an old ReplicaSet has not caught up with its size, so no old pod goes"), p.clock(nil))
	}
	lead := p.share()
	if p.oldTotal > 0 {
		lead = lead.Say(" and ").Count(fOld, p.oldTotal).Say(plural(p.oldTotal, " old pod", " old pods") + " left")
	}
	return p.waits("unfinished", lead, p.clock(words("Goes on when its last write is seen")))
}

func (p *speaker) heldBack(code string) bool {
	for _, h := range p.last.Verdict.Held {
		if h.Code == code {
			return true
		}
	}
	return false
}

// longLead is how many characters the first half of a sentence may have.
const longLead = 150

// waitsForPods names the pods, their reason, and what would release them.
func (p *speaker) waitsForPods() bool {
	p.out.Since = p.s.LastProgress
	lead := p.blockers()
	if p.oldTotal > 0 {
		lead = p.stay(lead)
	}
	if p.imagePull() {
		return p.waits("image-pull", lead, p.clock(words("Unblocks when that image exists or the template changes")))
	}
	if p.oldTotal > 0 && p.available == p.floor() {
		why := append(slices.Clone(lead), decision.Words{}.Say(plural(p.oldTotal, ": without it ", ": without one ")).Count(fWithout, max(0, p.available-1)).
			Say(" would be available, and ").Count(fFloor, p.floor()).Say(" is the floor")...)
		if utf8.RuneCountInString(why.At(p.s.Now)) <= longLead { // The equation of the held write says it, too.
			lead = why
		}
	}
	then := words("Completes when all are ready")
	if p.oldTotal > 0 {
		then = append(words("Unblocks "), p.oldUnblocks(heldReadiness)...)
	}
	return p.waits("readiness", lead, p.clock(then))
}

// stay appends the old pods that are kept.
func (p *speaker) stay(w decision.Words) decision.Words {
	if p.oldTotal == 1 {
		return w.Say(", so the last old one stays")
	}
	return w.Say(", so ").Count(fOld, p.oldTotal).Say(" old pods stay")
}

// blockers is "3 new pods cannot pull X (not found)"; a single pod is named.
func (p *speaker) blockers() decision.Words {
	b, kind := p.blocking(), "new "
	if !p.rolling() {
		kind = ""
	}
	switch n := p.missing(); b.count {
	case 0:
		return decision.Words{}.Count(fMissing, n).Say(" " + kind + plural(n, "pod is", "pods are") + " not ready")
	case 1:
		return p.wait(words(kind+"pod ").Name(b.first).Say(" "), b)
	default:
		return p.wait(decision.Words{}.Count(fBlocking, b.count).Say(" "+kind+"pods "), b)
	}
}

// wait says what the pods wait for, in Kubernetes' own word second.
func (p *speaker) wait(w decision.Words, b blocked) decision.Words {
	do := func(one, many string) decision.Words { return w.Say(plural(b.count, one, many)) }
	switch b.reason {
	case waitImage:
		return w.Say("cannot pull ").Quote(clipped(b.image, 60)).Say(" (").Quote(pullReason(b)).Say(")")
	case "CrashLoopBackOff":
		return do("keeps crashing", "keep crashing").Say(" (").Quote(b.reason).Say(")")
	case "Unschedulable":
		return do("fits no node", "fit no node").Say(" (").Quote(clipped(b.message, 60)).Say(")")
	case "ContainerCreating", "PodInitializing", "Pending":
		return do("is still starting", "are still starting").Say(" (").Quote(b.reason).Say(")")
	case waitMinReady:
		return do("is ready but not for long enough", "are ready but not for long enough")
	case "", "ContainersNotReady":
		return do("is not ready", "are not ready")
	default:
		return do("is not ready", "are not ready").Say(" (").Quote(clipped(b.reason, 40)).Say(")")
	}
}

// pullReason is the registry's own words where they are short and known.
func pullReason(b blocked) string {
	for _, known := range []string{"not found", "unauthorized", "denied", "no such host", "connection refused", "timeout"} {
		if strings.Contains(b.message, known) {
			return known
		}
	}
	return b.reason
}

// settled is everything wanted, updated and available, and seen.
func (p *speaker) settled() bool {
	if p.changePending() || !p.complete(p.status) && (p.rolling() || p.available < p.s.Want) {
		return false
	}
	since := p.unchangedSince()
	p.out.Since = since
	if p.s.Want == 0 {
		return p.say("settled", decision.ToneOK, "is", "settled", words("scaled to ").Count(fWanted, 0), nil)
	}
	lead := p.share()
	switch {
	case since.IsZero():
	case p.s.Now.Sub(since) < recent:
		p.turns(since.Add(recent))
	default:
		lead = lead.Say(", unchanged for ").Since(since)
	}
	return p.say("settled", decision.ToneOK, "is", "settled", lead, nil)
}

// short is a rollout that is complete, with fewer pods available than wanted.
func (p *speaker) short() bool {
	lead := p.share()
	if c := condition(p.status.Conditions, condAvailable); c != nil && p.s.LastProgress.IsZero() {
		p.out.Since = c.Transition
	} else {
		p.out.Since = p.s.LastProgress
	}
	if !p.out.Since.IsZero() {
		lead = lead.Say(" since ").Clock(p.out.Since)
	}
	if p.missing() > 0 && p.blocking().count > 0 {
		lead = append(lead.Say("; "), p.blockers()...)
	}
	then := words("Its rollout is complete, so no deadline runs")
	if p.available < p.floor() {
		return p.waits("unavailable", lead, then)
	}
	return p.say("short", decision.ToneOK, "is", "settled", lead, then)
}
