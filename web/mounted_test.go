package web

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"golang.org/x/net/html"

	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/web/source"
	"github.com/loopscope/loopscope/web/words"
)

// mount serves a console under an address of somebody else's mux.
const mount = "/debug/scope"

func (w *world) mounted(change func(*Options)) string {
	mux := http.NewServeMux()
	mux.Handle(mount+"/", http.StripPrefix(mount, w.server(change).Handler()))
	h := httptest.NewServer(mux)
	w.t.Cleanup(h.Close)
	return h.URL
}

// leadsTo are the addresses to which a page leads, as a browser resolves them.
func leadsTo(t *testing.T, page string, at *url.URL) []*url.URL {
	t.Helper()
	root, err := html.Parse(strings.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	var list []*url.URL
	for n := range root.Descendants() {
		for _, a := range n.Attr {
			if a.Key != "href" && a.Key != "src" && a.Key != "action" && a.Key != "data-root" {
				continue
			}
			to, err := at.Parse(a.Val)
			if err != nil || strings.HasPrefix(a.Val, "/") {
				t.Errorf("%s leads to %q: %v", at, a.Val, err)
				continue
			}
			to.Fragment = ""
			list = append(list, to)
		}
	}
	return list
}

// TestMounted walks every link of a console that is mounted under an address that it does
// not know: none leads out of it, and each leads somewhere.
func TestMounted(t *testing.T) {
	longUnderRace(t)
	w := newWorld(t, storyNow.Add(-2*time.Hour))
	stuckRollout(w)
	base := w.mounted(nil)
	first, err := url.Parse(base + mount + "/")
	if err != nil {
		t.Fatal(err)
	}
	todo, seen := []*url.URL{first}, map[string]bool{first.String(): true}
	for len(todo) > 0 && !t.Failed() {
		at := todo[0]
		todo = todo[1:]
		res, err := http.Get(at.String())
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(res.Body)
		_ = res.Body.Close()
		if err != nil || res.StatusCode != http.StatusOK {
			t.Errorf("%s: %s, %v", at, res.Status, err)
		}
		if !strings.HasPrefix(res.Header.Get("Content-Type"), "text/html") {
			continue
		}
		for _, to := range leadsTo(t, string(body), res.Request.URL) {
			if !strings.HasPrefix(to.String(), base+mount+"/") {
				t.Errorf("%s leads out of the console, to %s", at, to)
			}
			if len(seen) < 250 && !seen[to.String()] {
				seen[to.String()] = true
				todo = append(todo, to)
			}
		}
	}
	if len(seen) < 100 {
		t.Errorf("only %d pages are within reach", len(seen))
	}
}

// TestBrowserMounted: such a console is live, steps from sync to sync, and has its keys.
func TestBrowserMounted(t *testing.T) {
	t.Parallel()
	w := newWorld(t, time.Now().Add(-2*time.Hour))
	w.now = time.Now().Add(-12 * time.Minute)
	r := w.rollout("web")
	r.begin()
	r.roll("registry.example/shop/web:3.4.0", 3)
	w.pump()
	base := w.mounted(func(o *Options) { o.Now = time.Now })
	ctx := browser(t)
	c := listen(t, ctx)
	steps := w.journal.Of(telemetry.Object{Loop: "deployment", Namespace: "shop", Name: "web"}, source.HistoryRows)
	before := steps[len(steps)-2].Seq
	press := func(then string, list ...string) {
		t.Helper()
		keys(t, ctx, list...)
		until(t, ctx, then)
	}
	page := `location.pathname === '` + mount + `/deployments/shop/web' && ` + isLive
	do(t, ctx, chromedp.Navigate(base+mount+"/"))
	until(t, ctx, `location.pathname === '`+mount+`/deployments' && `+isLive)
	press(page, "j", "o")
	press(stepIs(before)+` && location.search.includes('sync=`+words.Digits(before)+`')`, "h")
	do(t, ctx, chromedp.NavigateBack())
	until(t, ctx, page)
	x := r.sync(telemetry.Cause{Kind: telemetry.CauseResync, Object: "Deployment web"})
	until(t, ctx, stepIs(x.Seq))
	if to := run(t, ctx, chromedp.Evaluate[string](`document.querySelector('#f-step a').pathname`)); !strings.HasPrefix(to, mount+"/") {
		t.Errorf("a part that came over the stream leads to %s", to)
	}
	press(`location.pathname === '`+mount+`/queues' && document.readyState === 'complete'`, "g", "q")
	c.none(t)
}
