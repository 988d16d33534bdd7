package controllers

import (
	"sync"
	"time"
)

// keepsGone is how long it is remembered of a namespace that it was being deleted, after
// it is gone: the caches of what was in it may be behind.
const keepsGone = 10 * time.Minute

// namespaces remembers which namespaces are being deleted, as their metadata shows, or as
// the API server said when it refused to create something. The pods go first, so a
// Deployment may stand there for as long as one of them is held. The zero value is
// ready. Safe for concurrent use.
type namespaces struct {
	mu     sync.Mutex
	ending map[string]time.Time
	gone   map[string]time.Time // those of ending that are gone, since when
	told   []func(namespace string)
}

// tell calls f with every namespace of which it becomes known that it is being deleted.
func (n *namespaces) tell(f func(namespace string)) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.told = append(n.told, f)
}

// ends notes that a namespace is being deleted; the first time counts.
func (n *namespaces) ends(name string, now time.Time) {
	for _, f := range n.note(name, now) {
		f(name)
	}
}

// note returns whom to tell: nobody where it was known.
func (n *namespaces) note(name string, now time.Time) []func(string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if _, known := n.ending[name]; known {
		return nil
	}
	if n.ending == nil {
		n.ending = map[string]time.Time{}
	}
	n.ending[name] = now
	return n.told
}

// lives forgets that a namespace was being deleted: this one of its name is not.
func (n *namespaces) lives(name string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.forget(name)
}

// went notes that a namespace is gone, and forgets those that have been for long.
func (n *namespaces) went(name string, now time.Time) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for other, at := range n.gone {
		if now.Sub(at) > keepsGone {
			n.forget(other)
		}
	}
	if _, known := n.ending[name]; !known {
		return
	}
	if n.gone == nil {
		n.gone = map[string]time.Time{}
	}
	n.gone[name] = now
}

// forget is called with the lock held.
func (n *namespaces) forget(name string) {
	delete(n.ending, name)
	delete(n.gone, name)
}

// since is when it was first seen that the namespace of an object is being deleted,
// zero if it was not. An object that is younger is of a namespace made anew.
func (n *namespaces) since(name string, created time.Time) time.Time {
	n.mu.Lock()
	defer n.mu.Unlock()
	at, known := n.ending[name]
	if known && created.After(at) {
		n.forget(name)
		return time.Time{}
	}
	return at
}
