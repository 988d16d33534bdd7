package rollingupdate_test

import (
	"strings"
	"time"

	"github.com/loopscope/loopscope/controllers/rollingupdate"
	"github.com/loopscope/loopscope/telemetry/decision"
)

// scenes are the goldens: each branch of the decision, and each sentence.
var scenes = []scene{
	// What there is.
	{name: "echo", comment: "Its own write is not in the cache yet.", snapshot: moving(3, 1, 1, func(s *rollingupdate.Snapshot) {
		s.Echo = []rollingupdate.Echo{
			{Object: "ReplicationController web", Written: "12", Cached: "10", Since: now.Add(-time.Second), Check: now.Add(2 * time.Second)},
			{Object: "ReplicationController web-6d5", Written: "21", Cached: "20", Since: now.Add(-time.Second), Check: now.Add(time.Second)},
		}
	})},
	{name: "gone", comment: "Neither exists.", snapshot: starting(unasked, withoutOld)},
	{name: "none", comment: "Nobody asks for anything.", snapshot: starting(unasked)},
	{name: "complete", comment: "The last update went through.", snapshot: starting(unasked, func(s *rollingupdate.Snapshot) {
		s.Result = &rollingupdate.Result{ID: "r1", Ended: rollingupdate.Complete, From: "web", To: "web-6d5", At: now.Add(-time.Hour), TookOver: true}
	})},
	{name: "aborted", comment: "The last update was taken back; this is what it was to become.", snapshot: starting(unasked, func(s *rollingupdate.Snapshot) {
		s.Result = &rollingupdate.Result{Ended: rollingupdate.Aborted, From: "web-old", To: "web", At: now.Add(-time.Minute)}
	})},
	{name: "left", comment: "kubectl was interrupted.", snapshot: moving(2, 2, 2, unasked)},
	{name: "left-source", comment: "The old one is gone, and the new one still names it.", snapshot: moving(0, 3, 3, unasked, withoutOld)},
	{name: "left-on-its-own", comment: "kubectl was interrupted between the two steps of its clean-up: it is too late to go back.", snapshot: ended(unasked, onItsOwn)},
	{name: "left-nameless", comment: "Only the size at the start is left: nothing says which one is the new one.", snapshot: moving(2, 0, 0, unasked, withoutNew, func(s *rollingupdate.Snapshot) { s.Old.Next, s.NewName = "", "" })},
	{name: "left-without-new", comment: "The new one is gone, so that there is nothing to finish.", snapshot: moving(2, 0, 0, unasked, withoutNew)},
	{name: "left-unsized", comment: "The old one is gone, and the new one does not say its size: nothing can be done with it yet.", snapshot: moving(0, 3, 3, unasked, withoutOld, func(s *rollingupdate.Snapshot) { s.New.Desired = nil })},
	{name: "left-other-source", comment: "What has the name of the new one was made for another update: only going back is left.", snapshot: moving(2, 1, 1, unasked, func(s *rollingupdate.Snapshot) { s.New.Source = "shop:u-7" })},
	{name: "left-original-unknown", comment: "Nobody has written down what to go back to.", snapshot: moving(2, 2, 2, unasked, func(s *rollingupdate.Snapshot) { s.Old.Original = nil })},
	{name: "deleting", comment: "Somebody deletes the old one.", snapshot: moving(2, 2, 2, func(s *rollingupdate.Snapshot) { s.Old.Deleting = true })},
	{name: "deleting-kept", comment: "A finalizer keeps the old one.", snapshot: moving(2, 2, 2, deletion("old", 2*time.Minute, "example.org/wait"))},
	{name: "deleting-kept-long", comment: "The same for longer than the timeout.", snapshot: moving(2, 2, 2, stepped(7*time.Minute), says("False", "ProgressDeadlineExceeded"), deletion("old", 6*time.Minute, "example.org/wait"))},
	{name: "deleting-back", comment: "The old one is deleted while it gets its pods back.", snapshot: moving(2, 2, 2, asks(aborted), says("True", "RollingUpdateAborting"), deletion("old", time.Second))},
	{name: "deleting-paused", comment: "The old one is deleted in a pause.", snapshot: moving(2, 2, 2, asks(paused), says("Unknown", "RollingUpdatePaused"), deletion("old", time.Second))},
	{name: "deleting-new", comment: "Somebody deletes the new one in the foreground.", snapshot: moving(2, 2, 2, deletion("new", 10*time.Second, "foregroundDeletion"), func(s *rollingupdate.Snapshot) {
		s.New.Deletion.Blocking = 2
		s.New.Terminating = []decision.TerminatingPod{{Name: "web-6d5-0", Until: now.Add(20 * time.Second)}, {Name: "web-6d5-1", Until: now.Add(20 * time.Second)}}
	})},
	{name: "deleting-new-of-a-file", comment: "Somebody deletes the new one, which no image makes anew.", snapshot: moving(2, 2, 2, asks(to("web-6d5")), deletion("new", time.Second))},
	{name: "deleting-new-long", comment: "Somebody deletes the new one, and that takes longer than the timeout.", snapshot: moving(2, 2, 2, stepped(7*time.Minute), deletion("new", 6*time.Minute, "example.org/wait")),
		outcomes: []decision.Outcome{{State: decision.Written, RV: "12"}, {State: decision.Written, RV: "22"}}},
	{name: "deleting-new-still", comment: "The same later.", snapshot: moving(2, 2, 2, stepped(7*time.Minute), says("False", "ProgressDeadlineExceeded"), deletion("new", 6*time.Minute, "example.org/wait"))},

	// What is refused.
	{name: "unreadable", comment: "The request is no JSON.", snapshot: starting(unasked, func(s *rollingupdate.Snapshot) {
		s.RequestError = "the request is not valid JSON: unexpected end of JSON input"
	})},
	{name: "unreadable-said", comment: "The same, and the condition says it already.", snapshot: starting(unasked, says("False", "RollingUpdateInvalid"), func(s *rollingupdate.Snapshot) {
		s.RequestError = "the request has version 2, and this manager reads version 1"
	})},
	{name: "unreadable-gone", comment: "The request was removed.", snapshot: starting(unasked, says("False", "RollingUpdateInvalid")), outcomes: written("12")},
	{name: "is-a-target", comment: "Another one is updated to it.", snapshot: starting(func(s *rollingupdate.Snapshot) { s.Into = "web-old" })},
	{name: "itself", comment: "It is to be replaced by itself.", snapshot: starting(asks(to("web")), func(s *rollingupdate.Snapshot) { s.NewName = "web" })},
	{name: "no-new", comment: "The new one does not exist, and there is no image.", snapshot: starting(asks(to("web-2")), func(s *rollingupdate.Snapshot) { s.NewName = "web-2" })},
	{name: "no-new-and-old-gone", comment: "The old one is gone, and what replaces it has no size.", snapshot: moving(0, 3, 3, asks(to("web-6d5")), withoutOld, func(s *rollingupdate.Snapshot) { s.New.Desired = nil })},
	{name: "no-source", comment: "The new one was made by somebody else.", snapshot: moving(3, 1, 1, func(s *rollingupdate.Snapshot) { s.New.Source = "" })},
	{name: "other-source", comment: "The new one belongs to another update.", snapshot: moving(3, 1, 1, func(s *rollingupdate.Snapshot) { s.New.Source = "shop:u-7" })},
	{name: "earlier-source", comment: "The new one was made for an earlier one of the same name.", snapshot: moving(3, 1, 1, func(s *rollingupdate.Snapshot) { s.New.Source = "web:u-7" })},
	{name: "no-size", comment: "The new one does not say its size.", snapshot: moving(3, 1, 1, func(s *rollingupdate.Snapshot) { s.New.Desired = nil })},
	{name: "other-image", comment: "The new one has another image.", snapshot: moving(3, 1, 1, func(s *rollingupdate.Snapshot) { s.New.Containers[0].Image = "web:3" })},
	{name: "other-update", comment: "In the middle of one update another one is asked for.", snapshot: moving(3, 1, 1, asks(to("web-9")))},
	{name: "no-container", comment: "Two containers, and none is named.", snapshot: starting(func(s *rollingupdate.Snapshot) {
		s.Old.Containers = append(s.Old.Containers, rollingupdate.Container{Name: "log", Image: "log:1"})
	})},
	{name: "no-such-container", comment: "It has no container of that name.", snapshot: starting(asks(func(r *rollingupdate.Request) { r.Container = "app" }))},
	{name: "same-image", comment: "It has that image already.", snapshot: starting(asks(func(r *rollingupdate.Request) { r.Image = "web:1" }))},
	{name: "taken-over", comment: "Its pods are a Deployment's since a migration, which keeps it for the way back.", snapshot: starting(func(s *rollingupdate.Snapshot) {
		s.Old.Size, s.Old.Replicas, s.Old.Pods, s.Old.TakenOver = 0, 0, nil, "web"
	})},
	{name: "no-pods", comment: "It is scaled to zero.", snapshot: starting(func(s *rollingupdate.Snapshot) { s.Old.Size, s.Old.Replicas, s.Old.Pods = 0, 0, nil })},
	{name: "owned", comment: "It belongs to something that keeps it as it is.", snapshot: starting(func(s *rollingupdate.Snapshot) { s.Old.Owner = "DeploymentConfig web" })},
	{name: "long-name", comment: "Its name leaves no room for a hash.", snapshot: starting(func(s *rollingupdate.Snapshot) { s.NewName = strings.Repeat("w", 250) + "-6d5" })},
	{name: "selectors", comment: "Both would select the same pods.", snapshot: moving(3, 1, 1, func(s *rollingupdate.Snapshot) { s.Apart = false })},

	// The split.
	{name: "split-template", comment: "The template gets the label first.", snapshot: starting(), outcomes: written("11")},
	{name: "split-template-planned", comment: "The same by a process that only watches.", snapshot: starting()},
	{name: "split-seen", comment: "Its loop has not seen the label yet.", snapshot: starting(func(s *rollingupdate.Snapshot) {
		s.Old.TemplateKey, s.Old.Generation, s.Old.Stepped = "5f8", 2, now.Add(-time.Second)
	}, says("True", "RollingUpdateProgressing"))},
	{name: "split-not-seen", comment: "Nobody runs its loop.", snapshot: starting(func(s *rollingupdate.Snapshot) {
		s.Old.TemplateKey, s.Old.Generation, s.Old.Stepped = "5f8", 2, now.Add(-6*time.Minute)
	}, says("False", "ProgressDeadlineExceeded"))},
	{name: "split-pods", comment: "Then all pods.", snapshot: starting(func(s *rollingupdate.Snapshot) { s.Old.TemplateKey, s.Old.Pods[1].Key = "5f8", "5f8" }),
		outcomes: []decision.Outcome{{State: decision.Written, RV: "6"}, {State: decision.Written, RV: "7"}}},
	{name: "split-selector", comment: "Then the selector.", snapshot: starting(func(s *rollingupdate.Snapshot) { s.Old.TemplateKey, s.Old.Pods = "5f8", pods("web", 3, 3, "5f8") }), outcomes: written("11")},
	{name: "split-strays", comment: "A pod that was made before its loop saw the new template.", snapshot: starting(func(s *rollingupdate.Snapshot) {
		s.Old.TemplateKey, s.Old.SelectorKey, s.Old.Pods, s.Strays = "5f8", "5f8", pods("web", 3, 3, "5f8"), pods("web-x", 1, 1, "")
		s.Old.Stepped = now.Add(-4 * time.Minute)
	}), outcomes: written("")},

	{name: "split-older", comment: "A pod without a controller that is older than the split is left alone.", snapshot: starting(func(s *rollingupdate.Snapshot) {
		s.Old.TemplateKey, s.Old.SelectorKey, s.Old.Pods, s.Strays = "5f8", "5f8", pods("web", 3, 3, "5f8"), pods("web-x", 1, 1, "")
		s.Old.Stepped = now.Add(-time.Minute)
	}), outcomes: written("11")},

	// The beginning.
	{name: "begin", comment: "The size of the old one is written down.", snapshot: starting(func(s *rollingupdate.Snapshot) {
		s.Old.TemplateKey, s.Old.SelectorKey, s.Old.Pods = "5f8", "5f8", pods("web", 3, 3, "5f8")
	}), outcomes: written("11")},
	{name: "begin-to", comment: "Two that are apart: nothing is split.", snapshot: moving(3, 0, 0, asks(to("web-6d5")), func(s *rollingupdate.Snapshot) {
		s.Old.Original, s.Old.Next, s.Old.SelectorKey, s.Old.TemplateKey = nil, "", "", ""
	}), outcomes: written("11")},
	{name: "create", comment: "The new one is created without pods.", snapshot: moving(3, 0, 0, withoutNew), outcomes: written("20")},
	{name: "create-refused", comment: "A webhook refuses it.", snapshot: moving(3, 0, 0, withoutNew),
		outcomes: refused(decision.Refused, decision.Failure{Code: 403, Reason: "Forbidden", Message: `admission webhook "names.example.com" denied the request: no`}), try: decision.Try{Number: 2, Next: now.Add(4 * time.Second)}},
	{name: "create-forbidden", comment: "It lacks the permission.", snapshot: moving(3, 0, 0, withoutNew),
		outcomes: refused(decision.Refused, decision.Failure{Code: 403, Reason: "Forbidden", Message: `replicationcontrollers is forbidden: User "loopscope" cannot create resource "replicationcontrollers" in API group "" in the namespace "shop"`}), try: decision.Try{Number: 2, Next: now.Add(4 * time.Second)}},
	{name: "create-refused-before", comment: "Who looks on is told that a webhook refuses it.", snapshot: moving(3, 0, 0, withoutNew, refusedBefore(31*time.Second))},
	{name: "create-refused-long-ago", comment: "What was refused before the last step is no news.", snapshot: moving(3, 0, 0, withoutNew, refusedBefore(time.Hour))},
	{name: "up-not-refused", comment: "Another write was refused.", snapshot: moving(3, 0, 0, refusedBefore(time.Second))},

	// The steps.
	{name: "up", comment: "Room for one.", snapshot: moving(3, 0, 0), outcomes: written("21")},
	{name: "up-planned", comment: "The same by a process that only watches.", snapshot: moving(3, 0, 0)},
	{name: "up-all", comment: "The old one has none: the rest at once.", snapshot: moving(0, 1, 1, asks(bounds(0, 3))), outcomes: written("21")},
	{name: "rescaled-old", comment: "An autoscaler works against the update.", snapshot: moving(5, 1, 1, given(3, 1), says("True", "RollingUpdateProgressing"), func(s *rollingupdate.Snapshot) { s.Old.Scaler = "kube-controller-manager" })},
	{name: "rescaled-new", comment: "Somebody scales the new one, for a long time.", snapshot: moving(3, 7, 7, given(3, 1), says("False", "ProgressDeadlineExceeded"), stepped(6*time.Minute))},
	{name: "rescaled-down", comment: "That the old one has fewer pods is where the update goes.", snapshot: moving(1, 1, 1, given(3, 1)), outcomes: written("21")},
	{name: "reporting", comment: "Its loop has not seen the new size.", snapshot: moving(3, 1, 1, func(s *rollingupdate.Snapshot) { s.New.Observed, s.New.Generation = 1, 2 })},
	{name: "reporting-old", comment: "The loop of the old one has not seen the new size.", snapshot: moving(2, 1, 1, func(s *rollingupdate.Snapshot) { s.Old.Observed, s.Old.Generation = 1, 2 })},
	{name: "pods-to-go", comment: "A pod of the old one is not gone.", snapshot: moving(2, 1, 1, func(s *rollingupdate.Snapshot) { s.Old.Replicas = 3 })},
	{name: "pods-missing", comment: "At the end its loop has seen the new size, and a pod of the new one is not there yet.", snapshot: moving(0, 3, 2, stepped(time.Minute), func(s *rollingupdate.Snapshot) {
		s.New.Replicas, s.New.Pods = 2, s.New.Pods[:2]
	})},
	{name: "pods-too-many", comment: "At the end the new one still has a pod that is to go.", snapshot: moving(0, 3, 3, stepped(time.Minute), func(s *rollingupdate.Snapshot) { s.New.Replicas = 4 })},
	{name: "pods-kept", comment: "A webhook denies the deletion of a pod of the old one.", snapshot: moving(2, 1, 1, stepped(time.Minute), keptPods)},
	{name: "pods-kept-long", comment: "The same for longer than the timeout.", snapshot: moving(2, 1, 1, stepped(6*time.Minute), says("False", "ProgressDeadlineExceeded"), keptPods)},
	{name: "pods-kept-back", comment: "Going back, a webhook denies the deletion of a pod of the new one.", snapshot: moving(3, 0, 0, asks(aborted), says("True", "RollingUpdateAborting"), stepped(time.Minute), func(s *rollingupdate.Snapshot) {
		s.New.Replicas, s.New.KeepsPods, s.New.Refusal, s.New.RefusedSince = 1, true, "unable to delete pods: storage is down", now.Add(-time.Minute)
	})},
	{name: "pods-to-go-refusal-before", comment: "A pod of the old one is not gone, and what was refused before is a creation.", snapshot: moving(2, 1, 1, keptPods, func(s *rollingupdate.Snapshot) { s.Old.KeepsPods = false })},
	{name: "pods-to-come", comment: "Taken back while a pod of the new one is being made: it comes all the same.", snapshot: moving(2, 2, 1, asks(aborted), says("True", "RollingUpdateAborting"), func(s *rollingupdate.Snapshot) {
		s.New.Replicas, s.New.Pods = 1, s.New.Pods[:1]
	})},
	{name: "period", comment: "The update period is not over.", snapshot: moving(3, 1, 1, stepped(20*time.Second))},
	{name: "down", comment: "The new pod is available and the period over.", snapshot: moving(3, 1, 1), outcomes: written("11")},
	{name: "down-all", comment: "All new pods are available: the rest goes at once.", snapshot: moving(2, 3, 3, asks(bounds(2, 0))), outcomes: written("11")},
	{name: "down-unavailable", comment: "A pod may be missing.", snapshot: moving(3, 0, 0, asks(bounds(0, 1))), outcomes: written("11")},
	{name: "floor", comment: "The new pod is not ready.", snapshot: moving(3, 1, 0, stepped(20*time.Second))},
	{name: "not-created", comment: "The new pod is not in the cache yet.", snapshot: moving(3, 1, 0, stepped(20*time.Second), func(s *rollingupdate.Snapshot) { s.New.Pods, s.New.Replicas = nil, 0 })},
	{name: "image", comment: "The new pod has no image.", snapshot: moving(3, 1, 0, blocked, stepped(20*time.Second))},
	{name: "image-also", comment: "The new pod has no image, and another container of it fails, too.", snapshot: moving(3, 1, 0, blocked, stepped(20*time.Second), func(s *rollingupdate.Snapshot) { s.New.Pods[0].Also = "log" })},
	{name: "image-name", comment: "The image of the new pod has an invalid name: no pod of that template can run.", snapshot: moving(3, 1, 0, blocked, stepped(20*time.Second), func(s *rollingupdate.Snapshot) {
		s.New.Pods[0].Reason, s.New.Pods[0].Message = "InvalidImageName", `Failed to apply default image tag "web:": invalid reference format`
	})},
	{name: "invalid-heir", comment: "The API server refuses the last new pod as invalid when the old one is gone: it is too late to go back.", snapshot: moving(0, 3, 2, asks(to("web-6d5")), stepped(20*time.Second), withoutOld, func(s *rollingupdate.Snapshot) {
		s.New.Pods, s.New.Replicas, s.New.RefusedSince = s.New.Pods[:2], 2, now.Add(-19*time.Second)
		s.New.Refusal = `Pod "web-6d5-x" is invalid: spec.containers[0].resources.requests: Invalid value: "2": must be less than or equal to cpu limit of 1`
	})},
	{name: "min-ready", comment: "The new pod is ready, and not for long enough.", snapshot: moving(3, 1, 1, stepped(20*time.Second), func(s *rollingupdate.Snapshot) {
		s.New.MinReady, s.New.Pods[0].ReadySince = 30, now.Add(-10*time.Second)
	})},
	{name: "quota", comment: "A quota refuses the new pod; the old ones may not go.", snapshot: moving(3, 1, 0, stepped(20*time.Second), func(s *rollingupdate.Snapshot) {
		s.New.Pods, s.New.Replicas, s.New.RefusedSince = nil, 0, now.Add(-19*time.Second)
		s.New.Refusal = `pods "web-6d5-x" is forbidden: exceeded quota: small, requested: pods=1, used: pods=3, limited: pods=3`
	})},
	{name: "quota-at-the-end", comment: "The last new pod is refused when the old one has none.", snapshot: moving(0, 3, 2, asks(bounds(0, 3)), stepped(20*time.Second), func(s *rollingupdate.Snapshot) {
		s.New.Pods, s.New.Replicas = s.New.Pods[:2], 2
		s.New.Refusal = `pods "web-6d5-x" is forbidden: exceeded quota: small, requested: pods=1, used: pods=2, limited: pods=2`
	})},
	{name: "deadline", comment: "Nothing moved for longer than the timeout.", snapshot: moving(3, 1, 0, blocked, stepped(6*time.Minute)),
		outcomes: []decision.Outcome{{State: decision.Written, RV: "12"}, {State: decision.Written, RV: "22"}}},
	{name: "deadline-still", comment: "The same later: it goes on when it can.", snapshot: moving(3, 1, 0, blocked, stepped(16*time.Minute), says("False", "ProgressDeadlineExceeded"))},
	{name: "deadline-unknown-start", comment: "As kubectl left it: nobody says when it was last scaled.", snapshot: moving(3, 1, 0, blocked, says("False", "ProgressDeadlineExceeded"), func(s *rollingupdate.Snapshot) { s.New.Stepped = time.Time{} })},
	{name: "just-begun", comment: "The condition is published where nothing else is to do.", snapshot: moving(3, 1, 0, stepped(time.Second), says("", "")), outcomes: []decision.Outcome{{State: decision.Written, RV: "12"}, {State: decision.Written, RV: "22"}}},

	// Pause and going back.
	{name: "paused", comment: "Paused half-way.", snapshot: moving(2, 2, 2, asks(paused), says("Unknown", "RollingUpdatePaused"))},
	{name: "paused-now", comment: "It has just been paused.", snapshot: moving(2, 2, 2, asks(paused)), outcomes: []decision.Outcome{{State: decision.Written, RV: "12"}, {State: decision.Written, RV: "22"}}},
	{name: "paused-without-new", comment: "Paused half-way, and the new one is gone.", snapshot: moving(2, 0, 0, asks(paused), withoutNew, says("Unknown", "RollingUpdatePaused"))},
	{name: "paused-at-the-start", comment: "Paused before anything was done.", snapshot: starting(asks(paused), says("Unknown", "RollingUpdatePaused"))},
	{name: "back-up", comment: "The old one gets its pods back.", snapshot: moving(1, 2, 2, asks(aborted)), outcomes: written("11")},
	{name: "back-down", comment: "The new one loses its pods.", snapshot: moving(3, 1, 1, asks(aborted)), outcomes: written("21")},
	{name: "back-at-once", comment: "Going back does not wait for the update period.", snapshot: moving(3, 1, 1, asks(aborted), says("True", "RollingUpdateAborting"), stepped(5*time.Second)), outcomes: written("21")},
	{name: "back-floor", comment: "An old pod is not ready again.", snapshot: moving(3, 1, 1, asks(aborted), says("True", "RollingUpdateAborting"), stepped(5*time.Second), func(s *rollingupdate.Snapshot) {
		s.Old.Pods = pods("web", 3, 2, "5f8")
	})},
	{name: "image-name-back", comment: "The image of an old pod has an invalid name: the update is being taken back already.", snapshot: moving(3, 1, 1, asks(aborted), says("True", "RollingUpdateAborting"), stepped(5*time.Second), func(s *rollingupdate.Snapshot) {
		s.Old.Pods = pods("web", 3, 2, "5f8")
		p := &s.Old.Pods[2]
		p.Phase, p.Reason, p.Image, p.Container, p.Message = "Pending", "InvalidImageName", "web:", "web", `Failed to apply default image tag "web:": invalid reference format`
	})},
	{name: "back-stuck", comment: "Old pods do not come up again.", snapshot: moving(3, 1, 1, asks(aborted), says("False", "ProgressDeadlineExceeded"), stepped(6*time.Minute), func(s *rollingupdate.Snapshot) {
		s.Old.Pods = pods("web", 3, 2, "5f8")
	})},
	{name: "no-original", comment: "Nobody has written down how many pods the old one had, and the new one has some.", snapshot: moving(2, 3, 3, asks(aborted), func(s *rollingupdate.Snapshot) { s.Old.Original = nil })},
	{name: "back-unwritten", comment: "The same before the new one had pods: the old one has its size still.", snapshot: moving(3, 0, 0, asks(aborted), says("True", "RollingUpdateAborted"), func(s *rollingupdate.Snapshot) { s.Old.Original = nil }), outcomes: written("")},
	{name: "back-done", comment: "The old one has all pods: the new one goes.", snapshot: moving(3, 0, 0, asks(aborted), says("True", "RollingUpdateAborted")), outcomes: written("")},
	{name: "back-deleting", comment: "The new one is on its way out.", snapshot: moving(3, 0, 0, asks(aborted), says("True", "RollingUpdateAborted"), deletion("new", time.Second))},
	{name: "back-deleting-still", comment: "A finalizer keeps the new one for longer than the timeout.", snapshot: moving(3, 0, 0, asks(aborted), stepped(7*time.Minute), says("False", "ProgressDeadlineExceeded"), deletion("new", 6*time.Minute, "example.org/wait"))},
	{name: "back-forget", comment: "The notes are removed from the old one.", snapshot: moving(3, 0, 0, asks(aborted), says("True", "RollingUpdateAborted"), withoutNew), outcomes: written("12")},
	{name: "back-leaves-others", comment: "What has the name of the new one is somebody else's: it is left alone.", snapshot: moving(3, 1, 1, asks(aborted), says("True", "RollingUpdateAborted"), func(s *rollingupdate.Snapshot) {
		s.New.Source = ""
	}), outcomes: written("12")},
	{name: "back-after-a-late-write", comment: "The notes went from the new one by a write that came late: going back goes on.", snapshot: moving(1, 3, 3, asks(aborted), says("True", "RollingUpdateAborting"), onItsOwn, func(s *rollingupdate.Snapshot) {
		s.Old.Stepped, s.New.Replaced = now.Add(-time.Second), "web"
	}), outcomes: written("21")},
	{name: "back-at-the-start", comment: "Taken back before the new one was made.", snapshot: starting(asks(aborted)), outcomes: written("11")},
	{name: "not-cleaning", comment: "The new one was deleted at the end, and another one made of that name.", snapshot: ended(onItsOwn, asks(deletes), func(s *rollingupdate.Snapshot) {
		s.Old.Stepped, s.New.Replaced = now.Add(-time.Minute), ""
	})},
	{name: "too-late", comment: "The new one is on its own: the old one goes.", snapshot: ended(onItsOwn, asks(aborted, deletes)), outcomes: written("")},

	// The end.
	{name: "done", comment: "Both say first that it is complete.", snapshot: moving(0, 3, 3), outcomes: []decision.Outcome{{State: decision.Written, RV: "12"}, {State: decision.Written, RV: "22"}}},
	{name: "forget-new", comment: "The notes are removed from the new one.", snapshot: ended(asks(deletes)), outcomes: written("22")},
	{name: "delete-old", comment: "The old one is deleted.", snapshot: ended(asks(deletes), onItsOwn), outcomes: written("")},
	{name: "delete-under-way", comment: "The old one is on its way out.", snapshot: ended(asks(deletes), onItsOwn, func(s *rollingupdate.Snapshot) { s.Old.Deleting = true })},
	{name: "delete-kept-long", comment: "A finalizer keeps the old one for longer than the timeout: the new one is on its own, and stays complete.", snapshot: ended(asks(deletes), onItsOwn, stepped(7*time.Minute), deletion("old", 6*time.Minute, "example.org/wait")), outcomes: written("12")},
	{name: "delete-kept-still", comment: "The same later.", snapshot: ended(asks(deletes), onItsOwn, stepped(7*time.Minute), says("False", "ProgressDeadlineExceeded"), deletion("old", 6*time.Minute, "example.org/wait"), newSays("True", "RollingUpdateComplete"))},
	{name: "delete-paused", comment: "A pause while the old one goes: the new one is on its own, and stays complete.", snapshot: ended(asks(deletes, paused), onItsOwn, deletion("old", time.Second)), outcomes: written("12")},
	{name: "delete-paused-before", comment: "A pause before the old one is deleted.", snapshot: ended(asks(deletes, paused), onItsOwn), outcomes: written("12")},
	{name: "delete-updated-on", comment: "The new one is updated again meanwhile: its condition is that update's.", snapshot: ended(asks(deletes), onItsOwn, deletion("old", time.Second, "example.org/wait"), newSays("True", "RollingUpdateProgressing"))},
	{name: "preserve", comment: "Both stay, without notes.", snapshot: ended(asks(preserve), onItsOwn), outcomes: written("12")},
	{name: "preserve-resumed", comment: "A pause came when the new one was on its own already: the old one, which stays, says first that the update is complete.", snapshot: ended(asks(preserve), onItsOwn, says("Unknown", "RollingUpdatePaused"), newSays("True", "RollingUpdateComplete")), outcomes: written("12")},
	{name: "park", comment: "The old name gets the new template.", snapshot: ended(), outcomes: written("12")},
	{name: "park-planned", comment: "The same by a process that only watches.", snapshot: ended()},
	{name: "let-go", comment: "The new one lets go of its pods.", snapshot: ended(parkedOld), outcomes: written("22")},
	{name: "let-go-again", comment: "Somebody scales it after it let go.", snapshot: ended(parkedOld, lettingGo, func(s *rollingupdate.Snapshot) { s.New.Size, s.New.Generation = 3, 3 }), outcomes: written("22")},
	{name: "park-resized", comment: "Somebody scales the new one before it lets go.", snapshot: ended(parkedOld, func(s *rollingupdate.Snapshot) { s.New.Size = 5 }), outcomes: written("12")},
	{name: "vain", comment: "Somebody deletes the old one while it takes over the pods.", snapshot: ended(parkedOld, lettingGo, func(s *rollingupdate.Snapshot) { s.Old.Deleting = true }), outcomes: written("22")},
	{name: "vain-gone", comment: "Somebody has deleted it.", snapshot: ended(withoutOld, lettingGo, unasked), outcomes: written("22")},
	{name: "parked-deleting", comment: "Somebody deletes the old one when the new one is gone.", snapshot: ended(parkedOld, withoutNew, func(s *rollingupdate.Snapshot) { s.Old.Deleting = true })},
	{name: "releasing", comment: "Its pods are not released yet.", snapshot: ended(parkedOld, lettingGo, func(s *rollingupdate.Snapshot) {
		s.Strays, s.Free = pods("web-6d5", 2, 2, "6d5"), pods("web-7", 1, 1, "6d5")
	})},
	{name: "releasing-counted", comment: "Its status does not tell yet that it has none.", snapshot: ended(parkedOld, lettingGo, func(s *rollingupdate.Snapshot) {
		s.Free, s.New.Replicas = pods("web-6d5", 3, 3, "6d5"), 3
	})},
	{name: "released", comment: "Nothing refers to the new one any more.", snapshot: ended(parkedOld, lettingGo, func(s *rollingupdate.Snapshot) { s.Free = pods("web-6d5", 3, 3, "6d5") }), outcomes: written("")},
	{name: "releasing-scaled", comment: "Somebody scaled the old one meanwhile.", snapshot: ended(parkedOld, withoutNew, func(s *rollingupdate.Snapshot) { s.Old.Size, s.Old.Replicas = 2, 2 }), outcomes: written("13")},
	{name: "releasing-own", comment: "The pods that this made are not gone yet.", snapshot: ended(parkedOld, withoutNew, func(s *rollingupdate.Snapshot) { s.Old.Replicas = 2 })},
	{name: "take-over", comment: "The old name takes over the pods.", snapshot: ended(parkedOld, withoutNew), outcomes: written("13")},
	{name: "counting", comment: "Its loop has not seen all of them.", snapshot: ended(parkedOld, withoutNew, sealed(3, 2))},
	{name: "adopting", comment: "One of them has no controller yet.", snapshot: ended(parkedOld, withoutNew, sealed(2, 2), func(s *rollingupdate.Snapshot) { s.Free = pods("web-7", 1, 1, "6d5") })},
	{name: "unseal", comment: "It counts them all.", snapshot: ended(parkedOld, withoutNew, sealed(3, 3)), outcomes: written("14")},
	{name: "unseal-edited", comment: "Somebody has given it another ServiceAccount meanwhile.", snapshot: ended(parkedOld, withoutNew, sealed(3, 3), func(s *rollingupdate.Snapshot) { s.Old.Account = "builder" }), outcomes: written("14")},
	{name: "unseal-fewer", comment: "A pod has ended meanwhile, and the request was removed.", snapshot: ended(parkedOld, withoutNew, unasked, sealed(2, 2)), outcomes: written("14")},
	{name: "releasing-long", comment: "Its loop does not let go of its pods, for longer than the timeout.", snapshot: ended(parkedLong, lettingGo, stepped(6*time.Minute), says("False", "ProgressDeadlineExceeded"), func(s *rollingupdate.Snapshot) {
		s.Strays = pods("web-6d5", 3, 3, "6d5")
	})},
	{name: "releasing-too-long", comment: "The same when the timeout has just passed.", snapshot: ended(parkedLong, lettingGo, stepped(6*time.Minute), func(s *rollingupdate.Snapshot) {
		s.Strays = pods("web-6d5", 3, 3, "6d5")
	}), outcomes: []decision.Outcome{{State: decision.Written, RV: "12"}, {State: decision.Written, RV: "22"}}},
	{name: "releasing-abort", comment: "Somebody wants to take it back by then.", snapshot: ended(parkedOld, lettingGo, asks(aborted), func(s *rollingupdate.Snapshot) {
		s.Strays = pods("web-6d5", 3, 3, "6d5")
	})},
	{name: "counting-paused", comment: "Somebody wants to pause it by then.", snapshot: ended(parkedOld, withoutNew, sealed(3, 2), asks(paused))},
	{name: "counting-long", comment: "Its loop does not count them for longer than the timeout, and the request is gone.", snapshot: ended(parkedLong, withoutNew, sealed(3, 2), unasked, says("False", "ProgressDeadlineExceeded"))},
	{name: "counted-late", comment: "It counts them after the timeout: the condition is true again.", snapshot: ended(parkedLong, withoutNew, sealed(3, 3), says("False", "ProgressDeadlineExceeded")), outcomes: written("14")},
	{name: "heir-grows", comment: "The old one is gone, and the new one is to have more pods.", snapshot: moving(0, 2, 2, asks(to("web-6d5")), withoutOld), outcomes: written("21")},
	{name: "heir-keeps-its-name", comment: "The old one is gone, and the new one is done.", snapshot: ended(asks(to("web-6d5")), withoutOld), outcomes: written("21")},
	{name: "heir-takes-the-name", comment: "kubectl was interrupted while it renamed.", snapshot: ended(asks(to("web-6d5"), func(r *rollingupdate.Request) { r.Cleanup = rollingupdate.Rename }), withoutOld), outcomes: written("30")},

	// Writes that fail.
	{name: "unanswered", comment: "No API server.", snapshot: moving(3, 0, 0),
		outcomes: refused(decision.Unanswered, decision.Failure{Reason: decision.Unreachable, Message: `Put "https://127.0.0.1:6443/x": dial tcp 127.0.0.1:6443: connect: connection refused`}), try: decision.Try{Number: 1, Next: now.Add(5 * time.Millisecond)}},
	{name: "conflict", comment: "Somebody scaled it at the same time.", snapshot: moving(3, 1, 1),
		outcomes: []decision.Outcome{{State: decision.Conflicted, Failure: &decision.Failure{Code: 409, Reason: "Conflict", Message: "the object has been modified"}, Other: &decision.Writer{Manager: "kubectl", RV: "11"}}}, try: decision.Try{Number: 1, Next: now.Add(5 * time.Millisecond)}},
	{name: "conflict-unknown", comment: "Somebody wrote it, nobody knows who.", snapshot: moving(3, 1, 1), outcomes: refused(decision.Conflicted, decision.Failure{Code: 409, Reason: "Conflict", Message: "modified"})},
	{name: "superseded", comment: "The cache moved on.", snapshot: moving(3, 1, 1), outcomes: []decision.Outcome{{State: decision.Superseded}}},
	{name: "unknown-outcome", comment: "The reply was lost.", snapshot: moving(3, 1, 1), outcomes: refused(decision.Unknown, decision.Failure{Code: 504, Reason: "Timeout", Message: "request timed out"}), try: decision.Try{Number: 1, Next: now.Add(5 * time.Millisecond)}},
}
