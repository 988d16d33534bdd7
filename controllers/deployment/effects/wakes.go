package effects

import (
	"sync"
	"time"
)

// podReasonEvery bounds how often pod reasons wake one Deployment.
const podReasonEvery = time.Second

// wakeLimiter spaces out the wake-ups by pod reasons. The zero value is ready.
type wakeLimiter struct {
	mu   sync.Mutex
	next map[string]time.Time
}

// delay is how long the wake-up of a key has to wait, and books it.
func (r *wakeLimiter) delay(key string, now time.Time) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.next == nil {
		r.next = map[string]time.Time{}
	}
	due := r.next[key]
	if due.Before(now) {
		due = now
	}
	if due.Sub(now) > podReasonEvery {
		return due.Sub(now) // One is booked already; this cause joins it.
	}
	r.next[key] = due.Add(podReasonEvery)
	return due.Sub(now)
}

func (r *wakeLimiter) forget(key string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.next, key)
}

// progress remembers when the counts of a Deployment last changed, which no
// field of a Deployment without a deadline says. The zero value is ready.
type progress struct {
	mu   sync.Mutex
	seen map[string]progressed
}

type progressed struct {
	counts [4]int64
	at     time.Time
}

// note returns when the counts last changed. What was true before the first
// look is known by the condition's time alone.
func (p *progress) note(key string, counts [4]int64, condition, now time.Time) time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.seen == nil {
		p.seen = map[string]progressed{}
	}
	last, known := p.seen[key]
	switch {
	case !known:
		last = progressed{counts, condition}
	case last.counts != counts:
		last = progressed{counts, now}
	}
	if condition.After(last.at) {
		last.at = condition
	}
	p.seen[key] = last
	return last.at
}

func (p *progress) forget(key string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.seen, key)
}
