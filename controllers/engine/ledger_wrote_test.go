package engine

import (
	"fmt"
	"testing"
	"time"

	testclock "k8s.io/utils/clock/testing"
)

// A version that this process wrote is its own also when a newer one was written since: caches
// show them one by one.
func TestLedgerKnowsEarlierVersions(t *testing.T) {
	l := NewLedger(testclock.NewFakeClock(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)))
	for rv := 1; rv <= 20; rv++ {
		l.Written(Entry{UID: "u", Resource: "pods", RV: fmt.Sprint(rv)})
	}
	for rv, want := range map[string]bool{"20": true, "19": true, "12": true, "11": false, "1": false, "21": false, "": false} {
		if got := l.wrote("u", rv); got != want {
			t.Errorf("wrote %q = %v, want %v", rv, got, want)
		}
	}
	if l.wrote("other", "20") {
		t.Error("it wrote another object")
	}
}

// While a write is under way nobody knows of its version; whoever waits for the answer does.
func TestLedgerWaitsForTheAnswer(t *testing.T) {
	l := NewLedger(testclock.NewFakeClock(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)))
	sent, answer, asked := make(chan bool), make(chan bool), make(chan bool)
	go l.guarded("u", "1", func() {
		close(sent)
		<-answer
		l.Written(Entry{UID: "u", Resource: "pods", RV: "2"})
	})
	<-sent
	if l.wrote("u", "2") {
		t.Error("it is known before it is answered")
	}
	go func() { asked <- l.wroteOnceAnswered("u", "2") }()
	close(answer)
	if !<-asked {
		t.Error("it is not known when it is answered")
	}
}

// What a live read has shown is not known to be this process's own, but may be the write whose
// reply was lost, until that is answered; what it wrote before stays its own.
func TestLedgerDoesNotKnowWhoWroteWhatIsReadLive(t *testing.T) {
	c := testclock.NewFakeClock(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))
	l := NewLedger(c)
	entry := func(rv string) Entry { return Entry{UID: "u", Resource: "deployments", RV: rv} }
	l.Written(entry("7"))
	l.Confirmed("u", c.Now(), []Entry{entry("7")})
	c.Step(time.Second)
	l.Confirmed("u", c.Now(), []Entry{entry("9")})
	if !l.wrote("u", "7") || l.wrote("u", "9") || !l.guarded("u", "8", func() {}) {
		t.Error("who wrote what is not known, or an older version may be written on")
	}
	for rv, want := range map[string]bool{"8": true, "9": true, "10": false} {
		if got := l.doubtful("u", rv); got != want {
			t.Errorf("%s may be the lost write = %v, want %v", rv, got, want)
		}
	}
	if l.doubtful("other", "9") {
		t.Error("another object is in doubt")
	}
	if l.Written(entry("9")); !l.wrote("u", "9") {
		t.Error("it does not know its own write that a live read has shown before the reply came")
	}
	c.Step(time.Second)
	if l.Confirmed("u", c.Now(), []Entry{entry("5")}); l.wrote("u", "7") || l.guarded("u", "5", func() {}) {
		t.Error("what a restore took back is still known")
	}
}
