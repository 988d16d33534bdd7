package web

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loopscope/loopscope/controllers/replicaset"
	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/decision"
	"github.com/loopscope/loopscope/web/words"
)

// earlierRun is a history that has one sync of an earlier run.
type earlierRun struct {
	telemetry.Archive
	sync *telemetry.Trace
}

func (a earlierRun) Get(_ context.Context, epoch string, seq uint64) (*telemetry.Trace, error) {
	if epoch != a.sync.Epoch || seq != a.sync.Seq {
		return nil, telemetry.ErrNotKept
	}
	return a.sync, nil
}

// TestStepsFromAnEarlierRun: all that is kept came after a sync of an earlier run, whatever its
// number, and none of it is that sync.
func TestStepsFromAnEarlierRun(t *testing.T) {
	for name, c := range map[string]struct {
		seq    uint64
		recent int // that the journal keeps
		others int // syncs of others since
		newer  int
		next   string
	}{
		"a number of this run":   {3, 0, 0, 5, "?epoch=7c41&sync=1"},
		"a number still to come": {11731, 0, 0, 5, "?epoch=7c41&sync=1"},
		"of an idle object":      {3, 4, 12, 1, ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, storyNow.Add(-2*time.Hour))
			w.journal = telemetry.NewJournal(telemetry.JournalOptions{Loops: testLoops, Epoch: "7c41", Recent: c.recent})
			for i := range 5 {
				x := plain("shop", "web")
				x.Started = storyNow.Add(time.Duration(i-9) * time.Minute)
				x.Ended = x.Started
				w.journal.Record(x)
			}
			for range c.others {
				w.journal.Record(plain("data", "ingest"))
			}
			old := plain("shop", "web")
			old.Epoch, old.Seq = "old", c.seq
			_, h := w.serve(func(o *Options) { o.Archive = earlierRun{w.journal.Archive(), old} })
			_, body := get(t, h.URL, "/deployments/shop/web?epoch=old&sync="+words.Digits(c.seq))
			d := parse(t, body)
			d.sound()
			step, next := d.one("#f-step"), ""
			for _, a := range d.all("a") {
				switch attr(a, "rel") {
				case "next":
					next = attr(a, "href")
				case "prev", "first":
					t.Errorf("leads back to %s", attr(a, "href"))
				}
			}
			if next != "/deployments/shop/web"+c.next || !strings.Contains(step, words.Digits(c.newer)+" newer") || !strings.Contains(step, "of an earlier run") || !strings.Contains(step, "Sentence at the time") {
				t.Errorf("next is %q: %s", next, step)
			}
			if n := len(d.all("tr.cursor")); n > 0 {
				t.Errorf("%d syncs of this run are under the cursor", n)
			}
		})
	}
}

// TestWritesBeforeAnEarlierRun: what this run wrote came after a sync of an earlier one.
func TestWritesBeforeAnEarlierRun(t *testing.T) {
	old := plain("shop", "web")
	old.Epoch, old.Seq = "old", 1500
	for mode, later := range map[string]string{"act": "last write was in sync", "watch": "kube-controller-manager"} {
		w := newWorld(t, storyNow.Add(-2*time.Hour))
		wrote := plain("shop", "web")
		wrote.Result = telemetry.ResultWrote
		wrote.Rounds = []decision.Round{{Outcomes: []decision.Outcome{{State: decision.Written}},
			Verdict: decision.Verdict{Actions: []decision.Action{{Kind: decision.Scale, Target: decision.Ref{Kind: "ReplicaSet", Name: "web-1"}, Size: &decision.Size{From: 1, To: 2}}}}}}
		wrote.Causes = []telemetry.Cause{{Kind: telemetry.CauseModified, At: wrote.Started, Object: "ReplicaSet web-1", NewRV: "8", Manager: telemetry.ControllerManager,
			Fields: []decision.Change{{Field: "spec.replicas", From: "1", To: "2"}}}}
		w.journal.Record(wrote)
		_, h := w.serve(func(o *Options) { o.Archive, o.Mode = earlierRun{w.journal.Archive(), old}, mode })
		_, body := get(t, h.URL, "/deployments/shop/web?epoch=old&sync=1500")
		side := parse(t, body).one("#f-side")
		writes, _, _ := strings.Cut(side, "Next scheduled")
		if strings.Contains(writes, later) || strings.Contains(writes, "last size was written") {
			t.Errorf("%s: it tells of a later write: %s", mode, writes)
		}
		if want := "as this sync is of an earlier run. The history may have it."; !strings.Contains(writes, want) {
			t.Errorf("%s: it does not say %q: %s", mode, want, writes)
		}
	}
}

