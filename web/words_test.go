package web

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/loopscope/loopscope/telemetry/decision"
	"github.com/loopscope/loopscope/web/address"
	"github.com/loopscope/loopscope/web/facts"
	"github.com/loopscope/loopscope/web/words"
)

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

// TestTonesTurn: since when a sentence has the tone that the clock alone gave it, however often
// its words had changed before.
func TestTonesTurn(t *testing.T) {
	w := newWorld(t, storyNow.Add(-2*time.Hour))
	w.goldens()
	s := w.server(nil)
	turned, later := 0, 0
	for seq := uint64(1); seq <= w.journal.Last(); seq++ {
		trace, _ := w.journal.Get(seq)
		first := trace.Sentence.ChangesAt
		now := first.Add(time.Hour)
		tone := s.src.Said(trace, now).Tone
		if first.IsZero() || tone == trace.Sentence.Tone {
			continue
		}
		at := s.src.TonedAt(trace, tone, now)
		snap, err := trace.Decided(s.src.Loops)
		if err != nil {
			t.Fatal(err)
		}
		tell := func(at time.Time) decision.Tone { return facts.TellAgain(snap.Begin(), trace, at).Sentence.Tone }
		if was, is := tell(at.Add(-time.Millisecond)), tell(at); was == tone || is != tone {
			t.Errorf("%s is %s since %s after %s: before that it was %s, then %s", trace.Key(), tone, at, first, was, is)
		}
		turned++
		if at.After(first) {
			later++
		}
	}
	if turned < 5 || later == 0 {
		t.Errorf("%d tones turn, %d of them not at the first change, want more", turned, later)
	}
}

// TestDiagnosisTurns: what every pod goes through becomes a reason why pods are not available or gone, for the sentence and
// for what stands below it, though no sync runs meanwhile.
func TestDiagnosisTurns(t *testing.T) {
	longUnderRace(t)
	w := newWorld(t, storyNow.Add(-2*time.Hour))
	w.goldens()
	s := w.server(nil)
	turned := 0
	for seq := uint64(1); seq <= w.journal.Last(); seq++ {
		trace, _ := w.journal.Get(seq)
		at := trace.Sentence.ChangesAt
		if at.IsZero() {
			continue
		}
		if diff := cmp.Diff(trace.Diagnosis, s.src.Diagnosis(trace, at.Add(-time.Millisecond))); diff != "" {
			t.Errorf("%s turned too early (-want +got):\n%s", trace.Key(), diff)
		}
		newest, _ := w.journal.Board().Get(trace.Object)
		if found := s.src.Diagnosis(trace, at); !trace.Diagnosis.IsZero() || found.IsZero() || newest != trace {
			continue
		}
		turned++
		_, then := w.serve(func(o *Options) { o.Now = func() time.Time { return at } })
		if _, html := get(t, then.URL, address.Of(trace.Object)); !strings.Contains(html, "Why pods are not ") {
			t.Errorf("%s: its page does not say why, only %s", trace.Key(), s.src.Said(trace, at).At(at))
		}
	}
	if turned == 0 {
		t.Error("no diagnosis turns")
	}
	t.Logf("%d turn", turned)
}

// TestSaidBeforeWhatIsRemembered: what is said as of a moment is the same whoever asked before as of
// a later one, when the clock had made yet another sentence.
func TestSaidBeforeWhatIsRemembered(t *testing.T) {
	w := newWorld(t, storyNow.Add(-2*time.Hour))
	w.goldens()
	turned := 0
	for seq := uint64(1); seq <= w.journal.Last(); seq++ {
		trace, _ := w.journal.Get(seq)
		first := trace.Sentence.ChangesAt
		if first.IsZero() {
			continue
		}
		want := w.server(nil).src.Said(trace, first)
		if !want.ChangesAt.After(first) {
			continue
		}
		s := w.server(nil)
		if then := s.src.Said(trace, want.ChangesAt); then.Code != want.Code {
			turned++
		}
		if got := s.src.Said(trace, first); got.Code != want.Code || got.At(first) != want.At(first) {
			t.Errorf("%s: %s, want %s", trace.Key(), got.At(first), want.At(first))
		}
	}
	if turned == 0 {
		t.Error("no sentence turns twice")
	}
}
