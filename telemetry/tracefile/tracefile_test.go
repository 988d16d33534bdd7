package tracefile

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/decision"
	"github.com/loopscope/loopscope/telemetry/decision/decisiontest"
	"github.com/loopscope/loopscope/telemetry/safetext"
)

var noon = time.Date(2026, time.March, 14, 12, 0, 0, 123456789, time.UTC)

// full is a trace with a value of every kind that a trace can hold.
func full(seq uint64) *telemetry.Trace {
	size, code := int64(3), "image-pull"
	path := decision.Path{{Question: "RR-3", Answer: "no", Holds: true, Equation: decision.Subtract("room", decision.Term{Label: "total", Value: 11}, decision.Term{Label: "floor", Value: 8}), Facts: []decision.Fact{
		decision.Count("n", -7), decision.Text("text", "a <b> & \"c\" \u2028 é \u009b\u202e\U000e0041\x7f"), decision.Text("empty", ""), decision.Bool("holds", true), decision.Bool("not", false),
		decision.Duration("age", 1234567891), decision.Instant("at", noon), decision.Instant("never", time.Time{}),
	}}}
	ref := decision.Ref{Kind: "ReplicaSet", Namespace: "shop", Name: "web-1", UID: "u", RV: "9"}
	return &telemetry.Trace{
		Version: telemetry.TraceVersion, Epoch: "7c41d2aa", Seq: seq,
		Object: telemetry.Object{Loop: "deployment", Namespace: "shop", Name: "web"}, UID: "d",
		Causes: []telemetry.Cause{{Kind: telemetry.CauseModified, At: noon, Object: "Deployment web", OldRV: "7", NewRV: "8", Sync: 3, Fields: []decision.Change{{Field: "spec.replicas", From: "2", To: "3"}}}},
		Folded: 2, Worker: 1, Queued: noon, Started: noon.Add(time.Millisecond), Ended: noon.Add(time.Second), Phases: telemetry.Phases{Observe: 1, Decide: 2, Act: 3, Settle: 4, Publish: 5},
		Rounds: []decision.Round{
			{Verdict: decision.Verdict{Path: path, Actions: []decision.Action{{Kind: decision.CreateReplicaSet, Target: ref, Discipline: decision.StopAtFirst, Question: "Q", Size: &decision.Size{To: 3}, Stamp: &decision.Stamp{Revision: "2", Desired: &size, Copy: true}, MinReadySeconds: &size, Hash: "abc"}}},
				Outcomes: []decision.Outcome{{State: decision.Refused, Failure: &decision.Failure{Code: 409, Reason: "AlreadyExists", Message: "taken"}, Took: 99}}},
			{Learnt: decision.Learnt{NameTaken: &decision.NameTaken{Name: "web-1", UID: "x", Mine: true}, ChildrenGone: []string{"y"}},
				Verdict: decision.Verdict{Path: path, Held: []decision.Held{{Code: "floor", Question: "RR-3", Kind: decision.UpdateReplicaSet, Target: ref, Unblocks: decision.Words{}.Say("when ").Count("n", 1).Until(noon), Blockers: []decision.Blocker{{Kind: "Pod", Name: "p", Since: noon}}, BlockerCount: 1}},
					Timers: []decision.Timer{{At: noon.Add(time.Minute), Code: "deadline", Question: "R-1"}}}},
		},
		Report:   &decision.Report{Path: path, Publish: true, Changes: []decision.Change{{Field: "status.replicas", From: "1", To: "2"}}, Events: []decision.Event{{Type: "Normal", Reason: "R", Message: "m"}}, Outcome: &decision.Outcome{State: decision.Conflicted, Other: &decision.Writer{Manager: "kubectl", Fields: []string{"spec"}}}},
		Timers:   []decision.Timer{{At: noon.In(time.FixedZone("", 3600)), Code: "back-off"}},
		Result:   telemetry.ResultStale,
		Try:      decision.Try{Number: 2, Limit: 15, Next: noon},
		Sentence: decision.Sentence{Namespace: "shop", Object: "web", Tone: decision.ToneWaiting, Verb: "is", State: "waiting", Lead: decision.Words{}.Count("n", -7).Since(noon), ChangesAt: noon, Code: code},
		Numbers:  []decision.Fact{decision.Count("wanted", 3)},
		Failure:  &decision.Failure{Message: "no", Terminal: true},
		Snapshot: telemetry.SnapshotText(json.RawMessage(`{"v":1,"now":"2026-03-14T12:00:00Z"}`)),
	}
}

