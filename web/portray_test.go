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
	do(t, ctx, chromedp.Navigate(address+"still=1"))
	for _, size := range []screen{{"light", 1440, 900}, {"dark", 1440, 900}, {"light", 1024, 900}, {"light", 400, 900}, {"dark", 320, 900}} {
		size.apply(t, ctx)
		if run(t, ctx, chromedp.Evaluate[bool](`document.documentElement.scrollWidth > innerWidth`)) {
			t.Errorf("%s at %d scrolls sideways, because of %s", address, size.width, run(t, ctx, chromedp.Evaluate[string](tooWide)))
		}
		picture(t, ctx, name+"-"+size.theme+"-"+words.Digits(size.width))
	}
}
