package sim

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/loopscope/loopscope/controllers/deployment"
	"github.com/loopscope/loopscope/controllers/replicaset"
	"github.com/loopscope/loopscope/telemetry/decision"
)

var noon = time.Date(2026, 3, 14, 12, 0, 0, 0, time.UTC)

// model is a Deployment with two ReplicaSets: web-0 of the wanted template with 2 pods,
// of which one is available, and web-1 of another one with an available pod.
func model(t *testing.T) (c *Cluster, fresh, old *set) {
	t.Helper()
	s := &deployment.Snapshot{Found: true, Now: noon, Namespace: "shop", Name: "web", Want: 3, Images: []string{"nginx:1"}, ReplicaSets: []deployment.ReplicaSet{
		{Name: "web-0", UID: "0", RV: "1", Created: noon.Add(-time.Hour), Mine: true, Matches: true, SameTemplate: true, Replicas: 2, Generation: 1, StatusReplicas: 2, Available: 1},
		{Name: "web-1", UID: "1", RV: "1", Created: noon.Add(-time.Minute), Mine: true, Matches: true, Replicas: 1, Generation: 1, StatusReplicas: 1, Available: 1},
	}}
	c, err := From(s)
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range c.timers() {
		*a = timer{}
	}
	return c, c.named("web-0"), c.named("web-1")
}

func TestDo(t *testing.T) {
	target := func(name string) decision.Ref { return decision.Ref{Name: name, UID: strings.TrimPrefix(name, "web-")} }
	c, fresh, _ := model(t)
	got := c.do(decision.Action{Kind: decision.CreateReplicaSet, Target: target("web-1"), Size: &decision.Size{To: 3}})
	want := decision.Outcome{State: decision.Refused, Failure: &decision.Failure{Code: 409, Reason: "AlreadyExists", Message: `replicasets.apps "web-1" already exists`}}
	if diff := cmp.Diff(want, got); diff != "" || len(c.sets) != 2 {
		t.Errorf("a name that is taken: %d sets, (-want +got):\n%s", len(c.sets), diff)
	}
	rvs := map[string]bool{}
	fresh2 := func(what, rv string) {
		if rv == "" || rvs[rv] {
			t.Errorf("%s: resourceVersion %q is not new", what, rv)
		}
		rvs[rv] = true
	}
	o := c.do(decision.Action{Kind: decision.CreateReplicaSet, Target: decision.Ref{Name: "web-2"}, Size: &decision.Size{To: 3}})
	made := c.named("web-2")
	fresh2("outcome", o.RV)
	fresh2("new ReplicaSet", made.rs.RV)
	if made.rs.Replicas != 3 || made.rs.Generation != 1 || !made.rs.Mine || !made.rs.Matches || made.rs.UID == "" || !made.rs.Created.Equal(noon) || !made.due.now || !c.due.now || !c.spec.LastProgress.Equal(noon) {
		t.Errorf("%+v", made)
	}
	for _, step := range []struct {
		name       string
		a          decision.Action
		generation int64
	}{
		{"a size", decision.Action{Size: &decision.Size{To: 5}}, 2},
		{"the same size", decision.Action{Size: &decision.Size{To: 5}}, 2},
		{"minReadySeconds", decision.Action{MinReadySeconds: new(int64(7))}, 3},
		{"the same minReadySeconds", decision.Action{MinReadySeconds: new(int64(7))}, 3},
		{"annotations", decision.Action{Stamp: &decision.Stamp{Revision: "4", History: "1,2", Desired: new(int64(5)), Max: new(int64(6))}}, 3},
	} {
		fresh.due.now = false
		step.a.Kind, step.a.Target = decision.UpdateReplicaSet, target("web-0")
		fresh2(step.name, c.do(step.a).RV)
		fresh2(step.name, fresh.rs.RV)
		if fresh.rs.Generation != step.generation || !fresh.due.now {
			t.Errorf("%s: %+v", step.name, fresh)
		}
	}
	if rs := fresh.rs; rs.Replicas != 5 || rs.MinReady != 7 || rs.Revision != "4" || rs.History != "1,2" || rs.Desired != "5" || rs.Max != "6" {
		t.Errorf("%+v", rs)
	}
}

