package web

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"

	"github.com/loopscope/loopscope/static"
	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/web/live"
	"github.com/loopscope/loopscope/web/source"
	"github.com/loopscope/loopscope/web/words"
)

// TestBrowserWalk does the main tasks with the keyboard alone: find, open, step,
// explain, plan, go up and back. Then it goes back and forward, and loads again:
// the address is all the state there is.
func TestBrowserWalk(t *testing.T) {
	t.Parallel()
	w := newWorld(t, time.Now().Add(-2*time.Hour))
	w.now = time.Now().Add(-12 * time.Minute) // So that the deadline is still to come.
	r := w.rollout("web")
	r.begin()
	r.roll("registry.example/shop/web:3.4.0", 3)
	w.journal.Record(plain("shop", "other"))
	w.pump()
	_, h := w.serve(func(o *Options) { o.Now = time.Now })
	ctx := browser(t)
	c := listen(t, ctx)
	steps := w.journal.Of(telemetry.Object{Loop: "deployment", Namespace: "shop", Name: "web"}, source.HistoryRows)
	newest, before := steps[len(steps)-1].Seq, steps[len(steps)-2].Seq
	press := func(then string, list ...string) {
		t.Helper()
		keys(t, ctx, list...)
		until(t, ctx, then)
	}
	do(t, ctx, chromedp.EmulateViewport(1440, 900), chromedp.Navigate(h.URL+"/deployments"))
	until(t, ctx, isLive)
	press(`document.activeElement.matches('.skip')`, "\t")
	press(`document.activeElement.id === 'main' || location.hash === '#main'`, "\r")
	press(`document.activeElement.name === 'q'`, "/")
	run(t, ctx, chromedp.Evaluate[bool](`(document.activeElement.value = '', true)`)) // The protocol types a key that the page has taken.
	press(`new URLSearchParams(location.search).get('q') === 'is:waiting' && document.querySelectorAll('tr[data-row]').length === 1 && `+isLive, "is:waiting", "\r")
	press(`document.querySelector('tr[data-row].at a.row').textContent.includes('web')`, "j")
	press(`location.pathname === '/deployments/shop/web' && `+isLive, "o")
	press(`!document.querySelector('#keys').hidden && ['h', 'l', 'w', 'e', 'u', 'p', 'c', 't'].every(k => [...document.querySelectorAll('#keys kbd')].some(x => x.textContent === k))`, "?")
	press(`document.querySelector('#keys').hidden`, "\x1b")
	press(stepIs(before)+` && location.search.includes('sync=`+words.Digits(before)+`')`, "h")
	press(stepIs(newest), "l")
	press(stepIs(before), "h")

	do(t, ctx, chromedp.Reload())
	until(t, ctx, stepIs(before)+" && "+isLive)
	press(`location.pathname.endsWith('/what-if')`, "w")
	do(t, ctx, chromedp.NavigateBack())
	until(t, ctx, `location.pathname === '/deployments/shop/web' && `+stepIs(before))
	do(t, ctx, chromedp.NavigateForward())
	until(t, ctx, `location.pathname.endsWith('/what-if')`)
	do(t, ctx, chromedp.NavigateBack())
	until(t, ctx, `location.pathname === '/deployments/shop/web' && `+stepIs(before)+" && "+isLive)
	press(`location.pathname.startsWith('/decisions/deployment')`, "e")
	do(t, ctx, chromedp.NavigateBack())
	until(t, ctx, `location.pathname === '/deployments/shop/web' && `+isLive)
	press(`location.pathname === '/deployments' && `+isLive, "u")
	for _, to := range [][2]string{{"q", "/queues"}, {"a", "/decisions"}, {"h", "/history"}, {"s", "/shadow"}, {"d", "/deployments"}} {
		press(`location.pathname.startsWith('`+to[1]+`') && document.readyState === 'complete' && !document.querySelector('.js[hidden]')`, "g", to[0])
	}

	// A swap never takes the focus away, wherever it is.
	do(t, ctx, chromedp.Navigate(h.URL+"/deployments/shop/web"))
	until(t, ctx, isLive)
	for _, part := range []string{"#f-step a", "#f-side a", "#f-sets a", "#f-syncs a"} {
		href := run(t, ctx, chromedp.Evaluate[string](`(e => (e.focus(), e.getAttribute('href')))([...document.querySelectorAll('`+part+`')].at(-1))`))
		w.now = time.Now()
		x := r.sync(telemetry.Cause{Kind: telemetry.CauseResync, Object: "Deployment web"})
		until(t, ctx, stepIs(x.Seq))
		wait(t, live.SwapEvery)
		if got := run(t, ctx, chromedp.Evaluate[string](`document.activeElement.tagName + ' ' + document.activeElement.getAttribute('href')`)); !strings.HasPrefix(got, "A ") {
			t.Errorf("a swap took the focus from %s %s: it is on %s", part, href, got)
		}
	}
	c.none(t)
}

