package decision

import "strings"

// Open stands in the message of an event for what only the API server knows before it is told:
// the name of a pod that it makes, or why it refuses a write.
const Open = "…"

// EventsOn are the events that a sync on a snapshot publishes where all that it writes is taken, and
// where all is refused. Which of several objects goes first is left open in them, as is Open, and with rehashed
// what stands behind the last hyphen of a name that the sync gives to an object.
func EventsOn(s Snapshot, rehashed bool) (list []Event) {
	for _, act := range []Act{taken, RefuseAll} {
		sync := Sync{Core: s.Begin()}
		if sync.Run(act); sync.Report == nil {
			continue
		}
		for _, e := range sync.Report.Events {
			if rehashed {
				e.Message = sync.withoutHashes(e.Message)
			}
			list = append(list, e)
		}
	}
	return list
}

// withoutHashes is a message in which the hashes of what the sync creates are left open.
func (s *Sync) withoutHashes(message string) string {
	for _, r := range s.Rounds {
		for i := range r.Verdict.Actions {
			for _, p := range r.Verdict.Actions[i].foretold() {
				if base := BeforeHash(p.Name); p.Aspect == AspectCreation && base != "" {
					message = strings.ReplaceAll(message, p.Name, base+"-"+Open)
				}
			}
		}
	}
	return message
}

// BeforeHash is what stands before the last hyphen of a name, "" where there is none.
func BeforeHash(name string) string { return name[:max(0, strings.LastIndexByte(name, '-'))] }

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
	return e.Type == published.Type && e.Reason == published.Reason && fills(e.Message, published.Message)
}

// fills reports whether a text is a message with something in the place of each Open.
func fills(message, text string) bool {
	parts := strings.Split(message, Open)
	last := len(parts) - 1
	text, found := strings.CutPrefix(text, parts[0])
	for i := 1; i < last && found && text != ""; i++ {
		_, text, found = strings.Cut(text[1:], parts[i])
	}
	if last == 0 {
		return found && text == ""
	}
	return found && len(text) > len(parts[last]) && strings.HasSuffix(text, parts[last])
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
