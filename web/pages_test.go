package web

import (
	"encoding/json"
	"html"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/a-h/templ"

	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/decision"
	"github.com/loopscope/loopscope/web/address"
	"github.com/loopscope/loopscope/web/filter"
	"github.com/loopscope/loopscope/web/source"
	"github.com/loopscope/loopscope/web/words"
)

func get(t testing.TB, base, path string, header ...string) (*http.Response, string) {
	t.Helper()
	return getWithin(t, 10*time.Second, base, path, header...)
}

func getWithin(t testing.TB, patience time.Duration, base, path string, header ...string) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequest(http.MethodGet, base+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	client := &http.Client{Timeout: patience, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	res, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	if strings.HasPrefix(res.Header.Get("Content-Type"), "text/html") {
		return res, resolved(string(b), req.URL)
	}
	return res, string(b)
}

// linkOf finds what leads somewhere else, as pages write it: from where they are.
var linkOf = regexp.MustCompile(`( (?:href|src|action|data-root)=")((?:\.\./|\./|[a-z])[^"]*)"`)

// resolved is a page whose links begin with a slash, as a browser takes them.
func resolved(page string, at *url.URL) string {
	return linkOf.ReplaceAllStringFunc(page, func(attribute string) string {
		m := linkOf.FindStringSubmatch(attribute)
		to, err := url.Parse(html.UnescapeString(m[2]))
		if err != nil || to.IsAbs() {
			return attribute
		}
		return m[1] + templ.EscapeString(at.ResolveReference(to).RequestURI()+anchorOf(to)) + `"`
	})
}

func anchorOf(u *url.URL) string {
	if u.Fragment == "" {
		return ""
	}
	return "#" + u.EscapedFragment()
}

// told is a console with every golden of both loops and a stuck rollout in it.
func told(t testing.TB) (*world, string) {
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
	w, base := told(t)
	paths := map[string]bool{"/deployments": true, "/queues": true, "/debug/controllers": true, "/deployments?q=is:settled": true, "/nowhere": false,
		"/deployments/shop/web/story": true, "/deployments/shop/nothing/story": false, "/deployments/shop/web/story?at=now": false}
	step := uint64(1)
	if testing.Short() {
		step = 50
	}
	for seq := uint64(1); seq <= w.journal.Last(); seq += step {
		trace, ok := w.journal.Get(seq)
		if !ok {
			t.Fatalf("trace %d is not kept", seq)
		}
		paths[address.Of(trace.Object)], paths[address.Sync(trace)], paths[address.Sync(trace)+"/chain"] = true, true, true
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
	w, base := told(t)
	set, controller := w.journal.Board().Rows("replicaset")[0].Trace, w.journal.Board().Rows("replicationcontroller")[0].Trace
	for _, path := range []string{"/deployments", "/deployments?q=is:waiting", "/deployments/shop/web", "/queues",
		address.Of(set.Object), address.Sync(set), address.Of(controller.Object), address.Sync(controller)} {
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
	w, base := told(t)
	_, body := get(t, base, "/deployments/shop/web")
	d := parse(t, body)
	newest, _ := w.journal.Board().Get(telemetry.Object{Loop: "deployment", Namespace: "shop", Name: "web"})
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
	if then := d.one("p.then"); !strings.Contains(then, "Needs action: unblocks when") {
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
	longUnderRace(t)
	w, base := told(t)
	object := telemetry.Object{Loop: "deployment", Namespace: "shop", Name: "web"}
	kept := w.journal.Of(object, source.HistoryRows)
	path := "/deployments/shop/web"
	for i := len(kept) - 1; i >= 0; i-- {
		_, body := get(t, base, path)
		d := parse(t, body)
		if got := d.one("#f-step"); !strings.Contains(got, "Sync "+words.Digits(kept[i].Seq)) {
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
	longUnderRace(t)
	_, base := told(t)
	cases := []struct{ query, has, hasNot string }{
		{"", "/shop/web ", "Terms: "},
		{"is:waiting", "/shop/web ", "/quota "},
		{"-is:waiting", "/quota ", "/shop/web "},
		{"ns:shop is:waiting", "/shop/web ", "/quota "},
		{"web", "/shop/web ", "/quota "},
		{"at:RR-3", "/shop/web ", "/selects-all "},
		{"reason:imagepullbackoff", "/shop/web ", "/quota "},
		{"colour:red", "Terms: ", "show all"},
		{"is:purple", "Terms: ", "show all"},
		{"ns:nowhere", "show all", "/shop/web "},
	}
	for _, c := range cases {
		_, body := get(t, base, filter.Href("deployment", filter.Parse(c.query)))
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
		w.journal.Record(plain("many", "d-"+words.Digits(i)))
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
	return &telemetry.Trace{Object: telemetry.Object{Loop: "deployment", Namespace: namespace, Name: name}, Queued: now, Started: now, Ended: now,
		Result: telemetry.ResultUnchanged, Sentence: decision.Sentence{Namespace: namespace, Object: name, Tone: decision.ToneOK, Verb: "is", State: "settled"}}
}

// longUnderRace leaves a test out of short runs, as those under the race detector are:
// it works in one goroutine, where the detector finds nothing and takes ten times as long.
func longUnderRace(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("works in one goroutine and takes seconds under the race detector")
	}
}