func header() Header { return Header{Cluster: "kind", Program: "v1.2.3", Exported: noon} }

// text is a recording of these traces.
func text(t testing.TB, traces ...*telemetry.Trace) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := NewWriter(&b, header())
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
	if i := bytes.IndexFunc(b.Bytes(), safetext.Hidden); i >= 0 {
		t.Errorf("the recording holds %q", b.Bytes()[i:i+8])
	}
	return b.Bytes()
}

func zipped(t testing.TB, data []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// readAll reads to the end, past lines that are bad.
func readAll(data []byte) (traces []*telemetry.Trace, bad []error, err error) {
	r, err := NewReader(context.Background(), bytes.NewReader(data))
	if err != nil {
		return nil, nil, err
	}
	for {
		x, err := r.Next()
		switch {
		case err == nil:
			traces = append(traces, x)
		case errors.Is(err, io.EOF):
			return traces, bad, nil
		default:
			bad = append(bad, err)
			if line := (&LineError{}); !errors.As(err, &line) && !errors.Is(err, ErrTruncated) {
				return traces, bad, nil
			}
		}
	}
}

// same compares traces as values: an instant in another zone is the same one,
// and so is a snapshot with other spaces.
var same = []cmp.Option{
	cmp.AllowUnexported(telemetry.Snapshot{}),
	cmp.Comparer(decision.Value.Equal), cmp.Comparer(time.Time.Equal), cmpopts.EquateEmpty(),
	// The bytes may be others, such as the escape of a byte that belongs to no character: the values may not.
	cmp.FilterValues(func(a, b json.RawMessage) bool { return len(a)+len(b) > 0 }, cmp.Comparer(func(a, b json.RawMessage) bool {
		x, xErr := valueOf(a)
		y, yErr := valueOf(b)
		return cmp.Equal(x, y) && xErr == nil && yErr == nil
	})),
}

func valueOf(text json.RawMessage) (value any, err error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	err = d.Decode(&value)
	return value, err
}

func TestTracesComeBackAsTheyWere(t *testing.T) {
	for _, name := range []string{"plain.jsonl", "packed.jsonl.gz"} {
		path := filepath.Join(t.TempDir(), name)
		w, err := Create(path, header())
		if err != nil {
			t.Fatal(err)
		}
		want := []*telemetry.Trace{full(1), full(7), {Version: 1, Epoch: "e", Seq: 8, Object: telemetry.Object{Loop: "replicaset", Namespace: "a", Name: "b"}, Queued: noon, Started: noon, Ended: noon, Result: telemetry.ResultUnchanged}}
		for _, x := range want {
			if err := w.Write(x); err != nil {
				t.Fatal(err)
			}
			if err := w.Flush(); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil || w.Count() != 3 {
			t.Fatalf("%d written, %v", w.Count(), err)
		}
		r, err := Open(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		if h := r.Header(); h.Format != Format || h.Version != Version || h.Cluster != "kind" || h.Program != "v1.2.3" || !h.Exported.Equal(noon) {
			t.Errorf("header %+v", h)
		}
		for i, x := range want {
			got, err := r.Next()
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(x, got, same...); diff != "" {
				t.Errorf("%s, trace %d:\n%s", name, i, diff)
			}
			before, _ := json.Marshal(x)
			after, _ := json.Marshal(got)
			if !bytes.Equal(before, after) {
				t.Errorf("written again it is\n%s, and was\n%s", after, before)
			}
		}
		if _, err := r.Next(); !errors.Is(err, io.EOF) {
			t.Errorf("after the last trace: %v", err)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
		if _, err := Create(path, header()); err == nil || !strings.Contains(err.Error(), "choose another name") {
			t.Errorf("a file that is there was not spared: %v", err)
		}
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("mode %v, %v", info.Mode(), err)
		}
	}
}

// A header declares the loops that no other program knows, and no command to run.
func TestDeclaredLoops(t *testing.T) {
	foreign := decisiontest.Loop
	foreign.New, foreign.Decode = nil, nil
	h := header()
	h.Loops = decision.Loops{decisiontest.Loop, foreign}
	h.Loops[1].FirstSteps = "rm -r ."
	var out bytes.Buffer
	w, err := NewWriter(&out, h)
	if err != nil {
		t.Fatal(err)
	}
	none := &telemetry.Trace{Version: 1, Epoch: "e", Seq: 8, Object: telemetry.Object{Loop: "claim", Name: "b"}, Queued: noon, Started: noon, Ended: noon, Result: telemetry.ResultUnchanged}
	if err := errors.Join(w.Write(none), w.Close()); err != nil {
		t.Fatal(err)
	}
	r, err := NewReader(t.Context(), &out)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(decision.Loops{foreign}, r.Header().Loops, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("loops (-want +got):\n%s", diff)
	}
	if got, err := r.Next(); err != nil || got.Key() != "b" {
		t.Errorf("an object without a namespace: %+v, %v", got, err)
	}
}

func TestFlushedLinesCanBeRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "live.jsonl.gz")
	w, err := Create(path, header())
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if err := errors.Join(w.Write(full(1)), w.Flush()); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	traces, bad, err := readAll(data)
	if len(traces) != 1 || len(bad) != 1 || !errors.Is(bad[0], ErrTruncated) || err != nil {
		t.Errorf("%d traces, bad %v, %v", len(traces), bad, err)
	}
}

func TestHeadersThatAreRefused(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"nothing", "", "it is empty"},
		{"another format", `{"format":"other","v":1}` + "\n", "not a header of a recording"},
		{"no JSON", "hello\n", "loopscope export"},
		{"a trace", `{"v":1,"epoch":"e"}` + "\n", "not a header"},
		{"a newer version", `{"format":"loopscope.traces","v":2}` + "\n", "use a newer Loopscope"},
		{"no version", `{"format":"loopscope.traces"}` + "\n", "version is 0"},
		{"half a line", `{"format":"loopscope.tr`, "not a header"},
		{"gzip of nothing", "\x1f\x8b nonsense", "looks compressed"},
		{"two bytes of gzip", "\x1f\x8b", "looks compressed"},
		{"one byte of gzip", "\x1fx\n", "not a header"},
		{"the other byte of gzip", "x\x8b\n", "not a header"},
		{"a number for a text", `{"format":"loopscope.traces","v":1,"cluster":5}` + "\n", "not a header"},
		{"a path for a loop", `{"format":"loopscope.traces","v":1,"loops":[{"name":"../x","kind":"X"}]}` + "\n", `loop "../x" is not a name`},
		{"no kind", `{"format":"loopscope.traces","v":1,"loops":[{"name":"x"}]}` + "\n", "kind has 0 bytes"},
		{"too many loops", `{"format":"loopscope.traces","v":1,"loops":[` + strings.Repeat(`{"name":"x","kind":"X"},`, MaxLoops) + `{"name":"x","kind":"X"}]}` + "\n", "it declares 65 loops"},
		{"deep", `{"format":` + strings.Repeat("[", 100) + "\n", "nested deeper"},
	} {
		if _, _, err := readAll([]byte(c.text)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want it to say %q", c.name, err, c.want)
		}
	}
	with := `{"format":"loopscope.traces","v":1,"later":"field"}` + "\n"
	if _, _, err := readAll([]byte(with)); err != nil {
		t.Errorf("a field of later was refused: %v", err)
	}
}

