package about

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"

	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/decision"
	"github.com/loopscope/loopscope/telemetry/prose"
	"github.com/loopscope/loopscope/views"
	"github.com/loopscope/loopscope/web/address"
	"github.com/loopscope/loopscope/web/page"
	"github.com/loopscope/loopscope/web/words"
)

// shownDifferences is how many differences the page has; the twin has all that are kept.
const shownDifferences = 50

// shadowWords say what a verdict is.
var shadowWords = map[telemetry.ShadowVerdict]views.Mark{
	telemetry.ShadowUnexplained: {Tone: views.Failed, Word: "unexplained"},
	telemetry.ShadowOverdue:     {Tone: views.Waiting, Word: "not written"},
	telemetry.ShadowOther:       {Tone: views.Idle, Word: "another writer"},
	telemetry.ShadowUnsigned:    {Tone: views.Idle, Word: "unsigned"},
	telemetry.ShadowDeparture:   {Tone: views.Idle, Word: "different on purpose"},
	telemetry.ShadowBehind:      {Tone: views.OK, Word: "agree on an earlier version"},
	telemetry.ShadowAgrees:      {Tone: views.OK, Word: "agree"},
}

// Shadow is the page of how what this program would have written compares with
// what another controller did write. A process that acts has nobody to be
// compared with.
func (s *Pages) Shadow(q *page.Query) (*page.Page, error) {
	v := s.notCompared()
	switch {
	case s.Opts.Shadow != nil:
		v = s.compared(s.Opts.Shadow())
	case s.Watches():
		v = s.compared(telemetry.ShadowState{})
	}
	data := v
	if v.More = max(0, len(v.Differences)-shownDifferences); v.More > 0 {
		v.Differences = v.Differences[:shownDifferences]
	}
	p := &page.Page{Status: http.StatusOK, Frame: s.Frame(q, "Shadow: "+v.Headline), Body: views.ShadowBody(v), Data: data}
	p.Frame.Tab, p.Frame.Twin, p.Frame.Keys = "shadow", q.TwinHref(), page.AboutKeys
	p.Frame.Crumbs = []views.Link{{Text: "Shadow"}}
	if s.Opts.Shadow != nil {
		p.GoLive(q, page.Part{ID: "f-head", View: views.ShadowHead(v)}, page.Part{ID: "f-shadow", View: views.ShadowLists(v)})
		p.Touches = func(t *telemetry.Trace) bool { return len(s.Loops.Of(t.Loop).Predicts) > 0 }
	}
	return p, nil
}

// notCompared is the page of a process that acts, or is a recording.
func (s *Pages) notCompared() views.Shadow {
	if s.Opts.Recording != nil {
		return views.Shadow{Headline: "A recording has nothing to compare.",
			Then:  views.Say("It holds what one set of loops decided."),
			Notes: []views.ShadowNote{{Title: "Replay it", Text: views.Say("Every sync of a recording can be decided again by these rules, and compared."), Try: "loopscope replay FILE"}}}
	}
	return views.Shadow{Headline: "This process acts, so there is nothing to compare.",
		Then: views.Say("Whatever its loops decide, they write; nobody else decides for the same objects. The page of a sync shows the effects of its decisions."),
		Notes: []views.ShadowNote{
			{Title: "To compare", Text: views.Say("Run it beside the controllers that a cluster already has. It then decides the same and writes nothing, and this page counts where the two differ."), Try: "loopscope manager --watch"},
			shadowRights()}}
}

