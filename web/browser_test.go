package web

import (
	"context"
	"flag"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	cdplog "github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

var shots = flag.String("shots", "", "directory to write pictures of the pages to")

// browser starts Chromium with a profile of its own. A machine without one
// fails the test, since these tests are the only proof that the script works.
func browser(t *testing.T) context.Context {
	t.Helper()
	path := ""
	for _, p := range []string{os.Getenv("CHROMIUM"), "/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"} {
		if _, err := os.Stat(p); p != "" && err == nil {
			path = p
			break
		}
	}
	if path == "" {
		t.Fatal("no Chromium found: install Debian's chromium package, or name the binary in CHROMIUM")
	}
	opts := []chromedp.ExecAllocatorOption{chromedp.ExecPath(path), chromedp.NoFirstRun, chromedp.NoDefaultBrowserCheck,
		chromedp.Flag("headless", "new"), chromedp.NoSandbox, chromedp.DisableGPU, chromedp.Flag("disable-quic", true),
		chromedp.Flag("disable-background-networking", true), chromedp.Flag("disable-component-update", true), chromedp.Flag("disable-sync", true),
		chromedp.Flag("hide-scrollbars", true), chromedp.WindowSize(1440, 900)}
	ctx, cancel := chromedp.NewExecAllocator(context.Background(), opts...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	ctx, cancel = context.WithTimeout(ctx, 2*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// complaints collects what the page complains about: errors, and violations of
// the content security policy, which Chromium logs.
type complaints struct {
	mu   sync.Mutex
	list []string
}

func listen(t *testing.T, ctx context.Context) *complaints {
	t.Helper()
	c := &complaints{}
	err := chromedp.Listen(ctx, func(ev any) {
		c.mu.Lock()
		defer c.mu.Unlock()
		switch e := ev.(type) {
		case *runtime.EventExceptionThrown:
			c.list = append(c.list, "exception: "+e.ExceptionDetails.Text)
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
		t.Errorf("the browser complains: %s", x)
	}
}

// TestBrowserPictures writes pictures of the pages for people to look at.
func TestBrowserPictures(t *testing.T) {
	if *shots == "" {
		*shots = t.TempDir()
	}
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
		"sync": syncHref(w.journal.Board().Rows("deployment")[0].Trace) + "?", "waiting": "/deployments?q=is:waiting&", "missing": "/deployments/shop/wbe?", "nomatch": "/deployments?q=is:failed+ns:shop+foo:bar&"}
	for name, path := range pages {
		for _, look := range []struct {
			theme string
			width int64
		}{{"light", 1440}, {"dark", 1440}, {"light", 400}, {"light", 1024}} {
			if (name == "missing" || name == "nomatch" || name == "waiting") && look.theme != "light" {
				continue
			}
			do(t, ctx, chromedp.EmulateViewport(look.width, 900), chromedp.Navigate(h.URL+path+"still=1&theme="+look.theme))
			png := run(t, ctx, chromedp.FullScreenshot(100))
			if run(t, ctx, chromedp.Evaluate[bool](`document.documentElement.scrollWidth > innerWidth`)) {
				t.Errorf("%s at %d scrolls sideways", path, look.width)
			}
			file := filepath.Join(*shots, name+"-"+look.theme+"-"+digits(look.width)+".png")
			if err := os.WriteFile(file, png, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	c.none(t)
}

func command(c cdp.Command[cdp.Empty, cdp.Empty]) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, c, cdp.Empty{})
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
