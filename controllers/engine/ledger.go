package engine

import (
	"maps"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/utils/clock"
)

// Echoes are checked again after echoFirst, doubling up to echoMost, and by a
// live read once they are older than echoLive.
const (
	echoFirst = time.Second
	echoMost  = 30 * time.Second
	echoLive  = 5 * time.Minute
	// sweepEvery is how often the ledger looks for what nobody will ask for again.
	sweepEvery = time.Minute
)

// Store is the part of an informer's store that the ledger compares with.
type Store interface {
	LastStoreSyncResourceVersion() string
}

// Ledger remembers the newest resourceVersion that this process wrote to each
// object until the object's cache shows it. It is shared by all loops of a
// process, because two loops write the same ReplicaSet: the one that decided on
// an older version must not send its write. Safe for concurrent use.
type Ledger struct {
	clock clock.PassiveClock

	mu      sync.Mutex
	entries map[types.UID]*Entry
	owned   map[types.UID]map[types.UID]*Entry
	last    map[types.UID]version // newest known of each living object, in its cache or not
	locks   map[types.UID]*objectLock
	highest map[string]string // by resource: the newest version its store has shown
	swept   time.Time

	// namespaces and lags are of all loops of the process, like the ledger itself.
	namespaces terminatingNamespaces
	lags       lags
}

// Entry is one write that is not known to be in its cache.
type Entry struct {
	UID, Owner       types.UID
	Resource, Object string
	RV               string
	since, check     time.Time
	delay            time.Duration
}

// Versions is, by resource, what its store had shown when it was asked.
type Versions map[string]string

// VersionsOf asks every store. A snapshot's is taken before the first object is
// read: a store may move on while the snapshot is taken, and what it shows then
// says nothing about the objects that were read before.
func VersionsOf(stores map[string]Store) Versions {
	v := Versions{}
	for resource, store := range stores {
		v[resource] = store.LastStoreSyncResourceVersion()
	}
	return v
}

// NoteWait notes how long a key of a loop has waited in its queue, from ready to taken.
func (l *Ledger) NoteWait(loop string, wait time.Duration) { l.lags.note(loop, wait) }

// Lag is how far the loop that is behind the most is behind, in whole milliseconds.
func (l *Ledger) Lag() time.Duration { return l.lags.longest() }

// TerminatingSince is when it was first seen that the namespace of an object is being
// deleted, zero if it was not. created is when the object was.
func (l *Ledger) TerminatingSince(namespace string, created time.Time) time.Time {
	return l.namespaces.since(namespace, created)
}

// NoteTerminating notes that a namespace is being deleted; the first time counts.
func (l *Ledger) NoteTerminating(namespace string, at time.Time) {
	l.namespaces.markTerminating(namespace, at)
}

type objectLock struct {
	sync.Mutex
	users int
}

// NewLedger returns an empty ledger.
func NewLedger(c clock.PassiveClock) *Ledger {
	return &Ledger{
		clock:   c,
		entries: map[types.UID]*Entry{},
		owned:   map[types.UID]map[types.UID]*Entry{},
		last:    map[types.UID]version{},
		locks:   map[types.UID]*objectLock{},
		highest: map[string]string{},
	}
}

// Written notes that an object stands at rv by our own hand.
func (l *Ledger) Written(e Entry) { l.note(e, true) }

// ReadLive notes that an object stands at rv by a live read, which the cache has yet to catch
// up with. Who wrote it is not known.
func (l *Ledger) ReadLive(e Entry) { l.note(e, false) }

