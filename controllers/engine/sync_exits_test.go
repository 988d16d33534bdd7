package engine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/record"

	"github.com/loopscope/loopscope/controllers/internal/lab"
	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/decision"
	"github.com/loopscope/loopscope/telemetry/queue"
)

// A write that was not sent waits for an echo. If that event is lost, a timer
// looks again.
func TestSupersededLooksAgain(t *testing.T) {
	s := &script{report: decision.Report{Publish: true}, published: decision.Outcome{State: decision.Superseded}}
	traces := play(t, s, 15, Act, 2*time.Second+500*time.Millisecond)
	if len(traces) != 3 {
		t.Fatalf("%d syncs in two seconds and a half, want 3", len(traces))
	}
	for _, trace := range traces[1:] {
		if trace.Result != telemetry.ResultSuperseded || trace.Try.Number != 0 || trace.Causes[0].Code != "echo" {
			t.Errorf("%s, try %d, caused by %+v", trace.Result, trace.Try.Number, trace.Causes)
		}
	}
}

// broken is a recorder that panics.
type broken struct{ discard }

func (broken) Record(*telemetry.Trace) { panic("disk full") }

func TestBrokenRecorderStopsNoSync(t *testing.T) {
	s := &script{}
	decided := 0
	s.decideFunc = func(int) decision.Verdict {
		decided++
		return decision.Verdict{Stop: true, Timers: []decision.Timer{{At: time.Now().Add(time.Second)}}}
	}
	runLoop(t, s, broken{}, []string{"shop/web"}, func() { time.Sleep(2500 * time.Millisecond) }) // Fake time.
	if decided != 3 {
		t.Errorf("%d syncs, want 3", decided)
	}
}

// Stop lets the sync under way end and begins no other: what is due then is so at the next start.
func TestStoppingBeginsNoSync(t *testing.T) {
	s := &script{}
	var keys []string
	for i := range 9 {
		keys = append(keys, fmt.Sprintf("shop/web-%d", i))
	}
	began := 0
	s.decideFunc = func(int) decision.Verdict {
		began++
		time.Sleep(time.Minute) // Fake time; the loop is stopped within it.
		return decision.Verdict{}
	}
	runLoop(t, s, discard{}, keys, func() { time.Sleep(time.Second) }) // Fake time.
	if began != 1 {
		t.Errorf("%d syncs were begun, want the one that was under way", began)
	}
}

// runLoop runs a script's loop with one worker, in fake time, until during returns.
func runLoop(t *testing.T, s *script, r Recorder, keys []string, during func()) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		opts := Options{Recorder: r, Logger: slog.New(slog.NewTextHandler(io.Discard, nil))}.WithDefaults()
		l := &Loop{name: "test", opts: opts, client: fake.NewClientset(), controller: s, queue: queue.New(queue.Options[string]{})}
		for _, key := range keys {
			l.Enqueue(key, telemetry.Cause{Kind: telemetry.CauseAdded})
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- l.Run(ctx, 1) }()
		during()
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// [W-2], [W-3]: while no API server answers a key is neither dropped nor left for long.
func TestOutagesDropNothing(t *testing.T) {
	for _, c := range []struct {
		name string
		err  error
		want bool // goes on
	}{
		{"nobody listens", &url.Error{Op: "Put", URL: "https://cluster", Err: syscall.ECONNREFUSED}, true},
		{"not able to serve", apierrors.NewServiceUnavailable("starting"), true},
		{"without its etcd", &apierrors.StatusError{ErrStatus: metav1.Status{Code: 500, Message: "etcdserver: request timed out"}}, true},
		{"slow etcd", apierrors.NewServerTimeout(schema.GroupResource{Resource: "pods"}, "create", 1), true},
		{"a webhook that fails", apierrors.NewInternalError(errors.New("failed calling webhook")), false},
		{"a refusal", apierrors.NewBadRequest("no"), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			traces := play(t, &script{observeErr: c.err}, 15, Act, time.Hour)
			last := traces[len(traces)-1]
			if went := last.Result != telemetry.ResultDropped; went != c.want {
				t.Fatalf("after an hour and %d tries: %s", len(traces), last.Result)
			}
			if told := last.Sentence.Code == telemetry.CodeUnanswered && last.Sentence.Tone == decision.ToneWaiting; told != c.want {
				t.Errorf("it says %q", last.Sentence.At(last.Ended))
			}
			if c.want && last.Try.Next.Sub(last.Started) != echoMost {
				t.Errorf("is tried again after %v, want %v", last.Try.Next.Sub(last.Started), echoMost)
			}
			for i, want := range map[int]time.Duration{outageTries - 1: 5 * time.Millisecond << (outageTries - 1), outageTries: echoMost} {
				if next := traces[i].Try.Next.Sub(traces[i].Started); c.want && next != want {
					t.Errorf("try %d is followed by another after %v, want %v", i+1, next, want)
				}
			}
		})
	}
}

