package diagnosis_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/loopscope/loopscope/controllers/diagnosis"
	"github.com/loopscope/loopscope/telemetry/decision"
)

// lost is a pod that was ended so many seconds before noon, after a minute.
func lost(name string, before int, d decision.Disruption) decision.DisruptedPod {
	d.At = noon.Add(-time.Duration(before) * time.Second)
	return decision.DisruptedPod{Name: name, Node: "node-1", Created: d.At.Add(-time.Minute), Disruption: d}
}

// The messages are those of Kubernetes 1.36.
func TestDisrupted(t *testing.T) {
	kubelet := func(reason, message string) decision.Disruption {
		return decision.Disruption{Target: "TerminationByKubelet", Reason: reason, Message: message}
	}
	const mem = "The node was low on resource: memory. Threshold quantity: 100Mi, available: 80Mi. Container main was using 120Mi, request is 0, has larger consumption of memory. "
	for _, c := range []struct {
		name       string
		disruption decision.Disruption
		code, says string
		show       string
		action     bool
	}{
		{"low on memory", kubelet("Evicted", mem), "evicted",
			"was evicted from node node-1, which was low on memory (container main was using 120Mi, request is 0) | when its replacement becomes available",
			"kubectl -n shop describe pod web-a", false},
		{"its own limit", kubelet("Evicted", `Usage of EmptyDir volume "cache" exceeds the limit "1Gi". `), "evicted",
			`was evicted from node node-1 (Usage of EmptyDir volume "cache" exceeds the limit "1Gi") | when it uses less or the template allows more`, "", true},
		{"low on inodes, of whatever", kubelet("Evicted", "The node was low on resource: inodes. Threshold quantity: 5%, available: 4%. "), "evicted",
			"was evicted from node node-1, which was low on inodes (Threshold quantity: 5%, available: 4%) | when its replacement becomes available", "", false},
		{"shutdown", kubelet("Terminated", "Pod was terminated in response to imminent node shutdown."), "evicted",
			"was evicted from node node-1 (Pod was terminated in response to imminent node shutdown) | when its replacement becomes available", "kubectl describe node node-1", false},
		{"drained", decision.Disruption{Target: "EvictionByEvictionAPI", Message: "Eviction API: evicting"}, "evicted",
			"was evicted from node node-1 through the Eviction API, as in a drain | when its replacement becomes available", "kubectl get nodes", false},
		{"tainted", decision.Disruption{Target: "DeletionByTaintManager", Message: "Taint manager: deleting due to NoExecute taint"}, "evicted",
			"was evicted from node node-1 by a NoExecute taint | when its replacement becomes available", "kubectl describe node node-1", false},
		{"without a node", decision.Disruption{Target: "DeletionByPodGC", Message: "PodGC: node no longer exists"}, "evicted",
			"was deleted, as node node-1 no longer exists | when its replacement becomes available", "kubectl get nodes", false},
		{"an older kubelet", decision.Disruption{Reason: "Evicted", Message: mem}, "evicted",
			"was evicted from node node-1, which was low on memory (container main was using 120Mi, request is 0) | when its replacement becomes available", "", false},
		{"in new words", decision.Disruption{Target: "DeletionByDeviceTaintManager", Message: "Device Taint manager: deleting due to NoExecute taint"}, "evicted",
			"was evicted from node node-1 (Device Taint manager: deleting due to NoExecute taint) | when its replacement becomes available", "", false},
		{"preempted", decision.Disruption{Target: "PreemptionByScheduler", Message: "default-scheduler: preempting to accommodate a higher priority pod"}, "preempted",
			"was preempted to make room for pods of higher priority | when pods of higher priority leave, or a node has more room", "kubectl -n shop get events --field-selector reason=Preempted", false},
		{"preempted by an older scheduler", decision.Disruption{Target: "PreemptionByKubeScheduler"}, "preempted",
			"was preempted to make room for pods of higher priority | when pods of higher priority leave, or a node has more room", "", false},
		{"preempted by its kubelet", kubelet("Preempting", "Preempted in order to admit critical pod"), "preempted",
			"was preempted by the kubelet of node node-1 (Preempted in order to admit critical pod) | when pods of higher priority leave, or a node has more room", "kubectl -n shop get events --field-selector reason=Preempting", false},
		{"rejected", decision.Disruption{Reason: "OutOfcpu", Message: "Pod was rejected: Node didn't have enough resource: cpu, requested: 4000, used: 3000, capacity: 4000"}, "kubelet-rejected",
			"was rejected by the kubelet of node node-1 (Node didn't have enough resource: cpu, requested: 4000, used: 3000, capacity: 4000) | when a node admits it", "", false},
		{"in no words", decision.Disruption{Target: "DeletionByWhomever"}, "evicted", "was evicted from node node-1 | when its replacement becomes available", "kubectl -n shop describe pod web-a", false},
		{"low on something long", kubelet("Evicted", "The node was low on resource: "+strings.Repeat("x", 50)+". "), "evicted",
			"was evicted from node node-1, which was low on " + strings.Repeat("x", 13) + " … " + strings.Repeat("x", 24) + " | when its replacement becomes available", "", false},
		{"rejected by an older kubelet", decision.Disruption{Reason: "NodeAffinity", Message: "Pod Predicate NodeAffinity failed"}, "kubelet-rejected",
			"was rejected by the kubelet of node node-1 (Pod Predicate NodeAffinity failed) | when a node admits it", "kubectl -n shop describe pod web-a", false},
		{"rejected without a message", decision.Disruption{Reason: "NodeAffinity"}, "kubelet-rejected",
			"was rejected by the kubelet of node node-1 (NodeAffinity) | when a node admits it", "", false},
		{"rejected under pressure", decision.Disruption{Reason: "Evicted", Message: "Pod was rejected: The node had condition: [DiskPressure]. "}, "kubelet-rejected",
			"was rejected by the kubelet of node node-1 (The node had condition: [DiskPressure]) | when a node admits it", "", false},
	} {
		gap := diagnosis.Gap{Lost: []decision.DisruptedPod{lost("web-a", 20, c.disruption)}, NotCreated: 1}
		list := diagnosis.Pods{Namespace: "shop", Now: noon}.Disrupted(gap)
		if len(list) != 1 {
			t.Fatalf("%s: %+v", c.name, list)
		}
		f := list[0]
		if got := strings.TrimPrefix(told(f), "1 pods "); got != c.says || f.Code != c.code || f.NeedsAction != c.action || c.show != "" && f.Show != c.show {
			t.Errorf("%s: %s, action %v\n got %s, %q\nwant %s, %q", c.name, f.Code, f.NeedsAction, got, f.Show, c.says, c.show)
		}
		if _, ok := diagnosis.Codes.Find(f.Code); !ok || f.Show == "" || f.Usual || !f.Since.Equal(noon.Add(-20*time.Second)) || f.Message != c.disruption.Message || !diagnosis.IsDisruption(f.Code) {
			t.Errorf("%s: %+v", c.name, f)
		}
	}
}

