package web

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/loopscope/loopscope/controllers/decision"
	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/views"
)

// historyRows is how many kept syncs of an object a page looks at, listRows how
// many lines of them it shows.
const (
	historyRows = 400
	listRows    = 30
)

// subject is an object with the syncs that are kept of it, oldest first, and
// the one under the cursor.
type subject struct {
	object telemetry.Object
	row    telemetry.Row
	newest *telemetry.Trace
	cursor *telemetry.Trace
	kept   []*telemetry.Trace
	pinned bool
	onList bool // on the board: it still exists
}

// subject finds the object of a page, and the sync under its cursor.
func (s *Server) subject(q *query, loop string) (*subject, error) {
	o := telemetry.Object{Loop: loop, Namespace: q.namespace, Name: q.name}
	x := &subject{object: o, kept: s.journal.Of(o, historyRows)}
	x.row, x.onList = s.journal.Board().Row(o)
	switch {
	case x.onList:
		x.newest = x.row.Trace
	case len(x.kept) > 0:
		x.newest = x.kept[len(x.kept)-1]
	default:
		return nil, s.unknownObject(o)
	}
	x.cursor = x.newest
	return x, s.pin(q, x)
}

// pin puts the cursor on the sync that the address names.
func (s *Server) pin(q *query, x *subject) error {
	args := q.url.Query()
	text := args.Get("sync")
	if text == "" {
		return nil
	}
	seq, err := number(text)
	if err != nil {
		return badSync(text, hrefOf(x.object))
	}
	if epoch := args.Get("epoch"); epoch != "" && epoch != s.journal.Epoch() {
		return s.otherEpoch(epoch, hrefOf(x.object))
	}
	t, err := s.syncNumber(x.object, seq)
	if err != nil {
		return err
	}
	x.cursor, x.pinned = t, true
	return nil
}

func badSync(text, back string) error {
	return problem(http.StatusBadRequest, "bad-sync", "That is not the number of a sync.",
		views.Say("Syncs are numbered from 1; the address says ").Code(clip(text, 60)).Plain(".")).
		link("The newest sync", back)
}

func (s *Server) otherEpoch(epoch, back string) error {
	return problem(http.StatusGone, "other-epoch", "That sync is of an earlier run of Loopscope.",
		views.Say("The address is of run ").Code(clip(epoch, 40)).Plain("; this run is ").Code(s.journal.Epoch()).
			Plain(", which began ").Clock(s.window().Since).Plain(" UTC and numbers its syncs from 1 again.")).
		link("The newest sync", back)
}

// syncNumber finds a sync of an object, or says why there is none and which is nearest.
func (s *Server) syncNumber(o telemetry.Object, seq uint64) (*telemetry.Trace, error) {
	back := hrefOf(o)
	if seq > s.journal.Last() {
		return nil, problem(http.StatusNotFound, "no-such-sync", "There is no sync "+digits(seq)+" yet.",
			views.Sayf("The newest of this run is %s.", digits(s.journal.Last()))).link("The newest sync of "+o.Key(), back)
	}
	t, ok := s.journal.Get(seq)
	if row, found := s.journal.Board().Row(o); !ok && found && row.Trace.Seq == seq {
		t, ok = row.Trace, true // The newest of an idle object is kept on the board alone.
	}
	switch {
	case ok && t.Object == o:
		return t, nil
	case ok:
		return nil, problem(http.StatusNotFound, "other-object", "Sync "+digits(seq)+" was not one of "+kindOf(o.Loop)+" "+o.Key()+".",
			views.Say("It belongs to "+kindOf(t.Loop)+" ").Code(t.Key()).Plain(".")).
			link("Sync "+digits(seq)+" of "+t.Key(), syncHref(t)).link("The newest sync of "+o.Key(), back)
	}
	e := problem(http.StatusGone, "too-old", "Sync "+digits(seq)+" is no longer kept.",
		views.Say("It changed nothing and was folded into a counter, or it is too long ago. Kept for longest are writes, failures and conflicts."))
	if near := nearest(s.journal.Of(o, historyRows), seq); near != nil {
		e = e.link("The nearest that is kept: "+digits(near.Seq), syncHref(near))
	}
	return nil, e.link("The newest sync of "+o.Key(), back)
}

// nearest is the kept sync closest to a number.
func nearest(kept []*telemetry.Trace, seq uint64) *telemetry.Trace {
	var best *telemetry.Trace
	for _, t := range kept {
		if best == nil || distance(t.Seq, seq) < distance(best.Seq, seq) {
			best = t
		}
	}
	return best
}

func distance(a, b uint64) uint64 { return max(a, b) - min(a, b) }