// A copy of annotations that is behind stays so until it is written.
func TestStampCopies(t *testing.T) {
	for _, c := range []struct{ stale, copies, want bool }{{true, true, false}, {true, false, true}, {false, true, false}, {false, false, false}} {
		m := &set{rs: deployment.ReplicaSet{CopyStale: c.stale}}
		new(Cluster).stamp(m, decision.Action{Stamp: &decision.Stamp{Copy: c.copies}})
		if m.rs.CopyStale != c.want {
			t.Errorf("%+v: %v", c, m.rs.CopyStale)
		}
	}
}

func TestQuotaOf(t *testing.T) {
	for quota, want := range map[int]int{-1: MaxPods, 0: MaxPods, 1: 1, 2: 2, MaxPods: MaxPods, MaxPods + 1: MaxPods} {
		if got := (&Cluster{Rules: Rules{Quota: quota}}).quota(); got != want {
			t.Errorf("%d: %d, want %d", quota, got, want)
		}
	}
}

// Pods are created in batches that double, up to the first that meets the quota. Three
// pods exist before.
func TestCreatePods(t *testing.T) {
	for _, tc := range []struct {
		quota                        int
		count, done, failed, untried int64
		state                        decision.State
		due                          bool
	}{
		{0, 5, 5, 0, 0, decision.Written, true},
		{8, 5, 5, 0, 0, decision.Written, true},
		{3, 5, 0, 1, 4, decision.Refused, false},
		{4, 5, 1, 2, 2, decision.Partly, true},
		{7, 5, 4, 1, 0, decision.Partly, true},
	} {
		c, m, _ := model(t)
		c.Rules.Quota = tc.quota
		o := c.doPods(m, decision.Action{Kind: decision.CreatePods, Count: tc.count})
		if o.State != tc.state || o.Done != tc.done || o.Failed != tc.failed || o.Untried != tc.untried || int64(len(o.Names)) != tc.done || int64(len(m.pods)) != 2+tc.done || m.due.now != tc.due || m.refused != (tc.failed > 0) {
			t.Errorf("quota %d: %+v, due %v", tc.quota, o, m.due.now)
		}
		if f := o.Failure; (f != nil) != (tc.failed > 0) || f != nil && f.Code != 403 {
			t.Errorf("quota %d: %+v", tc.quota, f)
		}
	}
}

// Where a snapshot counts no pods, those of the status are counted.
func TestRecordedCounts(t *testing.T) {
	blocking := make([]deployment.Pod, 4)
	for _, c := range []struct {
		rs               deployment.ReplicaSet
		running, missing int64
	}{
		{deployment.ReplicaSet{}, 0, 0},
		{deployment.ReplicaSet{StatusReplicas: 3, Available: 1}, 3, 2},
		{deployment.ReplicaSet{StatusReplicas: 3, Available: 3, Unavailable: 2}, 3, 2},
		{deployment.ReplicaSet{StatusReplicas: 1, Blocking: blocking}, 4, 4},
		{deployment.ReplicaSet{NonTerminal: 5, TerminatingNow: 2, Unavailable: 1, StatusReplicas: 9}, 3, 1},
		{deployment.ReplicaSet{NonTerminal: 5, TerminatingNow: 2, Blocking: blocking}, 4, 4},
		{deployment.ReplicaSet{NonTerminal: 5, TerminatingNow: 2, Unavailable: 6}, 6, 6},
	} {
		if r, m := running(&c.rs), unavailable(&c.rs); r != c.running || m != c.missing {
			t.Errorf("%+v: %d, of which %d are not available", c.rs, r, m)
		}
	}
}