// compared is the page of a process that watches.
func (s *Pages) compared(st telemetry.ShadowState) views.Shadow {
	all := tallyOf(st.Questions)
	v := views.Shadow{Compares: true, Headline: shadowHeadline(st.Count(telemetry.ShadowUnexplained), st.Count(telemetry.ShadowOverdue), all.compared),
		Then: views.Say(agreeText(&all) + prose.Count(st.Silent, "sync") + " decided nothing that another controller could be seen to do.")}
	if o := s.Outage(); o.On {
		v.AsOf = o.OfThen("As of", o.Began)
	}
	for _, verdict := range []telemetry.ShadowVerdict{telemetry.ShadowAgrees, telemetry.ShadowBehind, telemetry.ShadowDeparture, telemetry.ShadowOverdue, telemetry.ShadowUnexplained, telemetry.ShadowOther, telemetry.ShadowUnsigned} {
		n := views.Number{Label: shadowWords[verdict].Word, Value: views.Say(prose.Thousands(st.Count(verdict)))}
		if !verdict.Tells() {
			n.Note = views.Say("not counted")
		}
		if tone := shadowWords[verdict].Tone; st.Count(verdict) > 0 && (tone == views.Failed || tone == views.Waiting) {
			n.Tone = tone
		}
		v.Numbers = append(v.Numbers, n)
	}
	v.Numbers = append(v.Numbers, views.Number{Label: "seen too late", Value: views.Say(prose.Thousands(st.Together)), Note: views.Say("not compared")},
		views.Number{Label: "left out", Value: views.Say(prose.Thousands(st.LeftOut)), Note: views.Say("no time to compare")},
		views.Number{Label: "not written after", Value: views.Say(prose.Span(telemetry.ShadowWithin))})
	v.Kinds = s.shadowKinds(st)
	if v.Partly = s.Partly(); v.Partly {
		v.Then = v.Then.Plain(" These are the decisions for all objects; listed are the differences that you may see.")
	}
	v.Differences, v.Questions = s.differences(st), s.shadowQuestions(st)
	v.Notes = []views.ShadowNote{
		{Title: "What this is", Text: views.Say("The same decision as that of a process that acts, computed from this process's own caches. It is not a view into the other controller: both read the same objects, at slightly different moments. What it wrote is seen in the watch events of Deployments, ReplicaSets, ReplicationControllers and pods.")},
		{Title: "What is compared", Text: views.Say("What anybody can see of a decision: sizes, creations (the size that something is created with by its event alone) and deletions, adoption and release, the counts and conditions of a status, and that the revision was written (not which). A write agrees if the rules say so of any state that the other controller can have had: those that the last sync here knew, and if need be those between and of the half minute before, as each kind of objects has a cache of its own, and a controller decides first and writes later. A pod that goes agrees by its rank: Kubernetes has no order for pods that became ready and were created in one second. Conditions may be written one after another; what stays missing is listed as not written. What somebody else writes is not held against the other controller, and not counted in the share. What agrees with nothing, and came within half a minute of the first list here, or of syncs that this process was too slow to compare, may have been decided on what it has not seen: it counts as seen too late.")},
		{Title: "Who created and deleted", Text: views.Say("Creations are signed: managedFields name who made an object. Deletions are not: that of a pod is put down to the other controller where one of its events says so. Nor is what goes from a status, its conditions or the annotations, a number that becomes 0 included. What is not called for and nobody signed is listed as unsigned, and not counted: a person may have done it, or the garbage collector, which releases under the name of kube-controller-manager.")},
		shadowEvents(&st.Events),
		{Title: "What it takes", Text: views.Say("It looks back on the last 4,096 syncs, and on the newest few of each object. It may use a fifth of one processor; " + leftOut(st.LeftOut) + ".")},
		shadowRights()}
	v.Notes = append(v.Notes, s.releaseNote()...)
	if st.Missed > 0 {
		v.Notes = append(v.Notes, views.ShadowNote{Title: "What is missing", Text: views.Say(prose.Count(st.Missed, "sync") + prose.Plural(st.Missed, " was", " were") + " not compared: they arrived too fast to be read.")})
	}
	return v
}

// shadowEvents says how events are compared, and which are missing, or why none is compared.
func shadowEvents(e *telemetry.ShadowEvents) views.ShadowNote {
	n := views.ShadowNote{Title: "Events"}
	switch {
	case e.Followed:
		n.Text = views.Say("Those that the other controller publishes about Deployments, ReplicaSets and ReplicationControllers are compared: type, reason, object and text, except for names that the API server makes up and its reasons for a refusal. One agrees if the rules publish it with a write of the two minutes before, or on a state from half a minute before it to ten seconds after; one that tells of a write listed above is not listed again, and one that comes more than two minutes after it happened agrees or is too late to be compared. A controller drops events, puts similar ones together, and sends them late, so a missing one is no difference: ")
		n.Text = n.Text.Plain(untold(e) + ".")
	case e.Why == "":
		n.Text = views.Say("They are not compared yet: the watch has not begun.")
	default:
		n.Text = views.Say("They are not compared: ").Plain(prose.Clip(e.Why, 300) + ". It takes the rights to list and watch events; this process asks again every few minutes.")
	}
	return n
}

// leftOut is how many writes and events there was no time to compare.
func leftOut(n uint64) string {
	if n == 0 {
		return "so far, that was enough for all writes and events"
	}
	return prose.Thousands(n) + prose.Plural(n, " write or event was", " writes and events were") + " left out because that was not enough"
}

