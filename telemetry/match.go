package telemetry

import (
	"slices"
	"strings"
)

// Match reports whether the query finds the trace, its Limit, After and order
// aside. class is that of the trace.
func (q *Query) Match(t *Trace, class Class) bool {
	return same(q.Loop, t.Loop) && same(q.Namespace, t.Namespace) && same(q.Name, t.Name) &&
		strings.Contains(t.Name, q.NamePart) &&
		(len(q.Results) == 0 || slices.Contains(q.Results, t.Result)) &&
		same(q.Code, t.Sentence.Code) && same(q.Leaf, t.Leaf()) &&
		(q.Since.IsZero() || !t.Started.Before(q.Since)) && (q.Until.IsZero() || t.Started.Before(q.Until)) &&
		same(string(q.Class), string(class)) &&
		q.caused(t) && q.failed(t) && q.answered(t)
}

// same reports whether a query leaves a field open or asks for this value.
func same(asked, is string) bool { return asked == "" || asked == is }

func (q *Query) caused(t *Trace) bool {
	return q.Cause == "" || slices.ContainsFunc(t.Causes, func(c Cause) bool { return c.Kind == q.Cause })
}

func (q *Query) failed(t *Trace) bool {
	return q.Text == "" || t.Failure != nil && strings.Contains(strings.ToLower(t.Failure.Message), strings.ToLower(q.Text))
}

func (q *Query) answered(t *Trace) bool {
	if q.Question == "" {
		return true
	}
	answer, asked := t.Path().Answer(q.Question)
	return asked && same(q.Answer, answer)
}
