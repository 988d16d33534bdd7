package queue

import (
	"slices"
	"strings"
	"time"

	"github.com/loopscope/loopscope/telemetry"
)

// adding is called before client-go's Add.
func (t *keyTable[K]) adding() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.inAdd, t.landed = true, false
}

// touched is called during an Add that found the key in the queue.
func (t *keyTable[K]) touched() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.landed = true
}

// added is called after client-go's Add. One that did not reach the queue found
// the key being processed, and it will be queued again; or the queue was shutting down.
func (t *keyTable[K]) added(key K, shutdown bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.inAdd = false
	e := t.keys[key]
	switch {
	case e == nil || t.landed:
	case shutdown:
		e.next = causeList{}
		t.dropIdle(key, e)
	case e.phase == telemetry.KeyProcessing:
		t.adds++
		e.enter(telemetry.KeyDirty, t.clock.Now())
	}
}

// pushed is called when a key joins the queue: by an Add, or by the Done of a dirty key.
func (t *keyTable[K]) pushed(key K) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.inAdd {
		t.landed = true
		t.adds++
	}
	e := t.entry(key)
	e.enter(telemetry.KeyReady, t.clock.Now())
	e.queued = e.since
}

// popped is called when a worker takes the key, and with it every cause so far.
func (t *keyTable[K]) popped(key K) {
	t.mu.Lock()
	defer t.mu.Unlock()
	e := t.entry(key)
	e.enter(telemetry.KeyProcessing, t.clock.Now())
	e.popped = e.since
	e.taken, e.next = e.next, causeList{}
	e.took = len(e.taken.kept) > 0
}

// done is called before client-go's Done, which pushes a dirty key.
func (t *keyTable[K]) done(key K) {
	t.mu.Lock()
	defer t.mu.Unlock()
	e := t.keys[key]
	if e == nil {
		return
	}
	e.taken = causeList{}
	if e.phase == telemetry.KeyProcessing {
		e.enter("", t.clock.Now())
		t.dropIdle(key, e)
	}
}

func (e *keyEntry) enter(phase telemetry.KeyPhase, now time.Time) {
	if e.phase != "" {
		e.spent = e.spent.Add(e.phase, now.Sub(e.since))
	}
	e.phase, e.since = phase, now
}

// taken is what the sync of a key that was just popped has taken.
func (t *keyTable[K]) taken(key K) Work[K] {
	t.mu.Lock()
	defer t.mu.Unlock()
	e := t.entry(key)
	w := Work[K]{Key: key, Causes: e.taken.kept, Folded: e.taken.folded, Queued: e.queued, Attempts: e.attempts}
	if len(w.Causes) == 0 {
		w.TakenBy = e.takenBy
	}
	e.taken = causeList{}
	return w
}

func (t *keyTable[K]) takenBy(key K, seq uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if e := t.keys[key]; e != nil && e.took {
		e.takenBy = seq
	}
}

// state is the whole table, its keys in no order, with their causes or without.
func (t *keyTable[K]) state(causes bool) telemetry.QueueState {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := telemetry.QueueState{
		Adds: t.adds, Errors: t.errors, Timers: t.timers,
		Keys: make([]telemetry.KeyState, 0, len(t.keys)),
	}
	now := t.clock.Now()
	for key, e := range t.keys {
		k, ok := e.state(t.text(key), now, causes)
		if !ok {
			continue
		}
		s.Keys = append(s.Keys, k)
		count(&s, k)
	}
	return s
}

// count adds a key to the totals. A dirty key is being processed too, and a key that
// waits for a time may be anywhere.
func count(s *telemetry.QueueState, k telemetry.KeyState) {
	switch k.Phase {
	case telemetry.KeyReady:
		s.Ready++
	case telemetry.KeyProcessing:
		s.Busy++
	case telemetry.KeyDirty:
		s.Busy++
		s.Dirty++
	}
	if !k.Due.IsZero() {
		s.Waiting++
	}
}

func (t *keyTable[K]) keyState(key K) (telemetry.KeyState, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	e := t.keys[key]
	if e == nil {
		return telemetry.KeyState{Key: t.text(key)}, false
	}
	return e.state(t.text(key), t.clock.Now(), true)
}

// state is false for a key that is nowhere and remembered for its failures alone.
func (e *keyEntry) state(key string, now time.Time, withCauses bool) (telemetry.KeyState, bool) {
	k := telemetry.KeyState{
		Key: key, Phase: e.phase, Since: e.since, Due: e.due,
		Attempts: e.attempts, Backoff: e.backoff, Code: e.code,
	}
	causes := e.next
	switch {
	case e.early:
		k.Phase = telemetry.KeyReady
	case e.phase == "" && !e.due.IsZero():
		k.Phase, k.Since, causes = telemetry.KeyWaiting, e.armedSince, e.armed
		k.Code = soonest(e.armed.kept, k.Code)
	}
	if k.Phase == telemetry.KeyProcessing || k.Phase == telemetry.KeyDirty {
		k.Taken = e.popped
	}
	if withCauses {
		k.Causes, k.Folded = slices.Clone(causes.kept), causes.folded
	}
	k.Spent = e.spent.Add(k.Phase, max(0, min(now.Sub(k.Since), now.Sub(e.since))))
	return k, k.Phase != ""
}

// soonest is the code of the timer that will fire first.
func soonest(timers []telemetry.Cause, none string) string {
	if len(timers) == 0 {
		return none
	}
	first := &timers[0]
	for i := range timers {
		if timers[i].Due.Before(first.Due) {
			first = &timers[i]
		}
	}
	return first.Code
}

func sortedByKey(s telemetry.QueueState) telemetry.QueueState {
	slices.SortFunc(s.Keys, func(a, b telemetry.KeyState) int { return strings.Compare(a.Key, b.Key) })
	return s
}
