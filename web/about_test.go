package web

import (
	"encoding/json"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/web/words"
)

// keeping is an archive of which only the state is asked.
type keeping struct {
	telemetry.Archive
	state telemetry.ArchiveState
}

func (k keeping) State() telemetry.ArchiveState { return k.state }

// TestAboutSaysWhatIsSo: the page has the mode, what is covered and what was
// lost, and a history that fails stands out.
func TestAboutSaysWhatIsSo(t *testing.T) {
	w := planWorld(t)
	_, h := w.serve(nil)
	_, body := get(t, h.URL, "/about")
	d := parse(t, body)
	d.sound()
	total, _, _ := w.journal.Window()
	for _, want := range []string{"Loopscope v0.1.0 on cluster dev-1.", "acting", "There is no leader election", "rules those of Kubernetes v1.36", "7c41", words.Digits(total) + " since", "none: syncs are kept in memory",
		"100 Deployments on a page", "5,000 pods"} {
		if !strings.Contains(d.one("main"), want) {
			t.Errorf("%q is not on the page:\n%s", want, d.one("main"))
		}
	}
	_, h = w.serve(func(o *Options) {
		o.Archive = keeping{o.Journal.Archive(), telemetry.ArchiveState{Path: "/var/lib/<b>history.db", Kept: 1200, Bytes: 5 << 20, MaxBytes: 1 << 30, MaxAge: 7 * 24 * time.Hour,
			Oldest: storyNow.Add(-72 * time.Hour), Newest: storyNow, Written: 1300, Dropped: 7, Expired: 100, Error: "no space left on device", ErrorSince: storyNow.Add(-time.Minute)}}
	})
	_, body = get(t, h.URL, "/about")
	d = parse(t, body)
	d.sound()
	for _, want := range []string{"/var/lib/<b>history.db", "1,200 syncs in 5 MiB", "1,024 MiB and 7d", "1,300 written, 7 lost, 100 expired", "no space left on device", "for 1m", "the history goes back to 2026-11-18 03:13:04"} {
		if !strings.Contains(d.one("main"), want) {
			t.Errorf("%q is not on the page:\n%s", want, d.one("main"))
		}
	}
	_, body = get(t, h.URL, "/about.json")
	var twin struct {
		Page struct {
			Sections       []struct{ Title string }
			History        string
			HistoryFailing bool
		}
	}
	if err := json.Unmarshal([]byte(body), &twin); err != nil || len(twin.Page.Sections) < 5 || twin.Page.History != "/var/lib/<b>history.db" || !twin.Page.HistoryFailing {
		t.Errorf("the twin has %+v, %v", twin, err)
	}
}

// TestReasonsAreThoseOfTheDocument: the page has the very anchors of REASONS.md,
// and whatever has a code on a page leads there.
func TestReasonsAreThoseOfTheDocument(t *testing.T) {
	text, err := os.ReadFile("../controllers/REASONS.md")
	if err != nil {
		t.Fatal(err)
	}
	_, h := planWorld(t).serve(nil)
	_, body := get(t, h.URL, "/reasons")
	d := parse(t, body)
	d.sound()
	want := map[string]bool{} // The first anchor of each section; the others lead there from loops that share it.
	for _, m := range regexp.MustCompile(`\n\n<a id="([^"]+)">`).FindAllStringSubmatch(string(text), -1) {
		want[m[1]] = true
	}
	got := map[string]bool{}
	for _, n := range d.all("li") {
		if id := attr(n, "id"); id != "" {
			got[id] = true
		}
	}
	for id := range want {
		if !got[id] {
			t.Errorf("%s is in REASONS.md and not on the page", id)
		}
	}
	if len(got) != len(want) || len(want) < 100 {
		t.Errorf("%d codes on the page, %d in REASONS.md", len(got), len(want))
	}
	_, body = get(t, h.URL, "/deployments/shop/stuck")
	href := regexp.MustCompile(`href="/reasons/([a-z-]+)#((?:deployment-held|worker-finding)-[a-z-]+)"`).FindStringSubmatch(body)
	if href == nil {
		t.Fatal("a held write has no link to its code")
	}
	res, body := get(t, h.URL, "/reasons/"+href[1])
	if res.StatusCode != http.StatusOK || !strings.Contains(body, `id="`+href[2]+`"`) {
		t.Errorf("%s: %s", href[0], res.Status)
	}
	if res, _ := get(t, h.URL, "/reasons/nothing"); res.StatusCode != http.StatusNotFound {
		t.Errorf("an unknown code: %s", res.Status)
	}
	if res, body := get(t, h.URL, "/reasons/floor.json"); res.StatusCode != http.StatusOK || !strings.HasPrefix(body, "{") {
		t.Errorf("the twin of a code: %s", res.Status)
	}
}

// TestShadowActing: a process that acts says that it compares nothing.
func TestShadowActing(t *testing.T) {
	_, h := planWorld(t).serve(nil)
	_, body := get(t, h.URL, "/shadow")
	d := parse(t, body)
	d.sound()
	if !strings.Contains(d.one("h1"), "This process acts, so there is nothing to compare.") {
		t.Error(d.one("h1"))
	}
}

// TestBrowserAbout looks at the pages of this file.
func TestBrowserAbout(t *testing.T) {
	t.Parallel()
	_, h := planWorld(t).serve(nil)
	ctx := browser(t)
	c := listen(t, ctx)
	for name, path := range map[string]string{"about": "/about?", "reasons": "/reasons/readiness?", "rules": "/rules?", "shadow": "/shadow?"} {
		portray(t, ctx, h.URL+path, name)
	}
	c.none(t)
}
