package instrument

import (
	"slices"

	"github.com/loopscope/loopscope/telemetry/decision"
)

// The codes of sentences that say how a sync ended, where its controller has none of its
// own. A sync that holds a write back has the code that was given with it.
const (
	CodeSettled  = "settled"
	CodeAgain    = "asked-to-run-again"
	CodeConflict = "conflict"
	CodeFailed   = "returned-an-error"
	CodePanicked = "panicked"
	CodeSilent   = "unanswered"
	CodeGone     = "gone"
)

const (
	again   = "It is tried again with back-off, if its controller asks for it."
	nothing = "No action needed."
)

// reasons are what every instrumented controller says of its syncs.
var reasons = []decision.Reason{
	decision.Because(CodeSettled, "The sync returned no error and did not ask to run again.", "Nothing, until something changes.", "Only a change ends it.", nothing),
	decision.Because(CodeAgain, "The sync returned no error and asked to run again.", "The key waits for its time in the queue.", "The time is over, or an event comes first.", nothing),
	decision.Because(CodeConflict, "Another writer was first: what the sync decided on is not the newest version.", again, "The next sync decides on the newer version.", "Look at who else writes the object. Two programs must not write the same field."),
	decision.Because(CodeFailed, "The sync returned an error.", again, "The next try.", "Read the error of the sync, and its writes: one of them may say more."),
	decision.Because(CodeSilent, "The sync returned an error, as no API server answered or was able to serve.", again, "An API server serves again.", "Look at the API server and its etcd: `kubectl get --raw /readyz?verbose`."),
	decision.Because(CodePanicked, "The handler of the sync panicked.", "What follows is up to its program.", "A release without the defect.", "Report it to whoever wrote the controller, with the trace."),
	decision.Because(CodeGone, "The object was deleted.", "Nothing.", "An object of the same name.", nothing),
}

// Loop declares an instrumented controller by the name that it has on pages and in
// metrics ("backup"), and the kind of its objects ("Backup"). A journal has to be told of
// it. Its author may add a Catalogue, Headlines and reasons of codes of their own.
func Loop(name, kind string) decision.Loop {
	return decision.Loop{Name: name, Kind: kind, Listed: true, Reasons: []decision.Reasons{
		{Scope: name, Kind: "sentence", Doc: "How the last sync of a " + kind + " ended: `sentence.code` of a trace.", List: slices.Clone(reasons)},
	}}
}