// TestWriterThatIsNotFound: whose write woke a sync is not said where the sync that wrote is of an
// earlier run, or kept no longer; nor is a pod said to be made or ended by this run.
func TestWriterThatIsNotFound(t *testing.T) {
	w := newWorld(t, storyNow.Add(-2*time.Hour))
	w.journal = telemetry.NewJournal(telemetry.JournalOptions{Loops: testLoops, Epoch: "7c41", Recent: 4})
	deletes := plain("shop", "web-1")
	deletes.Loop = "replicaset"
	deletes.Rounds = []decision.Round{{Outcomes: []decision.Outcome{{State: decision.Written, Names: []string{"web-1-a"}}},
		Verdict: decision.Verdict{Actions: []decision.Action{{Kind: decision.DeletePods, Target: decision.Ref{Kind: "ReplicaSet", Namespace: "shop", Name: "web-1"}, Victims: []decision.Victim{{Name: "web-1-a"}}}}}}}
	for range 12 {
		w.journal.Record(plain("data", "ingest"))
	}
	w.journal.Record(deletes)
	woken := func(c telemetry.Cause) *telemetry.Trace {
		x := plain("shop", "web")
		x.Causes = []telemetry.Cause{c}
		return x
	}
	byNumber := telemetry.Cause{Kind: telemetry.CauseModified, Object: "ReplicaSet web-1", NewRV: "8", Sync: 5}
	old := woken(byNumber)
	old.Epoch, old.Seq = "old", 1500
	pod := woken(telemetry.Cause{Kind: telemetry.CauseAdded, Object: "Pod web-1-a"})
	pod.Epoch, pod.Seq = "old", 1501
	w.journal.Record(woken(byNumber))
	for path, c := range map[string]struct {
		old  *telemetry.Trace
		want string
	}{
		"?epoch=old&sync=1500": {old, "written in sync #5 of that run"},
		"?epoch=old&sync=1501": {pod, ""},
		"":                     {old, "written in sync #5"},
	} {
		_, h := w.serve(func(o *Options) { o.Archive = earlierRun{w.journal.Archive(), c.old} })
		_, body := get(t, h.URL, "/deployments/shop/web"+path)
		d := parse(t, body)
		why, _, _ := strings.Cut(d.one("#f-side"), "What it wrote")
		if strings.Contains(why, "its own write") || !strings.Contains(why, c.want) || c.want == "" && strings.Contains(why, "#") {
			t.Errorf("%q: %s", path, why)
		}
		if href := linksIn(d, "#f-side"); slices.Contains(href, "/deployments") {
			t.Errorf("%q leads to %s", path, href)
		}
	}
}

// TestStepsOfAnIdleObject: the newest sync of an object, which the board alone has, is one to step
// to beside those that are kept.
func TestStepsOfAnIdleObject(t *testing.T) {
	w := newWorld(t, storyNow.Add(-2*time.Hour))
	w.journal = telemetry.NewJournal(telemetry.JournalOptions{Loops: testLoops, Epoch: "7c41", Recent: 4})
	wrote := plain("shop", "web")
	wrote.Result = telemetry.ResultWrote
	w.journal.Record(wrote)
	w.journal.Record(plain("shop", "web"))
	for range 12 {
		w.journal.Record(plain("data", "ingest"))
	}
	old := plain("shop", "web")
	old.Epoch, old.Seq = "old", 3
	_, h := w.serve(func(o *Options) { o.Archive = earlierRun{w.journal.Archive(), old} })
	const object = "/deployments/shop/web"
	for args, want := range map[string][3]string{ // where it leads back and on, and what it says
		"":                  {object + "?epoch=7c41&sync=1", "", "Sync 2 newest"},
		"?sync=2":           {object + "?epoch=7c41&sync=1", "", "Sync 2 newest"},
		"?sync=1":           {"", object, "1 newer"},
		"?epoch=old&sync=3": {"", object + "?epoch=7c41&sync=1", "2 newer"},
	} {
		_, body := get(t, h.URL, object+args)
		d := parse(t, body)
		step, rels := d.one("#f-step"), map[string]string{}
		for _, a := range d.all("a") {
			rels[attr(a, "rel")] = attr(a, "href")
		}
		if rels["prev"] != want[0] || rels["next"] != want[1] || !strings.Contains(step, want[2]) {
			t.Errorf("%s: back to %q, on to %q: %s", args, rels["prev"], rels["next"], step)
		}
	}
}

