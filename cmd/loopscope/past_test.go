package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/loopscope/loopscope/cmd/internal/app"
	"github.com/loopscope/loopscope/controllers/deployment"
	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/decision"
	"github.com/loopscope/loopscope/telemetry/history"
)

// starting is a sync that saw a new pod start, and found nothing wrong with it yet.
func starting(t *testing.T, now time.Time) *telemetry.Trace {
	t.Helper()
	s := stuck(now)
	pod := &s.ReplicaSets[1].Blocking[0]
	*pod = deployment.Pod{Name: pod.Name, Phase: "Pending", Node: "n1", Reason: "ContainerCreating", Created: now.Add(-5 * time.Second), Since: now.Add(-5 * time.Second)}
	s.Status.Conditions[1].Updated, s.LastProgress = now.Add(-5*time.Second), now.Add(-5*time.Second)
	return decided(t, s, "aaaa", 311)
}

// pageAt is what the page of the same history says as of a moment.
func pageAt(t *testing.T, file, at string) (sentence string) {
	t.Helper()
	recording := filepath.Join(t.TempDir(), "night.jsonl.gz")
	if _, err := run(t, "export", "--history", file, "-o", recording); err != nil {
		t.Fatal(err)
	}
	a, err := app.NewView(t.Context(), app.ViewOptions{File: recording, Listen: "127.0.0.1:0", Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = a.Stop(context.WithoutCancel(t.Context())) })
	var twin struct {
		Page struct{ Head struct{ Sentence string } }
	}
	if err := json.Unmarshal([]byte(page(t, a.URL()+"/deployments/shop/web.json?at="+at)), &twin); err != nil {
		t.Fatal(err)
	}
	return twin.Page.Head.Sentence
}

// historyOf is a history of these syncs.
func historyOf(t *testing.T, traces ...*telemetry.Trace) (file string) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "history.db")
	store, err := history.Open(file, history.Options{Clock: func() time.Time { return night.Add(time.Hour) }})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(store.Add(t.Context(), traces...), store.Close()); err != nil {
		t.Fatal(err)
	}
	return file
}

// TestExplainTheMoment: of a moment at which the clock alone had made another sentence of the last
// sync, that one is told, as on the page, with what it finds and its exit code.
func TestExplainTheMoment(t *testing.T) {
	file := historyOf(t, starting(t, night), podSync(t, "aaaa", 312, night.Add(10*time.Minute)))
	for _, c := range []struct {
		after time.Duration
		tone  decision.Tone
		finds int
	}{{5 * time.Second, decision.ToneMoving, 0}, {9 * time.Minute, decision.ToneWaiting, 1}} {
		at := stamp(night.Add(c.after))
		args := []string{"explain", "deployment/web", "-n", "shop", "--at", at, "--history", file, "--exit-code"}
		out, err := run(t, args...)
		if needs := errors.As(err, new(needsYou)); needs != (c.tone == decision.ToneWaiting) || err != nil && !needs {
			t.Errorf("%s later it ends with %v", c.after, err)
		}
		want := strings.Replace(pageAt(t, file, at), " is ", " was ", 1)
		if !strings.Contains(out, want) || strings.Contains(out, "WHY PODS ARE NOT AVAILABLE") != (c.finds > 0) {
			t.Errorf("%s later it does not say %q, or does not find %d:\n%.900s", c.after, want, c.finds, out)
		}
		out, _ = run(t, append(args, "-o", "json")...)
		var said explained
		if err := json.Unmarshal([]byte(out), &said); err != nil {
			t.Fatal(err)
		}
		if said.Text != want || said.Sentence.Tone != c.tone || len(said.Diagnosis.Findings) != c.finds {
			t.Errorf("%s later JSON says %q, %s, with %d findings", c.after, said.Text, said.Sentence.Tone, len(said.Diagnosis.Findings))
		}
	}
}

