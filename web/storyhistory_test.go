package web

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/loopscope/loopscope/telemetry"
)

// cutStory is the story of the stuck rollout where the journal begins in the middle of it. The
// history has it all, or what came before the rollout.
func cutStory(t *testing.T, all bool, change func(*Options)) (base string) {
	t.Helper()
	w := newWorld(t, storyNow.Add(-2*time.Hour))
	stuckRollout(w)
	var before, after []*telemetry.Trace
	for _, x := range w.journal.Kept(0, 1<<12) {
		switch rolls := x.Started.After(storyNow.Add(-17 * time.Minute)); {
		case !rolls:
			before = append(before, x)
		case x.Started.After(storyNow.Add(-15 * time.Minute)):
			after = append(after, x)
		}
	}
	archive := w.journal.Archive()
	if !all {
		archive = loadedJournal(t, before).Archive()
	}
	later := newWorld(t, storyNow)
	later.journal = loadedJournal(t, after)
	_, h := later.serve(func(o *Options) {
		o.Archive = archive
		if change != nil {
			change(o)
		}
	})
	return h.URL
}

func loadedJournal(t *testing.T, traces []*telemetry.Trace) *telemetry.Journal {
	t.Helper()
	j, err := telemetry.LoadJournal(telemetry.JournalOptions{Loops: testLoops}, traces)
	if err != nil {
		t.Fatal(err)
	}
	return j
}

func storyTwin(t *testing.T, base string) *telemetry.Story {
	t.Helper()
	var twin struct {
		Page struct{ Story *telemetry.Story }
	}
	res, raw := get(t, base, "/deployments/shop/web/story.json")
	if err := json.Unmarshal([]byte(raw), &twin); err != nil || res.StatusCode != http.StatusOK || twin.Page.Story == nil {
		t.Fatalf("%s, %v: %.500s", res.Status, err, raw)
	}
	return twin.Page.Story
}

// TestStoryWithAnOldHistory: a history that has not got, or never gets, the newest syncs does
// not put an earlier story in the place of the one that is under way.
func TestStoryWithAnOldHistory(t *testing.T) {
	s := storyTwin(t, cutStory(t, false, nil))
	if !s.Open || !s.Settled.IsZero() || s.Began.Before(storyNow.Add(-15*time.Minute-time.Second)) {
		t.Errorf("it began %s, was settled %s, and is open: %t", s.Began, s.Settled, s.Open)
	}
}

// TestStoryThatTheHistoryHasNotToItsEnd: a rollout that is over is not told as under way where the
// syncs at its end are not in the history.
func TestStoryThatTheHistoryHasNotToItsEnd(t *testing.T) {
	w := newWorld(t, storyNow.Add(-2*time.Hour))
	stuckRollout(w)
	later := newWorld(t, storyNow)
	later.journal = telemetry.NewJournal(telemetry.JournalOptions{Loops: testLoops, Epoch: "9e01"})
	settled := plain("shop", "web")
	settled.Started, settled.Ended = storyNow.Add(time.Hour), storyNow.Add(time.Hour)
	later.journal.Record(settled)
	_, h := later.serve(func(o *Options) {
		o.Archive = w.journal.Archive()
		o.Now = func() time.Time { return storyNow.Add(2 * time.Hour) }
	})
	if head := headOf(t, h.URL, "/deployments/shop/web"); !strings.HasPrefix(head.Sentence, "shop/web is settled") {
		t.Errorf("its page says %q", head.Sentence)
	}
	_, raw := get(t, h.URL, "/deployments/shop/web/story")
	d := parse(t, raw)
	h1, then := d.one("h1"), d.one(".then")
	if !strings.HasPrefix(h1, "shop/web was waiting") || !strings.Contains(then, "Later syncs of it are not in the history") || !strings.Contains(then, "was not settled then") {
		t.Errorf("its story says %q, %q", h1, then)
	}
	if s := storyTwin(t, h.URL); s.LastKnown.IsZero() || s.LastKnown.After(storyNow) {
		t.Errorf("it is told up to %s", s.LastKnown)
	}
}

// TestStoryOfTheHistoryIsOfNow: one that the history completes says what the page of its
// object says, and stands still in an outage.
func TestStoryOfTheHistoryIsOfNow(t *testing.T) {
	muchLater := func(o *Options) { o.Now = func() time.Time { return storyNow.Add(3 * time.Hour) } }
	base := cutStory(t, true, muchLater)
	s := storyTwin(t, base)
	if s.Open || s.Began.After(storyNow.Add(-15*time.Minute)) {
		t.Errorf("it is not complete: it began %s, and is open: %t", s.Began, s.Open)
	}
	if want := headOf(t, base, "/deployments/shop/web").Sentence; s.Text != want || !s.AsOf.IsZero() {
		t.Errorf("it says %q as of %s, and its object %q", s.Text, s.AsOf, want)
	}
	s = storyTwin(t, cutStory(t, true, func(o *Options) { muchLater(o); o.Server = down }))
	if !s.AsOf.Equal(wentDown) || s.Text != s.Sentence.At(wentDown) {
		t.Errorf("in an outage it says %q as of %s", s.Text, s.AsOf)
	}
}
