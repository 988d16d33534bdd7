package web

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/loopscope/loopscope/controllers/replicaset"
	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/decision"
	"github.com/loopscope/loopscope/web/address"
	"github.com/loopscope/loopscope/web/words"
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

// TestNotWatchedByThisRun: of what this run does not look at it is not said that its first sync is still to
// come, nor that it may be deleted.
func TestNotWatchedByThisRun(t *testing.T) {
	states := func(mode string) func() []telemetry.LoopState {
		return func() []telemetry.LoopState {
			return []telemetry.LoopState{{Name: "deployment", Mode: mode}, {Name: "replicaset", Mode: "act"}}
		}
	}
	const still = "No sync of this run has seen it: it was deleted meanwhile, or its first sync is still to come"
	for name, c := range map[string]struct {
		loop, namespace, mode, want string
	}{
		"of another namespace":  {"deployment", "other", "act", "This process looks at the namespace other alone, so nothing newer is known here"},
		"of a loop that is off": {"deployment", "", telemetry.ModeOff, "The Deployment loop does not run here, so nothing newer is known here"},
		"of a skipped loop":     {"deployment", "", telemetry.ModeSkipped, "The Deployment loop is skipped, so nothing newer is known here"},
		"of a loop of others":   {"lease", "", "act", "The lease loop does not run here, so nothing newer is known here"},
		"of its namespace":      {"deployment", "shop", "act", still},
		"of any":                {"deployment", "", "act", still},
	} {
		t.Run(name, func(t *testing.T) {
			old := plain("shop", "cart")
			old.Epoch, old.Seq, old.Loop = "old", 7, c.loop
			base, _ := deletedOnce(t, func(o *Options) {
				o.Archive, o.Namespace, o.Loops = anEarlierRun{o.Journal.Archive(), old}, c.namespace, states(c.mode)
			})
			if head := headOf(t, base, address.Of(old.Object)); !strings.HasSuffix(head.Sentence, ", in an earlier run. "+c.want+".") {
				t.Errorf("its page says %q", head.Sentence)
			}
		})
	}
}

// unfinishedEarlier is a console days after a run that left a rollout in the middle, and the last sync
// of that.
func unfinishedEarlier(t *testing.T) (base string, newest *telemetry.Trace) {
	t.Helper()
	w := newWorld(t, storyNow.Add(-2*time.Hour))
	stuckRollout(w)
	newest, _ = w.journal.Board().Get(telemetry.Object{Loop: "deployment", Namespace: "shop", Name: "web"})
	later := newWorld(t, storyNow)
	later.journal = telemetry.NewJournal(telemetry.JournalOptions{Loops: testLoops, Epoch: "9e01"})
	_, h := later.serve(func(o *Options) {
		o.Archive = copied{w.journal.Archive()}
		o.Now = func() time.Time { return storyNow.Add(75 * time.Hour) }
	})
	return h.URL, newest
}

// copied is a history that reads a sync anew each time, as one on disk does.
type copied struct{ telemetry.Archive }

func (c copied) Get(ctx context.Context, epoch string, seq uint64) (*telemetry.Trace, error) {
	return copyOf(c.Archive.Get(ctx, epoch, seq))
}

func (c copied) AsOf(ctx context.Context, o telemetry.Object, at time.Time) (*telemetry.Trace, error) {
	return copyOf(c.Archive.AsOf(ctx, o, at))
}

func copyOf(t *telemetry.Trace, err error) (*telemetry.Trace, error) {
	if err != nil {
		return nil, err
	}
	c := *t
	return &c, nil
}

