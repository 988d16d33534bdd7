package diagnosis

import (
	"slices"
	"strings"
	"time"

	"github.com/loopscope/loopscope/telemetry/decision"
	"github.com/loopscope/loopscope/telemetry/prose"
)

// The garbage collector's own finalizers: it has to delete what an object owns first, or to let go of it.
const (
	foreground = "foregroundDeletion"
	orphan     = "orphan"
)

// patience is for how long a controller may do what its finalizer is for, and a kubelet may take beyond the
// grace period, until somebody has to look.
const patience = time.Minute

// Kept is an object that is being deleted and is still there.
type Kept struct {
	*decision.Deletion
	// Awaited is what the garbage collector waits for in the foreground, and Meanwhile what
	// becomes of what the object owns while controllers alone keep it.
	Awaited   func() decision.Finding
	Meanwhile string
}

// Going is what is said of an object that is being deleted: it waits where somebody has to act.
type Going struct {
	Tone       decision.Tone
	Lead, Then decision.Words
}

// Deletion says what keeps an object that is being deleted, and what ends that, each in limit
// characters; nil where it is not known.
func (w Pods) Deletion(k Kept, limit int) *Going {
	if k.Deletion == nil || len(k.Finalizers) == 0 {
		return nil
	}
	var list []decision.Finding
	if f := w.Finalizer(k.Deletion); f != nil {
		list = append(list, *f)
	}
	meanwhile := "; until then only its status is updated"
	switch {
	case slices.Contains(k.Finalizers, foreground):
		f := k.Awaited()
		f.After = slices.Concat(words("the garbage collector waits for "), f.Before, f.After)
		list = append(list, f)
	case slices.Contains(k.Finalizers, orphan):
		list = append(list, decision.Finding{After: words("the garbage collector takes the reference to it off what it owns, which stays"), Unblocks: words("when that is done")})
	default:
		list[0].After, meanwhile = list[0].After.Say(", and only its status is updated"), k.Meanwhile
	}
	going := &Going{Tone: decision.ToneNeutral, Lead: list[0].After, Then: Ends(list, limit)}
	if len(list) > 1 {
		going.Lead = append(going.Lead.Say(", and "), list[1].After...)
	}
	if slices.ContainsFunc(list, func(f decision.Finding) bool { return f.NeedsAction }) {
		going.Tone = decision.ToneWaiting
	}
	if all, fits := Fair(slices.Clone(going.Then).Say(meanwhile), limit); fits {
		going.Then = all
	}
	going.Lead = Fit(going.Lead, limit)
	return going
}

// Finalizer tells of controllers that keep an object which is being deleted; nil where none does.
func (w Pods) Finalizer(d *decision.Deletion) *decision.Finding {
	if d == nil || len(others(d.Finalizers)) == 0 {
		return nil
	}
	names := others(d.Finalizers)
	return &decision.Finding{After: words(prose.Plural(int64(len(names)), "a finalizer keeps", "finalizers keep")).Say(" it (").Quote(Finalizers(names)).Say(")"),
		Unblocks: Unfinalized(names), NeedsAction: !w.Before(d.Since.Add(patience))}
}

// Awaited are the n pods that the garbage collector waits for, of which some are described.
func (w Pods) Awaited(described []decision.TerminatingPod, n int64) decision.Finding {
	f := w.Terminating(described, n, int64(len(described)))
	if len(described) == 0 { // They may have ended.
		f.After = words(prose.Plural(n, " is", " are") + " not deleted yet")
	}
	f.Before = decision.Words{}.Count(decision.FactBlocking, n).Say(prose.Plural(n, " pod", " pods"))
	if n == 1 && len(f.Pods) == 1 {
		f.Before = words("pod ").Name(f.Pods[0])
	}
	f.After = append(words(", which"), f.After...)
	return f
}

// Elsewhere is what the garbage collector waits for where it is nothing that a loop looks at.
func Elsewhere() decision.Finding {
	return decision.Finding{Before: words("other objects that it owns"), Unblocks: words("when the last of them is gone")}
}

// Unfinalized says what ends the deletion of what finalizers block.
func Unfinalized(names []string) decision.Words {
	theirs := others(names)
	if len(theirs) == 0 {
		return words("when the garbage collector, whose finalizer it is, removes it")
	}
	n := int64(len(theirs))
	return words(prose.Plural(n, "when the controller that set ", "when the controllers that set ")).Quote(Finalizers(theirs)).Say(prose.Plural(n, " removes it", " remove them"))
}

// others are the finalizers that are not the garbage collector's.
func others(names []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(f string) bool { return f == foreground || f == orphan })
}

// Finalizers are their names, as far as a sentence has room for them.
func Finalizers(names []string) string { return prose.ClipMiddle(strings.Join(names, ", "), 70) }
