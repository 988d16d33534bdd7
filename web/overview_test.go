package web

import (
	"math/rand/v2"
	"net/http"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/loopscope/loopscope/controllers/replicaset"
	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/decision"
	"github.com/loopscope/loopscope/views"
	"github.com/loopscope/loopscope/web/address"
	"github.com/loopscope/loopscope/web/filter"
	"github.com/loopscope/loopscope/web/timeline"
	"github.com/loopscope/loopscope/web/words"
)

// TestOverviewFiltersByImageAndManager finds Deployments by the image of their
// template, and by who changed them.
func TestOverviewFiltersByImageAndManager(t *testing.T) {
	_, h := planWorld(t).serve(nil)
	for query, want := range map[string]string{"image:3.4.0": "stuck", "image:SHOP/web": "stuck web", "-image:3.4.0": "web", "by:kubectl": "stuck web", "by:helm": "", "-by:helm image:3.3": "web"} {
		_, body := get(t, h.URL, filter.Href("deployment", filter.Parse(query)))
		var found []string
		for _, a := range parse(t, body).all("a.row") {
			found = append(found, strings.TrimPrefix(attr(a, "href"), "/deployments/shop/"))
		}
		if got := strings.Join(found, " "); got != want {
			t.Errorf("%s finds %q, want %q", query, got, want)
		}
	}
}

// TestListsFilterByImage: ReplicationControllers and rolling updates are found by the images of their
// templates, too, and an update by the one that is asked for.
func TestListsFilterByImage(t *testing.T) {
	w := newWorld(t, storyNow)
	pay := w.decideReplicaSet(&replicaset.Snapshot{Version: 1, Kind: "ReplicationController", Found: true, Now: storyNow, Namespace: "shop", Name: "pay", Images: []string{"nginx:1.27"}}, script{})
	pay.Loop = "replicationcontroller"
	w.journal.Record(pay)
	for _, name := range []string{"floor", "begin"} {
		w.goldenUpdate("../controllers/rollingupdate/testdata/golden/" + name + ".txtar")
	}
	_, h := w.serve(nil)
	for _, c := range []struct{ loop, query, want string }{
		{"replicationcontroller", "image:nginx", "pay"}, {"replicationcontroller", "image:2.0", ""}, {"replicationcontroller", "-image:nginx", ""},
		{"rollingupdate", "image:web:1 ns:update-floor", "web"}, {"rollingupdate", "image:web:2 ns:update-floor", "web"}, {"rollingupdate", "image:web:2 ns:update-begin", "web"}, {"rollingupdate", "image:web:3", ""},
	} {
		_, body := get(t, h.URL, filter.Href(c.loop, filter.Parse(c.query)))
		var found []string
		for _, a := range parse(t, body).all("a.row") {
			found = append(found, path.Base(attr(a, "href")))
		}
		if got := strings.Join(found, " "); got != c.want {
			t.Errorf("%s %s finds %q, want %q", c.loop, c.query, got, c.want)
		}
	}
}

// TestHeadlineOfFew: the headline of a list is English, however few there are.
func TestHeadlineOfFew(t *testing.T) {
	w := newWorld(t, storyNow)
	_, h := w.serve(nil)
	for _, c := range []struct{ name, want string }{
		{"a", "The only Deployment needs no action."}, {"b", "Both Deployments need no action."}, {"c", "All 3 Deployments need no action."},
	} {
		w.journal.Record(plain("shop", c.name))
		if _, body := get(t, h.URL, "/deployments"); !strings.Contains(parse(t, body).one("main"), c.want) {
			t.Errorf("with %s it does not say %q", c.name, c.want)
		}
	}
}

// TestSparks: a row that needs attention has the steps of its sizes, as its
// syncs saw them; a settled one has none, nor one of which nothing is known.
func TestSparks(t *testing.T) {
	w := planWorld(t)
	s := w.server(nil)
	for _, v := range s.lists.AllRows("deployment") {
		switch {
		case v.Name == "web" && v.Spark != nil:
			t.Error("a settled row has a picture")
		case v.Name == "stuck" && v.Spark == nil:
			t.Fatal("shop/stuck has none")
		case v.Name == "stuck":
			steps := v.Spark.Steps
			first, last := steps[0], steps[len(steps)-1]
			if first.New != 10 || first.Old != 0 || last.New != 10 || last.Old != 1 || len(steps) < 8 {
				t.Errorf("steps %+v", steps)
			}
			for i, p := range steps {
				if p.At.After(storyNow) || p.At.Before(storyNow.Add(-21*time.Minute)) || i > 0 && !p.At.After(steps[i-1].At) {
					t.Errorf("step %d at %s", i, p.At)
				}
			}
		}
	}
	stuck, _ := w.journal.Board().Get(telemetry.Object{Loop: "deployment", Namespace: "shop", Name: "stuck"})
	unknown := *stuck
	unknown.Numbers, unknown.Name = nil, "other"
	w.journal.Record(&unknown)
	if v := rowNamed(t, s, "other").Spark; v != nil {
		t.Errorf("nothing is known, and %+v is drawn", v)
	}
	reborn := *stuck
	reborn.UID, reborn.Ended = "another", storyNow.Add(-2*time.Minute)
	w.journal.Record(&reborn)
	if v := rowNamed(t, s, "stuck").Spark; v == nil || len(v.Steps) != 1 {
		t.Errorf("one of the same name has the steps of the other: %+v", v)
	}
}