// TestBrowserFragment goes to a place on the page that is open: live, paused and
// without a stream, it stays the same page. A paused one is left by a step, and
// comes back by the way back.
func TestBrowserFragment(t *testing.T) {
	t.Parallel()
	w := newWorld(t, storyNow.Add(-2*time.Hour))
	stuckRollout(w)
	w.pump()
	_, h := w.serve(nil)
	ctx := browser(t)
	c := listen(t, ctx)
	live, paused := isLive, `document.querySelector('#live').dataset.state === 'paused'`
	for _, x := range []struct{ path, key, state string }{
		{"/deployments/shop/web", "", live},
		{"/deployments/shop/web", "p", paused},
		{"/reasons", "", `!document.body.dataset.page`},
	} {
		do(t, ctx, chromedp.Navigate(h.URL+x.path))
		until(t, ctx, `document.readyState === 'complete' && !document.querySelector('.js[hidden]')`)
		keys(t, ctx, x.key)
		run(t, ctx, chromedp.Evaluate[bool](`window.mark = true`))
		keys(t, ctx, "\t", "\r")
		until(t, ctx, `location.hash === '#main'`)
		do(t, ctx, chromedp.NavigateBack())
		until(t, ctx, `location.hash === '' && window.mark && `+x.state)
	}

	do(t, ctx, chromedp.Navigate(h.URL+"/deployments/shop/web"))
	until(t, ctx, isLive)
	newest := run(t, ctx, chromedp.Evaluate[string](`document.querySelector('#f-step b').textContent`))
	run(t, ctx, chromedp.Evaluate[bool](`window.mark = true`))
	keys(t, ctx, "p", "h")
	until(t, ctx, `!window.mark && location.search.includes('sync=') && `+isLive)
	keys(t, ctx, "p", "u")
	until(t, ctx, `location.pathname === '/deployments'`)
	do(t, ctx, chromedp.NavigateBack())
	until(t, ctx, `location.search.includes('sync=') && document.querySelector('#f-step b').textContent !== '`+newest+`'`)
	c.none(t)
}

// TestBrowserPausesBeforeItIsLive pauses a page whose websocket is not open yet, and resumes it.
func TestBrowserPausesBeforeItIsLive(t *testing.T) {
	t.Parallel()
	w := newWorld(t, storyNow.Add(-2*time.Hour))
	stuckRollout(w)
	s := w.server(nil)
	held, closed := make(chan struct{}), make(chan struct{}, 2)
	h := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/live" {
			s.Handler().ServeHTTP(rw, r)
			return
		}
		<-held
		s.Handler().ServeHTTP(rw, r) // returns when the websocket is closed
		closed <- struct{}{}
	}))
	t.Cleanup(h.Close)
	t.Cleanup(func() { _ = s.Shutdown(context.Background()) })
	release := sync.OnceFunc(func() { close(held) })
	t.Cleanup(release)
	ctx := browser(t)
	c := listen(t, ctx)
	do(t, ctx, chromedp.Navigate(h.URL+"/deployments/shop/web"))
	until(t, ctx, `document.readyState === 'complete' && !document.querySelector('.js[hidden]')`)
	keys(t, ctx, "p")
	until(t, ctx, `document.querySelector('#live').dataset.state === 'paused'`)
	release()
	select {
	case <-closed:
	case <-time.After(20 * time.Second):
		t.Fatal("the websocket of a paused page stays open")
	}
	keys(t, ctx, "p")
	until(t, ctx, isLive)
	c.none(t)
}

