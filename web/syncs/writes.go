package syncs

import (
	"fmt"

	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/decision"
	"github.com/loopscope/loopscope/telemetry/prose"
	"github.com/loopscope/loopscope/views"
	"github.com/loopscope/loopscope/web/address"
	"github.com/loopscope/loopscope/web/facts"
	"github.com/loopscope/loopscope/web/source"
	"github.com/loopscope/loopscope/web/words"
)

// wroteOf is what a sync wrote, with the resourceVersion of every write.
func (s *Teller) wroteOf(t *telemetry.Trace) views.Wrote {
	var v views.Wrote
	done, refused := 0, 0
	for _, r := range t.Rounds {
		for i := range r.Verdict.Actions {
			w := writeOf(&r.Verdict.Actions[i], facts.OutcomeAt(r, i))
			w.Back = s.backOf(t, &r.Verdict.Actions[i], facts.OutcomeAt(r, i))
			v.Writes = append(v.Writes, w)
			tally(facts.OutcomeAt(r, i), &done, &refused)
		}
	}
	if t.Report != nil && t.Report.Outcome != nil {
		w := s.statusWrite(t)
		w.Back = s.echoes(t.Object, s.KindOf(t.Loop), t.Name, t.Report.Outcome.RV, t.Seq)
		v.Writes = append(v.Writes, w)
		tally(t.Report.Outcome, &done, &refused)
	}
	v.Title, v.Note = "What it wrote", wroteNote(len(v.Writes), done)
	if s.Watches() {
		v.Title, v.Note = "Who writes", "this process only watches"
		s.watched(t, &v)
		return v
	}
	if done == 0 {
		v.Last = s.lastWrote(t)
	}
	if done == 0 || !t.WroteSize() {
		v.LastSize = s.lastSize(t)
	}
	return v
}

func tally(o *decision.Outcome, done, refused *int) {
	if facts.Taken(o) {
		*done++
		return
	}
	*refused++
}

func wroteNote(all, done int) string {
	switch {
	case all == 0:
		return "nothing"
	case all == done:
		return prose.Count(all, "write")
	default:
		return fmt.Sprintf("%d of %s", done, prose.Count(all, "write"))
	}
}

// lastWrote is the newest write before a sync that wrote nothing.
func (s *Teller) lastWrote(t *telemetry.Trace) views.Text {
	if !s.ofThisRun(t) {
		return writtenEarlier("it wrote")
	}
	if x, ok := s.last(t, func(m telemetry.Mark) bool { return m.Wrote }); ok {
		return views.Say("Its last write was in ").Link("sync "+words.Digits(x.Seq), address.Sync(x)).Plain(", ").Since(x.Ended).
			Plain(" ago: " + words.Did(x) + ".")
	}
	if row, ok := s.Journal.Board().Row(t.Object); ok && row.WroteSeq != 0 && row.WroteSeq < t.Seq {
		return views.Say("Its last write was in ").Link("sync "+words.Digits(row.WroteSeq), address.SyncOf(t.Object, s.Journal.Epoch(), row.WroteSeq)).Plain(", ").Since(row.WroteAt).Plain(" ago.")
	}
	return views.Say("It has written nothing before, as far as is recorded.")
}

// ofThisRun reports whether a sync is of the run that the journal is of. Numbers of other runs say
// nothing about what came before it.
func (s *Teller) ofThisRun(t *telemetry.Trace) bool { return t.Epoch == s.Journal.Epoch() }

// writtenEarlier says that the journal does not know what was written before a sync of an earlier run.
func writtenEarlier(what string) views.Text {
	return views.Say("What "+what+" before is not known here, as this sync is of an earlier run. ").Link("The history", "/history").Plain(" may have it.")
}

// last is the newest sync of the object before this one with such a mark.
func (s *Teller) last(t *telemetry.Trace, such func(telemetry.Mark) bool) (*telemetry.Trace, bool) {
	if !s.ofThisRun(t) {
		return nil, false
	}
	marks := s.Journal.Marks(t.Object, source.HistoryRows)
	for i := len(marks) - 1; i >= 0; i-- {
		if m := marks[i]; m.Seq < t.Seq && such(m) {
			return s.Journal.Get(m.Seq)
		}
	}
	return nil, false
}

