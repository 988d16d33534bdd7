package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/loopscope/loopscope/cmd/internal/app"
	"github.com/loopscope/loopscope/controllers/deployment"
	"github.com/loopscope/loopscope/controllers/replicaset"
	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/decision"
	"github.com/loopscope/loopscope/telemetry/history"
	"github.com/loopscope/loopscope/telemetry/tracefile"
)

var night = time.Date(2026, 11, 21, 3, 2, 24, 0, time.UTC)

// syncOf is the sync that the real rules make of a stuck rollout then.
func syncOf(t *testing.T, epoch string, seq uint64, now time.Time) *telemetry.Trace {
	t.Helper()
	return decided(t, stuck(now), epoch, seq)
}

// decided is the sync that the real rules make of a snapshot.
func decided(t *testing.T, s *deployment.Snapshot, epoch string, seq uint64) *telemetry.Trace {
	t.Helper()
	now := s.Now
	raw, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	x := decision.Sync{Core: deployment.NewSync(s)}
	x.Run(decision.Nobody)
	told := x.Tell(decision.Try{}, now)
	return &telemetry.Trace{
		Version: telemetry.TraceVersion, Epoch: epoch, Seq: seq, Object: telemetry.Object{Loop: "deployment", Namespace: "shop", Name: "web"}, UID: "d",
		Causes: []telemetry.Cause{}, Queued: now, Started: now, Ended: now.Add(time.Millisecond), Rounds: x.Rounds, Report: x.Report, Numbers: told.Numbers,
		Sentence: told.Sentence, Result: telemetry.ResultUnchanged, Snapshot: telemetry.SnapshotText(raw),
	}
}

// podSync is a sync of a ReplicaSet that asked for a pod.
func podSync(t *testing.T, epoch string, seq uint64, now time.Time) *telemetry.Trace {
	t.Helper()
	s := &replicaset.Snapshot{Version: 1, Now: now, Kind: "ReplicaSet", Found: true, Namespace: "shop", Name: "web-new", UID: "n", RV: "8", Want: 1, Burst: 500, Selector: "app=web"}
	raw, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	refused := decision.Outcome{State: decision.Refused, Failed: 1, Failure: &decision.Failure{Code: 403, Reason: "Forbidden", Message: "exceeded quota: pods"}}
	x := decision.Sync{Core: replicaset.NewSync(s)}
	x.Run(func(decision.Verdict) ([]decision.Outcome, decision.Learnt) {
		return []decision.Outcome{refused}, decision.Learnt{}
	})
	told := x.Tell(decision.Try{}, now)
	return &telemetry.Trace{
		Version: telemetry.TraceVersion, Epoch: epoch, Seq: seq, Object: telemetry.Object{Loop: "replicaset", Namespace: "shop", Name: "web-new"}, UID: "n", Owner: "web",
		Causes: []telemetry.Cause{}, Queued: now, Started: now, Ended: now.Add(time.Millisecond), Rounds: x.Rounds, Report: x.Report, Numbers: told.Numbers,
		Sentence: told.Sentence, Result: telemetry.ResultFailed, Failure: refused.Failure, Snapshot: telemetry.SnapshotText(raw),
	}
}

