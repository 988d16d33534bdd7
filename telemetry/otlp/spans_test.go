package otlp

import (
	"context"
	"encoding/hex"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/decision"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// after is so many milliseconds after noon.
func after(ms int) time.Time { return noon.Add(time.Duration(ms) * time.Millisecond) }

// told is the spans of a sync of a journal as lines, in the order in which they began.
func told(t *testing.T, j *telemetry.Journal, x *telemetry.Trace) string {
	t.Helper()
	memory := tracetest.NewInMemoryExporter()
	provider := sdktrace.NewTracerProvider(sdktrace.WithIDGenerator(derived{}), sdktrace.WithSyncer(memory))
	e := &Exporter{opts: Options{Journal: j}, tracer: provider.Tracer(scope)}
	e.export(x)
	spans := memory.GetSpans()
	slices.Reverse(spans) // The sync ends last.
	slices.Reverse(spans[min(1, len(spans)):])
	key := func(c trace.SpanContext) string { return c.TraceID().String() + c.SpanID().String() }
	ids := map[string]string{}
	for sync := range uint64(9) {
		for write := range 9 {
			ids[key(spanName{"7c41", sync, write}.spanContext())] = fmt.Sprintf("%d.%d", sync, write)
		}
	}
	id := func(c trace.SpanContext) string { return ids[key(c)] }
	at := func(x time.Time) string { return fmt.Sprintf("%dms", x.Sub(noon).Milliseconds()) }
	var b strings.Builder
	for _, s := range spans {
		fmt.Fprintf(&b, "%s: %s of %q, %s, %s to %s, %s %s\n", id(s.SpanContext), s.Name, id(s.Parent), s.SpanKind, at(s.StartTime), at(s.EndTime), s.Status.Code, s.Status.Description)
		attributes(&b, "  ", s.Attributes)
		for _, l := range s.Links {
			fmt.Fprintf(&b, "  link to %s\n", id(l.SpanContext))
			attributes(&b, "    ", l.Attributes)
		}
		for _, e := range s.Events {
			fmt.Fprintf(&b, "  %s at %s\n", e.Name, at(e.Time))
			attributes(&b, "    ", e.Attributes)
		}
	}
	return b.String()
}

var update = flag.Bool("update", false, "write the spans into testdata")

// golden compares a text with that of a file.
func golden(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s, which -update writes (-want +got):\n%s", path, diff)
	}
}

func attributes(b *strings.Builder, indent string, list []attribute.KeyValue) {
	for _, a := range list {
		fmt.Fprintf(b, "%s%s=%s %s\n", indent, a.Key, a.Value.String(), a.Value.Type())
	}
}

// family is a journal of syncs that wrote what others are caused by.
func family() *telemetry.Journal {
	j := telemetry.NewJournal(telemetry.JournalOptions{Loops: testLoops, Epoch: "7c41"})
	set := telemetry.Object{Loop: "replicaset", Namespace: "shop", Name: "web-1"}
	pods := decision.Ref{Kind: "ReplicaSet", Namespace: "shop", Name: "web-1"}
	did := func(o telemetry.Object, pairs ...any) {
		var r decision.Round
		for i := 0; i < len(pairs); i += 2 {
			r.Verdict.Actions = append(r.Verdict.Actions, pairs[i].(decision.Action))
			r.Outcomes = append(r.Outcomes, pairs[i+1].(decision.Outcome))
		}
		j.Record(&telemetry.Trace{Object: o, Rounds: []decision.Round{r}})
	}
	did(set, decision.Action{Kind: decision.CreatePods, Target: pods}, decision.Outcome{State: decision.Written, Names: []string{"web-1-a", "web-1-b"}, RVs: []string{"102", "103"}, Done: 2},
		decision.Action{Kind: decision.DeletePods, Target: pods}, decision.Outcome{State: decision.Written, Names: []string{"web-1-z"}, Done: 1})
	did(set, decision.Action{Kind: decision.DeletePods, Target: pods}, decision.Outcome{State: decision.Written, Names: []string{"web-1-a"}, Done: 1})
	old, again := decision.Ref{Kind: "ReplicaSet", Namespace: "shop", Name: "web-0"}, decision.Ref{Kind: "ReplicaSet", Namespace: "shop", Name: "web-2"}
	did(telemetry.Object{Loop: "deployment", Namespace: "shop", Name: "web"},
		decision.Action{Kind: decision.DeleteReplicaSet, Target: old}, decision.Outcome{State: decision.Written},
		decision.Action{Kind: decision.CreateReplicaSet, Target: again}, decision.Outcome{State: decision.Written, RV: "104"},
		decision.Action{Kind: decision.DeleteReplicaSet, Target: again}, decision.Outcome{State: decision.Refused})
	return j
}