// unknownObject names what comes nearest to an object that is not there.
func (s *Server) unknownObject(o telemetry.Object) error {
	kind := kindOf(o.Loop)
	e := problem(http.StatusNotFound, "unknown-object", "There is no "+kind+" "+clip(o.Key(), 300)+" that was ever looked at.",
		views.Say("Since ").Clock(s.window().Since).Plain(" UTC no sync had that name. Check the namespace and the spelling; names are case-sensitive."))
	for _, t := range s.closest(o) {
		e = e.link(t.Key(), hrefOf(t.Object))
	}
	return e.link("All Deployments", "/deployments")
}

// closest are up to three objects of the same name elsewhere, or whose name
// begins alike, the likeliest first.
func (s *Server) closest(o telemetry.Object) []*telemetry.Trace {
	likeness := func(t *telemetry.Trace) int {
		n := common(t.Name, o.Name) - max(len(t.Name), len(o.Name))
		if t.Namespace != o.Namespace {
			n--
		}
		return n
	}
	list := slices.DeleteFunc(s.journal.Board().List(o.Loop), func(t *telemetry.Trace) bool {
		return t.Name != o.Name && (t.Namespace != o.Namespace || common(t.Name, o.Name) == 0)
	})
	slices.SortStableFunc(list, func(a, b *telemetry.Trace) int { return likeness(b) - likeness(a) })
	return list[:min(3, len(list))]
}

