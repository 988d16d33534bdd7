package web

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/loopscope/loopscope/controllers/decision"
	"github.com/loopscope/loopscope/views"
)

// TestSpansAgree keeps ages on a page equal to those in the sentences of the
// loops; views may not import their package.
func TestSpansAgree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := time.Duration(rapid.Int64Range(-int64(time.Hour), int64(400*24*time.Hour)).Draw(t, "d"))
		if a, b := views.Span(d), decision.Span(d); a != b {
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
		if got, want := wording(s.Lead, false).At(storyNow), s.Lead.At(storyNow); got != want {
			t.Errorf("%s: the page says %q, the sentence %q", trace.Key(), got, want)
		}
		if got, want := wording(s.Then, true).At(storyNow), s.Then.At(storyNow); got != want {
			t.Errorf("%s: the page says %q, the sentence %q", trace.Key(), got, want)
		}
	}
}
