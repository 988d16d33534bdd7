package web

import (
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/loopscope/loopscope/web/words"
)

// shiftScript adds up what the browser counts as layout shift, and names what moved.
const shiftScript = `(() => {
	window.shifts = {sum: 0, what: []}
	const name = n => !n ? '?' : (n.nodeName.toLowerCase() + (n.id ? '#' + n.id : '') + (n.className?.baseVal === undefined && n.className ? '.' + n.className : ''))
	const tall = () => Object.fromEntries([...document.querySelectorAll('main [id]')].map(e => [e.id, e.getBoundingClientRect().height]))
	const before = tall()
	window.grown = () => Object.entries(tall()).filter(([id, h]) => h !== before[id]).map(([id, h]) => id + ' ' + before[id] + '->' + h)
	new PerformanceObserver(list => {
		for (const e of list.getEntries()) {
			shifts.sum += e.value
			for (const s of e.sources || []) if (shifts.what.length < 12) shifts.what.push(name(s.node) + ' in ' + name(s.node?.parentElement?.closest?.('[id]')) + ' y ' + s.previousRect.y + '->' + s.currentRect.y + ' h ' + s.previousRect.height + '->' + s.currentRect.height + ' x ' + s.previousRect.x + '->' + s.currentRect.x)
		}
	}).observe({type: 'layout-shift'})
	return true
})()`

// TestBrowserStill opens a list and a Deployment at different moments of rollouts
// and follows them: nothing moves under the reader, by Chromium's own measure. CI
// follows a part of them.
func TestBrowserStill(t *testing.T) {
	for _, page := range []struct {
		path  string
		width int64
		from  int // percent of the recording
		ci    bool
	}{
		{"/deployments", 1440, 60, true}, {"/deployments", 1440, 2, false}, {"/deployments", 400, 60, false},
		{"/deployments/shop/roll-0", 1440, 2, true}, {"/deployments/shop/roll-0", 1440, 60, true}, {"/deployments/shop/roll-0", 1440, 30, false},
		{"/deployments/shop/roll-0", 400, 60, true}, {"/deployments/shop/roll-0", 400, 2, false}, {"/queues", 1440, 25, false},
	} {
		if !page.ci && !everyLook() {
			continue
		}
		t.Run(strings.ReplaceAll(strings.Trim(page.path, "/"), "/", "-")+"-"+words.Digits(page.width)+"-"+words.Digits(page.from), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, time.Now().Add(-2*time.Hour))
			recording := rolloutsOf(t, 3, time.Now().Add(time.Hour)) // It begins now, as its pods are not overdue.
			feed := w.feeder(recording, len(recording)*page.from/100, 25*time.Millisecond)
			w.pump()
			_, h := w.serve(func(o *Options) { o.Now = time.Now })
			ctx := browser(t)
			c := listen(t, ctx)
			do(t, ctx, chromedp.EmulateViewport(page.width, 900), chromedp.Navigate(h.URL+page.path))
			until(t, ctx, isLive)
			run(t, ctx, chromedp.Evaluate[bool](shiftScript))
			swaps := run(t, ctx, chromedp.Evaluate[bool](`(window.swaps = 0, new MutationObserver(m => swaps += m.length).observe(document.body, {subtree: true, childList: true}), true)`))
			feed.run(6 * time.Second)
			n := run(t, ctx, chromedp.Evaluate[int](`swaps`))
			sum := run(t, ctx, chromedp.Evaluate[float64](`shifts.sum`))
			t.Logf("%d syncs, %d changes of the page, layout shift %g", feed.next, n, sum)
			if sum >= 0.005 { // 0.00, as browsers report it: a clock that reaches 10 s may wrap its line elsewhere.
				t.Errorf("layout shift is %g, want 0.00: %s", sum, strings.Join(run(t, ctx, chromedp.Evaluate[[]string](`shifts.what.concat(grown())`)), "\n"))
			}
			if !swaps || n == 0 {
				t.Error("nothing changed: nothing was measured")
			}
			if page.path == "/deployments/shop/roll-0" && page.width == 1440 && page.from == 60 {
				const cut = `document.querySelector('#f-head').matches('[data-cut]')`
				until(t, ctx, cut)
				run(t, ctx, chromedp.Evaluate[bool](`(Date.real = Date.now, Date.now = () => Date.real() + 61e3, true)`))
				until(t, ctx, `!`+cut) // Nobody has done anything for a minute.
			}
			// Whoever does something gets to see all of it. What a slow machine still has to show may be cut again.
			eventually(t, "a key shows all of it", func() bool {
				keys(t, ctx, "x")
				return run(t, ctx, chromedp.Evaluate[bool](`!document.querySelector('[data-cut]')`))
			})
			c.none(t)
		})
	}
}
