package collectortest

import (
	"slices"
	"testing"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/decision"
)

var protocols = []string{"http", "grpc"}

// TestEveryGoldenArrives sends everything that the goldens of both loops decide.
func TestEveryGoldenArrives(t *testing.T) {
	for _, protocol := range protocols {
		t.Run(protocol, func(t *testing.T) {
			sink := receive(t, protocol)
			traces := goldens(t)
			c := export(t, traces)
			got := read(t, sink)
			if len(got.syncs) != len(traces) || c.missed.Load() != 0 || c.failed.Load() != 0 || c.exported.Load() != int64(got.spans) {
				t.Fatalf("%d of %d syncs arrived in %d spans; exported %d, failed %d, missed %d",
					len(got.syncs), len(traces), got.spans, c.exported.Load(), c.failed.Load(), c.missed.Load())
			}
			writes, questions := 0, 0
			for _, tr := range traces {
				span := got.syncs[int64(tr.Seq)]
				questions += compareQuestions(t, tr, span)
				writes += compareWrites(t, tr, span, got.children[span.SpanID()])
				compareEnd(t, tr, span)
			}
			if writes < 50 || questions < 1000 {
				t.Errorf("only %d writes and %d questions were compared", writes, questions)
			}
			t.Logf("%d syncs, %d questions, %d writes", len(traces), questions, writes)
		})
	}
}

// compareQuestions compares the questions and what was held back, in order.
func compareQuestions(t *testing.T, tr *telemetry.Trace, span ptrace.Span) int {
	t.Helper()
	var want []string
	for i, r := range tr.Rounds {
		for j, s := range r.Verdict.Path {
			answer := s.Question + " " + s.Answer
			if i == len(tr.Rounds)-1 && j == len(r.Verdict.Path)-1 {
				answer += " leaf"
			}
			want = append(want, answer)
		}
		for _, h := range r.Verdict.Held {
			want = append(want, "held "+h.Code+" "+h.Unblocks.At(tr.Ended))
		}
	}
	if tr.Report != nil {
		for _, s := range tr.Report.Path {
			want = append(want, s.Question+" "+s.Answer)
		}
	}
	var got []string
	for _, e := range span.Events().All() {
		line := e.Name() + " " + text(e.Attributes(), "loopscope.answer")
		if e.Name() == "held" {
			line = "held " + text(e.Attributes(), "loopscope.code") + " " + text(e.Attributes(), "loopscope.unblocks")
		}
		if text(e.Attributes(), "loopscope.leaf") == "true" {
			line += " leaf"
		}
		got = append(got, line)
		if e.Timestamp() < span.StartTimestamp() || e.Timestamp() > span.EndTimestamp() {
			t.Errorf("%s: event %s at %v is outside of its sync", tr.Name, e.Name(), e.Timestamp().AsTime())
		}
	}
	if !slices.Equal(want, got) {
		t.Errorf("%s: events\n%q\nwant\n%q", tr.Name, got, want)
	}
	return len(want)
}

func compareWrites(t *testing.T, tr *telemetry.Trace, span ptrace.Span, children []ptrace.Span) int {
	t.Helper()
	want := tr.Writes(loops)
	if len(children) != len(want) {
		t.Errorf("%s: %d child spans for %d writes", tr.Name, len(children), len(want))
		return 0
	}
	for i, w := range want {
		c := children[i]
		a := c.Attributes()
		if text(a, "loopscope.object") != w.Object || text(a, "loopscope.state") != string(w.State) || text(a, "loopscope.rv") != w.RV ||
			text(a, "loopscope.decided_on_rv") != w.On || text(a, "loopscope.kind") != string(w.Kind) || text(a, "loopscope.verb") == "" {
			t.Errorf("%s: write %+v became %v", tr.Name, w, a.AsRaw())
		}
		failed := w.Failure != nil && w.State != decision.Tolerated
		if (c.Status().Code() == ptrace.StatusCodeError) != failed || failed && c.Status().Message() != w.Failure.Message {
			t.Errorf("%s: write %s %s has status %v %q", tr.Name, w.Object, w.State, c.Status().Code(), c.Status().Message())
		}
		if c.Kind() != ptrace.SpanKindClient || c.TraceID() != span.TraceID() || c.StartTimestamp() < span.StartTimestamp() || c.EndTimestamp() > span.EndTimestamp() {
			t.Errorf("%s: write %s: kind %v, %v to %v", tr.Name, w.Object, c.Kind(), c.StartTimestamp(), c.EndTimestamp())
		}
	}
	return len(want)
}

