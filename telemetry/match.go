package telemetry

import (
	"slices"
	"strings"
	"time"
)

// Match reports whether the query finds the trace, its Limit, After and order
// aside. class is that of the trace.
func (q *Query) Match(t *Trace, class Class) bool {
	h := Hit{Object: t.Object, Started: t.Started, Result: t.Result, Class: class, Leaf: t.Leaf(), Code: t.Sentence.Code}
	if t.Failure != nil {
		h.Error = t.Failure.Message
	}
	return q.Lists(&h) && q.caused(t) && q.answered(t)
}

// Lists reports whether the query finds a sync as far as a list says it: its
// question and cause aside, as well as its Limit, After and order.
func (q *Query) Lists(h *Hit) bool {
	return q.Covers(h.Object, h.Started) &&
		(len(q.Results) == 0 || slices.Contains(q.Results, h.Result)) &&
		same(q.Code, h.Code) && same(q.Leaf, h.Leaf) &&
		same(string(q.Class), string(h.Class)) &&
		(q.Text == "" || strings.Contains(strings.ToLower(h.Error), strings.ToLower(q.Text)))
}

// Covers reports whether the query can find a sync of that object that started then.
func (q *Query) Covers(o Object, started time.Time) bool {
	return same(q.Loop, o.Loop) && same(q.Namespace, o.Namespace) && same(q.Name, o.Name) && strings.Contains(o.Name, q.NamePart) &&
		!started.Before(q.Since) && (q.Until.IsZero() || started.Before(q.Until)) && (q.May == nil || q.May(o))
}

// same reports whether a query leaves a field open or asks for this value.
func same(asked, is string) bool { return asked == "" || asked == is }

func (q *Query) caused(t *Trace) bool {
	return q.Cause == "" || slices.ContainsFunc(t.Causes, func(c Cause) bool { return c.Kind == q.Cause })
}

func (q *Query) answered(t *Trace) bool {
	if q.Question == "" {
		return true
	}
	answer, asked := t.Path().Answer(q.Question)
	return asked && same(q.Answer, answer)
}
