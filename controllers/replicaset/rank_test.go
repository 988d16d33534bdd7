package replicaset_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/loopscope/loopscope/controllers/replicaset"
	"github.com/loopscope/loopscope/telemetry/decision"
)

var now = time.Date(2026, 3, 14, 9, 30, 0, 0, time.UTC)

// running is a ready pod to which a case adds what it is about.
func running(name string, change ...func(*replicaset.Pod)) replicaset.Pod {
	p := replicaset.Pod{
		Name: name, UID: "uid-" + name, Mine: true, Matches: true, Phase: "Running", Node: "node-1",
		Ready: true, Created: now.Add(-2 * time.Hour), ReadySince: now.Add(-time.Hour),
	}
	for _, c := range change {
		c(&p)
	}
	return p
}

func sized(want int64, pods ...replicaset.Pod) *replicaset.Snapshot {
	return &replicaset.Snapshot{
		Version: replicaset.SnapshotVersion, Now: now, Kind: "ReplicaSet", Found: true, Namespace: "shop", Name: "web",
		Want: want, Burst: 500, Pods: pods, DeletionCost: true,
	}
}

// victims are the pods that a verdict deletes, in their order.
func victims(v decision.Verdict) []string {
	var names []string
	for _, a := range v.Actions {
		for _, victim := range a.Victims {
			names = append(names, victim.Name)
		}
	}
	return names
}

type change = func(*replicaset.Pod)

func node(n string) change           { return func(p *replicaset.Pod) { p.Node = n } }
func phase(s string) change          { return func(p *replicaset.Pod) { p.Phase = s } }
func cost(n int64) change            { return func(p *replicaset.Pod) { p.Cost = n } }
func restarted(n int64) change       { return func(p *replicaset.Pod) { p.Restarts = n } }
func sidecars(n int64) change        { return func(p *replicaset.Pod) { p.SidecarRestarts = n } }
func uid(s string) change            { return func(p *replicaset.Pod) { p.UID = s } }
func created(d time.Duration) change { return func(p *replicaset.Pod) { p.Created = now.Add(-d) } }
func readyFor(d time.Duration) change {
	return func(p *replicaset.Pod) { p.ReadySince = now.Add(-d) }
}
func unready(p *replicaset.Pod)     { p.Ready, p.ReadySince = false, time.Time{} }
func readyNoTime(p *replicaset.Pod) { p.ReadySince = time.Time{} }
func noCreation(p *replicaset.Pod)  { p.Created = time.Time{} }

// TestRankPairs gives each criterion of [P-5] to [P-8] two pods that differ in it and, the
// other way round, in the criterion that follows: the earlier one decides.
func TestRankPairs(t *testing.T) {
	siblings := map[string]int64{"node-1": 1, "node-2": 3}
	for _, tt := range []struct {
		name         string
		first, other []change
	}{
		{"1 no node before a node, though running", []change{node("")}, []change{phase("Pending")}},
		{"2 pending before unknown", []change{phase("Pending")}, []change{phase("Unknown"), unready}},
		{"2 unknown before running", []change{phase("Unknown")}, []change{unready}},
		{"2 no phase before unknown", []change{phase("")}, []change{phase("Unknown")}},
		{"3 not ready before ready, though dearer", []change{unready, cost(5)}, []change{cost(-5)}},
		{"4 lower cost before higher, though alone on its node", []change{cost(-1)}, []change{node("node-2")}},
		{"5 more siblings on the node first, though ready for longer", []change{node("node-2"), readyFor(9 * time.Hour)}, []change{readyFor(time.Minute)}},
		{"6 ready without a time first", []change{readyNoTime}, []change{readyFor(time.Second), restarted(9)}},
		{"6 smaller bucket of readiness first, though fewer restarts", []change{readyFor(time.Minute)}, []change{readyFor(time.Hour), restarted(9)}},
		{"6 ready in the future is the youngest", []change{readyFor(-time.Hour)}, []change{readyFor(time.Second), restarted(9)}},
		{"6 equal bucket, other instant: lower uid first, though fewer restarts", []change{readyFor(time.Hour + time.Second), uid("a")}, []change{restarted(9), uid("b")}},
		{"7 equal instant: more restarts first, though older", []change{restarted(3), uid("b")}, []change{created(time.Minute), sidecars(9), uid("a")}},
		{"7 then more restarts of sidecars", []change{sidecars(3), uid("b")}, []change{created(time.Minute), uid("a")}},
		{"7 of pods that are not ready too", []change{unready, restarted(1), uid("b")}, []change{unready, uid("a")}},
		{"8 created without a time first", []change{noCreation, uid("b")}, []change{created(time.Second), uid("a")}},
		{"8 created without a time before just now", []change{noCreation, uid("b")}, []change{created(0), uid("a")}},
		{"8 smaller bucket of age first", []change{created(time.Minute), uid("b")}, []change{uid("a")}},
		{"8 equal bucket: lower uid first", []change{created(2*time.Hour + time.Second), uid("a")}, []change{uid("b")}},
		{"nothing differs: lower uid first", []change{uid("a")}, []change{uid("b")}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, names := range [][2]string{{"p", "q"}, {"q", "p"}} {
				first, other := running(names[0], tt.first...), running(names[1], tt.other...)
				s := sized(1, first, other)
				s.Siblings = siblings
				if got := victims(replicaset.Decide(s)); !slices.Equal(got, names[:1]) {
					t.Errorf("deletes %v, want %s", got, names[0])
				}
			}
		})
	}
}