// Where new pods are to take a minute, those that are there become ready a minute after
// they were created, and no old one does.
func TestStartPods(t *testing.T) {
	c, fresh, old := model(t)
	wait, gone, late := c.newPod(fresh), c.newPod(fresh), c.newPod(old)
	placed := c.newPod(fresh)
	placed.Node, placed.Reason = "node-9", "ImagePullBackOff"
	gone.terminate(noon.Add(time.Second))
	fresh.pods, old.pods = append(fresh.pods, wait, gone, placed), append(old.pods, late)
	ready := *fresh.pods[1]
	c.fates[c.template] = Stuck("Error")
	c.startPods(time.Minute)
	if len(c.fates) != 0 || !wait.at.Equal(noon.Add(time.Minute)) || wait.Node == "" || wait.Reason != "" {
		t.Errorf("it waits: %+v, %v", wait, c.fates)
	}
	if placed.Node != "node-9" || !placed.at.Equal(noon.Add(time.Minute)) || placed.Reason != "" {
		t.Errorf("it has a node: %+v", placed)
	}
	if !gone.at.Equal(noon.Add(time.Second)) || gone.Node != "" || !late.at.IsZero() || !ready.Ready || fresh.pods[1].at != ready.at {
		t.Errorf("it ends, it is old, it is ready: %+v, %+v, %+v", gone, late, ready)
	}
}

// A pod that ends has no other fate, and each change is another version of it.
func TestPodChanges(t *testing.T) {
	c, m, _ := model(t)
	p := c.newPod(m)
	rv := p.RV
	for _, want := range []string{"ContainerCreating", ""} { // It has a node, and then it is ready.
		gone := p.move(c)
		if gone || p.RV == rv || p.RV == "" || p.Reason != want || p.Ready != (want == "") || p.Node == "" {
			t.Errorf("it moves on: %+v", p)
		}
		rv = p.RV
	}
	p.terminate(noon.Add(time.Minute))
	p.setFate(Stuck("Error"), c)
	if p.Reason != "" || !p.at.Equal(noon.Add(time.Minute)) {
		t.Errorf("it ends: %+v", p)
	}
	if !p.move(c) {
		t.Error("it stays")
	}
}

// Only active pods on a node count, of the Deployment's own ReplicaSets.
func TestSiblings(t *testing.T) {
	c, fresh, old := model(t)
	all := append(fresh.pods, old.pods...)
	for _, p := range all {
		p.Node = "node-1"
	}
	all[0].Node = ""
	if got := c.siblings()["node-1"]; got != 2 || len(c.siblings()) != 1 {
		t.Errorf("%v", c.siblings())
	}
	all[1].Terminating = true
	if got := c.siblings()["node-1"]; got != 1 {
		t.Errorf("one ends: %d", got)
	}
	old.rs.Mine = false
	if got := c.siblings(); len(got) != 0 {
		t.Errorf("one is of no Deployment: %v", got)
	}
}

// The earliest time fires, and none is no time.
func TestUpcoming(t *testing.T) {
	c, fresh, old := model(t)
	at := func(seconds int) time.Time { return noon.Add(time.Duration(seconds) * time.Second) }
	for _, p := range append(fresh.pods, old.pods...) {
		p.at = time.Time{}
	}
	check := func(name string, want time.Time) {
		t.Helper()
		if got := c.upcoming(); !got.Equal(want) {
			t.Errorf("%s: %s", name, got)
		}
	}
	check("nothing", time.Time{})
	c.EditAt(at(50), Pause(true))
	check("an edit", at(50))
	old.pods[0].at = at(40)
	check("a pod", at(40))
	fresh.due.fire(at(30))
	check("a ReplicaSet", at(30))
	c.due.fire(at(20))
	check("the Deployment", at(20))
	c.due.fire(time.Time{})
	c.due.fire(at(21))
	check("nothing earlier", at(20))
}

