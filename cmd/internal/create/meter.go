package create

import (
	"fmt"
	"io"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/loopscope/loopscope/telemetry/prose"
)

const windowsLines = runtime.GOOS == "windows"

// meterFrom is how long a run takes before its progress is shown, meterEvery how often it is
// shown anew.
const (
	meterFrom  = time.Second
	meterEvery = 200 * time.Millisecond
)

// meter shows in one line of a terminal how many objects have been sent.
type meter struct {
	out   io.Writer
	verb  string
	began time.Time
	count atomic.Int64
	quit  chan struct{}
	ended sync.WaitGroup
}

// startMeter shows progress on out until stop; where out is nil it shows nothing.
func startMeter(out io.Writer, verb string, began time.Time) *meter {
	m := &meter{out: out, verb: verb, began: began, quit: make(chan struct{})}
	if out != nil {
		m.ended.Go(m.run)
	}
	return m
}

func (m *meter) sent(n int) { m.count.Store(int64(n)) }

// stop takes the line away.
func (m *meter) stop() {
	close(m.quit)
	m.ended.Wait()
}

func (m *meter) run() {
	next := time.NewTimer(meterFrom)
	defer next.Stop()
	for shown := false; ; shown = true {
		select {
		case <-m.quit:
			if shown {
				fmt.Fprint(m.out, eraseLine)
			}
			return
		case now := <-next.C:
			fmt.Fprint(m.out, eraseLine+m.text(now))
			next.Reset(meterEvery)
		}
	}
}

const eraseLine = "\r\x1b[K"

func (m *meter) text(now time.Time) string {
	return fmt.Sprintf("%s: %s after %s", m.verb, prose.Count(int(m.count.Load()), "object"), prose.Span(now.Sub(m.began)))
}
