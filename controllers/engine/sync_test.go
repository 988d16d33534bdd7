package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/loopscope/loopscope/controllers/internal/lab"
	"github.com/loopscope/loopscope/controllers/replicaset"
	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/decision"
	"github.com/loopscope/loopscope/telemetry/queue"
)

// script is a body and a turn that does what a test says: faults such as a
// panic in the middle of a sync cannot be had from a real cluster.
type script struct {
	Redactor
	observeErr error
	decideFunc func(round int) decision.Verdict
	doFunc     func(a decision.Action) (decision.Outcome, decision.Learnt)
	report     decision.Report
	published  decision.Outcome
	waiting    bool
	tellFunc   func() decision.Telling
	object     runtime.Object
	packErr    error

	rounds     int
	remembered int
	done       []string
	loop       *Loop // that it was played by
}

func (s *script) Observe(context.Context, string) (Sync, error) {
	if s.observeErr != nil {
		return nil, s.observeErr
	}
	s.rounds = 0
	return s, nil
}
func (s *script) Pending() []telemetry.EchoState { return nil }
func (s *script) Core() decision.Core            { return s }
func (s *script) Now() time.Time                 { return time.Time{} }
func (s *script) Decide() decision.Verdict {
	s.rounds++
	if s.decideFunc == nil {
		return decision.Verdict{}
	}
	return s.decideFunc(s.rounds)
}
func (s *script) Learn(decision.Round, decision.Learnt) {}
func (s *script) Do(_ context.Context, a decision.Action) (decision.Outcome, decision.Learnt) {
	s.done = append(s.done, a.Target.Name)
	if s.doFunc == nil {
		return decision.Outcome{State: decision.Written}, decision.Learnt{}
	}
	return s.doFunc(a)
}
func (s *script) Settle([]decision.Round) *decision.Report { r := s.report; return &r }
func (s *script) Remember(*telemetry.Trace)                { s.remembered++ }
func (s *script) Publish(context.Context) decision.Outcome {
	s.done = append(s.done, "status")
	return s.published
}
func (s *script) Snapshot() (telemetry.Snapshot, error) {
	if s.packErr != nil {
		return telemetry.Snapshot{}, s.packErr
	}
	return telemetry.SnapshotOf(&replicaset.Snapshot{})
}
func (s *script) Object() runtime.Object { return s.object }
func (s *script) Identity() Identity     { return Identity{UID: "u", Found: true, Waiting: s.waiting} }
func (s *script) Tell([]decision.Round, *decision.Report, decision.Try, time.Time) decision.Telling {
	if s.tellFunc != nil {
		return s.tellFunc()
	}
	return decision.Telling{Sentence: decision.Sentence{Object: "web", Tone: decision.ToneOK}}
}

// play runs a script's loop in fake time until it has been idle for that long.
func play(t *testing.T, s *script, limit int64, mode Mode, idle time.Duration) (traces []*telemetry.Trace) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := &lab.Recording{}
		opts := Options{Mode: mode, Recorder: r, Logger: slog.New(slog.NewTextHandler(io.Discard, nil))}.WithDefaults()
		l := &Loop{name: "test", limit: limit, opts: opts, client: fake.NewClientset(), controller: s}
		s.loop = l
		l.queue = queue.New(queue.Options[string]{})
		l.Enqueue("shop/web", telemetry.Cause{Kind: telemetry.CauseAdded})
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- l.Run(ctx, 2) }()
		time.Sleep(idle) // Fake time: it passes when nothing is left to do.
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		traces = r.All()
	})
	return traces
}

func results(traces []*telemetry.Trace) []telemetry.Result {
	var list []telemetry.Result
	for _, t := range traces {
		list = append(list, t.Result)
	}
	return list
}

func action(name string, d decision.Discipline) decision.Action {
	return decision.Action{Kind: decision.UpdateReplicaSet, Target: decision.Ref{Name: name}, Discipline: d}
}

// [W-2]: fifteen tries with growing back-off, then dropped until something changes.
func TestDroppedAfterFifteenTries(t *testing.T) {
	traces := play(t, &script{observeErr: errors.New("cache is broken")}, 15, Act, time.Hour)
	if len(traces) != 16 {
		t.Fatalf("%d syncs, want the first, 14 more tries and the one that drops: 16", len(traces))
	}
	for i, trace := range traces[:15] {
		if trace.Result != telemetry.ResultFailed || trace.Try.Number != int64(i+1) || trace.Try.Next.IsZero() {
			t.Errorf("sync %d: %s, try %+v", i, trace.Result, trace.Try)
		}
	}
	if last := traces[15]; last.Result != telemetry.ResultDropped || !last.Try.Dropped {
		t.Errorf("the last: %s, try %+v", last.Result, last.Try)
	}
	first := traces[1].Started.Sub(traces[0].Ended)
	fourteenth := traces[15].Started.Sub(traces[14].Ended)
	if first != 5*time.Millisecond || fourteenth != 5*time.Millisecond<<14 {
		t.Errorf("back-off grew from %v to %v, want 5ms to %v", first, fourteenth, 5*time.Millisecond<<14)
	}
}

