package decision

import "strings"

// Open stands in the message of an event for what only the API server knows before it is told:
// the name of a pod that it makes, or why it refuses a write.
const Open = "…"

// EventsOn are the events that a sync on a snapshot publishes where all that it writes is taken, and
// where all is refused. Which of several objects goes first is left open in them, as is Open.
func EventsOn(s Snapshot) (list []Event) {
	for _, act := range []Act{taken, RefuseAll} {
		sync := Sync{Core: s.Begin()}
		if sync.Run(act); sync.Report != nil {
			list = append(list, sync.Report.Events...)
		}
	}
	return list
}

// taken is Everything with the names of what is created and deleted left open.
func taken(v Verdict) ([]Outcome, Learnt) {
	outcomes, learnt := Everything(v)
	for i := range outcomes {
		if outcomes[i].Done > 0 {
			outcomes[i].Names = []string{Open}
		}
	}
	return outcomes, learnt
}

// RefuseAll is the Act of a model in which every write is refused, for a reason that is left open.
func RefuseAll(v Verdict) ([]Outcome, Learnt) {
	outcomes := make([]Outcome, len(v.Actions))
	for i := range outcomes {
		outcomes[i] = Outcome{State: Refused, Failed: v.Actions[i].Count, Failure: &Failure{Message: Open}}
	}
	return outcomes, Learnt{}
}

// Foretells reports whether one that was published is this one: of the same type, reason and message, as
// far as that is determined.
func (e *Event) Foretells(published *Event) bool {
	before, after, open := strings.Cut(e.Message, Open)
	same := e.Message == published.Message
	if open {
		said := published.Message
		same = len(said) > len(before)+len(after) && strings.HasPrefix(said, before) && strings.HasSuffix(said, after)
	}
	return same && e.Type == published.Type && e.Reason == published.Reason
}

// Names reports whether the message has a name as a word of its own, quoted or not, or leaves one open.
func (e *Event) Names(name string) bool {
	for word := range strings.FieldsSeq(e.Message) {
		if word = strings.Trim(word, `":,.`); word == name || word == Open {
			return true
		}
	}
	return false
}