func compareEnd(t *testing.T, tr *telemetry.Trace, span ptrace.Span) {
	t.Helper()
	a := span.Attributes()
	for key, want := range map[string]string{
		"loopscope.result": string(tr.Result), "loopscope.class": string(tr.Class(telemetry.DefaultSlow)), "loopscope.code": tr.Sentence.Code,
		"loopscope.leaf": tr.Leaf(), "k8s.namespace.name": "shop", "k8s." + tr.Loop + ".name": tr.Name, "loopscope.wait_ms": "2",
	} {
		if got := text(a, key); got != want {
			t.Errorf("%s: %s is %q, want %q", tr.Name, key, got, want)
		}
	}
	if n, _ := a.Get("loopscope.attempt"); n.Int() != tr.Try.Number {
		t.Errorf("%s: attempt %d, want %d", tr.Name, n.Int(), tr.Try.Number)
	}
	failed := tr.Failure != nil
	if (span.Status().Code() == ptrace.StatusCodeError) != failed || failed && span.Status().Message() != tr.Failure.Message {
		t.Errorf("%s: status %v %q, failure %v", tr.Name, span.Status().Code(), span.Status().Message(), tr.Failure)
	}
	if span.Kind() != ptrace.SpanKindConsumer || span.Name() != "sync "+tr.Loop ||
		!span.StartTimestamp().AsTime().Equal(tr.Started) || !span.EndTimestamp().AsTime().Equal(tr.Ended) {
		t.Errorf("%s: %v %q from %v to %v", tr.Name, span.Kind(), span.Name(), span.StartTimestamp().AsTime(), span.EndTimestamp().AsTime())
	}
}

// TestCausesBecomeLinks sends a chain across two loops, with causes of others.
func TestCausesBecomeLinks(t *testing.T) {
	for _, protocol := range protocols {
		t.Run(protocol, func(t *testing.T) {
			t.Setenv("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment.name=test")
			sink := receive(t, protocol)
			export(t, chain())
			got := read(t, sink)
			for seq, want := range map[int64]struct {
				links  []int64
				events []string
			}{
				1: {nil, []string{"cause modified Deployment web kubectl-set"}},
				2: {[]int64{1}, nil},
				3: {[]int64{2, 2}, []string{"cause deleted Pod web-1-b ", "cause timer  "}},
				4: {[]int64{3}, nil},
				5: {[]int64{4}, nil},
			} {
				span := got.syncs[seq]
				if links := linked(got, span); !slices.Equal(links, want.links) {
					t.Errorf("sync %d has links to %v, want %v", seq, links, want.links)
				}
				var events []string
				for _, e := range span.Events().All() {
					a := e.Attributes()
					events = append(events, e.Name()+" "+text(a, "loopscope.cause.kind")+" "+text(a, "loopscope.cause.object")+" "+text(a, "loopscope.cause.manager"))
				}
				if !slices.Equal(events, want.events) {
					t.Errorf("sync %d has events %q, want %q", seq, events, want.events)
				}
			}
			for key, want := range map[string]string{
				"service.name": "loopscope", "service.version": "v1.2.3", "k8s.cluster.name": "kind", "loopscope.epoch": "7c41",
				"deployment.environment.name": "test",
			} {
				if got.resource[key] != want {
					t.Errorf("resource: %s is %v, want %s", key, got.resource[key], want)
				}
			}
		})
	}
}

// linked are the numbers of the syncs that a span is linked to.
func linked(r received, span ptrace.Span) (syncs []int64) {
	for _, l := range span.Links().All() {
		for seq, of := range r.syncs {
			if of.SpanID() == l.SpanID() && of.TraceID() == l.TraceID() {
				syncs = append(syncs, seq)
			}
		}
	}
	return syncs
}

