package deployment

import (
	"slices"

	"github.com/loopscope/loopscope/telemetry/decision"
)

// Catalogue declares every question of the Deployment loop in the order in
// which they are asked.
var Catalogue = decision.Catalogue{Loop: "deployment", Questions: slices.Concat(
	guardQuestions, scalingQuestions, rollbackQuestions, strategyQuestions,
	recreateQuestions, rollingQuestions, reportQuestions),
	Report: []string{qDoneBefore, qFailure, qStatus, qRequeue, decision.ToEnd}}

// The branches: questions that are asked behind one answer only, and those of a
// second round, asked where acting has learnt something.
const (
	behindLearnt   = "learnt"
	behindScaling  = "scaling"
	behindRollback = "rollback"
	behindRecreate = "recreate"
	behindRolling  = "rolling"
)

// toReport and toEnd are where an answer leads that no question follows.
const (
	toReport = decision.ToReport
	toEnd    = decision.ToEnd
)

// passes is the ordinary way through a guard.
func passes(is, then string) decision.Answer {
	return decision.Answer{Is: is, Then: then, Passes: true}
}

// leads is an answer that may be followed by writes.
func leads(is, then string, writes ...decision.ActionKind) decision.Answer {
	return decision.Answer{Is: is, Then: then, Writes: writes}
}

var guardQuestions = []decision.Question{{
	ID: qEcho, Tag: "L-1", Text: "Does the cache show its own last write?",
	Doc: "What a cache does not show yet cannot be decided on: the next decision would repeat or undo it. " +
		"The echo of the write brings the next sync, and a timer breaks the wait if it does not come.",
	Answers: []decision.Answer{passes(decision.Yes, "go on"), leads(decision.No, "wait for the echo").To(toEnd)},
}, {
	ID: qExists, Tag: "D-1", Text: "Does it still exist?",
	Doc:      "A Deployment that is not in the cache needs nothing; the garbage collector deletes its ReplicaSets, unless they were orphaned.",
	Upstream: "syncDeployment",
	Answers:  []decision.Answer{passes(decision.Yes, "go on"), leads(decision.No, "forget it").To(toEnd)},
}, {
	ID: qSelects, Tag: "D-3", Text: "Does it select every pod?",
	Doc:      "An empty selector would claim every pod of the namespace. A warning is published and its generation is observed; no ReplicaSet is touched.",
	Upstream: "syncDeployment",
	Answers:  []decision.Answer{passes(decision.No, "go on").To(qOwn, qParent), leads(decision.Yes, "warn SelectingAll, stop").To(toReport)},
}, {
	ID: qParent, Tag: "D-4", Branch: behindLearnt, Text: "Is it still there, read live?",
	Doc:      "Only asked after a live read before an adoption: the cache is behind, so nothing may be adopted.",
	Upstream: "getReplicaSetsForDeployment",
	Answers:  []decision.Answer{leads(decision.Any, "wait for the cache").To(toEnd)},
}, {
	ID: qOwn, Tag: "D-4", Text: "Which ReplicaSets are its own?",
	Doc: "Those it controls and whose labels match. One that matches and has no controller is adopted, " +
		"one that does not match any more is released.",
	Upstream: "getReplicaSetsForDeployment",
	Answers:  []decision.Answer{leads(unreadable, "report the selector, and wait for a change").To(toEnd), passes(decision.Any, "go on with them")},
}, {
	ID: qClaim, Tag: "D-4", Text: "Must any be adopted or released first?",
	Doc:      "Claims come before everything else. They end the sync; their echo brings the next.",
	Upstream: "getReplicaSetsForDeployment",
	Answers:  []decision.Answer{passes(decision.No, "go on"), leads(decision.Yes, "adopt and release, stop", decision.Adopt, decision.Release).To(toEnd)},
}, {
	ID: qDeleted, Tag: "D-6", Text: "Is it being deleted?",
	Doc:      "While it is being deleted only its status is updated: nothing is created, scaled, adopted or released.",
	Upstream: "syncDeployment",
	Answers:  []decision.Answer{passes(decision.No, "go on"), leads(decision.Yes, "publish status, stop").To(qStamp, toReport)},
}, {
	ID: qPauseCondition, Tag: "D-7", Text: "Is the pause condition out of date?",
	Doc: "A pause stops the progress deadline and a resume starts it anew. The condition goes into the one status write " +
		"at the end of the sync; Kubernetes writes it at once.",
	Upstream: "checkPausedConditions",
	Answers:  []decision.Answer{passes(decision.No, "go on"), leads(decision.Yes, "write it with the status, go on")},
}, {
	ID: qPaused, Tag: "D-8", Text: "Is it paused?",
	Doc:      "A paused Deployment is scaled and cleaned up, but a change of its template waits.",
	Upstream: "syncDeployment",
	Answers:  []decision.Answer{passes(decision.No, "go on"), leads(decision.Yes, "scale, clean up, stop").To(qStamp, qOneActive)},
}, {
	ID: qRollback, Tag: "D-9", Text: "Is a rollback asked for?",
	Doc:      "The deprecated annotation deprecated.deployment.rollback.to; kubectl rollout undo does not use it.",
	Upstream: "syncDeployment",
	Answers:  []decision.Answer{passes(decision.No, "go on").To(qStamp, qScaled), leads(decision.Yes, "restore that template").To(qStamp, qRBCurrent)},
}, {
	ID: qStamp, Tag: "G-1", Text: "Does the new ReplicaSet carry its revision and annotations?",
	Doc: "The annotations of the Deployment are copied to the ReplicaSet of its template, its revision is kept the highest, " +
		"and minReadySeconds follows. What the API server was seen not to keep counts as there. Asked before D-10, and also when deleting, paused or rolling back; not asked where there is no such ReplicaSet.",
	Upstream: "getNewReplicaSet",
	Answers:  []decision.Answer{passes(decision.Yes, "go on").To(qScaled, qRBCurrent, qOneActive, toReport), leads(decision.No, "write them, stop", decision.UpdateReplicaSet).To(toReport)},
}, {
	ID: qScaled, Tag: "D-10", Text: "Was it scaled since?",
	Doc: "Every ReplicaSet remembers in desired-replicas the number that was wanted when it was sized. " +
		"Another number on an active one means that the Deployment was scaled, which is served before any rollout.",
	Upstream: "isScalingEvent",
	Answers:  []decision.Answer{passes(decision.No, "go on").To(qStrategy), leads(decision.Yes, "S-1 to S-3").To(qOneActive)},
}}

