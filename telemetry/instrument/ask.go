package instrument

import (
	"context"
	"strconv"

	"github.com/loopscope/loopscope/telemetry/decision"
)

// Ask records a yes-or-no question of the sync that ctx belongs to, and returns its answer:
//
//	if instrument.Ask(ctx, "window-open", open, decision.Instant("opens", at)) {
//
// Facts are shown to everybody who sees the console: no secret belongs there. In a
// context of no sync nothing is recorded.
func Ask(ctx context.Context, question string, answer bool, facts ...decision.Fact) bool {
	if s := under(ctx); s != nil {
		is := decision.No
		if answer {
			is = decision.Yes
		}
		s.step(question, is, clean(facts))
	}
	return answer
}

// Name records a question that is answered with a word or a name, and returns it.
func Name(ctx context.Context, question, answer string, facts ...decision.Fact) string {
	if s := under(ctx); s != nil {
		s.step(question, line(answer), clean(facts))
	}
	return answer
}

// Count records a question that is answered with a number, and returns it.
func Count(ctx context.Context, question string, n int64, facts ...decision.Fact) int64 {
	if s := under(ctx); s != nil {
		s.step(question, strconv.FormatInt(n, 10), clean(facts))
	}
	return n
}

func (s *syncUnderWay) step(question, answer string, facts []decision.Fact) {
	s.note(func() {
		if len(s.verdict.Path) < maxSteps {
			s.verdict.Path.Name(line(question), answer, facts...)
		}
	})
}

// Hold records a write that the sync does not do yet, with what would release it. Its
// question is the one that was asked last, unless it names another.
func Hold(ctx context.Context, held decision.Held) {
	s := under(ctx)
	if s == nil {
		return
	}
	s.note(func() {
		if last := s.verdict.Path.Last(); last != nil && (held.Question == "" || held.Question == last.Question) {
			held.Question, last.Holds = last.Question, true
		}
		if len(s.verdict.Held) < maxHeld {
			s.verdict.Held = append(s.verdict.Held, held)
		}
	})
}

// Say gives the sync a sentence of its author's, in place of the one that says how it
// ended; one that failed says so all the same. Namespace and Object are filled in.
func Say(ctx context.Context, said decision.Sentence) {
	if s := under(ctx); s != nil {
		s.note(func() { s.said = &said })
	}
}

// Numbers are the key numbers of the object, in place of those given before. The
// Headlines of its loop say which of them stand at the top of its page.
func Numbers(ctx context.Context, numbers ...decision.Fact) {
	if s := under(ctx); s != nil {
		numbers := clean(numbers)
		s.note(func() { s.trace.Numbers = numbers })
	}
}

// clean is a copy of facts whose texts are as the record may hold them.
func clean(facts []decision.Fact) []decision.Fact {
	list := make([]decision.Fact, 0, min(len(facts), maxFacts))
	for _, f := range facts[:cap(list)] {
		if text, ok := f.Value.Text(); ok {
			f.Value = decision.Text("", line(text)).Value
		}
		f.Name = line(f.Name)
		list = append(list, f)
	}
	return list
}
