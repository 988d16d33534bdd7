package web

import (
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
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

// TestBrowserStill follows rollouts on the list and on the page of one of them:
// nothing moves under the reader, by Chromium's own measure. CI follows a part
// of them.
func TestBrowserStill(t *testing.T) {
	for _, page := range []struct {
		path  string
		width int64
	}{{"/deployments", 1440}, {"/deployments", 400}, {"/deployments/shop/roll-0", 1440}, {"/deployments/shop/roll-0", 400}, {"/queues", 1440}} {
		if !everyLook() && (page.path == "/queues" || page.width == 400 && page.path == "/deployments") {
			continue
		}
		t.Run(strings.Trim(strings.ReplaceAll(page.path, "/", "-"), "-")+"-"+digits(page.width), func(t *testing.T) {
			w := newWorld(t, time.Now().Add(-2*time.Hour))
			recording := rolloutsOf(t, 3, time.Now())
			first := len(recording) / 4
			for _, x := range recording[:first] {
				w.journal.Record(x)
			}
			w.pump()
			_, h := w.serve(func(o *Options) { o.Now = time.Now })
			ctx := browser(t)
			c := listen(t, ctx)
			do(t, ctx, chromedp.EmulateViewport(page.width, 900), chromedp.Navigate(h.URL+page.path))
			until(t, ctx, isLive)
			// What was tall once keeps its room, so each part is let become as tall as
			// it gets: a row that needs attention for the first time has two lines
			// more than before, and nothing can be held in place then.
			feed := &feeder{journal: w.journal, list: recording[first:], every: 10 * time.Millisecond, sent: map[uint64]fedTrace{}}
			feed.run(6 * time.Second)
			feed.every = 25 * time.Millisecond
			wait(t, 500*time.Millisecond)
			run(t, ctx, chromedp.Evaluate[bool](shiftScript))
			swaps := run(t, ctx, chromedp.Evaluate[bool](`(window.swaps = 0, new MutationObserver(m => swaps += m.length).observe(document.body, {subtree: true, childList: true}), true)`))
			fed := feed.next
			feed.run(4 * time.Second)
			n := run(t, ctx, chromedp.Evaluate[int](`swaps`))
			sum := run(t, ctx, chromedp.Evaluate[float64](`shifts.sum`))
			t.Logf("%d syncs, %d changes of the page, layout shift %g", feed.next-fed, n, sum)
			if sum >= 0.005 { // 0.00, as browsers report it: a clock that reaches 10 s may wrap its line elsewhere.
				t.Errorf("layout shift is %g, want 0.00: %s", sum, strings.Join(run(t, ctx, chromedp.Evaluate[[]string](`shifts.what.concat(grown())`)), "\n"))
			}
			if !swaps || n == 0 {
				t.Error("nothing changed: nothing was measured")
			}
			c.none(t)
		})
	}
}