// TestSpansOfASync is one that has something of everything.
func TestSpansOfASync(t *testing.T) {
	x := &telemetry.Trace{
		Epoch: "7c41", Seq: 4, Object: telemetry.Object{Loop: "deployment", Namespace: "shop", Name: "web"}, UID: "uid-1", Owner: "boss",
		Folded: 3, Queued: noon, Started: after(2), Ended: after(42), Try: decision.Try{Number: 2}, Result: telemetry.ResultFailed,
		Phases:   telemetry.Phases{Observe: time.Millisecond, Decide: 2 * time.Millisecond, Act: 20 * time.Millisecond, Settle: 3 * time.Millisecond, Publish: 5 * time.Millisecond},
		Sentence: decision.Sentence{Object: "web", Verb: "is", State: "waiting", Tone: decision.ToneWaiting, Code: "floor"},
		Failure:  &decision.Failure{Message: "it broke"},
		Causes: []telemetry.Cause{
			{Kind: telemetry.CauseModified, At: after(1), Object: "Deployment web", OldRV: "90", NewRV: "98", Manager: "kubectl-set", Code: "c", Fields: []decision.Change{{Field: "spec.replicas"}, {Field: "spec.paused"}}},
			{Kind: telemetry.CauseModified, Object: "ReplicaSet web-1", Sync: 1},
			{Kind: telemetry.CauseAdded, Object: "Pod web-1-b", NewRV: "103"},
			{Kind: telemetry.CauseDeleted, Object: "Pod web-1-a", OldRV: "102"},
			{Kind: telemetry.CauseTombstone, Object: "ReplicaSet web-0"},
			{Kind: telemetry.CauseDeleted, At: noon, Object: "Pod web-1-b"}, // which a sync made that deleted another
			{Kind: telemetry.CauseDeleted, At: noon, Object: "ReplicaSet web-2"},
			{Kind: telemetry.CauseDeleted, At: noon, Object: "Pod nobody"},
			{Kind: telemetry.CauseTimer, At: noon},
		},
		Rounds: []decision.Round{
			{
				Verdict: decision.Verdict{
					Path: decision.Path{{Question: "Q-1", Answer: "yes"}, {Question: "Q-2", Answer: "no", Holds: true, Facts: []decision.Fact{
						decision.Count("n", 7), decision.Text("text", "a"), decision.Bool("is", true), decision.Bool("not", false), decision.Duration("took", 1500*time.Millisecond), decision.Instant("since", noon),
					}}},
					Held: []decision.Held{{Code: "floor", Question: "Q-2", Kind: decision.UpdateReplicaSet, Target: decision.Ref{Kind: "ReplicaSet", Name: "web-1"}, Size: &decision.Size{From: 3, To: 2},
						Unblocks: decision.Words{}.Say("in ").Until(noon.Add(time.Minute)), Blockers: []decision.Blocker{{Kind: "Pod", Name: "web-1-b", Reason: "CrashLoop"}, {Kind: "Pod", Name: "web-1-c"}}, BlockerCount: 5}},
					Actions: []decision.Action{{Kind: decision.CreateReplicaSet, Question: "Q-1", Target: decision.Ref{Kind: "ReplicaSet", Name: "web-3"}}},
				},
				Outcomes: []decision.Outcome{{State: decision.Refused, Took: 4 * time.Millisecond, Failure: &decision.Failure{Code: 403, Reason: "Forbidden", Message: "quota"}}},
			},
			{
				Verdict: decision.Verdict{
					Path: decision.Path{{Question: "Q-2", Answer: "yes"}, {Question: "Q-3", Answer: "go"}},
					Held: []decision.Held{{Code: "echo", Question: "Q-3", Kind: decision.CreatePods}},
					Actions: []decision.Action{
						{Kind: decision.UpdateReplicaSet, Question: "Q-3", Target: decision.Ref{Kind: "ReplicaSet", Name: "web-1", RV: "99"}, Changes: []decision.Change{{Field: "spec.replicas"}}},
						{Kind: decision.DeletePods},
						{Kind: decision.DeleteReplicaSet, Target: decision.Ref{Kind: "ReplicaSet", Name: "web-0"}},
					},
				},
				Outcomes: []decision.Outcome{
					{State: decision.Conflicted, Took: 3 * time.Millisecond, Other: &decision.Writer{Manager: "kubectl", RV: "100", Fields: []string{"spec"}}},
					{State: decision.Written, Done: 2},
					{State: decision.Tolerated, Took: 90 * time.Millisecond, Failure: &decision.Failure{Code: 404, Message: "gone"}},
				},
			},
		},
		Report: &decision.Report{Path: decision.Path{{Question: "S-1", Answer: "publish"}}, Outcome: &decision.Outcome{State: decision.Written, RV: "120", Took: 4 * time.Millisecond}},
	}
	golden(t, "testdata/full.txt", told(t, family(), x))
}

