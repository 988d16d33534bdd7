package history

import (
	"slices"
	"strings"
	"time"

	"github.com/loopscope/loopscope/controllers/decision"
	"github.com/loopscope/loopscope/telemetry"
)

// outline is the part of a trace that queries ask for and lists show. It is read
// from the trace's JSON without its facts and snapshot, which are most of it.
type outline struct {
	Epoch string `json:"epoch"`
	Seq   uint64 `json:"seq"`
	telemetry.Object
	Causes   []outlineCause    `json:"causes"`
	Started  time.Time         `json:"started"`
	Ended    time.Time         `json:"ended"`
	Rounds   []outlineRound    `json:"rounds"`
	Report   *outlinePath      `json:"report"`
	Result   telemetry.Result  `json:"result"`
	Sentence decision.Sentence `json:"sentence"`
	Failure  *decision.Failure `json:"failure"`
}

type outlineCause struct {
	Kind telemetry.CauseKind `json:"kind"`
}

type outlineRound struct {
	Verdict outlinePath `json:"verdict"`
}

type outlinePath struct {
	Path []outlineStep `json:"path"`
}

type outlineStep struct {
	Question string `json:"q"`
	Answer   string `json:"answer"`
}

// outlineOf is the outline of a trace that was not stored yet.
func outlineOf(t *telemetry.Trace) outline {
	o := outline{Epoch: t.Epoch, Seq: t.Seq, Object: t.Object, Started: t.Started, Ended: t.Ended, Result: t.Result, Sentence: t.Sentence, Failure: t.Failure}
	for i := range t.Causes {
		o.Causes = append(o.Causes, outlineCause{t.Causes[i].Kind})
	}
	for i := range t.Rounds {
		o.Rounds = append(o.Rounds, outlineRound{steps(t.Rounds[i].Verdict.Path)})
	}
	if t.Report != nil {
		report := steps(t.Report.Path)
		o.Report = &report
	}
	return o
}

func steps(p decision.Path) outlinePath {
	var list []outlineStep
	for i := range p {
		list = append(list, outlineStep{p[i].Question, p[i].Answer})
	}
	return outlinePath{list}
}

// path is that of telemetry.Trace.Path: the last round, then the report.
func (o *outline) path() []outlineStep {
	var list []outlineStep
	if n := len(o.Rounds); n > 0 {
		list = append(list, o.Rounds[n-1].Verdict.Path...)
	}
	if o.Report != nil {
		list = append(list, o.Report.Path...)
	}
	return list
}

func (o *outline) leaf() string {
	if n := len(o.Rounds); n > 0 {
		if p := o.Rounds[n-1].Verdict.Path; len(p) > 0 {
			return p[len(p)-1].Question
		}
	}
	return ""
}

func (o *outline) message() string {
	if o.Failure == nil {
		return ""
	}
	return o.Failure.Message
}

// matches is what a query means. The index only proposes: it knows words by
// their hashes and errors by their trigrams.
func (o *outline) matches(q *telemetry.Query, class telemetry.Class) bool {
	return same(q.Loop, o.Loop) && same(q.Namespace, o.Namespace) && same(q.Name, o.Name) &&
		strings.Contains(o.Name, q.NamePart) &&
		(len(q.Results) == 0 || slices.Contains(q.Results, o.Result)) &&
		same(q.Class, class) && same(q.Code, o.Sentence.Code) && same(q.Leaf, o.leaf()) &&
		o.answered(q.Question, q.Answer) && o.caused(q.Cause) &&
		(q.Text == "" || strings.Contains(strings.ToLower(o.message()), strings.ToLower(q.Text))) &&
		(q.Since.IsZero() || !o.Started.Before(q.Since)) && (q.Until.IsZero() || o.Started.Before(q.Until))
}

// same reports whether the query leaves a field open or asks for this value.
func same[T ~string](asked, is T) bool { return asked == "" || asked == is }

func (o *outline) answered(question, answer string) bool {
	return question == "" || slices.ContainsFunc(o.path(), func(s outlineStep) bool {
		return s.Question == question && same(answer, s.Answer)
	})
}

func (o *outline) caused(kind telemetry.CauseKind) bool {
	return kind == "" || slices.ContainsFunc(o.Causes, func(c outlineCause) bool { return c.Kind == kind })
}

func (o *outline) hit(class telemetry.Class) telemetry.Hit {
	h := telemetry.Hit{
		Epoch: o.Epoch, Seq: o.Seq, Object: o.Object, Started: o.Started, Took: o.Ended.Sub(o.Started),
		Result: o.Result, Class: class, Leaf: o.leaf(), Code: o.Sentence.Code, Error: o.message(),
	}
	if o.Sentence.Object != "" {
		h.Text = o.Sentence.At(o.Ended)
	}
	return h
}
