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
