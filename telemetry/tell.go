package telemetry

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/loopscope/loopscope/telemetry/decision"
	"github.com/loopscope/loopscope/telemetry/prose"
)

// toldChanges bounds the changed fields that a line names.
const toldChanges = 4

// Tell says what happened, as page and terminal print it after the time: the
// object, what became of it, and by whom.
func (b *Beat) Tell() decision.Words {
	switch b.Kind {
	case BeatChange:
		return b.changed()
	case BeatPod:
		return podChange(b.Cause)
	case BeatOutage:
		return b.Outage.tell()
	case BeatLeader:
		return b.Leader.tell()
	case BeatMissed:
		return b.Missed.Tell()
	case BeatRestart:
		return b.Restart.tell()
	default:
		return b.synced()
	}
}

func subject(object string) decision.Words {
	kind, name, _ := strings.Cut(object, " ")
	if name == "" {
		return decision.Words{}.Say(kind)
	}
	return decision.Words{}.Say(kind + " ").Name(name)
}

var eventWords = map[CauseKind]string{
	CauseAdded: "was created", CauseModified: "was changed", CauseDeleted: "was deleted",
	CauseTombstone: "was deleted while the watch was down",
}

// changed tells what somebody else did.
func (b *Beat) changed() decision.Words {
	c := b.Cause
	w := subject(c.Object).Say(" ")
	word, ok := eventWords[c.Kind]
	if !ok {
		word = string(c.Kind)
	}
	if c.Kind == CauseModified && c.isDeletion() {
		word = "is being deleted"
	}
	w = w.Say(word)
	switch told := c.Kind == CauseModified || c.Kind == CauseAdded; {
	case b.By != "":
		w = w.Say(" by the " + b.By + " loop")
	case told && c.Manager != "":
		w = w.Say(" by ").Name(c.Manager)
	case c.Kind == CauseModified && !c.isDeletion(): // The API server signs no deletion.
		w = w.Say(" by an unknown writer")
	}
	return changes(w, c.Fields)
}

func changes(w decision.Words, fields []decision.Change) decision.Words {
	fields = slices.DeleteFunc(slices.Clone(fields), func(f decision.Change) bool { return coversOthers(f, fields) })
	for i, f := range fields {
		switch i {
		case 0:
			w = w.Say(": ")
		case toldChanges:
			return w.Say(" and ").Quote(strconv.Itoa(len(fields) - i)).Say(" more")
		default:
			w = w.Say(", ")
		}
		w = w.Name(f.Field)
		if f.From != "" || f.To != "" {
			w = w.Say(" ").Quote(toldValue(f.From)).Say(" → ").Quote(toldValue(f.To))
		}
	}
	return w
}

// coversOthers reports whether a change only says that something below a field changed, and others say what.
func coversOthers(f decision.Change, all []decision.Change) bool {
	return f.From == "" && f.To == "" && slices.ContainsFunc(all, func(c decision.Change) bool { return strings.HasPrefix(c.Field, f.Field+".") })
}

// toldValue is a value as a line has room for it.
func toldValue(s string) string { return prose.Clip(prose.OrNone(s), 60) }

// podChange tells what became of a pod: of several changes in one event, the one
// that matters most to a rollout.
func podChange(c *Cause) decision.Words {
	w := subject(c.Object).Say(" ")
	switch {
	case c.Kind == CauseAdded:
		return w.Say("was created")
	case c.Kind == CauseDeleted || c.Kind == CauseTombstone:
		return w.Say("is gone")
	case c.isDeletion():
		return w.Say("is terminating")
	}
	for _, f := range c.Fields {
		switch f.Field {
		case "status.conditions[Ready]":
			if f.To == "true" {
				return w.Say("became ready")
			}
			return w.Say("is no longer ready")
		case "status.reason":
			if f.To != "" {
				return w.Say("waits: ").Quote(f.To)
			}
		case "spec.nodeName":
			return w.Say("was scheduled to node ").Name(f.To)
		}
	}
	return changes(w.Say("changed"), c.Fields)
}