// Only where there is a choice does anybody choose: nil is the Deployment.
func TestPick(t *testing.T) {
	c, fresh, old := model(t)
	var asked []int
	c.Rules.Next = func(due int) int { asked = append(asked, due); return due - 1 }
	fresh.due.now = true
	if got := c.pick(); got != fresh || len(asked) != 0 {
		t.Errorf("one is due: %+v, asked %v", got, asked)
	}
	c.due.now, old.due.now = true, true
	if got := c.pick(); got != old || len(asked) != 1 || asked[0] != 3 {
		t.Errorf("three are due: %+v, asked %v", got, asked)
	}
	old.due.now = false
	if got := c.pick(); got != fresh || len(asked) != 2 || asked[1] != 2 {
		t.Errorf("two are due: %+v, asked %v", got, asked)
	}
	c.Rules.Next = nil
	if got := c.pick(); got != nil {
		t.Errorf("nobody chooses: %+v", got)
	}
}

// What is held back is so since it was first, without a break.
func TestHeldSince(t *testing.T) {
	before := noon.Add(-time.Minute)
	for _, c := range []struct {
		was   time.Time
		holds bool
		want  time.Time
	}{{time.Time{}, true, noon}, {before, true, before}, {before, false, time.Time{}}, {time.Time{}, false, time.Time{}}} {
		if got := since(c.was, c.holds, noon); !got.Equal(c.want) {
			t.Errorf("%+v: %s", c, got)
		}
	}
}

// What guards against a cache wakes nothing in the model.
func TestArm(t *testing.T) {
	var a timer
	a.arm([]decision.Timer{{At: noon, Code: "echo"}, {At: noon.Add(2), Code: "other"}, {At: noon.Add(1), Code: "expectations"}})
	if !a.at.Equal(noon.Add(2)) || a.now {
		t.Errorf("%+v", a)
	}
}

func TestIsDue(t *testing.T) {
	c, _, _ := model(t)
	for at, want := range map[time.Time]bool{{}: false, noon: true, noon.Add(-1): true, noon.Add(1): false} {
		if got := c.isDue(at); got != want {
			t.Errorf("%s: %v", at, got)
		}
	}
}

// A pod is available once it was ready for long enough, and not when it ends.
func TestAvailable(t *testing.T) {
	p := &pod{}
	if p.available(0, noon) {
		t.Error("it is not ready")
	}
	p.ready(noon.Add(-5 * time.Second))
	if !p.available(0, noon) || !p.available(5, noon) || p.available(6, noon) {
		t.Error("it is ready for five seconds")
	}
	if p.terminate(noon); p.available(0, noon) {
		t.Error("it ends")
	}
}

// A pod that a snapshot describes stays what it was.
func TestRecordedPods(t *testing.T) {
	before := noon.Add(-time.Minute)
	c, m, _ := model(t)
	if p := c.recorded(m, deployment.Pod{Node: "node-1", Since: before, Message: "m"}); !p.Since.Equal(noon) || p.Message != "" {
		t.Errorf("on its way for no reason: %+v", p)
	}
	if p := c.recorded(m, deployment.Pod{Node: "node-1", Since: before, Ready: true, ReadySince: before, Reason: "Completed"}); p.Reason != "" || !p.Since.Equal(noon) {
		t.Errorf("ready, with a reason: %+v", p)
	}
	for _, tc := range []struct {
		name  string
		r     deployment.Pod
		stuck bool
	}{
		{"ready", deployment.Pod{Node: "node-1", Phase: "Running", Ready: true, ReadySince: noon, Reason: ""}, false},
		{"starting", deployment.Pod{Node: "node-1", Phase: "Pending", Reason: "ContainerCreating", Message: "m", Image: "i", Since: noon, Restarts: 2}, false},
		{"stuck", deployment.Pod{Node: "node-1", Phase: "Running", Reason: "CrashLoopBackOff", Message: "m", Image: "i", Since: noon, Restarts: 2}, true},
		{"without a node", deployment.Pod{Phase: "Pending", Reason: "Unschedulable", Message: "m", Image: "i", Since: noon}, true},
	} {
		c, m, _ := model(t)
		tc.r.Name, tc.r.Created = "web-0-x", noon.Add(-time.Hour)
		p := c.recorded(m, tc.r)
		if tc.r.Ready {
			p.Image, p.Since = "", time.Time{}
		}
		if diff := cmp.Diff(tc.r, blocking(p)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.name, diff)
		}
		if _, fated := c.fates[m.template]; fated != tc.stuck || p.at.IsZero() != (tc.stuck || tc.r.Ready) {
			t.Errorf("%s: next change at %s, fates %v", tc.name, p.at, c.fates)
		}
	}
}

