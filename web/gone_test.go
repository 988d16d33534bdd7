package web

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/decision"
	"github.com/loopscope/loopscope/web/address"
)

// deletedOnce is a console whose journal had a Deployment that wrote and was deleted, and later
// many syncs of others.
func deletedOnce(t *testing.T, change func(*Options)) (base string, gone *telemetry.Trace) {
	t.Helper()
	w := newWorld(t, storyNow.Add(-2*time.Hour))
	w.journal = telemetry.NewJournal(telemetry.JournalOptions{Loops: testLoops, Epoch: "7c41", Recent: 8})
	wrote, gone := plain("shop", "sel"), plain("shop", "sel")
	wrote.UID, wrote.Result = "1", telemetry.ResultWrote
	gone.Gone, gone.Started, gone.Ended = true, gone.Started.Add(time.Second), gone.Ended.Add(2*time.Second)
	var lead decision.Words
	gone.Sentence.Tone, gone.Sentence.State, gone.Sentence.Code, gone.Sentence.Lead = decision.ToneNeutral, "gone", "gone", lead.Say("it was deleted")
	w.journal.Record(wrote)
	w.journal.Record(gone)
	for range 20 {
		w.journal.Record(plain("data", "ingest"))
	}
	_, h := w.serve(change)
	return h.URL, gone
}

// TestDeletedStaysGone: an object that was deleted is not told to be there once the record has
// moved on.
func TestDeletedStaysGone(t *testing.T) {
	base, gone := deletedOnce(t, nil)
	if head := headOf(t, base, "/deployments/shop/sel"); !strings.HasPrefix(head.Sentence, "shop/sel is gone: it was deleted") {
		t.Errorf("its page says %q", head.Sentence)
	}
	if res, body := get(t, base, address.Sync(gone)); res.StatusCode != http.StatusOK {
		t.Errorf("the page of its last sync: %s: %.200s", res.Status, body)
	}
}

// anEarlierRun is a history that has but one sync, of an earlier run.
type anEarlierRun struct {
	telemetry.Archive
	sync *telemetry.Trace
}

func (a anEarlierRun) AsOf(context.Context, telemetry.Object, time.Time) (*telemetry.Trace, error) {
	return a.sync, nil
}

// TestSeenInAnEarlierRunAlone: what only the history knows was so then, and may be gone.
func TestSeenInAnEarlierRunAlone(t *testing.T) {
	old := plain("shop", "cart")
	old.Epoch, old.Seq = "old", 7
	base, _ := deletedOnce(t, func(o *Options) { o.Archive = anEarlierRun{o.Journal.Archive(), old} })
	head := headOf(t, base, "/deployments/shop/cart")
	if !strings.HasPrefix(head.Sentence, "shop/cart was settled") || !strings.Contains(head.Sentence, "No sync of this run has seen it: it was deleted meanwhile, or its first sync is still to come") {
		t.Errorf("its page says %q", head.Sentence)
	}
	_, raw := get(t, base, "/deployments/shop/cart")
	d := parse(t, raw)
	d.sound()
	if h1 := d.one("h1"); !strings.HasPrefix(h1, "shop/cart was settled") || !strings.Contains(d.one(".then"), "in an earlier run") {
		t.Errorf("it is headed %q", h1)
	}
}

// TestUnfinishedInAnEarlierRun: of a rollout that an earlier run left in the middle nothing is told of
// now, as nobody knows how it went on.
func TestUnfinishedInAnEarlierRun(t *testing.T) {
	w := newWorld(t, storyNow.Add(-2*time.Hour))
	stuckRollout(w)
	later := newWorld(t, storyNow)
	later.journal = telemetry.NewJournal(telemetry.JournalOptions{Loops: testLoops, Epoch: "9e01"})
	_, h := later.serve(func(o *Options) {
		o.Archive = w.journal.Archive()
		o.Now = func() time.Time { return storyNow.Add(3 * time.Hour) }
	})
	page := func(path string) doc {
		t.Helper()
		_, raw := get(t, h.URL, "/deployments/shop/web"+path)
		d := parse(t, raw)
		d.sound()
		return d
	}
	d := page("")
	if h1 := d.one("h1"); !strings.HasPrefix(h1, "shop/web was waiting") {
		t.Errorf("it is headed %q", h1)
	}
	if text := d.one("main"); strings.Contains(text, "Looks again") || strings.Contains(text, "next change triggers") || strings.Contains(text, "next sync") {
		t.Errorf("it looks again: %s", text)
	}
	if n := d.running("#f-head") + d.running("#f-findings"); n > 0 {
		t.Errorf("%d times in it run on", n)
	}
	if then := page("?at=" + storyNow.Add(-10*time.Minute).Format(time.RFC3339)).one("#last"); !strings.Contains(then, "Last known, as of ") || !strings.Contains(then, "shop/web was waiting") {
		t.Errorf("of a moment it says %q", then)
	}
	for _, path := range []string{"/story", "/story?at=" + storyNow.Add(-10*time.Minute).Format(time.RFC3339)} {
		d := page(path)
		if h1, then := d.one("h1"), d.one(".then"); !strings.HasPrefix(h1, "shop/web was waiting") || !strings.Contains(then, "No sync of this run has seen it") || !strings.Contains(then, "was not settled then") {
			t.Errorf("%s says %q, %q", path, h1, then)
		}
		if n := d.running("h1") + d.running(".then"); n > 0 {
			t.Errorf("%s: %d times in it run on", path, n)
		}
	}
	if s := storyTwin(t, h.URL); s.LastKnown.IsZero() || s.Text != headOf(t, h.URL, "/deployments/shop/web").Sentence {
		t.Errorf("as of %s its story says %q", s.LastKnown, s.Text)
	}
}

// TestStoryOfADeletedIsOver, whatever is recorded later.
func TestStoryOfADeletedIsOver(t *testing.T) {
	base, _ := deletedOnce(t, nil)
	_, raw := get(t, base, "/deployments/shop/sel/story")
	if then := parse(t, raw).one(".then"); strings.Contains(then, "not settled yet") || !strings.Contains(then, "and ended with the deletion of the object, at 03:12:06 UTC.") {
		t.Errorf("its story says %q", then)
	}
}

// TestDifferenceIsNotGone: the board does not keep what a comparison found, and no object was deleted.
func TestDifferenceIsNotGone(t *testing.T) {
	for _, difference := range []bool{false, true} {
		w := newWorld(t, storyNow.Add(-2*time.Hour))
		w.journal = telemetry.NewJournal(telemetry.JournalOptions{Loops: testLoops.With(decision.Loops{telemetry.Comparison(testLoops)}), Epoch: "7c41"})
		x := plain("shop", "sel")
		if x.Gone = true; difference {
			x.Object = telemetry.Disagreement(x.Object)
		}
		w.journal.Record(x)
		_, h := w.serve(nil)
		if head := headOf(t, h.URL, address.Of(x.Object)); head.Gone == difference || head.Sentence == "" {
			t.Errorf("difference %t: gone %t, %q", difference, head.Gone, head.Sentence)
		}
	}
}
