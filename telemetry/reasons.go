package telemetry

import "github.com/loopscope/loopscope/telemetry/decision"

// The codes that the worker around the loops gives to timers, causes and
// sentences of its own.
const (
	// CodeBackoff is the timer of a key that is tried again after an error.
	CodeBackoff = "back-off"
	// CodeEcho is the timer of a key that waits for a write of this process.
	CodeEcho = "echo"
	// CodeMinReady is the timer of an owner whose pod has just become ready.
	CodeMinReady = "min-ready"
	// CodeAnswersAgain is a back-off that ended early, as the API server serves again.
	CodeAnswersAgain = "answers-again"
	// CodeFirstLeader is of a process that became the leader, where nobody had led since it started.
	CodeFirstLeader = "first-leader"
	// CodeListedAgain is of a key that is looked at again at once, as what keeps its pods was not watched
	// for a while.
	CodeListedAgain = "listed-again"
	// CodeRequeue is the timer of a key that its controller wants to see again.
	CodeRequeue = "requeue"
	// CodeUnobserved is the sentence of a sync without a snapshot.
	CodeUnobserved = "unobserved"
	// CodeUnanswered is the sentence of one for which no API server served, as the loops have it, too.
	CodeUnanswered = "unanswered"
	// CodeOverdue is what is said in a process that watches of an object whose writes nobody makes.
	CodeOverdue = "overdue"
)

var because = decision.Because

const nothing = "No action needed."

// WorkerReasons are the codes that no question gives: those of the worker
// around the loops, of its queue and of traces as a whole.
var WorkerReasons = []decision.Reasons{
	{Scope: "worker", Kind: "sentence", Doc: "The situation of an object of which nothing could be observed, `sentence.code` of a trace, or for which nobody acts.", List: []decision.Reason{
		because(CodeUnobserved, "The sync ended before it could decide: observing failed, or something panicked.", "It is tried again with back-off.", "The next try.", "Read the failure of the sync. A panic is a defect of this program: its trace has the snapshot that reproduces it."),
		because(CodeUnanswered, "No API server answers, or it has lost its etcd or does not accept the credentials, so the sync ended before it could decide.", "It is tried again with back-off.", "An API server serves again: then it is tried at once.", "Look at the API server and its etcd: `kubectl get --raw /readyz?verbose`."),
		because(CodeOverdue, "In a process that only watches: a write that its object, or one that it controls, calls for has been due for more than half a minute, and no controller has made it.", "Nothing happens for the object until somebody acts on it.", "The controller that acts makes the write.", "Check that kube-controller-manager runs, that its loop is not switched off, and what its log says; the page Shadow lists all that is due."),
	}},
	{Scope: "worker", Kind: "timer", Doc: "What the worker looks again for, beside the loop's own timers.", List: []decision.Reason{
		because(CodeBackoff, "The sync failed and is tried again.", "Nothing happens for the object, unless an event comes first.", "The time is over.", "Read the failure of the last sync."),
		because(CodeEcho, "A write of this process was not sent, as the echo of a newer one is still to come.", "Nothing is decided.", "The echo, or a second.", nothing),
		because(CodeRequeue, "The controller asked to see the object again at that time.", "Nothing happens for the object, unless an event comes first.", "The time is over.", nothing),
		because(CodeMinReady, "A pod that has just become ready has then been ready for minReadySeconds.", "The loop continues with everything else.", "Only time.", nothing),
		because(CodeListedAgain, "What keeps pods could not be watched for a while, so that it may have changed unseen.", "It is looked at again at once.", "The sync.", nothing),
	}},
	{Scope: "worker", Kind: "back-off", Doc: "The code of a cause of the kind back-off: the result of the sync that is tried again, or why it is tried earlier.", List: []decision.Reason{
		because(CodeAnswersAgain, "The API server serves again, so that whatever failed because of the outage is tried at once.", "It is tried as if for the first time.", "The sync.", nothing),
	}},
	{Scope: "worker", Kind: "lead", Doc: "The code of a cause of the kind lead.", List: []decision.Reason{
		because(CodeFirstLeader, "This process has become the leader, and has seen nobody else lead since it started.", "A sync follows.", "The sync.", nothing),
	}},
	{Scope: "worker", Kind: "cause", Doc: "What made a key run: `causes[].kind` of a trace. A sync has every cause since the last one, 64 of them in full.", List: []decision.Reason{
		because(string(CauseAdded), "An object came into a cache.", "A sync follows.", "The sync.", nothing),
		because(string(CauseModified), "An object changed; the cause names the fields, and our own sync if the change was ours.", "A sync follows.", "The sync.", "Look at the manager and the fields to see who changed what."),
		because(string(CauseDeleted), "An object was deleted.", "A sync follows.", "The sync.", nothing),
		because(string(CauseTombstone), "An object was deleted while the watch was down, so its last state is not known.", "A sync follows.", "The sync.", "Look at the connection to the API server where it happens often."),
		because(string(CauseResync), "The informer resent its cached objects; nothing changed.", "A sync follows.", "The sync.", nothing),
		because(string(CauseBackoff), "The last sync failed; its code says how.", "A sync follows.", "The sync.", "Read the failure of the sync before."),
		because(string(CauseTimer), "It is looked at again, by a timer or at once; its code says why.", "A sync follows.", "The sync.", nothing),
		because(string(CausePodReason), "What a pod waits for changed, which may change what is said of its Deployment.", "A sync follows, at most one a second. It never causes a write by itself.", "The sync.", nothing),
		because(string(CauseStart), "The object was in the first list after the start.", "A sync follows.", "The sync.", nothing),
		because(string(CauseLead), "This process has become the leader: what it decided before was not written.", "A sync follows.", "The sync.", nothing),
		because(string(CauseAsked), "The controller put the key into the queue and said no more.", "A sync follows.", "The sync.", "Wrap the handler of its informer to see what changed."),
	}},
	{Scope: "worker", Kind: "result", Doc: "How a sync ended: `result` of a trace, and the label outcome of metrics.", List: []decision.Reason{
		because(string(ResultWrote), "At least one write was taken by the API server.", "The loop waits for the echo.", "The echo brings the next sync.", nothing),
		because(string(ResultUnchanged), "There was nothing to write, or what it decided is for another process to write.", "The loop waits for the next event or timer.", "The next event.", nothing),
		because(string(ResultWaiting), "Nothing was decided: a write of our own is not in the cache yet.", "It counts neither as a try nor as a failure.", "The echo, or a timer.", "Look at the lag of the caches if it persists."),
		because(string(ResultSuperseded), "A newer write of ours to the object exists, so nothing was sent.", "It counts neither as a try nor as a failure.", "The echo of that write.", nothing),
		because(string(ResultStale), "Another writer was first.", "It is tried again with back-off.", "The next sync decides on the newer version.", "Look at the manager that is named. Two programs must not write the same field."),
		because(string(ResultUnknown), "A reply was lost, or was an internal error of the API server: the write may have been done or not.", "The next sync of the key reads live first.", "That live read.", "Look at the connection to the API server where it happens often."),
		because(string(ResultFailed), "A write or a read was refused, or the object itself is wrong.", "It is tried again with back-off, unless no retry can fix it.", "The next try.", "Read the failure."),
		because(string(ResultDropped), "It failed for the last allowed time.", "Nothing: no retry is scheduled.", "A change of the object or of its children, or the next resync.", "Fix what the failure names, and touch the object."),
		because(string(ResultPanicked), "A panic was recovered.", "It is tried again with back-off; other objects are not affected.", "A release without the defect.", "Report it with the trace: its snapshot reproduces the panic."),
	}},
}
