package controllers

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// podReasonEvery bounds how often pod reasons wake one Deployment.
const podReasonEvery = time.Second

// lostKeys are the keys whose last write has an unknown outcome. The zero value is ready.
type lostKeys struct {
	mu   sync.Mutex
	keys map[string]bool
}

func (l *lostKeys) add(key string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.keys == nil {
		l.keys = map[string]bool{}
	}
	l.keys[key] = true
}

func (l *lostKeys) has(key string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.keys[key]
}

func (l *lostKeys) forget(key string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.keys, key)
}

// publications remember when the status of each object was last written. The
// zero value is ready.
type publications struct {
	mu   sync.Mutex
	last map[string]publication
}

// publication is of one object: another one of the same name has none.
type publication struct {
	uid types.UID
	at  time.Time
}

func (p *publications) note(key string, uid types.UID, at time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.last == nil {
		p.last = map[string]publication{}
	}
	p.last[key] = publication{uid, at}
}

// of is when this process last published the object's status, zero if it has not.
func (p *publications) of(key string, uid types.UID) time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	if last := p.last[key]; last.uid == uid {
		return last.at
	}
	return time.Time{}
}

func (p *publications) forget(key string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.last, key)
}

// podReasons spaces out the wake-ups by pod reasons. The zero value is ready.
type podReasons struct {
	mu   sync.Mutex
	next map[string]time.Time
}

// delay is how long the wake-up of a key has to wait, and books it.
func (r *podReasons) delay(key string, now time.Time) time.Duration {
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

func (r *podReasons) forget(key string) {
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