func TestBadLinesHaveNumbersAndSpareTheOthers(t *testing.T) {
	good := string(text(t, full(1)))
	head, line, _ := strings.Cut(good, "\n")
	change := func(from, to string) string {
		if !strings.Contains(line, from) {
			t.Fatalf("%q is not in the line", from)
		}
		return strings.Replace(line, from, to, 1)
	}
	for _, c := range []struct{ name, line, want string }{
		{"no JSON", "hello\n", "it is not a trace"},
		{"an unknown field", change(`"worker":1`, `"worker":1,"boss":2`), `unknown field "boss"`},
		{"two traces", strings.TrimSuffix(line, "\n") + line, "text after the trace"},
		{"a newer trace", change(`"v":1`, `"v":2`), "use a newer Loopscope"},
		{"no version", change(`"v":1,`, ``), "no version"},
		{"no number", change(`"seq":1`, `"seq":0`), "no number"},
		{"another loop", change(`"loop":"deployment"`, `"loop":"Job/1"`), `loop "Job/1"`},
		{"another result", change(`"result":"stale"`, `"result":"odd"`), `result "odd"`},
		{"a path for a name", change(`"name":"web"`, `"name":"../web"`), "no name has"},
		{"a dash for a namespace", change(`"namespace":"shop"`, `"namespace":"-"`), "stands for none"},
		{"a blank for a namespace", change(`"namespace":"shop"`, `"namespace":" "`), "no name has"},
		{"a long epoch", change(`7c41d2aa`, strings.Repeat("a", 65)), "epoch has 65 bytes"},
		{"an early year", change(`"started":"2026`, `"started":"0026`), "year 26"},
		{"outcomes of nothing", change(`"outcomes":[`, `"outcomes":[{"state":"written"},`), "round 1 has 2 outcomes of 1 actions"},
		{"deep", change(`"worker":1`, `"worker":`+strings.Repeat("[", 40)), "nested deeper than 32"},
		{"many elements", change(`"worker":1`, `"worker":[`+strings.Repeat("0,", MaxElements)+`0]`), "elements, more than"},
		{"long", `{"x":"` + strings.Repeat("x", MaxLine) + "\"}\n", "longer than the 16 MiB"},
	} {
		traces, bad, err := readAll([]byte(head + "\n" + line + c.line + line))
		if err != nil || len(traces) != 2 || len(bad) != 1 {
			t.Errorf("%s: %d traces, %v, %v", c.name, len(traces), bad, err)
			continue
		}
		if text := bad[0].Error(); !strings.HasPrefix(text, "line 3: ") || !strings.Contains(text, c.want) || !strings.Contains(text, "take the line out") {
			t.Errorf("%s: %q, want %q", c.name, text, c.want)
		}
	}
}

