package web

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/html"

	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/decision"
	"github.com/loopscope/loopscope/web/address"
	"github.com/loopscope/loopscope/web/page"
)

// wentDown is when the API server of the story served last, where it has not since:
// before the deadline of the stuck rollout was over.
var wentDown = storyNow.Add(-5 * time.Minute)

const sinceThen = "As of 03:08:04 UTC: the API server has not answered since."

func down() telemetry.ServerState {
	return telemetry.ServerState{Since: wentDown, Error: "dial tcp 127.0.0.1:6443: connect: connection refused"}
}

func up() telemetry.ServerState { return telemetry.ServerState{Reachable: true, Since: storyNow} }

// underServer is the console of the story where that is known of the API server.
func underServer(t testing.TB, state func() telemetry.ServerState) (w *world, base string) {
	t.Helper()
	w = newWorld(t, storyNow.Add(-2*time.Hour))
	w.goldens()
	stuckRollout(w)
	_, h := w.serve(func(o *Options) { o.Server = state })
	return w, h.URL
}

// headTwin is what the twin of an object's page says first.
type headTwin struct {
	Sentence, Code string
	Gone           bool
	AsOf           *struct{ At time.Time }
}

func headOf(t testing.TB, base, path string) headTwin {
	t.Helper()
	var twin struct{ Page struct{ Head headTwin } }
	_, raw := get(t, base, path+".json")
	if err := json.Unmarshal([]byte(raw), &twin); err != nil {
		t.Fatal(err)
	}
	return twin.Page.Head
}

// running counts the ages and countdowns that run on in the elements of a selector.
func (d doc) running(selector string) int {
	n := 0
	for _, e := range d.all(selector) {
		for c := range e.Descendants() {
			if c.Type == html.ElementNode && (attr(c, "data-since") != "" || attr(c, "data-until") != "") {
				n++
			}
		}
	}
	return n
}

// TestOutageStopsAPage: what is said of an object with nothing to write is of before
// the outage, says so, and no age in it runs on.
func TestOutageStopsAPage(t *testing.T) {
	_, reached := underServer(t, up)
	_, cut := underServer(t, down)
	const path = "/deployments/shop/web"
	before, now := headOf(t, cut, path), headOf(t, reached, path)
	if before.AsOf == nil || !before.AsOf.At.Equal(wentDown) || !strings.HasSuffix(before.Sentence, "deadline in 3m 48s.") {
		t.Errorf("in the outage the twin says %q as of %v", before.Sentence, before.AsOf)
	}
	if now.AsOf != nil || !strings.HasSuffix(now.Sentence, "deadline in 0s.") {
		t.Errorf("where the API server serves, the twin says %q as of %v", now.Sentence, now.AsOf)
	}
	_, page := get(t, cut, path)
	d := parse(t, page)
	d.sound()
	if got := d.one("#as-of"); got != sinceThen {
		t.Errorf("the page says %q, want %q", got, sinceThen)
	}
	_, page = get(t, reached, path)
	live := parse(t, page)
	if len(live.all("#as-of")) != 0 {
		t.Error("where the API server serves, the page is of an earlier time")
	}
	for _, part := range []string{"h1", ".then", ".held", "#f-findings"} {
		if n := d.running(part); n != 0 {
			t.Errorf("%d clocks run on in %s", n, part)
		}
	}
	if live.running(".then") == 0 || live.running(".held") == 0 {
		t.Error("no clock runs where the API server serves: the test shows nothing")
	}
}

// TestOutageGoesOnByTheClock: what a timer's sync decides in an outage is as of then, from what was
// known before: a Deployment that missed its deadline meanwhile has not failed for no time at all.
func TestOutageGoesOnByTheClock(t *testing.T) {
	w, base := underServer(t, down)
	o := telemetry.Object{Loop: "deployment", Namespace: "shop", Name: "web"}
	newest, ok := w.journal.Board().Get(o)
	if !ok {
		t.Fatal("the story lacks shop/web")
	}
	later := *newest
	later.Started, later.Ended = wentDown.Add(2*time.Minute), wentDown.Add(2*time.Minute)
	w.journal.Record(&later)
	head := headOf(t, base, "/deployments/shop/web")
	if head.AsOf == nil || !head.AsOf.At.Equal(later.Ended) || !strings.HasSuffix(head.Sentence, "deadline in 1m 48s.") {
		t.Errorf("it says %q as of %v", head.Sentence, head.AsOf)
	}
	_, page := get(t, base, "/deployments/shop/web")
	if got, want := parse(t, page).one("#as-of"), "As of 03:10:04 UTC: the API server has not answered since 03:08:04."; got != want {
		t.Errorf("the page says %q, want %q", got, want)
	}
}