// What was replaced, what is long ago and what is kept by something else by now is
// not told, unless pods go one after another.
func TestDisruptedMatters(t *testing.T) {
	evicted := decision.Disruption{Target: "TerminationByKubelet", Reason: "Evicted", Message: "The node was low on resource: memory. "}
	preempted := decision.Disruption{Target: "PreemptionByScheduler"}
	born := func(before int) []decision.Pod {
		return []decision.Pod{{Name: "web-z", Created: noon.Add(-time.Duration(before) * time.Second)}}
	}
	known := []decision.Finding{{Code: diagnosis.Image}}
	row := make([]decision.DisruptedPod, 4)
	for i := range row { // Each was created when the one before it went.
		row[i] = lost(fmt.Sprint("web-", i), 60*(i+1), evicted)
	}
	one := row[1:2]
	at := func(age ...int) (pods []decision.DisruptedPod) { // One ended after another, at that age in seconds.
		for i, age := range age {
			p := lost(fmt.Sprint("web-", i), 60-2*i, evicted)
			p.Created = p.At.Add(-time.Duration(age) * time.Second)
			pods = append(pods, p)
		}
		return pods
	}
	drain := decision.Disruption{Target: "EvictionByEvictionAPI"}
	drained := []decision.DisruptedPod{lost("web-a", 200, drain), lost("web-b", 20, drain)}
	for _, c := range []struct {
		name string
		gap  diagnosis.Gap
		want string
	}{
		{"its replacement starts", diagnosis.Gap{Lost: one, Blocking: born(119)}, "evicted 1"},
		{"its replacement is not created", diagnosis.Gap{Lost: one, NotCreated: 1}, "evicted 1"},
		{"its replacement starts as every pod does", diagnosis.Gap{Lost: one, Blocking: born(119), Known: []decision.Finding{{Code: diagnosis.Starting, Usual: true}, {Code: diagnosis.MinReady}}}, "evicted 1"},
		{"nothing is missing", diagnosis.Gap{Lost: row}, ""},
		{"an older pod is missing", diagnosis.Gap{Lost: one, Blocking: born(600)}, ""},
		{"a later pod is missing", diagnosis.Gap{Lost: one, Blocking: born(10)}, ""},
		{"its replacement is kept by something else", diagnosis.Gap{Lost: one, Blocking: born(119), Known: known}, ""},
		{"long ago", diagnosis.Gap{Lost: []decision.DisruptedPod{lost("web-a", 600, evicted)}, NotCreated: 1}, ""},
		{"one after another", diagnosis.Gap{Lost: row, Blocking: born(30), Known: known}, "evicted 4, needs action"},
		{"preempted, and its replacement fits no node", diagnosis.Gap{Lost: []decision.DisruptedPod{lost("web-a", 20, preempted)}, Blocking: born(20), Known: []decision.Finding{{Code: diagnosis.Node}}}, "preempted 1, needs action"},
		{"its replacement came a minute later", diagnosis.Gap{Lost: one, Blocking: born(60)}, ""},
		{"it was created and ended at once", diagnosis.Gap{Lost: at(0), NotCreated: 1}, "evicted 1"},
		{"it came after the first went", diagnosis.Gap{Lost: at(0, 2), NotCreated: 1}, "evicted 2, needs action"},
		{"both were there before", diagnosis.Gap{Lost: at(500, 500), NotCreated: 1}, "evicted 2"},
		{"drained one after another, and kept by something else", diagnosis.Gap{Lost: drained, NotCreated: 1, Known: known}, "evicted 2"},
		{"for two reasons of the kubelet", diagnosis.Gap{Lost: []decision.DisruptedPod{lost("web-a", 20, evicted), lost("web-b", 20, decision.Disruption{Reason: "Evicted", Message: "The node was low on resource: inodes. "})}, NotCreated: 1}, "evicted 1, evicted 1"},
		{"for no reason that is said", diagnosis.Gap{Lost: []decision.DisruptedPod{lost("web-a", 20, preempted), lost("web-b", 20, decision.Disruption{Reason: "Evicted"})}, NotCreated: 1}, "preempted 1, evicted 1"},
		{"for two reasons", diagnosis.Gap{Lost: []decision.DisruptedPod{lost("web-a", 20, preempted), lost("web-b", 20, evicted)}, NotCreated: 2}, "preempted 1, evicted 1"},
	} {
		var got []string
		for _, f := range (diagnosis.Pods{Now: noon}).Disrupted(c.gap) {
			got = append(got, fmt.Sprint(f.Code, " ", f.Count))
			if f.NeedsAction {
				got = append(got, "needs action")
			}
		}
		if strings.Join(got, ", ") != c.want {
			t.Errorf("%s: %q, want %q", c.name, strings.Join(got, ", "), c.want)
		}
	}
}

