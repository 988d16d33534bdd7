package web

import (
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/decision"
	"github.com/loopscope/loopscope/web/address"
)

// failing is a sync after which that Deployment has failed.
func failing(namespace, name string) *telemetry.Trace {
	t := plain(namespace, name)
	t.Sentence = decision.Sentence{Namespace: namespace, Object: name, Tone: decision.ToneFailed, Verb: "has", State: "failed", Lead: decision.Words{}.Say("everything is wrong")}
	return t
}

// TestBrowserSortAgain: the link that sorts again stays the same one, with the focus, while frames
// come, and what is said beside it changes only when something else is to be said.
func TestBrowserSortAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t, storyNow)
	w.pump()
	for _, name := range []string{"a", "b", "c"} {
		w.journal.Record(plain("shop", name))
	}
	_, h := w.serve(nil)
	ctx := browser(t)
	c := listen(t, ctx)
	do(t, ctx, chromedp.Navigate(h.URL+"/deployments"))
	until(t, ctx, isLive)
	w.journal.Record(failing("shop", "b"))
	until(t, ctx, `document.querySelector('#resort').innerText === '1 changed group, sort again'`)
	run(t, ctx, chromedp.Evaluate[bool](`(() => {
		window.link = document.querySelector('#resort a')
		window.changes = 0
		link.focus()
		new MutationObserver(list => { changes += list.length }).observe(document.querySelector('#resort'), {subtree: true, childList: true, characterData: true, attributes: true})
		return true
	})()`))

	other := plain("shop", "c")
	other.Sentence.Lead = decision.Words{}.Say("all is well")
	w.journal.Record(other)
	until(t, ctx, `document.getElementById('`+address.Row(other.Object)+`').innerText.includes('All is well')`)
	if n := run(t, ctx, chromedp.Evaluate[int](`changes`)); n != 0 {
		t.Errorf("the same was said again: %d changes", n)
	}
	w.journal.Record(failing("shop", "c"))
	until(t, ctx, `document.querySelector('#resort').innerText === '2 changed group, sort again'`)
	if !run(t, ctx, chromedp.Evaluate[bool](`document.activeElement === link && link.href === location.href`)) {
		t.Error("the link has lost the focus, or leads elsewhere")
	}
	c.none(t)
}

// TestBrowserEmptied: a list whose last row leaves says so.
func TestBrowserEmptied(t *testing.T) {
	t.Parallel()
	w := newWorld(t, storyNow)
	w.pump()
	w.journal.Record(failing("shop", "a"))
	_, h := w.serve(nil)
	ctx := browser(t)
	do(t, ctx, chromedp.Navigate(h.URL+"/deployments?q=is:failed"))
	until(t, ctx, isLive)
	w.journal.Record(plain("shop", "a"))
	until(t, ctx, `document.querySelector('#resort').innerText.includes('1 is no longer here, sort again')`)
}

// TestBrowserEmptyListWaits: an empty list shows the first row that comes by itself, but not
// under somebody who types or has something selected.
func TestBrowserEmptyListWaits(t *testing.T) {
	t.Parallel()
	w := newWorld(t, storyNow)
	w.pump()
	w.journal.Record(plain("shop", "a"))
	_, h := w.serve(nil)
	ctx := browser(t)
	do(t, ctx, chromedp.Navigate(h.URL+"/deployments?q=is:failed"))
	until(t, ctx, isLive)
	run(t, ctx, chromedp.Evaluate[bool](`(e => (e.focus(), e.value = 'is:failed sho', window.mark = true))(document.querySelector('input[type=search]'))`))
	w.journal.Record(failing("shop", "a"))
	until(t, ctx, `document.querySelector('#resort').innerText === '1 is new here, sort again'`)
	run(t, ctx, chromedp.Evaluate[bool](`(getSelection().selectAllChildren(document.querySelector('.crumbs')), document.activeElement.blur(), true)`))
	w.journal.Record(failing("shop", "b"))
	until(t, ctx, `document.querySelector('#resort').innerText === '2 are new here, sort again'`)
	if !run(t, ctx, chromedp.Evaluate[bool](`mark && document.querySelector('input[type=search]').value === 'is:failed sho'`)) {
		t.Error("what was typed is lost")
	}
	run(t, ctx, chromedp.Evaluate[bool](`(getSelection().removeAllRanges(), true)`))
	w.journal.Record(failing("shop", "c"))
	until(t, ctx, `!window.mark && document.querySelectorAll('tr[data-row]').length === 3`)
}
