package replicaset

import (
	"strings"

	"github.com/loopscope/loopscope/controllers/decision"
)

// blocked tells what the pods that are not ready wait for.
func (t *telling) blocked() bool {
	p := t.tally.blocker
	if p == nil {
		return false
	}
	plight := plightOf(p)
	t.is(decision.ToneWaiting, plight.code, "waiting")
	n := t.tally.pods - t.tally.available
	t.out.Lead = decision.Words{}.Count("unavailable", n).Say(" of ").Count("pods", t.tally.pods).
		Say(podsAre(n, t.tally.pods) + " not available; ").
		Name(p.Name).Say(" ")
	t.out.Lead = append(t.out.Lead, plight.words...)
	t.out.Then = plight.then
	t.out.Since = p.waitsSince()
	return true
}

// plight is what a pod waits for, in words.
type plight struct {
	code        string
	words, then decision.Words
}

func plightOf(p *Pod) plight {
	var w decision.Words
	switch p.Reason {
	case "ImagePullBackOff", "ErrImagePull", "InvalidImageName", "ErrImageNeverPull":
		return plight{"image-pull", pull(p), w.Say("Unblocks when that image can be pulled or the template changes")}
	case "CrashLoopBackOff", "Error", "RunContainerError":
		return plight{"crash-loop", w.Say("keeps crashing (").Quote(p.Reason).Say(")"), w.Say("Unblocks when it stays up or the template changes")}
	case "Unschedulable":
		return plight{"unschedulable", w.Say("finds no node (").Quote(because(p)).Say(")"), w.Say("Unblocks when a node takes it")}
	case "CreateContainerConfigError", "CreateContainerError":
		return plight{"config", w.Say("cannot be started (").Quote(because(p)).Say(")"), w.Say("Unblocks when what it refers to exists or the template changes")}
	}
	then := w.Say("Unblocks when it becomes ready")
	switch {
	case p.Reason == "ContainerCreating", p.Reason == "PodInitializing", p.Reason == "" && p.Node != "" && p.Phase == "Pending":
		return plight{"starting", w.Say("is starting"), then}
	case p.Reason != "" && p.Reason != "ContainersNotReady":
		return plight{"readiness", w.Say("is not ready (").Quote(p.Reason).Say(")"), then}
	case p.Node == "":
		return plight{"readiness", w.Say("is not on a node yet"), then}
	default:
		return plight{"readiness", w.Say("is not ready"), then}
	}
}

// pull names the image and, where the registry said so, that it does not exist.
func pull(p *Pod) decision.Words {
	w := decision.Words{}.Say("cannot pull ")
	if p.Image == "" {
		w = w.Say("its image")
	} else {
		w = w.Quote(p.Image)
	}
	return w.Say(" (").Quote(pullReason(p)).Say(")")
}

// pullReason is the registry's own words where they are short and known.
func pullReason(p *Pod) string {
	for _, known := range []string{"not found", "unauthorized", "denied", "no such host", "connection refused", "timeout"} {
		if strings.Contains(strings.ToLower(p.Message), known) {
			return known
		}
	}
	return p.Reason
}

// because is the message of what the pod waits for, or the reason without one.
func because(p *Pod) string {
	if p.Message == "" {
		return p.Reason
	}
	return brief(p.Message)
}
