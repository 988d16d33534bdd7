package web

import (
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/loopscope/loopscope/web/address"
	"github.com/loopscope/loopscope/web/facts"
)

// onScreen is whether all of an element is in the first screen, and its text.
const onScreen = `(() => {
	const e = document.querySelector('%');
	if (!e) return 'missing';
	const r = e.getBoundingClientRect();
	return (r.bottom <= innerHeight && r.top >= 0 ? 'seen ' : 'below, at ' + Math.round(r.bottom) + ' ') + e.innerText.replace(/\s+/g, ' ');
})()`

// TestBrowserFirstScreen finds the answers that people come for on the first
// screen of one page, at 1440 by 900, with nothing opened and nothing scrolled.
func TestBrowserFirstScreen(t *testing.T) {
	t.Parallel()
	w := newWorld(t, storyNow.Add(-2*time.Hour))
	stuckRollout(w)
	_, h := w.serve(nil)
	set := ""
	for _, x := range w.journal.Board().Children("replicaset", "shop", "web") {
		if n := facts.NumbersOf(x); n.Or("pods") == 10 {
			set = address.Of(x.Object)
		}
	}
	ctx := browser(t)
	c := listen(t, ctx)
	for _, task := range []struct {
		asks, page, at string
		says           []string
	}{
		{"why is it stuck", "/deployments/shop/web", "h1", []string{"3 new pods cannot pull registry.example/shop/web:3.4.0"}},
		{"why is it stuck, in numbers", "/deployments/shop/web", ".held", []string{"11 total − 8 floor − 3 new not available = 0 may go", "ImagePullBackOff"}},
		{"which event triggered the last sync", "/deployments/shop/web", "#last", []string{"triggered by modified Deployment web", "rv "}},
		{"when is the next retry", "/deployments/shop/web", "#last", []string{"Looks again at ", "the progress deadline"}},
		{"which pod dies next on scale-down, and why", set, "#next", []string{"is not ready", "the UIDs put it before"}},
		{"which event triggered the last sync of a ReplicaSet", set, "#last", []string{"triggered by modified ReplicaSet web-"}},
	} {
		do(t, ctx, chromedp.EmulateViewport(1440, 900), chromedp.Navigate(h.URL+task.page+"?still=1"))
		got := run(t, ctx, chromedp.Evaluate[string](strings.Replace(onScreen, "%", task.at, 1)))
		for _, want := range task.says {
			if !strings.HasPrefix(got, "seen ") || !strings.Contains(got, want) {
				t.Errorf("%s: %s of %s does not say %q: %s", task.asks, task.at, task.page, want, got)
			}
		}
	}
	c.none(t)
}

// TestBrowserPhone holds what a phone shows of a Deployment: the sentence, the
// numbers and what is held back first, and of the path only what decided,
// unless all of it is asked for.
func TestBrowserPhone(t *testing.T) {
	t.Parallel()
	w := newWorld(t, storyNow.Add(-2*time.Hour))
	stuckRollout(w)
	_, h := w.serve(nil)
	ctx := browser(t)
	c := listen(t, ctx)
	do(t, ctx, chromedp.EmulateViewport(400, 860), chromedp.Navigate(h.URL+"/deployments/shop/web?still=1"))
	tops := `['h1', '.numbers', '.held', '#f-scope', '#f-step', '#f-side'].map(q => document.querySelector(q).getBoundingClientRect().top)`
	if !run(t, ctx, chromedp.Evaluate[bool](tops+`.every((y, i, all) => !i || y > all[i - 1])`)) {
		t.Errorf("the parts stand in another order: %s", run(t, ctx, chromedp.Evaluate[string](tops+`.join(' ')`)))
	}
	seen := `[...document.querySelectorAll('#f-path > li')].filter(e => e.offsetHeight).length`
	few, height := run(t, ctx, chromedp.Evaluate[int](seen)), run(t, ctx, chromedp.Evaluate[int](`document.documentElement.scrollHeight`))
	run(t, ctx, chromedp.Evaluate[bool](`(document.querySelector('#all-q').click(), true)`))
	all := run(t, ctx, chromedp.Evaluate[int](seen))
	if few < 6 || few > 16 || all < 25 {
		t.Errorf("a phone shows %d questions, and %d where all are asked for", few, all)
	}
	long := run(t, ctx, chromedp.Evaluate[int](`document.documentElement.scrollHeight`))
	t.Logf("%d pixels high, and %d with everything", height, long)
	if height > long*2/3 {
		t.Errorf("it is %d pixels high, and %d with everything: too much is not left out", height, long)
	}
	if run(t, ctx, chromedp.Evaluate[bool](`document.documentElement.scrollWidth > innerWidth`)) {
		t.Errorf("it scrolls sideways, because of %s", run(t, ctx, chromedp.Evaluate[string](tooWide)))
	}
	c.none(t)
}

// TestBrowserExplains presses e: on the question under the cursor, and without
// one on that which held a write back.
func TestBrowserExplains(t *testing.T) {
	t.Parallel()
	w := newWorld(t, storyNow.Add(-2*time.Hour))
	stuckRollout(w)
	_, h := w.serve(nil)
	ctx := browser(t)
	c := listen(t, ctx)
	for _, k := range []struct{ keys, want string }{{"e", "#RR-3.may-go"}, {"jje", "#D-1"}} {
		do(t, ctx, chromedp.EmulateViewport(1440, 900), chromedp.Navigate(h.URL+"/deployments/shop/web?still=1"))
		until(t, ctx, `document.querySelector('#live') && !document.querySelector('#live').hidden`)
		for _, key := range k.keys {
			keys(t, ctx, string(key))
		}
		until(t, ctx, `location.pathname === '/decisions/deployment' && location.hash === '`+k.want+`'`)
	}
	c.none(t)
}