// TestBrowserRequests reads Chromium's own log of the network while it opens
// every page: all of it comes from the console, what carries a hash is loaded
// once, and what is loaded is as light as the limits say.
func TestBrowserRequests(t *testing.T) {
	t.Parallel()
	w := newWorld(t, storyNow.Add(-2*time.Hour))
	w.goldens()
	stuckRollout(w)
	w.pump()
	_, h := w.serve(nil)
	ctx := browser(t)
	log := watchNetwork(t, ctx)
	first, list := 0, pages(w)
	for i, e := range list {
		log.reset()
		do(t, ctx, chromedp.Navigate(h.URL+e.path))
		until(t, ctx, `document.readyState === 'complete' && !document.querySelector('.js[hidden]')`)
		wait(t, 50*time.Millisecond) // The icon comes when the browser wants it.
		size, bad := log.read(h.URL)
		for _, x := range bad {
			t.Errorf("%s: %s", e.path, x)
		}
		switch {
		case i == 0:
			if first = size; size > maxFirst || size < 5<<10 {
				t.Errorf("the first load of %s has %d bytes, at most %d", e.path, size, maxFirst)
			}
		case size > maxNext:
			t.Errorf("%s has %d bytes after the first page, at most %d", e.path, size, maxNext)
		}
		for _, file := range log.again(static.Prefix) {
			t.Errorf("%s loads %s again, which may be kept forever", e.path, file)
		}
	}
	t.Logf("%d pages, the first load has %d bytes over the wire", len(list), first)
}

// networkLog is what the browser asks for.
type networkLog struct {
	events chan any
	urls   map[network.RequestID]string
	cached map[network.RequestID]bool
	sizes  map[network.RequestID]int
	loaded map[string]bool // paths that came over the wire, of all pages
}

func watchNetwork(t *testing.T, ctx context.Context) *networkLog {
	t.Helper()
	l := &networkLog{events: make(chan any, 4096), loaded: map[string]bool{}}
	l.reset()
	if err := chromedp.Listen(ctx, func(ev any) {
		switch ev.(type) {
		case *network.EventRequestWillBeSent, *network.EventRequestServedFromCache, *network.EventLoadingFinished, *network.EventResponseReceived:
			l.events <- ev
		}
	}); err != nil {
		t.Fatal(err)
	}
	do(t, ctx, called(network.Enable, network.EnableParams{}))
	return l
}

func (l *networkLog) reset() {
	l.urls, l.cached, l.sizes = map[network.RequestID]string{}, map[network.RequestID]bool{}, map[network.RequestID]int{}
}

// read takes in what has come, and returns the bytes over the wire and what
// should not have been asked for.
func (l *networkLog) read(base string) (size int, bad []string) {
	for {
		select {
		case ev := <-l.events:
			switch e := ev.(type) {
			case *network.EventRequestWillBeSent:
				l.urls[e.RequestID] = e.Request.URL
			case *network.EventRequestServedFromCache:
				l.cached[e.RequestID] = true
			case *network.EventResponseReceived:
				l.cached[e.RequestID] = l.cached[e.RequestID] || e.Response.FromDiskCache
			case *network.EventLoadingFinished:
				l.sizes[e.RequestID] = int(e.EncodedDataLength)
			}
			continue
		default:
		}
		break
	}
	host, _ := url.Parse(base)
	for id, address := range l.urls {
		u, err := url.Parse(address)
		if err != nil || u.Host != host.Host {
			bad = append(bad, "a request to somebody else: "+address)
		}
		if !l.cached[id] {
			size += l.sizes[id]
		}
	}
	return size, bad
}

// again is what came over the wire under a path on this page and on one before: a
// browser may want an icon pages later, but only once.
func (l *networkLog) again(prefix string) (files []string) {
	for id, address := range l.urls {
		u, err := url.Parse(address)
		if err != nil || !strings.HasPrefix(u.Path, prefix) || l.cached[id] || l.sizes[id] == 0 {
			continue
		}
		if l.loaded[u.Path] {
			files = append(files, u.Path)
		}
		l.loaded[u.Path] = true
	}
	return files
}
