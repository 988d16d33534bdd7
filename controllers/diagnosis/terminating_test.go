package diagnosis_test

import (
	"testing"
	"time"

	"github.com/loopscope/loopscope/controllers/diagnosis"
	"github.com/loopscope/loopscope/telemetry/decision"
)

// What is said to end it is true of all pods, and not just of the one whose cause is named.
func TestTerminatingSeveral(t *testing.T) {
	pods := diagnosis.Pods{Namespace: "shop", Now: noon}
	over := noon.Add(-time.Minute)
	for want, held := range map[string]decision.TerminatingPod{
		"when the controller that set a.com/x removes it, and all are gone": {Name: "web-a", Until: over, Finalizers: []string{"a.com/x"}},
		"when the kubelet stops it, and all are gone":                       {Name: "web-a", Until: over},
		"when the node answers again or is deleted, and all are gone":       {Name: "web-a", Until: over, Node: "node-1", NodeGone: true},
		"when the last of them is gone":                                     {Name: "web-a", Until: noon.Add(time.Second)},
	} {
		f := pods.Terminating([]decision.TerminatingPod{held, {Name: "web-b", Until: noon.Add(time.Second)}}, 2, 2)
		if got := f.Unblocks.At(noon); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// Where a kubelet does not stop a pod, its node is named, and after a minute somebody has to look.
func TestTerminatingOnANode(t *testing.T) {
	for ago, act := range map[time.Duration]bool{6 * time.Second: false, 59 * time.Second: false, time.Minute: true} {
		var next time.Time
		pods := diagnosis.Pods{Namespace: "shop", Now: noon, Next: &next}
		f := pods.Terminating([]decision.TerminatingPod{{Name: "web-a", Until: noon.Add(-ago), Node: "node-1"}}, 1, 1)
		if got := f.Unblocks.At(noon); got != "when the kubelet of node-1 stops it" || f.Show != "kubectl describe node node-1" || f.NeedsAction != act {
			t.Errorf("%s ago: %s, %s, needs action %v", ago, got, f.Show, f.NeedsAction)
		}
		if turns := noon.Add(time.Minute - ago); !act && !next.Equal(turns) {
			t.Errorf("%s ago: another is made at %s, want %s", ago, next, turns)
		}
	}
}

// A pod that goes without anybody's help, if it does, does not hide one that somebody has to act for.
func TestTerminatingNeedsAction(t *testing.T) {
	over := noon.Add(-30 * time.Second)
	keeps := decision.TerminatingPod{Name: "web-b", Until: over, Node: "node-2", Finalizers: []string{"a.com/x"}}
	hangs := decision.TerminatingPod{Name: "web-b", Until: noon.Add(-time.Minute), Node: "node-2"}
	for name, first := range map[string]decision.TerminatingPod{
		"a node that does not answer": {Until: over, Node: "node-1", NodeGone: true},
		"a kubelet that takes longer": {Until: over, Node: "node-1"},
		"a grace period":              {Until: noon.Add(time.Second)},
	} {
		first.Name = "web-a"
		for held, want := range map[*decision.TerminatingPod][2]string{
			&keeps: {"when the controller that set a.com/x removes it, and all are gone", "kubectl -n shop get pod web-b -o yaml"},
			&hangs: {"when the kubelet of node-2 stops it, and all are gone", "kubectl describe node node-2"},
		} {
			f := diagnosis.Pods{Namespace: "shop", Now: noon}.Terminating([]decision.TerminatingPod{first, *held}, 2, 2)
			if got := [2]string{f.Unblocks.At(noon), f.Show}; got != want || !f.NeedsAction {
				t.Errorf("%s: got %q, needs action %v, want %q", name, got, f.NeedsAction, want)
			}
		}
	}
}

// A quota and a node have the room of terminating pods soon, unless more than a grace period holds them.
func TestGoing(t *testing.T) {
	pods := diagnosis.Pods{Namespace: "shop", Now: noon}
	over := noon.Add(-time.Minute)
	n := pods.Going([]decision.TerminatingPod{{Name: "a", Until: noon.Add(time.Second)}, {Name: "b", Until: over}, {Name: "c", Until: noon},
		{Name: "d", Until: over, Finalizers: []string{"a.com/x"}}, {Name: "e", Until: noon.Add(time.Second), NodeGone: true}})
	if n != 2 {
		t.Errorf("%d go, want a and c", n)
	}
}

func TestQuotaOfTerminatingPods(t *testing.T) {
	const (
		full    = "exceeded quota: q, requested: pods=1, used: pods=5, limited: pods=5"
		cpu     = "exceeded quota: q, requested: requests.cpu=500m, used: requests.cpu=2, limited: requests.cpu=2"
		gone    = "when the terminating pods are gone or the quota leaves room"
		oneGone = "when the terminating pod is gone or the quota leaves room"
		room    = "when the quota leaves room"
	)
	one, two, rolls, ends := diagnosis.Leaving{Now: 1}, diagnosis.Leaving{Now: 2}, diagnosis.Leaving{Now: 1, Later: 1, Spare: 1}, diagnosis.Leaving{Now: 1, Later: 1}
	for _, c := range []struct {
		message        string
		leaving, alike diagnosis.Leaving
		waits          bool
		want           string
	}{
		{full, two, two, true, gone},
		{full, one, one, false, room},
		{full, rolls, rolls, true, oneGone},
		{full, ends, ends, false, room},
		{full, diagnosis.Leaving{}, diagnosis.Leaving{}, false, room},
		{full, two, diagnosis.Leaving{}, true, gone},
		{"exceeded quota: q, requested: pods=1, used: pods=9, limited: pods=10", one, one, true, oneGone},
		{"exceeded quota: q, requested: pods=1, used: pods=6, limited: pods=5", diagnosis.Leaving{Now: 3}, diagnosis.Leaving{Now: 3}, true, gone},
		{"exceeded quota: q, requested: pods=1, used: pods=6, limited: pods=5", two, two, false, room},
		{cpu, two, two, true, gone},
		{cpu, two, one, false, room},
		{"exceeded quota: q, requested: requests.memory=4Gi, used: requests.memory=9Gi, limited: requests.memory=10Gi", rolls, diagnosis.Leaving{}, false, room},
		{"exceeded quota: q, requested: pods=1,requests.cpu=500m, used: pods=5,requests.cpu=4, limited: pods=5,requests.cpu=2", two, two, false, room},
		{"exceeded quota: q, requested: requests.cpu=4, used: requests.cpu=2, limited: requests.cpu=2", two, two, false, "when the quota is raised or the template requests less"},
		{"failed quota: q: must specify limits.cpu for: app", two, two, false, "when the template specifies them or a LimitRange sets defaults"},
		{`no PriorityClass with name urgent was found`, two, two, false, "when that PriorityClass exists or the template changes"},
	} {
		f := diagnosis.OfRefusal(diagnosis.Refusal{Namespace: "shop", Message: c.message, Count: 2, Since: noon, Leaving: c.leaving, Alike: c.alike})
		if got := f.Unblocks.At(noon); got != c.want || f.NeedsAction == c.waits {
			t.Errorf("%s, leaving %v, alike %v: %s, needs action %v, want %s", c.message, c.leaving, c.alike, got, f.NeedsAction, c.want)
		}
	}
}

func TestRoomOfTerminatingPods(t *testing.T) {
	const (
		room, ports = "when the terminating pod is gone or a suitable node has room", "0/2 nodes are available: 2 node(s) didn't have free ports for the requested pod ports."
		free, cpu   = "when a node has more cpu free, or the template requests less", "0/2 nodes are available: 2 Insufficient cpu."
	)
	none, one, ends := diagnosis.Leaving{}, diagnosis.Leaving{Now: 1}, diagnosis.Leaving{Now: 1, Later: 1, Spare: 2}
	rolls := diagnosis.Leaving{Now: 1, Later: 2, Spare: 2}
	for _, c := range []struct {
		message        string
		leaving, alike diagnosis.Leaving
		like           int64
		waits          bool
		want           string
	}{
		{ports, one, none, 0, true, room},
		{"0/2 nodes are available: 1 Insufficient cpu, 1 node(s) were unschedulable.", one, one, 0, true, room},
		{ports, none, none, 0, false, "when the port is free on a node, or the template does not request it"},
		{cpu, none, none, 0, false, free},
		{cpu, one, none, 0, false, free},
		{"0/2 nodes are available: 2 cannot allocate all claims.", one, none, 0, false, "when a node has free devices that satisfy its ResourceClaims"},
		{"0/2 nodes are available: 2 node(s) were unschedulable. preemption: 0/2 nodes are available: 2 Insufficient cpu.", one, one, 0, false, "when a node is uncordoned: kubectl uncordon"},
		{cpu, one, one, 96, false, free},
		{cpu, rolls, rolls, 2, true, room},
		{cpu, ends, ends, 2, false, free},
	} {
		w := diagnosis.Pods{Namespace: "shop", Now: noon, Leaving: func(alike bool) diagnosis.Leaving {
			if alike {
				return c.alike
			}
			return c.leaving
		}}
		f := w.Waiting([]decision.Pod{{Name: "new", Like: c.like, Reason: "Unschedulable", Message: c.message}})[0]
		if got := f.Unblocks.At(noon); got != c.want || f.NeedsAction == c.waits {
			t.Errorf("%s, leaving %v, alike %v: %s, needs action %v, want %s", c.message, c.leaving, c.alike, got, f.NeedsAction, c.want)
		}
	}
}
