package web

import (
	"context"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/loopscope/loopscope/web/words"
)

// portray draws a page in both themes and in four widths, fails where it scrolls
// sideways, and writes a picture of each where -shots asks for it.
func portray(t *testing.T, ctx context.Context, address, name string) {
	t.Helper()
	for _, size := range []struct {
		theme string
		width int64
	}{{"light", 1440}, {"dark", 1440}, {"light", 1024}, {"light", 400}, {"dark", 320}} {
		do(t, ctx, chromedp.EmulateViewport(size.width, 900), chromedp.Navigate(address+"still=1&theme="+size.theme))
		if run(t, ctx, chromedp.Evaluate[bool](`document.documentElement.scrollWidth > innerWidth`)) {
			t.Errorf("%s at %d scrolls sideways, because of %s", address, size.width, run(t, ctx, chromedp.Evaluate[string](tooWide)))
		}
		picture(t, ctx, name+"-"+size.theme+"-"+words.Digits(size.width))
	}
}
