package engine

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// A write that is unseen for five minutes is looked up live. If the live read
// does not reach it either, a restore took it back, or its object is gone: it
// must not be waited for any longer, nor supersede any other write.
func TestLedgerBelievesALiveRead(t *testing.T) {
	l, clock := newTestLedger()
	write(l, "parent", "", "100")
	write(l, "gone", "parent", "101")
	clock.Step(echoLive)
	asked := clock.Now()
	clock.Step(time.Second)
	write(l, "child", "parent", "70") // By the other loop, while the read is under way.
	l.Confirmed("parent", asked, []Entry{
		{UID: "parent", Resource: "replicasets", RV: "60"},
		{UID: "child", Owner: "parent", Resource: "replicasets", RV: "65"},
	})
	waits := l.Pending("parent", at("59"), seenAt("59"), cachedAt("59"))
	var written []string
	for _, w := range waits {
		written = append(written, w.Written)
		if w.Overdue {
			t.Errorf("%+v is overdue just after the live read", w)
		}
	}
	if len(waits) != 2 || waits[0].Written != "60" || waits[1].Written != "70" {
		t.Errorf("waits for %v, want 60 of the live read and 70 written since it began", written)
	}
	if l.guarded("parent", "60", func() {}) {
		t.Error("a version that the restore took back supersedes a write")
	}
	if !l.guarded("child", "65", func() {}) {
		t.Error("a write made during the live read no longer guards")
	}
}

// A live read counts for a child that was another's when it was written to, and for one that
// nobody wrote to.
func TestLedgerBelievesALiveReadOfNewChildren(t *testing.T) {
	l, clock := newTestLedger()
	write(l, "adopted", "another", "100")
	clock.Step(echoLive)
	l.Confirmed("parent", clock.Now(), []Entry{
		{UID: "adopted", Owner: "parent", Resource: "replicasets", RV: "65"},
		{UID: "new", Owner: "parent", Resource: "replicasets", RV: "66"},
	})
	written := map[types.UID]string{}
	for _, w := range l.Pending("parent", at("59"), seenAt("59"), cachedAt("59")) {
		written[w.UID] = w.Written
	}
	if len(written) != 2 || written["adopted"] != "65" || written["new"] != "66" {
		t.Errorf("waits for %v, want what the live read has shown", written)
	}
	if waits := l.Pending("another", at("59"), seenAt("59"), cachedAt("59")); len(waits) != 0 {
		t.Errorf("its owner before still waits for %+v", waits)
	}
}

// An object can go while a write to it is under way: its delete event is
// handled first, and no other will come.
func TestLedgerSweepsWhatCameAfterTheDeleteEvent(t *testing.T) {
	l, clock := newTestLedger()
	l.Forget("late")
	write(l, "late", "gone too", "100")
	l.Pending("other", at("200"), seenAt("200"), cachedAt(""))
	if len(l.All()) != 1 {
		t.Fatal("a fresh write was swept")
	}
	clock.Step(echoLive)
	write(l, "ahead", "", "300")
	l.Pending("other", at("200"), seenAt("200"), cachedAt(""))
	if len(l.All()) != 1 || len(l.last) != 1 || len(l.owned) != 0 {
		t.Errorf("kept %+v and %v, want the write at 300 alone", l.All(), l.last)
	}
}

// It looks once a minute for what nobody asks for any more, and then at what has been in its
// cache for long.
func TestLedgerSweepsOnceAMinute(t *testing.T) {
	l, clock := newTestLedger()
	write(l, "late", "", "100")
	look := func() int {
		l.Pending("other", at("200"), seenAt("200"), cachedAt(""))
		return len(l.All())
	}
	clock.Step(echoLive - time.Second)
	if look() != 1 {
		t.Error("it is swept too early")
	}
	clock.Step(sweepEvery - time.Nanosecond)
	if look() != 1 {
		t.Error("it is looked for again within a minute")
	}
	clock.Step(time.Nanosecond)
	if look() != 0 {
		t.Error("it is not swept after a minute")
	}
}
