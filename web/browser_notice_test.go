package web

import (
	"net/http/httptest"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/loopscope/loopscope/telemetry"
)

// saidScript keeps what the polite region of the page says.
const saidScript = `(() => {
	window.said = []
	const say = document.querySelector('#say')
	new MutationObserver(() => said.push(say.textContent)).observe(say, {subtree: true, childList: true, characterData: true})
	return true
})()`

// triesScript counts the tries that failed, with the focus on the button that tries.
const triesScript = `(() => {
	window.held = document.querySelector('#told button')
	held.focus()
	window.tried = 0
	const ask = fetch
	window.fetch = (...what) => { tried++; return ask(...what) }
	return document.activeElement === held
})()`

// TestBrowserSaysNoticesOnce: the title of a notice is said once, and not the times in it, which
// change every second, and its button keeps the focus.
func TestBrowserSaysNoticesOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t, storyNow)
	w.pump()
	w.journal.Record(plain("shop", "web"))
	var away atomic.Bool
	s := w.server(func(o *Options) {
		o.Server = func() telemetry.ServerState {
			if away.Load() {
				return down()
			}
			return up()
		}
	})
	h := httptest.NewServer(s.Handler())
	t.Cleanup(h.Close)
	ctx := browser(t)
	do(t, ctx, chromedp.Navigate(h.URL+"/deployments/shop/web"))
	until(t, ctx, isLive)
	run(t, ctx, chromedp.Evaluate[bool](saidScript))
	noLiveRegion := func(of string) {
		t.Helper()
		const live = `'[role=status],[role=alert],[role=log],[aria-live]'`
		if run(t, ctx, chromedp.Evaluate[bool](`(e => !!e.closest(`+live+`) || !!e.querySelector(`+live+`))(document.querySelector('`+of+`'))`)) {
			t.Errorf("%s is read out whenever its times change", of)
		}
	}

	away.Store(true)
	until(t, ctx, `document.querySelector('#f-notice').innerText.includes('The API server does not answer')`)
	noLiveRegion("#f-notice")
	until(t, ctx, `said.length`)
	if err := s.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	h.CloseClientConnections()
	h.Close()
	until(t, ctx, `document.querySelector('#told').innerText.includes('Not live')`)
	run(t, ctx, chromedp.Evaluate[bool](triesScript))
	until(t, ctx, `tried > 0`)
	keys(t, ctx, "\r")
	until(t, ctx, `tried > 1`)
	if !run(t, ctx, chromedp.Evaluate[bool](`document.activeElement === held`)) {
		t.Error("a try takes the focus from the button")
	}
	until(t, ctx, `/Not live.*Next try in [34]s/s.test(document.querySelector('#told').innerText)`) // It has tried twice.
	noLiveRegion("#told")
	until(t, ctx, `said.length > 1`)
	if said, want := run(t, ctx, chromedp.Evaluate[[]string](`said`)), []string{"The API server does not answer", "Not live"}; !slices.Equal(said, want) {
		t.Errorf("said is %q, want %q", said, want)
	}
}

// TestBrowserPageComesBack: a page that can be drawn again takes back that it could not be.
func TestBrowserPageComesBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t, storyNow)
	w.pump()
	w.journal.Record(plain("shop", "a"))
	w.journal.Record(plain("shop", "b"))
	_, h := w.serve(nil)
	ctx := browser(t)
	do(t, ctx, chromedp.Navigate(h.URL+"/deployments?q=is:settled&after=shop/a"))
	until(t, ctx, isLive)
	deleted := plain("shop", "a")
	deleted.Gone = true
	w.journal.Record(deleted)
	until(t, ctx, `document.querySelector('#told').innerText.includes('This page is no longer available') && document.querySelector('#f-notice').hidden`)
	w.journal.Record(plain("shop", "a"))
	until(t, ctx, `document.querySelector('#told').hidden && !document.querySelector('#f-notice').hidden`)
}
