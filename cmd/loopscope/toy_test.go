package main

import (
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/loopscope/loopscope/cmd/internal/app"
	"github.com/loopscope/loopscope/controllers"
	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/decision"
	"github.com/loopscope/loopscope/telemetry/decision/decisiontest"
	"github.com/loopscope/loopscope/telemetry/history"
	"github.com/loopscope/loopscope/telemetry/metrics"
	"github.com/loopscope/loopscope/telemetry/tracefile"
)

// claimSync is a sync of the loop that the program does not have.
func claimSync(t *testing.T, seq uint64, s decisiontest.Claim) *telemetry.Trace {
	t.Helper()
	text, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	x := &telemetry.Trace{Version: telemetry.TraceVersion, Epoch: "aaaa", Seq: seq, Object: telemetry.Object{Loop: "claim", Namespace: "shop", Name: s.Name},
		Queued: s.Now, Started: s.Now, Ended: s.Now.Add(time.Millisecond), Result: telemetry.ResultUnchanged, Snapshot: telemetry.SnapshotText(text),
		Causes: []telemetry.Cause{{Kind: telemetry.CauseModified, At: s.Now, Object: "Claim " + s.Name, OldRV: "6", NewRV: "7"}}}
	sync := decision.Sync{Core: s.Begin()}
	sync.Run(decision.Nobody)
	x.Rounds, x.Report = sync.Rounds, sync.Report
	told := sync.Tell(x.Try, s.Now)
	x.Numbers, x.Sentence = told.Numbers, told.Sentence
	return x
}

// claims are a history file with three syncs of that loop in it, and those.
func claims(t *testing.T) (file string, traces []*telemetry.Trace) {
	t.Helper()
	for i, s := range []decisiontest.Claim{{Name: "disk", Bound: true, Size: 3}, {Name: "disk", Size: 4}, {Name: "tape", Bound: true, Size: 1}} {
		s.Namespace = "shop"
		s.Now = night.Add(time.Duration(i) * time.Minute)
		traces = append(traces, claimSync(t, uint64(i+1), s))
	}
	file = filepath.Join(t.TempDir(), "history.db")
	store, err := history.Open(file, history.Options{Clock: func() time.Time { return night.Add(time.Hour) }})
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Add(t.Context(), traces...); err != nil {
		t.Fatal(err)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	return file, traces
}

// TestToyLoop: one line registers a loop, and with it every command, metric and page
// knows it; without that line none does, and its syncs can still be read.
func TestToyLoop(t *testing.T) {
	for name, c := range map[string]struct {
		register bool
		replayed string
		question string
		status   int // of the pages that only a declared loop has
	}{
		"registered":     {true, "claim      3           0          0               0", "Is its volume bound?", http.StatusOK},
		"not registered": {false, "claim      0           0          0               3", "C-1", http.StatusNotFound},
	} {
		t.Run(name, func(t *testing.T) {
			if c.register {
				before := controllers.Loops
				controllers.Loops = append(slices.Clone(before), decisiontest.Loop)
				t.Cleanup(func() { controllers.Loops = before })
			}
			file, traces := claims(t)
			recording := filepath.Join(t.TempDir(), "claims.jsonl")
			says := func(want string, args ...string) {
				t.Helper()
				if out, err := run(t, args...); err != nil || !strings.Contains(out, want) {
					t.Errorf("%v: %v, no %q in\n%s", args, err, want, out)
				}
			}
			says("", "export", "--history", file, "--loop", "claim", "-o", recording)
			says(c.replayed, "replay", recording)
			at := night.Add(90 * time.Second).Format(time.RFC3339)
			says("shop/disk was waiting: its volume is not bound.", "explain", "claim/disk", "-n", "shop", "--at", at, "--history", file)
			says(c.question, "explain", "claim/disk", "-n", "shop", "--at", at, "--history", file)
			if out, err := run(t, "decisions", "claim"); (err == nil) != c.register || c.register && !strings.Contains(out, "Is its volume bound?") {
				t.Errorf("decisions: %v\n%s", err, out)
			}
			server := viewOf(t, recording)
			says("Its volume is not bound.", "top", "-A", "--loop", "claim", "--server", server)
			says("its volume is not bound", "story", "claim/disk", "-n", "shop", "--server", server)
			for path, status := range map[string]int{"/claims": 200, "/claims/shop/disk": 200, "/claims/shop/disk/story": 200, "/decisions/claim": c.status, "/reasons/unbound": c.status} {
				if got := statusOf(t, server+path); got != status {
					t.Errorf("%s: %d, want %d", path, got, status)
				}
			}
			counted(t, traces, c.register)
		})
	}
}

// TestRecordingDeclaresItsLoops: what another program recorded has its kind, questions and
// reasons here, and is not decided again.
func TestRecordingDeclaresItsLoops(t *testing.T) {
	foreign := decisiontest.Loop
	foreign.New, foreign.Decode = nil, nil
	_, traces := claims(t)
	recording := filepath.Join(t.TempDir(), "foreign.jsonl")
	to, err := tracefile.Create(recording, tracefile.Header{Loops: decision.Loops{foreign}})
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range traces {
		if err := to.Write(x); err != nil {
			t.Fatal(err)
		}
	}
	if err := to.Close(); err != nil {
		t.Fatal(err)
	}
	server := viewOf(t, recording)
	for path, want := range map[string]string{
		"/claims": "1 Claim is waiting.", "/claims/shop/disk": "Is its volume bound?", "/decisions/claim": "Is its volume bound?", "/reasons/unbound": "Look at the provisioner.",
		"/about": "Syncs of Claims can be read, and not decided again: their rules are not known here.",
	} {
		if status, page := pageOf(t, server+path); status != http.StatusOK || !strings.Contains(page, want) {
			t.Errorf("%s: %d, no %q in\n%s", path, status, want, page)
		}
	}
	if out, err := run(t, "replay", recording); err != nil || !strings.Contains(out, "claim      0           0          0               3") {
		t.Errorf("replay: %v\n%s", err, out)
	}
}

func viewOf(t *testing.T, recording string) (url string) {
	t.Helper()
	program, err := app.NewView(t.Context(), app.ViewOptions{File: recording, Listen: "127.0.0.1:0", Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	if err := program.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = program.Stop(t.Context()) })
	return program.URL()
}

func statusOf(t *testing.T, url string) int {
	t.Helper()
	status, _ := pageOf(t, url)
	return status
}

func pageOf(t *testing.T, url string) (status int, page string) {
	t.Helper()
	res, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(body)
}

// counted: the syncs of the loop are counted; one that is registered is there before its first.
func counted(t *testing.T, traces []*telemetry.Trace, registered bool) {
	t.Helper()
	registry := prometheus.NewRegistry()
	m, err := metrics.New(registry, metrics.Options{Loops: controllers.Loops})
	if err != nil {
		t.Fatal(err)
	}
	if series(t, registry) > 0 != registered {
		t.Errorf("registered: %v, and before its first sync %d series name the loop", registered, series(t, registry))
	}
	for _, x := range traces {
		m.Observe(x)
	}
	if series(t, registry) == 0 {
		t.Error("no series names the loop")
	}
}

// series is how many series have the loop for one of their labels.
func series(t *testing.T, g prometheus.Gatherer) (n int) {
	t.Helper()
	families, err := g.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		for _, s := range f.GetMetric() {
			for _, l := range s.GetLabel() {
				if l.GetValue() == "claim" {
					n++
				}
			}
		}
	}
	return n
}