// TestRankSwitches turns criteria off the way the snapshot can.
func TestRankSwitches(t *testing.T) {
	cheap := running("cheap", cost(-9), uid("b"))
	s := sized(1, cheap, running("dear", cost(9), uid("a")))
	s.DeletionCost = false
	if got := victims(replicaset.Decide(s)); !slices.Equal(got, []string{"dear"}) {
		t.Errorf("with the deletion cost switched off it deletes %v, want dear by its uid", got)
	}
	s = sized(1, running("crowded", node("node-2"), uid("b")), running("alone", uid("a")))
	if got := victims(replicaset.Decide(s)); !slices.Equal(got, []string{"alone"}) {
		t.Errorf("without an owner it deletes %v, want alone by its uid, as siblings are not known", got)
	}
}

// TestRankCircle has three pods that upstream's comparison puts in a circle: two
// got ready in the same instant and differ in restarts, the third lies between
// them by uid. The order is the same whatever order they come in.
func TestRankCircle(t *testing.T) {
	a := running("a", uid("1"))
	b := running("b", uid("3"), restarted(5))
	c := running("c", uid("2"), readyFor(time.Hour+time.Second))
	if !before(&a, &c, nil) || !before(&c, &b, nil) || !before(&b, &a, nil) {
		t.Fatal("the three pods are no circle, so the test shows nothing")
	}
	want := victims(replicaset.Decide(sized(1, a, b, c)))
	for _, pods := range [][]replicaset.Pod{{a, c, b}, {b, a, c}, {b, c, a}, {c, a, b}, {c, b, a}} {
		if got := victims(replicaset.Decide(sized(1, pods...))); !slices.Equal(got, want) {
			t.Errorf("%s %s %s gives %v, want %v", pods[0].Name, pods[1].Name, pods[2].Name, got, want)
		}
	}
}

// TestVictimFacts proves that the first 50 victims say why they go, and no more.
func TestVictimFacts(t *testing.T) {
	var pods []replicaset.Pod
	for i := range 60 {
		pods = append(pods, running(fmt.Sprintf("p%02d", i)))
	}
	v := replicaset.Decide(sized(1, pods...))
	got := v.Actions[0].Victims
	if len(got) != 59 {
		t.Fatalf("%d victims, want 59", len(got))
	}
	want := []string{
		"unassigned", "phase", "ready", "settling", "deletionCost", "colocated", "readyFor", "readyBucket",
		"restarts", "sidecarRestarts", "age", "ageBucket", "uid",
	}
	for i, victim := range got {
		var names []string
		for _, f := range victim.Facts {
			names = append(names, f.Name)
		}
		switch {
		case victim.Rank != int64(i)+1:
			t.Errorf("victim %d has rank %d", i, victim.Rank)
		case i < 50 && !slices.Equal(names, want):
			t.Errorf("victim %d has facts %v, want %v", i, names, want)
		case i >= 50 && names != nil:
			t.Errorf("victim %d has facts %v, want none", i, names)
		}
	}
}

// before is the comparison of [P-5] as upstream makes it, pair by pair, written
// once more and without any of the shortcuts of the ranking.
func before(a, b *replicaset.Pod, siblings map[string]int64) bool {
	phases := map[string]int{"Pending": 0, "Unknown": 1, "Running": 2}
	switch {
	case (a.Node == "") != (b.Node == ""):
		return a.Node == ""
	case phases[a.Phase] != phases[b.Phase]:
		return phases[a.Phase] < phases[b.Phase]
	case a.Ready != b.Ready:
		return b.Ready
	case a.Cost != b.Cost:
		return a.Cost < b.Cost
	case siblings[a.Node] != siblings[b.Node]:
		return siblings[a.Node] > siblings[b.Node]
	}
	if a.Ready && b.Ready && !a.ReadySince.Equal(b.ReadySince) {
		return younger(a.ReadySince, b.ReadySince, a.UID, b.UID)
	}
	switch {
	case a.Restarts != b.Restarts:
		return a.Restarts > b.Restarts
	case a.SidecarRestarts != b.SidecarRestarts:
		return a.SidecarRestarts > b.SidecarRestarts
	case !a.Created.Equal(b.Created):
		return younger(a.Created, b.Created, a.UID, b.UID)
	}
	return a.UID < b.UID
}