// What keeps ending pods needs a person, unless it passes.
func TestDisruptedAgain(t *testing.T) {
	for message, want := range map[string]string{
		"The node had condition: [DiskPressure]. ": "needs action when they can stay on a node",
		"Container app exceeded its limit":         "needs action when they use less or the template allows more",
		"PodGC: node no longer exists":             "when their replacements become available",
		"Eviction API: evicting":                   "when their replacements become available",
		"Taint manager: deleting":                  "needs action when the taint is removed, or the template tolerates it",
	} {
		d := decision.Disruption{Message: message, Target: map[string]string{"PodGC": "DeletionByPodGC", "Eviction": "EvictionByEvictionAPI", "Taint": "DeletionByTaintManager"}[strings.FieldsFunc(message, func(r rune) bool { return r == ' ' || r == ':' })[0]]}
		if d.Target == "" {
			d.Target, d.Reason = "TerminationByKubelet", "Evicted"
		}
		list := diagnosis.Pods{Now: noon}.Disrupted(diagnosis.Gap{Lost: []decision.DisruptedPod{lost("web-b", 30, d), lost("web-a", 120, d)}, NotCreated: 1})
		got := list[0].Unblocks.At(noon)
		if list[0].NeedsAction {
			got = "needs action " + got
		}
		if got != want {
			t.Errorf("%s: %q, want %q", message, got, want)
		}
	}
}