// TestSpansOfABareSync has nothing that it need not have, and a clock that was set back.
func TestSpansOfABareSync(t *testing.T) {
	x := &telemetry.Trace{Epoch: "7c41", Seq: 5, Object: telemetry.Object{Loop: "replicaset", Namespace: "shop", Name: "web-1"}, TakenBy: 4,
		Queued: after(9), Started: after(2), Ended: after(1), Result: telemetry.ResultPanicked, Gone: true,
		Rounds: []decision.Round{{Verdict: decision.Verdict{Actions: []decision.Action{{Kind: decision.Adopt, Target: decision.Ref{Kind: "Pod", Name: "p"}}}}, Outcomes: []decision.Outcome{{State: decision.Written}}}}}
	golden(t, "testdata/bare.txt", told(t, family(), x))
}

// TestAStandbyHasNoSpans: the leader's say what was done.
func TestAStandbyHasNoSpans(t *testing.T) {
	x := &telemetry.Trace{Epoch: "7c41", Seq: 5, Object: telemetry.Object{Loop: "deployment", Namespace: "shop", Name: "web"}, Started: noon, Ended: after(9)}
	if told(t, family(), x) == "" {
		t.Error("a sync has no span")
	}
	x.Standby = true
	if got := told(t, family(), x); got != "" {
		t.Errorf("what would have been done has spans:\n%s", got)
	}
}

// TestADifferenceIsNotGone: no object was deleted where a comparison says so of its own.
func TestADifferenceIsNotGone(t *testing.T) {
	of := telemetry.Object{Loop: "deployment", Namespace: "shop", Name: "web"}
	for _, o := range []telemetry.Object{of, telemetry.Disagreement(of)} {
		x := &telemetry.Trace{Epoch: "7c41", Seq: 5, Object: o, Started: noon, Ended: after(9), Gone: true}
		if got := told(t, family(), x); strings.Contains(got, "loopscope.gone") != (o == of) {
			t.Errorf("of %+v:\n%s", o, got)
		}
	}
}

