package leadership

import (
	"github.com/loopscope/loopscope/telemetry/decision"
)

// The codes of what is said of the Lease.
const (
	codeLeads       = "leads"
	codeStandsBy    = "stands-by"
	codeFree        = "nobody-leads"
	codeUnavailable = "lease-unavailable"
	codeMissed      = "syncs-missed"
)

// The questions that are asked of the Lease.
const (
	askReachable = "M-2.reachable"
	askHeld      = "M-3.held"
	askOurs      = "M-3.ours"
	askElected   = "M-3.elected"
)

func question(id, text, doc string, answers ...decision.Answer) decision.Question {
	return decision.Question{ID: id, Tag: id[:3], Text: text, Doc: doc, Answers: answers}
}

// Loop is how the changes of the Lease are kept and shown: the election is a loop over one object.
var Loop = decision.Loop{
	Name: "lease", Kind: "Lease", Aliases: []string{"leases"},
	Shows: []decision.Resource{{Group: "coordination.k8s.io", Name: "leases"}},
	Catalogue: decision.Catalogue{Loop: "lease", Report: []string{decision.ToEnd}, Questions: []decision.Question{
		question(askReachable, "Can the Lease be read and written?", "Nobody knows who leads without it, so nothing is written.",
			decision.Answer{Is: decision.Yes, Then: "see who holds it", Passes: true}, decision.Answer{Is: decision.No, Then: "write nothing, and try again"}.To(decision.ToEnd)),
		question(askHeld, "Does anybody hold it?", "A manager that ends gives it back. One that is killed holds it until it runs out.",
			decision.Answer{Is: decision.Yes, Then: "see who", Passes: true}, decision.Answer{Is: decision.No, Then: "try to take it"}.To(decision.ToEnd)),
		question(askOurs, "Does this process hold it?", "The holder acts, and nobody else writes.",
			decision.Answer{Is: decision.Yes, Then: "act"}.To(decision.ToEnd), decision.Answer{Is: decision.No, Then: "stand by", Passes: true}),
		question(askElected, "Does this process take part in the election?", "One that does not waits as long as the Lease is held, whoever holds it.",
			decision.Answer{Is: decision.Yes, Then: "take it once it is given back or has run out", Passes: true}, decision.Answer{Is: decision.No, Then: "wait"}.To(decision.ToEnd)),
	}},
	Reasons: []decision.Reasons{{Scope: "lease", Kind: "sentence", Doc: "Who leads, as the Lease says: `sentence.code` of a trace.", List: []decision.Reason{
		decision.Because(codeLeads, "This process holds the Lease and acts.", "It renews the Lease.", "It ends, or cannot renew the Lease in time.", "No action needed.", askOurs),
		decision.Because(codeStandsBy, "Another manager holds the Lease and acts.", "This process decides and writes nothing.", "That manager gives the Lease back, or does not renew it in time.", "No action needed. Its identity in the Lease begins with the name of its host.", askElected),
		decision.Because(codeFree, "Nobody holds the Lease, so nobody acts.", "Each manager tries to take it.", "One of them has taken it.", "If it stays so, look whether a manager runs, and may write the Lease.", askHeld),
		decision.Because(codeMissed, "Syncs of a leader were not received: its stream was cut off, or this process could not reach it in time.", "What is missing stays so here; nothing is written or left out because of it.", "It is over: this says that it happened.", "No action needed. The history of the manager that led has these syncs, unless it was killed within their last second.", askOurs, askElected),
		decision.Because(codeUnavailable, "The Lease cannot be read or written.", "Nothing is written, and it is tried again.", "The API server answers, or the right to get, create and update the Lease is granted.", "Read the error. Grant the rights in the namespace of the Lease, if they are lacking.", askReachable),
	}}},
}