// One seat has one cause: what was preempted fits no node for want of its place.
func TestPreemptedMattersMore(t *testing.T) {
	codes := func(list ...decision.Finding) (codes string) {
		for _, f := range diagnosis.Relevant(list) {
			codes += f.Code + " "
		}
		return codes
	}
	preempted := decision.Finding{Code: diagnosis.Preempted, Count: 2}
	if got := codes(preempted, decision.Finding{Code: diagnosis.Node, Count: 2}); got != "preempted " {
		t.Errorf("as many: %s", got)
	}
	if got := codes(preempted, decision.Finding{Code: diagnosis.Node, Count: 3}); got != "preempted unschedulable " {
		t.Errorf("more of them: %s", got)
	}
}

func TestDisruptedOneAfterAnother(t *testing.T) {
	a := lost("web-a", 120, decision.Disruption{Reason: "Evicted", Message: "The node was low on resource: memory. "})
	b := lost("web-b", 30, decision.Disruption{Reason: "Evicted", Message: "The node was low on resource: memory. Container app was using 120Mi. "})
	b.Node = "node-2"
	list := diagnosis.Pods{Namespace: "shop", Now: noon}.Disrupted(diagnosis.Gap{Lost: []decision.DisruptedPod{b, a}, NotCreated: 1})
	want := "2 pods were evicted one after another from their nodes, which were low on memory (container app was using 120Mi) | when a node has more memory free, or the template requests what they use"
	if len(list) != 1 || told(list[0]) != want || !list[0].NeedsAction || !list[0].Since.Equal(a.At) || strings.Join(list[0].Pods, " ") != "web-b web-a" {
		t.Errorf("got %+v", list)
	}
}

// Where pods were is said as far as it is known, and together where they were on several
// nodes.
func TestDisruptedNodes(t *testing.T) {
	unknown := decision.Disruption{Target: "DeletionByDeviceTaintManager"}
	collected := decision.Disruption{Target: "DeletionByPodGC"}
	for _, c := range []struct {
		disruption decision.Disruption
		nodes      []string
		want       string
	}{
		{unknown, []string{""}, "1 pods was evicted from its node"},
		{unknown, []string{"", ""}, "2 pods were evicted from their node"},
		{unknown, []string{"node-1", "node-1"}, "2 pods were evicted from node node-1"},
		{unknown, []string{"node-1", "node-2"}, "2 pods were evicted from their nodes"},
		{collected, []string{"node-1"}, "1 pods was deleted, as node node-1 no longer exists"},
		{collected, []string{"node-1", "node-2"}, "2 pods were deleted, as their nodes no longer exist"},
	} {
		var pods []decision.DisruptedPod
		for i, node := range c.nodes {
			p := lost(fmt.Sprint("web-", i), 20, c.disruption)
			p.Node = node
			pods = append(pods, p)
		}
		list := diagnosis.Pods{Now: noon}.Disrupted(diagnosis.Gap{Lost: pods, NotCreated: 1})
		if got, _, _ := strings.Cut(told(list[0]), " | "); got != c.want {
			t.Errorf("got %s, want %s", got, c.want)
		}
	}
}
