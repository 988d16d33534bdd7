package replicaset

import "github.com/loopscope/loopscope/telemetry/decision"

// toReport and toEnd are where an answer leads that no question follows.
const (
	toReport = decision.ToReport
	toEnd    = decision.ToEnd
)

// Catalogue is every question of the loop in the order in which it is asked.
// Decide asks up to RS-8, Settle the rest.
var Catalogue = decision.Catalogue{Loop: "replicaset", Report: []string{"RS-7", toEnd}, Questions: []decision.Question{
	{
		ID: "RS-1", Tag: "RS-1", Text: "Do the caches show everything this loop wrote?",
		Doc:      "A decision on a cache that lacks our own last write would repeat that write or take it back. So the sync waits for the write to come back, and looks again by a timer if it does not.",
		Upstream: "pkg/controller/replicaset: syncReplicaSet, consistency store",
		Answers:  []decision.Answer{{Is: decision.Yes, Then: "go on", Passes: true}, {Is: decision.No, Then: "wait for the echo", Next: []string{toEnd}}},
	},
	{
		ID: "RS-2", Tag: "RS-2", Text: "Is it in the cache?",
		Doc:      "An object that was deleted leaves nothing to decide; what was expected of it is forgotten.",
		Upstream: "pkg/controller/replicaset: syncReplicaSet, lister get",
		Answers:  []decision.Answer{{Is: decision.Yes, Then: "go on", Passes: true}, {Is: decision.No, Then: "forget it", Next: []string{toEnd}}},
	},
	{
		ID: "RS-3", Tag: "RS-3", Text: "Have all pods it asked for been seen?",
		Doc:      "Pods that were created or deleted are counted until their events arrive. While some are missing the pod cache is too old to count by, so nothing is created or deleted; only the status is updated. After five minutes a request no longer blocks.",
		Upstream: "pkg/controller/replicaset: syncReplicaSet, SatisfiedExpectations",
		Answers:  []decision.Answer{{Is: decision.Yes, Then: "go on", Passes: true}, {Is: decision.No, Then: "create and delete nothing yet"}},
	},
	{
		ID: "RS-4", Tag: "RS-4", Text: "Can its selector be read?",
		Doc:      "Without a selector nobody knows which pods are its own. A retry would meet the same selector, so there is none.",
		Upstream: "pkg/controller/replicaset: syncReplicaSet, LabelSelectorAsSelector",
		Answers:  []decision.Answer{{Is: decision.Yes, Then: "go on", Passes: true, Next: []string{"RS-6.release", "RS-6.parent"}}, {Is: decision.No, Then: "leave everything alone", Next: []string{toEnd}}},
	},
	{
		ID: "RS-6.parent", Tag: "RS-6", Text: "Is it still there, read live?",
		Doc:      "Asked only after a live read before an adoption said otherwise. Something that is gone or being deleted must not take over pods, so the sync ends until the cache shows it too.",
		Upstream: "pkg/controller: RecheckDeletionTimestamp",
		Answers:  []decision.Answer{{Is: decision.Yes, Then: "adopt", Passes: true}, {Is: decision.No, Then: "adopt nothing, end the sync", Next: []string{toEnd}}},
	},
	{
		ID: "RS-6.release", Tag: "RS-6", Text: "Does one of its pods no longer match its selector?",
		Doc:      "A pod whose labels were changed is released: it keeps running, but no longer counts.",
		Upstream: "pkg/controller: PodControllerRefManager.ClaimPods",
		Answers:  []decision.Answer{{Is: decision.Yes, Then: "release it", Writes: []decision.ActionKind{decision.Release}}, {Is: decision.No, Then: "go on", Passes: true}},
	},
	{
		ID: "RS-6.adopt", Tag: "RS-6", Text: "Does a pod without a controller match its selector?",
		Doc:      "Such a pod is adopted and counts at once. Finished pods and pods that are being deleted are left alone.",
		Upstream: "pkg/controller: PodControllerRefManager.ClaimPods",
		Answers:  []decision.Answer{{Is: decision.Yes, Then: "adopt it", Writes: []decision.ActionKind{decision.Adopt}}, {Is: decision.No, Then: "go on", Passes: true}},
	},
	{
		ID: "RS-8.deleting", Tag: "RS-8", Text: "Is it being deleted?",
		Doc:      "Then its pods are left to the garbage collector: none is created or deleted here, and only the status is updated.",
		Upstream: "pkg/controller/replicaset: syncReplicaSet, DeletionTimestamp",
		Answers:  []decision.Answer{{Is: decision.Yes, Then: "only the status", Next: []string{toReport}}, {Is: decision.No, Then: "go on", Passes: true, Next: []string{"RS-8.size", toReport}}},
	},
	{
		ID: "RS-8.size", Tag: "RS-8", Text: "Does it have as many pods as it wants?",
		Doc:      "Active pods are compared with spec.replicas. Finished pods and terminating pods do not count.",
		Upstream: "pkg/controller/replicaset: manageReplicas",
		Answers:  []decision.Answer{{Is: enough, Then: "nothing to create or delete", Passes: true, Next: []string{toReport}}, {Is: short, Then: "create what is missing", Next: []string{"RS-8.create", "RS-8.namespace"}}, {Is: over, Then: "delete what is too many", Next: []string{"RS-8.delete"}}},
	},
	{
		ID: "RS-8.namespace", Tag: "RS-8", Text: "Can anything be created in its namespace?",
		Doc:      "Asked only where the API server just said that the namespace is being deleted. Then nothing is created, and nothing is reported as a failure.",
		Upstream: "pkg/controller/replicaset: manageReplicas, NamespaceTerminatingCause",
		Answers:  []decision.Answer{{Is: decision.Yes, Then: "create", Passes: true}, {Is: decision.No, Then: "create nothing", Next: []string{toReport}}},
	},
	{
		ID: "RS-8.create", Tag: "RS-8", Text: "How many pods are created now?",
		Doc:      "All that are missing, up to the bound of one sync. They are created in batches of one, two, four and so on, so that a quota is not run into hundreds of times.",
		Upstream: "pkg/controller/replicaset: manageReplicas, slowStartBatch",
		Answers:  []decision.Answer{{Is: decision.Any, Then: "create them", Writes: []decision.ActionKind{decision.CreatePods}, Next: []string{toReport}}},
	},
	{
		ID: "RS-8.delete", Tag: "RS-8", Text: "How many pods are deleted now?",
		Doc:      "All that are too many, up to the bound of one sync.",
		Upstream: "pkg/controller/replicaset: manageReplicas",
		Answers:  []decision.Answer{{Is: decision.Any, Then: "choose them"}},
	},
	{
		ID: "RS-8.rank", Tag: "RS-8", Text: "Must a choice be made among its pods?",
		Doc:      "Where some stay, pods go in this order: not on a node, pending, not ready, ready but not available yet, lower deletion cost, more siblings on the node, ready for a shorter time, more restarts, younger.",
		Upstream: "pkg/controller/replicaset: getPodsToDelete",
		Answers: []decision.Answer{
			{Is: decision.Yes, Then: "delete the first by rank", Writes: []decision.ActionKind{decision.DeletePods}, Next: []string{toReport}},
			{Is: decision.No, Then: "delete all", Writes: []decision.ActionKind{decision.DeletePods}, Next: []string{toReport}},
		},
	},
	{
		ID: "RS-7", Tag: "RS-7", Text: "Does the status say how many pods are terminating?",
		Doc:      "A switch of the cluster (DeploymentReplicaSetTerminatingReplicas), on from v1.35 of the API server, read at every sync. It changes no decision.",
		Upstream: "pkg/controller/replicaset: syncReplicaSet, terminatingPods",
		Answers:  []decision.Answer{{Is: decision.Yes, Then: "count them", Passes: true}, {Is: decision.No, Then: "omit the field", Passes: true}},
	},
	{
		ID: "RS-9.failure", Tag: "RS-9", Text: "Did creating or deleting pods fail?",
		Doc:      "The condition ReplicaFailure says so until a sync goes through. Its text is that of the first failure and is not refreshed. The sync is tried again, forever, with a growing back-off.",
		Upstream: "pkg/controller/replicaset: calculateStatus",
		Answers:  []decision.Answer{{Is: decision.Yes, Then: "ReplicaFailure stays or appears"}, {Is: decision.No, Then: "no ReplicaFailure", Passes: true}},
	},
	{
		ID: "RS-9.available", Tag: "RS-9", Text: "Are all its pods available?",
		Doc:      "A pod is available when it has been ready for minReadySeconds. This loop waits for pods but never repairs them; the reason they wait is quoted.",
		Upstream: "pkg/controller/replicaset: calculateStatus",
		Answers:  []decision.Answer{{Is: decision.Yes, Then: "nothing to wait for", Passes: true}, {Is: decision.No, Then: "wait for them"}},
	},
	{
		ID: "RS-9.status", Tag: "RS-9", Text: "Does the status differ from the published one?",
		Doc:      "Counts, conditions and observedGeneration are compared with the status in the cache. Equal means that nothing is written.",
		Upstream: "pkg/controller/replicaset: updateReplicaSetStatus",
		Answers:  []decision.Answer{{Is: decision.Yes, Then: "may it wait?"}, {Is: decision.No, Then: "write nothing", Passes: true, Next: []string{"RS-11"}}},
	},
	{
		ID: "RS-9.hold", Tag: "RS-9", Text: "Can the status wait for more to come?",
		Doc:      "While pods start or terminate one after the other, one write covers a second of changes, and more where keys wait long in the queues. Fewer pods, a condition, the last pod that is wanted, and a generation observed (unless a Deployment makes it larger) never wait.",
		Upstream: "none: every change is written at once",
		Answers:  []decision.Answer{{Is: decision.Yes, Then: "publish it when the window ends"}, {Is: decision.No, Then: "publish it now", Passes: true}},
	},
	{
		ID: "RS-11", Tag: "RS-11", Text: "Is a pod ready that is not yet available?",
		Doc:      "No event says that time has passed, so a timer brings the next look at the instant when the first such pod will have been ready for long enough.",
		Upstream: "pkg/controller/replicaset: syncReplicaSet, enqueueAfter",
		Answers:  []decision.Answer{{Is: decision.Yes, Then: "look again when it is", Next: []string{toEnd}}, {Is: decision.No, Then: "no timer", Passes: true, Next: []string{toEnd}}},
	},
}}