// rowNamed is a row of the list of Deployments.
func rowNamed(t *testing.T, s *Server, name string) views.Row {
	t.Helper()
	for _, v := range s.lists.AllRows("deployment") {
		if v.Name == name {
			return v
		}
	}
	t.Fatalf("%s is not in the list", name)
	return views.Row{}
}

// TestSparksMoveOnceAMinute: a row's picture ends at the last full minute, stays until the
// next one whatever happens, and is not that of another object of the same name.
func TestSparksMoveOnceAMinute(t *testing.T) {
	now := storyNow.Truncate(time.Minute)
	w := newWorld(t, now.Add(-time.Hour))
	s := w.server(func(o *Options) { o.Now = func() time.Time { return now } })
	sync := func(uid string, ended time.Time, pods int64) {
		x := plain("shop", "grows")
		x.UID, x.Started, x.Ended, x.Sentence.Tone = uid, ended, ended, decision.ToneWaiting
		x.Numbers = []decision.Fact{decision.Count("new", pods), decision.Count("old", 0), decision.Count("ceiling", 9)}
		w.journal.Record(x)
	}
	steps := func() (pods []int64) {
		t.Helper()
		rows := s.lists.AllRows("deployment")
		if len(rows) != 1 {
			t.Fatalf("%d rows", len(rows))
		}
		if v := rows[0].Spark; v != nil {
			for _, p := range v.Steps {
				pods = append(pods, p.New)
			}
		}
		return pods
	}
	sync("one", now.Add(-2*time.Minute), 1)
	sync("one", now.Add(-time.Minute), 2)
	now = now.Add(20 * time.Second)
	sync("one", now.Add(-10*time.Second), 3)
	sync("one", now, 4)
	for range 2 {
		if got := steps(); !slices.Equal(got, []int64{1, 2}) {
			t.Errorf("within the minute: %v", got)
		}
		sync("one", now, 4)
	}
	now = now.Add(time.Minute)
	if got := steps(); !slices.Equal(got, []int64{1, 2, 3, 4}) {
		t.Errorf("a minute later: %v", got)
	}
	sync("two", now, 5)
	if got := steps(); got != nil {
		t.Errorf("of another object: %v", got)
	}
}

// TestSparkOfTheLastSeconds: what has only begun is not drawn as a line.
func TestSparkOfTheLastSeconds(t *testing.T) {
	w := planWorld(t)
	s := w.server(nil)
	stuck, _ := w.journal.Board().Get(telemetry.Object{Loop: "deployment", Namespace: "shop", Name: "stuck"})
	current := *stuck
	current.UID, current.Ended = "another", storyNow
	w.journal.Record(&current)
	if v := rowNamed(t, s, "stuck").Spark; v != nil {
		t.Errorf("drawn: %+v", v)
	}
}

// TestBrowserOverview presses the keys of the list and lets rows change their
// group under the reader.
func TestBrowserOverview(t *testing.T) {
	t.Parallel()
	w := planWorld(t)
	w.pump()
	for i := range 150 {
		w.journal.Record(plain("many", "d-"+words.Digits(i)))
	}
	_, h := w.serve(func(o *Options) { o.Now = time.Now })
	ctx := browser(t)
	c := listen(t, ctx)
	do(t, ctx, chromedp.EmulateViewport(1440, 900), chromedp.Navigate(h.URL+"/deployments"))
	until(t, ctx, isLive)

	// The head of a group stays in sight while its rows are read.
	run(t, ctx, chromedp.Evaluate[bool](`(scrollTo(0, 1500), true)`))
	until(t, ctx, `[...document.querySelectorAll('.group th')].some(e => Math.abs(e.getBoundingClientRect().top) <= 1 && e.innerText.startsWith('Settled'))`)
	run(t, ctx, chromedp.Evaluate[bool](`(scrollTo(0, 0), true)`))

	// A row that changes its group stays where it is until the reader asks.
	row := `document.getElementById('` + address.Row(plain("many", "d-3").Object) + `')`
	before := run(t, ctx, chromedp.Evaluate[int]("[..."+row+".parentElement.children].indexOf("+row+")"))
	failed := plain("many", "d-3")
	failed.Result, failed.Ended = telemetry.ResultFailed, time.Now()
	failed.Sentence = decision.Sentence{Namespace: "many", Object: "d-3", Tone: decision.ToneFailed, Verb: "has", State: "failed", Lead: decision.Words{}.Say("nothing goes any more")}
	w.journal.Record(failed)
	until(t, ctx, `document.querySelector('#resort').innerText.startsWith('1 changed group')`)
	if after := run(t, ctx, chromedp.Evaluate[int]("[..."+row+".parentElement.children].indexOf("+row+")")); after != before || !run(t, ctx, chromedp.Evaluate[bool](row+`.closest('tbody').dataset.g === 'Settled' && `+row+`.innerText.includes('failed')`)) {
		t.Errorf("the row moved from %d to %d, or does not say what is so", before, after)
	}
	run(t, ctx, chromedp.Evaluate[bool](`(document.querySelector('#resort a').click(), true)`))
	until(t, ctx, row+`?.closest('tbody').dataset.g === 'Failed' && document.querySelector('#resort').hidden && !document.querySelector('#live').hidden`)

	keys(t, ctx, "n")
	until(t, ctx, `location.search.includes('after=') && document.querySelectorAll('tr[data-row]').length === 52 && !document.querySelector('#live').hidden`)
	for i, o := range words.Outcomes {
		keys(t, ctx, string(rune('1'+i)))
		word := strings.TrimPrefix(o.Word, "on ")
		until(t, ctx, `new URLSearchParams(location.search).get('q') === 'is:`+word+`' && document.querySelector('.tally [aria-current]')?.innerText.includes('`+word+`') && `+isLive)
	}
	c.none(t)
	do(t, ctx, chromedp.Navigate("about:blank"))
	_, still := planWorld(t).serve(nil)
	portray(t, ctx, still.URL+"/deployments?", "overview-sparks")
	portray(t, ctx, still.URL+"/deployments?q=image:3.4+by:kubectl+colour:red&", "overview-filter")
}

