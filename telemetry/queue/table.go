package queue

import (
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/loopscope/loopscope/telemetry"
)

// maxCauses bounds the causes that are kept for one sync of a key; the newest
// beyond it are counted only. The first causes are kept because they are what
// woke the key.
const maxCauses = 64

// keyTable is what the queue knows of every key that it holds. Keys that are
// idle, wait for nothing and have not failed are not in it, so it is as small
// as the queue.
//
// Two things cannot be seen from outside: a cause is recorded a moment before
// its key is added, and a timer that is armed in the instant in which an earlier
// one of the same key rings may still lie in client-go's channel. Either way a
// sync can take the causes of an add that is still to come. The table then shows
// that key when it is added and not before, and its sync, which finds no causes,
// says which one took them.
type keyTable[K comparable] struct {
	clock clock.PassiveClock
	text  func(K) string

	mu    sync.Mutex
	keys  map[K]*keyEntry
	order []K  // of first mention, until the replay
	live  bool // after the replay

	// inAdd and landed answer what became of the one Add under way.
	inAdd, landed bool
	// failing is the cause of the one Retry under way, due when its key runs.
	failing *telemetry.Cause
	due     time.Time

	adds, errors, timers uint64

	takers takers[K]
}

// keyEntry is one key.
type keyEntry struct {
	phase  telemetry.KeyPhase // "" for not in the queue and not being processed
	since  time.Time          // in this phase
	queued time.Time          // became ready last
	popped time.Time          // taken by a worker last
	early  bool               // enqueued before Start, for a cause in next

	next  causeList // of the next sync
	armed causeList // wait for due
	due   time.Time
	// armedSince is when the key began to wait.
	armedSince time.Time
	// unwaited is how many adds without a wait are under way through client-go's
	// delaying queue, which look like the end of a wait.
	unwaited int
	taken    causeList // by the sync under way
	took     bool      // the sync under way found causes
	takenBy  uint64    // the last sync that did

	attempts int
	backoff  time.Duration
	code     string // of the last failure

	spent telemetry.Spent // in phases that are over
}

// causeList is a bounded list of causes.
type causeList struct {
	kept   []telemetry.Cause
	folded int
}

func (l *causeList) add(c telemetry.Cause) {
	if len(l.kept) >= maxCauses {
		l.folded++
		return
	}
	l.kept = append(l.kept, c)
}

func (l *causeList) addAll(m causeList) {
	for _, c := range m.kept {
		l.add(c)
	}
	l.folded += m.folded
}

// addTimer leaves out a timer that is in the list already: every sync arms all
// its timers again, so they would fill it with copies.
func (l *causeList) addTimer(c telemetry.Cause) {
	for _, old := range l.kept {
		if old.Kind == c.Kind && old.Code == c.Code && old.Due.Equal(c.Due) {
			return
		}
	}
	l.add(c)
}

func newKeyTable[K comparable](c clock.PassiveClock, text func(K) string) *keyTable[K] {
	return &keyTable[K]{clock: c, text: text, keys: map[K]*keyEntry{}, takers: takers[K]{syncs: map[K]uint64{}}}
}

// entry finds or makes the entry of a key. The table is locked.
func (t *keyTable[K]) entry(key K) *keyEntry {
	e := t.keys[key]
	if e == nil {
		e = &keyEntry{takenBy: t.takers.of(key)}
		t.keys[key] = e
		if !t.live {
			t.order = append(t.order, key)
		}
	}
	return e
}

// dropIdle drops the entry of a key of which there is nothing left to say.
func (t *keyTable[K]) dropIdle(key K, e *keyEntry) {
	if e.phase == "" && e.due.IsZero() && e.unwaited == 0 && e.attempts == 0 && len(e.next.kept) == 0 {
		delete(t.keys, key)
		t.takers.remember(key, e.takenBy)
	}
}

// takers remembers which sync took the last causes of the keys that left the
// table last. An add that is late for its causes follows within microseconds,
// so a few are enough.
type takers[K comparable] struct {
	syncs map[K]uint64
	order [256]K
	next  int
}

func (m *takers[K]) of(key K) uint64 { return m.syncs[key] }

func (m *takers[K]) remember(key K, seq uint64) {
	if seq == 0 {
		return
	}
	if _, known := m.syncs[key]; !known {
		delete(m.syncs, m.order[m.next])
		m.order[m.next] = key
		m.next = (m.next + 1) % len(m.order)
	}
	m.syncs[key] = seq
}

