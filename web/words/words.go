// Package words puts what the loops recorded into the words, tones and marks of
// pages: outcomes, causes, writes, changes, states of a key. It has no state and
// looks nothing up: the same trace always reads the same.
package words

import (
	"strconv"
	"strings"
	"time"

	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/decision"
	"github.com/loopscope/loopscope/telemetry/prose"
	"github.com/loopscope/loopscope/views"
)

// Outcome is a tone with the words that stand for it in lists.
type Outcome struct {
	Tone  decision.Tone
	View  views.Tone
	Word  string // of one row
	Group string // of the group head
	Note  string // what that group has in common
}

// Outcomes are all of them in the order of a list, attention first.
var Outcomes = []Outcome{
	{decision.ToneFailed, views.Failed, "failed", "Failed", "needs somebody to act"},
	{decision.ToneWaiting, views.Waiting, "waiting", "Waiting", "longest first"},
	{decision.ToneMoving, views.Moving, "moving", "Moving", "a write or progress in the last minute"},
	{decision.ToneNeutral, views.Idle, "on hold", "On hold", "somebody chose it"},
	{decision.ToneOK, views.OK, "settled", "Settled", "nothing to do"},
}

// OutcomeOf finds the outcome of a tone and its place in a list. A sync without
// a sentence, as after a panic, is listed with the failed.
func OutcomeOf(tone decision.Tone) (Outcome, int) {
	for i, o := range Outcomes {
		if o.Tone == tone {
			return o, i
		}
	}
	return Outcomes[0], 0
}

// Text places what a Sentence says. Numbers stand out in the second
// sentence and not in the first, which is strong as a whole.
func Text(w decision.Words, strong bool) views.Text {
	var t views.Text
	for _, p := range w {
		switch p.Kind {
		case decision.Name, decision.Quote:
			t = t.Code(p.Text)
		case decision.Until:
			t = t.Until(p.At)
		case decision.Since:
			t = t.Since(p.At)
		case decision.Clock:
			t = t.Clock(p.At)
		case decision.Number:
			if strong {
				t = t.Strong(p.Print(time.Time{}))
			} else {
				t = t.Plain(p.Print(time.Time{}))
			}
		default:
			t = t.Plain(p.Text)
		}
	}
	return t
}

// First sets the first letter of a text large, where it begins with words.
func First(t views.Text) views.Text {
	if len(t) == 0 || t[0].Kind != views.Plain || t[0].Text == "" {
		return t
	}
	c := append(views.Text(nil), t...)
	c[0].Text = prose.Upper(c[0].Text)
	return c
}

// Stop ends a sentence.
func Stop(t views.Text) views.Text {
	if len(t) == 0 {
		return t
	}
	return t.Plain(".")
}

// pasts are the verbs of sentences that are no longer live.
var pasts = map[string]string{"is": "was", "has": "had", "was": "was", "had": "had"}

// Past is a verb as of a moment that is over.
func Past(verb string) string {
	if p, ok := pasts[verb]; ok {
		return p
	}
	return verb
}

// resultMarks say how a sync ended.
var resultMarks = map[telemetry.Result]views.Mark{
	telemetry.ResultWrote:      {Tone: views.OK, Word: "written"},
	telemetry.ResultUnchanged:  {Tone: views.Idle, Word: "nothing to write"},
	telemetry.ResultWaiting:    {Tone: views.Waiting, Word: "waits for its own write"},
	telemetry.ResultSuperseded: {Tone: views.Waiting, Word: "superseded by a newer write"},
	telemetry.ResultStale:      {Tone: views.Waiting, Word: "conflict"},
	telemetry.ResultUnknown:    {Tone: views.Waiting, Word: "reply lost"},
	telemetry.ResultFailed:     {Tone: views.Failed, Word: "failed"},
	telemetry.ResultDropped:    {Tone: views.Failed, Word: "dropped"},
	telemetry.ResultPanicked:   {Tone: views.Failed, Word: "panicked"},
}

