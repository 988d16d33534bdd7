package rollingupdate

import "github.com/loopscope/loopscope/telemetry/decision"

// toReport and toEnd are where an answer leads that no question follows.
const (
	toReport = decision.ToReport
	toEnd    = decision.ToEnd
)

func yes(then string, next ...string) decision.Answer {
	return decision.Answer{Is: decision.Yes, Then: then, Next: next}
}

func no(then string, next ...string) decision.Answer {
	return decision.Answer{Is: decision.No, Then: then, Next: next}
}

func passes(a decision.Answer) decision.Answer {
	a.Passes = true
	return a
}

func writes(a decision.Answer, kinds ...decision.ActionKind) decision.Answer {
	a.Writes = kinds
	return a
}

// Catalogue is every question of the loop in the order in which it is asked.
var Catalogue = decision.Catalogue{Loop: "rollingupdate", Report: []string{"RU-9.events"}, Questions: []decision.Question{
	{
		ID: "RU-2", Tag: "RU-2", Text: "Do the caches show everything this loop wrote?",
		Doc:     "A decision on a cache that lacks our own last write would repeat that write or take it back. So the sync waits for the write to come back, and looks again by a timer if it does not.",
		Answers: []decision.Answer{passes(yes("go on")), no("wait for the echo", toEnd)},
	},
	{
		ID: "RU-3.there", Tag: "RU-3", Text: "Is the old ReplicationController there?",
		Doc:      "An update is known by the ReplicationController that it replaces.",
		Upstream: "kubectl: RunRollingUpdate, get of the old controller",
		Answers:  []decision.Answer{passes(yes("go on", "RU-10.parked", "RU-10.vain")), no("is there one that replaces it?")},
	},
	{
		ID: "RU-3.heir", Tag: "RU-3", Text: "Does another one say that it replaces it?",
		Doc:      "Where the old one is gone, the annotation update-source-id of the new one still names it: the update was interrupted shortly before its end.",
		Upstream: "kubectl: FindSourceController",
		Answers:  []decision.Answer{yes("finish that update", "RU-10.vain", "RU-10.parked"), no("forget it", toEnd)},
	},
	{
		ID: "RU-10.vain", Tag: "RU-10", Text: "Has the new one let go of its pods in vain?",
		Doc:      "Asked where it has let go of them. Where somebody deletes the old one then, nobody would ever take them over: the new one selects them again.",
		Upstream: "none: kubectl has deleted the old one by then",
		Answers:  []decision.Answer{writes(yes("have it select them again", toReport), decision.Update), passes(no("go on"))},
	},
	{
		ID: "RU-10.parked", Tag: "RU-10", Text: "Does it wait for the pods of the new one?",
		Doc:      "The one that keeps the old name has the template of the new one already, with a selector that matches no pod, and takes over the pods as soon as they have no controller. So nothing is lost wherever this is interrupted.",
		Upstream: "none: kubectl keeps the new one in its memory meanwhile",
		Answers:  []decision.Answer{yes("take over the pods", "RU-10.released", "RU-10.counted", "RU-9.deadline"), passes(no("go on", "RU-3.asked"))},
	},
	{
		ID: "RU-10.released", Tag: "RU-10", Text: "Have its pods been released?",
		Doc:      "The new one gets a size of 0 and a selector that matches no pod in one write: its loop then takes its owner reference off the pods, and deletes none, as none is its own. When nobody has them the new one is deleted. Only then may another one select them. Pods that somebody had it make meanwhile go first.",
		Upstream: "kubectl: Rename, which deletes the new one and keeps its pods",
		Answers: []decision.Answer{
			writes(yes("take them over", toReport), decision.Update),
			writes(no("have the new one let go of them, delete it, or wait", toReport, "RU-9.deadline"), decision.Update, decision.Delete, decision.Scale),
		},
	},
	{
		ID: "RU-10.counted", Tag: "RU-10", Text: "Does its status count all pods that it takes over?",
		Doc:      "Its loop may not have seen yet that nobody controls the pods, and would make others. So its template names a ServiceAccount that is not there, and the API server refuses pods of it, until its status counts them all.",
		Upstream: "none: kubectl creates it anew, and hopes",
		Answers: []decision.Answer{
			writes(yes("give the template its ServiceAccount back", toReport, "RU-9.conditions"), decision.Update), no("wait", "RU-9.deadline"),
		},
	},
	{
		ID: "RU-3.asked", Tag: "RU-3", Text: "Does somebody ask for an update?",
		Doc:      "A request stands in an annotation of the old one. Nothing is done without it, also where kubectl has left an update half-done: whoever began it may not want it any more.",
		Upstream: "kubectl: somebody types the command",
		Answers:  []decision.Answer{passes(yes("go on", "RU-4")), no("is there anything left of one?", "RU-3.left")},
	},
	{
		ID: "RU-3.left", Tag: "RU-3", Text: "Was an update left half-done?",
		Doc:      "The annotations of kubectl say so: next-controller-id and original-replicas on the old one, update-source-id on the new one.",
		Upstream: "kubectl: LoadExistingNextReplicationController",
		Answers:  []decision.Answer{yes("wait until somebody asks for the rest", toReport), passes(no("nothing to do", toReport, "RU-9.conditions"))},
	},
	{
		ID: "RU-4", Tag: "RU-4", Text: "Can the request be carried out?",
		Doc:      "It must be readable, the new one must have been made for this update and differ from the old one in a label of its selector, and the container must be known.",
		Upstream: "kubectl: validateArguments, getOrCreateTargetControllerWithClient",
		Answers:  []decision.Answer{passes(yes("go on", "RU-4.deleting")), no("say why", "RU-9.conditions", toReport)},
	},
	{
		ID: "RU-4.deleting", Tag: "RU-4", Text: "Is one of the two being deleted?",
		Doc:     "Somebody deletes it, or the end of the update does. Either way nothing is scaled meanwhile.",
		Answers: []decision.Answer{yes("wait", "RU-9.deadline", "RU-9.conditions"), passes(no("go on"))},
	},
	{
		ID: "RU-5.paused", Tag: "RU-5", Text: "Is it paused?",
		Doc:     "As long as the request says so, nothing is scaled. Both keep the number of pods that they have.",
		Answers: []decision.Answer{yes("hold every step", "RU-9.conditions"), passes(no("go on"))},
	},
	{
		ID: "RU-5.abort", Tag: "RU-5", Text: "Is it to be taken back?",
		Doc:      "Then the two change roles: the old one gets its pods back, by the same steps, and the new one goes. That is too late when the new one is on its own already.",
		Upstream: "kubectl: AbortRollingUpdate",
		Answers: []decision.Answer{
			passes(no("go on", "RU-10.cleaning")), yes("go back", "RU-8.reported", "RU-9.conditions"),
			{Is: tooLate, Then: "go on", Next: []string{"RU-10.cleaning"}},
		},
	},
	{
		ID: "RU-10.cleaning", Tag: "RU-10", Text: "Is the new one on its own already?",
		Doc:      "The notes on it are removed before the old one goes. Without them, and with an old one that has no pods, the update is complete but for that.",
		Upstream: "kubectl: cleanupWithClients",
		Answers:  []decision.Answer{yes("finish", "RU-9.conditions"), passes(no("go on", "RU-7.begun", "RU-6.template", "RU-6.strays", "RU-7.new"))},
	},
	{
		ID: "RU-6.template", Tag: "RU-6", Text: "Do pods that the old one makes get a label of their own?",
		Doc:      "Where the new one is made from the old one, both would select the same pods. So the old one gets a label that the new one has with another value: first its template, so that no pod comes without it.",
		Upstream: "kubectl: AddDeploymentKeyToReplicationController",
		Branch:   "split",
		Answers:  []decision.Answer{passes(yes("go on")), writes(no("label the template", toReport), decision.Update)},
	},
	{
		ID: "RU-6.seen", Tag: "RU-6", Text: "Has its loop seen its template as it is now?",
		Doc:      "From then on every pod that it makes has the label, and those without it can all be found by a live read.",
		Upstream: "none: kubectl labels those that it sees at once",
		Branch:   "split",
		Answers:  []decision.Answer{passes(yes("look at its pods")), no("wait for it", "RU-9.deadline")},
	},
	{
		ID: "RU-6.pods", Tag: "RU-6", Text: "Do all its pods have that label?",
		Doc:      "Every pod is labelled before the selector asks for the label, or the old one would let it go.",
		Upstream: "kubectl: AddDeploymentKeyToReplicationController",
		Branch:   "split",
		Answers:  []decision.Answer{passes(yes("narrow the selector")), writes(no("label them", toReport), decision.Label)},
	},
	{
		ID: "RU-6.selector", Tag: "RU-6", Text: "Does its selector ask for that label?",
		Doc:      "From then on the two are apart.",
		Upstream: "kubectl: AddDeploymentKeyToReplicationController",
		Branch:   "split",
		Answers:  []decision.Answer{passes(yes("go on", "RU-6.strays")), writes(no("narrow it", toReport), decision.Update)},
	},
	{
		ID: "RU-6.strays", Tag: "RU-6", Text: "Did it make pods without the label that nobody controls now?",
		Doc:      "Where kubectl has split it, its loop may have made a pod before it saw the new template. Such a pod is not selected any more, has been replaced, and would run for ever.",
		Upstream: "kubectl: AddDeploymentKeyToReplicationController, orphans",
		Branch:   "split",
		Answers:  []decision.Answer{writes(yes("delete them", toReport), decision.Delete), passes(no("go on", "RU-7.begun"))},
	},
	{
		ID: "RU-7.begun", Tag: "RU-7", Text: "Is it written down where the update started?",
		Doc:      "The size of the old one at the start, to be able to go back, and the name of the new one.",
		Upstream: "kubectl: Update, original-replicas",
		Answers:  []decision.Answer{passes(yes("go on")), writes(no("write it down", toReport), decision.Update)},
	},
	{
		ID: "RU-7.new", Tag: "RU-7", Text: "Does the new one exist?",
		Doc:      "It is created without pods, from the old one with the new image, and says whom it replaces and how many pods it is to have.",
		Upstream: "kubectl: getOrCreateTargetControllerWithClient",
		Answers:  []decision.Answer{passes(yes("go on")), writes(no("create it", toReport), decision.Create)},
	},
	{
		ID: "RU-8.rescaled", Tag: "RU-8", Text: "Has somebody else scaled one of the two?",
		Doc:      "The update writes down every size that it gives. Where an autoscaler, a deployer or a person gives another one, each would take back what the other did, for ever. That the old one loses more pods, and an update that is taken back, are no such thing.",
		Upstream: "kubectl: none, it takes whatever size it finds",
		Answers:  []decision.Answer{passes(no("go on")), yes("wait until it is scaled back", "RU-9.deadline")},
	},
	{
		ID: "RU-8.reported", Tag: "RU-8", Text: "Has the last step been carried out?",
		Doc:      "Both must have seen their sizes; of the one that loses pods, those that were to go must be gone, and those that are being made be counted, or there would be more than allowed. At the end the pods that were to come must have come.",
		Upstream: "kubectl: scaleAndWait",
		Answers:  []decision.Answer{passes(yes("go on")), no("wait for it", "RU-9.deadline")},
	},
	{
		ID: "RU-8.done", Tag: "RU-8", Text: "Does the new one have all pods, and the old one none?",
		Doc:      "Where the update is taken back, old and new have changed roles here and below.",
		Upstream: "kubectl: Update, the loop's condition",
		Answers:  []decision.Answer{yes("finish", "RU-9.conditions", "RU-10.cleanup"), passes(no("go on"))},
	},
	{
		ID: "RU-8.up", Tag: "RU-8", Text: "How many pods more may the new one have?",
		Doc:      "As many as there is room for below the ceiling, and no more than it is to have.",
		Upstream: "kubectl: scaleUp",
		Answers:  []decision.Answer{passes(decision.Answer{Is: "0", Then: "look at the old one"}), writes(decision.Answer{Is: decision.Any, Then: "scale it", Next: []string{toReport}}, decision.Scale)},
	},
	{
		ID: "RU-8.down", Tag: "RU-8", Text: "How many pods can the old one do without?",
		Doc:      "All that are more than must stay available, less the new pods that are not available yet.",
		Upstream: "kubectl: scaleDown",
		Answers: []decision.Answer{
			{Is: decision.Any, Then: "has the update period passed?", Passes: true, Next: []string{"RU-8.period", "RU-9.deadline"}},
		},
	},
	{
		ID: "RU-8.period", Tag: "RU-8", Text: "Has the update period passed since the last step?",
		Doc:      "The new pods are watched for that long before old ones go: whoever sees that something is wrong still has them.",
		Upstream: "kubectl: Update, the sleep between scaling up and down",
		Answers:  []decision.Answer{writes(yes("scale the old one", toReport), decision.Scale), no("wait for it", "RU-9.conditions")},
	},
	{
		ID: "RU-9.deadline", Tag: "RU-9", Text: "Has nothing moved for longer than the timeout?",
		Doc:      "Then the condition says so. Nothing is taken back, and the update goes on as soon as it can.",
		Upstream: "kubectl: Update, progressDeadline",
		Answers:  []decision.Answer{yes("say so"), passes(no("go on waiting"))},
	},
	{
		ID: "RU-9.conditions", Tag: "RU-9", Text: "Do both say how it stands?",
		Doc:      "Both have the condition Progressing, for everybody who looks at them with kubectl. Once the new one is on its own, its condition stays as it is.",
		Upstream: "none: kubectl prints to one terminal",
		Answers: []decision.Answer{
			passes(yes("nothing to publish", toReport, "RU-10.cleanup")),
			writes(no("publish it", toReport), decision.UpdateStatus),
		},
	},
	{
		ID: "RU-10.cleanup", Tag: "RU-10", Text: "What becomes of the two at the end?",
		Doc:      "The old one is deleted, or keeps its name and takes over the pods, or both stay; where the update was taken back, the new one is deleted. Before one goes, the other must be on its own.",
		Upstream: "kubectl: cleanupWithClients",
		Answers: []decision.Answer{
			writes(decision.Answer{Is: string(Delete), Then: "delete the old one", Next: []string{toReport}}, decision.Update, decision.Delete),
			writes(decision.Answer{Is: string(Rename), Then: "give its name to the new one", Next: []string{toReport}}, decision.Update, decision.Create),
			writes(decision.Answer{Is: string(Preserve), Then: "leave both", Next: []string{toReport}}, decision.Update),
			writes(decision.Answer{Is: takenBack, Then: "delete the new one", Next: []string{toReport, "RU-9.deadline"}}, decision.Update, decision.Delete),
		},
	},
	{
		ID: "RU-9.events", Tag: "RU-9", Text: "Is there something to report in an Event?",
		Doc:      "Every step, and every change of the condition, is an Event of the ReplicationController that it was made to.",
		Upstream: "none: kubectl prints to one terminal",
		Answers:  []decision.Answer{yes("send it", toEnd), passes(no("nothing to report", toEnd))},
	},
}}
