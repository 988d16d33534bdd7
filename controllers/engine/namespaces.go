package engine

import (
	"sync"
	"time"
)

// keepsGone is how long it is remembered of a namespace that it was being deleted, after
// it is gone: the caches of what was in it may be behind.
const keepsGone = 10 * time.Minute

// terminatingNamespaces remembers which namespaces are being deleted, as their metadata shows, or as
// the API server said when it refused to create something. The pods go first, so a
// Deployment may stand there for as long as one of them is held. The zero value is
// ready. Safe for concurrent use.
type terminatingNamespaces struct {
	mu          sync.Mutex
	terminating map[string]time.Time
	deleted     map[string]time.Time // those of terminating that are gone, since when
	subscribers []func(namespace string)
}

// subscribe calls f with every namespace of which it becomes known that it is being deleted.
func (n *terminatingNamespaces) subscribe(f func(namespace string)) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.subscribers = append(n.subscribers, f)
}

// markTerminating notes that a namespace is being deleted; the first time counts.
func (n *terminatingNamespaces) markTerminating(name string, now time.Time) {
	for _, f := range n.note(name, now) {
		f(name)
	}
}

// note returns whom to tell: nobody where it was known.
func (n *terminatingNamespaces) note(name string, now time.Time) []func(string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if _, known := n.terminating[name]; known {
		return nil
	}
	if n.terminating == nil {
		n.terminating = map[string]time.Time{}
	}
	n.terminating[name] = now
	return n.subscribers
}

// markActive forgets that a namespace was being deleted: this one of its name is not.
func (n *terminatingNamespaces) markActive(name string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.forget(name)
}

// markDeleted notes that a namespace is gone, and forgets those that have been for long.
func (n *terminatingNamespaces) markDeleted(name string, now time.Time) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for other, at := range n.deleted {
		if now.Sub(at) > keepsGone {
			n.forget(other)
		}
	}
	if _, known := n.terminating[name]; !known {
		return
	}
	if n.deleted == nil {
		n.deleted = map[string]time.Time{}
	}
	n.deleted[name] = now
}

// forget is called with the lock held.
func (n *terminatingNamespaces) forget(name string) {
	delete(n.terminating, name)
	delete(n.deleted, name)
}

// since is when it was first seen that the namespace of an object is being deleted,
// zero if it was not. An object that is younger is of a namespace recreated.
func (n *terminatingNamespaces) since(name string, created time.Time) time.Time {
	n.mu.Lock()
	defer n.mu.Unlock()
	at := n.terminating[name]
	if created.After(at) {
		n.forget(name)
		return time.Time{}
	}
	return at
}