// TestOverviewUnknownTerm: a term that nobody knows stays as a chip, with those
// that are known, and filters nothing.
func TestOverviewUnknownTerm(t *testing.T) {
	_, h := planWorld(t).serve(nil)
	res, body := get(t, h.URL, "/deployments?q=colour:red+-image:none")
	d := parse(t, body)
	if res.StatusCode != http.StatusOK || len(d.all("a.row")) != 2 || len(d.all(".chip")) != 2 || !strings.Contains(d.one("main"), "by:MANAGER") || !strings.Contains(d.one("main"), "not image:none") {
		t.Errorf("%s, %d rows, %d chips", res.Status, len(d.all("a.row")), len(d.all(".chip")))
	}
}

// TestSizesOfTheLastMinutes compares what is found going back from a sync with what
// going forward finds.
func TestSizesOfTheLastMinutes(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 2))
	w := planWorld(t)
	at := storyNow.Add(-40 * time.Minute)
	var forward []timeline.Size
	for i := range 300 {
		at = at.Add(time.Duration(rng.IntN(20)) * time.Second)
		x := plain("many", "grows")
		x.UID, x.Started, x.Ended = "one", at, at
		if i == 250 {
			forward = nil
		}
		if i >= 250 {
			x.UID = "two"
		}
		switch {
		case rng.IntN(20) == 0:
			x.UID = "" // It saw nothing.
		default:
			x.Numbers = []decision.Fact{decision.Count("new", rng.Int64N(4)), decision.Count("old", rng.Int64N(2)), decision.Count("ceiling", 4+rng.Int64N(3))}
			now, n := timeline.Size{Sizes: x.Sizes(), At: at}, len(forward)
			if n > 0 && forward[n-1].New == now.New && forward[n-1].Old == now.Old {
				forward[n-1].Ceiling = max(forward[n-1].Ceiling, now.Ceiling)
			} else {
				forward = append(forward, now)
			}
		}
		w.journal.Record(x)
		if i == 250 && x.UID == "" {
			t.Fatal("choose another seed: the new one has to be seen")
		}
		for len(forward) > 1 && !forward[1].At.After(at.Add(-5*time.Minute)) {
			forward = forward[1:]
		}
		if got := timeline.SizesUntil(w.journal, x, at.Add(-5*time.Minute), at); !slices.EqualFunc(got, forward, func(a, b timeline.Size) bool {
			return a.New == b.New && a.Old == b.Old && (a.At.Equal(b.At) || !a.At.After(at.Add(-5*time.Minute)))
		}) {
			t.Fatalf("after %d syncs:\n%+v\nwant\n%+v", i+1, got, forward)
		}
	}
}

// TestOverviewAsksOfOneQueue: all there is to know of the loops copies every key of every queue with
// its causes. A list is drawn several times a second, and needs that only where it is empty.
func TestOverviewAsksOfOneQueue(t *testing.T) {
	w := newWorld(t, storyNow)
	asked := 0
	s := w.server(func(o *Options) {
		o.Queue = func(string) telemetry.QueueState { return telemetry.QueueState{} }
		o.Loops = func() []telemetry.LoopState { asked++; return w.loops() }
	})
	draw := func(path string) int {
		to, err := site{s}.Find(path)
		if err != nil {
			t.Fatal(err)
		}
		asked = 0
		drawOnce(t, to)
		return asked
	}
	if draw("/deployments") == 0 {
		t.Error("an empty list did not ask whether its loop runs")
	}
	w.journal.Record(plain("shop", "web"))
	for _, path := range []string{"/deployments", "/deployments?q=ns:none"} {
		if n := draw(path); n > 0 {
			t.Errorf("%s asked %d times for all there is to know of the loops, and it has a row", path, n)
		}
	}
}