func younger(a, b time.Time, uidA, uidB string) bool {
	switch x, y := halvings(a), halvings(b); {
	case a.IsZero() || b.IsZero():
		return a.IsZero()
	case x != y:
		return x < y
	default:
		return uidA < uidB
	}
}

// halvings is how often an age can be halved before it is 1 ns, -1 for no age.
func halvings(since time.Time) int {
	n := -1
	for age := now.Sub(since); age > 0; age /= 2 {
		n++
	}
	return n
}

// TestRankFollowsUpstream compares the order of random pods with upstream's
// comparison: always for two pods, and for more wherever it is no circle.
func TestRankFollowsUpstream(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pods := genPods(t, 2, 7)
		for i := range pods {
			pods[i].Mine, pods[i].Matches, pods[i].Terminating = true, true, false
			if pods[i].Phase == "Failed" {
				pods[i].Phase = "Running"
			}
		}
		s := sized(1, pods...)
		s.Siblings = map[string]int64{"node-1": 2, "node-2": 1}
		order := victims(replicaset.Decide(s))
		if len(order) != len(pods)-1 {
			t.Fatalf("%d victims of %d pods", len(order), len(pods))
		}
		want := linear(pods, s.Siblings)
		if want == nil && len(pods) == 2 {
			t.Fatal("two pods cannot be a circle")
		}
		if want != nil && !slices.Equal(order, want[:len(order)]) {
			t.Fatalf("order %v, upstream compares to %v", order, want)
		}
	})
}

// linear sorts the pods by the number of pods that go before each of them, and
// gives nil where the comparison is not transitive.
func linear(pods []replicaset.Pod, siblings map[string]int64) []string {
	names := make([]string, len(pods))
	for i := range pods {
		at := 0
		for j := range pods {
			if i != j && before(&pods[j], &pods[i], siblings) {
				at++
			}
		}
		if names[at] != "" {
			return nil
		}
		names[at] = pods[i].Name
	}
	return names
}

// TestSettlingPodsGoFirst: of two ready pods the one that is not available yet
// goes, whatever its cost and UID.
func TestSettlingPodsGoFirst(t *testing.T) {
	s := published(2, pod("a", "ready"), pod("b", "ready"))
	s.MinReady, s.Want, s.DeletionCost = 10, 1, true
	s.Pods[0].ReadySince, s.Pods[1].ReadySince = s.Now.Add(-12*time.Second), s.Now.Add(-9*time.Second)
	s.Pods[1].Cost = 5
	v := replicaset.Decide(s)
	if len(v.Actions) != 1 || len(v.Actions[0].Victims) != 1 || v.Actions[0].Victims[0].Name != "b" {
		t.Fatalf("actions %+v", v.Actions)
	}
}

// TestOnlyItsOwnAreClaimed: [RS-6] an active pod is adopted if it matches and nobody
// has it, and released if it no longer matches; any other is left alone.
func TestOnlyItsOwnAreClaimed(t *testing.T) {
	is := func(mine, matches bool) change {
		return func(p *replicaset.Pod) { p.Mine, p.Matches = mine, matches }
	}
	ending := func(p *replicaset.Pod) { p.Terminating = true }
	for _, c := range []struct {
		name    string
		pod     []change
		claimed bool
	}{
		{"its own", []change{is(true, true)}, false},
		{"an orphan that matches", []change{is(false, true)}, true},
		{"one that matches no more", []change{is(true, false)}, true},
		{"somebody else's, or nobody's, that does not match", []change{is(false, false)}, false},
		{"a terminating orphan", []change{is(false, true), ending}, false},
		{"a terminating one that matches no more", []change{is(true, false), ending}, false},
		{"a finished orphan", []change{is(false, true), phase("Succeeded")}, false},
		{"a failed one that matches no more", []change{is(true, false), phase("Failed")}, false},
	} {
		claims := 0
		for _, a := range replicaset.Decide(sized(1, running("a"), running("b", c.pod...))).Actions {
			if a.Target.Name == "b" {
				claims++
			}
		}
		if (claims == 1) != c.claimed || claims > 1 {
			t.Errorf("%s: claimed %d times, want %v", c.name, claims, c.claimed)
		}
	}
}
