// Package browsertest starts Chromium for tests. No program imports it.
package browsertest

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/chromedp/chromedp"
)

// builds are where Chromium lies. The one without a window of its own, which nobody would see, takes
// a third less of the processors.
var builds = []string{"/usr/bin/chromium-headless-shell", "/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"}

// Start starts Chromium: the binary that the environment names in CHROMIUM, or the first one that is
// installed. A context that chromedp.NewContext derives from ctx is a tab of it. It runs until stop
// is called, which also removes what it kept. An error says what to install.
func Start() (ctx context.Context, stop func(), err error) {
	path, err := find(os.Getenv("CHROMIUM"))
	if err != nil {
		return nil, nil, err
	}
	running, end := chromedp.NewExecAllocator(context.Background(), chromedp.ExecPath(path), chromedp.NoFirstRun, chromedp.NoDefaultBrowserCheck,
		chromedp.Flag("headless", "new"), chromedp.NoSandbox, chromedp.DisableGPU, chromedp.Flag("disable-quic", true),
		chromedp.Flag("disable-background-networking", true), chromedp.Flag("disable-component-update", true), chromedp.Flag("disable-sync", true),
		// A window that lies behind others runs its timers and draws like the one in front.
		chromedp.Flag("disable-background-timer-throttling", true), chromedp.Flag("disable-backgrounding-occluded-windows", true), chromedp.Flag("disable-renderer-backgrounding", true),
		chromedp.Flag("disable-features", "SpareRendererForSitePerProcess"), // It would start a process for each page and use a few.
		chromedp.Flag("hide-scrollbars", true), chromedp.WindowSize(1440, 900))
	ctx, leave := chromedp.NewContext(running)
	stop = func() { leave(); end() }
	if err := chromedp.Do(ctx); err != nil {
		stop()
		return nil, nil, fmt.Errorf("start %s: %w", path, err)
	}
	return ctx, stop, nil
}

func find(named string) (string, error) {
	if named != "" {
		if _, err := os.Stat(named); err != nil {
			return "", fmt.Errorf("CHROMIUM=%s: %w", named, err)
		}
		return named, nil
	}
	for _, path := range builds {
		if _, err := os.Stat(path); err == nil {
			return path, nil
		}
	}
	return "", errors.New("there is no Chromium: run make deps, install Debian's chromium-headless-shell or chromium, or name the binary in CHROMIUM")
}