// untold is how many writes no event told of.
func untold(e *telemetry.ShadowEvents) string {
	switch {
	case e.Told == 0:
		return "none was due so far"
	case e.Untold == 0:
		return "so far, an event was seen for each creation, deletion and new size that agrees"
	}
	return "no event was seen for " + prose.Thousands(e.Untold) + " of the " + prose.Thousands(e.Told) + " creations, deletions and new sizes that agree"
}

func shadowRights() views.ShadowNote {
	return views.ShadowNote{Title: "What it may do", Text: views.Say("It reads deployments, replicasets, replicationcontrollers and pods (get, list, watch), events and namespaces (list, watch); grant it nothing more. What its loops would write is refused before it is sent. For a secure port it also sends TokenReviews and SubjectAccessReviews, which store nothing.")}
}

func shadowHeadline(open, overdue, total uint64) string {
	switch {
	case total == 0:
		return "Nothing could be compared yet."
	case open == 0 && overdue > 0:
		return prose.Count(overdue, "decision") + prose.Plural(overdue, " that is due has", " that are due have") + " not been written. Does the other controller run?"
	case open == 0:
		return prose.Plural(total, "The one decision of the other controller that can be compared agrees", "All "+prose.Count(total, "decision")+" of the other controller that can be compared agree") + " with Kubernetes' rules."
	default:
		return prose.Thousands(open) + " of " + prose.Count(total, "decision") + " that can be compared " + prose.Plural(int(open), "differs", "differ") + " from the other controller and " + prose.Plural(int(open), "is", "are") + " not explained."
	}
}

// agreeText is how many agree, where the headline does not say that all do, and how many of those with a
// rule that is not followed here.
func agreeText(all *shadowTally) string {
	if all.compared == 0 {
		return "No write of another controller that can be compared was seen so far. "
	}
	departures := all.counts[telemetry.ShadowDeparture]
	byRule := prose.Thousands(departures) + " of them " + prose.Plural(departures, "agrees", "agree") + " with a rule of Kubernetes from which the loops here depart on purpose. "
	text := prose.Thousands(all.agree) + " of " + prose.Thousands(all.compared) + prose.Plural(all.agree, " agrees", " agree") + " (" + percent(all.agree, all.compared) + "). "
	if all.agree == all.compared {
		text = ""
	}
	if departures > 0 {
		text += byRule
	}
	return text
}

// percent never rounds up to all.
func percent(n, of uint64) string {
	if n == of {
		return "100%"
	}
	return fmt.Sprintf("%.1f%%", min(99.9, 100*float64(n)/float64(of)))
}

// differences are the worst first, and of each kind the newest.
func (s *Pages) differences(st telemetry.ShadowState) []views.Difference {
	var list []views.Difference
	for _, verdict := range telemetry.ShadowVerdicts {
		for _, d := range st.Differences {
			if d.Verdict == verdict {
				list = append(list, s.differenceOf(&d))
			}
		}
	}
	return list
}

func (s *Pages) differenceOf(d *telemetry.Difference) views.Difference {
	v := views.Difference{Reason: shadowWords[d.Verdict], At: d.At.UTC(), Kind: s.Loops.Kind(d.Object.Loop), Namespace: d.Object.Namespace, Name: d.Object.Name, Href: address.SyncOf(d.Object, d.Epoch, cmp.Or(d.Sync, d.SeenIn)),
		Question: d.Question, What: aspectWords(d.Predictable), Target: d.Target, Predicted: d.Predicted, Observed: d.Observed}
	if d.Trace > 0 {
		v.Href = address.SyncOf(telemetry.Disagreement(d.Object), d.Epoch, d.Trace)
	}
	v.Known = views.Text{}.Code(cmp.Or(d.Target, d.Of))
	switch d.Verdict {
	case telemetry.ShadowOverdue:
		v.Known = v.Known.Plain(": due since ").Since(d.At).Plain(" ago, and nobody has written it. Does the other controller run?")
		return v
	case telemetry.ShadowUnsigned:
		v.Known = v.Known.Plain(": not called for, and nothing says who did it")
	case telemetry.ShadowOther:
		v.Known = v.Known.Plain(": written ")
		if d.Manager == "" {
			v.Known = v.Known.Plain("through the scale subresource, which nobody has signed")
		} else {
			v.Known = v.Known.Plain("by ").Code(prose.Clip(d.Manager, 100))
		}
	case telemetry.ShadowDeparture:
		v.Known = v.Known.Plain(": Kubernetes' own rule gives exactly this for the same state; these rules differ there on purpose (entry " + words.Digits(uint64(d.Departure)) + " of the register in controllers/DESIGN.md)")
	case telemetry.ShadowUnexplained:
		if d.Aspect == decision.AspectEvent {
			v.Known = v.Known.Plain(": published by ").Code(prose.Clip(d.Manager, 100)).Plain(", and the rules publish no such event in any state around that time")
			break
		}
		v.Known = v.Known.Plain(": written on rv " + prose.OrNone(d.WrittenOn) + ", and the rules say so of none of the versions that were tried")
	}
	if d.SeenIn > 0 {
		v.Known = v.Known.Plain("; ").Link("seen in sync "+words.Digits(d.SeenIn), address.SyncOf(d.Object, d.Epoch, d.SeenIn))
	}
	v.Known = v.Known.Plain(".")
	return v
}