func (t *keyTable[K]) stamp(c telemetry.Cause) telemetry.Cause {
	if c.At.IsZero() {
		c.At = t.clock.Now()
	}
	return c
}

// early records an Enqueue before Start.
func (t *keyTable[K]) early(key K, c telemetry.Cause) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.wants(t.entry(key), t.stamp(c))
}

// wants records a cause to run now, or as soon as the queue starts.
func (t *keyTable[K]) wants(e *keyEntry, c telemetry.Cause) {
	if !t.live && !e.early {
		e.early, e.since = true, t.clock.Now()
	}
	e.next.add(c)
}

// earlyKey is a key that Start has to add, to be run at due, both, or neither.
type earlyKey[K comparable] struct {
	key K
	add bool
	due time.Time
}

// replay lists what was recorded before Start and ends that time.
func (t *keyTable[K]) replay() []earlyKey[K] {
	t.mu.Lock()
	defer t.mu.Unlock()
	var list []earlyKey[K]
	for _, key := range t.order {
		if e := t.keys[key]; e != nil {
			list = append(list, earlyKey[K]{key: key, add: e.early, due: e.due})
			e.early = false
		}
	}
	t.order, t.live = nil, true
	return list
}

// enqueued records the cause of an Enqueue.
func (t *keyTable[K]) enqueued(key K, c telemetry.Cause) {
	t.mu.Lock()
	defer t.mu.Unlock()
	e := t.entry(key)
	e.next.add(t.stamp(c))
}

// arm records the cause of a timer, and returns when the key runs.
func (t *keyTable[K]) arm(key K, c telemetry.Cause, wait time.Duration) time.Time {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.timers++
	c = t.stamp(c)
	if c.Due.IsZero() {
		c.Due = t.clock.Now().Add(wait)
	}
	return t.delays(t.entry(key), c, wait)
}

// delays is client-go's rule: no wait is an Add, and of two times the earlier stays. It
// returns when the key runs.
func (t *keyTable[K]) delays(e *keyEntry, c telemetry.Cause, wait time.Duration) time.Time {
	now := t.clock.Now()
	if wait <= 0 {
		t.wants(e, c)
		if t.live {
			e.unwaited++
		}
		return now
	}
	due := now.Add(wait)
	if e.due.IsZero() {
		e.armedSince = now
	}
	if e.due.IsZero() || due.Before(e.due) {
		e.due = due
	}
	e.armed.addTimer(c)
	return e.due
}

// timerFired is the end of a wait: client-go has one time per key, so that nothing is
// left to wait for, whatever the table took for the earliest. An Add without a wait comes
// here too, and leaves the timers of the key alone, also one that is due at this instant.
func (t *keyTable[K]) timerFired(key K) {
	t.mu.Lock()
	defer t.mu.Unlock()
	e := t.entry(key)
	if e.unwaited > 0 {
		e.unwaited--
		return
	}
	if e.due.IsZero() {
		return
	}
	e.next.addAll(e.armed)
	if e.phase == "" { // Otherwise it was in the queue or being processed as well.
		now := t.clock.Now()
		e.spent = e.spent.Add(telemetry.KeyWaiting, min(now.Sub(e.armedSince), now.Sub(e.since)))
	}
	e.armed, e.due, e.armedSince = causeList{}, time.Time{}, time.Time{}
}

// failed keeps the cause of a Retry for the rate limiter's answer.
func (t *keyTable[K]) failed(c telemetry.Cause) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.errors++
	c = t.stamp(c)
	t.failing = &c
}

// backedOff records the rate limiter's answer.
func (t *keyTable[K]) backedOff(key K, wait time.Duration, attempts int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	e := t.entry(key)
	e.backoff, e.attempts = wait, attempts
	if t.failing == nil {
		return
	}
	c := *t.failing
	t.failing = nil
	c.Due, e.code = t.clock.Now().Add(wait), c.Code
	t.due = t.delays(e, c, wait)
}

// retryDue is when the key of the last Retry runs.
func (t *keyTable[K]) retryDue() time.Time {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.due
}

// forgotten records that the failures of a key are cleared.
func (t *keyTable[K]) forgotten(key K) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if e := t.keys[key]; e != nil {
		e.attempts, e.backoff, e.code = 0, 0, ""
		t.dropIdle(key, e)
	}
}