func actionText(a *decision.Action) views.Text {
	switch a.Kind {
	case decision.CreatePods:
		return views.Say("create ").Strong(prose.Count(a.Count, "pod"))
	case decision.DeletePods:
		return views.Say("delete ").Strong(prose.Count(max(a.Count, int64(len(a.Victims))), "pod"))
	}
	t := views.Say(words.Verb(a.Kind) + " " + a.Target.Kind + " ").Code(a.Target.Name)
	if a.Size != nil {
		t = t.Plain(" ").Strong(words.Size(a.Kind, a.Size))
	}
	return t
}

func writeOf(a *decision.Action, o *decision.Outcome) views.Write {
	w := views.Write{What: actionText(a), DecidedOn: decidedOn(a.Target), Result: words.StateMark(o.State), RV: o.RV, Detail: detail(o)}
	if o.Took > 0 {
		w.Took = views.Took(o.Took)
	}
	for _, c := range a.Changes {
		w.Changes = append(w.Changes, words.Change(c))
	}
	for _, v := range a.Victims {
		w.Victims = append(w.Victims, words.Victim(v))
	}
	if len(a.Victims) == 0 {
		w.Names = o.Names
	}
	return w
}

func decidedOn(r decision.Ref) string {
	if r.RV == "" {
		return "new"
	}
	return "rv " + r.RV
}

// detail is what there is to say about how a write ended.
func detail(o *decision.Outcome) views.Text {
	var t views.Text
	if o.Failed > 0 || o.Untried > 0 {
		failed := "failed"
		if o.State == decision.Unknown {
			failed = "failed or not known"
		}
		t = t.Plain(fmt.Sprintf("%d done, %d %s, %d not tried. ", o.Done, o.Failed, failed, o.Untried))
	}
	if o.Other != nil {
		t = t.Plain("Written first by ").Code(prose.OrNone(o.Other.Manager))
		if o.Other.RV != "" {
			t = t.Plain(" at rv " + o.Other.RV)
		}
		t = t.Plain(". ")
	}
	if o.Failure != nil {
		t = t.Join(words.Failure(o.Failure))
	}
	if o.Lost != nil {
		t = t.Plain("; at least one reply was lost: ").Join(words.Failure(o.Lost))
	}
	return t
}

func (s *Teller) statusWrite(t *telemetry.Trace) views.Write {
	o := t.Report.Outcome
	w := views.Write{What: views.Say("status of " + s.KindOf(t.Loop) + " ").Code(t.Name), Result: words.StateMark(o.State), RV: o.RV, Detail: detail(o)}
	if o.Took > 0 {
		w.Took = views.Took(o.Took)
	}
	for _, c := range t.Report.Changes {
		w.Changes = append(w.Changes, words.Change(c))
	}
	return w
}

// backOf finds the syncs to which a write came back as an event.
func (s *Teller) backOf(t *telemetry.Trace, a *decision.Action, o *decision.Outcome) views.Text {
	if o.RV == "" {
		return nil
	}
	back := s.echoes(t.Object, a.Target.Kind, a.Target.Name, o.RV, t.Seq)
	for _, loop := range s.Loops.Owned(t.Loop) {
		if s.KindOf(loop) == a.Target.Kind {
			child := telemetry.Object{Loop: loop, Namespace: t.Namespace, Name: a.Target.Name}
			back = joined(back, s.echoes(child, a.Target.Kind, a.Target.Name, o.RV, t.Seq))
		}
	}
	return back
}

func joined(a, b views.Text) views.Text {
	if len(a) == 0 || len(b) == 0 {
		return append(a, b...)
	}
	return append(a.Plain(", "), b...)
}

// echoes is the first sync of an object that one version of another woke.
func (s *Teller) echoes(o telemetry.Object, kind, name, rv string, after uint64) views.Text {
	if rv == "" {
		return nil
	}
	for _, t := range s.Journal.Since(o, after, source.HistoryRows) {
		for _, c := range t.Causes {
			if c.NewRV == rv && c.Object == kind+" "+name {
				return views.Text{}.Link(s.KindOf(t.Loop)+" #"+words.Digits(t.Seq), address.Sync(t))
			}
		}
	}
	return nil
}

// lastSize is the newest write of a size before a sync that wrote none.
func (s *Teller) lastSize(t *telemetry.Trace) views.Text {
	x, ok := s.last(t, func(m telemetry.Mark) bool { return m.WroteSize })
	if !ok {
		return nil
	}
	return views.Say("The last size was written in ").Link("sync "+words.Digits(x.Seq), address.Sync(x)).Plain(", ").Since(x.Ended).Plain(" ago: " + words.Did(x) + ".")
}