// A pod that ends is not one that is missing, and the first by name are told.
func TestChild(t *testing.T) {
	c, fresh, _ := model(t)
	fresh.pods = nil
	for _, name := range []string{"c", "a", "b", "e"} {
		p := c.newPod(fresh)
		p.Name = name
		fresh.pods = append(fresh.pods, p)
	}
	fresh.pods[3].terminate(noon)
	rs, names := c.child(fresh), ""
	for _, p := range rs.Blocking {
		names += p.Name
	}
	fresh.status.Conditions = []decision.Condition{{Type: "ReplicaFailure"}}
	if failure := c.child(fresh).Failure; rs.Failure != nil || failure == nil || failure.Type != "ReplicaFailure" {
		t.Errorf("without a failure: %+v, with one: %+v", rs.Failure, failure)
	}
	if rs.NonTerminal != 4 || rs.TerminatingNow != 1 || rs.Unavailable != 3 || names != "abc" {
		t.Errorf("%q of %+v", names, rs)
	}
}

// A pod fails on its node, unless there is none for it.
func TestFateOfAPodWithoutANode(t *testing.T) {
	for _, tc := range []struct {
		fate   Fate
		node   string
		reason string
		at     time.Time
	}{
		{Stuck("Error"), "", "", noon.Add(time.Minute)}, {Stuck("Error"), "node-1", "Error", time.Time{}},
		{Stuck(unschedulable), "", unschedulable, time.Time{}}, {Stuck(unschedulable), "node-1", unschedulable, time.Time{}},
		{ReadyAfter(time.Second), "", "", noon.Add(time.Minute)}, {ReadyAfter(time.Second), "node-1", "", noon.Add(time.Second)},
	} {
		c, _, _ := model(t)
		c.Rules.Schedule = time.Minute
		p := &pod{}
		p.Node = tc.node
		if p.setFate(tc.fate, c); p.Reason != tc.reason || !p.at.Equal(tc.at) {
			t.Errorf("%+v on %q: %q, next at %s", tc.fate, tc.node, p.Reason, p.at)
		}
	}
}

// Of the victims those that have a node take their time.
func TestDeletePods(t *testing.T) {
	c, m, _ := model(t)
	m.pods = nil
	for i, name := range []string{"placed", "waiting", "kept", "kept waiting"} {
		p := c.newPod(m)
		if p.Name = name; i%2 == 0 {
			p.Node = "node-1"
		}
		m.pods = append(m.pods, p)
	}
	c.deletePods(m, []decision.Victim{{UID: m.pods[0].UID}, {UID: m.pods[1].UID}})
	left := ""
	for _, p := range m.pods {
		left += fmt.Sprintf("%s %t %s, ", p.Name, p.Terminating, p.at.Sub(noon))
	}
	if want := "placed true 1s, kept false 0s, kept waiting false 0s, "; left != want {
		t.Errorf("%s; want %s", left, want)
	}
}