// TestLinksToDeletions: the sync that deleted an object, where nobody has created it since.
func TestLinksToDeletions(t *testing.T) {
	for _, c := range []struct {
		kind   string
		writes []decision.ActionKind // each in a sync
		want   uint64
	}{
		{"ReplicaSet", []decision.ActionKind{decision.DeleteReplicaSet}, 1},
		{"ReplicaSet", []decision.ActionKind{decision.DeleteReplicaSet, decision.CreateReplicaSet}, 0},
		{"ReplicaSet", []decision.ActionKind{decision.DeleteReplicaSet, decision.CreateReplicaSet, decision.DeleteReplicaSet}, 3},
		{"ReplicaSet", []decision.ActionKind{decision.CreateReplicaSet, decision.DeleteReplicaSet, decision.UpdateReplicaSet}, 2},
		{"ReplicationController", []decision.ActionKind{decision.Delete}, 1},
		{"ReplicationController", []decision.ActionKind{decision.Delete, decision.Create}, 0},
		{"Pod", []decision.ActionKind{decision.Label, decision.Delete}, 2},
	} {
		j := telemetry.NewJournal(telemetry.JournalOptions{Loops: testLoops})
		for i, kind := range c.writes {
			o := decision.Outcome{State: decision.Written, RV: fmt.Sprint("rv", i)}
			if kind.Deletes() {
				o.RV = ""
			}
			j.Record(&telemetry.Trace{Object: telemetry.Object{Loop: "deployment", Namespace: "shop", Name: "web"}, Rounds: []decision.Round{{
				Verdict:  decision.Verdict{Actions: []decision.Action{{Kind: kind, Target: decision.Ref{Kind: c.kind, Namespace: "shop", Name: "web-1"}}}},
				Outcomes: []decision.Outcome{o},
			}}})
		}
		e := &Exporter{opts: Options{Journal: j}}
		x := &telemetry.Trace{Object: telemetry.Object{Loop: "deployment", Namespace: "shop", Name: "web"}}
		sync, ok := e.writerOf(x, &telemetry.Cause{Kind: telemetry.CauseDeleted, Object: c.kind + " web-1"})
		if ok != (c.want != 0) || ok && sync != c.want {
			t.Errorf("%s after %s: linked %t to %d, want %d", c.kind, c.writes, ok, sync, c.want)
		}
	}
}

// TestTimesOfWrites: a status that a question asked for is written among the others, and that of
// the report at the end.
func TestTimesOfWrites(t *testing.T) {
	const ms = time.Millisecond
	to := decision.Ref{Kind: "ReplicationController", Namespace: "shop", Name: "web"}
	x := &telemetry.Trace{
		Epoch: "7c41", Seq: 5, Object: telemetry.Object{Loop: "deployment", Namespace: "shop", Name: "web"}, Started: noon, Ended: after(50), Phases: telemetry.Phases{Observe: 10 * ms, Publish: 20 * ms},
		Rounds: []decision.Round{{
			Verdict:  decision.Verdict{Actions: []decision.Action{{Kind: decision.UpdateStatus, Target: to, Question: "Q-1"}, {Kind: decision.Scale, Target: to, Question: "Q-2"}}},
			Outcomes: []decision.Outcome{{State: decision.Written, Took: 4 * ms}, {State: decision.Written, Took: 3 * ms}},
		}},
		Report: &decision.Report{Outcome: &decision.Outcome{State: decision.Written, Took: 5 * ms}},
	}
	got := told(t, family(), x)
	for _, want := range []string{"update replicationcontrollers/status of \"5.0\", client, 10ms to 14ms", "update replicationcontrollers of \"5.0\", client, 14ms to 17ms", "update deployments/status of \"5.0\", client, 30ms to 35ms"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %s in\n%s", want, got)
		}
	}
}

// TestTimesOfAskedNothing: writes of a controller that asks no questions, the status too, one after another: it has no
// report of its own that would have written one at the end.
func TestTimesOfAskedNothing(t *testing.T) {
	const ms = time.Millisecond
	to := decision.Ref{Kind: "Deployment", Namespace: "shop", Name: "web"}
	x := &telemetry.Trace{
		Epoch: "7c41", Seq: 5, Object: telemetry.Object{Loop: "deployment", Namespace: "shop", Name: "web"}, Started: noon, Ended: after(50),
		Phases: telemetry.Phases{Decide: 10 * ms, Act: 4 * ms}, Report: &decision.Report{},
		Rounds: []decision.Round{{
			Verdict:  decision.Verdict{Actions: []decision.Action{{Kind: decision.UpdateStatus, Target: to}, {Kind: decision.Update, Target: to}}},
			Outcomes: []decision.Outcome{{State: decision.Written, Took: 2 * ms}, {State: decision.Written, Took: 2 * ms}},
		}},
	}
	got := told(t, family(), x)
	for _, want := range []string{"update deployments/status of \"5.0\", client, 10ms to 12ms", "update deployments of \"5.0\", client, 12ms to 14ms"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %s in\n%s", want, got)
		}
	}
}

