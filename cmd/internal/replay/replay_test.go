package replay_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/loopscope/loopscope/cmd/internal/replay"
	"github.com/loopscope/loopscope/controllers"
	"github.com/loopscope/loopscope/controllers/replicaset"
	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/decision"
	"github.com/loopscope/loopscope/telemetry/tracefile"
)

// through writes the traces to a recording and reads them back.
func through(t *testing.T, traces []*telemetry.Trace) []*telemetry.Trace {
	t.Helper()
	var b bytes.Buffer
	w, err := tracefile.NewWriter(&b, tracefile.Header{})
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range traces {
		if err := w.Write(x); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	r, err := tracefile.NewReader(t.Context(), &b)
	if err != nil {
		t.Fatal(err)
	}
	var back []*telemetry.Trace
	for {
		x, err := r.Next()
		if errors.Is(err, io.EOF) {
			return back
		}
		if err != nil {
			t.Fatal(err)
		}
		back = append(back, x)
	}
}

func asJSON(t *testing.T, v any) string {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// What the real loops record comes back from a file as it was, and every sync of
// it decides again as it did. Rules that are changed in one place, and answers
// that are, are found.
func TestRealLoopsReplay(t *testing.T) {
	live := recorded(t)
	traces := through(t, live)
	if len(traces) != len(live) {
		t.Fatalf("%d of %d traces came back", len(traces), len(live))
	}
	var sum replay.Summary
	for i, x := range traces {
		if before, after := asJSON(t, live[i]), asJSON(t, x); before != after {
			t.Fatalf("trace %d changed on its way:\n%s", i, cmp.Diff(before, after))
		}
		before := asJSON(t, x)
		sum.Add(x, rules.Trace(x))
		if after := asJSON(t, x); before != after {
			t.Fatalf("replay changed trace %d", i)
		}
	}
	total := sum.Total()
	if total.Equal < 50 || total.Different > 0 || total.NotReplayable > 0 {
		t.Errorf("%+v, reasons %v, details %v", total, sum.Reasons, sum.Details)
	}
	for _, d := range sum.Differences {
		t.Error(d)
	}
	for i, f := range rules.Traces(traces) {
		if f != rules.Trace(traces[i]) {
			t.Errorf("at once, trace %d is %+v", i, f)
		}
	}
	t.Logf("%d syncs: %+v", len(traces), total)
	t.Run("changed rule", func(t *testing.T) { changedRule(t, traces) })
	t.Run("changed record", func(t *testing.T) { changedRecord(t, traces) })
}

// changed is a sync whose verdicts are changed.
type changed struct {
	decision.Core
	change func(*decision.Verdict)
}

func (c changed) Decide() decision.Verdict {
	v := c.Core.Decide()
	c.change(&v)
	return v
}

// begins is a snapshot whose syncs are changed ones.
type begins struct {
	decision.Snapshot
	change func(*decision.Verdict)
}

func (s begins) Begin() decision.Core { return changed{s.Snapshot.Begin(), s.change} }

// changing are the rules with another verdict.
func changing(change func(loop string, v *decision.Verdict)) replay.Rules {
	loops := slices.Clone(controllers.Loops)
	for i, l := range loops {
		loops[i].Decode = func(text []byte) (decision.Snapshot, error) {
			s, err := l.Decode(text)
			return begins{s, func(v *decision.Verdict) { change(l.Name, v) }}, err
		}
	}
	return replay.Rules(loops)
}

var rules = replay.Rules(controllers.Loops)

// changedRule takes the new ReplicaSet one pod too far, and asks one question less.
func changedRule(t *testing.T, traces []*telemetry.Trace) {
	further := changing(func(loop string, v *decision.Verdict) {
		for i := range v.Actions {
			if v.Actions[i].Kind == decision.UpdateReplicaSet && v.Actions[i].Size != nil {
				v.Actions[i].Size.To++
			}
		}
		if n := len(v.Path); loop != "deployment" && n > 3 {
			v.Path = v.Path[:n-1]
		}
	})
	var sum replay.Summary
	sized := 0
	for _, x := range traces {
		if resizes(x) {
			sized++
		}
		sum.Add(x, further.Trace(x))
	}
	if d := sum.Loops["deployment"]; d.Different != sized || sized == 0 {
		t.Errorf("%d Deployment syncs differ, and %d changed a size", d.Different, sized)
	}
	if rs := sum.Loops["replicaset"]; rs.Different == 0 {
		t.Errorf("a question less was not noticed: %+v", rs)
	}
	for _, d := range sum.Differences {
		switch {
		case d.Loop == "deployment" && !strings.HasSuffix(d.Path, ".size.to"), d.Loop == "replicaset" && d.Now != "nothing":
			t.Error(d)
		}
	}
}

// changedRecord doctors each part of a record.
func changedRecord(t *testing.T, traces []*telemetry.Trace) {
	x := traces[len(traces)-1]
	for _, candidate := range traces {
		if candidate.Loop == "deployment" && candidate.Report != nil && len(candidate.Numbers) > 0 && len(candidate.Sentence.Lead) > 0 {
			x = candidate
		}
	}
	for _, c := range []struct {
		name string
		edit func(*telemetry.Trace)
		path string
		kind replay.Kind
	}{
		{"an answer", func(x *telemetry.Trace) { x.Rounds[0].Verdict.Path[0].Answer = "maybe" }, "rounds[0].verdict.path[0].answer", replay.Different},
		{"a fact", func(x *telemetry.Trace) {
			x.Rounds[0].Verdict.Path[0].Facts = append(x.Rounds[0].Verdict.Path[0].Facts, decision.Count("n", 1))
		}, "rounds[0].verdict.path[0].facts", replay.Different},
		{"a timer", func(x *telemetry.Trace) {
			x.Rounds[0].Verdict.Timers = append(x.Rounds[0].Verdict.Timers, decision.Timer{At: x.Ended})
		}, "rounds[0].verdict.timers", replay.Different},
		{"the report", func(x *telemetry.Trace) { x.Report.Publish = !x.Report.Publish }, "report.publish", replay.Different},
		{"no report", func(x *telemetry.Trace) { x.Report = nil }, "report", replay.Different},
		{"a number", func(x *telemetry.Trace) { x.Numbers[0] = decision.Count(x.Numbers[0].Name, 4711) }, "numbers[0].value", replay.Different},
		{"a word", func(x *telemetry.Trace) { x.Sentence.Lead[0].Text += "!" }, "sentence.lead[0].text", replay.WordsOnly},
	} {
		doctored := through(t, []*telemetry.Trace{x})[0]
		c.edit(doctored)
		f := rules.Trace(doctored)
		if f.Kind != c.kind || !strings.HasPrefix(f.Difference.Path, c.path) || f.Difference.Recorded == f.Difference.Now {
			t.Errorf("%s: %s, %s", c.name, f.Kind, f.Difference)
		}
	}
}

func TestWhatCannotBeReplayed(t *testing.T) {
	stop := decision.Round{Verdict: decision.Verdict{Path: decision.Path{}, Stop: true}}
	snapshot := func(text string) func(*telemetry.Trace) {
		return func(x *telemetry.Trace) { x.Snapshot = telemetry.SnapshotText(json.RawMessage(text)) }
	}
	const gone = `{"v":1,"now":"2026-03-14T12:00:00Z","found":false,"namespace":"shop","name":"web","want":0,"status":{"observedGeneration":0,"replicas":0,"updated":0,"ready":0,"available":0,"unavailable":0}}`
	for _, c := range []struct {
		name   string
		edit   func(*telemetry.Trace)
		kind   replay.Kind
		reason string
	}{
		{"observe failed", func(*telemetry.Trace) {}, replay.NotReplayable, replay.Unobserved},
		{"no snapshot", func(x *telemetry.Trace) { x.Rounds = []decision.Round{stop} }, replay.NotReplayable, replay.Unrecorded},
		{"another version", snapshot(`{"v":9}`), replay.NotReplayable, replay.Unread},
		{"another loop", func(x *telemetry.Trace) { x.Loop, x.Snapshot = "job", telemetry.SnapshotText(json.RawMessage(gone)) }, replay.NotReplayable, replay.Unread},
		{"panicked at once", func(x *telemetry.Trace) {
			x.Result, x.Snapshot = telemetry.ResultPanicked, telemetry.SnapshotText(json.RawMessage(gone))
		}, replay.NotReplayable, replay.Panicked},
		{"panicked for the last time", func(x *telemetry.Trace) {
			x.Result, x.Snapshot = telemetry.ResultDropped, telemetry.SnapshotText(json.RawMessage(gone))
			x.Failure = &decision.Failure{Reason: "Panic", Message: "no"}
		}, replay.NotReplayable, replay.Panicked},
		{"panicked after another answer", func(x *telemetry.Trace) {
			x.Result, x.Snapshot, x.Rounds = telemetry.ResultPanicked, telemetry.SnapshotText(json.RawMessage(gone)), []decision.Round{stop}
		}, replay.Different, ""},
		{"no rounds", snapshot(gone), replay.Different, ""},
	} {
		x := &telemetry.Trace{Object: telemetry.Object{Loop: "deployment", Namespace: "shop", Name: "web"}, Result: telemetry.ResultUnchanged}
		c.edit(x)
		f := rules.Trace(x)
		if f.Kind != c.kind || f.Reason != c.reason || (f.Reason == replay.Unread) != (f.Detail != nil) {
			t.Errorf("%s: %s (%s), %v", c.name, f.Kind, f.Reason, f.Difference)
		}
	}
}

// A rule that panics is a difference with its place, and not the end of the program.
func TestPanickingRulesDiffer(t *testing.T) {
	s := &replicaset.Snapshot{Version: 1, Kind: "ReplicaSet", Namespace: "shop", Name: "web", Burst: 500}
	s.Now = s.Now.AddDate(2025, 0, 0)
	raw, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	x := &telemetry.Trace{Object: telemetry.Object{Loop: "replicaset"}, Snapshot: telemetry.SnapshotText(raw), Rounds: []decision.Round{{Verdict: replicaset.Decide(s)}}}
	f := changing(func(string, *decision.Verdict) { panic("no") }).Trace(x)
	if f.Kind != replay.Different || f.Difference.String() != "rounds[0].verdict: recorded an answer, now a panic: no" {
		t.Errorf("%s: %s", f.Kind, f.Difference)
	}
}
