package about

import (
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
	telemetry.ShadowDeparture:   {Tone: views.Idle, Word: "known departure"},
	telemetry.ShadowTiming:      {Tone: views.Idle, Word: "cache timing"},
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
	case s.Opts.Mode == "watch":
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
		p.Touches = func(t *telemetry.Trace) bool { return s.Loops.Of(t.Loop).Sizes != "" }
	}
	return p, nil
}

// sizing is the loop whose sizes are compared.
func (s *Pages) sizing() *decision.Loop {
	for i := range s.Loops {
		if s.Loops[i].Sizes != "" {
			return &s.Loops[i]
		}
	}
	return &decision.Loop{}
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
	agree, open := st.Count(telemetry.ShadowAgrees), st.Count(telemetry.ShadowUnexplained)
	total := uint64(0)
	for _, v := range telemetry.ShadowVerdicts {
		if v != telemetry.ShadowOther { // It says nothing of the other controller.
			total += st.Count(v)
		}
	}
	v := views.Shadow{Compares: true, Headline: shadowHeadline(open, total), Then: views.Sayf("%s agree%s. Only decisions on the size of a ReplicaSet can be compared: %s decided none.",
		prose.Thousands(agree), shareText(agree, total), prose.Count(st.Silent, "sync"))}
	for _, verdict := range []telemetry.ShadowVerdict{telemetry.ShadowAgrees, telemetry.ShadowTiming, telemetry.ShadowDeparture, telemetry.ShadowOverdue, telemetry.ShadowUnexplained, telemetry.ShadowOther} {
		n := views.Number{Label: shadowWords[verdict].Word, Value: views.Say(prose.Thousands(st.Count(verdict)))}
		if tone := shadowWords[verdict].Tone; st.Count(verdict) > 0 && (tone == views.Failed || tone == views.Waiting) {
			n.Tone = tone
		}
		v.Numbers = append(v.Numbers, n)
	}
	v.Numbers = append(v.Numbers, views.Number{Label: "seen too late", Value: views.Say(prose.Thousands(st.Together)), Note: views.Say("not compared")},
		views.Number{Label: "withdrawn", Value: views.Say(prose.Thousands(st.Withdrawn)), Note: views.Say("not compared")},
		views.Number{Label: "compared within", Value: views.Say(prose.Span(telemetry.ShadowWithin)), Note: views.Say("of the prediction")})
	v.Differences, v.Questions = differences(st), s.shadowQuestions(st)
	v.Notes = []views.ShadowNote{
		{Title: "What this is", Text: views.Say("The same decision as that of a process that acts, computed from this process's own caches. It is not a view into the other controller: both read the same objects, at slightly different moments. What it wrote is seen in the watch events of the ReplicaSets.")},
		{Title: "What is compared", Text: views.Say("The sizes that the Deployment loop gives to ReplicaSets, and the names of those that it creates. A write that arrived together with its cause is decided on afterwards, on what was known before it; where that is not enough it was seen too late. What somebody else writes is not held against the other controller, and not counted in the share. A decision that the next sync does not repeat is withdrawn, unless the other controller writes it all the same. Pods, status and annotations are not compared.")},
		shadowRights()}
	if st.Missed > 0 {
		v.Notes = append(v.Notes, views.ShadowNote{Title: "What is missing", Text: views.Say(prose.Count(st.Missed, "sync") + prose.Plural(st.Missed, " was", " were") + " not compared: they arrived too fast to be read.")})
	}
	return v
}

func shadowRights() views.ShadowNote {
	return views.ShadowNote{Title: "What it may do", Text: views.Say("get, list and watch on deployments, replicasets, replicationcontrollers and pods. Anything else is refused before it is sent; grant it nothing more.")}
}

func shadowHeadline(open, total uint64) string {
	switch {
	case total == 0:
		return "Nothing could be compared yet."
	case open == 0:
		return "None of " + prose.Count(total, "decision") + " that can be compared differs without a reason."
	default:
		return prose.Thousands(open) + " of " + prose.Count(total, "decision") + " that can be compared " + prose.Plural(int(open), "differs", "differ") + " from the other controller and " + prose.Plural(int(open), "is", "are") + " not explained."
	}
}

