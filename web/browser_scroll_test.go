package web

import (
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/loopscope/loopscope/web/address"
)

// TestBrowserDrawingScrolls: the arrow keys scroll a drawing that has the focus and lead
// nowhere, and End goes to the end of a page that has no newest sync to go to.
func TestBrowserDrawingScrolls(t *testing.T) {
	t.Parallel()
	w := newWorld(t, storyNow)
	w.rollout("web").begin()
	s, h := w.serve(nil)
	x := subjectOf(t, s, "/deployments/shop/web")
	first, _ := s.src.Journal.Prev(x.Object, x.Newest.Seq)
	ctx := browser(t)
	for _, path := range []string{"/decisions/replicaset", address.Sync(first)} {
		do(t, ctx, chromedp.EmulateViewport(400, 800), chromedp.Navigate(h.URL+path))
		until(t, ctx, `document.readyState === 'complete' && !!document.querySelector('.flow-box')`)
		run(t, ctx, chromedp.Evaluate[bool](`(document.querySelector('.flow-box').focus(), true)`))
		keys(t, ctx, kb.ArrowRight)
		until(t, ctx, `document.querySelector('.flow-box').scrollLeft > 0`)
		if at := run(t, ctx, chromedp.Evaluate[string](`location.pathname`)); at != path {
			t.Errorf("the arrow leads from %s to %s", path, at)
		}
	}
	run(t, ctx, chromedp.Evaluate[bool](`(document.activeElement.blur(), scrollTo(0, 0), true)`))
	keys(t, ctx, kb.End)
	until(t, ctx, `scrollY > 0`)
}