// recorded is a history of those syncs, oldest first.
type recorded struct {
	telemetry.Archive
	syncs []*telemetry.Trace
	err   error
}

func (a recorded) AsOf(_ context.Context, _ telemetry.Object, at time.Time) (*telemetry.Trace, error) {
	for _, t := range slices.Backward(a.syncs) {
		if !t.Started.After(at) {
			return t, a.err
		}
	}
	return nil, cmp.Or(a.err, telemetry.ErrNotKept)
}

// TestMomentFindsQuietSyncs: the sync that was in force at a moment is found where the journal has
// dropped it and keeps the writes around it, and where the board alone has it.
func TestMomentFindsQuietSyncs(t *testing.T) {
	w := newWorld(t, storyNow.Add(-2*time.Hour))
	w.journal = telemetry.NewJournal(telemetry.JournalOptions{Loops: testLoops, Epoch: "7c41", Recent: 4})
	var all []*telemetry.Trace
	for i, result := range []telemetry.Result{telemetry.ResultWrote, telemetry.ResultUnchanged, telemetry.ResultWrote, telemetry.ResultUnchanged} {
		x := plain("shop", "web")
		x.Started = storyNow.Add(time.Duration(i-10) * time.Minute)
		x.Ended, x.Result = x.Started, result
		w.journal.Record(x)
		all = append(all, x)
	}
	for range 12 {
		w.journal.Record(plain("data", "ingest"))
	}
	at := func(minute int) string {
		return "/deployments/shop/web?at=" + storyNow.Add(time.Duration(minute-10)*time.Minute+30*time.Second).Format(time.RFC3339)
	}
	for name, c := range map[string]struct {
		archive telemetry.Archive
		want    []int // by minute
	}{
		"with a history":         {recorded{w.journal.Archive(), all, nil}, []int{1, 2, 3, 4}},
		"without one":            {w.journal.Archive(), []int{1, 1, 3, 4}},
		"with one not to be had": {recorded{w.journal.Archive(), nil, context.DeadlineExceeded}, []int{1, 1, 3, 4}},
	} {
		_, h := w.serve(func(o *Options) { o.Archive = c.archive })
		for minute, want := range c.want {
			_, body := get(t, h.URL, at(minute))
			if got := parse(t, body).one("#f-step"); !strings.Contains(got, "Sync "+words.Digits(want)+" ") {
				t.Errorf("%s, in minute %d: %s, want sync %d", name, minute, got, want)
			}
		}
	}
}

// TestThenStandsStill: of a page as of a moment nothing at its top moves on, and its next sync is
// the one that was to come then.
func TestThenStandsStill(t *testing.T) {
	w := newWorld(t, storyNow.Add(-2*time.Hour))
	stuckRollout(w)
	_, h := w.serve(nil)
	path := "/deployments/shop/web?at=" + storyNow.Add(-12*time.Minute).Format(time.RFC3339)
	_, body := get(t, h.URL, path)
	d := parse(t, body)
	d.sound()
	part := d.all("#f-head")[0]
	head := text(part)
	for _, run := range (doc{t, part}).all("") {
		if attr(run, "data-since") != "" || attr(run, "data-until") != "" {
			t.Errorf("%q moves on", text(run))
		}
	}
	for _, want := range []string{"Held back", "last progress 34s ago", "next sync 9m 26s"} {
		if !strings.Contains(head, want) {
			t.Errorf("it lacks %q: %s", want, head)
		}
	}
}

