package rollingupdate

import (
	"time"

	"github.com/loopscope/loopscope/controllers/diagnosis"
	"github.com/loopscope/loopscope/telemetry/decision"
)

// The codes of held writes.
const (
	heldUnasked   = "unasked"
	heldPaused    = "paused"
	heldReported  = "reporting"
	heldFloor     = "floor"
	heldPeriod    = "period"
	heldReleasing = "releasing"
	heldCounting  = "counting"
	heldSeen      = "template"
	heldRescaled  = "rescaled"
)

// The codes of timers.
const (
	timerEcho     = "echo"
	timerMinReady = "min-ready"
	timerPeriod   = "period"
	timerDeadline = "deadline"
	timerReleased = "releasing"
)

// lookAgain is how soon a sync looks again at pods that are to be released, whatever events come.
const lookAgain = 30 * time.Second

// because keeps the tables below short.
var because = decision.Because

const (
	nothing   = "No action needed."
	keepsBoth = "Both keep the number of pods that they have."
	notTried  = "Nothing is scaled, and nothing is tried again until something changes."
)

// Codes are the situations that the sentence tells apart.
var Codes = decision.Reasons{Scope: "rollingupdate", Kind: "sentence", Or: &diagnosis.Codes, Doc: "The situation of a rolling update: `sentence.code` of a trace.", List: []decision.Reason{
	because("gone", "There is no such ReplicationController.", "Nothing.", "It is created again.", nothing, "RU-3.heir"),
	because("echo", "A cache does not show its own last write yet, so nothing is decided.", keepsBoth, "The watch event of that write; the timer looks again in between.", "Look at the lag of the caches on the page of the queues if it persists.", "RU-2"),
	because("none", "Nobody asks for an update.", "Nothing.", "A request.", nothing, "RU-3.asked"),
	because(Complete, "The last update went through.", "Nothing.", "A request.", nothing, "RU-3.asked"),
	because(Aborted, "The last update was taken back.", "Nothing.", "A request.", nothing, "RU-3.asked"),
	because(CodeHalfDone, "An update was left half-done, and nobody asks for the rest.", keepsBoth, "A request.", "Run the command that the sentence names: `loopscope rolling-update resume` finishes it, `abort` takes it back.", "RU-3.left"),
	because(badRequest, "The request is not one that this program can read.", notTried, "The request changes.", "Write it with `loopscope rolling-update`.", "RU-4"),
	because(badTarget, "Another one is being updated to it.", notTried, "That update ends.", "Finish that update, or take it back.", "RU-4"),
	because(badSelf, "The request names it as its own replacement.", notTried, "The request changes.", "Name another one.", "RU-4"),
	because(badMissing, "The one that it is to be updated to does not exist, and no image is given to make it from.", notTried, "It is created.", "Create it with `loopscope rolling-update -f`.", "RU-4"),
	because(badSource, "One of that name exists and was not made for this update.", notTried, "It is deleted, or the request names another one.", "Choose another name.", "RU-4"),
	because(badDesired, "The new one does not say how many pods it is to have.", notTried, "Its annotation is set.", "Set its annotation `"+AnnotationDesired+"`.", "RU-4"),
	because(badOriginal, "The update is to be taken back, and the old one does not say how many pods it had at the start.", notTried, "Its annotation is set.", "Set its annotation `"+AnnotationOriginal+"` to that number.", "RU-4"),
	because(badSelector, "The selectors of the two do not differ, so each would take the other's pods.", notTried, "The new one gets a label of its own.", "Give it one, in selector and template.", "RU-4"),
	because(badOther, "An update to another one has begun.", notTried, "The request changes, or that update is taken back.", "Take that update back first.", "RU-4"),
	because(badImage, "The new one exists with another image than the request has.", notTried, "The request changes, or the new one goes.", "Take that update back first.", "RU-4"),
	because(badName, "The container is not known whose image is to change.", notTried, "The request changes.", "Name one of its containers.", "RU-4"),
	because(badSame, "The image is the one that it has already.", notTried, "The request changes.", "Give a pull policy to have the same image pulled anew.", "RU-4"),
	because(badTaken, "A Deployment has taken its pods over, or is about to.", notTried, "The request is removed, or the migration is taken back.", "Change the image of that Deployment, or go back with `loopscope migrate --undo --write`.", "RU-4"),
	because(badEmpty, "It has no pods to update step by step.", notTried, "It is scaled up.", "Change its template, or scale it up first.", "RU-4"),
	because(badOwned, "It belongs to another object, which would undo the update.", notTried, "Nothing owns it any more.", "Update its owner instead.", "RU-4"),
	because(badLong, "The name that the new one would get is too long.", notTried, "The request names the new one.", "Name the new one.", "RU-4"),
	because("deleting", "One of the two is being deleted.", "Nothing is scaled.", "It is gone.", "Look at its finalizers if it remains.", "RU-4.deleting"),
	because("paused", "The request says that it is paused.", keepsBoth, "The request no longer says so.", "`loopscope rolling-update resume`.", "RU-5.paused"),
	because("reporting", "A step was taken, and the status does not show it yet.", keepsBoth, "The status of the one that was scaled.", "Look at the loop of ReplicationControllers if it takes longer than seconds.", "RU-8.reported"),
	because("template", "Its own loop has not seen the label in its template, and might make a pod without it.", keepsBoth, "The status of the old one.", "Look at the loop of ReplicationControllers if it takes longer than seconds.", "RU-6.seen"),
	because("rescaled", "Somebody else has scaled one of the two in the middle of the update.", keepsBoth, "It is scaled back.", "Stop what scales it, and scale it back; or take the update back.", "RU-8.rescaled"),
	because("period", "The new pods are watched before old ones go.", keepsBoth, "Only time.", "Wait, or shorten the update period.", "RU-8.period"),
	because("floor", "Without one more available pod no old one can go.", keepsBoth, "Pods become available.", "Look at the pods of the new one.", "RU-8.down"),
	because("releasing", "The pods of the new one still belong to it.", "Nobody replaces a pod that ends.", "Its loop lets go of them.", "Look at the loop of ReplicationControllers if it takes longer than seconds.", "RU-10.released"),
	because("counting", "The old name has the pods of the new one, and does not count all of them yet.", "Nobody replaces a pod that ends.", "Its status.", "Look at the loop of ReplicationControllers if it takes longer than seconds.", "RU-10.counted"),
	because("writing", "Something was written by this sync.", "The next step waits for it.", "The echo of the write.", nothing, "RU-8.up", "RU-8.period"),
	because("planned", "A write is decided but was not carried out.", "Nothing is written: the loop only watches, or somebody asked what it would do.", "The loop that acts writes it.", nothing, "RU-8.up", "RU-8.period"),
	because("unanswered", "No API server answers, or it has lost its etcd or does not accept the credentials, so a write is still pending.", keepsBoth, "An API server serves again: then it is tried at once.", "Look at the API server and its etcd: `kubectl get --raw /readyz?verbose`.", "RU-8.up"),
	because("conflict", "Another writer changed it first, so the next sync decides on that.", "Nothing was written.", "The next sync.", "Look at the manager that is named. Two programs must not write the same field.", "RU-8.up"),
	because("superseded", "A newer write of this process is not in the cache yet.", "Nothing was written.", "The echo of that write.", nothing, "RU-8.up"),
	because("unknown-outcome", "The reply to a write was lost, or was an internal error of the API server, so the write may have been done: the next sync reads live before it decides.", keepsBoth, "That live read.", "Look at the connection to the API server where it happens often.", "RU-8.up"),
	because("refused", "The API server refused a write.", keepsBoth+" It is tried again with back-off.", "The refusing component allows it.", "Read the message; a permission that is missing: "+diagnosis.CanI+".", "RU-8.up"),
}}

