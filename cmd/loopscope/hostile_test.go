package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/klog/v2"

	"github.com/loopscope/loopscope/cmd/internal/app"
	"github.com/loopscope/loopscope/controllers/deployment"
	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/decision"
	"github.com/loopscope/loopscope/telemetry/history"
	"github.com/loopscope/loopscope/telemetry/safetext"
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
				"groups": []any{map[string]any{"rows": []any{map[string]any{"namespace": evil, "name": evil, "available": evil, "queue": evil, "asked": evil, "revision": evil, "numbers": evil, "lastDid": evil, "why": said, "state": map[string]string{"word": evil}}}}}}}
		}
		if err := json.NewEncoder(w).Encode(answer); err != nil {
			t.Error(err)
		}
	}))
	defer console.Close()
	refusing := refuser(t)
	for _, args := range [][]string{
		{"explain", "--sync", "aaaa/311", "--history", kept}, {"explain", "--sync", "aaaa/311", "--history", kept, "-o", "json"}, {"explain", "--sync", "aaaa/311", "--history", kept, "-o", "yaml"},
		{"replay", path}, {"replay", path + evil}, {"story", "deployment/web", "--all", "--server", console.URL}, {"story", "deployment/web", "-o", "json", "--server", console.URL},
		{"top", "-A", "--server", console.URL}, {"top", "-A", "-o", "json", "--server", console.URL}, {evil},
		{"top", "-A", "-o", "wide", "--server", console.URL}, {"top", "-A", "-o", "name", "--server", console.URL}, {"top", "-A", "-o", "yaml", "--server", console.URL}, {"top", "-A", "-o", "kyaml", "--server", console.URL},
		{"top", "-A", "--no-headers", "--server", console.URL}, {"story", "deployment/web", "-o", "yaml", "--server", console.URL}, {"story", "deployment/web", "-o", "kyaml", "--server", console.URL}, {"explain", "--sync", "aaaa/311", "--history", kept, "-o", "kyaml"},
		{"explain", evil}, {"top", "--context", evil}, {"top", "-o", evil}, {"export", evil}, {"view", evil, evil},
		{"explain", "deployment/web", "--server", refusing(http.StatusForbidden)}, {"explain", "deployment/web", "--server", refusing(http.StatusInternalServerError)},
		{"explain", "deployment/web", "--server", refusing(http.StatusNotFound)}, {"open", "--no-browser", "--server", refusing(http.StatusForbidden)},
		{"story", "deployment/web", "--server", refusing(http.StatusBadRequest)}, {"top", "--server", refusing(http.StatusBadRequest)}, {"export", "--server", refusing(http.StatusBadRequest)},
	} {
		out, err := run(t, args...)
		if err != nil {
			out += safetext.Text(errorText(err)) // As main prints it.
		}
		if i := strings.IndexFunc(out, safetext.Hidden); i >= 0 {
			t.Errorf("%q prints %q", args, out[max(0, i-40):min(len(out), i+40)])
		}
		if strings.Contains(out, "\nFORGED") {
			t.Errorf("%q prints a line that was forged:\n%s", args, out)
		}
		if strings.Contains(out, "hunter2") || strings.Contains(out, "abcdef12345678") {
			t.Errorf("%q prints a credential:\n%s", args, out)
		}
		if (err == nil || args[0] == "story" || args[0] == "top" || args[0] == "export") && !strings.Contains(out, "PWNED") {
			t.Errorf("%q shows nothing of it:\n%s", args, out)
		}
	}
}

// TestNothingHiddenIsLogged: nor by a manager that an API server answers so, and that goes on.
func TestNothingHiddenIsLogged(t *testing.T) {
	_, log := managedAt(t, refuser(t)(http.StatusForbidden), "--history=off")
	deadline := time.Now().Add(time.Minute)
	for tick := time.NewTicker(20 * time.Millisecond); !strings.Contains(log.String(), "PWNED"); <-tick.C {
		if time.Now().After(deadline) {
			t.Fatalf("it logs nothing of what it is answered:\n%s", log)
		}
	}
	if said := log.String(); strings.ContainsFunc(said, safetext.Hidden) || strings.Contains(said, "\nFORGED") || strings.Contains(said, "hunter2") || strings.Contains(said, "abcdef12345678") {
		t.Errorf("it logs %q", said)
	}
}

// refuser gives addresses of an API server or a console that answers everything so.
func refuser(t *testing.T) func(code int) string {
	return func(code int) string {
		message := evil + " password=hunter2 Bearer abcdef12345678"
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(code)
			_ = json.NewEncoder(w).Encode(map[string]any{"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code, "message": message,
				"reason": map[int]string{http.StatusForbidden: "Forbidden", http.StatusNotFound: "NotFound"}[code], "error": map[string]string{"message": message}})
		}))
		t.Cleanup(server.Close)
		return server.URL
	}
}

