package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/loopscope/loopscope/controllers/decision"
	"github.com/loopscope/loopscope/controllers/deployment"
	"github.com/loopscope/loopscope/controllers/safetext"
	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/history"
	"github.com/loopscope/loopscope/telemetry/tracefile"
)

// evil is what an image may hold: it renames a terminal's window, clears it, forges a
// line, and turns the reading direction around.
const evil = "nginx:\x1b]0;PWNED\x07\x1b[2J\nFORGED ok\r\u009b2J\u202eb\u200bc\u061cd\u2028e\U000e0041f"

// hostileSync is a sync of before anything was cleaned, which nobody can rule out in a file.
func hostileSync(t *testing.T) *telemetry.Trace {
	t.Helper()
	x := syncOf(t, "aaaa", 311, night)
	s := stuck(night)
	s.Images = []string{evil}
	pod := &s.ReplicaSets[len(s.ReplicaSets)-1].Blocking[0]
	pod.Image, pod.Message = evil, evil
	s.Changed = &deployment.TemplateChange{From: "1", To: "2", Fields: []decision.Change{{Field: "imagePullSecrets[" + evil + "]", From: evil, To: evil}}}
	raw, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	x.Snapshot = telemetry.SnapshotText(raw)
	x.Sentence.Lead = decision.Words{}.Say("it pulls ").Quote(evil)
	x.Rounds[0].Verdict.Path[6].Answer = evil
	x.Causes = []telemetry.Cause{{Kind: telemetry.CauseModified, At: night, Object: evil, Manager: evil, Fields: []decision.Change{{Field: evil, From: evil, To: evil}}}}
	return x
}

// TestNothingHiddenIsPrinted: whatever stands in a recording or in the answer of a
// console, no command prints a character that is not for reading, and nothing passes for
// a line of its own.
func TestNothingHiddenIsPrinted(t *testing.T) {
	dir := t.TempDir()
	path, kept := filepath.Join(dir, "evil.jsonl"), filepath.Join(dir, "history.db")
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	w, err := tracefile.NewWriter(file, tracefile.Header{})
	if err != nil {
		t.Fatal(err)
	}
	x := hostileSync(t)
	if err := w.Write(x); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	store, err := history.Open(kept, history.Options{Clock: func() time.Time { return night.Add(time.Hour) }})
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Add(t.Context(), x); err != nil {
		t.Fatal(err)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	console := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		story := telemetry.Story{Text: evil, Began: night, Beats: []telemetry.Beat{{At: night, Kind: telemetry.BeatChange, Object: evil, Cause: &x.Causes[0], Waited: &telemetry.Waited{For: time.Minute, Codes: []string{evil}, Text: evil}}}}
		answer := map[string]any{"page": map[string]any{"story": story}}
		if strings.HasSuffix(r.URL.Path, "/deployments.json") {
			said := []map[string]string{{"text": evil}}
			answer = map[string]any{"now": night, "cluster": evil, "notice": map[string]any{"title": evil, "text": said}, "page": map[string]any{"headline": evil,
				"tally": []map[string]any{{"word": evil, "count": 1}}, "empty": map[string]any{"heading": evil, "lines": []any{said}},
				"groups": []any{map[string]any{"rows": []any{map[string]any{"namespace": evil, "name": evil, "available": evil, "queue": evil, "why": said, "state": map[string]string{"word": evil}}}}}}}
		}
		if err := json.NewEncoder(w).Encode(answer); err != nil {
			t.Error(err)
		}
	}))
	defer console.Close()
	for _, args := range [][]string{
		{"explain", "--sync", "aaaa/311", "--history", kept}, {"explain", "--sync", "aaaa/311", "--history", kept, "-o", "json"}, {"explain", "--sync", "aaaa/311", "--history", kept, "-o", "yaml"},
		{"replay", path}, {"replay", path + evil}, {"story", "deployment/web", "--all", "--server", console.URL}, {"story", "deployment/web", "-o", "json", "--server", console.URL},
		{"top", "-A", "--server", console.URL}, {"top", "-A", "-o", "json", "--server", console.URL}, {evil},
	} {
		out, err := run(t, args...)
		if err != nil {
			out += safetext.Text(err.Error()) // As main prints it.
		}
		if i := strings.IndexFunc(out, safetext.Hidden); i >= 0 {
			t.Errorf("%q prints %q", args, out[max(0, i-40):min(len(out), i+40)])
		}
		if strings.Contains(out, "\nFORGED") && err == nil {
			t.Errorf("%q prints a line that was forged:\n%s", args, out)
		}
		if err == nil && !strings.Contains(out, "PWNED") {
			t.Errorf("%q shows nothing of it:\n%s", args, out)
		}
	}
}
