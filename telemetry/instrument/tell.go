package instrument

import (
	"time"

	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/decision"
	"github.com/loopscope/loopscope/telemetry/prose"
)

// maxMessage bounds what a sentence quotes of an error, in bytes; its page has the rest.
const maxMessage = 200

// words begins a run of words.
func words(text string) decision.Words { return decision.Words{}.Say(text) }

// tell says how the sync ended: its error before anything else, then what its controller
// says of itself, then what it holds back, and otherwise what it did.
func (s *syncUnderWay) tell() decision.Sentence {
	said := decision.Sentence{Namespace: s.trace.Namespace, Object: s.trace.Name, Verb: "is"}
	switch {
	case s.trace.Failure != nil:
		s.tellFailure(&said)
	case s.said != nil:
		namespace, object := said.Namespace, said.Object
		said = *s.said
		said.Namespace, said.Object = namespace, object
	case len(s.verdict.Held) > 0:
		h := &s.verdict.Held[0]
		said.Tone, said.State, said.Code, said.Lead = decision.ToneWaiting, "waiting", h.Code, s.heldBack(h)
		if len(h.Unblocks) > 0 {
			said.Then = append(words("Unblocks "), h.Unblocks...)
		}
	case s.gone:
		said.Tone, said.State, said.Code, said.Lead = decision.ToneNeutral, "gone", CodeGone, words("it was deleted")
	case !s.trace.Try.Next.IsZero():
		said.Tone, said.State, said.Code, said.Lead = decision.ToneWaiting, "waiting", CodeAgain, append(words("the last sync "), s.did()...)
		said.Lead = said.Lead.Say(" and asked to run again")
		said.Then = s.again()
	default:
		said.Tone, said.State, said.Code, said.Lead = decision.ToneOK, "settled", CodeSettled, append(words("the last sync "), s.did()...)
		if at, ok := first(s.trace.Timers); ok {
			said.Code, said.Then = CodeAgain, words("Runs again in ").Until(at)
		}
	}
	return said
}

func (s *syncUnderWay) tellFailure(said *decision.Sentence) {
	f := s.trace.Failure
	message := prose.ClipMiddle(f.Message, maxMessage)
	said.Tone, said.Verb, said.State, said.Code = decision.ToneFailed, "has", "failed", CodeFailed
	said.Lead = words("the last sync returned an error (").Quote(message).Say(")")
	switch {
	case f.Reason == reasonPanic:
		said.State, said.Code, said.Lead = "panicked", CodePanicked, words("the handler of the last sync panicked (").Quote(message).Say(")")
	case f.Down() || s.unanswered():
		said.Tone, said.Verb, said.State, said.Code = decision.ToneWaiting, "is", "waiting", CodeSilent
		said.Lead = words("no API server served the last sync (").Quote(message).Say(")")
	case s.result() == telemetry.ResultStale:
		said.Tone, said.Verb, said.State, said.Code = decision.ToneWaiting, "is", "waiting", CodeConflict
		said.Lead = words("another writer was first (").Quote(message).Say(")")
	}
	if said.Then = s.again(); said.Then == nil {
		said.Then = words("It is not tried again before something changes")
	}
}

// unanswered reports whether the last write got no answer.
func (s *syncUnderWay) unanswered() bool {
	n := len(s.writes)
	return n > 0 && s.writes[n-1].State == decision.Unanswered
}

// again says when the sync is tried again; nil where it is not.
func (s *syncUnderWay) again() decision.Words {
	switch {
	case !s.trace.Try.Next.IsZero():
		return words("Tries again in ").Until(s.trace.Try.Next)
	default:
		if at, ok := first(s.trace.Timers); ok {
			return words("Runs again in ").Until(at)
		}
		return nil
	}
}

// did says what the sync wrote.
func (s *syncUnderWay) did() decision.Words {
	var done []*decision.Action
	for i := range s.writes {
		if s.writes[i].State == decision.Written {
			done = append(done, &s.verdict.Actions[i])
		}
	}
	switch len(done) {
	case 0:
		return words("had nothing to write")
	case 1:
		return s.name(words(done[0].Kind.Past()+" "), done[0].Target)
	default:
		s.trace.Numbers = append(s.trace.Numbers, decision.Count("writes", int64(len(done))))
		return words("wrote ").Count("writes", int64(len(done))).Say(" objects")
	}
}

// heldBack says what a sync does not do yet.
func (s *syncUnderWay) heldBack(h *decision.Held) decision.Words {
	return s.name(words("it does not "+h.Kind.Verb()+" "), h.Target).Say(" yet")
}

// name adds what an object is called, with its namespace where that is another one.
func (s *syncUnderWay) name(w decision.Words, r decision.Ref) decision.Words {
	if r.Name == "" {
		return w.Say(r.Kind)
	}
	return w.Say(r.Kind + " ").Name(s.trace.NameOf(r.Namespace, r.Name))
}

// first is the earliest of the times at which the key runs again.
func first(timers []decision.Timer) (at time.Time, ok bool) {
	for _, t := range timers {
		if !ok || t.At.Before(at) {
			at, ok = t.At, true
		}
	}
	return at, ok
}
