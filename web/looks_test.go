package web

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"github.com/loopscope/loopscope/web/words"
)

// screen is how a page is looked at.
type screen struct {
	theme  string
	width  int64
	height int64
}

// screens are the widths of the drawing in both themes.
var screens = []screen{{"light", 1440, 900}, {"dark", 400, 800}, {"light", 1024, 768}, {"dark", 1440, 900}, {"light", 400, 800}, {"dark", 1024, 768}}

// zoomed is a window of 1280 by 1024 at 400 %, which is what WCAG asks to reflow.
var zoomed = screen{"light", 320, 256}

// everyLook draws each exhibit in all looks instead of one, everySituation also
// the pages of every golden, which a sample has on sheets: make console.
func everyLook() bool      { return os.Getenv("LOOPSCOPE_LOOKS") == "pages" || everySituation() }
func everySituation() bool { return os.Getenv("LOOPSCOPE_LOOKS") == "all" }

// browserLimit bounds what one test does with its browser.
func browserLimit() time.Duration {
	if everyLook() {
		return time.Hour
	}
	return 8 * time.Minute // Most of it is the others' time.
}

// TestBrowserLooks hangs every exhibit before Chromium: nothing scrolls
// sideways, nothing is cut, at 400 % neither, nothing is complained about, and
// axe-core finds no violation. A sample draws each page in one look of six, the
// whole matrix in all.
func TestBrowserLooks(t *testing.T) {
	t.Parallel()
	x := gallery(t)
	h := x.serve(t)
	const windows = 2
	for part := range windows {
		t.Run(words.Digits(part), func(t *testing.T) {
			t.Parallel()
			ctx := browser(t)
			c := listen(t, ctx)
			drawn, checked, spent := 0, 0, time.Duration(0)
			for i, e := range x.list {
				if i%windows != part || e.like && !everySituation() {
					continue
				}
				these := screens
				if !everyLook() {
					these = []screen{screens[i/windows%len(screens)]}
				}
				c.expect(e.grumbles)
				e.enter(t, ctx, h.URL, these[0])
				e.measure(t, ctx, zoomed)
				for _, l := range these {
					// It takes axe-core three quarters of its time; static's TestContrast knows every pair of colours.
					spent += e.inspect(t, ctx, l, everyLook() || i%3 == 0)
					drawn++
				}
				checked++
			}
			c.none(t)
			t.Logf("%d exhibits in %d looks, axe-core took %s of it", checked, drawn, spent.Round(time.Millisecond))
		})
	}
}

// inspect checks the exhibit that is open in one look, and returns what axe-core took of it.
func (e exhibit) inspect(t *testing.T, ctx context.Context, l screen, contrast bool) time.Duration {
	t.Helper()
	e.measure(t, ctx, l)
	began := time.Now()
	if !everySituation() {
		run(t, ctx, chromedp.Evaluate[int](thinScript))
	}
	for _, bad := range axe(t, ctx, strings.HasPrefix(e.id, "sheet."), contrast) {
		t.Errorf("%s %s %d: %s", e.id, l.theme, l.width, bad)
	}
	spent := time.Since(began)
	picture(t, ctx, e.id+"-"+l.theme+"-"+words.Digits(l.width))
	return spent
}

// measure names what is too wide in one look of the exhibit that is open.
func (e exhibit) measure(t *testing.T, ctx context.Context, l screen) {
	t.Helper()
	l.apply(t, ctx)
	for _, bad := range run(t, ctx, chromedp.Evaluate[[]string](cutScript)) {
		t.Errorf("%s %s %d: %s", e.id, l.theme, l.width, bad)
	}
}

// TestBrowserForcedColors reads pages with the colours of a system that chooses them itself.
func TestBrowserForcedColors(t *testing.T) {
	t.Parallel()
	x := gallery(t)
	h := x.serve(t)
	ctx := browser(t)
	c := listen(t, ctx)
	do(t, ctx, called(emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "forced-colors", Value: "active"}}}))
	for _, id := range []string{"overview", "deployment", "replicaset", "sync", "queues", "words", "disconnected"} {
		e, _ := x.find(id)
		c.expect(e.grumbles)
		e.enter(t, ctx, h.URL, screens[0])
		if !run(t, ctx, chromedp.Evaluate[bool](`matchMedia('(forced-colors: active)').matches`)) {
			t.Fatal("the browser does not force colours")
		}
		for _, bad := range run(t, ctx, chromedp.Evaluate[[]string](unseenScript)) {
			t.Errorf("%s in forced colours: %s", e.id, bad)
		}
		picture(t, ctx, e.id+"-forced")
	}
	c.none(t)
}

// apply sets theme and width of the page that is open.
func (l screen) apply(t *testing.T, ctx context.Context) {
	t.Helper()
	do(t, ctx, chromedp.EmulateViewport(l.width, l.height))
	run(t, ctx, chromedp.Evaluate[bool](`(document.documentElement.dataset.theme = '`+l.theme+`', scrollTo(0, 0), true)`))
}

// enter opens an exhibit and waits until its script has done what it shows.
func (e exhibit) enter(t *testing.T, ctx context.Context, base string, l screen) {
	t.Helper()
	address := e.address(base, l.theme)
	if e.live != nil {
		address = strings.Replace(address, "?still&", "?", 1)
	}
	do(t, ctx, chromedp.EmulateViewport(l.width, l.height), chromedp.Navigate(address))
	if e.live != nil {
		until(t, ctx, `!document.querySelector('#told').hidden`)
	}
}