func TestTruncatedEnds(t *testing.T) {
	whole := text(t, full(1), full(2), full(3))
	for name, data := range map[string][]byte{"plain": whole[:len(whole)-40], "packed": zipped(t, whole)} {
		if name == "packed" {
			data = data[:len(data)-40]
		}
		traces, bad, err := readAll(data)
		if err != nil || len(traces) != 2 || len(bad) != 1 || !errors.Is(bad[0], ErrTruncated) || !strings.HasPrefix(bad[0].Error(), "line 4: ") {
			t.Errorf("%s: %d traces, %v, %v", name, len(traces), bad, err)
		}
	}
	if traces, bad, err := readAll(bytes.TrimSuffix(whole, []byte("\n"))); len(traces) != 3 || bad != nil || err != nil {
		t.Errorf("without the last newline: %d traces, %v, %v", len(traces), bad, err)
	}
}

// zeros gives n bytes of a line that never ends.
type zeros struct{ n int64 }

func (z *zeros) Read(p []byte) (int, error) {
	if z.n <= 0 {
		return 0, io.EOF
	}
	z.n -= int64(len(p))
	clear(p)
	return len(p), nil
}

// A small file cannot make a reader unpack for hours.
func TestBombsEnd(t *testing.T) {
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestSpeed)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := z.Write(text(t, full(1))); err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(z, &zeros{n: 40 << 20}); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	traces, bad, err := readAll(b.Bytes())
	if err != nil || len(traces) != 1 || len(bad) != 1 || !strings.Contains(bad[0].Error(), "times as long as the compressed file") {
		t.Errorf("%d traces, %v, %v", len(traces), bad, err)
	}
}

