// Package engine is what is true of every loop: its queue and workers, the order of a sync,
// how actions are carried out and failures tried again, what is remembered of its own writes
// until caches show them, what is recorded, described and published, and what wakes it when
// something that stood in its way is gone.
//
// A loop is built on it from outside: New, then Use with a Controller, whose Sync observes,
// decides, acts and settles; handlers are registered by Register and call Enqueue. Engine may
// not decide, and may not know any loop: no kind of object is named here but those that
// belong to all of them (pods, namespaces, events, and what may end what keeps pods:
// unblock.go) and in the differences between releases of Kubernetes (release.go).
//
// New starts nothing. Run starts the queue, the event broadcaster and the workers, and
// returns after all of them have ended; with Begin and Step the caller decides when to sync.
package engine