var scalingQuestions = []decision.Question{{
	ID: qOneActive, Tag: "S-1", Branch: behindScaling, Text: "Is at most one ReplicaSet active?",
	Doc:      "Then the whole change goes to it; where none is, to the new one or else the newest old one.",
	Upstream: "scale",
	Answers:  []decision.Answer{leads(decision.Yes, "S-1.size").To(qOneSize, qHistory, toReport), leads(decision.No, "S-2").To(qSaturated)},
}, {
	ID: qOneSize, Tag: "S-1", Branch: behindScaling, Text: "Does it have the wanted size?",
	Doc:      "If not it is given that size, whatever template it has.",
	Upstream: "scale",
	Answers:  []decision.Answer{leads(decision.Yes, "S-1.stale"), leads(decision.No, "scale it, stop", decision.UpdateReplicaSet).To(toReport)},
}, {
	ID: qOneStale, Tag: "S-1", Branch: behindScaling, Text: "Is its desired-replicas annotation stale?",
	Doc: "Kubernetes does not ask: the annotation stays, every sync ends in the scaling branch, and the rollout never continues. " +
		"Here the annotation alone is written.",
	Answers: []decision.Answer{leads(decision.No, "nothing").To(qHistory, toReport), leads(decision.Yes, "write the annotation", decision.UpdateReplicaSet).To(toReport)},
}, {
	ID: qSaturated, Tag: "S-2", Branch: behindScaling, Text: "Is the new one saturated?",
	Doc:      "Where the new ReplicaSet has all wanted pods and all are available, the old ones are not needed.",
	Upstream: "scale",
	Answers:  []decision.Answer{leads(decision.Yes, "scale the old ones to zero", decision.UpdateReplicaSet).To(toReport), leads(decision.No, "S-3").To(qProportional, qRecreateStale)},
}, {
	ID: qProportional, Tag: "S-3", Branch: behindScaling, Text: "How many pods does each ReplicaSet get in proportion to its size?",
	Doc: "In a rolling update every active ReplicaSet takes a part of the change in proportion to its size; what rounding leaves goes to the largest. " +
		"The annotations are refreshed even where a size stays.",
	Upstream: "scale",
	Answers:  []decision.Answer{leads(decision.Any, "scale each, stop", decision.UpdateReplicaSet).To(toReport, qHistory)},
}, {
	ID: qRecreateStale, Tag: "S-3", Branch: behindScaling, Text: "Is any annotation stale under Recreate?",
	Doc: "Recreate does not scale proportionally. Kubernetes does nothing here and stays in the scaling branch; " +
		"here the annotations are written, so that the rollout sizes the ReplicaSets.",
	Answers: []decision.Answer{leads(decision.No, "nothing").To(qHistory, toReport), leads(decision.Yes, "write the annotations", decision.UpdateReplicaSet).To(toReport)},
}}