// chain is a Deployment sync that scales a ReplicaSet, whose syncs create two
// pods and delete one; another pod is deleted by somebody else.
func chain() []*telemetry.Trace {
	web := telemetry.Object{Loop: "deployment", Namespace: "shop", Name: "web"}
	set := telemetry.Object{Loop: "replicaset", Namespace: "shop", Name: "web-1"}
	did := func(o telemetry.Object, a decision.Action, out decision.Outcome, causes ...telemetry.Cause) *telemetry.Trace {
		for i := range causes {
			causes[i].At = start
		}
		return timed(&telemetry.Trace{Object: o, Causes: causes, Result: telemetry.ResultUnchanged,
			Rounds: []decision.Round{{Verdict: decision.Verdict{Actions: []decision.Action{a}}, Outcomes: []decision.Outcome{out}}}})
	}
	scale := decision.Action{Kind: decision.UpdateReplicaSet, Target: decision.Ref{Kind: "ReplicaSet", Namespace: "shop", Name: "web-1", RV: "99"}, Size: &decision.Size{To: 2}}
	create := decision.Action{Kind: decision.CreatePods, Target: decision.Ref{Kind: "ReplicaSet", Namespace: "shop", Name: "web-1"}, Count: 2}
	remove := decision.Action{Kind: decision.DeletePods, Target: decision.Ref{Kind: "ReplicaSet", Namespace: "shop", Name: "web-1"}, Count: 1}
	taken := timed(&telemetry.Trace{Object: set, TakenBy: 4, Result: telemetry.ResultUnchanged})
	return []*telemetry.Trace{
		did(web, scale, decision.Outcome{State: decision.Written, RV: "101", Took: 3 * time.Millisecond},
			telemetry.Cause{Kind: telemetry.CauseModified, Object: "Deployment web", OldRV: "90", NewRV: "98", Manager: "kubectl-set"}),
		did(set, create, decision.Outcome{State: decision.Written, Names: []string{"web-1-a", "web-1-b"}, RVs: []string{"102", "103"}, Done: 2},
			telemetry.Cause{Kind: telemetry.CauseModified, Object: "ReplicaSet web-1", OldRV: "99", NewRV: "101", Sync: 1}),
		did(set, remove, decision.Outcome{State: decision.Written, Names: []string{"web-1-a"}, Done: 1},
			telemetry.Cause{Kind: telemetry.CauseAdded, Object: "Pod web-1-a", NewRV: "102"},
			telemetry.Cause{Kind: telemetry.CauseAdded, Object: "Pod web-1-b", NewRV: "103"},
			telemetry.Cause{Kind: telemetry.CauseDeleted, Object: "Pod web-1-b", OldRV: "103"},
			telemetry.Cause{Kind: telemetry.CauseTimer, Code: "min-ready"}),
		did(set, remove, decision.Outcome{State: decision.NotTried}, telemetry.Cause{Kind: telemetry.CauseDeleted, Object: "Pod web-1-a", OldRV: "102"}),
		taken,
	}
}

// TestServiceName: the environment names the service.
func TestServiceName(t *testing.T) {
	sink := receive(t, "http")
	t.Setenv("OTEL_SERVICE_NAME", "loops of the blue cluster")
	export(t, chain())
	if got := read(t, sink).resource["service.name"]; got != "loops of the blue cluster" {
		t.Errorf("service.name is %v", got)
	}
}

// TestSampler: a share of the syncs is sent, each with all its writes or not at all.
func TestSampler(t *testing.T) {
	sink := receive(t, "http")
	t.Setenv("OTEL_TRACES_SAMPLER", "traceidratio")
	t.Setenv("OTEL_TRACES_SAMPLER_ARG", "0.5")
	traces := goldens(t)
	export(t, traces)
	got := read(t, sink)
	if n := len(got.syncs); n < len(traces)/4 || n > 3*len(traces)/4 {
		t.Errorf("%d of %d syncs were sampled, want about half", n, len(traces))
	}
	writes := 0
	for _, tr := range traces {
		if span, ok := got.syncs[int64(tr.Seq)]; ok {
			writes += compareWrites(t, tr, span, got.children[span.SpanID()])
		}
	}
	if writes == 0 || got.spans != len(got.syncs)+writes {
		t.Errorf("%d spans, of which %d are syncs and %d writes", got.spans, len(got.syncs), writes)
	}
}

// text is an attribute as text, "" where there is none.
func text(m pcommon.Map, key string) string {
	v, ok := m.Get(key)
	if !ok {
		return ""
	}
	return v.AsString()
}
