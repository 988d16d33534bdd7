package deployment

import (
	"github.com/loopscope/loopscope/controllers/diagnosis"
	"github.com/loopscope/loopscope/telemetry/decision"
)

// The codes of timers.
const (
	timerEcho     = "echo"
	timerParent   = "parent"
	timerCache    = "cache"
	timerDeadline = "deadline"
	timerMinReady = "min-ready"
	timerStatus   = "status"
)

// because keeps the tables below short.
var because = decision.Because

// What several reasons have in common.
const (
	nothing    = "No action needed."
	byItsEvent = "Nothing is decided or written for it until then."
	oldStay    = "Old pods stay and serve; what is available does not fall below the floor."
	triedAgain = "It is tried again with back-off, fifteen times at most."
	readPods   = "Look at the pods that are named: `kubectl describe pod`, their logs, and what is held back on the page."
)

// Codes are the situations that Say tells apart: the stable reason code of a
// sentence, and what it means.
var Codes = decision.Reasons{Scope: "deployment", Kind: "sentence", Or: &diagnosis.Codes, Doc: "The situation of a Deployment: `sentence.code` of a trace.", List: []decision.Reason{
	because("gone", "No Deployment of that name is in the cache.", "Nothing; the garbage collector deletes its ReplicaSets, unless they were orphaned.", "It is created again.", nothing, qExists),
	because("deleting", "It is being deleted; only its status is updated.", "No ReplicaSet is changed. In a foreground deletion the garbage collector deletes them and their pods first, and otherwise when it is gone.", "The controllers that set its finalizers remove them; in a foreground deletion its ReplicaSets are gone, too.", "Look at the controller that the finalizer is named after, and at the pod or ReplicaSet that is named. To remove a finalizer by hand leaves undone what it is for.", qDeleted),
	because("namespace-terminating", "Its namespace is being deleted, so nothing can be created and nothing is retried.", "Nothing.", "Never: the namespace is removed.", "Look at what blocks the deletion of the namespace: a pod with a finalizer is named, and `kubectl get namespace -o yaml` lists the rest.", qNamespace, qExists),
	because("dropped", "Its last try failed; nothing happens until it or a ReplicaSet changes.", "Nothing: no retry is scheduled.", "Any change of it or of its ReplicaSets, and the next resync.", "Read the last error in the sentence, fix its cause, and touch the Deployment, as with `kubectl annotate deployment NAME touched=$(date +%s) --overwrite`: nothing else wakes it before the next resync, which comes every 12 to 24 hours unless `--min-resync-period` is set."),
	because("selects-all", "Its empty selector selects every pod, so it is not acted on.", "A warning is published, and its generation is observed.", "It is recreated with a selector; a selector cannot be changed.", "Delete and create it with a selector.", qSelects),
	because("invalid", "Its spec cannot be acted on as it stands.", "Nothing: no retry can fix it.", "Its next change.", "Correct what the sentence quotes.", qOwn, qStrategy),
	because("unanswered", "No API server answers, or it has lost its etcd or does not accept the credentials, so a write is still pending.", byItsEvent, "An API server serves again: then it is tried at once.", "Look at the API server and its etcd: `kubectl get --raw /readyz?verbose`.", qNew, qStatus),
	because("create-refused", "The API server refused its new ReplicaSet.", triedAgain+" Old pods stay.", "The refusing component allows it, or the template changes.", "Read the message: mostly it is a webhook or a rule of the namespace; a permission that is missing: "+diagnosis.CanI+".", qNew),
	because("write-refused", "The API server refused another write of this sync.", triedAgain, "The refusing component allows it.", "Read the message; a permission that is missing: "+diagnosis.CanI+".", qClaim, qOneSize, qStatus),
	because("deadline", "There was no progress for progressDeadlineSeconds; nothing is rolled back.", "The condition says so. The rollout continues as soon as it can.", "New pods become ready, or the template changes.", "Check why the new pods are not ready, or take the change back: `kubectl rollout undo`.", qDeadline),
	because("replicaset-deleting", "All pods are available, but the ReplicaSet of the template is being deleted, and a finalizer keeps it.", "Its pods serve, and none that is lost is replaced.", "The finalizer is removed: then its pods are deleted all at once, and another ReplicaSet is created.", "Find out who deleted it, and let pods of another ReplicaSet take over before the finalizer is removed: `kubectl rollout restart`.", qComplete),
	because("paused", "It is paused, and what runs is what it asks for.", "Sizes are maintained and revisions cleaned up.", "It is resumed.", "`kubectl rollout resume` when it may roll out again.", qPaused),
	because("paused-pending", "It is paused with a change of its template that waits.", "Sizes are maintained; the change is not rolled out, and no deadline runs.", "It is resumed.", "`kubectl rollout resume`, or take the change back.", qPaused),
	because("planned", "A write is decided but was not carried out.", "Nothing is written: the loop only watches, or somebody asked what it would do.", "The loop that acts writes it.", nothing, qNew),
	because("mutated", "Its ReplicaSets have another template than the one that they are created with, as a mutating webhook or policy changes them, so that one after another is created.", oldStay, "Whatever changes ReplicaSets leaves their templates alone, or makes the same change to Deployments.", "`kubectl get mutatingwebhookconfigurations,mutatingadmissionpolicies`: look for one that matches ReplicaSets. The ReplicaSets that are left over are deleted by the first rollout that completes, but for revisionHistoryLimit of them.", qNew, qTaken),
	because("contested", "Its template or its size is changed again and again: back and forth by two or more field managers, or so often that no rollout completes; others scale its ReplicaSet, which is scaled back each time; or somebody deletes its pods, and then those that replaced them.", "Each change is followed as any other, and each pod is replaced.", "Only one of them sets the field, nobody but its Deployment scales the ReplicaSet, the template is left alone until a rollout completes, or nobody deletes the pods any more.", "Find out what each field manager that is named is there for: `kubectl get deployment -o yaml --show-managed-fields`. A size that an autoscaler sets must not stand in the manifest that another tool applies, and its target is the Deployment, not the ReplicaSet. Who deletes a pod without evicting it is in the audit log of the API server alone: look for scripts and controllers that restart, reschedule or clean up.", qNew, qNewSize),
	because("collision", "The name of its new ReplicaSet was taken by another template, so the collision count went up.", "The next name is used.", "At once.", nothing, qTaken),
	because("created", "This sync created the ReplicaSet of its template.", "The echo of the write brings the next step.", "Its pods come up.", "Wait.", qNew, qRCNew, qRBCurrent),
	because("used-again", "It went back to a template that an old ReplicaSet has, which gets a new revision.", "The rollout follows.", "The echo of the write.", nothing, qStamp),
	because("scaled-before-roll", "Size and template changed at once; the size came first.", "Pods of the old template start or stop now.", "The echo of the write: then the rollout begins.", "Change size and template one after the other if pods of the old template must not be started.", qProportional),
	because("shared", "It was scaled in the middle of a rollout, and every ReplicaSet was scaled proportionally.", "The rollout continues.", "The echo of the writes.", "Wait.", qProportional),
	because("scaled", "Its only active ReplicaSet was given the wanted size.", "Pods come or go.", "The ReplicaSet has that many pods.", "Wait.", qOneSize),
	because("rolled-back", "The template of an earlier revision was restored.", "It rolls out like any other change.", "The echo of the write.", "Wait.", qRBSame),
	because("rollback-cleared", "The rollback that was asked for cannot be done, and its request was cleared.", "Nothing else changes.", "At once.", "Ask for a revision that exists: `kubectl rollout history`.", qRBRevision, qRBSource, qRBSame),
	because("rolling", "A rollout made progress in this sync or within the last minute.", "The next step follows when pods become available.", "It completes, or a minute passes without progress.", "Wait.", qNewSize, qOldActive, qRCSize, qSaturated, qEcho),
	because("echo", "A cache does not show its own last write yet, so nothing is decided.", byItsEvent, "The watch event of that write; the timer looks again in between.", "Look at the lag of the caches on the page of the queues if it persists.", qEcho),
	because("conflict", "Another writer changed an object first, so the next sync decides on that.", "Nothing was written.", "The next sync.", "Look at the manager that is named. Two programs must not write the same field.", qOneSize, qHealthy, qComplete),
	because("unknown-outcome", "The reply to a write was lost, or was an internal error of the API server, so the write may have been done: the next sync reads live before it decides.", byItsEvent, "That live read.", "Look at the connection to the API server where it happens often.", qNew, qOneSize, qComplete),
	because("superseded", "A newer write of this process to the same object made this one pointless.", byItsEvent, "The echo of the newer write.", nothing, qOneSize),
	because("claiming", "ReplicaSets were adopted or released; everything else follows when that is seen.", byItsEvent, "The echo of the claim.", "Check who changed labels or owner references.", qClaim),
	because("cache", "A live read has overtaken the cache, which must catch up.", byItsEvent, "The watch event, or a second.", nothing, qTaken, qParent),
	because("no-replicaset", "Its template has no ReplicaSet yet.", "It is about to be created.", "The next sync that can write.", "Look at the errors of the sync if it remains.", qNew),
	because("status-behind", "The status of an old ReplicaSet has not caught up with its size, so no old pod is removed.", oldStay, "The ReplicaSet's status.", "Look at the queue of the ReplicaSet loop if it takes longer than seconds.", qCaughtUp),
	because("annotations", "The annotations of a ReplicaSet were written before anything else.", "The rollout waits for the echo.", "The echo of the write.", nothing, qOneStale, qRecreateStale),
	because("unfinished", "The rollout is not finished, and nothing but its own last write holds it.", "The loop waits for the echo or for the status.", "The next event.", "Look at the queues if it persists.", qStamp, qHealthy),
	because("settled", "It has the pods that it wants, all updated and available.", "Old revisions beyond the limit are deleted.", "Its next change.", nothing, qComplete, qRCComplete, qStamp),
	because("short", "Its rollout is complete, and fewer pods than wanted are available.", "Its ReplicaSet keeps the number of pods; no deadline runs.", "Pods become available again.", readPods, qComplete),
}}