// TestOutageLeavesWhatIsOfNow: a sentence that says itself that nobody answers is of now,
// and the numbers beside it are not.
func TestOutageLeavesWhatIsOfNow(t *testing.T) {
	w, base := underServer(t, down)
	told := 0
	for _, r := range w.journal.Board().Rows("deployment") {
		if r.Trace.Sentence.Code != telemetry.CodeUnanswered {
			continue
		}
		told++
		path := address.Of(r.Trace.Object)
		if got, want := headOf(t, base, path).Sentence, r.Trace.Sentence.At(storyNow); got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
		_, page := get(t, base, path)
		if got, want := parse(t, page).one("#as-of"), "The numbers are as of 03:08:04 UTC: the API server has not answered since."; got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
	if told == 0 {
		t.Error("no Deployment of the story waits for the API server")
	}
}

// TestOutageMarksRows with the time that they are of, but for those that say themselves
// that nobody answers.
func TestOutageMarksRows(t *testing.T) {
	type row struct {
		Name  string
		AsOf  *time.Time
		Since json.RawMessage
		Why   json.RawMessage
	}
	read := func(base, query string) map[string]row {
		var twin struct {
			Page struct {
				Groups []struct{ Rows []row }
			}
		}
		_, raw := get(t, base, "/deployments.json"+query)
		if err := json.Unmarshal([]byte(raw), &twin); err != nil {
			t.Fatal(err)
		}
		rows := map[string]row{}
		for _, g := range twin.Page.Groups {
			for _, r := range g.Rows {
				rows[r.Name] = r
			}
		}
		return rows
	}
	_, reached := underServer(t, up)
	_, base := underServer(t, down)
	rows := read(base, "")
	if r := rows["web"]; r.AsOf == nil || !r.AsOf.Equal(wentDown) || !strings.HasPrefix(string(r.Since), `"`) {
		t.Errorf("the row of web: %+v", r)
	}
	if r := read(reached, "")["web"]; r.AsOf != nil || !strings.HasPrefix(string(r.Since), `[`) {
		t.Errorf("where the API server serves, the row of web: %+v", r)
	}
	unanswered := read(base, "?q=unanswered") // A page need not have them all.
	for _, name := range []string{"unanswered-create", "unanswered-status"} {
		if r := unanswered[name]; r.Name == "" || r.AsOf != nil {
			t.Errorf("the row of %s: %+v", name, r)
		}
	}
	_, page := get(t, base, "/deployments")
	d := parse(t, page)
	if got := d.one("#as-of"); got != sinceThen {
		t.Errorf("below the headline stands %q", got)
	}
	want := 0
	for name := range rows {
		if _, ok := unanswered[name]; !ok {
			want++
		}
	}
	if marked := strings.Count(page, "as of <time"); marked != want {
		t.Errorf("%d of %d rows are marked, want %d", marked, len(rows), want)
	}
	if d.running("td.why") != 0 {
		t.Error("a clock runs on in a row")
	}
}

// TestOutageRedraws draws a page anew, and the rows of a list, when an outage begins
// or ends: no trace says so.
func TestOutageRedraws(t *testing.T) {
	w := newWorld(t, storyNow.Add(-2*time.Hour))
	stuckRollout(w)
	var away atomic.Bool
	s := w.server(func(o *Options) {
		o.Server = func() telemetry.ServerState {
			if away.Load() {
				return down()
			}
			return up()
		}
	})
	to, err := site{s}.Find("/deployments/shop/web")
	if err != nil {
		t.Fatal(err)
	}
	asOf := func(f page.Fragment) bool { return strings.Contains(string(f.Wire), `id=\"as-of\"`) }
	for _, is := range []bool{false, true, false} {
		away.Store(is)
		if got := slices.ContainsFunc(drawOnce(t, to), asOf); got != is {
			t.Errorf("with an outage %v the page is of before: %v", is, got)
		}
		if row := s.lists.AllRows("deployment")[0]; (row.AsOf != nil) != is {
			t.Errorf("with an outage %v the row is of %v", is, row.AsOf)
		}
	}
}

// TestNoticeOfAnOutage says what is lacking, and what is due when it is back.
func TestNoticeOfAnOutage(t *testing.T) {
	for _, c := range []struct {
		name string
		lack telemetry.Lack
		due  bool
		want []string
	}{
		{"nobody answers", telemetry.LackAnswer, true, []string{"The API server does not answer ", "Since 03:08:04, for 5m.", "Writes for 2 Deployments and 1 ReplicaSet are pending and will be retried as soon as it is back."}},
		{"no etcd", telemetry.LackEtcd, false, []string{"The API server has lost its etcd ", "No writes are pending."}},
		{"no login", telemetry.LackLogin, true, []string{"The API server does not accept this process's credentials ", "will be retried as soon as the credentials are accepted.", "in a file that the kubeconfig names is read again within a minute; one in the kubeconfig itself takes a restart"}},
		{"not ready", telemetry.LackReady, false, []string{"The API server is not ready "}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, storyNow.Add(-2*time.Hour))
			w.journal.Record(plain("shop", "settled"))
			if c.due {
				unread, held, pods := plain("shop", "unread"), plain("shop", "held"), plain("shop", "pods")
				unread.Failure = &decision.Failure{Reason: decision.Unreachable}
				held.Report = &decision.Report{Hold: true}
				pods.Loop = "replicaset"
				pods.Rounds = []decision.Round{{Verdict: decision.Verdict{Actions: make([]decision.Action, 1)}, Outcomes: []decision.Outcome{{State: decision.Unanswered}}}}
				for _, x := range []*telemetry.Trace{unread, held, pods} {
					w.journal.Record(x)
				}
			}
			_, h := w.serve(func(o *Options) {
				o.Server = func() telemetry.ServerState { s := down(); s.Lack = c.lack; return s }
			})
			_, page := get(t, h.URL, "/queues")
			got := parse(t, page).one("#f-notice")
			for _, want := range c.want {
				if !strings.Contains(got, want) {
					t.Errorf("no %q in %q", want, got)
				}
			}
		})
	}
}

