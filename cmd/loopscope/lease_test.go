package main

import (
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/decision"
	"github.com/loopscope/loopscope/telemetry/history"
	"github.com/loopscope/loopscope/telemetry/tracefile"
)

// leaseSync is a sync of the election: this process has found that nobody holds the Lease.
func leaseSync(seq uint64, now time.Time) *telemetry.Trace {
	var path decision.Path
	path.Ask("M-2.reachable", true, decision.Text("lease", "kube-system/loopscope-manager"))
	path.Ask("M-3.held", false)
	return &telemetry.Trace{
		Version: telemetry.TraceVersion, Epoch: "aaaa", Seq: seq, Object: telemetry.Object{Loop: "lease", Namespace: "kube-system", Name: "loopscope-manager"},
		Causes: []telemetry.Cause{}, Queued: now, Started: now, Ended: now, Result: telemetry.ResultUnchanged, Report: &decision.Report{},
		Rounds: []decision.Round{{Verdict: decision.Verdict{Path: path}}},
		Sentence: decision.Sentence{Namespace: "kube-system", Object: "loopscope-manager", Verb: "is", State: "waiting", Lead: decision.Words{}.Say("nobody holds it"),
			Tone: decision.ToneWaiting, Code: "nobody-leads"},
	}
}

// The Lease's syncs in a manager's history are told and viewed in words, as its console has them, also from
// a recording that does not declare the loop.
func TestLeaseInHistory(t *testing.T) {
	dir := t.TempDir()
	file, exported, bare := filepath.Join(dir, "history.db"), filepath.Join(dir, "exported.jsonl"), filepath.Join(dir, "bare.jsonl")
	traces := []*telemetry.Trace{syncOf(t, "aaaa", 1, night), leaseSync(2, night.Add(time.Second))}
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
	if out, err := run(t, "explain", "--sync", "aaaa/2", "--history", file); err != nil || !strings.Contains(out, "Does anybody hold it?") {
		t.Errorf("explain: %v\n%s", err, out)
	}
	if _, err := run(t, "export", "--history", file, "-o", exported); err != nil {
		t.Fatal(err)
	}
	declares(t, exported, "lease", "comparison")
	w, err := tracefile.Create(bare, tracefile.Header{})
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
	for _, recording := range []string{exported, bare} {
		server := viewOf(t, recording)
		for path, want := range map[string]string{
			"/decisions/lease": "Does anybody hold it?", "/leases/kube-system/loopscope-manager": "Does anybody hold it?", "/reasons/nobody-leads": "Each manager tries to take it.",
			"/about": "Syncs of Leases can be read, and not decided again",
		} {
			if status, page := pageOf(t, server+path); status != http.StatusOK || !strings.Contains(page, want) {
				t.Errorf("%s: %s: %d, no %q in\n%s", recording, path, status, want, page)
			}
		}
		if _, page := pageOf(t, server+"/deployments"); strings.Contains(page, `href="leases"`) || !strings.Contains(page, `href="rollingupdates"`) {
			t.Errorf("%s: the navigation has a list of Leases:\n%s", recording, page)
		}
	}
}

// declares checks which loops a recording's header has.
func declares(t *testing.T, recording string, want ...string) {
	t.Helper()
	r, err := tracefile.Open(t.Context(), recording)
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(r.Header().Loops.Names(), " "); got != strings.Join(want, " ") {
		t.Errorf("it declares %s, want %s", got, strings.Join(want, " "))
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
}