// nightly is a history of one night, with two runs of the process.
func nightly(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "history.db")
	store, err := history.Open(path, history.Options{Clock: func() time.Time { return night.Add(time.Hour) }})
	if err != nil {
		t.Fatal(err)
	}
	traces := []*telemetry.Trace{syncOf(t, "aaaa", 311, night), podSync(t, "aaaa", 312, night.Add(time.Second)), syncOf(t, "bbbb", 1, night.Add(time.Minute)), syncOf(t, "bbbb", 7, night.Add(2*time.Minute))}
	if err := store.Add(t.Context(), traces...); err != nil {
		t.Fatal(err)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

// recordingOf is a recording of that night.
func recordingOf(t *testing.T, args ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "night.jsonl.gz")
	if _, err := run(t, append([]string{"export", "--history", nightly(t), "-o", path}, args...)...); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestReplayOfAnExport(t *testing.T) {
	out, err := run(t, "replay", recordingOf(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"deployment      3           0          0               0", "replicaset      1           0          0               0", "all      4           0          0               0", "4 syncs in ", "syncs/s"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	if out, err := run(t, "replay", "--limit", "2", recordingOf(t)); err != nil || !strings.Contains(out, "2 syncs in ") {
		t.Errorf("with a limit: %v\n%s", err, out)
	}
}

// A sync that comes out differently is named with both values, and so is a line
// that cannot be read; the rest is replayed all the same.
func TestReplayFindsWhatChanged(t *testing.T) {
	var b bytes.Buffer
	w, err := tracefile.NewWriter(&b, tracefile.Header{})
	if err != nil {
		t.Fatal(err)
	}
	changed := syncOf(t, "aaaa", 312, night)
	changed.Rounds[0].Verdict.Path[6].Answer = "maybe"
	blind := syncOf(t, "aaaa", 313, night)
	blind.Snapshot, blind.Rounds, blind.Report = telemetry.Snapshot{}, nil, nil
	for _, x := range []*telemetry.Trace{syncOf(t, "aaaa", 311, night), changed, blind} {
		if err := w.Write(x); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	b.WriteString("hello\n" + `{"v":1,"epoch"`)
	path := filepath.Join(t.TempDir(), "odd.jsonl")
	if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := run(t, "replay", path)
	if err == nil || !strings.Contains(err.Error(), "1 sync came out differently") || !strings.Contains(err.Error(), "2 lines could not be read") {
		t.Errorf("error %v", err)
	}
	for _, want := range []string{
		"different: deployment shop/web, sync aaaa/312: rounds[0].verdict.path[6].answer: recorded maybe, now no",
		"1 not replayable: the sync failed before it observed anything", "not read: " + path + ": line 5: it is not a trace", "line 6: the recording ends in the middle",
		"deployment      1           0          1               1",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
}

// damaged is a recording of three lines, of which the second is none.
func damaged(t *testing.T) string {
	t.Helper()
	var b bytes.Buffer
	w, err := tracefile.NewWriter(&b, tracefile.Header{})
	if err != nil {
		t.Fatal(err)
	}
	for seq := range uint64(2) {
		if err := errors.Join(w.Write(syncOf(t, "aaaa", 311+seq, night)), w.Flush()); err != nil {
			t.Fatal(err)
		}
		if seq == 0 {
			b.WriteString("hello\n")
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// One line that cannot be read is read around by both, and counted.
func TestReadAroundADamagedLine(t *testing.T) {
	text := damaged(t)
	path := filepath.Join(t.TempDir(), "damaged.jsonl")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := run(t, "replay", path)
	if err == nil || err.Error() != "replay: 1 line could not be read" || !strings.Contains(out, "2 syncs in ") {
		t.Errorf("%v\n%s", err, out)
	}
	a, err := app.NewView(t.Context(), app.ViewOptions{File: path, Listen: "127.0.0.1:0", Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer a.Stop(t.Context())
	if body := page(t, a.URL()+"/deployments/shop/web/syncs/aaaa/312"); !strings.Contains(body, "1 line of its file could not be read, and is left out: line 3: it is not a trace") {
		t.Errorf("the page does not say that a line is missing:\n%s", body)
	}
}

// A recording may come from another program.
func TestReplayFromStandardInput(t *testing.T) {
	text, err := os.ReadFile(recordingOf(t))
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	root := newRoot(streams{out: &out, err: io.Discard})
	root.SetIn(bytes.NewReader(text))
	root.SetArgs([]string{"replay", "-"})
	if err := root.ExecuteContext(t.Context()); err != nil || !strings.Contains(out.String(), "4 syncs in ") {
		t.Errorf("%v\n%s", err, &out)
	}
}

// Lines that cannot be read do not end a file, however long they are together: it ends where
// more of them come than are taken for damage.
func TestReplayReadsOnAfterLongBadLines(t *testing.T) {
	var b bytes.Buffer
	w, err := tracefile.NewWriter(&b, tracefile.Header{})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	bad := strings.Repeat("x", replayBytes/2)
	for range 3 {
		b.WriteString(bad + "\n")
	}
	if err := w.Write(syncOf(t, "aaaa", 311, night)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "odd.jsonl")
	if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := run(t, "replay", path)
	if err == nil || !strings.Contains(err.Error(), "3 lines could not be read") || !strings.Contains(out, "1 sync in ") {
		t.Errorf("%v\n%s", err, out)
	}
}

// An export of a loop that nobody has is an error, and leaves no file; one of a loop without
// syncs is an empty recording.
func TestExportOfNoLoop(t *testing.T) {
	file, to := nightly(t), filepath.Join(t.TempDir(), "none.jsonl")
	_, err := run(t, "export", "--history", file, "--loop", "deplyoment", "-o", to)
	if want := `no sync of a loop "deplyoment" is kept; loops are deployment, replicaset, replicationcontroller and rollingupdate, and those that another program has recorded`; err == nil || err.Error() != want {
		t.Errorf("a loop that nobody has: %v, want %s", err, want)
	}
	if _, err := os.Stat(to); !os.IsNotExist(err) {
		t.Errorf("a file was left: %v", err)
	}
	if _, err := run(t, "export", "--history", file, "--loop", "rc", "-o", to); err != nil {
		t.Errorf("a loop without syncs: %v", err)
	}
}

func TestExportChooses(t *testing.T) {
	file := nightly(t)
	for _, c := range []struct {
		args []string
		want []string
	}{
		{nil, []string{"aaaa/311", "aaaa/312", "bbbb/1", "bbbb/7"}},
		{[]string{"--loop", "replicaset"}, []string{"aaaa/312"}},
		{[]string{"--name", "web", "--namespace", "shop", "--since", "2026-11-21T03:03:00Z"}, []string{"bbbb/1", "bbbb/7"}},
		{[]string{"--until", "2026-11-21T03:02:25Z", "--limit", "5"}, []string{"aaaa/311"}},
		{[]string{"--limit", "1"}, []string{"aaaa/311"}},
		{[]string{"--name", "none"}, nil},
	} {
		out, err := run(t, append([]string{"export", "--history", file}, c.args...)...)
		if err != nil {
			t.Fatal(err)
		}
		r, err := tracefile.NewReader(t.Context(), strings.NewReader(out))
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for x, err := r.Next(); err != io.EOF; x, err = r.Next() {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, permalink(x))
		}
		if strings.Join(got, " ") != strings.Join(c.want, " ") {
			t.Errorf("%v: %v, want %v", c.args, got, c.want)
		}
	}
}

func permalink(x *telemetry.Trace) string {
	raw, _ := json.Marshal(x.Seq)
	return x.Epoch + "/" + string(raw)
}

// A console on a recording shows the newest run or the one that is asked for,
// under the addresses of before, and can be exported from itself.
func TestView(t *testing.T) {
	path := recordingOf(t)
	for _, c := range []struct{ epoch, page, says, others string }{
		{"", "/deployments/shop/web/syncs/bbbb/7", "Sync 7 of", "aaaa (2 syncs"},
		{"aaaa", "/deployments/shop/web/syncs/aaaa/311", "Sync 311 of", "bbbb (2 syncs"},
	} {
		a, err := app.NewView(t.Context(), app.ViewOptions{File: path, Epoch: c.epoch, Listen: "127.0.0.1:0", Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		if err := a.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{c.says, c.others, "recording", "not live"} {
			if body := page(t, a.URL()+c.page); !strings.Contains(body, want) {
				t.Errorf("%s does not say %q", c.page, want)
			}
		}
		if body := page(t, a.URL()+"/deployments"); !strings.Contains(body, "cannot pull") || !strings.Contains(body, `"deployments/shop/web"`) {
			t.Errorf("the overview does not show what is stuck:\n%s", body)
		}
		out, err := run(t, "export", "--server", a.URL(), "--loop", "deployment")
		if err != nil || strings.Count(out, "\n") < 2 || !strings.Contains(out, `"epoch":"`+c.page[len("/deployments/shop/web/syncs/"):][:4]) {
			t.Errorf("exported %q, %v", out, err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		if err := a.Stop(ctx); err != nil {
			t.Error(err)
		}
		cancel()
	}
}

func page(t *testing.T, url string) string {
	t.Helper()
	res, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s, %v", url, res.Status, err)
	}
	return string(body)
}

// The command serves until it is told to stop.
func TestViewStops(t *testing.T) {
	path := recordingOf(t)
	ctx, cancel := context.WithCancel(t.Context())
	reader, writer := io.Pipe()
	root := newRoot(streams{out: writer, err: io.Discard})
	root.SetArgs([]string{"view", path, "--listen", "127.0.0.1:0"})
	ended := make(chan error, 1)
	go func() { ended <- root.ExecuteContext(ctx) }()
	line := make([]byte, 200)
	n, err := reader.Read(line)
	if err != nil || !strings.HasPrefix(string(line[:n]), "recording: http://127.0.0.1:") {
		t.Errorf("said %q, %v", line[:n], err)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestExplainThePast(t *testing.T) {
	file := nightly(t)
	out, err := run(t, "explain", "deployment/web", "-n", "shop", "--at", "2026-11-21T03:04:00Z", "--history", file)
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "testdata/explain-at.txt", []byte(out))
	out, err = run(t, "explain", "--sync", "aaaa/312", "--history", file)
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "testdata/explain-sync.txt", []byte(out))
	out, err = run(t, "explain", "--sync", "aaaa/311", "--history", file, "-o", "json")
	var said struct {
		Text  string `json:"text"`
		Epoch string `json:"epoch"`
		Seq   uint64 `json:"seq"`
	}
	if err != nil || json.Unmarshal([]byte(out), &said) != nil || said.Epoch != "aaaa" || said.Seq != 311 || !strings.HasPrefix(said.Text, "shop/web was waiting: ") {
		t.Errorf("%v, %+v", err, said)
	}
}

func TestPastErrorsSayWhatToDo(t *testing.T) {
	file := nightly(t)
	text := filepath.Join(t.TempDir(), "text.jsonl")
	if err := os.WriteFile(text, []byte("hello\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	for _, c := range []struct {
		args []string
		want []string
	}{
		{[]string{"explain", "deployment/web", "-n", "shop", "--at", "2026-11-21T03:00:00Z", "--history", file}, []string{"no sync of deployment shop/web is kept", "its oldest that is kept started at 2026-11-21T03:02:24Z"}},
		{[]string{"explain", "deployment/web", "--at", "2026-11-21T03:03:00Z", "--history", file}, []string{"default/web", "-n", "oldest sync that it keeps started at 2026-11-21T03:02:24Z"}},
		{[]string{"explain", "sts/web", "-n", "shop", "--at", "2026-11-21T03:03:00Z", "--history", file}, []string{"no sync of sts shop/web is kept that had started at 2026-11-21T03:03:00Z, nor any other of that kind: give deployment, "}},
		{[]string{"explain", "deployment/none", "-n", "shop", "--at", "2026-11-21T03:03:00Z", "--history", file}, []string{"nor any other of it; the oldest sync that it keeps started at "}},
		{[]string{"explain", "rc/none", "-n", "shop", "--at", "2026-11-21T03:03:00Z", "--history", file}, []string{"no sync of rc shop/none", "nor any other of it; the oldest"}},
		{[]string{"explain", "--sync", "aaaa/9", "--history", file}, []string{"sync aaaa/9 is not kept in " + file, "2026-11-21T03:02:24Z"}},
		{[]string{"explain", "--sync", "nine", "--history", file}, []string{"EPOCH/NUMBER"}},
		{[]string{"explain", "deployment/web", "--sync", "aaaa/9"}, []string{"omit the object"}},
		{[]string{"explain", "deployment/web", "--at", "then", "--history", file}, []string{"--at", "is not a time"}},
		{[]string{"explain", "deployment/web", "--at", "then"}, []string{"--at", "is not a time"}},
		{[]string{"explain", "deployment", "--at", "3m"}, []string{"which Deployment?"}},
		{[]string{"explain", "--at", "3m", "--sync", "a/1"}, []string{"one of them"}},
		{[]string{"export", "--since", "then"}, []string{"--since", "is not a time"}},
		{[]string{"export", "--limit", "-1"}, []string{"--limit"}},
		{[]string{"export", "--server", "x", "--history", "y"}, []string{"one of them"}},
		{[]string{"export", "--server", "here"}, []string{"is not an address"}},
		{[]string{"export", "--server", "http://127.0.0.1:1"}, []string{"ask the console", "--history"}},
		{[]string{"export", "--history", file, "-o", text}, []string{"is there already"}},
		{[]string{"replay", filepath.Join(t.TempDir(), "none")}, []string{"open recording"}},
		{[]string{"replay", text}, []string{text, "loopscope export"}},
		{[]string{"replay", "--limit", "-1", text}, []string{"--limit"}},
		{[]string{"view", text}, []string{text, "loopscope export"}},
		{[]string{"view", recordingOf(t), "--epoch", "cccc"}, []string{`nothing of epoch "cccc"`, "aaaa (2 syncs, up to 2026-11-21 03:02:25)"}},
		{[]string{"view", recordingOf(t), "--listen", "0.0.0.0:0"}, []string{"loopback"}},
		{[]string{"view", recordingOf(t, "--name", "none")}, []string{"holds no syncs"}},
	} {
		_, err := run(t, c.args...)
		if err == nil {
			t.Errorf("%v: no error", c.args)
			continue
		}
		for _, want := range c.want {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%v: error %q does not say %q", c.args, err, want)
			}
		}
	}
}
