package main

import (
	"fmt"
	"io"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// progress prints what happens, a line at a time. It may be shared.
type progress struct {
	clock   clock.PassiveClock
	started time.Time

	mu  sync.Mutex
	out io.Writer
}

func newProgress(out io.Writer, clock clock.PassiveClock) *progress {
	return &progress{out: out, clock: clock, started: clock.Now()}
}

// say prints one line.
func (p *progress) say(line string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, _ = fmt.Fprintln(p.out, line) // nothing to be done about a closed terminal
}

// done prints that a step is over: how long it took, and the time since start.
func (p *progress) done(step string, began time.Time) {
	p.say(fmt.Sprintf("  %-24s %5.1f s   (at %.1f s)", step, p.clock.Since(began).Seconds(), p.elapsed().Seconds()))
}

// elapsed is the time since the sandbox was started.
func (p *progress) elapsed() time.Duration { return p.clock.Since(p.started) }
