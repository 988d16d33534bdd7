package replicaset

import (
	"github.com/loopscope/loopscope/controllers/diagnosis"
	"github.com/loopscope/loopscope/telemetry/decision"
)

// The codes of timers.
const (
	timerEcho     = "echo"
	timerRequests = "expectations"
	timerMinReady = "min-ready"
	timerStatus   = "status"
)

// because keeps the tables below short.
var because = decision.Because

// What several reasons have in common.
const (
	nothing    = "No action needed."
	keepsPods  = "The number of pods is maintained."
	noneMade   = "No pod is created or deleted."
	triedAgain = "It is tried again with back-off, indefinitely."
)

// Codes are the situations that Say tells apart: the stable reason code of a
// sentence, and what it means.
var Codes = decision.Reasons{Scope: "replicaset", Kind: "sentence", Or: &diagnosis.Codes, Doc: "The situation of a ReplicaSet or ReplicationController: `sentence.code` of a trace.", List: []decision.Reason{
	because("gone", "No object of that name exists any more.", "The garbage collector deletes its pods, unless they were orphaned.", "It is created again.", nothing, "RS-2"),
	because("echo", "A cache does not show its own last write yet, so nothing is decided.", noneMade, "The watch event of that write; the timer looks again in between.", "Look at the lag of the caches on the page of the queues if it persists.", "RS-1"),
	because("invalid-selector", "Its selector cannot be read, so nothing is decided until it changes.", "Its pods are left alone.", "Its next change.", "Correct the selector; mostly it has to be recreated.", "RS-4"),
	because("parent", "A live read said that it is gone or being deleted, which the cache does not show yet.", "Nothing is adopted.", "The watch event, or a second.", nothing, "RS-6.parent"),
	because("unanswered", "No API server answers, or it has lost its etcd or does not accept the credentials, so a write is still pending.", noneMade, "An API server serves again: then it is tried at once.", "Look at the API server and its etcd: `kubectl get --raw /readyz?verbose`.", "RS-8.create", "RS-9.status"),
	because("claim-refused", "A pod could not be adopted or released, which ends the sync before anything else.", noneMade+" "+triedAgain, "The refusing component allows it.", "Read the message; a permission that is missing: "+diagnosis.CanI+".", "RS-6.adopt", "RS-6.release"),
	because("adopted-first", "Another controller adopted a pod first that it was to adopt, as their selectors overlap, which ends the sync before anything else.", noneMade, "The cache shows that the pod has a controller.", "Give each a selector of its own: what one releases or leaves behind, the other adopts.", "RS-6.adopt"),
	because("losing-pods", "Its pods do not match its selector as soon as they are created, as a mutating webhook or policy changes their labels: it releases them, and creates others for them.", "Pods are created without end, and nobody deletes them.", "Whatever changes pods leaves the labels alone that it selects by.", "`kubectl get mutatingwebhookconfigurations,mutatingadmissionpolicies`: look for one that matches pods. Scale it to 0 meanwhile, and delete the pods that have no owner.", "RS-6.release"),
	because("release-denied", "A policy or webhook denied the release of a pod whose labels no longer match, with the code 422, which is ignored as for a pod that is gone: it still owns the pod, and does not count it.", keepsPods, "Whoever denies it allows it; every sync tries it again.", "Look at the policy or webhook that is named.", "RS-6.release"),
	because("delete-refused", "The API server refused to delete its pods.", triedAgain, "The refusing component allows it.", "Read the message; look at the webhook or policy that it names, or grant the permission.", "RS-9.failure"),
	because("status-refused", "The API server refused its status.", keepsPods+" The status is tried again with back-off.", "The refusing component allows it.", "Read the message; a permission that is missing: "+diagnosis.CanI+".", "RS-9.status"),
	because("unknown-outcome", "The reply to a write was lost, or was an internal error of the API server, so the write may have been done: the next sync reads live before it decides.", noneMade, "That live read.", "Look at the connection to the API server where it happens often.", "RS-6.adopt", "RS-6.release", "RS-8.create", "RS-8.rank", "RS-9.status"),
	because("conflict", "Another writer changed it first, so the next sync decides on that.", "Its status was not written.", "The next sync.", "Look at the manager that is named. Two programs must not write the same field.", "RS-9.status"),
	because("superseded", "A newer write of this process to the same object made this one pointless.", "Its status was not written.", "The echo of the newer write.", nothing, "RS-9.status"),
	because("namespace-terminating", "Its namespace is being deleted, so nothing can be created.", "Nothing is tried again.", "Never: the namespace is removed.", "Look at the pod that is named, if any: the namespace waits for it.", "RS-8.namespace", "RS-8.create"),
	because("deleting", "It is being deleted, and its pods are left to the garbage collector.", "Its status is updated. In a foreground deletion the garbage collector deletes its pods first, and otherwise when it is gone.", "The controllers that set its finalizers remove them; in a foreground deletion its pods are gone, too.", "Look at the controller that the finalizer is named after, and at the pod that is named. To remove a finalizer by hand leaves undone what it is for.", "RS-8.deleting"),
	because("creating", "Pods were created by this sync.", "The next ones wait until the cache shows these.", "The pods come into the cache.", "Wait.", "RS-8.create"),
	because("deleting-pods", "Pods were deleted by this sync.", "The next ones wait until the cache shows these deletions.", "The pods are gone.", "Wait.", "RS-8.rank"),
	because("claiming", "Pods were adopted or released by this sync.", "Everything else follows when that is seen.", "The echo of the claim.", "Check who changed labels or owner references.", "RS-6.adopt", "RS-6.release"),
	because("planned", "A creation or deletion is decided but was not carried out.", "Nothing is written: the loop only watches, or somebody asked what it would do.", "The loop that acts writes it.", nothing, "RS-8.create", "RS-8.rank", "RS-6.adopt"),
	because("expectations", "Pods that it asked for have not been seen yet, so none are created or deleted.", noneMade, "Their watch events, or five minutes.", "Look at the lag of the caches on the page of the queues if it persists.", "RS-3"),
	because("min-ready", "Some of its pods are ready, but not for minReadySeconds yet.", keepsPods, "Only time.", "Wait, or lower minReadySeconds.", "RS-11"),
	because("claim-late", "A pod was deleted before it could be claimed, so the number is not right yet.", "The next sync corrects it.", "The watch event of that pod.", nothing, "RS-6.adopt"),
	because("scaled-to-zero", "It wants no pods and has none, but for those that are still terminating.", "Nothing.", "Its size changes.", "Look at the pod that is named, if any: its finalizer or its node keeps it.", "RS-8.size"),
	because("settled", "It has the pods that it wants, and all are available.", "Nothing, until something changes.", "A change of it or of its pods.", nothing, "RS-9.available"),
}}

