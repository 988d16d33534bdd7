package controllers

import (
	"sync"
	"time"
)

// namespaces remembers which namespaces are being deleted, as the API server said when
// it refused to create something: no loop watches namespaces. The pods go first, so a
// Deployment may stand there for as long as one of them is held. The zero value is
// ready. Safe for concurrent use.
type namespaces struct {
	mu     sync.Mutex
	ending map[string]time.Time
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

// since is when it was first seen that the namespace of an object is being deleted,
// zero if it was not. An object that is younger is of a namespace made anew.
func (n *namespaces) since(name string, created time.Time) time.Time {
	n.mu.Lock()
	defer n.mu.Unlock()
	at, known := n.ending[name]
	if known && created.After(at) {
		delete(n.ending, name)
		return time.Time{}
	}
	return at
}