func (l *Ledger) note(e Entry, own bool) {
	if e.UID == "" || e.RV == "" {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	e.since = l.clock.Now()
	l.noteVersion(&e, own)
	if old := l.entries[e.UID]; old != nil && !older(old.RV, e.RV) {
		return
	}
	e.delay = echoFirst
	e.check = e.since.Add(e.delay)
	l.drop(e.UID)
	l.entries[e.UID] = &e
	if e.Owner != "" {
		if l.owned[e.Owner] == nil {
			l.owned[e.Owner] = map[types.UID]*Entry{}
		}
		l.owned[e.Owner][e.UID] = &e
	}
}

// Confirmed replaces what is remembered of an object and its children by what a
// live read that began at asked has shown. What the read lacks is gone, and a
// version that it does not reach was taken back by a restore: without this, both
// would be waited for forever. Writes since then are newer than the read and stay.
func (l *Ledger) Confirmed(uid types.UID, asked time.Time, live []Entry) {
	l.mu.Lock()
	for _, e := range append(l.of(uid), l.known(live)...) {
		if !e.since.After(asked) {
			l.drop(e.UID)
		}
	}
	for _, e := range live {
		if v := l.last[e.UID]; !v.at.After(asked) && v.rv != e.RV && !older(v.rv, e.RV) {
			delete(l.last, e.UID)
		}
	}
	l.mu.Unlock()
	for _, e := range live {
		l.ReadLive(e)
	}
}

// known lists what is remembered of the objects of a live read. Callers hold the mutex.
func (l *Ledger) known(live []Entry) []*Entry {
	var list []*Entry
	for _, e := range live {
		if old := l.entries[e.UID]; old != nil {
			list = append(list, old)
		}
	}
	return list
}

// sweep forgets what its store has shown for long. An object that went while a
// write to it was under way has had its delete event before the write was
// noted: nothing else would ever clear it. Callers hold the mutex.
func (l *Ledger) sweep() {
	now := l.clock.Now()
	if now.Sub(l.swept) < sweepEvery {
		return
	}
	l.swept = now
	settled := func(resource, rv string, at time.Time) bool {
		return now.Sub(at) >= echoLive && shown(l.highest[resource], rv)
	}
	for uid, e := range l.entries {
		if settled(e.Resource, e.RV, e.since) {
			l.drop(uid)
		}
	}
	maps.DeleteFunc(l.last, func(_ types.UID, v version) bool { return settled(v.resource, v.rv, v.at) })
}

// Forget clears what is remembered of an object that is gone, and of its children.
func (l *Ledger) Forget(uid types.UID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.drop(uid)
	delete(l.last, uid)
	for child := range l.owned[uid] {
		l.drop(child)
	}
}

// drop removes one entry. Callers hold the mutex.
func (l *Ledger) drop(uid types.UID) {
	e := l.entries[uid]
	if e == nil {
		return
	}
	delete(l.entries, uid)
	if children := l.owned[e.Owner]; children != nil {
		delete(children, uid)
		if len(children) == 0 {
			delete(l.owned, e.Owner)
		}
	}
}

// Echo is an entry as a sync sees it.
type Echo struct {
	UID, Owner              types.UID
	Object, Written, Cached string
	Since, Check            time.Time
	Overdue                 bool // old enough for a live read
}

// Pending returns the writes to an object and its children that a snapshot does
// not show yet, and forgets those it does. cached returns the version of an
// object in the snapshot; for one that is not there ("") it counts what the
// stores had seen before the snapshot was taken.
func (l *Ledger) Pending(uid types.UID, stores map[string]Store, seen Versions, cached func(resource string, uid types.UID) string) []Echo {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.noticeRestore(stores)
	l.sweep()
	var waits []Echo
	for _, e := range l.of(uid) {
		if stores[e.Resource] == nil {
			continue
		}
		have := cached(e.Resource, e.UID)
		if shown(have, e.RV) || have == "" && shown(seen[e.Resource], e.RV) {
			l.drop(e.UID)
			continue
		}
		waits = append(waits, l.wait(e, have))
	}
	return waits
}

// of lists the entries of an object and its children. Callers hold the mutex.
func (l *Ledger) of(uid types.UID) []*Entry {
	var all []*Entry
	if e := l.entries[uid]; e != nil {
		all = append(all, e)
	}
	for _, e := range l.owned[uid] {
		all = append(all, e)
	}
	return all
}

// wait describes an entry that is still pending and doubles its next check when
// the last one has passed. Callers hold the mutex.
func (l *Ledger) wait(e *Entry, have string) Echo {
	if l.clock.Since(e.check) >= 0 {
		e.delay = min(2*e.delay, echoMost)
		e.check = l.clock.Now().Add(e.delay)
	}
	echo := l.echo(e, have)
	echo.Overdue = l.clock.Since(e.since) >= echoLive
	return echo
}

func (l *Ledger) echo(e *Entry, have string) Echo {
	return Echo{UID: e.UID, Owner: e.Owner, Object: e.Object, Written: e.RV, Cached: have, Since: asOfNow(l.clock, e.since), Check: asOfNow(l.clock, e.check)}
}

// noticeRestore forgets everything of a resource whose store has fallen behind
// what it showed before: its etcd was restored, so our versions mean nothing.
// Callers hold the mutex.
func (l *Ledger) noticeRestore(stores map[string]Store) {
	for resource, store := range stores {
		rv := store.LastStoreSyncResourceVersion()
		if rv == "" {
			continue
		}
		if older(rv, l.highest[resource]) {
			for uid, e := range l.entries {
				if e.Resource == resource {
					l.drop(uid)
				}
			}
			maps.DeleteFunc(l.last, func(_ types.UID, v version) bool { return v.resource == resource })
		}
		l.highest[resource] = rv
	}
}

// guarded runs write while no other write of ours to the object is under way,
// and only if the version decided on is not older than our own last one, which
// holds also when a cache has shown that since: another loop may have seen it
// there while this one was still being processed. superseded is true when nothing was sent.
func (l *Ledger) guarded(uid types.UID, decidedOn string, write func()) (superseded bool) {
	lock := l.lock(uid)
	lock.Lock()
	defer l.unlock(uid, lock)
	l.mu.Lock()
	superseded = older(decidedOn, l.last[uid].rv)
	l.mu.Unlock()
	if !superseded {
		write()
	}
	return superseded
}

func (l *Ledger) lock(uid types.UID) *objectLock {
	l.mu.Lock()
	defer l.mu.Unlock()
	lock := l.locks[uid]
	if lock == nil {
		lock = &objectLock{}
		l.locks[uid] = lock
	}
	lock.users++
	return lock
}

func (l *Ledger) unlock(uid types.UID, lock *objectLock) {
	lock.Unlock()
	l.mu.Lock()
	defer l.mu.Unlock()
	if lock.users--; lock.users == 0 {
		delete(l.locks, uid)
	}
}

// All lists every pending entry, for the debug pages.
func (l *Ledger) All() []Echo {
	l.mu.Lock()
	defer l.mu.Unlock()
	list := make([]Echo, 0, len(l.entries))
	for _, e := range l.entries {
		list = append(list, l.echo(e, l.highest[e.Resource]))
	}
	return list
}

// older reports whether a is an older version than b of the same resource.
// Versions that cannot be compared are not older: the API server decides.
func older(a, b string) bool {
	order, _ := resourceversion.CompareResourceVersion(a, b)
	return order < 0
}

// shown reports whether a cache at have shows what was written at rv.
func shown(have, rv string) bool {
	order, err := resourceversion.CompareResourceVersion(have, rv)
	return err == nil && order >= 0
}
