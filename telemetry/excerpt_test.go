package telemetry

import (
	"slices"
	"testing"
	"time"

	"github.com/loopscope/loopscope/telemetry/decision"
)

// TestExcerptInOrder: by when they started, and those of one moment by their numbers.
func TestExcerptInOrder(t *testing.T) {
	at := time.Date(2026, 11, 21, 3, 0, 0, 0, time.UTC)
	e := NewExcerpt(TestLoops, []*Trace{{Seq: 3, Started: at}, {Seq: 1, Started: at.Add(1)}, {Seq: 2, Started: at}})
	if got := seqs(e.traces); !slices.Equal(got, []uint64{2, 3, 1}) {
		t.Errorf("%v", got)
	}
}

// TestHitsSayTheSentence as it was when the sync ended, and none of a sync that said nothing.
func TestHitsSayTheSentence(t *testing.T) {
	said := &Trace{Sentence: decision.Sentence{Object: "web", Verb: "is", State: "settled"}}
	if got := said.Hit(ClassQuiet).Text; got == "" || got != said.Sentence.At(said.Ended) {
		t.Errorf("%q", got)
	}
	if got := (&Trace{}).Hit(ClassQuiet).Text; got != "" {
		t.Errorf("of nothing %q", got)
	}
}
