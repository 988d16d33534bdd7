package diagnosis

import (
	"strings"

	"github.com/loopscope/loopscope/telemetry/decision"
	"github.com/loopscope/loopscope/telemetry/prose"
)

// Unanswered says why a write got no answer; ok where that is what became of it.
func Unanswered(o *decision.Outcome) (why decision.Words, ok bool) {
	if o == nil || o.Failure == nil || !unanswered(o) {
		return nil, false
	}
	return words("the API server ").Say(silence(o.Failure)).Say(" (").Quote(prose.ClipMiddle(prose.LastClause(o.Failure.Message), 80)).Say(")"), true
}

// unanswered reports whether no API server could serve a write, or the rest of one that is done in part.
func unanswered(o *decision.Outcome) bool {
	switch o.State {
	case decision.Unanswered:
		return true
	case decision.Partly:
		return o.Failure.Down()
	case decision.Refused:
		return o.Failure.Reason == decision.Unreachable
	}
	return false
}

// Unsure says what is known of a write that may have been done: its reply was lost, or the API server answered that it
// failed inside, which it may have done after it had stored the object. what is the write: "its write of web".
func Unsure(what decision.Words, o *decision.Outcome) decision.Words {
	f := o.LostReply()
	if !f.Internal() {
		return append(words("the reply to "), append(what, words(" was lost")...)...)
	}
	why := prose.ClipMiddle(strings.TrimPrefix(f.Message, "Internal error occurred: "), 80)
	w := append(words("the API server answered "), append(what, words(" with an internal error")...)...)
	return bracketed(w, why).Say(" and may have done it")
}

// silence tells an API server that is not there from one that cannot serve.
func silence(f *decision.Failure) string {
	if strings.Contains(f.Message, "etcdserver") {
		return "has lost its etcd"
	}
	switch f.Code {
	case 0:
		return "does not answer"
	case 401:
		return "does not accept this process's credentials"
	}
	return "cannot serve"
}

// done says what writes of some kinds do to their object.
var done = map[decision.ActionKind]string{
	decision.CreateReplicaSet: "created", decision.DeleteReplicaSet: "deleted", decision.Adopt: "adopted", decision.Release: "released",
	decision.CreatePods: "created", decision.DeletePods: "deleted",
}

// Done says what a write does to its object: "created", or "written" where the kind,
// as that of a status, says no more.
func Done(kind decision.ActionKind) string {
	if word, ok := done[kind]; ok {
		return word
	}
	return "written"
}

// Again says when what is due is tried again.
func Again(try decision.Try) decision.Words {
	w := words("Continues as soon as it answers")
	if try.Number > 0 {
		w = w.Say("; try ").Count("try", try.Number)
	}
	if !try.Next.IsZero() {
		w = w.Say(", again in ").Until(try.Next)
	}
	return w
}