// synced tells what a sync wrote or, where nobody acts, would have written, or why it wrote nothing.
func (b *Beat) synced() decision.Words {
	w := subject(b.Object)
	said := 0
	for _, x := range joined(slices.Concat(b.Writes, b.Planned)) {
		if said++; said == 1 {
			w = w.Say(": ")
		} else {
			w = w.Say("; ")
		}
		w = append(w, x.words()...)
	}
	switch {
	case said > 0 && len(b.Held) > 0:
		w = w.Say("; held back: ")
	case said == 0 && len(b.Held) > 0:
		w = w.Say(": held back ")
	case said == 0 && b.Sync.Error != "":
		return w.Say(": ").Quote(b.Sync.Error)
	case said == 0 && b.Sync != nil && b.Sync.Plans:
		return w.Say(": would have written")
	case said == 0:
		return w.Say(": nothing to write")
	}
	for i := range b.Held {
		if i > 0 {
			w = w.Say(", ")
		}
		w = append(w, refusedWords(&b.Held[i])...)
	}
	return w
}

var wouldBe = map[decision.ActionKind]string{decision.CreateReplicaSet: "creating ", decision.DeleteReplicaSet: "deleting "}

// refusedWords are a write that was held back, and its reason code.
func refusedWords(h *decision.Held) decision.Words {
	w := decision.Words{}.Say(wouldBe[h.Kind] + h.Target.Kind + " ").Name(h.Target.Name)
	if h.Size != nil {
		w = w.Say(" ").Quote(strconv.FormatInt(h.Size.From, 10)).Say(" → ").Quote(strconv.FormatInt(h.Size.To, 10))
	}
	return w.Say(" (" + h.Code + ")")
}

// writeGroup is several writes that say the same of one object each.
type writeGroup struct {
	Write
	names []string
}

// joined puts pods that were written alike into one.
func joined(writes []Write) []writeGroup {
	var list []writeGroup
	for _, w := range writes {
		_, name, _ := strings.Cut(w.Object, " ")
		if n := len(list); n > 0 && strings.HasPrefix(w.Object, "Pod ") && list[n-1].Kind == w.Kind && list[n-1].Taken() && w.Taken() {
			list[n-1].names = append(list[n-1].names, name)
			continue
		}
		list = append(list, writeGroup{w, []string{name}})
	}
	return list
}

var kindWords = map[decision.ActionKind]string{
	decision.CreateReplicaSet: "created", decision.UpdateReplicaSet: "wrote", decision.DeleteReplicaSet: "deleted",
	decision.UpdateDeployment: "wrote", decision.Adopt: "adopted", decision.Release: "released",
	decision.CreatePods: "created", decision.DeletePods: "deleted", WriteStatus: "published",
}

// participles are those of verbs whose past is another word.
var participles = map[string]string{"wrote": "written"}

var wishWords = map[decision.ActionKind]string{
	decision.CreateReplicaSet: "create", decision.UpdateReplicaSet: "write", decision.DeleteReplicaSet: "delete",
	decision.UpdateDeployment: "write", decision.Adopt: "adopt", decision.Release: "release",
	decision.CreatePods: "create", decision.DeletePods: "delete", WriteStatus: "publish",
}

func (m *writeGroup) words() decision.Words {
	var w decision.Words
	switch done := cmp.Or(kindWords[m.Kind], m.Kind.Past()); {
	case m.Taken():
		w = w.Say(done + " ")
	case m.State == decision.NotTried:
		w = w.Say("would have " + cmp.Or(participles[done], done) + " ")
	case m.State == decision.Unknown:
		w = w.Say("may have " + cmp.Or(participles[done], done) + " ")
	default:
		w = w.Say("could not " + cmp.Or(wishWords[m.Kind], m.Kind.Verb()) + " ")
	}
	kind, _, _ := strings.Cut(m.Object, " ")
	switch {
	case m.Kind == WriteStatus && m.Question == "":
		w = w.Say("its status")
	case m.Kind == WriteStatus: // Of another object than its own.
		w = w.Say("the status of " + kind + " ").Name(m.names[0])
	case m.Count == 1:
		w = w.Say("1 " + kind)
	case m.Count > 0:
		w = w.Quote(strconv.FormatInt(m.Count, 10)).Say(" " + kind + "s")
	default:
		w = w.Say(kind + " ")
		for i, name := range m.names {
			if i > 0 {
				w = w.Say(", ")
			}
			w = w.Name(name)
		}
	}
	w = changes(w, m.told())
	if m.RV != "" && len(m.names) == 1 {
		w = w.Say(" (rv ").Quote(m.RV).Say(")")
	}
	return m.answer(w)
}

