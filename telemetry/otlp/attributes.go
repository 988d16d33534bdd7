package otlp

import (
	"cmp"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"

	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/decision"
)

// takenAttributes say that a sync found no causes, as the linked one had taken them.
var takenAttributes = []attribute.KeyValue{attribute.String("loopscope.cause.kind", "taken")}

// set is attributes to which what is empty is not added.
type set []attribute.KeyValue

func (s *set) text(key, value string) {
	if value != "" {
		*s = append(*s, attribute.String(key, value))
	}
}

func (s *set) count(key string, n int64) {
	if n != 0 {
		*s = append(*s, attribute.Int64(key, n))
	}
}

func (s *set) truth(key string, is bool) {
	if is {
		*s = append(*s, attribute.Bool(key, true))
	}
}

func (s *set) list(key string, values []string) {
	if len(values) > 0 {
		*s = append(*s, attribute.StringSlice(key, values))
	}
}

func millis(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// syncAttributes are those of the span of a sync. The keys of objects are
// OpenTelemetry's own.
func syncAttributes(t *telemetry.Trace) []attribute.KeyValue {
	s := set{
		attribute.Int64("loopscope.sync", int64(t.Seq)),
		attribute.String("loopscope.loop", t.Loop),
		attribute.String("k8s.namespace.name", t.Namespace),
		attribute.String("k8s."+t.Loop+".name", t.Name),
		attribute.String("loopscope.result", string(t.Result)),
		attribute.String("loopscope.class", string(t.Class(telemetry.DefaultSlow))),
		attribute.Float64("loopscope.wait_ms", millis(max(0, t.Wait()))),
		attribute.Int64("loopscope.attempt", t.Try.Number),
	}
	s.text("k8s."+t.Loop+".uid", t.UID)
	s.text("loopscope.owner", t.Owner)
	s.text("loopscope.leaf", t.Leaf())
	if t.Sentence.Object != "" {
		s.text("loopscope.code", t.Sentence.Code)
		s.text("loopscope.tone", string(t.Sentence.Tone))
		s.text("loopscope.sentence", t.Sentence.At(t.Ended))
	}
	s.count("loopscope.causes.folded", int64(t.Folded))
	s.truth("loopscope.gone", t.FoundGone())
	return s
}

func causeAttributes(c *telemetry.Cause) []attribute.KeyValue {
	s := set{attribute.String("loopscope.cause.kind", string(c.Kind))}
	s.text("loopscope.cause.object", c.Object)
	s.text("loopscope.cause.old_rv", c.OldRV)
	s.text("loopscope.cause.new_rv", c.NewRV)
	s.text("loopscope.cause.manager", c.Manager)
	s.text("loopscope.cause.code", c.Code)
	s.list("loopscope.cause.fields", fields(c.Fields))
	return s
}

func fields(changes []decision.Change) []string {
	list := make([]string, len(changes))
	for i := range changes {
		list[i] = changes[i].Field
	}
	return list
}

// stepAttributes are those of a question; round 0 is the report's.
func stepAttributes(step *decision.Step, round int, leaf bool) []attribute.KeyValue {
	s := set{attribute.String("loopscope.answer", step.Answer)}
	s.count("loopscope.round", int64(round))
	s.truth("loopscope.leaf", leaf)
	s.truth("loopscope.holds", step.Holds)
	for _, f := range step.Facts {
		s = append(s, fact(f))
	}
	return s
}

// fact keeps counts and truths what they are; durations are seconds, instants
// RFC 3339.
func fact(f decision.Fact) attribute.KeyValue {
	key := attribute.Key("loopscope.fact." + f.Name)
	if n, ok := f.Value.Int(); ok {
		return key.Int64(n)
	}
	if d, ok := f.Value.Duration(); ok {
		return key.Float64(d.Seconds())
	}
	if at, ok := f.Value.Time(); ok {
		return key.String(at.Format(time.RFC3339Nano))
	}
	for _, is := range []bool{true, false} {
		if f.Value.Equal(decision.Bool("", is).Value) {
			return key.Bool(is)
		}
	}
	return key.String(f.Value.String())
}

func heldAttributes(h *decision.Held, round int, now time.Time) []attribute.KeyValue {
	s := set{
		attribute.String("loopscope.code", h.Code),
		attribute.String("loopscope.question", h.Question),
		attribute.String("loopscope.kind", string(h.Kind)),
		attribute.Int("loopscope.round", round),
	}
	s.text("loopscope.object", strings.TrimSpace(h.Target.Kind+" "+h.Target.Name))
	if h.Size != nil {
		s = append(s, attribute.Int64("loopscope.from", h.Size.From), attribute.Int64("loopscope.to", h.Size.To))
	}
	s.text("loopscope.unblocks", h.Unblocks.At(now))
	var blockers []string
	for _, b := range h.Blockers {
		blockers = append(blockers, strings.TrimSpace(b.Kind+" "+b.Name+" "+b.Reason))
	}
	s.list("loopscope.blockers", blockers)
	s.count("loopscope.blockers.count", h.BlockerCount)
	return s
}

// verbs are the API's of writes that are called otherwise.
var verbs = map[string]string{"scale": "update", "label": "patch", "adopt": "patch", "release": "patch", "apply": "patch"}

// request is the verb and the resource of a write, as an audit log has them. Behind the hyphen
// of its kind stands the resource or a subresource: "create-pods", "update-status".
func request(w *telemetry.Write, t *telemetry.Trace) (verb, resource string) {
	kind, _, _ := strings.Cut(w.Object, " ")
	if kind == "" {
		kind = t.Loop
	}
	resource = strings.ToLower(kind) + "s"
	verb, of, _ := strings.Cut(string(w.Kind), "-")
	if of != "" && !strings.HasPrefix(resource, of) {
		resource += "/" + of
	}
	return cmp.Or(verbs[verb], verb), resource
}

func writeAttributes(w *telemetry.Write, t *telemetry.Trace, verb, resource string) []attribute.KeyValue {
	s := set{
		attribute.String("loopscope.kind", string(w.Kind)),
		attribute.String("loopscope.verb", verb),
		attribute.String("k8s.resource", resource),
		attribute.String("k8s.namespace.name", t.Namespace),
		attribute.String("loopscope.object", w.Object),
		attribute.String("loopscope.state", string(w.State)),
	}
	s.text("loopscope.decided_on_rv", w.On)
	s.text("loopscope.rv", w.RV)
	s.text("loopscope.question", w.Question)
	s.count("loopscope.count", w.Count)
	s.list("loopscope.fields", fields(w.Changes))
	if w.Took > 0 {
		s = append(s, attribute.Float64("loopscope.took_ms", millis(w.Took)))
	}
	if w.Failure != nil {
		s.count("http.response.status_code", int64(w.Failure.Code))
		s.text("error.type", w.Failure.Reason)
	}
	if w.Other != nil {
		s.text("loopscope.other.manager", w.Other.Manager)
		s.text("loopscope.other.rv", w.Other.RV)
		s.list("loopscope.other.fields", w.Other.Fields)
	}
	return s
}
