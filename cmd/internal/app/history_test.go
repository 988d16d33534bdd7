package app

import (
	"errors"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/loopscope/loopscope/telemetry"
)

// What the journal holds when the program is told to stop is in the file
// afterwards, and the program leaves nothing running.
func TestHistoryIsKeptOverStop(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	t.Chdir(t.TempDir())
	path, err := filepath.Abs("h.db")
	if err != nil {
		t.Fatal(err)
	}
	a, err := New(Options{Config: nowhere(), Listen: "127.0.0.1:0", Logger: quiet(), History: History{Path: "h.db"}})
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	want := telemetry.Object{Loop: "deployment", Namespace: "shop", Name: "web"}
	for range 1000 {
		a.journal.Record(&telemetry.Trace{Object: want, Started: time.Now(), Ended: time.Now()})
	}
	client := &http.Client{Timeout: time.Minute}
	if _, body := get(t, client, a.URL()+"/about.json"); !strings.Contains(body, `"history": "`+path) {
		t.Errorf("the console does not say that its history is %s:\n%s", path, body)
	}
	if _, body := get(t, client, a.URL()+"/metrics"); !strings.Contains(body, "loopscope_history_syncs ") {
		t.Error("no metrics of the history")
	}
	client.CloseIdleConnections()
	stop(t, a)
	kept, err := ReadHistory(path)
	if err != nil {
		t.Fatal(err)
	}
	defer kept.Close()
	last, err := kept.Get(t.Context(), a.journal.Epoch(), 1000)
	if err != nil || last.Object != want || kept.State().Kept != 1000 {
		t.Errorf("the last sync: %v, %v; %d are kept, want 1000", last, err, kept.State().Kept)
	}
}

// A file that cannot be had does not keep the program from running.
func TestNoHistoryStopsNothing(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	a, err := New(Options{Config: nowhere(), Listen: "127.0.0.1:0", Logger: quiet(), History: History{Path: t.TempDir()}})
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer stop(t, a)
	client := &http.Client{Timeout: time.Minute}
	defer client.CloseIdleConnections()
	for a.history.State().Error == "" { // until its first try has failed
		<-time.After(time.Millisecond)
	}
	if code, body := get(t, client, a.URL()+"/metrics"); code != http.StatusOK || !strings.Contains(body, "loopscope_history_failing 1") {
		t.Errorf("metrics: %d", code)
	}
	if _, err := a.history.Get(t.Context(), "x", 1); err == nil || errors.Is(err, telemetry.ErrNotKept) || !strings.Contains(err.Error(), "it is not a file") {
		t.Errorf("Get = %v", err)
	}
}
