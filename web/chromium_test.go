package web

import (
	"context"
	"os"
	"sync"
	"testing"

	"github.com/loopscope/loopscope/web/browsertest"
)

// chromium is the one Chromium of this test process, in which every test has a
// window and a profile of its own. It starts with the first test that needs it.
var chromium sharedChromium

type sharedChromium struct {
	once sync.Once
	ctx  context.Context
	err  error
	end  func()
}

func TestMain(m *testing.M) {
	code := m.Run()
	chromium.stop()
	os.Exit(code)
}

// start returns the context of the running browser.
func (c *sharedChromium) start() (context.Context, error) {
	c.once.Do(func() { c.ctx, c.end, c.err = browsertest.Start() })
	return c.ctx, c.err
}

// stop ends the browser, if one runs, and removes what it kept.
func (c *sharedChromium) stop() {
	if c.end != nil {
		c.end()
	}
}