// HeldCodes are why a write was held back.
var HeldCodes = decision.Reasons{Scope: "deployment", Kind: "held", Or: &diagnosis.Codes, Doc: "Why a write was held back: `held[].code` of a verdict.", List: []decision.Reason{
	because(heldFloor, "No more old pods may go: what is available is at the floor.", oldStay, "More pods become available.", readPods, qHealthy),
	because(heldCeiling, "The new ReplicaSet may not grow: there are as many pods as wanted plus surge allow.", "It keeps its size.", "An old pod goes.", "Wait, or raise maxSurge.", qNewRoom),
	because(heldBehind, "Old pods stay because the status of one old ReplicaSet counts more available pods than its size.", oldStay, "The ReplicaSet's status.", "Look at the queue of the ReplicaSet loop if it takes longer than seconds.", qCaughtUp),
	because(heldPaused, "It is paused: the change of its template is not rolled out.", "Sizes are maintained.", "It is resumed.", "`kubectl rollout resume`.", qPaused),
	because(heldHistory, "A revision beyond the limit is not deleted: it has pods, or a size that is not observed.", "It is kept.", "Its pods are gone and its size is observed.", nothing, qHistory),
}}

// TimerCodes are what the loop looks again for.
var TimerCodes = decision.Reasons{Scope: "deployment", Kind: "timer", Doc: "Why the loop looks again by the clock: `timers[].code`, and the code of the cause when it fires.", List: []decision.Reason{
	because(timerEcho, "Its own write is not in a cache yet.", byItsEvent, "The watch event; else it looks again after 1 s, doubling to 30 s.", "Look at the lag of the caches if it persists.", qEcho),
	because(timerParent, "A live read said that it is gone or being deleted.", byItsEvent, "The watch event, or a second.", nothing, qParent),
	because(timerCache, "A live read knew more than the cache.", byItsEvent, "The watch event, or a second.", nothing, qTaken, qClaim),
	because(timerDeadline, "The progress deadline of a rollout.", "The rollout continues.", "Progress moves it; the condition is set when it is over.", nothing, qRequeue),
	because(timerMinReady, "A ready pod has then been ready for minReadySeconds.", oldStay, "Only time.", nothing, qRequeue),
	because(timerStatus, "A status that only grows is held back, so that one write says more.", "Everything but that status is done.", "The window is over, or something urgent has to be reported.", nothing, qHold),
}}

// Reasons are all codes of the loop.
var Reasons = []decision.Reasons{Codes, HeldCodes, TimerCodes, EstimateCodes}