// Of a ReplicaSet of the Deployment's own the active pods count.
func TestMeasure(t *testing.T) {
	c, fresh, old := model(t)
	fresh.pods[0].terminate(noon)
	old.rs.Mine = false
	var s Step
	c.measure(&s)
	if len(s.Sets) != 1 || s.Sets[0].Pods != 1 || s.Sets[0].Terminating != 1 || s.Asked != 2 {
		t.Errorf("%+v", s)
	}
}

// A status that is published is another version.
func TestPublishedVersions(t *testing.T) {
	c, m, _ := model(t)
	c.publish(&deployment.Report{})
	c.publishSet(m, &replicaset.Report{})
	if c.spec.RV != "" || m.rs.RV != "1" {
		t.Errorf("nothing is published: %q and %q", c.spec.RV, m.rs.RV)
	}
	c.publish(&deployment.Report{Report: decision.Report{Publish: true}})
	c.publishSet(m, &replicaset.Report{Report: decision.Report{Publish: true}})
	if c.spec.RV == "" || m.rs.RV == "1" || m.rs.RV == "" || m.rs.RV == c.spec.RV {
		t.Errorf("published: %q and %q", c.spec.RV, m.rs.RV)
	}
}

func TestWrote(t *testing.T) {
	acted := decision.Round{Verdict: decision.Verdict{Actions: make([]decision.Action, 1)}}
	for _, tc := range []struct {
		step Step
		want bool
	}{{Step{}, false}, {Step{Round: acted}, true}, {Step{Report: &decision.Report{}}, false}, {Step{Report: &decision.Report{Publish: true}}, true}} {
		if tc.step.Wrote() != tc.want {
			t.Errorf("%+v wrote: %t", tc.step, !tc.want)
		}
	}
}

func TestNodes(t *testing.T) {
	c, _, _ := model(t)
	used := map[string]bool{}
	for range 2 * nodes {
		used[c.node()] = true
	}
	if !used["node-1"] || !used["node-2"] || !used["node-3"] || len(used) != 3 {
		t.Errorf("%v", used)
	}
}

// More pods than a Cluster may have never come, although some do.
func TestRolloutWithoutRoomIsEndless(t *testing.T) {
	s := &deployment.Snapshot{Found: true, Now: noon, Namespace: "shop", Name: "web", UID: "d", Generation: 1, Want: MaxPods + 1, Strategy: "RollingUpdate", Images: []string{"nginx:1"}, NextName: "web-1", NextHash: "1"}
	if f, err := simulatePods(s, time.Second, math.MaxInt32); err != nil || !f.endless {
		t.Errorf("%+v, %v", f, err)
	}
}

// Each loop observes what is its own, or may become so.
func TestObserved(t *testing.T) {
	c, fresh, old := model(t)
	s := c.observe(fresh)
	if s.UID != "0" || s.Name != "web-0" || s.RV != "1" || s.Generation != 1 || s.Namespace != "shop" || s.Want != 2 || s.Owner != "web" || len(s.Pods) != 2 || !s.Now.Equal(noon) {
		t.Errorf("%+v", s)
	}
	names := func() (all string) {
		for _, rs := range c.Snapshot().ReplicaSets {
			all += rs.Name + " "
		}
		return all
	}
	old.rs.Mine = false
	if got := names(); got != "web-0 web-1 " {
		t.Errorf("one matches: %s", got)
	}
	if old.rs.Mine, old.rs.Matches = true, false; names() != "web-0 web-1 " {
		t.Errorf("one is its own: %s", names())
	}
	if old.rs.Mine = false; names() != "web-0 " {
		t.Errorf("one is neither: %s", names())
	}
	if s := c.observe(old); s.Owner != "" || s.Siblings != nil {
		t.Errorf("it is nobody's: %+v", s)
	}
}