var rollbackQuestions = []decision.Question{{
	ID: qRBCurrent, Tag: "RB-1", Branch: behindRollback, Text: "Does the current template have a ReplicaSet?",
	Doc:      "It is created first, so that the template that is left behind keeps a revision.",
	Upstream: "rollback",
	Answers:  []decision.Answer{passes(decision.Yes, "go on"), leads(decision.No, "create it, stop", decision.CreateReplicaSet).To(toReport, qNamespace, qTaken)},
}, {
	ID: qRBRevision, Tag: "RB-2", Branch: behindRollback, Text: "Which revision is asked for?",
	Doc:      "Zero in the annotation stands for the one before the highest.",
	Upstream: "rollback",
	Answers:  []decision.Answer{leads("0", "warn, clear the request", decision.UpdateDeployment).To(toReport), passes(decision.Any, "look for it")},
}, {
	ID: qRBSource, Tag: "RB-3", Branch: behindRollback, Text: "Which ReplicaSet has that revision?",
	Doc:      "Old ReplicaSets are searched first, oldest first, then the new one.",
	Upstream: "rollback",
	Answers:  []decision.Answer{leads(none, "warn, clear the request", decision.UpdateDeployment).To(toReport), passes(decision.Any, "compare its template")},
}, {
	ID: qRBSame, Tag: "RB-4", Branch: behindRollback, Text: "Is its template the current one?",
	Doc:      "If not it becomes the template of the Deployment, and the next sync rolls it out like any change. The write ends the sync without a status.",
	Upstream: "rollbackToTemplate",
	Answers: []decision.Answer{leads(decision.Yes, "warn, clear the request", decision.UpdateDeployment).To(toReport),
		leads(decision.No, "restore it", decision.UpdateDeployment).To(toReport)},
}}

var strategyQuestions = []decision.Question{{
	ID: qStrategy, Tag: "D-11", Text: "Which strategy?",
	Doc: "A rolling update resolves its bounds here: surge is rounded up, unavailable down, " +
		"and where both come to nothing one pod may be unavailable.",
	Upstream: "syncDeployment",
	Answers: []decision.Answer{passes(rollingUpdate, "RR-1 to RR-5").To(qNew), leads(recreate, "RC-2 to RC-6").To(qOldActive),
		leads(unreadable, "report the bound, and wait for a change").To(toEnd), leads(decision.Any, "report the strategy, and wait for a change").To(toEnd)},
}}

var recreateQuestions = []decision.Question{{
	ID: qOldActive, Tag: "RC-2", Branch: behindRecreate, Text: "Is any old ReplicaSet still active?",
	Doc:      "Recreate takes everything down before it starts anything.",
	Upstream: "rolloutRecreate",
	Answers:  []decision.Answer{leads(decision.No, "RC-3"), leads(decision.Yes, "scale them to zero, stop", decision.UpdateReplicaSet).To(toReport)},
}, {
	ID: qOldRunning, Tag: "RC-3", Branch: behindRecreate, Text: "Are old pods still running?",
	Doc:      "Any pod of another template that has not ended counts, terminating ones too. The deletion of the last one wakes the loop.",
	Upstream: "rolloutRecreate",
	Answers:  []decision.Answer{leads(decision.No, "RC-4"), leads(decision.Yes, "wait for them").To(toReport)},
}, {
	ID: qRCNew, Tag: "RC-4", Branch: behindRecreate, Text: "Is there a ReplicaSet for this template?",
	Doc:      "The oldest one whose template is equal, the hash label aside.",
	Upstream: "rolloutRecreate",
	Answers:  []decision.Answer{leads(decision.Yes, "RC-5"), leads(decision.No, "create it, stop", decision.CreateReplicaSet).To(toReport, qNamespace, qTaken)},
}, {
	ID: qRCSize, Tag: "RC-5", Branch: behindRecreate, Text: "Is the new one at its size?",
	Doc:      "It gets all wanted pods at once.",
	Upstream: "rolloutRecreate",
	Answers:  []decision.Answer{leads(decision.Yes, "RC-6"), leads(decision.No, "scale it, stop", decision.UpdateReplicaSet).To(toReport)},
}, {
	ID: qRCComplete, Tag: "RC-6", Branch: behindRecreate, Text: "Is it complete?",
	Doc:      "By the published status: updated, total and available pods are all the wanted number, and the generation is observed.",
	Upstream: "rolloutRecreate",
	Answers:  []decision.Answer{leads(decision.Yes, "H-1").To(qHistory), leads(decision.No, "RR-5").To(toReport)},
}}

