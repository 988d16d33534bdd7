package object

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/prose"
	"github.com/loopscope/loopscope/views"
	"github.com/loopscope/loopscope/web/facts"
	"github.com/loopscope/loopscope/web/page"
	"github.com/loopscope/loopscope/web/subject"
	"github.com/loopscope/loopscope/web/timeline"
	"github.com/loopscope/loopscope/web/words"
)

// listRows is how many bursts a page lists without being asked for all.
const listRows = 16

// syncRows lists the kept syncs in bursts, newest first: those of the rollout
// under way, or of all that is kept where that was asked for.
func (s *Pages) syncRows(v *views.Object, q *page.Query, x *subject.Subject) {
	kept, all := x.Kept, x.All
	v.SyncsTitle, v.SyncsNote = "Syncs", prose.Count(len(kept), "sync")+" kept"
	if points := timeline.SinceRollout(timeline.Points(kept)); !all && len(points) > 0 {
		begin := slices.IndexFunc(kept, func(t *telemetry.Trace) bool { return t.Seq == points[0].Seq })
		if begin > 0 && (x.Earlier() || kept[begin].Seq <= x.Cursor.Seq) {
			kept = kept[begin:]
			v.SyncsTitle, v.SyncsNote = "Syncs of this rollout", words.Digits(len(kept))+" of "+v.SyncsNote+", since "+kept[0].Started.UTC().Format("15:04:05")
		}
	}
	bursts := timeline.Bursts(kept)
	if folded := s.Journal.Folded(x.Object); folded > 0 {
		v.SyncsNote += ", " + prose.Count(folded, "uneventful sync") + " only counted"
	}
	for i := len(bursts) - 1; i >= 0; i-- {
		row := burstRow(x, bursts[i])
		if n := len(v.Syncs); n > 0 && v.Syncs[n-1].Quiet > 0 && row.Quiet > 0 && !row.Cursor && !v.Syncs[n-1].Cursor {
			foldRow(&v.Syncs[n-1], row)
			continue
		}
		if len(v.Syncs) == listRows && !all {
			break
		}
		v.Syncs = append(v.Syncs, row)
	}
	if shown := rowsCount(v.Syncs); shown < len(x.Kept) && !all {
		v.SyncsAll = &views.Link{Text: prose.Count(len(x.Kept)-shown, "earlier sync"), Href: q.WithAll() + "#f-syncs"}
	}
}

func rowsCount(rows []views.SyncRow) int {
	n := 0
	for i := range rows {
		n += rows[i].Syncs
	}
	return n
}

// foldRow adds an older row of syncs that changed nothing to a newer one.
func foldRow(into *views.SyncRow, older views.SyncRow) {
	into.Quiet += older.Quiet
	into.Syncs += older.Syncs
	into.Causes += older.Causes
	into.At = older.At
	_, last, ranged := strings.Cut(into.Seqs, " to ")
	if !ranged {
		last = into.Seqs
	}
	first, _, _ := strings.Cut(older.Seqs, " to ")
	into.Seqs = first + " to " + last
	if into.Plans = into.Plans || older.Plans; into.Detail != older.Detail {
		into.Detail = ""
	}
	into.Did.Word, into.Why = quietWord(into), "several"
}

// quietWord is how syncs ended that wrote nothing.
func quietWord(r *views.SyncRow) string {
	switch {
	case r.Quiet > 1 && r.Plans:
		return "wrote nothing, " + words.Digits(r.Quiet) + " times"
	case r.Quiet > 1:
		return "nothing to write, " + words.Digits(r.Quiet) + " times"
	default:
		return r.Did.Word
	}
}

// burstRow is a burst in one line: the first cause, and what all of it came to.
func burstRow(x *subject.Subject, burst []*telemetry.Trace) views.SyncRow {
	first, last := burst[0], burst[len(burst)-1]
	r := views.SyncRow{At: first.Started, Seqs: words.Digits(first.Seq), Href: x.StepTo(last).Href, Why: whyShort(first), Syncs: len(burst), Did: words.ResultMark(telemetry.ResultUnchanged)}
	if len(burst) > 1 {
		r.Seqs += " to " + words.Digits(last.Seq)
	}
	var took time.Duration
	var worst *telemetry.Trace
	for _, t := range burst {
		r.Causes += len(t.Causes) + t.Folded
		r.Cursor = r.Cursor || t.Seq == x.Cursor.Seq && t.Epoch == x.Cursor.Epoch
		took += t.Took()
		if t.WroteSize() {
			r.Sizes++
		}
		if t.Report != nil && t.Report.Outcome != nil && facts.Taken(t.Report.Outcome) {
			r.Statuses++
		}
		if t.Plans() {
			r.Plans, r.Did, r.Detail = true, words.SyncMark(t), prose.Clip(words.Did(t), 200)
		}
		if t.Result != telemetry.ResultUnchanged && (worst == nil || worst.Result == telemetry.ResultWrote) {
			worst = t
		}
	}
	r.Took = views.Took(took)
	if worst == nil {
		r.Quiet = len(burst)
		r.Did.Word = quietWord(&r)
		return r
	}
	r.Did, r.Detail = words.SyncMark(worst), burstDid(burst)
	if worst.Failure != nil {
		r.Detail = prose.Clip(worst.Failure.Message, 120)
	}
	return r
}

// burstDid is what the writes of a burst came to.
func burstDid(burst []*telemetry.Trace) string {
	return prose.Clip(cmp.Or(words.DidTogether(burst...), "status only"), 200)
}