// When the API server answers again, a key that waits in an outage runs at once,
// its tries forgotten. One that failed for a reason of its own waits on.
func TestResume(t *testing.T) {
	for _, c := range []struct {
		name string
		err  error
		runs bool
	}{
		{"an outage", &url.Error{Op: "Put", URL: "https://cluster", Err: syscall.ECONNREFUSED}, true},
		{"a certificate that has run out", apierrors.NewUnauthorized("Unauthorized"), true},
		{"a refusal", apierrors.NewBadRequest("no"), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, syncs := &script{observeErr: c.err}, &lab.Recording{}
			synctest.Test(t, func(t *testing.T) {
				l := &Loop{name: "test", opts: Options{Recorder: syncs, Logger: slog.New(slog.NewTextHandler(io.Discard, nil))}.WithDefaults(), client: fake.NewClientset(), controller: s, queue: queue.New(queue.Options[string]{})}
				l.Enqueue("shop/web", telemetry.Cause{Kind: telemetry.CauseAdded})
				ctx, cancel := context.WithCancel(t.Context())
				ended := make(chan error, 1)
				go func() { ended <- l.Run(ctx, 1) }()
				time.Sleep(time.Minute) // Fake time: the next try is many seconds away.
				before := len(syncs.All())
				l.Resume()
				synctest.Wait()
				if ran := len(syncs.All()) > before; ran != c.runs {
					t.Errorf("ran at once: %v, want %v", ran, c.runs)
				}
				if last := syncs.All()[len(syncs.All())-1]; c.runs && (last.Try.Number != 1 || last.Causes[0].Code != "answers-again") {
					t.Errorf("try %d, caused by %+v", last.Try.Number, last.Causes)
				}
				cancel()
				if err := <-ended; err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// TestFailedStatusIsNotHeldBack: a status that could not be written is due at the next try,
// which would succeed without it otherwise, and end the back-off.
func TestFailedStatusIsNotHeldBack(t *testing.T) {
	for state, due := range map[decision.State]bool{decision.Unanswered: true, decision.Refused: true, decision.Written: false, decision.Conflicted: false} {
		s := &script{published: decision.Outcome{State: state}}
		l := &Loop{name: "test", opts: Options{}.WithDefaults(), controller: s}
		x := &telemetry.Trace{Object: telemetry.Object{Loop: "test", Namespace: "shop", Name: "web"}, Started: time.Now(), Report: &decision.Report{Publish: true}}
		l.publish(t.Context(), x, s, Act)
		held := l.deferred.of("shop/web", "u")
		if got := !held.IsZero() && !decision.Due(x.Started, held, time.Hour).After(x.Started); got != due {
			t.Errorf("%s: due %v, held since %s", state, got, held)
		}
	}
}

// A snapshot that cannot be recorded is said in the log, and the sync is told without it.
func TestSnapshotsThatCannotBeRecorded(t *testing.T) {
	for _, err := range []error{nil, errors.New("too large")} {
		var log bytes.Buffer
		s := &script{packErr: err}
		l := &Loop{name: "test", opts: Options{Logger: slog.New(slog.NewTextHandler(&log, nil))}.WithDefaults(), controller: s}
		x := &telemetry.Trace{Object: telemetry.Object{Loop: "test", Namespace: "shop", Name: "web"}}
		if said := l.say(x, s); !said || x.Sentence.Object != "web" || x.UID != "u" || x.Gone {
			t.Errorf("%v: said %v of %q, gone %v: %+v", err, said, x.UID, x.Gone, x.Sentence)
		}
		if strings.Contains(log.String(), "panicked") {
			t.Errorf("%v: nothing panicked, and the log says %q", err, log.String())
		}
		if got := strings.Contains(log.String(), "Snapshot cannot be recorded"); got != (err != nil) {
			t.Errorf("%v: the log says %q", err, log.String())
		}
	}
}

// A sync that could not decide says why, and when it is tried again, if it is.
func TestSentencesOfWhatWasNotObserved(t *testing.T) {
	next := lab.At.Add(10 * time.Second)
	down := FailureOf(&url.Error{Op: "Get", URL: "https://cluster", Err: syscall.ECONNREFUSED})
	for _, c := range []struct {
		name    string
		failure *decision.Failure
		next    time.Time
		tone    decision.Tone
		want    []string
	}{
		{"failed, and is dropped", &decision.Failure{Message: "closed"}, time.Time{}, decision.ToneFailed, []string{"has failed", "(closed)"}},
		{"failed", &decision.Failure{Message: "closed"}, next, decision.ToneFailed, []string{"has failed", "(closed)", "Tries again in 10s"}},
		{"without an API server", down, next, decision.ToneWaiting, []string{"is waiting", "so the sync ended before it could decide", "10s"}},
		{"for no reason", nil, time.Time{}, decision.ToneFailed, []string{"has failed"}},
	} {
		x := &telemetry.Trace{Object: telemetry.Object{Namespace: "shop", Name: "web"}, Failure: c.failure}
		x.Try.Next = c.next
		s := unobserved(x)
		said := s.At(lab.At)
		for _, words := range c.want {
			if !strings.Contains(said, words) {
				t.Errorf("%s: %q lacks %q", c.name, said, words)
			}
		}
		if s.Tone != c.tone || strings.Contains(said, "again") == c.next.IsZero() {
			t.Errorf("%s: %s, %q", c.name, s.Tone, said)
		}
	}
}

// A sync ends as the worst of its writes did: of those of its last round, and of what was
// written before. What failed in an earlier round the next one has answered. Its failure is
// the first of those.
func TestResultsOfRounds(t *testing.T) {
	first, second := &decision.Failure{Message: "first"}, &decision.Failure{Message: "second"}
	round := func(outcomes ...decision.Outcome) decision.Round { return decision.Round{Outcomes: outcomes} }
	of := func(s decision.State, f *decision.Failure) decision.Outcome {
		return decision.Outcome{State: s, Failure: f}
	}
	wrote, refused, stale := of(decision.Written, nil), of(decision.Refused, first), of(decision.Conflicted, second)
	gone := of(decision.Tolerated, second)
	lost := decision.Outcome{State: decision.Unknown, Failure: first, Lost: second}
	invalid := decision.Round{Verdict: decision.Verdict{Invalid: "no selector"}, Outcomes: []decision.Outcome{of(decision.Unknown, first)}}
	for name, c := range map[string]struct {
		rounds  []decision.Round
		status  *decision.Outcome
		waiting bool
		before  *decision.Failure
		want    telemetry.Result
		failure string
	}{
		"nothing":                      {rounds: []decision.Round{round()}, want: telemetry.ResultUnchanged},
		"written before":               {rounds: []decision.Round{round(wrote), round()}, want: telemetry.ResultWrote},
		"answered":                     {rounds: []decision.Round{round(refused), round()}, want: telemetry.ResultUnchanged},
		"answered, and written":        {rounds: []decision.Round{round(wrote, refused), round(wrote)}, want: telemetry.ResultWrote},
		"two failures":                 {rounds: []decision.Round{round(stale, refused)}, want: telemetry.ResultFailed, failure: "second"},
		"not known beside refused":     {rounds: []decision.Round{round(refused, of(decision.Unknown, second))}, want: telemetry.ResultUnknown, failure: "first"},
		"a reply lost among refusals":  {rounds: []decision.Round{round(lost)}, want: telemetry.ResultUnknown, failure: "second"},
		"a write that was not sent":    {rounds: []decision.Round{round(wrote, of(decision.Superseded, nil))}, want: telemetry.ResultSuperseded},
		"what is gone is no failure":   {rounds: []decision.Round{round(gone)}, want: telemetry.ResultUnchanged},
		"its status":                   {rounds: []decision.Round{round(wrote)}, status: &stale, want: telemetry.ResultStale, failure: "second"},
		"its status, after a failure":  {rounds: []decision.Round{round(refused)}, status: &stale, want: telemetry.ResultFailed, failure: "first"},
		"an object that is not valid":  {rounds: []decision.Round{invalid}, want: telemetry.ResultFailed, failure: "no selector"},
		"waits for what it wrote":      {rounds: []decision.Round{round(refused)}, waiting: true, want: telemetry.ResultWaiting},
		"could not look":               {before: first, waiting: true, want: telemetry.ResultFailed, failure: "first"},
		"panicked":                     {before: &decision.Failure{Reason: reasonPanic, Message: "p"}, want: telemetry.ResultPanicked, failure: "p"},
		"partly, and one unanswered":   {rounds: []decision.Round{round(of(decision.Partly, first), of(decision.Unanswered, second))}, want: telemetry.ResultFailed, failure: "first"},
		"not tried after what it read": {rounds: []decision.Round{round(of(decision.NotTried, nil), wrote)}, want: telemetry.ResultWrote},
	} {
		x := &telemetry.Trace{Rounds: c.rounds, Failure: c.before}
		if c.status != nil {
			x.Report = &decision.Report{Outcome: c.status}
		}
		got := result(x, &script{waiting: c.waiting})
		if got != c.want || message(x.Failure) != c.failure {
			t.Errorf("%s: %s by %q, want %s by %q", name, got, message(x.Failure), c.want, c.failure)
		}
		if terminal := x.Failure != nil && x.Failure.Terminal; terminal != (c.failure == "no selector") {
			t.Errorf("%s: terminal %v", name, terminal)
		}
	}
}

// One try is one, and where nobody records a sync it is not put into words.
func TestOneTry(t *testing.T) {
	if traces := play(t, &script{observeErr: errors.New("no")}, 1, Act, time.Hour); len(traces) != 2 || traces[1].Result != telemetry.ResultDropped || traces[1].Try.Number != 2 {
		t.Errorf("%d syncs: %v", len(traces), results(traces))
	}
	told := 0
	s := &script{tellFunc: func() decision.Telling { told++; return decision.Telling{} }}
	runLoop(t, s, discard{}, []string{"shop/web"}, func() { time.Sleep(time.Second) }) // Fake time.
	if s.rounds != 1 || told != 0 {
		t.Errorf("after %d rounds it was told %d times", s.rounds, told)
	}
}

// What panics after a sync was decided is said in the log, and nothing else is.
func TestPanicsAfterTheDecision(t *testing.T) {
	for words, c := range map[string]struct {
		recorder Recorder
		tell     func() decision.Telling
	}{
		"":                           {&lab.Recording{}, nil},
		"Recording a sync panicked":  {broken{}, nil},
		"Describing a sync panicked": {&lab.Recording{}, func() decision.Telling { panic("speechless") }},
	} {
		var log bytes.Buffer
		l := &Loop{name: "test", opts: Options{Recorder: c.recorder, Logger: slog.New(slog.NewTextHandler(&log, nil))}.WithDefaults(), queue: queue.New(queue.Options[string]{})}
		s := &script{tellFunc: c.tell}
		x := &telemetry.Trace{Object: telemetry.Object{Loop: "test", Namespace: "shop", Name: "web"}}
		l.describe(x, s)
		l.record(x, s)
		if l.describe(x, nil); x.Sentence.Code != telemetry.CodeUnobserved {
			t.Errorf("%q: of what was not observed is said %+v", words, x.Sentence)
		}
		if got := log.String(); (got == "") != (words == "") || !strings.Contains(got, words) {
			t.Errorf("%q: the log says %q", words, got)
		}
	}
}

// echoes is a recorder that knows one sync, and writes down what it is asked for.
type echoes struct {
	lab.Recording
	asked []string
}

func (e *echoes) SyncOf(kind, namespace, name, rv string) (uint64, bool) {
	e.asked = append(e.asked, kind+" "+namespace+"/"+name+" at "+rv)
	return 42, rv == "9"
}

// A cause that we wrote is of the sync that wrote it, whatever was signed. One without a
// version is nobody's write.
func TestCausesOfOurOwn(t *testing.T) {
	r, s := &echoes{}, &script{}
	l := New(Settings{Name: "test"}, fake.NewClientset(), Options{Recorder: r})
	x := &telemetry.Trace{Object: telemetry.Object{Loop: "test", Namespace: "shop", Name: "web"}, Causes: []telemetry.Cause{
		{Object: "Pod web-1", NewRV: "8", Manager: "kubelet"}, {Object: "Pod web-2", NewRV: "9", Manager: "kubectl"}, {Object: "Pod web-3", Manager: "kubelet"},
	}}
	l.record(x, s)
	want := []telemetry.Cause{{Object: "Pod web-1", NewRV: "8", Manager: "kubelet"}, {Object: "Pod web-2", NewRV: "9", Sync: 42}, {Object: "Pod web-3", Manager: "kubelet"}}
	if diff := cmp.Diff(want, x.Causes); diff != "" {
		t.Errorf("causes (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"Pod shop/web-1 at 8", "Pod shop/web-2 at 9"}, r.asked); diff != "" {
		t.Errorf("asked for (-want +got):\n%s", diff)
	}
	if l.record(x, nil); len(r.All()) != 2 || s.remembered != 1 {
		t.Errorf("%d syncs are recorded, %d remembered", len(r.All()), s.remembered)
	}
}

// Events tell the very words, and there are none of what is gone, or is only watched.
func TestEventsOfASync(t *testing.T) {
	for name, c := range map[string]struct {
		object runtime.Object
		mode   Mode
		want   []string
	}{
		"there":        {lab.Deployment("web", "u", ""), Act, []string{"Warning FailedCreate denied: password=hunter2", "Normal Created web-1"}},
		"gone":         {nil, Act, nil},
		"only watched": {lab.Deployment("web", "u", ""), Watch, nil},
	} {
		to := record.NewFakeRecorder(8)
		s := &script{object: c.object}
		l := New(Settings{Name: "test"}, fake.NewClientset(), Options{})
		l.recorder = to
		events := []decision.Event{{Type: "Warning", Reason: "FailedCreate", Message: s.Redact("denied: password=hunter2")}, {Type: "Normal", Reason: "Created", Message: "web-1"}}
		l.publish(t.Context(), &telemetry.Trace{Report: &decision.Report{Events: events}}, s, c.mode)
		close(to.Events)
		var got []string
		for e := range to.Events {
			got = append(got, e)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// The log says how often a key was tried before it is dropped. A failure without words is
// tried again as any other.
func TestTriesAreSaid(t *testing.T) {
	var log bytes.Buffer
	l := New(Settings{Name: "test", Tries: 2}, fake.NewClientset(), Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	for i, want := range []string{"again\" controller=test key=shop/web try=1", "again\" controller=test key=shop/web try=2", "try\" controller=test key=shop/web tries=2"} {
		x := &telemetry.Trace{Object: telemetry.Object{Loop: "test", Namespace: "shop", Name: "web"}, Result: telemetry.ResultStale}
		log.Reset()
		if l.requeue(x); !strings.Contains(log.String(), want) || x.Try.Number != int64(i+1) || x.Try.Dropped != (i == 2) {
			t.Errorf("after try %+v the log says %q, want %q", x.Try, log.String(), want)
		}
	}
}

// A key that fails while a timer or an earlier back-off still runs is tried when the first of them ends, and says so.
func TestTryAtAnEarlierTime(t *testing.T) {
	l := New(Settings{Name: "test"}, fake.NewClientset(), Options{Logger: slog.New(slog.DiscardHandler)})
	x := &telemetry.Trace{Object: telemetry.Object{Loop: "test", Namespace: "shop", Name: "web"}, Result: telemetry.ResultFailed}
	l.requeue(x)
	first := x.Try.Next
	for range outageTries {
		if l.requeue(x); !x.Try.Next.Equal(first) || !x.Timers[len(x.Timers)-1].At.Equal(first) {
			t.Errorf("try %d is at %v, want %v", x.Try.Number, x.Try.Next, first)
		}
	}
	x.Failure = FailureOf(&url.Error{Op: "Get", URL: "https://cluster", Err: syscall.ECONNREFUSED})
	if l.requeue(x); !x.Try.Next.Equal(first) {
		t.Errorf("in an outage the try is at %v, want %v", x.Try.Next, first)
	}
}
