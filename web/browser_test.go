package web

import (
	"context"
	"flag"
	"fmt"
	"net"
	"net/http/httptest"
	"slices"
	"sort"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	cdplog "github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/decision"
	"github.com/loopscope/loopscope/web/address"
	"github.com/loopscope/loopscope/web/source"
	"github.com/loopscope/loopscope/web/words"
)

var shots = flag.String("shots", "", "directory to write pictures of the pages to")

// browser is a window in Chromium with a profile of its own. A machine without
// Chromium fails the test, since these tests are the only proof that the script
// works; with -short they are not run.
func browser(t *testing.T) context.Context {
	t.Helper()
	if testing.Short() {
		t.Skip("this needs Chromium, and -short asks for no other program")
	}
	running, err := chromium.start()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := chromedp.NewContext(running, chromedp.WithNewBrowserContext())
	t.Cleanup(cancel)
	ctx, cancel = context.WithTimeout(ctx, browserLimit())
	t.Cleanup(cancel)
	do(t, ctx, chromedp.EmulateViewport(1440, 900))
	return ctx
}

// complaints collects what the page complains about: errors, and violations of
// the content security policy, which Chromium logs.
type complaints struct {
	mu             sync.Mutex
	list, expected []string
}

func listen(t *testing.T, ctx context.Context) *complaints {
	t.Helper()
	c := &complaints{}
	err := chromedp.Listen(ctx, func(ev any) {
		c.mu.Lock()
		defer c.mu.Unlock()
		switch e := ev.(type) {
		case *runtime.EventExceptionThrown:
			x := e.ExceptionDetails
			what := fmt.Sprintf("exception: %s at %s:%d:%d", x.Text, x.URL, x.LineNumber, x.ColumnNumber)
			if x.Exception != nil {
				what += " " + x.Exception.Description
			}
			c.list = append(c.list, what)
		case *runtime.EventConsoleAPICalled:
			if e.Type == runtime.ConsoleAPICalledTypeError || e.Type == runtime.ConsoleAPICalledTypeWarning {
				c.list = append(c.list, "console: "+string(e.Args[0].Value))
			}
		case *cdplog.EventEntryAdded:
			c.list = append(c.list, string(e.Entry.Level)+": "+e.Entry.Text+" "+e.Entry.URL)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := chromedp.Do(ctx, command(cdplog.Enable), command(runtime.Enable)); err != nil {
		t.Fatal(err)
	}
	return c
}

func (c *complaints) none(t *testing.T) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, x := range c.list {
		if slices.ContainsFunc(c.expected, func(part string) bool { return strings.Contains(x, part) }) {
			continue
		}
		t.Errorf("the browser complains: %s", x)
	}
}

// tooWide names the elements that reach over the right edge and are not in
// something that scrolls by itself.
const tooWide = `(() => {
	const scrolls = e => e && e !== document.body && (getComputedStyle(e).overflowX !== 'visible' || scrolls(e.parentElement));
	return [...document.querySelectorAll('body *')].filter(e => e.getBoundingClientRect().right > innerWidth && !scrolls(e)).slice(0, 6)
		.map(e => e.tagName + '#' + e.id + '.' + e.getAttribute('class') + ' to ' + e.getBoundingClientRect().right).join('; ');
})()`

// TestBrowserPictures draws every kind of page in five looks, of which none scrolls
// sideways, and writes pictures of them for people to look at where -shots asks for it.
func TestBrowserPictures(t *testing.T) {
	t.Parallel()
	w := newWorld(t, storyNow.Add(-2*time.Hour))
	w.goldens()
	stuckRollout(w)
	_, h := w.serve(nil)
	ctx := browser(t)
	c := listen(t, ctx)
	set := ""
	for _, s := range w.journal.Board().Children("replicaset", "shop", "web") {
		set = s.Name
	}
	pages := map[string]string{"overview": "/deployments?", "deployment": "/deployments/shop/web?", "queues": "/queues?", "replicaset": "/replicasets/shop/" + set + "?",
		"sync": address.Sync(w.journal.Board().Rows("deployment")[0].Trace) + "?", "waiting": "/deployments?q=is:waiting&", "nomatch": "/deployments?q=is:failed+ns:shop+foo:bar&",
		"story": "/deployments/shop/web/story?", "chain": address.Sync(w.journal.Board().Children("replicaset", "shop", "web")[0]) + "/chain?",
		"decisions": "/decisions?", "history": "/history?"}
	for name, path := range pages {
		portray(t, ctx, h.URL+path, name)
	}
	c.none(t)
}

func command(c cdp.Command[cdp.Empty, cdp.Empty]) chromedp.Action[chromedp.Void] {
	return called(c, cdp.Empty{})
}

// called is a command of the protocol that returns nothing.
func called[P any](c cdp.Command[P, cdp.Empty], params P) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, c, params)
		return err
	})
}