func common(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// objectView is what the pages of both kinds share.
func (s *Server) objectView(q *query, x *subject) views.Object {
	v := views.Object{Kind: kindOf(x.object.Loop), Namespace: x.object.Namespace, Name: x.object.Name,
		Head: s.head(q, x), Held: heldViews(x.newest), Sync: s.syncOf(x.cursor), Step: s.stepper(x)}
	v.Syncs, v.SyncsNote = s.syncRows(x)
	return v
}

// head is the sentence of the newest sync.
func (s *Server) head(q *query, x *subject) views.Head {
	t := x.newest
	sen := s.said(t, q.now)
	o, _ := outcomeOf(sen.Tone)
	h := views.Head{Sentence: sen.At(q.now), Code: sen.Code, State: views.Mark{Tone: o.view, Word: sen.State},
		Owner: x.object.Namespace + "/", Own: x.object.Name, Verb: sen.Verb, Past: past(sen.Verb),
		Lead: wording(sen.Lead, false), Then: first(stop(wording(sen.Then, true))), Numbers: s.keyNumbers(t, o.view)}
	if !sen.Turns.IsZero() {
		h.Turns = &sen.Turns
	}
	if sen.State == "" {
		h.Verb, h.Past, h.State.Word = "has", "had", "no sentence"
		told := why(t, sen)
		h.Lead = told[:max(0, len(told)-1)]
		h.Sentence = x.object.Key() + " has no sentence: " + h.Lead.At(q.now) + "."
	}
	if !x.onList && !t.Gone {
		h.Gone = true
	}
	return h
}

// keyNumber says how a fact is labelled, and which other fact bounds it.
type keyNumber struct {
	fact, label string
	bound, sign string
	note, words string
}

var keyNumbers = map[string][]keyNumber{
	telemetry.LoopDeployment: {
		{fact: "wanted", label: "wanted"},
		{fact: "new", label: "new", note: "newAvailable", words: "available"},
		{fact: "old", label: "old", note: "oldAvailable", words: "available"},
		{fact: "total", label: "total", bound: "ceiling", sign: "≤"},
		{fact: "available", label: "available", bound: "floor", sign: "≥"},
		{fact: "lastProgress", label: "last progress"},
	},
	telemetry.LoopReplicaSet: {
		{fact: "wanted", label: "wanted"},
		{fact: "pods", label: "pods"},
		{fact: "ready", label: "ready"},
		{fact: "available", label: "available"},
		{fact: "terminating", label: "ending"},
	},
}

// keyNumbers are facts of the newest sync, with their bounds beside them.
func (s *Server) keyNumbers(t *telemetry.Trace, tone views.Tone) []views.Number {
	n := numbersOf(t)
	var list []views.Number
	for _, k := range keyNumbers[t.Loop] {
		value, ok := n.find(k.fact)
		if !ok {
			continue
		}
		x := views.Number{Label: k.label, Value: views.Say(value.String())}
		if at, ok := value.Time(); ok {
			x.Value, x.Note = views.Text{}.Since(at), views.Say("ago")
		}
		if bound, ok := n.find(k.bound); ok {
			x.Note = views.Say(k.sign + " " + bound.String())
			if bound.Equal(value) && tone != views.OK && tone != views.Idle {
				x.Tone = tone
			}
		}
		if note, ok := n.find(k.note); ok && !value.Equal(decision.Count("", 0).Value) {
			x.Note = views.Say(note.String() + " " + k.words)
		}
		list = append(list, x)
	}
	if len(t.Timers) > 0 {
		list = append(list, views.Number{Label: "next look", Value: views.Text{}.Until(soonest(t.Timers))})
	}
	return list
}

func soonest(timers []decision.Timer) time.Time {
	at := timers[0].At
	for _, t := range timers {
		if t.At.Before(at) {
			at = t.At
		}
	}
	return at
}

// shownBlockers is how many blockers a page names one by one.
const shownBlockers = 5

func heldViews(t *telemetry.Trace) []views.Held {
	list := make([]views.Held, 0, len(held(t)))
	for _, h := range held(t) {
		list = append(list, heldView(h))
	}
	return list
}

func heldView(h decision.Held) views.Held {
	v := views.Held{Question: h.Question, Code: h.Code, What: heldWhat(h), Unblocks: first(stop(wording(h.Unblocks, false)))}
	if h.Equation != nil {
		v.Equation = equationLong(h.Equation)
	}
	said := ""
	for _, b := range h.Blockers[:min(len(h.Blockers), shownBlockers)] {
		if b.Message == said { // Pods of one template mostly wait for the same.
			b.Message = ""
		} else {
			said = b.Message
		}
		v.Blockers = append(v.Blockers, blockerOf(b))
	}
	if n := max(h.BlockerCount, int64(len(h.Blockers))) - int64(len(v.Blockers)); n > 0 && len(v.Blockers) > 0 {
		last := v.Blockers[len(v.Blockers)-1]
		v.More = "and " + digits(n) + " more like …-" + last.Own
	}
	if len(v.Unblocks) > 0 {
		v.Unblocks = views.Say("Unblocks ").Join(stop(wording(h.Unblocks, false)))
	}
	return v
}

func heldWhat(h decision.Held) views.Text {
	verb := map[decision.ActionKind]string{decision.UpdateReplicaSet: "Scale", decision.CreateReplicaSet: "Create",
		decision.DeleteReplicaSet: "Delete", decision.CreatePods: "Create pods of", decision.DeletePods: "Delete pods of"}[h.Kind]
	if verb == "" {
		verb = string(h.Kind)
	}
	if h.Target.Name == "" {
		return views.Text{}.Strong(verb + " " + plural(h.BlockerCount, "an old ReplicaSet", "old ReplicaSets"))
	}
	t := views.Text{}.Strong(verb + " ").Code(h.Target.Name)
	switch {
	case h.Size == nil:
	case h.Kind == decision.CreateReplicaSet:
		t = t.Strong(" with " + views.Plural(h.Size.To, "pod"))
	default:
		t = t.Strong(" from " + digits(h.Size.From) + " to " + digits(h.Size.To))
	}
	return t
}

func plural(n int64, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

// blockerWords put Kubernetes' own reasons into words; the reason follows.
func blockerOf(b decision.Blocker) views.Blocker {
	owner, own := split(b.Name)
	v := views.Blocker{Kind: b.Kind, Owner: owner, Own: own}
	switch {
	case b.Reason == "Ready":
		v.Why = views.Say("ready")
	case b.Reason != "":
		v.Why = views.Text{}.Code(b.Reason)
	case b.Kind == "Pod":
		v.Why = views.Say("not ready")
	}
	if !b.Since.IsZero() {
		v.Why = v.Why.Plain(" ").Since(b.Since)
	}
	if b.Message != "" {
		v.Why = v.Why.Plain(", ").Plain(clip(b.Message, 160))
	}
	return v
}

// stepper is where the cursor stands among the kept syncs.
func (s *Server) stepper(x *subject) views.Stepper {
	t := x.cursor
	v := views.Stepper{Seq: t.Seq, At: t.Started, Pinned: x.pinned, Result: resultMark(t.Result), Took: views.Took(t.Took()), Permalink: syncHref(t)}
	at := slices.IndexFunc(x.kept, func(k *telemetry.Trace) bool { return k.Seq >= t.Seq })
	if at < 0 {
		at = len(x.kept)
	}
	if at > 0 {
		v.Prev, v.First = x.stepTo(x.kept[at-1]), x.stepTo(x.kept[0])
	}
	if at+1 < len(x.kept) {
		v.Next, v.Newer = x.stepTo(x.kept[at+1]), len(x.kept)-at-1
		v.Last = &views.Link{Text: "newest", Href: hrefOf(x.object)}
		if v.Newer == 1 {
			v.Next.Href = v.Last.Href
		}
	}
	return v
}

func (x *subject) stepTo(t *telemetry.Trace) *views.Link {
	return &views.Link{Text: digits(t.Seq), Href: hrefOf(x.object) + "?epoch=" + t.Epoch + "&sync=" + digits(t.Seq)}
}

// syncRows is the list of kept syncs, newest first. Neighbours that changed
// nothing stand in one line.
func (s *Server) syncRows(x *subject) ([]views.SyncRow, string) {
	var rows []views.SyncRow
	for i := len(x.kept) - 1; i >= 0 && len(rows) < listRows; i-- {
		t := x.kept[i]
		row := x.syncRow(t)
		if n := len(rows); n > 0 && rows[n-1].Quiet > 0 && row.Quiet > 0 && !row.Cursor && !rows[n-1].Cursor {
			last := &rows[n-1]
			last.Quiet++
			last.Causes += row.Causes
			first, _, _ := strings.Cut(last.Seqs, " ")
			last.Seqs = first + " to " + digits(t.Seq)
			last.Did.Word = digits(last.Quiet) + " times nothing to write"
			last.Why = "several"
			continue
		}
		rows = append(rows, row)
	}
	note := views.Plural(len(x.kept), "sync") + " kept"
	if folded := s.journal.Folded(x.object); folded > 0 {
		note += ", " + views.Thousands(folded) + " quiet ones only counted"
	}
	return rows, note
}

func (x *subject) syncRow(t *telemetry.Trace) views.SyncRow {
	r := views.SyncRow{At: t.Started, Seqs: digits(t.Seq), Href: x.stepTo(t).Href, Why: whyShort(t), Causes: len(t.Causes) + t.Folded,
		Did: resultMark(t.Result), Took: views.Took(t.Took()), Cursor: t.Seq == x.cursor.Seq}
	if t.Wrote() {
		r.Detail = did(t)
	}
	if t.Failure != nil {
		r.Detail = clip(t.Failure.Message, 120)
	}
	if t.Result == telemetry.ResultUnchanged {
		r.Quiet = 1
	}
	return r
}

// whyShort is the first cause of a sync in a few words, and how many more.
func whyShort(t *telemetry.Trace) string {
	if len(t.Causes) == 0 {
		return "not recorded"
	}
	c := t.Causes[0]
	for _, x := range t.Causes {
		if !early(t, x) {
			c = x
			break
		}
	}
	text := causeWord(c.Kind)
	if c.Object != "" {
		kind, name, _ := strings.Cut(c.Object, " ")
		if name != t.Name {
			_, own := split(name)
			kind += " " + own
		}
		text += " " + kind
	} else if c.Code != "" {
		text += ": " + timerWord(c.Code)
	}
	if len(c.Fields) > 0 {
		text += ", " + changeText(c.Fields[0])
	}
	if more := len(t.Causes) + t.Folded - 1; more > 0 {
		text += " and " + digits(more) + " more"
	}
	return clip(text, 160)
}

// errSnapshot says that a trace carries no snapshot that can be read here.
var errSnapshot = errors.New("the trace has no readable snapshot")

// conditionLines are the conditions of a status.
func conditionLines(list []decision.Condition) []views.Line {
	lines := make([]views.Line, 0, len(list))
	for _, c := range list {
		text := views.Say(c.Status)
		if c.Reason != "" {
			text = text.Plain(", ").Code(c.Reason)
		}
		if !c.Updated.IsZero() {
			text = text.Plain(", ").Clock(c.Updated)
		} else if !c.Transition.IsZero() {
			text = text.Plain(", ").Clock(c.Transition)
		}
		if c.Message != "" {
			text = text.Plain(" ").Faint(clip(c.Message, 240))
		}
		lines = append(lines, views.Line{Label: c.Type, Text: text})
	}
	return lines
}

// eventLines are the Events that a sync published.
func eventLines(t *telemetry.Trace) []views.Line {
	if t.Report == nil {
		return nil
	}
	lines := make([]views.Line, 0, len(t.Report.Events))
	for _, e := range t.Report.Events {
		lines = append(lines, views.Line{Label: "event", Text: views.Text{}.Code(e.Type + " " + e.Reason).Plain(" ").Faint(clip(e.Message, 240))})
	}
	return lines
}

// crumbs lead from the list to an object.
func crumbs(namespace, name string) []views.Link {
	return []views.Link{{Text: "Deployments", Href: "/deployments"}, {Text: namespace, Href: filterHref([]term{{text: "ns:" + namespace}})}, {Text: name}}
}