// TestUnfinishedInAnEarlierRun: of a rollout that an earlier run left in the middle nothing is told of
// now, as nobody knows how it went on.
func TestUnfinishedInAnEarlierRun(t *testing.T) {
	base, _ := unfinishedEarlier(t)
	page := func(path string) doc {
		t.Helper()
		_, raw := get(t, base, "/deployments/shop/web"+path)
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
	if then := page("?at=" + storyNow.Add(-14*time.Minute).Format(time.RFC3339)).one("#last"); !strings.Contains(then, "Last known, as of 2026-11-21 03:01:52 UTC: shop/web was waiting") {
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
		if then := d.one(".then"); !strings.Contains(then, "That was at 2026-11-21 03:01:52 UTC, in an earlier run") || !strings.Contains(then, "It began 2026-11-21 02:57:04 UTC and") {
			t.Errorf("%s does not say on which day that was: %q", path, then)
		}
	}
	if then, last := d.one(".then"), d.one("#last"); !strings.Contains(then, "That was at 2026-11-21 03:01:52 UTC, in an earlier run") || !strings.Contains(last, "Last synced at 2026-11-21 03:01:52 UTC") {
		t.Errorf("it does not say on which day that was: %q, %q", then, last)
	}
	if s := storyTwin(t, base); s.LastKnown.IsZero() || s.Text != headOf(t, base, "/deployments/shop/web").Sentence {
		t.Errorf("as of %s its story says %q", s.LastKnown, s.Text)
	}
}

// TestTimersEndWithTheirRun: of an object that no sync of this run has seen no timer runs, nor is it said
// that only a change triggers a sync.
func TestTimersEndWithTheirRun(t *testing.T) {
	base, newest := unfinishedEarlier(t)
	for _, args := range []string{"", "?sync=" + words.Digits(newest.Seq) + "&epoch=" + newest.Epoch} {
		_, raw := get(t, base, "/deployments/shop/web"+args)
		d := parse(t, raw)
		if side := d.one("#f-side"); strings.Contains(side, "No timer is set") || !strings.Contains(side, "Any timers of this sync ended with its run.") || d.running("#f-side") > 0 {
			t.Errorf("%q says %s", args, side)
		}
	}
	_, raw := get(t, base, address.Sync(newest))
	if main := parse(t, raw).one("main"); strings.Contains(main, "No timer is set") || !strings.Contains(main, words.TimersEnded) {
		t.Errorf("the sync's page says %s", main)
	}
}

// TestMomentAfterTheLastKnownSync: of a moment after all that is known of an object no more is told than
// of now, however far off its deadline is.
func TestMomentAfterTheLastKnownSync(t *testing.T) {
	base, newest := unfinishedEarlier(t)
	want := headOf(t, base, "/deployments/shop/web").Sentence
	for _, after := range []time.Duration{time.Second, 24 * time.Hour} {
		_, raw := get(t, base, "/deployments/shop/web.json?at="+newest.Ended.Add(after).Format(time.RFC3339))
		var twin struct{ Page struct{ Head headTwin } }
		if err := json.Unmarshal([]byte(raw), &twin); err != nil || twin.Page.Head.Sentence != want {
			t.Errorf("%s later it says %q, and not %q", after, twin.Page.Head.Sentence, want)
		}
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

// TestStoryOfAReplacedIsOver: one that was created anew in a single sync, or while no manager ran, is not told to go on.
func TestStoryOfAReplacedIsOver(t *testing.T) {
	w := newWorld(t, storyNow.Add(-2*time.Hour))
	stuckRollout(w)
	kept := w.journal.Kept(0, 1<<12)
	last := kept[len(kept)-1]
	for _, x := range kept {
		if x.Object.Loop == "deployment" {
			last = x
		}
	}
	next := *last
	next.UID, next.Queued, next.Started, next.Ended = "another", storyNow, storyNow, storyNow.Add(time.Second)
	next.Causes = []telemetry.Cause{{Kind: telemetry.CauseStart, Object: "Deployment web", At: storyNow}}
	w.journal.Record(&next)
	_, h := w.serve(func(o *Options) { o.Now = func() time.Time { return storyNow.Add(time.Hour) } })
	for name, query := range map[string]string{"of a sync": fmt.Sprintf("sync=%d&epoch=%s", last.Seq, last.Epoch), "of a moment": "at=" + last.Ended.UTC().Format(time.RFC3339)} {
		_, raw := get(t, h.URL, "/deployments/shop/web/story?"+query)
		d := parse(t, raw)
		h1, then := d.one("h1"), d.one(".then")
		if !strings.HasPrefix(h1, "shop/web was ") || !strings.Contains(then, "before it was deleted and another one of its name was created") || !strings.Contains(then, "and ended with the deletion of the object, by "+words.DayAndTime(storyNow)) || strings.Contains(then, "not settled") {
			t.Errorf("%s: it says %q, %q", name, h1, then)
		}
		if n := d.running("h1") + d.running(".then"); n > 0 {
			t.Errorf("%s: %d times in it run on", name, n)
		}
	}
}

// TestGoneReplicaSetShowsNothing: of one that was deleted no status is shown, nor that it has no pod that could go.
func TestGoneReplicaSetShowsNothing(t *testing.T) {
	w := newWorld(t, storyNow.Add(-2*time.Hour))
	w.journal.Record(w.decideReplicaSet(&replicaset.Snapshot{Version: replicaset.SnapshotVersion, Now: w.now, Kind: "ReplicaSet", Namespace: "shop", Name: "web-1", Burst: 500}, script{}))
	_, h := w.serve(nil)
	_, raw := get(t, h.URL, "/replicasets/shop/web-1")
	main := parse(t, raw).one("main")
	for text, want := range map[string]bool{
		"no ReplicaSet of that name exists. The garbage collector deletes its pods, unless they were orphaned": true,
		"What Kubernetes shows nothing, as it is gone":                                                         true, "could go": false, "observed generation": false,
	} {
		if strings.Contains(main, text) != want {
			t.Errorf("%q is there: %v\n%s", text, !want, main)
		}
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

// TestStoryOfDifferences: that a difference was found is over at once. It neither waits to be settled, nor
// does it say that its object was deleted or not seen.
func TestStoryOfDifferences(t *testing.T) {
	loops := testLoops.With(decision.Loops{telemetry.Comparison(testLoops)})
	found := newWorld(t, storyNow.Add(-2*time.Hour))
	found.journal = telemetry.NewJournal(telemetry.JournalOptions{Loops: loops, Epoch: "7c41"})
	x := plain("shop", "sel")
	x.Object, x.Gone = telemetry.Disagreement(x.Object), true
	x.Sentence.Tone, x.Sentence.State = decision.ToneFailed, "decided otherwise"
	found.journal.Record(x)
	later := newWorld(t, storyNow)
	later.journal = telemetry.NewJournal(telemetry.JournalOptions{Loops: loops, Epoch: "9e01"})
	for name, w := range map[string]*world{"this run": found, "a later run": later} {
		_, h := w.serve(func(o *Options) { o.Archive = found.journal.Archive() })
		for _, args := range []string{"", "?at=" + x.Ended.Add(time.Second).Format(time.RFC3339)} {
			_, raw := get(t, h.URL, address.Of(x.Object)+"/story"+args)
			if then := parse(t, raw).one(".then"); !strings.HasPrefix(then, "It began 03:12:04 UTC") || strings.Contains(then, "settled") || strings.Contains(then, "No sync of this run") {
				t.Errorf("in %s, %q: %s", name, args, then)
			}
		}
	}
}

// TestMomentAfterAnEarlierRun: of a moment between two runs the page tells no more than the earlier one knew,
// and says that the rest is not known.
func TestMomentAfterAnEarlierRun(t *testing.T) {
	w := newWorld(t, storyNow.Add(-2*time.Hour))
	stuckRollout(w)
	web := telemetry.Object{Loop: "deployment", Namespace: "shop", Name: "web"}
	last, _ := w.journal.Board().Get(web)
	later := newWorld(t, storyNow)
	later.journal = telemetry.NewJournal(telemetry.JournalOptions{Loops: testLoops, Epoch: "9e01"})
	first := plain(web.Namespace, web.Name)
	first.Loop, first.Started, first.Ended = web.Loop, storyNow.Add(time.Hour), storyNow.Add(time.Hour)
	later.journal.Record(first)
	_, h := later.serve(func(o *Options) {
		o.Archive, o.Now = copied{w.journal.Archive()}, func() time.Time { return storyNow.Add(2 * time.Hour) }
	})
	for after, known := range map[time.Duration]bool{-time.Second: true, time.Minute: false, 50 * time.Minute: false} {
		at := last.Ended.Add(after)
		_, raw := get(t, h.URL, "/deployments/shop/web?at="+at.Format(time.RFC3339))
		d := parse(t, raw)
		d.sound()
		said := d.one("#last")
		want := "As of " + at.Format("15:04:05") + " UTC. Now: "
		if !known {
			want = "As of 03:01:52 UTC. What happened between then and " + at.Format("15:04:05") + " UTC is not known: the history has no more of that run of the manager. Now: "
		}
		if !strings.HasPrefix(said, want) {
			t.Errorf("%s after its last sync: %s, want %s", after, said, want)
		}
	}
}