// expect is what the browser may log for a page that is meant to be an error.
func (c *complaints) expect(part string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if part != "" {
		c.expected = append(c.expected, part)
	}
}

// picture writes the page as it is seen, where -shots asks for it.
func picture(t *testing.T, ctx context.Context, name string) {
	t.Helper()
	if *shots == "" || run(t, ctx, chromedp.Evaluate[int](`document.documentElement.scrollHeight`)) > 12_000 { // Chromium draws no larger one.
		return
	}
	if err := os.MkdirAll(*shots, 0o755); err != nil {
		t.Fatal(err)
	}
	png := run(t, ctx, chromedp.FullScreenshot(100))
	if err := os.WriteFile(filepath.Join(*shots, name+".png"), png, 0o600); err != nil {
		t.Fatal(err)
	}
}

// thinScript takes most situations from a sheet, and most rows from a list: the
// rules of axe-core take seconds for a hundred that are made alike.
const thinScript = `[...document.querySelectorAll('main>section:has(>p.rule)')].filter((e, i) => i % 8).concat([...document.querySelectorAll('tbody tr:nth-child(n+8)')]).filter(e => (e.remove(), true)).length`

// cutScript names what scrolls sideways, reaches over an edge, or is cut.
const cutScript = `(() => {
	const bad = []
	const name = e => e.tagName.toLowerCase() + (e.id ? '#' + e.id : '') + (e.getAttribute('class') ? '.' + e.getAttribute('class').split(/\s+/).join('.') : '') + ' "' + e.textContent.trim().slice(0, 40) + '"'
	const known = new Map()
	const scrolls = e => {
		if (!e || e === document.body || e === document.documentElement) return false
		if (!known.has(e)) known.set(e, /auto|scroll/.test(getComputedStyle(e).overflowX) || scrolls(e.parentElement))
		return known.get(e)
	}
	if (document.documentElement.scrollWidth > innerWidth) bad.push('scrolls sideways: ' + document.documentElement.scrollWidth + ' of ' + innerWidth)
	for (const e of document.querySelectorAll('body *')) {
		if (e.closest('.vh,.skip,details:not([open])>:not(summary)') || !e.checkVisibility()) continue
		const r = e.getBoundingClientRect()
		if (!r.width || !r.height || scrolls(e)) continue
		if (r.right > innerWidth + .5) bad.push('reaches to ' + Math.ceil(r.right) + ': ' + name(e))
		if (r.left < -.5) bad.push('begins at ' + Math.floor(r.left) + ': ' + name(e))
		if (!(e instanceof HTMLElement) || !e.clientWidth || e.matches('input')) continue
		const s = getComputedStyle(e)
		if (s.display === 'inline') continue
		if (s.textOverflow === 'ellipsis') bad.push('is cut with an ellipsis: ' + name(e))
		if (e.scrollWidth > e.clientWidth + 1) bad.push((s.overflowX === 'visible' ? 'reaches out of its box: ' : 'is cut: ') + name(e) + ' ' + e.scrollWidth + ' of ' + e.clientWidth)
	}
	return bad.slice(0, 8)
})()`

// unseenScript names glyphs and marks that forced colours have made to vanish,
// and text that has the colour of its ground.
const unseenScript = `(() => {
	const bad = []
	const ground = getComputedStyle(document.body).backgroundColor
	for (const e of document.querySelectorAll('.glyph,.plot path,.meter rect,.plot rect')) {
		if (!e.checkVisibility()) continue
		const s = getComputedStyle(e)
		if (s.stroke === ground && (s.fill === 'none' || s.fill === ground)) bad.push('has the colour of the page: ' + e.outerHTML.slice(0, 80))
	}
	for (const e of document.querySelectorAll('h1,h2,td,dd,a,p')) {
		if (e.checkVisibility() && e.textContent.trim() && getComputedStyle(e).color === ground) bad.push('has the colour of the page: ' + e.outerHTML.slice(0, 80))
	}
	return bad.slice(0, 8)
})()`

// TestBrowserLooksFinds proves that the checks of the looks find what they look for.
func TestBrowserLooksFinds(t *testing.T) {
	t.Parallel()
	ctx := browser(t)
	listen(t, ctx)
	do(t, ctx, chromedp.EmulateViewport(400, 800), chromedp.Navigate("about:blank"))
	run(t, ctx, chromedp.Evaluate[bool](`(document.body.innerHTML = '<main><h1>x</h1><button></button><p style="color:#ccc">faint words</p>' +
		'<p style="width:600px">a wide one</p><p id="cut" style="width:4ch;overflow:hidden;white-space:nowrap">a long name</p></main>', true)`))
	found := strings.Join(append(run(t, ctx, chromedp.Evaluate[[]string](cutScript)), axe(t, ctx, false, true)...), "\n")
	for _, want := range []string{"scrolls sideways", "reaches to", "is cut: p#cut", "button-name", "color-contrast", "html-has-lang"} {
		if !strings.Contains(found, want) {
			t.Errorf("%q was not found on a page that has it:\n%s", want, found)
		}
	}
}
