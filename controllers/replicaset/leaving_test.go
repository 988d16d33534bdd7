package replicaset_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/loopscope/loopscope/controllers/diagnosis"
	"github.com/loopscope/loopscope/controllers/replicaset"
	"github.com/loopscope/loopscope/telemetry/decision"
)

// A pod whose node does not answer does not hide that a finalizer blocks the deletion of one that has ended.
func TestBothKindsOfLeavingAreFound(t *testing.T) {
	p := play(t, readGolden(t, "testdata/golden/scaled-to-zero-node-gone.txtar"))
	needs := map[string]bool{}
	found := replicaset.Found(p.snapshot, p.rounds).Findings
	if got := diagnosis.Heading(found); got != "Why pods are not gone" {
		t.Errorf("headed %q", got)
	}
	for _, f := range found {
		if f.Code == diagnosis.Terminating {
			needs[f.Pods[0]] = f.NeedsAction
		}
	}
	if len(needs) != 2 || !needs["web-7d4b9c6f5x-2kqxv"] || needs["web-7d4b9c6f5x-9fwlp"] {
		t.Errorf("found, and whether they need action: %v", needs)
	}
}

// The end of pods of one kind is not told as the end of all: where both those that have ended and those that have not
// are stuck, both have to go.
func TestEndOfBothKindsOfLeaving(t *testing.T) {
	pod := func(name string, more decision.TerminatingPod) decision.TerminatingPod {
		more.Name, more.Until = name, now.Add(-time.Hour)
		return more
	}
	x, y := decision.TerminatingPod{Finalizers: []string{"a.example/x"}}, decision.TerminatingPod{Finalizers: []string{"b.example/y"}}
	xy := decision.TerminatingPod{Finalizers: []string{"a.example/x", "b.example/y"}}
	hung, gone := decision.TerminatingPod{Node: "node-1"}, decision.TerminatingPod{Node: "node-2", NodeGone: true}
	far := decision.TerminatingPod{Node: strings.Repeat("n", 60)}
	const one, other = "when the controller that set a.example/x removes it", "when the controller that set b.example/y removes it"
	const both = "when the controllers that set a.example/x, b.example/y remove them"
	type list = []decision.TerminatingPod
	for name, c := range map[string]struct {
		running, ended list
		stays, want    string
	}{
		"two finalizers":        {list{x}, list{y}, "; another pod stays, too", both},
		"the same finalizer":    {list{x}, list{x}, "; another pod stays, too", one + ", and all are gone"},
		"one of both the same":  {list{x}, list{xy}, "; another pod stays, too", both + ", and all are gone"},
		"the collector, too":    {list{{Finalizers: []string{"foregroundDeletion"}}}, list{y}, "; another pod stays, too", other + ", and all are gone"},
		"a kubelet, too":        {list{hung}, list{y}, "; another pod stays, too", "when the kubelet of node-1 stops it and " + other},
		"a node, too":           {list{gone}, list{y}, "; another pod stays, too", other + " and when the node answers again or is deleted"},
		"two kubelets":          {list{hung}, list{far}, "; another pod stays, too", "when the kubelet of node-1 stops it, and all are gone"},
		"more of the first":     {list{x, x}, list{y}, "; another pod stays, too", both + ", and all are gone"},
		"more of the others":    {list{x}, list{y, y}, "; other pods stay, too", both + ", and all are gone"},
		"no room for both ends": {list{x}, list{far}, "; another pod stays, too", one + ", and all are gone"},
		"one kind alone":        {list{x}, nil, "", one},
		"others still going":    {list{{}}, list{y}, "", other + ", and the other pod is gone"},
		"more still going":      {list{{}, {}}, list{y}, "", other + ", and the other pods are gone"},
		"several, others going": {list{{}}, list{y, y}, "", other + ", and all are gone"},
	} {
		var pods []replicaset.Pod
		var described []decision.TerminatingPod
		add := func(p decision.TerminatingPod, phase string) {
			name := fmt.Sprint("web-", len(pods))
			if p = pod(name, p); p.Node == "" && p.Finalizers == nil {
				p.Until = now.Add(time.Minute)
			}
			described = append(described, p)
			pods = append(pods, running(name, func(q *replicaset.Pod) { q.Phase, q.Terminating = phase, true }))
		}
		for _, p := range c.running {
			add(p, "Running")
		}
		for _, p := range c.ended {
			add(p, "Failed")
		}
		zero, namespace := sized(0, pods...), sized(3, pods...)
		zero.TerminatingPods, namespace.TerminatingPods = described, described
		namespace.Learnt.NamespaceTerminating = true
		for s, before := range map[*replicaset.Snapshot]string{zero: "Needs action: unblocks ", namespace: "Needs action: the namespace is removed "} {
			said := acted(s, decision.Try{}, func(decision.Verdict) []decision.Outcome { return nil }).sentence
			then, lead := said.Then.At(now), said.Lead.At(now)
			if then != before+c.want || !strings.HasSuffix(lead, c.stays) || c.stays == "" && strings.Contains(lead, " too") {
				t.Errorf("%s: %s. %s, want %s", name, lead, then, before+c.want)
			}
		}
	}
}