func do(t *testing.T, ctx context.Context, steps ...chromedp.Action[chromedp.Void]) {
	t.Helper()
	if err := chromedp.Do(ctx, steps...); err != nil {
		t.Fatal(err)
	}
}

func run[T any](t *testing.T, ctx context.Context, a chromedp.Action[T]) T {
	t.Helper()
	v, err := chromedp.Run(ctx, a)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// TestBrowserLive follows a rolling Deployment in Chromium: no complaint, every
// sync on the page as it ends, and steps without a page load.
func TestBrowserLive(t *testing.T) {
	w := newWorld(t, time.Now().Add(-2*time.Hour))
	w.pump()
	w.now = time.Now().Add(-time.Hour)
	r := w.rollout("web")
	r.begin()
	_, h := w.serve(func(o *Options) { o.Now = time.Now })
	ctx := browser(t)
	c := listen(t, ctx)
	do(t, ctx, chromedp.Navigate(h.URL+"/deployments/shop/web"))
	until(t, ctx, isLive+` && performance.getEntriesByType('resource').length >= 2`)
	run(t, ctx, chromedp.Evaluate[bool](watchScript))

	var took []time.Duration
	for range 20 {
		w.now = time.Now()
		x := r.sync(telemetry.Cause{Kind: telemetry.CauseResync, Object: "Deployment web"})
		ended := time.Now()
		until(t, ctx, "seen["+words.Digits(x.Seq)+"] > 0")
		at := run(t, ctx, chromedp.Evaluate[float64]("seen["+words.Digits(x.Seq)+"]"))
		took = append(took, time.UnixMicro(int64(at*1000)).Sub(ended))
		wait(t, 260*time.Millisecond)
	}
	sort.Slice(took, func(i, j int) bool { return took[i] < took[j] })
	t.Logf("from Record to the changed DOM: median %s, fastest %s, slowest %s of %d", took[len(took)/2], took[0], took[len(took)-1], len(took))
	if median := took[len(took)/2]; median > 2*time.Second { // 100 ms is the aim, on a machine that does nothing else.
		t.Errorf("the median is %s: that is not live", median)
	}
	if n := run(t, ctx, chromedp.Evaluate[int](`performance.getEntriesByType('resource').filter(e => e.initiatorType === 'fetch' || e.initiatorType === 'xmlhttprequest').length`)); n != 0 {
		t.Errorf("%d requests were made to follow, want none", n)
	}

	// What the reader holds stays: an open fold, the focus, a selection.
	run(t, ctx, chromedp.Evaluate[bool](`(document.querySelector('#f-path details').open = true, document.querySelector('#f-path summary').focus(), true)`))
	w.now = time.Now()
	held := r.sync(telemetry.Cause{Kind: telemetry.CauseResync, Object: "Deployment web"})
	until(t, ctx, stepIs(held.Seq))
	wait(t, 300*time.Millisecond)
	if !run(t, ctx, chromedp.Evaluate[bool](`document.querySelector('#f-path details').open && document.activeElement === document.querySelector('#f-path summary')`)) {
		t.Error("a swap closed a fold or took the focus")
	}
	run(t, ctx, chromedp.Evaluate[bool](`(getSelection().selectAllChildren(document.querySelector('#f-step b')), true)`))
	w.now = time.Now()
	next := r.sync(telemetry.Cause{Kind: telemetry.CauseResync, Object: "Deployment web"})
	until(t, ctx, "document.querySelector('#f-syncs').innerText.includes('"+words.Digits(next.Seq)+"')")
	if !run(t, ctx, chromedp.Evaluate[bool](stepIs(held.Seq))) {
		t.Error("a swap took a selection away")
	}
	run(t, ctx, chromedp.Evaluate[bool](`(getSelection().removeAllRanges(), true)`))
	until(t, ctx, stepIs(next.Seq))

	last := w.journal.Last()
	steps := w.journal.Of(telemetry.Object{Loop: "deployment", Namespace: "shop", Name: "web"}, source.HistoryRows)
	before := steps[len(steps)-2].Seq
	run(t, ctx, chromedp.Evaluate[string](`window.mark = 'same page'`))
	keys(t, ctx, "h")
	until(t, ctx, stepIs(before))
	if u := run(t, ctx, chromedp.Location()); !strings.Contains(u, "sync="+words.Digits(before)) {
		t.Errorf("the address is %s, want sync %d in it", u, before)
	}
	keys(t, ctx, "l")
	until(t, ctx, stepIs(last))
	if run(t, ctx, chromedp.Evaluate[string](`window.mark`)) != "same page" {
		t.Error("stepping loaded a page")
	}
	do(t, ctx, chromedp.NavigateBack())
	until(t, ctx, stepIs(before))
	c.none(t)
}

// watchScript notes when each sync is first seen in the stepper.
const watchScript = `(() => {
	window.seen = {}
	new MutationObserver(() => {
		const n = document.querySelector('#f-step b').textContent.replace(/\D/g, '')
		seen[n] ||= performance.timeOrigin + performance.now()
	}).observe(document.body, {subtree: true, childList: true})
	return true
})()`

func stepIs(seq uint64) string {
	return "document.querySelector('#f-step b').textContent === 'Sync " + words.Digits(seq) + "'"
}

// isLive holds once the script has run: the server says "live" too, but hides it.
const isLive = `!!document.querySelector('#live:not([hidden])[data-state=live]')`

// until waits for an expression to hold in the page.
func until(t *testing.T, ctx context.Context, expression string) {
	t.Helper()
	deadline := time.Now().Add(time.Minute)
	for {
		ok, err := chromedp.Run(ctx, chromedp.Evaluate[bool]("!!("+expression+")"))
		if err == nil && ok {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("never in the page: %s (%v)", expression, err)
		}
		wait(t, 10*time.Millisecond)
	}
}

// keys presses keys, once the page has loaded: one that is pressed before the
// script listens is lost.
func keys(t *testing.T, ctx context.Context, list ...string) {
	t.Helper()
	until(t, ctx, `document.readyState === 'complete'`)
	for _, k := range list {
		do(t, ctx, chromedp.KeyEvent(k))
	}
}

// wait lets the browser go on; nothing in this process could signal it.
func wait(t *testing.T, d time.Duration) {
	t.Helper()
	select {
	case <-time.After(d):
	case <-t.Context().Done():
	}
}

// TestBrowserBroken stops the console under a page: it says so at once, in the
// past tense, and goes on where it stopped when the console is back.
func TestBrowserBroken(t *testing.T) {
	t.Parallel()
	w := newWorld(t, time.Now().Add(-2*time.Hour))
	w.pump()
	w.now = time.Now().Add(-time.Hour)
	r := w.rollout("web")
	r.begin()
	s := w.server(func(o *Options) { o.Now = time.Now })
	h := httptest.NewServer(s.Handler())
	address := h.Listener.Addr().String()
	ctx := browser(t)
	do(t, ctx, chromedp.Navigate(h.URL+"/deployments/shop/web"))
	until(t, ctx, isLive)
	wait(t, 300*time.Millisecond)

	if err := s.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	h.CloseClientConnections()
	h.Close()
	until(t, ctx, `document.querySelector('#live').dataset.state === 'broken'`)
	told := run(t, ctx, chromedp.Evaluate[string](`document.querySelector('#told').innerText`))
	if !strings.Contains(told, "Not live") || !strings.Contains(told, "Last update") || !strings.Contains(told, "Next try in") {
		t.Errorf("the notice says %q", told)
	}
	if h1 := run(t, ctx, chromedp.Evaluate[string](`document.querySelector('h1').innerText`)); !strings.Contains(h1, "shop/web was") {
		t.Errorf("the sentence is not in the past tense: %q", h1)
	}

	x := r.sync(telemetry.Cause{Kind: telemetry.CauseResync, Object: "Deployment web"})
	var listener net.Listener
	eventually(t, "the address is free again", func() (ok bool) { l, err := net.Listen("tcp", address); listener = l; return err == nil })
	back := &httptest.Server{Listener: listener, Config: HTTPServer(w.server(func(o *Options) { o.Now = time.Now }).Handler(), nil)}
	back.Start()
	t.Cleanup(back.Close)
	until(t, ctx, stepIs(x.Seq))
	until(t, ctx, isLive+` && document.querySelector('#told').hidden`)
	if h1 := run(t, ctx, chromedp.Evaluate[string](`document.querySelector('h1').innerText`)); !strings.Contains(h1, "shop/web is") {
		t.Errorf("the sentence is still in the past tense: %q", h1)
	}
}

// TestBrowserKeys presses the keys that change the page and nothing else.
func TestBrowserKeys(t *testing.T) {
	t.Parallel()
	w := newWorld(t, time.Now().Add(-2*time.Hour))
	w.pump()
	w.goldens()
	_, h := w.serve(func(o *Options) { o.Now = time.Now })
	ctx := browser(t)
	c := listen(t, ctx)
	do(t, ctx, chromedp.Navigate(h.URL+"/deployments"))
	until(t, ctx, isLive)
	press := func(key, then string) {
		t.Helper()
		keys(t, ctx, key)
		until(t, ctx, then)
	}
	press("t", `document.documentElement.dataset.theme === 'dark' && localStorage.theme === 'dark'`)
	press("t", `document.documentElement.dataset.theme === 'light'`)
	press("?", `!document.querySelector('#keys').hidden`)
	press("?", `document.querySelector('#keys').hidden`)
	press("j", `document.querySelectorAll('tr[data-row]')[0].matches('.at')`)
	press("j", `document.querySelectorAll('tr[data-row]')[1].matches('.at')`)
	press("k", `document.querySelectorAll('tr[data-row]')[0].matches('.at')`)
	press("/", `document.activeElement.name === 'q'`)
	keys(t, ctx, "p")
	if got := run(t, ctx, chromedp.Evaluate[string](`document.activeElement.value + document.querySelector('#live').dataset.state`)); !strings.HasSuffix(got, "plive") {
		t.Errorf("a key pressed while typing did something: %q", got)
	}
	run(t, ctx, chromedp.Evaluate[bool](`(document.activeElement.value = '', document.activeElement.blur(), true)`))
	press("p", `document.querySelector('#live').innerText.includes('paused')`)

	// Paused, nothing changes; then everything is there at once.
	first := w.journal.Board().List("deployment")[0]
	changed := *first
	changed.Sentence = decision.Sentence{Namespace: first.Namespace, Object: first.Name, Tone: first.Sentence.Tone, Verb: "is", State: "x", Lead: decision.Words{}.Say("other words")}
	w.journal.Record(&changed)
	wait(t, 400*time.Millisecond)
	row := `document.getElementById('` + address.Row(first.Object) + `').innerText.includes('Other words')`
	if run(t, ctx, chromedp.Evaluate[bool](row)) {
		t.Error("a paused page changed")
	}
	press("p", row)
	press("2", `location.search.includes('is%3Awaiting') && document.querySelector('#live') && !document.querySelector('#live').hidden`)
	keys(t, ctx, "g")
	press("q", `location.pathname === '/queues'`)
	c.none(t)
}
