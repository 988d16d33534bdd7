package web

import (
	"strconv"
	"strings"
	"time"

	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/decision"
	"github.com/loopscope/loopscope/telemetry/prose"
	"github.com/loopscope/loopscope/views"
)

// row is one Deployment of the list, as of that instant where it is not zero.
func (s *Server) row(e *entry, key *telemetry.KeyState, asOf time.Time) views.Row {
	t := e.Trace
	o := outcomes[e.place]
	n := numbersOf(t)
	r := views.Row{
		ID: e.id, Group: o.group, Namespace: t.Namespace, Name: t.Name, Href: hrefOf(t.Object),
		State: views.Mark{Tone: o.view, Word: o.word}, Quiet: e.quiet(),
		Revision: n.text("revision"), Why: why(t, e.said), Asked: s.askedLine(t), LastAt: t.Ended, LastDid: did(t),
		Queue: queueText(key),
	}
	if !e.SinceTone.IsZero() {
		r.Since = views.Text{}.Since(e.SinceTone)
	}
	if !asOf.IsZero() {
		r.AsOf, r.Since, r.Why = &asOf, r.Since.Still(asOf), r.Why.Still(asOf)
	}
	if want, ok := n.count("wanted"); ok {
		r.Available = strconv.FormatInt(n.or("available"), 10) + " of " + strconv.FormatInt(want, 10)
		r.Meter = meterOf(n, o.view)
	}
	r.QueueNote = queueNote(key)
	if !r.Quiet {
		known := asOf
		if known.IsZero() {
			known = s.opts.Now()
		}
		r.Spark = s.sparkOf(e, sparkEnd(known))
	}
	return r
}

// quiet entries have one line: silence is the signal.
func (e *entry) quiet() bool { return outcomes[e.place].tone == decision.ToneOK }

// why is the sentence without its subject and tone, which stand in their own cells.
func why(t *telemetry.Trace, said decision.Sentence) views.Text {
	lead := first(stop(wording(said.Lead, false)))
	if len(lead) == 0 {
		if t.Failure != nil {
			return views.Say("The sync failed: ").Code(prose.Clip(t.Failure.Message, 200)).Plain(".")
		}
		return views.Say("Its last sync has no sentence.")
	}
	return lead
}

// numbers finds key numbers by name.
type numbers []decision.Fact

func numbersOf(t *telemetry.Trace) numbers { return t.Numbers }

func (n numbers) find(name string) (decision.Value, bool) {
	for _, f := range n {
		if f.Name == name {
			return f.Value, true
		}
	}
	return decision.Value{}, false
}

func (n numbers) count(name string) (int64, bool) {
	v, ok := n.find(name)
	if !ok {
		return 0, false
	}
	return v.Int()
}

func (n numbers) or(name string) int64 {
	c, _ := n.count(name)
	return c
}

func (n numbers) text(name string) string {
	v, _ := n.find(name)
	return v.String()
}

// meterOf places the facts of a sync on a bar; without a ceiling there is none.
func meterOf(n numbers, tone views.Tone) *views.Meter {
	ceiling, ok := n.count("ceiling")
	if !ok || ceiling <= 0 {
		return nil
	}
	m := &views.Meter{New: n.or("newAvailable"), Old: n.or("oldAvailable"), Ceiling: ceiling, Tone: tone}
	m.Not = max(0, n.or("total")-m.New-m.Old)
	m.Floor = n.or("floor")
	m.Ticked = m.Floor > 0 // Recreate has none.
	return m
}

// held is the writes that the newest round of a sync refused.
func held(t *telemetry.Trace) []decision.Held {
	if len(t.Rounds) == 0 {
		return nil
	}
	return t.Rounds[len(t.Rounds)-1].Verdict.Held
}

// deciding is the id of the question that decided a sync: the one that held a
// write back, or else the one that led to the first write, or else the last.
func deciding(t *telemetry.Trace) string {
	if step := decidingStep(t); step != nil {
		return step.Question
	}
	return ""
}

func decidingStep(t *telemetry.Trace) *decision.Step {
	if len(t.Rounds) == 0 {
		return nil
	}
	v := &t.Rounds[len(t.Rounds)-1].Verdict
	for i := len(v.Path) - 1; i >= 0; i-- {
		if v.Path[i].Holds {
			return &v.Path[i]
		}
	}
	if len(v.Actions) > 0 {
		for i := len(v.Path) - 1; i >= 0; i-- {
			if v.Path[i].Question == v.Actions[0].Question {
				return &v.Path[i]
			}
		}
	}
	return v.Path.Last()
}

// askedLine is the deciding question with its answer, or its arithmetic.
func (s *Server) askedLine(t *telemetry.Trace) string {
	step := decidingStep(t)
	if step == nil {
		return ""
	}
	text := step.Question
	if q, ok := s.catalogue(t.Loop).Find(step.Question); ok {
		text += " " + prose.Lower(q.Text)
	}
	if step.Equation != nil {
		return text + " " + equationShort(step.Equation)
	}
	return text + " " + step.Answer
}

// equationShort is the numbers of an equation: 11 − 8 − 3 = 0.
func equationShort(e *decision.Equation) string {
	var b strings.Builder
	for i, t := range e.Terms {
		if i > 0 {
			b.WriteString(" − ")
		}
		b.WriteString(strconv.FormatInt(t.Value, 10))
	}
	return b.String() + " = " + strconv.FormatInt(e.Result.Value, 10)
}

// equationLong says what each number is: 11 total − 8 floor = 3 may go.
func equationLong(e *decision.Equation) string {
	var b strings.Builder
	for i, t := range e.Terms {
		if i > 0 {
			b.WriteString(" − ")
		}
		b.WriteString(strconv.FormatInt(t.Value, 10) + " " + t.Label)
	}
	return b.String() + " = " + strconv.FormatInt(e.Result.Value, 10) + " " + e.Result.Label
}

func (s *Server) catalogue(loop string) decision.Catalogue { return s.loops.Of(loop).Catalogue }

// queueWord is what is:… calls the state of a key.
func queueWord(k *telemetry.KeyState) string {
	switch k.Phase {
	case telemetry.KeyProcessing, telemetry.KeyDirty:
		return "processing"
	case telemetry.KeyReady:
		return "ready"
	case telemetry.KeyWaiting:
		if k.Attempts > 0 {
			return "back-off"
		}
		return "timer"
	}
	return "idle"
}

func queueText(k *telemetry.KeyState) string {
	return queueWord(k)
}

func queueNote(k *telemetry.KeyState) views.Text {
	switch {
	case k.Phase == telemetry.KeyDirty:
		return views.Say("queued again")
	case k.Phase == telemetry.KeyWaiting && k.Attempts > 0:
		return views.Sayf("try %d in ", k.Attempts+1).Until(k.Due)
	case k.Phase == telemetry.KeyWaiting:
		return views.Say(timerWord(k.Code) + " in ").Until(k.Due)
	case k.Phase == "":
		return views.Say("no timer")
	default:
		return views.Text{}.Since(k.Since)
	}
}

// timerWords say what a timer is for.
var timerWords = map[string]string{"deadline": "deadline", "min-ready": "minReadySeconds", "echo": "echo check",
	"back-off": "back-off", "expectations": "expectations", "status": "status held back"}

func timerWord(code string) string {
	if w, ok := timerWords[code]; ok {
		return w
	}
	return "timer"
}

func digits[N ~int | ~int64 | ~uint64](n N) string { return strconv.FormatUint(uint64(n), 10) }