// told are the changes that a line has room for: of a scaling the size, without the notes that
// are written with it.
func (m *writeGroup) told() []decision.Change {
	for i := range m.Changes {
		if m.Kind == decision.Scale && m.Changes[i].Field == "spec.replicas" {
			return m.Changes[i : i+1]
		}
	}
	return m.Changes
}

// answer says what the answer was to a write that was not taken.
func (m *writeGroup) answer(w decision.Words) decision.Words {
	switch {
	case m.Taken(), m.State == decision.NotTried:
		return w
	case m.State == decision.Tolerated:
		return w.Say(": it is already gone")
	}
	if m.Other != nil && m.Other.Manager != "" {
		return w.Say(": ").Name(m.Other.Manager).Say(" wrote it first (rv ").Quote(m.Other.RV).Say(")")
	}
	if m.Failure != nil && m.State == decision.Unanswered {
		return w.Say(": unanswered (").Quote(prose.LastClause(m.Failure.Message)).Say(")")
	}
	if m.Failure != nil {
		return w.Say(": ").Quote(m.Failure.Message)
	}
	return w.Say(": " + string(m.State))
}

// toldDue bounds what an outage names of what was due in it.
const toldDue = 4

// tell says how long no API server could serve, what was due and what became of that.
func (o *StoryOutage) tell() decision.Words {
	w := o.lasted()
	if o.Error != "" {
		w = w.Say(" (").Quote(prose.LastClause(o.Error)).Say(")")
	}
	switch {
	case o.Idle:
		return w.Say(". Nothing was pending here")
	case len(o.Due) == 0:
		return w
	case o.Ended.IsZero():
		w = w.Say(". Pending: ")
	default:
		w = w.Say(". Pending meanwhile: ")
	}
	for i := range o.Due[:min(len(o.Due), toldDue)] {
		if i > 0 {
			w = w.Say(", ")
		}
		w = append(w, o.Due[i].tell()...)
	}
	if more := len(o.Due) - toldDue; more > 0 {
		w = w.Say(" and ").Quote(strconv.Itoa(more)).Say(" more")
	}
	return o.again(w)
}

func (o *StoryOutage) lasted() decision.Words {
	var w decision.Words
	who, was, since := "The API server ", o.Lack.Was(), o.Lack.Since()
	if o.Met {
		who, was, since = "No request of these syncs ", "was answered", "has been answered since"
	}
	if o.Ended.IsZero() {
		return w.Say(who + since)
	}
	return w.Say(who + was + " for " + prose.Span(o.Ended.Sub(o.Began)) + ", until ").Clock(o.Ended)
}

// immediateRetry is within what time a try is one at once: a probe is sent every second.
const immediateRetry = 2 * time.Second

// again says when what was due was tried again.
func (o *StoryOutage) again(w decision.Words) decision.Words {
	switch late := o.Tried.Sub(o.Ended); {
	case o.Ended.IsZero():
		return w.Say("; will be retried when it is back")
	case o.Tried.IsZero(): // Or by a sync that is not kept, as it found nothing to write.
		return w
	case late < immediateRetry:
		return w.Say("; retried at once when it was back")
	default:
		return w.Say("; retried " + prose.Span(late) + " after it was back")
	}
}

var dueWords = map[decision.ActionKind]string{
	decision.CreateReplicaSet: "creating ", decision.UpdateReplicaSet: "writing ", decision.DeleteReplicaSet: "deleting ",
	decision.UpdateDeployment: "writing ", decision.Adopt: "adopting ", decision.Release: "releasing ",
	decision.CreatePods: "creating ", decision.DeletePods: "deleting ", WriteStatus: "the status of ",
}

func (d *Due) tell() decision.Words {
	var w decision.Words
	switch {
	case d.Write == nil:
		return append(w.Say("deciding on "), subject(d.Object)...)
	case d.Write.Kind == WriteStatus:
		return append(w.Say(dueWords[WriteStatus]), subject(d.Object)...)
	case d.Write.Object == "Pod":
		return append(w.Say(dueWords[d.Write.Kind]).Quote(strconv.FormatInt(d.Write.Count, 10)).Say(prose.Plural(d.Write.Count, " pod of ", " pods of ")), subject(d.Object)...)
	}
	return changes(append(w.Say(dueWords[d.Write.Kind]), subject(d.Write.Object)...), d.Write.Changes)
}
