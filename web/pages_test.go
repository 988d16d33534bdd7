package web

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/loopscope/loopscope/controllers/decision"
	"github.com/loopscope/loopscope/telemetry"
)

func get(t testing.TB, base, path string, header ...string) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequest(http.MethodGet, base+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	client := &http.Client{Timeout: 10 * time.Second, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	res, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res, string(b)
}

// story is a console with every golden of both loops and a stuck rollout in it.
func story(t testing.TB) (*world, string) {
	t.Helper()
	w := newWorld(t, storyNow.Add(-2*time.Hour))
	w.goldens()
	stuckRollout(w)
	_, h := w.serve(nil)
	return w, h.URL
}

// TestEveryPageIsSound opens the page of every object and every sync of the
// story: whatever the loops can decide has a page, and each page is whole.
func TestEveryPageIsSound(t *testing.T) {
	w, base := story(t)
	paths := map[string]bool{"/deployments": true, "/queues": true, "/debug/controllers": true, "/deployments?q=is:settled": true, "/nowhere": false}
	for seq := uint64(1); seq <= w.journal.Last(); seq++ {
		trace, ok := w.journal.Get(seq)
		if !ok {
			t.Fatalf("trace %d is not kept", seq)
		}
		paths[hrefOf(trace.Object)], paths[syncHref(trace)] = true, true
	}
	for path, found := range paths {
		res, body := get(t, base, path)
		if (res.StatusCode == http.StatusOK) != found {
			t.Errorf("%s: %s", path, res.Status)
		}
		parse(t, body).sound()
		if t.Failed() {
			t.Fatalf("stopped at %s", path)
		}
	}
	t.Logf("%d pages", len(paths))
}

// TestTwins proves that every page has a twin in JSON with the same sentence.
func TestTwins(t *testing.T) {
	w, base := story(t)
	row := w.journal.Board().Rows(telemetry.LoopReplicaSet)[0]
	for _, path := range []string{"/deployments", "/deployments?q=is:waiting", "/deployments/shop/web", "/queues", hrefOf(row.Trace.Object), syncHref(row.Trace)} {
		route, args, _ := strings.Cut(path, "?")
		res, body := get(t, base, route+".json?"+args)
		if res.StatusCode != http.StatusOK || res.Header.Get("Content-Type") != "application/json" {
			t.Errorf("%s: %s %s", path, res.Status, res.Header.Get("Content-Type"))
		}
		var got struct {
			API, Epoch string
			Seq        uint64
			Page       map[string]any
		}
		if err := json.Unmarshal([]byte(body), &got); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		if got.Epoch != "7c41" || got.Seq != w.journal.Last() || len(got.Page) == 0 || got.API != "loopscope.page.v1+json" {
			t.Errorf("%s: %s %s %d, %d fields", path, got.API, got.Epoch, got.Seq, len(got.Page))
		}
		_, accepted := get(t, base, path, "Accept", "application/json")
		if accepted != body {
			t.Errorf("%s: the twin by Accept differs from the one by .json", path)
		}
	}
}

// TestStuckDeployment reads the page that somebody opens at night.
func TestStuckDeployment(t *testing.T) {
	w, base := story(t)
	_, body := get(t, base, "/deployments/shop/web")
	d := parse(t, body)
	newest, _ := w.journal.Board().Get(telemetry.Object{Loop: telemetry.LoopDeployment, Namespace: "shop", Name: "web"})
	said := newest.Sentence.At(storyNow)
	h1 := d.one("h1")
	if !strings.HasPrefix(said, h1) {
		t.Errorf("h1 is\n%q, the sentence is\n%q", h1, said)
	}
	for _, want := range []string{"3 new pods", "cannot pull", "registry.example/shop/web:3.4.0"} {
		if !strings.Contains(h1, want) {
			t.Errorf("the first sentence does not say %q: %s", want, h1)
		}
	}
	if then := d.one("p.then"); !strings.Contains(then, "Unblocks when") {
		t.Errorf("the second sentence does not say what unblocks it: %s", then)
	}
	heldText := d.one("div.held")
	for _, want := range []string{"Held back", "from 1 to 0", "11 total − 8 floor − 3 new not available = 0 may go", "ImagePullBackOff"} {
		if !strings.Contains(heldText, want) {
			t.Errorf("held back does not say %q: %s", want, heldText)
		}
	}
	path := d.one("#f-path")
	for _, step := range newest.Path() {
		if !strings.Contains(path, step.Question) {
			t.Errorf("the path lacks %s", step.Question)
		}
	}
	if !strings.Contains(path, "not asked") {
		t.Error("the path does not show what was not asked")
	}
	for _, want := range []string{"#f-side", "#f-syncs", "#f-sets", "#f-step"} {
		if d.one(want) == "" {
			t.Errorf("%s is empty", want)
		}
	}
}

// TestStepping walks from the newest kept sync to the oldest by the links of
// the page, and back.
func TestStepping(t *testing.T) {
	w, base := story(t)
	object := telemetry.Object{Loop: telemetry.LoopDeployment, Namespace: "shop", Name: "web"}
	kept := w.journal.Of(object, historyRows)
	path := "/deployments/shop/web"
	for i := len(kept) - 1; i >= 0; i-- {
		_, body := get(t, base, path)
		d := parse(t, body)
		if got := d.one("#f-step"); !strings.Contains(got, "Sync "+digits(kept[i].Seq)) {
			t.Fatalf("%s shows %s, want sync %d", path, got, kept[i].Seq)
		}
		if h1 := d.one("h1"); !strings.Contains(h1, "waiting") {
			t.Errorf("the sentence of %s is not of now: %s", path, h1)
		}
		path = ""
		for _, a := range d.all("a") {
			if attr(a, "rel") == "prev" {
				path = attr(a, "href")
			}
		}
		if (path == "") != (i == 0) {
			t.Fatalf("at sync %d the link to the previous is %q", kept[i].Seq, path)
		}
	}
}

func TestOverviewFilters(t *testing.T) {
	_, base := story(t)
	cases := []struct{ query, has, hasNot string }{
		{"", "/shop/web ", "Known are"},
		{"is:waiting", "/shop/web ", "/quota "},
		{"-is:waiting", "/quota ", "/shop/web "},
		{"ns:shop is:waiting", "/shop/web ", "/quota "},
		{"web", "/shop/web ", "/quota "},
		{"at:RR-3", "/shop/web ", "/selects-all "},
		{"reason:imagepullbackoff", "/shop/web ", "/quota "},
		{"colour:red", "Known are", "show all"},
		{"is:purple", "Known are", "show all"},
		{"ns:nowhere", "show all", "/shop/web "},
	}
	for _, c := range cases {
		_, body := get(t, base, filterHref(parseFilter(c.query)))
		d := parse(t, body)
		main := d.one("main")
		for _, a := range d.all("a.row") {
			main += " " + attr(a, "href") + " "
		}
		if !strings.Contains(main, c.has) || strings.Contains(main, c.hasNot) {
			t.Errorf("%q: has %q = %v, has %q = %v", c.query, c.has, strings.Contains(main, c.has), c.hasNot, strings.Contains(main, c.hasNot))
		}
	}
}

// TestPaging reads a list of several pages and meets every row once.
func TestPaging(t *testing.T) {
	w := newWorld(t, storyNow)
	const rows = 257
	for i := range rows {
		w.journal.Record(plain("many", "d-"+digits(i)))
	}
	_, h := w.serve(nil)
	seen := map[string]bool{}
	path, pages := "/deployments", 0
	for path != "" {
		_, body := get(t, h.URL, path)
		d := parse(t, body)
		for _, a := range d.all("a.row") {
			if seen[attr(a, "href")] {
				t.Errorf("%s is listed twice", attr(a, "href"))
			}
			seen[attr(a, "href")] = true
		}
		path, pages = "", pages+1
		for _, a := range d.all("a") {
			if attr(a, "rel") == "next" {
				path = attr(a, "href")
			}
		}
	}
	if len(seen) != rows || pages != 3 {
		t.Errorf("%d rows on %d pages, want %d on 3", len(seen), pages, rows)
	}
}

// plain is a trace of a settled Deployment.
func plain(namespace, name string) *telemetry.Trace {
	now := storyNow.Add(-time.Minute)
	return &telemetry.Trace{Object: telemetry.Object{Loop: telemetry.LoopDeployment, Namespace: namespace, Name: name}, Queued: now, Started: now, Ended: now,
		Result: telemetry.ResultUnchanged, Sentence: decision.Sentence{Namespace: namespace, Object: name, Tone: decision.ToneOK, Verb: "is", State: "settled"}}
}

// TestErrors asks for everything that is not there.
func TestErrors(t *testing.T) {
	w, base := story(t)
	last := digits(w.journal.Last())
	other := syncHref(w.journal.Board().Rows(telemetry.LoopReplicaSet)[0].Trace)
	_, otherSeq, _ := strings.Cut(other, "/syncs/7c41/")
	cases := []struct {
		path   string
		status int
		code   string
		says   []string
	}{
		{"/nowhere", 404, "not-found", []string{"no such page", "All Deployments"}},
		{"/deployments/shop/wbe", 404, "unknown-object", []string{"shop/wbe", "shop/web"}},
		{"/replicasets/shop/none", 404, "unknown-object", []string{"ReplicaSet shop/none"}},
		{"/deployments/shop/web?sync=0", 400, "bad-sync", []string{"numbered from 1"}},
		{"/deployments/shop/web?sync=-4", 400, "bad-sync", []string{"-4"}},
		{"/deployments/shop/web?sync=99999999999999999999999", 400, "bad-sync", []string{"not the number"}},
		{"/deployments/shop/web?sync=999999", 404, "no-such-sync", []string{"newest of this run is " + last}},
		{"/deployments/shop/web?sync=3&epoch=dead", 410, "other-epoch", []string{"dead", "7c41"}},
		{"/deployments/shop/web?sync=" + otherSeq, 404, "other-object", []string{"belongs to"}},
		{"/deployments/shop/web/syncs/dead/3", 410, "other-epoch", []string{"dead"}},
		{"/deployments/shop/web/syncs/7c41/x", 400, "bad-sync", []string{"not the number"}},
		{"/deployments/shop/web/syncs/7c41/999999", 404, "no-such-sync", nil},
		{"/deployments/shop/web/syncs/7c41/" + otherSeq, 404, "other-object", nil},
		{"/deployments?after=shop/none", 404, "no-such-row", []string{"The first page"}},
		{"/deployments?q=" + strings.Repeat("x", 2000), 414, "query-too-long", nil},
		{"/debug/controllers/nothing", 404, "unknown-loop", nil},
		{"/debug/controllers/deployment/shop/none", 404, "unknown-object", nil},
		{"/static/console.js", 404, "not-found", nil},
	}
	for _, c := range cases {
		res, body := get(t, base, c.path)
		if res.StatusCode != c.status {
			t.Errorf("%s: %s, want %d", c.path, res.Status, c.status)
		}
		for _, want := range c.says {
			if !strings.Contains(body, want) {
				t.Errorf("%s does not say %q", c.path, want)
			}
		}
		if !strings.HasPrefix(c.path, "/debug/") {
			parse(t, body).sound()
		}
		res, body = get(t, base, c.path, "Accept", "application/json")
		var got wire
		if err := json.Unmarshal([]byte(body), &got); err != nil || res.StatusCode != c.status || got.Error.Code != c.code || got.Error.Message == "" {
			t.Errorf("%s as JSON: %s, %v %+v, want code %s", c.path, res.Status, err, got, c.code)
		}
	}
}

// TestTooOld names the nearest kept sync for one that is kept no longer.
func TestTooOld(t *testing.T) {
	w := newWorld(t, storyNow)
	w.journal = telemetry.NewJournal(telemetry.JournalOptions{Epoch: "7c41", Recent: 4})
	for range 12 {
		w.journal.Record(plain("shop", "web"))
	}
	_, h := w.serve(nil)
	res, body := get(t, h.URL, "/deployments/shop/web/syncs/7c41/2")
	if res.StatusCode != http.StatusGone || !strings.Contains(body, "no longer kept") || !strings.Contains(body, "/deployments/shop/web/syncs/7c41/9") {
		t.Errorf("%s, without the nearest kept sync 9:\n%s", res.Status, parse(t, body).one("main"))
	}
}

// TestHostileNames puts markup, directions and long names everywhere a cluster
// can put them.
func TestHostileNames(t *testing.T) {
	evil := `<script>alert(1)</script>"'><img src=x onerror=alert(2)>`
	rtl := "\u202egpj.exe\u202c"
	long := strings.Repeat("very-long-name.", 16) + strings.Repeat("x", 13)
	w := newWorld(t, storyNow)
	for _, name := range []string{evil, rtl, long, "web.json"} {
		x := plain("shop", name)
		x.Causes = []telemetry.Cause{{Kind: telemetry.CauseKind(evil), Object: "Pod " + evil, Manager: evil, Fields: []decision.Change{{Field: evil, From: rtl, To: evil}}}}
		x.Failure = &decision.Failure{Reason: evil, Message: evil + rtl + long}
		x.Sentence.Lead = decision.Words{}.Say("it says ").Quote(evil).Name(rtl)
		x.Sentence.Then = decision.Words{}.Quote(long)
		x.Rounds = []decision.Round{{Verdict: decision.Verdict{Path: decision.Path{{Question: evil, Answer: evil, Facts: []decision.Fact{decision.Text(evil, evil)}}},
			Held: []decision.Held{{Code: evil, Question: evil, Target: decision.Ref{Kind: evil, Name: evil}, Blockers: []decision.Blocker{{Kind: evil, Name: evil, Reason: evil, Message: evil}}}}}}}
		w.journal.Record(x)
	}
	_, h := w.serve(func(o *Options) {
		o.Cluster, o.Leader = evil, evil
		o.Server = func() telemetry.ServerState { return telemetry.ServerState{Error: evil, Since: storyNow} }
		o.Ready = func() error { return errors.New(evil) }
	})
	paths := []string{"/deployments", "/queues", "/deployments?q=" + "%3Cscript%3Ealert(1)%3C/script%3E", "/deployments/shop/%3Cscript%3E?sync=%3Cscript%3E"}
	for _, row := range w.journal.Board().Rows(telemetry.LoopDeployment) {
		paths = append(paths, hrefOf(row.Trace.Object), syncHref(row.Trace))
	}
	for _, path := range paths {
		res, body := get(t, h.URL, path)
		if res.StatusCode == http.StatusInternalServerError {
			t.Errorf("%s: %s", path, res.Status)
		}
		d := parse(t, body)
		d.sound()
		if len(d.all("img")) > 0 || len(d.all("script")) > 2 {
			t.Errorf("%s: markup of the cluster came through", path)
		}
	}
	if res, body := get(t, h.URL, "/deployments/shop/web.json"); res.StatusCode != 200 || !strings.HasPrefix(body, "<!doctype") && !strings.HasPrefix(body, "<!DOCTYPE") {
		t.Errorf("a Deployment called web.json has no page: %s", res.Status)
	}
}

// TestServerGone says so on every page and in /readyz.
func TestServerGone(t *testing.T) {
	w := newWorld(t, storyNow)
	_, h := w.serve(func(o *Options) {
		o.Server = func() telemetry.ServerState {
			return telemetry.ServerState{Since: storyNow.Add(-12 * time.Second), Error: "connection refused"}
		}
	})
	for _, path := range []string{"/deployments", "/queues", "/nowhere"} {
		_, body := get(t, h.URL, path)
		if got := parse(t, body).one("#f-notice"); !strings.Contains(got, "The API server does not answer") || !strings.Contains(got, "for 12s") || !strings.Contains(got, "connection refused") {
			t.Errorf("%s: notice %q", path, got)
		}
	}
	if res, body := get(t, h.URL, "/readyz"); res.StatusCode != http.StatusServiceUnavailable || !strings.Contains(body, "[-]api-server failed") {
		t.Errorf("/readyz: %s\n%s", res.Status, body)
	}
	if res, body := get(t, h.URL, "/healthz?verbose"); res.StatusCode != http.StatusOK || !strings.Contains(body, "[+]ping ok\nhealthz check passed") {
		t.Errorf("/healthz: %s\n%s", res.Status, body)
	}
	if _, body := get(t, h.URL, "/livez"); body != "ok" {
		t.Errorf("/livez: %q", body)
	}
}

// TestPanicIsAPage keeps a defect of one page from being more than that.
func TestPanicIsAPage(t *testing.T) {
	w := newWorld(t, storyNow)
	_, h := w.serve(func(o *Options) { o.Loops = func() []telemetry.LoopState { panic("a defect") } })
	res, body := get(t, h.URL, "/queues")
	if res.StatusCode != http.StatusInternalServerError || !strings.Contains(body, "could not be drawn") || strings.Contains(body, "a defect") {
		t.Errorf("%s\n%s", res.Status, body)
	}
	parse(t, body).sound()
}

func TestEmptyConsole(t *testing.T) {
	_, h := newWorld(t, storyNow).serve(func(o *Options) { o.Loops = nil })
	_, body := get(t, h.URL, "/deployments")
	if got := parse(t, body).one("main"); !strings.Contains(got, "watch the loop decide") || !strings.Contains(got, "kubectl create deployment") {
		t.Errorf("the first page does not say what to do: %s", got)
	}
	for _, path := range []string{"/queues", "/debug/controllers"} {
		_, body := get(t, h.URL, path)
		parse(t, body).sound()
	}
}

func TestDebug(t *testing.T) {
	_, base := story(t)
	for path, want := range map[string]string{"/debug/controllers": "/debug/controllers/deployment", "/debug/controllers/deployment": `"verdicts"`,
		"/debug/controllers/replicaset": `"state"`, "/debug/controllers/deployment/shop/web": `"newest"`} {
		res, body := get(t, base, path)
		if res.StatusCode != http.StatusOK || !strings.Contains(body, want) {
			t.Errorf("%s: %s, lacks %s", path, res.Status, want)
		}
	}
	if _, body := get(t, base, "/debug/controllers", "Accept", "application/json"); !json.Valid([]byte(body)) {
		t.Errorf("the index as JSON is not: %s", body)
	}
}
