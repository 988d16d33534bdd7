package web

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/loopscope/loopscope/telemetry/prose"
	"github.com/loopscope/loopscope/web/facts"
	"github.com/loopscope/loopscope/web/words"
)

// TestSpansAgree keeps ages on a page equal to those in the sentences of the
// loops; views may not import their package.
func TestSpansAgree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := time.Duration(rapid.Int64Range(-int64(time.Hour), int64(400*24*time.Hour)).Draw(t, "d"))
		if a, b := prose.Span(d), prose.Span(d); a != b {
			t.Fatalf("%d: page %q, sentence %q", d, a, b)
		}
	})
}

// TestWordingIsTheSentence proves that a page says what the sentence says.
func TestWordingIsTheSentence(t *testing.T) {
	w := newWorld(t, storyNow.Add(-2*time.Hour))
	w.goldens()
	for seq := uint64(1); seq <= w.journal.Last(); seq++ {
		trace, _ := w.journal.Get(seq)
		s := trace.Sentence
		if got, want := words.Text(s.Lead, false).At(storyNow), s.Lead.At(storyNow); got != want {
			t.Errorf("%s: the page says %q, the sentence %q", trace.Key(), got, want)
		}
		if got, want := words.Text(s.Then, true).At(storyNow), s.Then.At(storyNow); got != want {
			t.Errorf("%s: the page says %q, the sentence %q", trace.Key(), got, want)
		}
	}
}

// TestSentencesTurn reads a page at the moment from which the clock alone makes
// another sentence: the same as the loop's package says from the snapshot.
func TestSentencesTurn(t *testing.T) {
	w := newWorld(t, storyNow.Add(-2*time.Hour))
	w.goldens()
	s := w.server(nil)
	turning, changed := 0, 0
	for seq := uint64(1); seq <= w.journal.Last(); seq++ {
		trace, _ := w.journal.Get(seq)
		at := trace.Sentence.ChangesAt
		if at.IsZero() {
			continue
		}
		turning++
		if got := s.src.Said(trace, at.Add(-time.Millisecond)); got.Code != trace.Sentence.Code {
			t.Errorf("%s turned too early, into %s", trace.Key(), got.Code)
		}
		got := s.src.Said(trace, at)
		if facts.Outdated(got, at) {
			t.Errorf("%s: the new sentence has turned already", trace.Key())
		}
		if got.At(at) != trace.Sentence.At(at) {
			changed++
		}
	}
	if turning < 10 || changed < 5 {
		t.Errorf("%d sentences turn and %d change, want more", turning, changed)
	}
	t.Logf("%d sentences turn, %d into other words", turning, changed)
}