var rollingQuestions = []decision.Question{{
	ID: qNew, Tag: "RR-1", Branch: behindRolling, Text: "Is there a ReplicaSet for this template?",
	Doc:      "The oldest one whose template is equal, the hash label aside. A new one starts with what fits under the ceiling.",
	Upstream: "rolloutRolling",
	Answers:  []decision.Answer{leads(decision.Yes, "RR-2").To(qNewSize), leads(decision.No, "create it, stop", decision.CreateReplicaSet).To(toReport, qNamespace, qTaken)},
}, {
	ID: qNamespace, Tag: "RR-1", Branch: behindLearnt, Text: "Is the namespace being deleted?",
	Doc:      "Only asked after a create was refused for that. Nothing can be created any more, so nothing is retried.",
	Upstream: "handleErr",
	Answers:  []decision.Answer{leads(decision.Yes, "stop").To(toEnd), passes(decision.No, "go on").To(toReport)},
}, {
	ID: qTaken, Tag: "RR-1", Branch: behindLearnt, Text: "Is the taken name its own, with the same template?",
	Doc: "Only asked after a create found the name taken. Its own is used as soon as the cache shows it; " +
		"anything else is a collision of hashes, which is counted and gives the next name.",
	Upstream: "getNewReplicaSet",
	Answers: []decision.Answer{leads(decision.Yes, "wait for the cache").To(toEnd),
		leads(decision.No, "count the collision, use the next name", decision.CreateReplicaSet).To(toReport)},
}, {
	ID: qNewSize, Tag: "RR-2", Branch: behindRolling, Text: "Is the new one at its size?",
	Doc:      "Its size is the wanted number in the end.",
	Upstream: "reconcileNewReplicaSet",
	Answers:  []decision.Answer{leads(decision.Yes, "RR-3").To(qOldLeft), leads(decision.No, "RR-2.size")},
}, {
	ID: qNewRoom, Tag: "RR-2", Branch: behindRolling, Text: "How many pods may it have now?",
	Doc:      "Too large a one shrinks to the wanted number; too small a one grows by what the ceiling leaves. Without room it keeps its size.",
	Upstream: "reconcileNewReplicaSet",
	Answers:  []decision.Answer{leads(decision.Any, "scale it, stop; RR-3 if that is its size", decision.UpdateReplicaSet).To(toReport, qOldLeft)},
}, {
	ID: qOldLeft, Tag: "RR-3", Branch: behindRolling, Text: "Are there old pods left?",
	Doc:      "The sizes of all old ReplicaSets together.",
	Upstream: "reconcileOldReplicaSets",
	Answers:  []decision.Answer{leads("0", "RR-4").To(qComplete), leads(decision.Any, "may any go?")},
}, {
	ID: qMayGo, Tag: "RR-3", Branch: behindRolling, Text: "May any old pod go?",
	Doc: "All pods less the floor less the new ones that are not available yet. " +
		"New pods that never become available thus keep the old ones.",
	Upstream: "reconcileOldReplicaSets",
	Answers:  []decision.Answer{leads(decision.Yes, "RR-3a, RR-3b"), leads(decision.No, "hold them, RR-4").To(qComplete)},
}, {
	ID: qCaughtUp, Tag: "RR-3", Branch: behindRolling, Text: "Has the status of every old one caught up?",
	Doc: "A status that counts more available pods than the size is about pods that are going already. " +
		"Kubernetes runs into an error when it comes to that one and swallows it; other old ReplicaSets that it came to before have been shrunk by then.",
	Upstream: "cleanupUnhealthyReplicas",
	Answers:  []decision.Answer{passes(decision.Yes, "go on"), leads(decision.No, "wait for the status").To(qComplete)},
}, {
	ID: qUnhealthy, Tag: "RR-3a", Branch: behindRolling, Text: "Remove unhealthy old pods first?",
	Doc:      "Old pods that are not available serve nobody. Oldest ReplicaSet first, as many as may go.",
	Upstream: "cleanupUnhealthyReplicas",
	Answers:  []decision.Answer{leads("0", "RR-3b"), leads(decision.Any, "scale down, stop", decision.UpdateReplicaSet).To(toReport)},
}, {
	ID: qHealthy, Tag: "RR-3b", Branch: behindRolling, Text: "Then how many healthy ones?",
	Doc:      "The available pods above the floor. Oldest ReplicaSet first.",
	Upstream: "scaleDownOldReplicaSetsForRollingUpdate",
	Answers:  []decision.Answer{leads("0", "RR-4").To(qComplete), leads(decision.Any, "scale down, stop", decision.UpdateReplicaSet).To(toReport)},
}, {
	ID: qComplete, Tag: "RR-4", Branch: behindRolling, Text: "Is it complete?",
	Doc:      "By the published status: updated, total and available pods are all the wanted number, and the generation is observed.",
	Upstream: "rolloutRolling",
	Answers:  []decision.Answer{leads(decision.Yes, "H-1").To(qHistory), leads(decision.No, "RR-5").To(toReport)},
}}