// TestRequests: each kind of write has a verb and a resource of the API.
func TestRequests(t *testing.T) {
	for kind, want := range map[decision.ActionKind][2]string{
		decision.CreateReplicaSet: {"ReplicaSet web-1", "create replicasets"}, decision.UpdateReplicaSet: {"ReplicaSet web-1", "update replicasets"},
		decision.DeleteReplicaSet: {"ReplicaSet web-1", "delete replicasets"}, decision.UpdateDeployment: {"Deployment web", "update deployments"},
		decision.CreatePods: {"Pod web-1-a", "create pods"}, decision.DeletePods: {"Pod web-1-a", "delete pods"},
		decision.Adopt: {"Pod web-1-a", "patch pods"}, decision.Release: {"ReplicaSet web-1", "patch replicasets"},
		decision.Create: {"ReplicationController web", "create replicationcontrollers"}, decision.Update: {"Lease loopscope", "update leases"},
		decision.Scale: {"ReplicationController web", "update replicationcontrollers"}, decision.Delete: {"Pod web-a", "delete pods"}, decision.Label: {"Pod web-a", "patch pods"},
		decision.UpdateStatus: {"ReplicationController web", "update replicationcontrollers/status"},
		"patch-status":        {"Deployment web", "patch deployments/status"}, "apply": {"Pod web-a", "patch pods"}, "create-eviction": {"Pod web-a", "create pods/eviction"},
	} {
		if verb, resource := request(&telemetry.Write{Kind: kind, Object: want[0]}, &telemetry.Trace{}); verb+" "+resource != want[1] {
			t.Errorf("%s of %s: %q, want %q", kind, want[0], verb+" "+resource, want[1])
		}
	}
}

// TestFailure: only a sync that failed has an error, which is its own or its result.
func TestFailure(t *testing.T) {
	for _, result := range telemetry.Results {
		want := slices.Contains([]telemetry.Result{telemetry.ResultFailed, telemetry.ResultDropped, telemetry.ResultPanicked, telemetry.ResultUnknown}, result)
		if message, failed := failure(&telemetry.Trace{Result: result}); failed != want || message != string(result) {
			t.Errorf("%s: %t %q", result, failed, message)
		}
		if message, failed := failure(&telemetry.Trace{Result: result, Failure: &decision.Failure{Message: "no"}}); !failed || message != "no" {
			t.Errorf("%s with an error: %t %q", result, failed, message)
		}
	}
}

// TestMoments lie within their sync, whatever was measured.
func TestMoments(t *testing.T) {
	const ms = time.Millisecond
	for name, c := range map[string]struct {
		phases telemetry.Phases
		want   moments
	}{
		"as measured":     {telemetry.Phases{Observe: 1 * ms, Decide: 2 * ms, Act: 3 * ms, Settle: 4 * ms, Publish: 5 * ms}, moments{after(3), after(5), after(33), after(37), after(42)}},
		"nothing":         {telemetry.Phases{}, moments{after(2), after(2), after(42), after(42), after(42)}},
		"longer than all": {telemetry.Phases{Observe: 90 * ms, Decide: 1 * ms, Settle: 1 * ms, Publish: 90 * ms}, moments{after(42), after(42), after(2), after(2), after(42)}},
	} {
		got := momentsOf(&telemetry.Trace{Started: after(2), Ended: after(42), Phases: c.phases})
		if got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// TestIDs: they are the same in every release, or links would lead nowhere.
func TestIDs(t *testing.T) {
	for name, want := range map[spanName]string{
		{"7c41", 1, 0}: "f1609abab131b8b903f4c803392ce758 7f64354cb1ef86a1",
		{"7c41", 2, 0}: "8d3b9be88d4dcfc23575c8787bcbb05d b92961412c75a36b",
		{"7c41", 1, 2}: "f1609abab131b8b903f4c803392ce758 592acf1ba7e74faf",
	} {
		of, span := name.ids()
		if got := hex.EncodeToString(of[:]) + " " + hex.EncodeToString(span[:]); got != want {
			t.Errorf("%v: %s, want %s", name, got, want)
		}
		ctx := named(context.Background(), name)
		newOf, newSpan := derived{}.NewIDs(ctx)
		if child := (derived{}).NewSpanID(ctx, of); newOf != of || newSpan != span || child != span {
			t.Errorf("%v: a span has %s %s, or %s as a child", name, newOf, newSpan, child)
		}
	}
}
