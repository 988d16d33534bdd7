package e2e_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/loopscope/loopscope/cmd/sandbox/testplane"
	"github.com/loopscope/loopscope/web/browsertest"
)

// browserLimit bounds all that a test does in Chromium.
const browserLimit = 4 * time.Minute

// chromium is the one Chromium of this test process, in which every test has a window and a
// profile of its own. A machine without one fails the tests that need it.
var chromium = shared(func(s *suite) context.Context {
	ctx, stop, err := browsertest.Start()
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(stop)
	return ctx
})

// browser is a new window of Chromium.
func browser(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := chromedp.NewContext(chromium(t), chromedp.WithNewBrowserContext())
	t.Cleanup(cancel)
	ctx, cancel = context.WithTimeout(ctx, browserLimit)
	t.Cleanup(cancel)
	if err := chromedp.Do(ctx, chromedp.EmulateViewport(1440, 900)); err != nil {
		t.Fatalf("open a window: %v", err)
	}
	return ctx
}

// evaluate runs a script in the page and decodes what it returns.
func evaluate[T any](t *testing.T, ctx context.Context, script string) T {
	t.Helper()
	var value T
	text, err := chromedp.Run(ctx, chromedp.Evaluate[string]("JSON.stringify("+script+")"))
	if err != nil {
		t.Fatalf("in the browser: %v", err)
	}
	if err := json.Unmarshal([]byte(text), &value); err != nil {
		t.Fatalf("what the browser returned: %v: %s", err, text)
	}
	return value
}

// holds waits until an expression is true in the page.
func holds(t *testing.T, ctx context.Context, limit time.Duration, expression string) {
	t.Helper()
	testplane.Until(t, limit, "in the page", func() error {
		ok, err := chromedp.Run(ctx, chromedp.Evaluate[bool]("!!("+expression+")"))
		if err == nil && !ok {
			err = fmt.Errorf("not so: %s", expression)
		}
		return err
	})
}

// open loads a page and waits until it is live.
func open(t *testing.T, ctx context.Context, url string) {
	t.Helper()
	if err := chromedp.Do(ctx, chromedp.Navigate(url)); err != nil {
		t.Fatalf("open %s: %v", url, err)
	}
	holds(t, ctx, time.Minute, `document.querySelector('#live')?.dataset.state === 'live' && document.querySelector('#f-step b')`)
}

// shot is the page of an object as a reader saw it at one moment.
type shot struct {
	Seq      uint64
	At       float64 // Unix milliseconds
	Headline string
	Numbers  []string // digits of both sentences that are neither time nor name
	Then     string
	Path     [][2]string // question id and answer
	Wrote    string      // all that stands under "What it wrote"
	RVs      []string    // of these writes
}

// look reads one shot; follow keeps one for every change of the page.
const look = `(() => {
	const text = e => (e?.textContent || '').replace(/\s+/g, ' ').trim()
	const digits = e => {
		if (!e) return []
		const c = e.cloneNode(true)
		c.querySelectorAll('code,time,.name,[data-until],[data-since]').forEach(x => x.remove())
		return text(c).replace(/^\S+\/\S+ /, '').match(/\d+/g) || []
	}
	const h1 = document.querySelector('#f-head h1'), then = document.querySelector('#f-head .then')
	const wrote = [...document.querySelectorAll('#f-side section')].find(s => text(s.querySelector('h2')).startsWith('What it wrote'))
	return {
		Seq: +document.querySelector('#f-step b').textContent.replace(/\D/g, ''),
		At: performance.timeOrigin + performance.now(),
		Headline: text(h1), Then: text(then), Numbers: [...digits(h1), ...digits(then)],
		Path: [...document.querySelectorAll('#f-path > li.on[data-row]')].map(l => [text(l.querySelector('.id')).split(' ')[0], text(l.querySelector('.a'))]),
		Wrote: text(wrote), RVs: [...wrote.querySelectorAll('li b')].map(text).filter(x => /^\d+$/.test(x)),
	}
})()`

const follow = `(() => {
	window.shots = []
	const take = () => shots.push(` + look + `)
	take()
	new MutationObserver(take).observe(document.querySelector('main'), {subtree: true, childList: true})
	return true
})()`
