package engine

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	testclock "k8s.io/utils/clock/testing"
)

// store is a cache that has caught up to a resourceVersion.
type store string

func (s store) LastStoreSyncResourceVersion() string { return string(s) }

func at(rv string) map[string]Store {
	return map[string]Store{"replicasets": store(rv)}
}

func seenAt(rv string) Versions { return VersionsOf(at(rv)) }

func cachedAt(rv string) func(string, types.UID) string {
	return func(string, types.UID) string { return rv }
}

func newTestLedger() (*Ledger, *testclock.FakeClock) {
	c := testclock.NewFakeClock(time.Date(2026, 11, 21, 3, 0, 0, 0, time.UTC))
	return NewLedger(c), c
}

func write(l *Ledger, uid, owner, rv string) {
	l.Written(Entry{UID: types.UID(uid), Owner: types.UID(owner), Resource: "replicasets", Object: "ReplicaSet " + uid, RV: rv})
}

// [RS-1]: a write is waited for until its cache, or the object in it, shows it.
func TestLedgerPending(t *testing.T) {
	for _, c := range []struct {
		name, store, cached string
		waits               bool
	}{
		{"nothing seen", "", "", true},
		{"store behind", "99", "99", true},
		{"store there, object elsewhere", "100", "", false},
		{"object there, store silent", "", "100", false},
		{"store past it, the snapshot's object is not", "1000", "99", true},
		{"store past it, object elsewhere", "1000", "", false},
		{"versions that are no numbers", "abc", "def", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			l, _ := newTestLedger()
			write(l, "child", "parent", "100")
			for _, uid := range []types.UID{"child", "parent"} {
				if got := len(l.Pending(uid, at(c.store), seenAt(c.store), cachedAt(c.cached))) > 0; got != c.waits {
					t.Errorf("%s waits = %v, want %v", uid, got, c.waits)
				}
			}
		})
	}
}

func TestLedgerKeepsTheNewestWrite(t *testing.T) {
	l, _ := newTestLedger()
	write(l, "a", "", "100")
	write(l, "a", "", "99")
	if waits := l.Pending("a", at("99"), seenAt("99"), cachedAt("")); len(waits) != 1 || waits[0].Written != "100" {
		t.Errorf("pending = %+v, want one at 100", waits)
	}
}

func TestLedgerChecksAgainEverSeldomer(t *testing.T) {
	l, clock := newTestLedger()
	write(l, "a", "", "100")
	start := clock.Now()
	var got []time.Duration
	for range 7 {
		w := l.Pending("a", at("1"), seenAt("1"), cachedAt("1"))[0]
		got = append(got, w.Check.Sub(start))
		clock.SetTime(w.Check)
	}
	want := []time.Duration{1, 3, 7, 15, 31, 61, 91}
	for i := range want {
		if got[i] != want[i]*time.Second {
			t.Fatalf("checks after %v, want %v seconds", got, want)
		}
	}
	clock.SetTime(start.Add(echoLive))
	if !l.Pending("a", at("1"), seenAt("1"), cachedAt("1"))[0].Overdue {
		t.Error("a write unseen for five minutes does not ask for a live read")
	}
}

func TestLedgerForgetsAfterARestore(t *testing.T) {
	l, _ := newTestLedger()
	write(l, "a", "", "100")
	if len(l.Pending("a", at("90"), seenAt("90"), cachedAt("90"))) != 1 {
		t.Fatal("not pending at 90")
	}
	if waits := l.Pending("a", at("20"), seenAt("20"), cachedAt("20")); len(waits) != 0 {
		t.Errorf("still waiting for %+v after the store fell from 90 to 20", waits)
	}
}

func TestLedgerForgetsAnObjectAndItsChildren(t *testing.T) {
	l, _ := newTestLedger()
	write(l, "parent", "", "100")
	write(l, "child", "parent", "101")
	l.Forget("parent")
	if all := l.All(); len(all) != 0 {
		t.Errorf("kept %+v", all)
	}
	l.Forget("never written")
	if len(l.owned) != 0 {
		t.Errorf("kept owners %v", l.owned)
	}
}

// A store that catches up while a snapshot is being taken does not make the
// snapshot newer: what was read first may still be the object before the write.
func TestLedgerComparesWithTheSnapshot(t *testing.T) {
	l, _ := newTestLedger()
	write(l, "child", "parent", "100")
	if len(l.Pending("parent", at("200"), seenAt("99"), cachedAt(""))) != 1 {
		t.Error("the snapshot was begun at 99 and lacks the object written at 100, but nothing is waited for")
	}
}

// A write that one loop has seen in its cache still guards the object against
// another loop that is being processed on an older version.
func TestLedgerGuardsAfterTheEcho(t *testing.T) {
	l, _ := newTestLedger()
	write(l, "child", "parent", "100")
	if waits := l.Pending("parent", at("100"), seenAt("100"), cachedAt("100")); len(waits) != 0 {
		t.Fatalf("pending = %+v, want none", waits)
	}
	if !l.guarded("child", "99", func() { t.Error("an outdated write was sent") }) {
		t.Error("an outdated write was not superseded")
	}
	l.Forget("child")
	if len(l.last) != 0 {
		t.Errorf("of an object that is gone is kept %v", l.last)
	}
	write(l, "other", "", "300")
	l.Pending("other", at("300"), seenAt("300"), cachedAt("300"))
	l.Pending("other", at("20"), seenAt("20"), cachedAt("20"))
	if l.guarded("other", "21", func() {}) {
		t.Error("after a restore a version of before it supersedes a write")
	}
}

