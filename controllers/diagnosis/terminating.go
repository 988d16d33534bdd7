package diagnosis

import (
	"strings"
	"time"

	"github.com/loopscope/loopscope/telemetry/decision"
	"github.com/loopscope/loopscope/telemetry/prose"
)

// Terminating tells why count pods that have to go are not gone; terminating of them
// were deleted, and described are the first of these.
func (w Pods) Terminating(described []decision.TerminatingPod, count, terminating int64) decision.Finding {
	f := decision.Finding{Code: Terminating, Count: count, Unblocks: words("when the last of them is gone")}
	var last time.Time
	for _, p := range described {
		if len(f.Pods) < MaxNamed {
			f.Pods = append(f.Pods, p.Name)
		}
		if p.Until.After(last) {
			last = p.Until
		}
	}
	held := w.Stuck(described)
	switch {
	case held != nil:
		f.Show = kubectl(w.Namespace, "get pod "+held.Name+" -o yaml")
	case len(described) > 0:
		f.Show = kubectl(w.Namespace, "get pod "+described[0].Name+" -o yaml")
	}
	are := words(prose.Plural(count, " is", " are"))
	whose := func(w decision.Words, its, of string) decision.Words {
		if count == 1 {
			return w.Say(its)
		}
		return w.Say(of).Name(held.Name)
	}
	nodeOf := func(w decision.Words) decision.Words {
		if count == 1 {
			return w.Say("its node ").Name(held.Node)
		}
		return w.Say("node ").Name(held.Node).Say(" of ").Name(held.Name)
	}
	switch {
	case terminating == 0:
		f.After = are.Say(" still running")
	case held == nil:
		f.After = are.Say(" still terminating")
		if w.Before(last) {
			f.After = f.After.Say(", up to ").Until(last).Say(" more")
		}
	case len(held.Finalizers) > 0:
		f.After = whose(are.Say(" still terminating: a finalizer blocks "), "its deletion", "the deletion of ").Say(" (").Quote(Finalizers(held.Finalizers)).Say(")")
		f.Unblocks = Unfinalized(held.Finalizers)
	case held.NodeGone:
		f.After = nodeOf(are.Say(" still terminating: ")).Say(" does not answer")
		f.Unblocks, f.Show = words("when the node answers again or is deleted"), "kubectl describe node "+held.Node
	default:
		f.After = whose(are.Say(" still terminating: "), "its grace period", "the grace period of ").Say(" ended ").Since(held.Until).Say(" ago")
		f.Unblocks = words("when the kubelet stops it")
		if held.Node != "" {
			f.Unblocks, f.Show = words("when the kubelet of ").Name(held.Node).Say(" stops it"), "kubectl describe node "+held.Node
		}
	}
	f.NeedsAction = held != nil && terminating > 0 && w.needsAction(held)
	if held != nil && count > 1 { // What holds this one need not be what holds the others.
		f.Unblocks = f.Unblocks.Say(", and all are gone")
	}
	return f
}

// Stuck is the first pod that somebody has to act for, or else the first that more than its grace period holds; nil
// where there is none.
func (w Pods) Stuck(pods []decision.TerminatingPod) (held *decision.TerminatingPod) {
	for i := range pods {
		switch p := &pods[i]; {
		case !w.isStuck(p):
		case w.needsAction(p):
			return p
		case held == nil:
			held = p
		}
	}
	return held
}

// needsAction reports whether somebody has to act for a stuck pod.
func (w Pods) needsAction(p *decision.TerminatingPod) bool {
	return len(p.Finalizers) > 0 || !p.NodeGone && !w.Before(p.Until.Add(patience))
}

func (w Pods) isStuck(p *decision.TerminatingPod) bool {
	return p.NodeGone || len(p.Finalizers) > 0 && !w.Before(p.Until) || !w.Before(p.Until.Add(Slack))
}

// Going counts the pods that nothing but their grace period holds.
func (w Pods) Going(pods []decision.TerminatingPod) (n int64) {
	for i := range pods {
		if !w.isStuck(&pods[i]) {
			n++
		}
	}
	return n
}

// Leaving counts pods that go, whose room is for others of their owner.
type Leaving struct {
	// Now are those that go by themselves, and Later those that go as the others come, as in a rolling update: the
	// first while Spare of the others may still be missing.
	Now, Later, Spare int64
}

// room reports whether so many others come without anybody's help, where fits tells whether there is room for pods when
// others are gone.
func (l Leaving) room(others int64, fits func(pods, gone int64) bool) bool {
	first := others
	if l.Later > 0 {
		first = max(1, others-max(0, l.Spare))
	}
	return l.Now > 0 && fits(first, l.Now) && fits(others, l.Now+l.Later)
}

// whenGone is when pods that go by themselves are gone.
func whenGone(n int64) decision.Words {
	return words(prose.Plural(n, "when the terminating pod is gone", "when the terminating pods are gone"))
}

// Slack is what a kubelet may take beyond the grace period to report the end.
const Slack = 5 * time.Second

// OfDeletion is the API server's refusal to delete pods: who refuses, and what would end it.
func OfDeletion(r Refusal) decision.Finding {
	f := &refusal{Refusal: r, text: withoutPod(strings.TrimPrefix(r.Message, "unable to delete pods: ")), can: "proceed"}
	f.Finding = decision.Finding{Count: r.Count, Since: r.Since, Message: r.Message, NeedsAction: true}
	switch {
	case f.webhookDenied():
		f.Unblocks = words("when the webhook allows it")
	case f.webhookDown():
	case f.policy():
		f.Unblocks = words("when the policy allows it")
	default:
		f.undeleted()
		f.Code = Delete
		return f.Finding
	}
	f.Code, f.Before = Delete, f.Before.Say("the deletion of ")
	return f.Finding
}

// undeleted is `User "X" cannot delete resource "pods" in API group "" in the namespace "Y"`, or any other message.
func (f *refusal) undeleted() {
	user, ok := between(f.text, `User "`, `" cannot delete resource "pods"`)
	if !ok {
		f.is(Delete, nil, after(" cannot be deleted", prose.ClipMiddle(f.text, longest)), words("when the refusing component allows it"), kubectl(f.Namespace, "get events"))
		return
	}
	f.is(Delete, nil, words(" cannot be deleted: ").Name(user).Say(" has no permission to delete pods here"),
		words("when it is granted that permission"), kubectl(f.Namespace, "auth can-i delete pods --as "+user))
}
