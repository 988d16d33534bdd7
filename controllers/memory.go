package controllers

import (
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// podReasonEvery bounds how often pod reasons wake one Deployment.
const podReasonEvery = time.Second

// unresolvedKeys are keys of whose last sync something is still to be made good: a
// write with an unknown outcome, or all of it where no API server served. The
// zero value is ready.
type unresolvedKeys struct {
	mu   sync.Mutex
	keys map[string]bool
}

func (l *unresolvedKeys) add(key string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.keys == nil {
		l.keys = map[string]bool{}
	}
	l.keys[key] = true
}

func (l *unresolvedKeys) has(key string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.keys[key]
}

func (l *unresolvedKeys) forget(key string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.keys, key)
}

// deferredStatuses remembers since when the status of each object is held back. The zero
// value is ready.
type deferredStatuses struct {
	mu    sync.Mutex
	since map[string]deferredStatus
}

// deferredStatus is of one object: another one of the same name has its own.
type deferredStatus struct {
	uid   types.UID
	since time.Time
}

// note keeps the first time of a row of notes.
func (h *deferredStatuses) note(key string, uid types.UID, now time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.since == nil {
		h.since = map[string]deferredStatus{}
	}
	if h.since[key].uid != uid {
		h.since[key] = deferredStatus{uid, now}
	}
}

// of is since when the object's status is held back, zero if it is not.
func (h *deferredStatuses) of(key string, uid types.UID) time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	if last := h.since[key]; last.uid == uid {
		return last.since
	}
	return time.Time{}
}

func (h *deferredStatuses) forget(key string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.since, key)
}

// take returns every key and leaves none.
func (l *unresolvedKeys) take() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	keys := slices.Sorted(maps.Keys(l.keys))
	clear(l.keys)
	return keys
}

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