// HeldCodes are why a write was held back.
var HeldCodes = decision.Reasons{Scope: "rollingupdate", Kind: "held", Doc: "Why a step was not taken: `held[].code` of a verdict.", List: []decision.Reason{
	because(heldUnasked, "An update was left half-done, and nobody asks for the rest.", keepsBoth, "A request.", "`loopscope rolling-update resume`.", "RU-3.left"),
	because(heldPaused, "The request says that it is paused.", keepsBoth, "The request no longer says so.", "`loopscope rolling-update resume`.", "RU-5.paused"),
	because(heldReported, "The status does not show the last step yet.", keepsBoth, "That status.", "Look at the loop of ReplicationControllers if it takes longer than seconds.", "RU-8.reported"),
	because(heldFloor, "Without one more available pod no old one can go.", keepsBoth, "Pods become available.", "Look at the pods of the new one.", "RU-8.down"),
	because(heldPeriod, "The new pods are watched before old ones go.", keepsBoth, "Only time.", "Wait, or shorten the update period.", "RU-8.period"),
	because(heldReleasing, "The pods of the new one still belong to it.", "Nobody replaces a pod that ends.", "Its loop lets go of them.", "Look at the loop of ReplicationControllers if it takes longer than seconds.", "RU-10.released"),
	because(heldCounting, "The old name does not count all the pods yet that it takes over.", "Nobody replaces a pod that ends.", "Its status.", "Look at the loop of ReplicationControllers if it takes longer than seconds.", "RU-10.counted"),
	because(heldSeen, "Its own loop has not seen the label in its template.", keepsBoth, "The status of the old one.", "Look at the loop of ReplicationControllers if it takes longer than seconds.", "RU-6.seen"),
	because(heldRescaled, "Somebody else has scaled one of the two.", keepsBoth, "It is scaled back.", "Stop what scales it, and scale it back; or take the update back.", "RU-8.rescaled"),
}}

// TimerCodes are what the loop looks again for.
var TimerCodes = decision.Reasons{Scope: "rollingupdate", Kind: "timer", Doc: "Why the loop looks again by the clock: `timers[].code`, and the code of the cause when it fires.", List: []decision.Reason{
	because(timerEcho, "Its own write is not in a cache yet.", keepsBoth, "The watch event; else it looks again after 1 s, doubling to 30 s.", "Look at the lag of the caches if it persists.", "RU-2"),
	because(timerMinReady, "A ready pod has then been ready for minReadySeconds.", keepsBoth, "Only time.", nothing, "RU-8.down"),
	because(timerPeriod, "The update period is over then.", keepsBoth, "Only time.", nothing, "RU-8.period"),
	because(timerDeadline, "Nothing has moved for as long as the timeout then, which the condition will say.", keepsBoth, "A step.", nothing, "RU-9.deadline"),
	because(timerReleased, "Pods may have gone from the one to the other, and the event be lost.", "Nothing.", "The loop of ReplicationControllers.", nothing, "RU-10.released", "RU-10.counted"),
}}

// Reasons are all codes of the loop.
var Reasons = []decision.Reasons{Codes, HeldCodes, TimerCodes}
