package flow

import (
	"strings"

	"github.com/loopscope/loopscope/telemetry/decision"
	"github.com/loopscope/loopscope/telemetry/prose"
	"github.com/loopscope/loopscope/views"
)

// view is the drawing with everything in its place.
func (d *drawing) view() views.Flow {
	n := len(d.x) - 1
	v := views.Flow{Name: d.notes.Name, Title: d.notes.Title, Desc: d.notes.Desc, Style: d.notes.Style, Traced: d.notes.Hops != nil,
		Width: d.x[n] + wide + d.gutters[n], Height: d.top() + d.high}
	for _, h := range d.heads {
		v.Heads = append(v.Heads, views.FlowHead{X: d.x[h.column], Y: d.top() + h.y, Text: h.text})
	}
	for _, b := range d.order {
		v.Boxes = append(v.Boxes, d.box(b))
		for _, r := range b.rows {
			row, gone := d.row(r)
			v.Rows = append(v.Rows, row)
			v.Way += gone
		}
	}
	return v
}

func (d *drawing) box(b *box) views.FlowBox {
	at := d.corner(b)
	v := views.FlowBox{X: at.x, Y: at.y, W: wide - b.left, H: b.h, ID: b.ID, Text: b.text}
	note := Note{}
	if b.ID == decision.ToReport {
		v.Round = true
	} else {
		note = d.notes.Question(b.Question)
	}
	v.Note, v.Href = note.Text, note.Href
	hop, taken := d.taken.questions[b.ID]
	if hop.Holds {
		v.Note = "held a write back"
	}
	v.State = d.state(taken, hop.Holds, note.Never)
	return v
}

func (d *drawing) state(taken, holds, never bool) views.FlowState {
	switch {
	case taken && holds:
		return views.FlowHeld
	case taken:
		return views.FlowTaken
	case never || d.notes.Hops != nil:
		return views.FlowNever
	default:
		return views.FlowPlain
	}
}

func (d *drawing) row(r *row) (v views.FlowRow, gone string) {
	x := d.corner(r.box).x + indent
	v = views.FlowRow{X: x, Y: d.top() + r.y, Right: d.x[r.column] + wide - 4, Answer: d.word(r), Then: r.then}
	v.Ways, gone = d.lines(r)
	for i, kind := range r.answer.Writes {
		if i > 0 {
			v.Writes += ", "
		}
		v.Writes += string(kind)
	}
	note := d.note(r)
	v.Note, v.Href = note.Text, note.Href
	_, taken := d.taken.answers[[2]string{r.ID, r.answer.Is}]
	v.State = d.state(taken, false, note.Never)
	return v, gone
}

// note is what is said of an answer; of what leaves the report there is nothing.
func (d *drawing) note(r *row) Note {
	if r.ID == decision.ToReport {
		return Note{}
	}
	return d.notes.Answer(r.Question, r.answer)
}

// word is the answer: as it was given, or as the catalogue has it.
func (d *drawing) word(r *row) string {
	said, taken := d.taken.answers[[2]string{r.ID, r.answer.Is}]
	switch {
	case r.ID == decision.ToReport:
		return ""
	case r.answer.Is != decision.Any:
		return r.answer.Is
	case taken:
		return prose.Clip(said, 18)
	case len(r.Question.Answers) > 1:
		return "other"
	default:
		return "any"
	}
}

// InWords is the graph as a sentence for each question, for who does not see it.
func InWords(g decision.Graph) string {
	var b strings.Builder
	for _, p := range g.Nodes {
		ways := g.From(p.ID)
		if p.Question.ID == "" || len(ways) == 0 {
			continue
		}
		b.WriteString(p.ID + ": " + p.Question.Text)
		for i, w := range ways {
			if i > 0 && ways[i-1].Answer.Is == w.Answer.Is {
				b.WriteString(" or " + w.To)
				continue
			}
			b.WriteString(" " + w.Answer.Is + " to " + w.To)
		}
		b.WriteString(". ")
	}
	return strings.TrimSpace(b.String())
}
