package story

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/decision"
	"github.com/loopscope/loopscope/telemetry/prose"
	"github.com/loopscope/loopscope/views"
	"github.com/loopscope/loopscope/web/address"
	"github.com/loopscope/loopscope/web/page"
	"github.com/loopscope/loopscope/web/syncs"
	"github.com/loopscope/loopscope/web/words"
)

// maxRaw bounds the JSON that is placed on a page; the twin has all of it.
const maxRaw = 96 << 10

// Sync is the permalink of one sync.
func (s *Pages) Sync(q *page.Query) (*page.Page, error) {
	t, err := s.SyncOfAddress(q, q.Object)
	if err != nil {
		return nil, err
	}
	v, err := s.syncView(t)
	if err != nil {
		return nil, err
	}
	data := struct {
		views.SyncDoc
		Trace *telemetry.Trace `json:"trace"`
	}{v, t}
	p := &page.Page{Status: http.StatusOK, Frame: s.Frame(q, "Sync "+words.Digits(t.Seq)+" of "+t.Key()), Body: views.SyncBody(v), Data: data}
	s.syncFrame(q, p, t, v)
	return p, nil
}

func (s *Pages) syncFrame(q *page.Query, p *page.Page, t *telemetry.Trace, v views.SyncDoc) {
	f := &p.Frame
	f.Tab, f.Up, f.Twin, f.Keys = s.TabOf(t.Loop), v.Object.Href, q.TwinHref(), syncDocKeys
	f.Crumbs = s.Under(t.Object, t.Owner, views.Link{Text: "sync " + words.Digits(t.Seq)})
	for _, l := range []*views.Link{v.Newest, {Text: "its chain", Href: address.Sync(t) + "/chain"}} {
		if l != nil {
			f.About = append(f.About, views.Text{}.Link(l.Text, l.Href))
		}
	}
}

func (s *Pages) syncView(t *telemetry.Trace) (views.SyncDoc, error) {
	v := views.SyncDoc{Headline: s.Headline(t), Sentence: t.Sentence.At(t.Ended), Then: syncThen(t),
		Object: views.Link{Text: s.KindOf(t.Loop) + " " + t.Key(), Href: address.Of(t.Object)},
		Sync:   s.Of(t), Held: s.Held(t), Report: reportOf(t), Observed: s.Observed(t)}
	v.Phases, v.PhasesIn = syncs.Phases(t)
	v.Replay, v.Flow = replayLine(t), s.Way(t)
	v.Wait, v.WaitNote = waitLines(t), views.Took(max(0, t.Wait()))
	thisRun := t.Epoch == s.Journal.Epoch() // Numbers of other runs say nothing about its order here.
	if x, ok := s.Journal.Prev(t.Object, t.Seq); ok && thisRun {
		v.Prev = &views.Link{Text: words.Digits(x.Seq), Href: address.Sync(x)}
	}
	if x, ok := s.Journal.After(t.Object, t.Seq); ok && thisRun {
		v.Next = &views.Link{Text: words.Digits(x.Seq), Href: address.Sync(x)}
	}
	if !thisRun {
		v.Sync.Next, v.Sync.NextNote = nil, words.TimersEnded
	}
	if row, ok := s.Journal.Board().Row(t.Object); ok && row.Trace.Seq != t.Seq && (v.Next == nil || !strings.HasSuffix(v.Next.Href, "/"+words.Digits(row.Trace.Seq))) {
		v.Newest = &views.Link{Text: "the newest: " + words.Digits(row.Trace.Seq), Href: address.Sync(row.Trace)}
	}
	raw, err := json.Marshal(t)
	if err != nil {
		return v, fmt.Errorf("encode trace %d: %w", t.Seq, err)
	}
	var b bytes.Buffer
	if err := json.Indent(&b, raw, "", "  "); err != nil {
		return v, fmt.Errorf("indent trace %d: %w", t.Seq, err)
	}
	v.Raw, v.RawSize = b.String(), fmt.Sprintf("%.1f KB", float64(len(raw))/1024)
	if len(v.Raw) > maxRaw {
		v.Raw = prose.Head(v.Raw, maxRaw) + "\n… the JSON twin of this page has all of it"
	}
	return v, nil
}

// syncDocKeys are the keys of a sync's own page.
var syncDocKeys = append([]views.Key{{Keys: "h l", Does: "previous, next sync"}, {Keys: "j k", Does: "questions"}, {Keys: "e", Does: "explain the question"}, {Keys: "u", Does: "up to the object"}}, page.CommonKeys...)

// replayLine is the command that exports this one sync and decides it again; ""
// where nothing was decided.
func replayLine(t *telemetry.Trace) string {
	if len(t.Rounds) == 0 || t.Snapshot.IsZero() {
		return ""
	}
	at := func(x time.Time) string { return x.UTC().Format(time.RFC3339Nano) }
	file := fmt.Sprintf("sync-%d.jsonl", t.Seq)
	return fmt.Sprintf("loopscope export --loop %s --namespace %s --name %s --since %s --until %s -o %s\nloopscope replay %s",
		t.Loop, t.Namespace, t.Name, at(t.Started), at(t.Started.Add(time.Nanosecond)), file, file)
}

// syncThen is what it said of its object, as of its own end.
func syncThen(t *telemetry.Trace) views.Text {
	said := t.Sentence.At(t.Ended)
	if t.Sentence.State == "" {
		said = ""
	}
	text := views.Say("At ").Clock(t.Started).Plain(" UTC, with the caches as they were then.")
	if said != "" {
		text = text.Plain(" Its sentence: “" + said + "”")
	}
	return text
}

func waitLines(t *telemetry.Trace) []views.Line {
	lines := []views.Line{
		{Label: "ready", Text: views.Say("at " + t.Queued.UTC().Format("15:04:05.000"))},
		{Label: "taken", Text: views.Sayf("at %s by worker %d", t.Started.UTC().Format("15:04:05.000"), t.Worker)},
	}
	try := "first try"
	if t.Try.Number > 0 {
		try = words.Digits(t.Try.Number)
		if t.Try.Limit > 0 {
			try += " of " + words.Digits(t.Try.Limit)
		}
		if t.Try.Dropped {
			try += ", the last: dropped"
		}
	}
	return append(lines, views.Line{Label: "attempt", Text: views.Say(try)})
}

// reportOf is the status and the events that the sync published.
func reportOf(t *telemetry.Trace) views.ReportDoc {
	if t.Report == nil {
		return views.ReportDoc{Note: "none", Nothing: views.Say("The sync ended before there was anything to report.")}
	}
	r := views.ReportDoc{Note: "no status write"}
	if o := t.Report.Outcome; o != nil {
		r.Note = words.StateMark(o.State).Word
		if o.State == decision.Written {
			r.Note = "rv " + o.RV + ", " + views.Took(o.Took)
		}
	} else if t.Report.Hold {
		r.Note = "status write deferred to combine changes"
	} else {
		r.Nothing = views.Say("The cached status is already correct.")
	}
	for _, c := range t.Report.Changes {
		r.Changes = append(r.Changes, words.Change(c))
	}
	for _, e := range t.Report.Events {
		r.Events = append(r.Events, views.Line{Label: e.Type + " " + e.Reason, Text: views.Say(e.Message)})
	}
	return r
}