func TestTooLargeTracesAreLeftOut(t *testing.T) {
	var b bytes.Buffer
	w, err := NewWriter(&b, header())
	if err != nil {
		t.Fatal(err)
	}
	large := full(1)
	large.Snapshot = telemetry.SnapshotText(json.RawMessage(`"` + strings.Repeat("x", MaxLine) + `"`))
	if err := w.Write(large); !errors.Is(err, ErrTooLarge) || !strings.Contains(err.Error(), "7c41d2aa/1") {
		t.Errorf("error %v", err)
	}
	if err := errors.Join(w.Write(full(2)), w.Close()); err != nil || w.Count() != 1 {
		t.Errorf("%d written, %v", w.Count(), err)
	}
	if traces, bad, err := readAll(b.Bytes()); len(traces) != 1 || bad != nil || err != nil {
		t.Errorf("%d traces, %v, %v", len(traces), bad, err)
	}
}

// full disk: the error comes out of Flush or Close, and is not swallowed.
type noRoom struct{}

func (noRoom) Write([]byte) (int, error) { return 0, errors.New("no space left on device") }

func TestWriteErrorsAreTold(t *testing.T) {
	w, err := NewWriter(noRoom{}, header())
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Flush(); err == nil || !strings.Contains(err.Error(), "no space left") {
		t.Errorf("flush: %v", err)
	}
	if err := w.Close(); err == nil || !strings.Contains(err.Error(), "no space left") {
		t.Errorf("close: %v", err)
	}
	if w, err = NewWriter(packedNoRoom{}, header()); err != nil {
		t.Fatal(err)
	}
	if err := w.Flush(); err == nil {
		t.Error("what packs the text took the place of the error")
	}
	if _, err := Create(filepath.Join(t.TempDir(), "none", "x"), header()); err == nil {
		t.Error("a file in a directory that is not there was created")
	}
	if _, err := Open(t.Context(), filepath.Join(t.TempDir(), "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}
}

// packedNoRoom has room for what packs the text, and not for the text.
type packedNoRoom struct{ noRoom }

func (packedNoRoom) Flush() error { return nil }

// TestWriteErrorsAreToldAtOnce where what is written does not fit into the buffer.
func TestWriteErrorsAreToldAtOnce(t *testing.T) {
	large := header()
	large.Cluster = strings.Repeat("x", 64<<10)
	if _, err := NewWriter(noRoom{}, large); err == nil {
		t.Error("a header that nobody took is no error")
	}
	w, err := NewWriter(noRoom{}, header())
	if err != nil {
		t.Fatal(err)
	}
	x := full(1)
	x.UID = large.Cluster
	if err := w.Write(x); err == nil || errors.Is(err, ErrTooLarge) || w.Count() != 0 {
		t.Errorf("%d written, %v", w.Count(), err)
	}
}

// TestWhatIsNoJSON: a year that JSON has no text for is an error of the header, or of the
// trace alone.
func TestWhatIsNoJSON(t *testing.T) {
	never := time.Date(10_000, 1, 1, 0, 0, 0, 0, time.UTC)
	if _, err := Create(filepath.Join(t.TempDir(), "x"), Header{Exported: never}); err == nil {
		t.Error("a header without a text was written")
	}
	w, err := NewWriter(io.Discard, header())
	if err != nil {
		t.Fatal(err)
	}
	x := full(1)
	x.Started = never
	if err := w.Write(x); err == nil || w.Count() != 0 {
		t.Errorf("%d written, %v", w.Count(), err)
	}
}

// TestClosing: only a file is closed, once, and that it fails is told.
func TestClosing(t *testing.T) {
	r, err := NewReader(t.Context(), bytes.NewReader(text(t)))
	if err != nil || r.Close() != nil {
		t.Errorf("a recording that is no file: %v", err)
	}
	path := filepath.Join(t.TempDir(), "x.gz")
	w, err := CreateFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(text(t)); err != nil {
		t.Fatal(err)
	}
	if first, second := w.Close(), w.Close(); first != nil || !errors.Is(second, fs.ErrClosed) {
		t.Errorf("written: %v, then %v", first, second)
	}
	if r, err = Open(t.Context(), path); err != nil {
		t.Fatal(err)
	}
	if first, second := r.Close(), r.Close(); first != nil || !errors.Is(second, fs.ErrClosed) {
		t.Errorf("read: %v, then %v", first, second)
	}
	if err := os.WriteFile(path, []byte("no header\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), path); err == nil || !strings.HasPrefix(err.Error(), path) {
		t.Errorf("no recording: %v", err)
	}
}

// TestHowATextEnds: a reader may say more of its end.
func TestHowATextEnds(t *testing.T) {
	whole := text(t, full(1))
	broken := errors.New("broken")
	for name, c := range map[string]struct {
		data      []byte
		end, want error
	}{
		"at the end":             {whole, io.EOF, io.EOF},
		"without a last newline": {bytes.TrimSuffix(whole, []byte("\n")), io.EOF, io.EOF},
		"too early":              {whole, io.ErrUnexpectedEOF, ErrTruncated},
		"not at all":             {whole, broken, broken},
	} {
		r, err := NewReader(t.Context(), io.MultiReader(bytes.NewReader(c.data), iotest.ErrReader(fmt.Errorf("disk: %w", c.end))))
		if err != nil {
			t.Fatal(err)
		}
		_, first := r.Next()
		if _, err := r.Next(); first != nil || !errors.Is(err, c.want) {
			t.Errorf("%s: %v, then %v; want %v", name, first, err, c.want)
		}
	}
	for want, end := range map[string]error{"broken": broken, "it is empty": fmt.Errorf("disk: %w", io.EOF)} {
		if _, err := NewReader(t.Context(), iotest.ErrReader(end)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("nothing can be read: %v, want %q", err, want)
		}
	}
}

// TestLinesAreBounded as they are read, and so is what is written; the next line is whole.
func TestLinesAreBounded(t *testing.T) {
	for size, want := range map[int]error{0: nil, 1: nil, 64 << 10: nil, MaxLine: nil, MaxLine + 1: errLong, MaxLine + 64<<10: errLong} {
		line := bytes.Repeat([]byte("x"), size)
		r := Reader{from: bufio.NewReaderSize(io.MultiReader(bytes.NewReader(line), strings.NewReader("\nnext\n")), 64<<10)}
		if got, err := r.measured(); !errors.Is(err, want) || err == nil && !bytes.Equal(got, line) {
			t.Errorf("%d bytes: read %d, %v", size, len(got), err)
		}
		if got, err := r.measured(); string(got) != "next" || err != nil {
			t.Errorf("after %d bytes: %q, %v", size, got, err)
		}
		if err := measure(line); !errors.Is(err, want) {
			t.Errorf("%d bytes: measured %v", size, err)
		}
	}
	if err := error(&LineError{1, errLong}); !errors.Is(err, errLong) {
		t.Error("what is wrong with a line is not found in its error")
	}
}

// TestMeasure counts what there is outside of strings.
func TestMeasure(t *testing.T) {
	for _, c := range []struct {
		part  string
		times int
		want  string
	}{
		{"[", MaxDepth, ""}, {"[", MaxDepth + 1, "deeper"}, {"{", MaxDepth, ""}, {"{", MaxDepth + 1, "deeper"},
		{"[]", MaxElements, ""}, {"{}", MaxElements, ""}, {"{}", MaxElements + 1, "elements"}, {"[]", MaxElements + 1, "elements"},
		{",", MaxElements, ""}, {",", MaxElements + 1, "elements"}, {"0", MaxElements + 1, ""},
		{`"[`, MaxDepth + 1, ""}, {`"["`, MaxDepth + 1, ""}, {`"\"[" `, 2*MaxDepth + 2, ""},
		{`"\\"[`, MaxDepth, ""}, {`"\\"[`, MaxDepth + 1, "deeper"}, {`\[`, MaxDepth + 1, "deeper"},
	} {
		if err := measure([]byte(strings.Repeat(c.part, c.times))); (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%d times %s: %v, want %q", c.times, c.part, err, c.want)
		}
	}
}

// TestBombsEndByTheirRatio, from some length on.
func TestBombsEndByTheirRatio(t *testing.T) {
	for name, c := range map[string]struct {
		n, packed int64
		ends      bool
	}{
		"short enough":       {ratioFrom, 0, false},
		"too much":           {ratioFrom + 1, 0, true},
		"just the ratio":     {ratioFrom + maxRatio, ratioFrom/maxRatio + 1, false},
		"more than it":       {ratioFrom + 2*maxRatio, ratioFrom/maxRatio + 1, true},
		"less than all that": {ratioFrom + maxRatio, ratioFrom, false},
	} {
		b := bounded{from: &zeros{n: 9}, packed: &counted{n: c.packed}, n: c.n}
		if _, err := b.Read(make([]byte, 1)); (err != nil) != c.ends {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestBoundsOfATrace are exact.
func TestBoundsOfATrace(t *testing.T) {
	year := func(y int) time.Time { return time.Date(y, 6, 1, 0, 0, 0, 0, time.UTC) }
	for name, c := range map[string]struct {
		change func(x *telemetry.Trace)
		want   string
	}{
		"as it is":             {func(*telemetry.Trace) {}, ""},
		"the longest epoch":    {func(x *telemetry.Trace) { x.Epoch = strings.Repeat("e", maxEpoch) }, ""},
		"the longest name":     {func(x *telemetry.Trace) { x.Name = strings.Repeat("n", maxName) }, ""},
		"a longer name":        {func(x *telemetry.Trace) { x.Name = strings.Repeat("n", maxName+1) }, "its name has 254 bytes"},
		"no name":              {func(x *telemetry.Trace) { x.Name = "" }, "its name has 0 bytes"},
		"no text":              {func(x *telemetry.Trace) { x.Namespace = "a\xff" }, "its namespace is not UTF-8"},
		"a blank":              {func(x *telemetry.Trace) { x.Epoch = "a b" }, `its epoch "a b" holds`},
		"a hidden character":   {func(x *telemetry.Trace) { x.Epoch = "a\u202e" }, "its epoch"},
		"the first year":       {func(x *telemetry.Trace) { x.Started = year(1970) }, ""},
		"the year before":      {func(x *telemetry.Trace) { x.Started = year(1969) }, "its started is in the year 1969"},
		"the last year":        {func(x *telemetry.Trace) { x.Ended = year(9000) }, ""},
		"the year after":       {func(x *telemetry.Trace) { x.Ended = year(9001) }, "its ended is in the year 9001"},
		"as many rounds":       {func(x *telemetry.Trace) { x.Rounds = make([]decision.Round, maxRounds) }, ""},
		"more rounds":          {func(x *telemetry.Trace) { x.Rounds = make([]decision.Round, maxRounds+1) }, "it has 17 rounds"},
		"outcomes of nothing":  {func(x *telemetry.Trace) { x.Rounds[1].Outcomes = x.Rounds[0].Outcomes }, "round 2 has 1 outcomes of 0 actions"},
		"actions not yet done": {func(x *telemetry.Trace) { x.Rounds[0].Outcomes = nil }, ""},
	} {
		x := full(1)
		c.change(x)
		if err := check(x); (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

// FuzzRead proves that whatever a file holds, reading it ends, and that every
// trace that comes out can be written and read again as the same one.
func FuzzRead(f *testing.F) {
	const head, small = `{"format":"loopscope.traces","v":1}` + "\n", `{"v":1,"epoch":"e","seq":1,"loop":"replicaset","namespace":"a","name":"b","started":"2026-01-01T00:00:00Z","ended":"2026-01-01T00:00:00Z","result":"wrote"}`
	f.Add([]byte(head + small + "\n" + small))
	f.Add([]byte(head + strings.Replace(small, `"seq":1`, `"seq":2,"snapshot":{ "a":"<>"},"rounds":[{"verdict":{"path":[{"q":"Q","answer":"no","facts":[{"name":"n","value":1},{"name":"d","kind":"duration","value":5}]}]}}]`, 1)))
	f.Add(zipped(f, []byte(head+small)))
	f.Add(zipped(f, []byte(head+small+"\n"+small))[:100])
	f.Add([]byte(head + small[:60]))
	f.Add([]byte(head + "\r\n[[[[\n" + strings.Repeat("[", 40)))
	f.Fuzz(func(t *testing.T, data []byte) {
		traces, _, err := readAll(data)
		if err != nil {
			return
		}
		again, bad, err := readAll(text(t, traces...))
		if err != nil || bad != nil {
			t.Fatalf("written again: %v, %v", bad, err)
		}
		if diff := cmp.Diff(traces, again, same...); diff != "" {
			t.Fatal(diff)
		}
	})
}

// TestBlankLinesCostNothing: no trace, no error and no memory comes of them.
func TestBlankLinesCostNothing(t *testing.T) {
	blank := zipped(t, append(text(t, full(1)), strings.Repeat("\n", 1<<20)+" \t\r\n"...))
	allocated := testing.AllocsPerRun(1, func() {
		if traces, bad, err := readAll(blank); len(traces) != 1 || bad != nil || err != nil {
			t.Fatalf("%d traces, %d bad lines, %v", len(traces), len(bad), err)
		}
	})
	if allocated > 5000 {
		t.Errorf("%d blank lines make %.0f allocations", 1<<20, allocated)
	}
}

// TestManyBadLinesEndTheReading, and those before them are read.
func TestManyBadLinesEndTheReading(t *testing.T) {
	for extra, ends := range map[int]bool{0: false, 1: true} {
		traces, bad, err := readAll(append(text(t, full(1)), strings.Repeat("x\n", MaxBadLines+extra)...))
		if len(traces) != 1 || len(bad) != MaxBadLines+extra || err != nil || errors.Is(bad[len(bad)-1], ErrBadLines) != ends {
			t.Errorf("%d bad lines: %d traces, %d errors, %v", MaxBadLines+extra, len(traces), len(bad), err)
		}
	}
}

// TestReadingEndsWithItsContext, also within a line that has no end.
func TestReadingEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	r, err := NewReader(ctx, io.MultiReader(bytes.NewReader(text(t, full(1))), endless(cancel)))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Next(); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Next(); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

// endless never ends a line, and calls this while it is read.
type endless func()

func (e endless) Read(p []byte) (int, error) {
	e()
	clear(p)
	return len(p), nil
}