// shareText is a share with both of its numbers beside it.
func shareText(n, of uint64) string {
	if of == 0 {
		return ""
	}
	return fmt.Sprintf(" of %s (%s)", prose.Thousands(of), percent(n, of))
}

// percent never rounds up to all.
func percent(n, of uint64) string {
	if n == of {
		return "100%"
	}
	return fmt.Sprintf("%.1f%%", min(99.9, 100*float64(n)/float64(of)))
}

// differences are the worst first, and of each kind the newest.
func differences(st telemetry.ShadowState) []views.Difference {
	var list []views.Difference
	for _, verdict := range telemetry.ShadowVerdicts {
		for _, d := range st.Differences {
			if d.Verdict == verdict {
				list = append(list, differenceOf(&d))
			}
		}
	}
	return list
}

func differenceOf(d *telemetry.Difference) views.Difference {
	v := views.Difference{Reason: shadowWords[d.Verdict], At: d.At.UTC(), Namespace: d.Object.Namespace, Name: d.Object.Name, Href: address.SyncOf(d.Object, d.Epoch, d.Sync),
		Question: d.Question, Target: d.Target, Predicted: d.Predicted, Observed: d.Observed}
	v.Known = views.Text{}.Code(d.Target)
	switch d.Verdict {
	case telemetry.ShadowOverdue:
		v.Known = v.Known.Plain(": predicted ").Since(d.At).Plain(" ago, and nobody has written it. Does the other controller run?")
		return v
	case telemetry.ShadowTiming:
		v.Known = v.Known.Plain(": decided on rv " + prose.OrNone(d.DecidedOn) + ", written on rv " + prose.OrNone(d.WrittenOn) + ", and other things had changed by then")
	case telemetry.ShadowOther:
		v.Known = v.Known.Plain(": written ")
		if d.Manager == "" {
			v.Known = v.Known.Plain("through the scale subresource, which nobody has signed")
		} else {
			v.Known = v.Known.Plain("by ").Code(prose.Clip(d.Manager, 100))
		}
	case telemetry.ShadowDeparture:
		v.Known = v.Known.Plain(": these rules depart from Kubernetes' there on purpose, entry " + words.Digits(uint64(d.Departure)) + " of the register in controllers/DESIGN.md")
	case telemetry.ShadowUnexplained:
		v.Known = v.Known.Plain(": both decided on rv " + prose.OrNone(d.DecidedOn) + ", and nothing else changed")
	}
	if d.SeenIn > 0 {
		v.Known = v.Known.Plain("; ").Link("seen in sync "+words.Digits(d.SeenIn), address.SyncOf(d.Object, d.Epoch, d.SeenIn))
	}
	v.Known = v.Known.Plain(".")
	return v
}

// shadowQuestions is how decisions compare by the question that they follow from.
func (s *Pages) shadowQuestions(st telemetry.ShadowState) []views.ShadowQuestion {
	c := s.sizing().Catalogue
	list := make([]views.ShadowQuestion, 0, len(st.Questions))
	for _, q := range st.Questions {
		v := views.ShadowQuestion{ID: q.Question, Href: "/decisions/" + c.Loop + "#" + q.Question, Agree: q.Counts[telemetry.ShadowAgrees]}
		if known, ok := c.Find(q.Question); ok {
			v.Text = known.Text
		}
		for _, verdict := range telemetry.ShadowVerdicts {
			n := q.Counts[verdict]
			if v.Compared += n; verdict != telemetry.ShadowAgrees && n > 0 {
				v.Differ += n
				mark := shadowWords[verdict]
				v.Of = append(v.Of, views.Mark{Tone: mark.Tone, Word: prose.Thousands(n) + " " + mark.Word})
			}
		}
		v.Ratio = percent(v.Agree, max(1, v.Compared))
		list = append(list, v)
	}
	slices.SortStableFunc(list, func(a, b views.ShadowQuestion) int { return int(min(b.Differ, 1<<30)) - int(min(a.Differ, 1<<30)) })
	return list
}
