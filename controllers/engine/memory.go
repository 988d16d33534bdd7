package engine

import (
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// keySet is keys of whose last sync something is still to be made good: a
// write with an unknown outcome, or all of it where no API server served. The
// zero value is ready.
type keySet struct {
	mu   sync.Mutex
	keys map[string]bool
}

// add notes a key.
func (l *keySet) add(key string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.keys == nil {
		l.keys = map[string]bool{}
	}
	l.keys[key] = true
}

// has reports whether a key was noted.
func (l *keySet) has(key string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.keys[key]
}

// forget drops a key.
func (l *keySet) forget(key string) {
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
func (l *keySet) take() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	keys := slices.Sorted(maps.Keys(l.keys))
	clear(l.keys)
	return keys
}