// TestReplicaSetThen: the page of a ReplicaSet as of a moment has the image, the pods and the sizes of
// then, none of which moves on, and not what would be deleted next.
func TestReplicaSetThen(t *testing.T) {
	w := newWorld(t, storyNow.Add(-2*time.Hour))
	then, now := storyNow.Add(-10*time.Minute), storyNow.Add(-5*time.Minute)
	sync := func(at time.Time, uid, image string, waits replicaset.Expectations, names ...string) {
		s := &replicaset.Snapshot{Version: 1, Now: at, Kind: "ReplicaSet", Found: true, Namespace: "shop", Name: "web", UID: uid, RV: "7", Want: int64(len(names)), Images: []string{image}, Expect: waits}
		for _, name := range names {
			s.Pods = append(s.Pods, replicaset.Pod{Name: name, UID: name, Mine: true, Matches: true, Created: at.Add(-time.Minute), Phase: "Pending", Node: "n", Reason: "ErrImagePull", Since: at.Add(-30 * time.Second)})
		}
		w.journal.Record(w.decideReplicaSet(s, script{}))
	}
	sync(then, "a", "nginx:1.27", replicaset.Expectations{Deletes: 1, Since: then.Add(-time.Second), Expires: then.Add(5 * time.Minute)}, "web-old-1", "web-old-2")
	sync(now, "b", "nginx:404", replicaset.Expectations{}, "web-new-1", "web-new-2", "web-new-3")
	_, h := w.serve(nil)
	page := func(args string) (string, doc) {
		_, body := get(t, h.URL, "/replicasets/shop/web"+args)
		d := parse(t, body)
		d.sound()
		return d.one("main"), d
	}
	all, d := page("?at=" + then.Add(time.Minute).Format(time.RFC3339))
	for _, want := range []string{"nginx:1.27", "web-old-1", "web-old-2", "2 pods, as of 2026-11-21 03:04:04 UTC", "wanted 2", "ErrImagePull for 1m 30s", "1 deletion, for 1m 1s"} {
		if !strings.Contains(all, want) {
			t.Errorf("as of then it lacks %q: %s", want, all)
		}
	}
	for _, other := range []string{"nginx:404", "wanted 3", "Next to be deleted"} {
		if strings.Contains(all, other) {
			t.Errorf("as of then it says %q: %s", other, all)
		}
	}
	if pods := d.one("#f-pods"); strings.Contains(pods, "web-new") || d.running("#f-pods") > 0 || d.running("#f-expects") > 0 {
		t.Errorf("its pods of then are %s", pods)
	}
	all, d = page("")
	for _, want := range []string{"nginx:404", "web-new-3", "wanted 3", "Next to be deleted"} {
		if !strings.Contains(all, want) || d.running("#f-pods") == 0 {
			t.Errorf("as of now it lacks %q: %s", want, all)
		}
	}
}

// TestDeploymentThen: the page of a Deployment as of a moment has the revision and the ReplicaSets of then,
// with what was so of those.
func TestDeploymentThen(t *testing.T) {
	w := newWorld(t, storyNow.Add(-2*time.Hour))
	stuckRollout(w)
	_, h := w.serve(nil)
	page := func(args string) (about, sets string) {
		_, body := get(t, h.URL, "/deployments/shop/web"+args)
		d := parse(t, body)
		d.sound()
		return d.one("#f-about"), d.one("#f-sets")
	}
	about, sets := page("?at=" + storyNow.Add(-30*time.Minute).Format(time.RFC3339))
	if !strings.Contains(about, "revision 1") || strings.Contains(sets, "web:3.4.0") || !strings.Contains(sets, "web:3.3.2") || !strings.Contains(sets, "settled 10 10") || strings.Contains(sets, "waiting") {
		t.Errorf("as of then it says %q, and its ReplicaSets are %s", about, sets)
	}
	if about, sets = page(""); !strings.Contains(about, "revision 2") || !strings.Contains(sets, "web:3.4.0") || !strings.Contains(sets, "waiting") {
		t.Errorf("as of now it says %q, and its ReplicaSets are %s", about, sets)
	}
}