// ResultMark says how a sync ended, by its result alone.
func ResultMark(r telemetry.Result) views.Mark {
	if m, ok := resultMarks[r]; ok {
		return m
	}
	return views.Mark{Tone: views.Idle, Word: string(r)}
}

// ResultNamed is the result of that name, or of that word in a list.
func ResultNamed(word string) (telemetry.Result, bool) {
	for _, r := range telemetry.Results {
		if strings.EqualFold(word, string(r)) || strings.EqualFold(word, resultMarks[r].Word) {
			return r, true
		}
	}
	return "", false
}

// wouldWrite is the mark of a sync that decided to write where nobody acts.
var wouldWrite = views.Mark{Tone: views.Idle, Word: "would write"}

// SyncMark says how a sync ended. One that failed for want of an API server got no no.
func SyncMark(t *telemetry.Trace) views.Mark {
	if t.Result == telemetry.ResultFailed && t.Unanswered() {
		return StateMark(decision.Unanswered)
	}
	if t.Plans() {
		return wouldWrite
	}
	return ResultMark(t.Result)
}

// HitMark is the same of a sync of which there are only a few lines.
func HitMark(h *telemetry.Hit) views.Mark {
	if h.Result == telemetry.ResultFailed && h.Code == telemetry.CodeUnanswered {
		return StateMark(decision.Unanswered)
	}
	if h.Plans {
		return wouldWrite
	}
	return ResultMark(h.Result)
}

// stateMarks say how one write ended.
var stateMarks = map[decision.State]views.Mark{
	decision.Written:    {Tone: views.OK, Word: "written"},
	decision.Partly:     {Tone: views.Waiting, Word: "partly written"},
	decision.Refused:    {Tone: views.Failed, Word: "refused"},
	decision.Unanswered: {Tone: views.Waiting, Word: "unanswered"},
	decision.Conflicted: {Tone: views.Waiting, Word: "conflict"},
	decision.Superseded: {Tone: views.Waiting, Word: "not sent, superseded"},
	decision.Unknown:    {Tone: views.Waiting, Word: "reply lost"},
	decision.Tolerated:  {Tone: views.OK, Word: "already gone"},
	decision.NotTried:   {Tone: views.Idle, Word: "not tried"},
}

// StateMark says how one write ended.
func StateMark(s decision.State) views.Mark {
	if m, ok := stateMarks[s]; ok {
		return m
	}
	return views.Mark{Tone: views.Idle, Word: string(s)}
}

// Split cuts the name of an object into the part that belongs to its owner and
// its own part: web-7d4b9c6f5x-jtzz9 is jtzz9 of web-7d4b9c6f5x.
func Split(name string) (owner, own string) {
	if i := strings.LastIndexByte(name, '-'); i > 0 && i < len(name)-1 {
		return name[:i+1], name[i+1:]
	}
	return "", name
}

// SplitOf is the same for an object of that kind. Only the names that controllers make up for
// others are cut: those of pods and ReplicaSets. Whoever reads "2" does not know web-2.
func SplitOf(kind, name string) (owner, own string) {
	if kind == "Pod" || kind == "ReplicaSet" {
		return Split(name)
	}
	return "", name
}

// Own is the part of a name by which an object is told from the others of its owner.
func Own(kind, name string) string {
	_, own := SplitOf(kind, name)
	return own
}

// Why is the sentence without its subject and tone, which stand in their own cells.
func Why(t *telemetry.Trace, said decision.Sentence) views.Text {
	lead := First(Stop(Text(said.Lead, false)))
	if len(lead) == 0 {
		if t.Failure != nil {
			return views.Say("The sync failed: ").Code(prose.Clip(t.Failure.Message, 200)).Plain(".")
		}
		return views.Say("Its last sync has no sentence.")
	}
	return lead
}

// Digits writes a number without separators, as addresses and permalinks have it.
func Digits[N ~int | ~int64 | ~uint64](n N) string { return strconv.FormatUint(uint64(n), 10) }