// HeldCodes are why a write was held back.
var HeldCodes = decision.Reasons{Scope: "replicaset", Kind: "held", Doc: "Why pods were not created, deleted or adopted: `held[].code` of a verdict.", List: []decision.Reason{
	because(heldEcho, "A cache does not show its own last write yet.", noneMade, "The watch event of that write.", "Look at the lag of the caches if it persists.", "RS-1"),
	because(heldRequests, "Pods that it asked for have not been seen yet.", noneMade, "Their watch events, or five minutes.", "Look at the lag of the caches if it persists.", "RS-3"),
	because(heldNamespace, "Its namespace is being deleted.", "No pod is created.", "Never: the namespace is removed.", nothing, "RS-8.namespace"),
	because(heldParent, "A live read said that it is gone or being deleted.", "Nothing is adopted.", "The watch event, or a second.", nothing, "RS-6.parent"),
}}

// TimerCodes are what the loop looks again for.
var TimerCodes = decision.Reasons{Scope: "replicaset", Kind: "timer", Doc: "Why the loop looks again by the clock: `timers[].code`, and the code of the cause when it fires.", List: []decision.Reason{
	because(timerEcho, "Its own write is not in a cache yet, or a live read knew more.", noneMade, "The watch event; else it looks again after 1 s, doubling to 30 s.", "Look at the lag of the caches if it persists.", "RS-1", "RS-6.parent"),
	because(timerRequests, "Pods that it asked for stop being waited for.", noneMade, "Their watch events, or five minutes.", "Look at the lag of the caches if that happens.", "RS-3"),
	because(timerMinReady, "A ready pod has then been ready for minReadySeconds.", keepsPods, "Only time.", nothing, "RS-11"),
	because(timerStatus, "A status that only grows is held back, so that one write says more.", keepsPods, "The window is over, or something urgent has to be reported.", nothing, "RS-9.hold"),
}}

// Reasons are all codes of the loop.
var Reasons = []decision.Reasons{Codes, HeldCodes, TimerCodes}