// Templates have names of the model's own, and each edit is another version.
func TestEdits(t *testing.T) {
	c, _, old := model(t)
	c.Edit(Images("nginx:2"))
	first := c.template
	if d := c.spec; d.NextHash == "" || strings.ContainsAny(d.NextHash, "-") || d.NextName != "web-"+d.NextHash || d.Generation != 1 || !c.due.now {
		t.Errorf("%+v", d)
	}
	rv := c.spec.RV
	c.Edit(Images("nginx:2"))
	if c.spec.Generation != 1 || c.spec.RV != rv || c.template != first {
		t.Errorf("the same images: %+v", c.spec)
	}
	c.Edit(Undo("web-1"), Undo("web-1"), Undo("nobody"))
	if c.spec.Generation != 2 || c.spec.RV == rv || c.template != old.template {
		t.Errorf("undone: %+v", c.spec)
	}
	c.Edit(Images("nginx:2"))
	if c.template != first {
		t.Errorf("images of before have template %d, want %d", c.template, first)
	}
	c.Edit(Replicas(-1), MinReady(-1), Deadline(0))
	if c.spec.Want != 0 || c.spec.MinReady != 0 || c.spec.Deadline != nil {
		t.Errorf("no such amounts: %+v", c.spec)
	}
	c.Edit(Replicas(1), MinReady(1), Deadline(1))
	if c.spec.Want != 1 || c.spec.MinReady != 1 || c.spec.Deadline == nil || *c.spec.Deadline != 1 {
		t.Errorf("amounts: %+v", c.spec)
	}
}

// A fate is given to a pod, or to all pods of a ReplicaSet, and wakes both loops.
func TestFates(t *testing.T) {
	c, fresh, old := model(t)
	c.Edit(Pod(old.pods[0].Name, Stuck("Error")))
	if old.pods[0].Reason != "Error" || !old.due.now || !c.due.now || fresh.due.now {
		t.Errorf("%+v", old.pods[0])
	}
	c.due.now = false
	c.Edit(Pods("web-0", Stuck("Error")))
	if !fresh.due.now || !c.due.now || c.fates[fresh.template] != Stuck("Error") || len(c.fates) != 1 {
		t.Errorf("%+v, fates %v", fresh, c.fates)
	}
	c.Edit(NewPods("web-1", Stuck("b")), NewPods("nobody", Stuck("c")), Pods("nobody", Stuck("c")))
	if c.fates[old.template] != Stuck("b") || len(c.fates) != 2 {
		t.Errorf("fates %v", c.fates)
	}
}

func TestSeconds(t *testing.T) {
	for n, want := range map[int64]time.Duration{-1: 0, 0: 0, 1: time.Second, 1<<31 - 2: (1<<31 - 2) * time.Second, 1<<31 - 1: (1<<31 - 1) * time.Second, 1 << 40: (1<<31 - 1) * time.Second} {
		if got := seconds(n); got != want {
			t.Errorf("%d: %s", n, got)
		}
	}
}

// Every sync of the Deployment is a step, and of a ReplicaSet one that wrote.
func TestSteps(t *testing.T) {
	c, fresh, _ := model(t)
	if p := c.newPod(fresh); p.RV == "" || p.UID == "" {
		t.Errorf("%+v", p)
	}
	c.due.now = true
	if r := c.Run(Bound{Syncs: 1}); len(r.Steps) != 1 || r.Steps[0].Snapshot == nil {
		t.Errorf("%+v", r.Steps)
	}
	sets := 0
	for _, s := range c.Run(Bound{}).Steps {
		if s.Snapshot == nil {
			sets++
		}
		if s.Snapshot == nil && !s.Wrote() {
			t.Errorf("%+v", s)
		}
	}
	if sets == 0 {
		t.Error("no ReplicaSet wrote")
	}
	if got := newAvailable(&Step{Sets: []Size{{New: true, Available: 2}, {Available: 4}}}); got != 2 {
		t.Errorf("%d new ones are available", got)
	}
}
