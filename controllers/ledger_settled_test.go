package controllers

import (
	"testing"
	"time"
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
	l.confirmed("parent", asked, []entry{
		{uid: "parent", resource: "replicasets", rv: "60"},
		{uid: "child", owner: "parent", resource: "replicasets", rv: "65"},
	})
	waits := l.pending("parent", at("59"), seenAt("59"), cachedAt("59"))
	var written []string
	for _, w := range waits {
		written = append(written, w.written)
		if w.overdue {
			t.Errorf("%+v is overdue just after the live read", w)
		}
	}
	if len(waits) != 2 || waits[0].written != "60" || waits[1].written != "70" {
		t.Errorf("waits for %v, want 60 of the live read and 70 written since it began", written)
	}
	if l.guarded("parent", "60", func() {}) {
		t.Error("a version that the restore took back supersedes a write")
	}
	if !l.guarded("child", "65", func() {}) {
		t.Error("a write made during the live read no longer guards")
	}
}

// An object can go while a write to it is under way: its delete event is
// handled first, and no other will come.
func TestLedgerSweepsWhatCameAfterTheDeleteEvent(t *testing.T) {
	l, clock := newTestLedger()
	l.forget("late")
	write(l, "late", "gone too", "100")
	l.pending("other", at("200"), seenAt("200"), cachedAt(""))
	if len(l.all()) != 1 {
		t.Fatal("a fresh write was swept")
	}
	clock.Step(echoLive)
	write(l, "ahead", "", "300")
	l.pending("other", at("200"), seenAt("200"), cachedAt(""))
	if len(l.all()) != 1 || len(l.last) != 1 || len(l.owned) != 0 {
		t.Errorf("kept %+v and %v, want the write at 300 alone", l.all(), l.last)
	}
}