func TestReplicaSetsAreNeverDropped(t *testing.T) {
	traces := play(t, &script{observeErr: errors.New("no")}, 0, Act, time.Hour)
	for _, trace := range traces {
		if trace.Result != telemetry.ResultFailed {
			t.Fatalf("result %s", trace.Result)
		}
	}
	if len(traces) < 17 {
		t.Errorf("%d tries in an hour", len(traces))
	}
}

// [W-4]
func TestPanicsAreRecordedAndTriedAgain(t *testing.T) {
	s := &script{}
	s.decideFunc = func(int) decision.Verdict {
		if s.decideFunc != nil {
			s.decideFunc = nil
			panic("no such revision")
		}
		return decision.Verdict{}
	}
	traces := play(t, s, 15, Act, time.Minute)
	if diff := cmp.Diff([]telemetry.Result{telemetry.ResultPanicked, telemetry.ResultUnchanged}, results(traces)); diff != "" {
		t.Fatal(diff)
	}
	if traces[0].Failure.Message != "no such revision" || traces[0].Sentence.Tone != decision.ToneFailed {
		t.Errorf("the panic is recorded as %+v", traces[0].Failure)
	}
}

func TestPanickingWordsDoNotStopALoop(t *testing.T) {
	traces := play(t, &script{tellFunc: func() decision.Telling { panic("speechless") }}, 15, Act, time.Second)
	if len(traces) != 1 || traces[0].Result != telemetry.ResultUnchanged || traces[0].Sentence.Code != "unobserved" {
		t.Fatalf("traces %+v", results(traces))
	}
}

// A wait for our own echo is no error and no try: a timer brings the next look.
func TestWaitingIsNotATry(t *testing.T) {
	s := &script{waiting: true}
	s.decideFunc = func(int) decision.Verdict {
		return decision.Verdict{Stop: true, Timers: []decision.Timer{{At: time.Now().Add(time.Second), Code: "echo"}}}
	}
	traces := play(t, s, 15, Act, 10*time.Second+500*time.Millisecond)
	if len(traces) != 11 {
		t.Errorf("%d looks in ten seconds, want 11", len(traces))
	}
	for i, trace := range traces {
		if trace.Result != telemetry.ResultWaiting || trace.Try.Number != 0 || trace.Report != nil {
			t.Errorf("sync %d: %s, try %+v, report %v", i, trace.Result, trace.Try, trace.Report)
		}
		if i > 0 && (trace.Causes[0].Kind != telemetry.CauseTimer || trace.Causes[0].Code != "echo") {
			t.Errorf("sync %d was caused by %+v", i, trace.Causes)
		}
	}
}

func TestRounds(t *testing.T) {
	for _, c := range []struct {
		name   string
		learns int // rounds that learn something
		want   int
	}{
		{"learns nothing", 0, 1}, {"learns once", 1, 2}, {"learns always", 99, 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := &script{published: decision.Outcome{State: decision.Written}}
			s.decideFunc = func(int) decision.Verdict {
				return decision.Verdict{Actions: []decision.Action{action("rs", decision.StopAtFirst)}}
			}
			s.doFunc = func(decision.Action) (decision.Outcome, decision.Learnt) {
				if s.rounds <= c.learns {
					return decision.Outcome{State: decision.Refused, Failure: &decision.Failure{Message: "taken"}}, decision.Learnt{NameTaken: &decision.NameTaken{Name: "x"}}
				}
				return decision.Outcome{State: decision.Written}, decision.Learnt{}
			}
			trace := play(t, s, 1, Act, time.Millisecond)[0]
			if len(trace.Rounds) != c.want {
				t.Fatalf("%d rounds, want %d", len(trace.Rounds), c.want)
			}
			if c.learns == 1 && (trace.Result != telemetry.ResultWrote || trace.Rounds[1].Learnt.NameTaken == nil) {
				t.Errorf("after the second round: %s, learnt %+v", trace.Result, trace.Rounds[1].Learnt)
			}
		})
	}
}