// aspects are what a person calls what is compared, before the kind that it is of.
var aspects = map[decision.Aspect]string{
	decision.AspectSize: "size of a ", decision.AspectCreation: "creation of a ", decision.AspectDeletion: "deletion of a ", decision.AspectOwner: "owner of a ",
	decision.AspectStatus: "status of the ", decision.AspectConditions: "conditions of the ", decision.AspectAnnotations: "annotations of the ", decision.AspectEvent: "event about a ",
}

func aspectWords(p decision.Predictable) string { return aspects[p.Aspect] + p.Of }

// shadowTally is how some comparisons came out. What others wrote says nothing of the other
// controller.
type shadowTally struct {
	compared, agree uint64
	counts          map[telemetry.ShadowVerdict]uint64
}

func tallyOf(questions []telemetry.ShadowQuestion) shadowTally {
	t := shadowTally{counts: map[telemetry.ShadowVerdict]uint64{}}
	for _, q := range questions {
		for verdict, n := range q.Counts {
			t.counts[verdict] += n
			if verdict.Tells() {
				t.compared += n
			}
			if verdict.Follows() {
				t.agree += n
			}
		}
	}
	return t
}

// row is a line of one of the tables.
func (t *shadowTally) row() views.ShadowRow {
	v := views.ShadowRow{Compared: t.compared, Agree: t.agree, Differ: t.compared - t.agree}
	if t.compared > 0 {
		v.Ratio = percent(t.agree, t.compared)
	}
	for _, verdict := range telemetry.ShadowVerdicts {
		if n := t.counts[verdict]; verdict != telemetry.ShadowAgrees && n > 0 {
			mark := shadowWords[verdict]
			v.Of = append(v.Of, views.Mark{Tone: mark.Tone, Word: prose.Thousands(n) + " " + mark.Word})
		}
	}
	return v
}

// shadowKinds is how decisions compare by loop and by what is decided.
func (s *Pages) shadowKinds(st telemetry.ShadowState) (list []views.ShadowKind) {
	for i := range s.Loops {
		loop := &s.Loops[i]
		for _, p := range loop.Predicts {
			tally := tallyOf(slices.DeleteFunc(slices.Clone(st.Questions), func(q telemetry.ShadowQuestion) bool { return q.Loop != loop.Name || q.Predictable != p }))
			list = append(list, views.ShadowKind{Loop: loop.Name, Kind: loop.Kind, Aspect: string(p.Aspect), Of: p.Of, Text: aspectWords(p), ShadowRow: tally.row()})
		}
	}
	return list
}

// shadowQuestions is how decisions compare by the question that they follow from.
func (s *Pages) shadowQuestions(st telemetry.ShadowState) []views.ShadowQuestion {
	type key struct{ loop, question string }
	of := map[key][]telemetry.ShadowQuestion{}
	var order []key
	for _, q := range st.Questions {
		k := key{q.Loop, q.Question}
		if of[k] == nil {
			order = append(order, k)
		}
		of[k] = append(of[k], q)
	}
	list := make([]views.ShadowQuestion, 0, len(order))
	for _, k := range order {
		tally, loop := tallyOf(of[k]), s.Loops.Of(k.loop)
		v := views.ShadowQuestion{Loop: loop.Kind, ID: k.question, Href: "/decisions/" + loop.Catalogue.Loop + "#" + k.question, ShadowRow: tally.row()}
		if known, ok := loop.Catalogue.Find(k.question); ok {
			v.Text = known.Text
		}
		list = append(list, v)
	}
	slices.SortStableFunc(list, func(a, b views.ShadowQuestion) int { return int(min(b.Differ, 1<<30)) - int(min(a.Differ, 1<<30)) })
	return list
}
