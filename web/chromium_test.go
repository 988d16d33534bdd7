package web

import (
	"context"
	"errors"
	"os"
	"sync"
	"testing"

	"github.com/chromedp/chromedp"
)

// chromium is the one Chromium of this test process, in which every test has a
// window and a profile of its own. It starts with the first test that needs it.
var chromium sharedChromium

type sharedChromium struct {
	once   sync.Once
	ctx    context.Context
	err    error
	cancel []context.CancelFunc // the last first
}

func TestMain(m *testing.M) {
	code := m.Run()
	chromium.stop()
	os.Exit(code)
}

// start returns the context of the running browser.
func (c *sharedChromium) start() (context.Context, error) {
	c.once.Do(func() { c.err = c.launch() })
	return c.ctx, c.err
}

func (c *sharedChromium) launch() error {
	path, err := chromiumPath()
	if err != nil {
		return err
	}
	opts := []chromedp.ExecAllocatorOption{chromedp.ExecPath(path), chromedp.NoFirstRun, chromedp.NoDefaultBrowserCheck,
		chromedp.Flag("headless", "new"), chromedp.NoSandbox, chromedp.DisableGPU, chromedp.Flag("disable-quic", true),
		chromedp.Flag("disable-background-networking", true), chromedp.Flag("disable-component-update", true), chromedp.Flag("disable-sync", true),
		// A window that lies behind others runs its timers and draws like the one in front.
		chromedp.Flag("disable-background-timer-throttling", true), chromedp.Flag("disable-backgrounding-occluded-windows", true), chromedp.Flag("disable-renderer-backgrounding", true),
		chromedp.Flag("disable-features", "SpareRendererForSitePerProcess"), // It would start a process for each page and use a few.
		chromedp.Flag("hide-scrollbars", true), chromedp.WindowSize(1440, 900)}
	ctx, cancel := chromedp.NewExecAllocator(context.Background(), opts...)
	c.cancel = append(c.cancel, cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	c.cancel = append(c.cancel, cancel)
	c.ctx = ctx
	return chromedp.Do(ctx)
}

// stop ends the browser and removes what it kept.
func (c *sharedChromium) stop() {
	for i := len(c.cancel) - 1; i >= 0; i-- {
		c.cancel[i]()
	}
}

func chromiumPath() (string, error) {
	for _, p := range []string{os.Getenv("CHROMIUM"), "/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"} {
		if _, err := os.Stat(p); p != "" && err == nil {
			return p, nil
		}
	}
	return "", errors.New("no Chromium found: install Debian's chromium package, or name the binary in CHROMIUM")
}