// TestStoryHasItsOutages as beats, and says of an open one as of when it is.
func TestStoryHasItsOutages(t *testing.T) {
	over := telemetry.Outage{Began: storyNow.Add(-10 * time.Minute), Ended: storyNow.Add(-9 * time.Minute), Error: "dial tcp: connect: connection refused"}
	_, base := underServer(t, func() telemetry.ServerState { s := down(); s.Over = []telemetry.Outage{over}; return s })
	_, page := get(t, base, "/deployments/shop/web/story")
	d := parse(t, page)
	if got := d.one("#as-of"); got != sinceThen {
		t.Errorf("below the headline stands %q", got)
	}
	beats := d.all("li.outage")
	if len(beats) != 2 {
		t.Fatalf("%d outages in\n%s", len(beats), d.one("ol.story"))
	}
	for i, want := range []string{
		"outageThe API server did not answer for 1m, until 03:04:04 (connection refused). Nothing was pending here",
		"outageThe API server has not answered since (connection refused)",
	} {
		if got := text(beats[i]); !strings.HasSuffix(got, want) {
			t.Errorf("it tells %q\nwant %q", got, want)
		}
	}
	var twin struct {
		Page struct{ Story *telemetry.Story }
	}
	_, raw := get(t, base, "/deployments/shop/web/story.json")
	if err := json.Unmarshal([]byte(raw), &twin); err != nil {
		t.Fatal(err)
	}
	if s := twin.Page.Story; s == nil || !s.AsOf.Equal(wentDown) || s.Counts.Outages != 2 || !strings.HasSuffix(s.Text, "deadline in 3m 48s.") {
		t.Errorf("the twin tells %+v", s)
	}
}

// TestSyncWithoutAnAnswer is unanswered wherever it is listed, and one that got a no has failed.
func TestSyncWithoutAnAnswer(t *testing.T) {
	w := newWorld(t, storyNow)
	for name, f := range map[string]*decision.Failure{"cut": {Reason: decision.Unreachable, Message: "connection refused"}, "refused": {Code: 403, Reason: "Forbidden", Message: "no"}} {
		x := plain("shop", name)
		x.Result, x.Failure, x.Sentence.Code = telemetry.ResultFailed, f, "write-refused"
		if f.Down() {
			x.Sentence.Code = telemetry.CodeUnanswered
		}
		w.journal.Record(x)
	}
	_, h := w.serve(nil)
	for _, c := range []struct{ name, word, headline string }{
		{"cut", "unanswered", "Sync %d of shop/cut got no answer: connection refused"}, {"refused", "failed", "Sync %d of shop/refused failed: no"},
	} {
		x, _ := w.journal.Board().Get(telemetry.Object{Loop: "deployment", Namespace: "shop", Name: c.name})
		_, page := get(t, h.URL, address.Of(x.Object))
		d := parse(t, page)
		for _, part := range []string{"#last", "#f-step", "#f-syncs"} {
			if got := d.one(part); !strings.Contains(got, c.word) {
				t.Errorf("%s of %s: no %q in %q", part, c.name, c.word, got)
			}
		}
		_, page = get(t, h.URL, address.Sync(x))
		if got, want := parse(t, page).one("h1"), fmt.Sprintf(c.headline, x.Seq); !strings.HasPrefix(got, want) {
			t.Errorf("headline %q, want %q", got, want)
		}
		_, page = get(t, h.URL, "/history?q="+c.name)
		if got := parse(t, page).one("main"); !strings.Contains(got, c.word) {
			t.Errorf("the history of %s: no %q in %q", c.name, c.word, got)
		}
	}
}

// TestNoticeOfAWatcher says nothing of writes: it has none.
func TestNoticeOfAWatcher(t *testing.T) {
	w := newWorld(t, storyNow)
	held := plain("shop", "held")
	held.Report = &decision.Report{Hold: true}
	w.journal.Record(held)
	_, h := w.serve(func(o *Options) { o.Server, o.Mode = down, "watch" })
	_, page := get(t, h.URL, "/deployments")
	if got := parse(t, page).one("#f-notice"); !strings.Contains(got, "The API server does not answer") || strings.Contains(got, "due") {
		t.Errorf("it says %q", got)
	}
}