// TestEvidenceOfOthers: what keeps warnings from being read is one line as well.
func TestEvidenceOfOthers(t *testing.T) {
	var b strings.Builder
	if err := explainText(&b, syncOf(t, "aaaa", 1, night), evidence{failure: errors.New(evil)}, night); err != nil {
		t.Fatal(err)
	}
	if out := b.String(); strings.ContainsFunc(out, safetext.Hidden) || strings.Contains(out, "\nFORGED") || !strings.Contains(out, "could not be read: nginx") {
		t.Errorf("it prints %q", out)
	}
}

// TestExportToATerminal: a terminal gets no character that is not for reading, and whatever
// is none gets the very bytes.
func TestExportToATerminal(t *testing.T) {
	console := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(evil + "\n")) }))
	defer console.Close()
	before := terminal
	defer func() { terminal = before }()
	for _, is := range []bool{true, false} {
		terminal = func(io.Writer) bool { return is }
		out, err := run(t, "export", "--server", console.URL)
		if want := map[bool]string{true: safetext.Text(evil + "\n"), false: evil + "\n"}[is]; err != nil || out != want {
			t.Errorf("a terminal (%v) gets %q, %v", is, out, err)
		}
	}
}

// TestClientGoLogs: what client-go logs by itself goes through the safe writer, without
// credentials.
func TestClientGoLogs(t *testing.T) {
	defer klog.CaptureState().Restore()
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "none"))
	var out, errs strings.Builder
	root := newRoot(streams{out: &out, err: &errs})
	root.SetArgs([]string{"version"})
	if err := root.ExecuteContext(t.Context()); err != nil || errs.Len() > 0 {
		t.Fatalf("%v, and it says %q", err, &errs)
	}
	klog.Warning(evil + " password=hunter2")
	if said := errs.String(); !strings.Contains(said, "PWNED") || strings.ContainsFunc(said, safetext.Hidden) || strings.Contains(said, "\nFORGED") || strings.Contains(said, "hunter2") {
		t.Errorf("it logs %q", said)
	}
}

// TestNothingHiddenIsServed: no page that is drawn from a recording, and no JSON of one, has a
// character that is not for reading.
func TestNothingHiddenIsServed(t *testing.T) {
	x := hostileSync(t)
	for _, spoil := range []func(*telemetry.Trace){func(x *telemetry.Trace) { x.Name = "web\u202e" }, func(x *telemetry.Trace) { x.Namespace = "shop\u200b" }, func(x *telemetry.Trace) { x.Epoch = "aaaa\U000e0041" }} {
		bad := *x
		spoil(&bad)
		if _, err := app.NewView(t.Context(), app.ViewOptions{File: rawRecording(t, &bad), Listen: "127.0.0.1:0"}); err == nil || !strings.Contains(err.Error(), "no name has") {
			t.Errorf("%s/%s of epoch %s is taken: %v", bad.Namespace, bad.Name, bad.Epoch, err)
		}
	}
	program, err := app.NewView(t.Context(), app.ViewOptions{File: rawRecording(t, x), Listen: "127.0.0.1:0", Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	if err := program.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = program.Stop(context.Background()) }()
	object := "/deployments/shop/web"
	paths := []string{"/deployments", "/queues", "/decisions", "/history", "/shadow", "/about", "/reasons", "/rules", "/debug/controllers", "/debug/controllers/deployment", "/debug/controllers/deployment/shop/web",
		object, object + "/story", object + "/what-if?replicas=3", object + "/syncs/aaaa/311", object + "/syncs/aaaa/311/chain"}
	shown := 0
	for _, path := range append(paths, "/export.jsonl", "/metrics", "/readyz", "/nowhere"+url.PathEscape(evil)) {
		for _, twin := range []string{"", "application/json"} {
			body := bodyOf(t, program.URL()+path, twin)
			if i := strings.IndexFunc(body, safetext.Hidden); i >= 0 {
				t.Errorf("%s %s has %q", path, twin, body[max(0, i-40):min(len(body), i+40)])
			}
			if strings.Contains(body, "PWNED") {
				shown++
			}
		}
	}
	if shown < 10 {
		t.Errorf("%d pages show anything of it", shown)
	}
}

func bodyOf(t *testing.T, address, accept string) string {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Accept", accept)
	reply, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer reply.Body.Close()
	body, err := io.ReadAll(reply.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

// rawRecording is a recording that was written by another program.
func rawRecording(t *testing.T, x *telemetry.Trace) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "evil.jsonl")
	var b strings.Builder
	e := json.NewEncoder(&b)
	if err := errors.Join(e.Encode(tracefile.Header{Format: tracefile.Format, Version: tracefile.Version, Cluster: evil}), e.Encode(x)); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
