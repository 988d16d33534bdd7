package web

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"
)

// portray writes what a page looks like in both themes and in three widths, and
// fails where it scrolls sideways.
func portray(t *testing.T, ctx context.Context, address, name string) {
	t.Helper()
	dir := *shots
	if dir == "" {
		dir = t.TempDir()
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, size := range []struct {
		theme string
		width int64
	}{{"light", 1440}, {"dark", 1440}, {"light", 1024}, {"light", 400}, {"dark", 320}} {
		do(t, ctx, chromedp.EmulateViewport(size.width, 900), chromedp.Navigate(address+"still=1&theme="+size.theme))
		png := run(t, ctx, chromedp.FullScreenshot(100))
		if run(t, ctx, chromedp.Evaluate[bool](`document.documentElement.scrollWidth > innerWidth`)) {
			t.Errorf("%s at %d scrolls sideways, because of %s", address, size.width, run(t, ctx, chromedp.Evaluate[string](tooWide)))
		}
		if err := os.WriteFile(filepath.Join(dir, name+"-"+size.theme+"-"+digits(size.width)+".png"), png, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
