package words

import (
	"slices"
	"strings"

	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/decision"
	"github.com/loopscope/loopscope/telemetry/prose"
	"github.com/loopscope/loopscope/web/facts"
)

// mostDeeds is how many deeds of a sync are named.
const mostDeeds = 3

// deed is what syncs did to objects of a kind.
type deed struct {
	verb, kind string
	names      []string
	count      int64 // of objects without a name here
	size       *decision.Size
	note       string // what a deed has that is of one write alone
}

// Did says in a few words what a sync did, "created 3 pods and updated the status", or would have done where nobody acts.
func Did(t *telemetry.Trace) string {
	list := deedsOf(t)
	if t.Report != nil && t.Report.Outcome != nil && t.Report.Outcome.State == decision.Written {
		list = append(list, deed{verb: "updated", kind: "the status"})
	}
	switch {
	case len(list) > 0:
		return said(list, mostDeeds)
	case t.Wrote():
		return "wrote"
	case t.Plans():
		return "would have " + said(plannedBy(t), mostDeeds)
	default:
		return SyncMark(t).Word
	}
}

// DidTogether is what the writes of some syncs came to, their statuses aside: each size from its
// first value to its last. It is "" for nothing.
func DidTogether(syncs ...*telemetry.Trace) string {
	list := deedsOf(syncs...)
	return said(list, len(list))
}

// DidWrites says what writes did, most of them by name, and each with its first change.
func DidWrites(writes []telemetry.Write, most int) string {
	var list []deed
	for i := range writes {
		list = joinDeed(list, deedOfWrite(&writes[i]))
	}
	return said(list, most)
}

func deedOfWrite(w *telemetry.Write) deed {
	kind, name, _ := strings.Cut(w.Object, " ")
	d := deed{kind: kind, names: []string{name}, count: w.Count}
	if w.Count > 0 {
		d.names = nil
	}
	verb := decision.ActionKind(Verb(w.Kind))
	switch {
	case w.Kind == telemetry.WriteStatus && w.Question == "": // its own
		verb, d.kind, d.names = decision.Update, "the status", nil
	case w.Kind == decision.CreatePods:
		verb = decision.Create
	case w.Kind == decision.DeletePods:
		verb = decision.Delete
	}
	d.verb = verb.Past()
	var notes []string
	if len(w.Changes) > 0 {
		c := w.Changes[0]
		c.Field = strings.TrimPrefix(strings.TrimPrefix(c.Field, "status."), "spec.")
		notes = append(notes, prose.Clip(Change(c), 80))
	}
	if !w.Taken() {
		d.verb, notes = untaken(verb, w.State), append(notes, StateMark(w.State).Word)
	}
	if len(notes) > 0 {
		d.note = " (" + strings.Join(notes, "; ") + ")"
	}
	return d
}

// untaken says of a write that was not taken, or may not have been, what became of it.
func untaken(verb decision.ActionKind, s decision.State) string {
	switch {
	case s == decision.Unknown:
		return "may have " + verb.Past()
	case s == decision.Tolerated && (verb == decision.Delete || verb == decision.Release):
		return "did not need to " + verb.Verb()
	default:
		return "could not " + verb.Verb()
	}
}

// deedsOf are the actions of syncs that went through, those alike as one.
func deedsOf(syncs ...*telemetry.Trace) (list []deed) {
	for _, t := range syncs {
		for _, r := range t.Rounds {
			for i := range r.Verdict.Actions {
				if o := facts.OutcomeAt(r, i); facts.Taken(o) {
					list = joinDeed(list, deedOf(&r.Verdict.Actions[i], o))
				}
			}
		}
	}
	return list
}

// plannedBy are the deeds that a sync would have done.
func plannedBy(t *telemetry.Trace) (list []deed) {
	last := &t.Rounds[len(t.Rounds)-1]
	for i := range last.Verdict.Actions {
		if a := &last.Verdict.Actions[i]; len(last.Outcomes) == 0 {
			list = joinDeed(list, deedOf(a, &decision.Outcome{Done: max(a.Count, int64(len(a.Victims)))}))
		}
	}
	if t.Report != nil && t.Report.Publish && t.Report.Outcome == nil {
		list = append(list, deed{verb: "updated", kind: "the status"})
	}
	return list
}

func deedOf(a *decision.Action, o *decision.Outcome) deed {
	switch {
	case a.Kind == decision.CreatePods:
		return deed{verb: "created", kind: "Pod", count: max(o.Done, int64(len(o.Names)))}
	case a.Kind == decision.DeletePods:
		return deed{verb: "deleted", kind: "Pod", count: max(o.Done, int64(len(o.Names)))}
	case a.Size != nil && a.Size.From != a.Size.To && a.Kind != decision.CreateReplicaSet:
		z := *a.Size
		return deed{verb: "scaled", kind: a.Target.Kind, names: []string{a.Target.Name}, size: &z}
	}
	d := deed{verb: decision.ActionKind(Verb(a.Kind)).Past(), kind: a.Target.Kind, names: []string{a.Target.Name}}
	if a.Size != nil && a.Kind == decision.CreateReplicaSet {
		d.size = &decision.Size{From: a.Size.To, To: a.Size.To}
	}
	return d
}

// joinDeed adds a deed to the one that it goes on with. Sizes are of one object each.
func joinDeed(list []deed, d deed) []deed {
	for i := range list {
		is := &list[i]
		switch {
		case is.verb != d.verb || is.kind != d.kind || is.note != "" || d.note != "" || (is.size == nil) != (d.size == nil):
		case d.size == nil:
			is.count += d.count
			for _, name := range d.names {
				if !slices.Contains(is.names, name) {
					is.names = append(is.names, name)
				}
			}
			return list
		case is.names[0] == d.names[0]:
			is.size.To = d.size.To
			return list
		}
	}
	return append(list, d)
}

// said is a list of deeds, of which most are named.
func said(list []deed, most int) string {
	var texts []string
	for i := range list[:min(len(list), most)] {
		texts = append(texts, list[i].String())
	}
	more := int64(0)
	for i := len(texts); i < len(list); i++ {
		more += max(1, list[i].writes())
	}
	if more > 0 {
		return strings.Join(texts, ", ") + " and " + prose.Count(more, "more write")
	}
	return prose.And(texts)
}

func (d *deed) writes() int64 { return d.count + int64(len(d.names)) }

func (d *deed) String() string { return d.text() + d.note }

func (d *deed) text() string {
	noun := d.kind
	if noun == "Pod" {
		noun = "pod"
	}
	switch {
	case d.size != nil && d.verb == "scaled":
		return "scaled " + Own(d.kind, d.names[0]) + " " + Digits(d.size.From) + " → " + Digits(d.size.To)
	case d.size != nil:
		return d.verb + " " + noun + " " + d.names[0] + " of size " + Digits(d.size.To)
	case d.count > 0 || len(d.names) > 1:
		return d.verb + " " + prose.Count(d.writes(), noun)
	case len(d.names) == 1 && d.names[0] != "":
		return d.verb + " " + noun + " " + d.names[0]
	default:
		return d.verb + " " + noun
	}
}
