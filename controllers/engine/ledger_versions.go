package engine

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// version is a resourceVersion, the resource it is comparable within, and when
// it was written or read.
type version struct {
	resource, rv string
	at           time.Time
	// own are the versions that this process wrote, the newest last.
	own []string
	// read is the newest version that a live read has shown, "" for none.
	read string
}

// ownVersions is how many of those are remembered: a cache may show them one by one, after
// the newest one was written.
const ownVersions = 9

// noteVersion is called with the lock held.
func (l *Ledger) noteVersion(e *Entry, own bool) {
	v, known := l.last[e.UID]
	if !known || older(v.rv, e.RV) {
		v.resource, v.rv, v.at = e.Resource, e.RV, e.since
	}
	switch {
	case !own:
		v.read = e.RV
	case !slices.Contains(v.own, e.RV):
		v.own = append(v.own[max(0, len(v.own)-ownVersions+1):], e.RV)
	}
	l.last[e.UID] = v
}

// wrote reports whether this process wrote that version of an object. It is for the
// newest ones, and says no while the reply is under way.
func (l *Ledger) wrote(uid types.UID, rv string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Contains(l.last[uid].own, rv)
}

// doubtful reports whether a live read after a lost reply has shown that version of an object,
// or a later one: it may be the lost write.
func (l *Ledger) doubtful(uid types.UID, rv string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return shown(l.last[uid].read, rv)
}

// wroteOnceAnswered is wrote as of when a write of the object that is under way is answered.
func (l *Ledger) wroteOnceAnswered(uid types.UID, rv string) bool {
	lock := l.lock(uid)
	lock.Lock()
	defer l.unlock(uid, lock)
	return l.wrote(uid, rv)
}