var reportQuestions = []decision.Question{{
	ID: qHistory, Tag: "H-1", Text: "Clean up old revisions?",
	Doc: "Of the old revisions beyond the limit, lowest first, those go that have no pods and whose last change is observed. " +
		"One that cannot go is not made up for by a younger one. Asked when complete or paused.",
	Upstream: "cleanupDeployment",
	Answers:  []decision.Answer{leads(decision.No, "go on").To(toReport), leads(decision.Yes, "delete them", decision.DeleteReplicaSet).To(toReport)},
}, {
	ID: qDoneBefore, Tag: "RR-5", Text: "Was this rollout complete before?",
	Doc:      "Then Progressing is left alone: a pod that is lost later does not make it a rollout again, and no deadline runs.",
	Upstream: "syncRolloutStatus",
	Answers:  []decision.Answer{leads(decision.Yes, "leave Progressing alone").To(qFailure), leads(decision.No, "is it now?")},
}, {
	ID: qDoneNow, Tag: "RR-5", Text: "Is it complete by the new status?",
	Doc:      "By the status as it follows from this sync.",
	Upstream: "syncRolloutStatus",
	Answers:  []decision.Answer{leads(decision.Yes, "NewReplicaSetAvailable").To(qFailure), leads(decision.No, "did it progress?")},
}, {
	ID: qProgressed, Tag: "RR-5", Text: "Did it progress since the last status?",
	Doc:      "More updated, ready or available pods, or fewer old ones. The deadline counts from here.",
	Upstream: "DeploymentProgressing",
	Answers:  []decision.Answer{leads(decision.Yes, "ReplicaSetUpdated").To(qFailure), leads(decision.No, "is the deadline over?")},
}, {
	ID: qDeadline, Tag: "RR-5", Text: "Is the deadline over?",
	Doc:      "It only marks: nothing is rolled back, and later progress takes the mark away.",
	Upstream: "DeploymentTimedOut",
	Answers:  []decision.Answer{leads(decision.Yes, "ProgressDeadlineExceeded"), leads(decision.No, "go on")},
}, {
	ID: qFailure, Tag: "RR-5", Text: "Does a ReplicaSet report a failure?",
	Doc:      "ReplicaFailure of the new ReplicaSet, or else of the first that has it, is shown on the Deployment.",
	Upstream: "syncRolloutStatus",
	Answers:  []decision.Answer{passes(none, "drop ReplicaFailure"), leads(decision.Any, "copy it")},
}, {
	ID: qStatus, Tag: "RR-5", Text: "Does the status differ?",
	Doc:      "From the published one, the revision annotation included. There is at most one status write a sync.",
	Upstream: "syncRolloutStatus",
	Answers:  []decision.Answer{leads(decision.Yes, "may it wait?").To(qHold), leads(decision.No, "R-1").To(qRequeue, toEnd)},
}, {
	ID: qHold, Tag: "RR-5", Text: "Can the status wait for more to come?",
	Doc: "While ReplicaSets grow and shrink, one write covers a second of changes, and more where keys wait long in the queues. Fewer pods, a generation observed, " +
		"a revision, a collision, what a condition says, and a Deployment at rest never wait.",
	Upstream: "none: every change is written at once",
	Answers:  []decision.Answer{leads(decision.Yes, "write it when the window ends").To(qRequeue, toEnd), leads(decision.No, "write it now").To(qRequeue, toEnd)},
}, {
	ID: qRequeue, Tag: "R-1", Text: "When to look again?",
	Doc:      "One second after the progress deadline, if one is running. Anything else that matters comes as an event.",
	Upstream: "requeueStuckDeployment",
	Answers:  []decision.Answer{leads("never", "wait for an event").To(toEnd), leads(decision.Any, "or earlier, on any change").To(toEnd)},
}}