func TestDisciplines(t *testing.T) {
	refuse := map[string]bool{}
	for _, c := range []struct {
		name    string
		refused string
		actions []decision.Action
		want    []string
	}{
		{"all go", "", []decision.Action{action("a", decision.StopAtFirst), action("b", decision.StopAtFirst)}, []string{"a", "b"}},
		{"stop at the first failure", "a", []decision.Action{action("a", decision.StopAtFirst), action("b", decision.StopAtFirst)}, []string{"a"}},
		{"visit all", "a", []decision.Action{action("a", decision.VisitAll), action("b", decision.VisitAll)}, []string{"a", "b"}},
		{"a failed claim ends the round", "a", []decision.Action{action("a", decision.VisitAll), action("b", decision.VisitAll), action("pods", decision.SlowStart)}, []string{"a", "b"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			clear(refuse)
			refuse[c.refused] = true
			s := &script{}
			s.decideFunc = func(int) decision.Verdict { return decision.Verdict{Actions: c.actions} }
			s.doFunc = func(a decision.Action) (decision.Outcome, decision.Learnt) {
				if refuse[a.Target.Name] {
					return decision.Outcome{State: decision.Refused, Failure: &decision.Failure{Message: "no"}}, decision.Learnt{}
				}
				return decision.Outcome{State: decision.Written}, decision.Learnt{}
			}
			trace := play(t, s, 1, Act, time.Millisecond)[0]
			if diff := cmp.Diff(c.want, s.done[:len(c.want)]); diff != "" {
				t.Error(diff)
			}
			for i, o := range trace.Rounds[0].Outcomes {
				tried := i < len(c.want)
				if (o.State == decision.NotTried) == tried {
					t.Errorf("action %d: %s", i, o.State)
				}
			}
		})
	}
}

// A claim of a pod that is gone is no failure, but what it teaches is decided on
// before any pod is created.
func TestLearningEndsTheRound(t *testing.T) {
	s := &script{}
	s.decideFunc = func(round int) decision.Verdict {
		if round > 1 {
			return decision.Verdict{}
		}
		return decision.Verdict{Actions: []decision.Action{action("orphan", decision.VisitAll), action("pods", decision.SlowStart)}}
	}
	s.doFunc = func(decision.Action) (decision.Outcome, decision.Learnt) {
		return decision.Outcome{State: decision.Tolerated}, decision.Learnt{ChildrenGone: []string{"u"}}
	}
	trace := play(t, s, 1, Act, time.Millisecond)[0]
	if len(trace.Rounds) != 2 || trace.Rounds[0].Outcomes[1].State != decision.NotTried {
		t.Errorf("%d rounds; the first ended with %+v", len(trace.Rounds), trace.Rounds[0].Outcomes)
	}
}

func TestResults(t *testing.T) {
	failure := &decision.Failure{Message: "no"}
	terminal := &decision.Failure{Message: "namespace", Terminal: true}
	for _, c := range []struct {
		outcome decision.Outcome
		want    telemetry.Result
		again   bool
	}{
		{decision.Outcome{State: decision.Written}, telemetry.ResultWrote, false},
		{decision.Outcome{State: decision.Tolerated}, telemetry.ResultUnchanged, false},
		{decision.Outcome{State: decision.Superseded}, telemetry.ResultSuperseded, false},
		{decision.Outcome{State: decision.Conflicted, Failure: failure}, telemetry.ResultStale, true},
		{decision.Outcome{State: decision.Refused, Failure: failure}, telemetry.ResultFailed, true},
		{decision.Outcome{State: decision.Refused, Failure: terminal}, telemetry.ResultFailed, false},
		{decision.Outcome{State: decision.Unknown, Failure: failure}, telemetry.ResultUnknown, true},
		{decision.Outcome{State: decision.Partly, Failure: failure}, telemetry.ResultFailed, true},
	} {
		t.Run(fmt.Sprint(c.outcome.State, c.again), func(t *testing.T) {
			s := &script{report: decision.Report{Publish: true}, published: c.outcome}
			traces := play(t, s, 15, Act, 8*time.Millisecond)
			if traces[0].Result != c.want {
				t.Errorf("result %s, want %s", traces[0].Result, c.want)
			}
			if again := len(traces) > 1; again != c.again {
				t.Errorf("tried again = %v, want %v", again, c.again)
			}
			if asked := s.loop.Unresolved("shop/web"); asked != (c.outcome.State == decision.Unknown) {
				t.Errorf("asked for a live read = %v", asked)
			}
		})
	}
}

func TestWatchModeWritesNothing(t *testing.T) {
	s := &script{report: decision.Report{Publish: true}}
	s.decideFunc = func(int) decision.Verdict {
		return decision.Verdict{Actions: []decision.Action{action("rs", decision.StopAtFirst)}}
	}
	traces := play(t, s, 15, Watch, time.Second)
	if len(s.done) != 0 {
		t.Errorf("watching did %v", s.done)
	}
	if len(traces) != 1 || traces[0].Result != telemetry.ResultUnchanged {
		t.Errorf("traces %v", results(traces))
	}
}

func TestRunRefusesNonsense(t *testing.T) {
	opts := Options{}.WithDefaults()
	l := &Loop{name: "test", opts: opts, client: fake.NewClientset(), controller: &script{}, queue: queue.New(queue.Options[string]{})}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := l.Run(ctx, 0); err == nil {
		t.Error("no workers were accepted")
	}
	if err := l.Run(ctx, 1); err != nil {
		t.Error(err)
	}
	if err := l.Run(ctx, 1); err == nil {
		t.Error("a second run was accepted")
	}
	if n := l.Phases().Workers; n != 0 {
		t.Errorf("%d workers after the end", n)
	}
}