// Two loops write the same ReplicaSet: the one that decided on an older version
// sends nothing, and their requests never overlap.
func TestLedgerGuards(t *testing.T) {
	l, _ := newTestLedger()
	if l.guarded("a", "100", func() { write(l, "a", "", "101") }) {
		t.Error("the first write was superseded by nothing")
	}
	if !l.guarded("a", "100", func() { t.Error("an outdated write was sent") }) {
		t.Error("an outdated write was not superseded")
	}
	if l.guarded("a", "101", func() {}) {
		t.Error("a write on the newest version was superseded")
	}
	if len(l.locks) != 0 {
		t.Errorf("%d locks are left", len(l.locks))
	}
}

func TestLedgerGuardsOneAtATime(t *testing.T) {
	l, _ := newTestLedger()
	var inside, most atomic.Int64
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for range 200 {
				l.guarded("a", "1", func() {
					if n := inside.Add(1); n > most.Load() {
						most.Store(n)
					}
					inside.Add(-1)
				})
			}
		})
	}
	group.Wait()
	if most.Load() != 1 {
		t.Errorf("%d writes to one object at once", most.Load())
	}
}

// What this process does not watch is never waited for: its store says nothing.
func TestLedgerPassesOverOtherResources(t *testing.T) {
	l, _ := newTestLedger()
	l.Written(Entry{UID: "pod", Owner: "parent", Resource: "pods", RV: "7"})
	write(l, "parent", "", "100")
	if waits := l.Pending("parent", at("99"), seenAt("99"), cachedAt("")); len(waits) != 1 || waits[0].Object != "ReplicaSet parent" {
		t.Errorf("waits for %+v", waits)
	}
	l.Written(Entry{UID: "", Resource: "pods", RV: "7"})
	l.Written(Entry{UID: "x", Resource: "pods"})
	if n := len(l.All()); n != 2 {
		t.Errorf("%d writes are remembered, want the two that have a name and a version", n)
	}
}

// A version is our own where the newest write of ours gave it.
func TestLedgerKnowsItsVersions(t *testing.T) {
	l, _ := newTestLedger()
	write(l, "a", "", "100")
	write(l, "a", "", "101")
	if !l.guarded("a", "100", func() {}) {
		t.Error("the newer of two writes is not remembered")
	}
	l.Pending("a", at("101"), seenAt("101"), cachedAt("101"))
	write(l, "a", "", "100")
	if !l.guarded("a", "100", func() {}) {
		t.Error("a reply that is late takes the newest write back")
	}
	if !l.wrote("a", "101") || l.wrote("a", "99") || l.wrote("b", "") {
		t.Error("it does not know what it wrote")
	}
}

// A store that has shown nothing yet says nothing of what it showed before.
func TestLedgerOfASilentStore(t *testing.T) {
	l, _ := newTestLedger()
	write(l, "a", "", "100")
	for _, rv := range []string{"90", ""} {
		if len(l.Pending("a", at(rv), seenAt(rv), cachedAt("90"))) != 1 {
			t.Fatalf("not pending at %q", rv)
		}
	}
	if waits := l.Pending("a", at("20"), seenAt("20"), cachedAt("20")); len(waits) != 0 {
		t.Errorf("still waiting for %+v after the store fell from 90 to 20", waits)
	}
}

// A write of nothing, or with no version, is waited for by nobody.
func TestLedgerOfNothing(t *testing.T) {
	l, _ := newTestLedger()
	write(l, "", "", "100")
	write(l, "a", "", "")
	if all := l.All(); len(all) != 0 || len(l.last) != 0 {
		t.Errorf("noted are %+v, %v", all, l.last)
	}
}

// What is pending is named, and what a loop has no cache of is left to others.
func TestLedgerNamesWhatIsPending(t *testing.T) {
	l, clock := newTestLedger()
	write(l, "parent", "", "100")
	l.Written(Entry{UID: "pod", Owner: "parent", Resource: "pods", Object: "Pod web", RV: "90"})
	since := clock.Now()
	want := Echo{UID: "parent", Object: "ReplicaSet parent", Written: "100", Cached: "50", Since: since, Check: since.Add(echoFirst)}
	waits := l.Pending("parent", at("50"), seenAt("50"), cachedAt("50"))
	if len(waits) != 1 || waits[0] != want {
		t.Errorf("pending = %+v, want %+v", waits, want)
	}
	all := map[types.UID]Echo{}
	for _, e := range l.All() {
		all[e.UID] = e
	}
	if pod := (Echo{UID: "pod", Owner: "parent", Object: "Pod web", Written: "90", Since: since, Check: since.Add(echoFirst)}); len(all) != 2 || all["parent"] != want || all["pod"] != pod {
		t.Errorf("all = %+v, want %+v and %+v", all, want, pod)
	}
}

// A restore that one resource shows says nothing of the others: they may be in another etcd.
func TestLedgerForgetsOfOneResource(t *testing.T) {
	l, _ := newTestLedger()
	write(l, "a", "", "100")
	l.Written(Entry{UID: "pod", Resource: "pods", RV: "100"})
	both := func(rv string) map[string]Store {
		return map[string]Store{"replicasets": store(rv), "pods": store("90")}
	}
	for _, rv := range []string{"90", "20"} {
		stores := both(rv)
		l.Pending("other", stores, VersionsOf(stores), cachedAt(""))
	}
	if all := l.All(); len(all) != 1 || all[0].UID != "pod" {
		t.Errorf("kept %+v, want the pod alone", all)
	}
	if l.guarded("a", "20", func() {}) || !l.guarded("pod", "20", func() {}) {
		t.Error("of the versions written the pod's alone counts")
	}
}