// TestExplainTheEstimateOfThePast: an estimate whose time has passed without another sync is told no more.
func TestExplainTheEstimateOfThePast(t *testing.T) {
	s := stuck(night)
	set := &s.ReplicaSets[1]
	set.Startup = &deployment.StartupTimes{Pods: 1, Fastest: 8 * time.Second, Slowest: 20 * time.Second}
	for i := range set.Blocking {
		set.Blocking[i] = deployment.Pod{Name: set.Blocking[i].Name, Phase: "Pending", Node: "n1", Reason: "ContainerCreating", Created: night.Add(-time.Second), Since: night.Add(-time.Second)}
	}
	s.Status.Conditions[1].Updated, s.LastProgress = night.Add(-time.Second), night.Add(-time.Second)
	trace := decided(t, s, "aaaa", 311)
	e := estimateOf(trace)
	if e == nil || e.Code != decision.EstimateKnown || !e.To.After(e.From) {
		t.Fatalf("the estimate is %+v", e)
	}
	for at, want := range map[time.Time]string{
		trace.Ended:                "\nCompletes in ",
		e.From.Add(time.Second):    "\nCompletes within ",
		e.To:                       "",
		e.To.Add(20 * time.Second): "",
	} {
		var out strings.Builder
		if err := recordedText(&out, recalled{trace: trace, at: at}); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(out.String(), want) || want == "" && strings.Contains(out.String(), "Completes") {
			t.Errorf("at %s it does not say %q:\n%.600s", stamp(at), want, out.String())
		}
	}
}

// TestExplainsNoMoreThanIsKnown: where a history has nothing more of the run of a sync, be it that another run
// follows or none, the sync is told as of then, and it is said that the rest is not known.
func TestExplainsNoMoreThanIsKnown(t *testing.T) {
	file := historyOf(t, starting(t, night), podSync(t, "aaaa", 312, night.Add(time.Minute)), podSync(t, "bbbb", 1, night.Add(time.Hour)))
	end := stamp(night.Add(time.Minute))
	for after, known := range map[time.Duration]bool{30 * time.Second: true, 59 * time.Second: true, 61 * time.Second: false, 9 * time.Minute: false, 2 * time.Hour: false} {
		at := stamp(night.Add(after))
		out, err := run(t, "explain", "deployment/web", "-n", "shop", "--at", at, "--history", file)
		said := "As of " + end + ": sync aaaa/311 of deployment shop/web, which ended at " + stamp(night) + ".\nWhat happened between then and " + at + " is not known: the history has no more of that run of the manager.\n\nshop/web was waiting: "
		if err != nil || strings.Contains(out, said) == known || known && !strings.HasPrefix(out, "As of "+at) || strings.Contains(out, "is not known") == known {
			t.Errorf("%s later: %v\n%.500s", after, err, out)
		}
		out, err = run(t, "explain", "deployment/web", "-n", "shop", "--at", at, "--history", file, "-o", "json")
		if err != nil || strings.Contains(out, `"unknownSince": "`+strings.TrimSuffix(end, "Z")) == known {
			t.Errorf("%s later as JSON: %v\n%.500s", after, err, out)
		}
	}
}

// TestTheRunningManagerKnowsTheRest: a manager that runs on without a sync, and can write its history, has
// seen nothing happen.
func TestTheRunningManagerKnowsTheRest(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	file, config := historyOf(t, starting(t, night)), contexts(t, "http://127.0.0.1:1")
	var says string
	console := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, says) }))
	defer console.Close()
	defer announce(at("first"), console.URL, slog.New(slog.DiscardHandler))()
	for text, known := range map[string]bool{
		`{"epoch":"aaaa","page":{"history":%q}}`:                       true,
		`{"epoch":"aaaa","page":{"history":%q,"historyFailing":true}}`: false,
		`{"epoch":"bbbb","page":{"history":%q}}`:                       false,
	} {
		says = fmt.Sprintf(text, file)
		out, err := run(t, "explain", "deployment/web", "-n", "shop", "--at", stamp(night.Add(time.Hour)), "--kubeconfig", config)
		if err != nil || strings.Contains(out, "is not known") == known {
			t.Errorf("%s: %v\n%.300s", says, err, out)
		}
	}
}

// TestTheFutureIsNotTold: nobody knows how it will be.
func TestTheFutureIsNotTold(t *testing.T) {
	for _, args := range [][]string{{"explain", "--history", nightly(t)}, {"story", "--server", "http://127.0.0.1:1"}} {
		_, err := run(t, append(args, "deployment/web", "-n", "shop", "--at", "2999-01-01T00:00:00Z")...)
		if err == nil || err.Error() != "--at: 2999-01-01T00:00:00Z is still to come: give a time that has passed" {
			t.Errorf("%s: %v", args[0], err)
		}
	}
}
