package web

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loopscope/loopscope/controllers/deployment"
	"github.com/loopscope/loopscope/controllers/replicaset"
	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/decision"
	"github.com/loopscope/loopscope/views"
	"github.com/loopscope/loopscope/web/facts"
	"github.com/loopscope/loopscope/web/timeline"
)

// podEvent is a cause as the loops record one of a pod.
func podEvent(kind telemetry.CauseKind, at time.Time, fields ...decision.Change) telemetry.Cause {
	return telemetry.Cause{Kind: kind, At: at, Object: "Pod web-1-a", Fields: fields}
}

// stepsOf are the steps of a life in words.
func stepsOf(l *timeline.Pod, since time.Time) string {
	states := [...]string{timeline.Pending: "not running", timeline.Running: "not ready", timeline.Ready: "ready", timeline.Terminating: "terminating", timeline.Gone: "gone"}
	var b strings.Builder
	for _, s := range l.Steps {
		fmt.Fprintf(&b, "%s %s, ", s.At.Sub(since), states[s.Is])
	}
	return strings.TrimSuffix(b.String(), ", ")
}

// TestPodLivesFromEvents puts a life together from what woke the syncs.
func TestPodLivesFromEvents(t *testing.T) {
	w := newWorld(t, storyNow)
	at := func(seconds int) time.Time { return storyNow.Add(time.Duration(seconds) * time.Second) }
	set := func(seconds int, pods []replicaset.Pod, causes ...telemetry.Cause) *telemetry.Trace {
		s := &replicaset.Snapshot{Version: 1, Now: at(seconds), Kind: "ReplicaSet", Found: true, Namespace: "shop", Name: "web-1", UID: "r", RV: "7", Want: int64(len(pods)), Pods: pods}
		x := w.decideReplicaSet(s, script{})
		x.Causes = causes
		w.journal.Record(x)
		return x
	}
	pod := replicaset.Pod{Name: "web-1-a", UID: "a", Mine: true, Matches: true, Created: at(1), Phase: "Pending"}
	ready := pod
	ready.Phase, ready.Ready, ready.ReadySince = "Running", true, at(9)
	traces := []*telemetry.Trace{
		set(0, nil), set(2, []replicaset.Pod{pod}, podEvent(telemetry.CauseAdded, at(1))),
		set(6, []replicaset.Pod{pod}, podEvent(telemetry.CauseModified, at(5), decision.Change{Field: "spec.nodeName", To: "n"}, decision.Change{Field: "status.phase", From: "Pending", To: "Running"})),
		set(10, []replicaset.Pod{ready}, podEvent(telemetry.CauseModified, at(9), decision.Change{Field: "status.conditions[Ready]", From: "false", To: "true"})),
	}
	lives, _ := timeline.Of(testLoops, traces, traces[3], storyNow)
	if got := stepsOf(lives[0], storyNow); got != "1s not running, 5s not ready, 9s ready" || !lives[0].Available(at(10)) {
		t.Errorf("up to ready it is %q", got)
	}
	traces = append(traces, set(21, nil, podEvent(telemetry.CauseModified, at(20), decision.Change{Field: "metadata.deletionTimestamp"})),
		set(31, nil, podEvent(telemetry.CauseDeleted, at(30))))
	lives, _ = timeline.Of(testLoops, traces, traces[5], storyNow)
	if got := stepsOf(lives[0], storyNow); got != "1s not running, 5s not ready, 9s ready, 20s terminating, 30s gone" || !lives[0].Over() || lives[0].Available(at(31)) {
		t.Errorf("to its end it is %q", got)
	}
	// Where the syncs between are not kept, the snapshots at both ends say as much as they can.
	lives, _ = timeline.Of(testLoops, []*telemetry.Trace{traces[3], traces[5]}, traces[5], at(9))
	if got := stepsOf(lives[0], storyNow); got != "1s not running, 9s ready, 30s gone" {
		t.Errorf("of the two ends it is %q", got)
	}
}

// lanesAt draws lives in a box of a minute.
func lanesAt(lives ...*timeline.Pod) (scopeBox, time.Time) {
	return scopeBox{from: drawnAt, to: drawnAt.Add(time.Minute), most: 1}, drawnAt.Add(30 * time.Second)
}

func lifeOf(name string, p *replicaset.Pod, steps ...timeline.Step) *timeline.Pod {
	return &timeline.Pod{Name: name, Pod: p, Steps: steps}
}

// TestLanesAreDrawnByState holds what each line means, and that none is drawn
// in the future.
func TestLanesAreDrawnByState(t *testing.T) {
	b, now := lanesAt()
	at := func(s int) time.Time { return drawnAt.Add(time.Duration(s) * time.Second) }
	l := lifeOf("web-1-a", nil, timeline.Step{At: at(-9), Is: timeline.Pending}, timeline.Step{At: at(3), Is: timeline.Running}, timeline.Step{At: at(6), Is: timeline.Ready}, timeline.Step{At: at(24), Is: timeline.Terminating})
	l.MinReady = 6 * time.Second
	v := b.single(l, now)
	for got, want := range map[string]string{v.Pending: "M0.0 10.0H60.0", v.Thin: "M60.0 10.0H120.0M120.0 10.0H240.0", v.Thick: "M240.0 10.0H480.0", v.Terminating: "M480.0 10.0H600.0"} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if v.Owner+v.Own != "web-1-a" || len(v.Steps) != 4 {
		t.Errorf("the lane is of %q with %d steps", v.Owner+v.Own, len(v.Steps))
	}
}

// TestManyPodsThatBlock shows the first few, folds the others away, and groups
// more than forty by what they wait for.
func TestManyPodsThatBlock(t *testing.T) {
	b, now := lanesAt()
	block := func(n int) []*timeline.Pod {
		var list []*timeline.Pod
		for i := range n {
			p := &replicaset.Pod{Name: fmt.Sprintf("web-1-%d", i), Mine: true, Phase: "Pending", Node: "n", Reason: "ImagePullBackOff", Image: "shop/web:2", Message: "not found"}
			if i%3 == 0 {
				p.Reason, p.Message, p.Node = "Unschedulable", "0/6 nodes are available", ""
			}
			list = append(list, lifeOf(p.Name, p, timeline.Step{At: drawnAt, Is: timeline.Pending}))
		}
		return list
	}
	open, more, note := b.blockLanes(block(3), now)
	if len(open) != 3 || len(more) != 0 || note != "" {
		t.Errorf("of three pods %d lanes are open, %d folded: %q", len(open), len(more), note)
	}
	open, more, note = b.blockLanes(block(40), now)
	if len(open) != openLanes || len(more) != 40-openLanes || note != "37 more pods that block" {
		t.Errorf("of 40 pods %d lanes are open, %d folded: %q", len(open), len(more), note)
	}
	open, more, _ = b.blockLanes(block(50), now)
	var said []string
	for _, l := range open {
		said = append(said, l.Name+": "+l.Note.String())
	}
	want := []string{"33 waiting: each cannot pull shop/web:2 (not found); 28 of them are drawn", "17 waiting: each fits no node (0/6 nodes are available)"}
	if !slices.Equal(said, want) || len(more) != 0 {
		t.Errorf("50 pods are %q and %d more", said, len(more))
	}
	if l := b.bundle(laneKind{word: "old", lives: block(200)}, now); l.Height > bundleHeight || !strings.Contains(l.Note.String(), "28 of them are drawn") || l.Name != "200 old" {
		t.Errorf("200 pods are %d high: %q", l.Height, l.Note.String())
	}
}

// TestScopeOfTheStory reads the lanes of the rollout that is stuck.
func TestScopeOfTheStory(t *testing.T) {
	w := newWorld(t, storyNow.Add(-2*time.Hour))
	stuckRollout(w)
	s := w.server(nil)
	x := subjectOf(t, s, "/deployments/shop/web")
	v := s.scope(storyNow, x)
	if len(v.Pods) != 3 || len(v.Rest) != 2 || v.Rest[0].Name != "7 new" || v.Rest[1].Count != 10 {
		t.Fatalf("%d pods block, the rest is %+v", len(v.Pods), v.Rest)
	}
	for _, l := range v.Pods {
		if note := l.Note.String(); !strings.Contains(note, "cannot pull registry.example/shop/web:3.4.0 (not found)") || l.Tone != views.Waiting || l.Thick != "" {
			t.Errorf("the lane of %s says %q", l.Own, note)
		}
	}
	for _, want := range []string{"shop/web is waiting: 3 new pods cannot pull", "10 new, 1 old, 8 available; floor 8, ceiling 13.", "Pod " + v.Pods[0].Owner + v.Pods[0].Own + " cannot pull"} {
		if !strings.Contains(v.Label, want) {
			t.Errorf("the picture does not say %q: %s", want, v.Label)
		}
	}
	if got := v.Rest[1].Note.String(); got != "1 available, 9 gone" {
		t.Errorf("the old ones are %q", got)
	}
	current, err := facts.ReplicaSet(testLoops, s.src.Journal.Board().Children("replicaset", "shop", "web")[0])
	if err != nil {
		t.Fatal(err)
	}
	asked := current.Pods[slices.IndexFunc(current.Pods, func(p replicaset.Pod) bool { return p.Ready })].Name
	v = s.scope(storyNow, subjectOf(t, s, "/deployments/shop/web?pod="+asked))
	if len(v.Pods)+len(v.MorePods) != 4 || v.Pods[0].Owner+v.Pods[0].Own != asked || v.Pods[0].Note.String() != "is available" || v.Pods[0].Tone != views.Idle {
		t.Errorf("the pod that was asked for has no lane in front: %+v", v.Pods[0])
	}
}

// TestWindows follows the lengths that a page offers: the one that is shown
// leads nowhere, and every step keeps it.
func TestWindows(t *testing.T) {
	_, base := story(t)
	_, body := get(t, base, "/deployments/shop/web?window=1h")
	d := parse(t, body)
	hrefs := map[string]string{}
	for _, a := range d.all("a") {
		hrefs[strings.TrimSpace(text(a))] = attr(a, "href")
	}
	if hrefs["23m"] != "/deployments/shop/web?window=23m" || hrefs["automatic"] != "/deployments/shop/web" || hrefs["1h"] != "" {
		t.Errorf("the windows lead to %q, %q, %q", hrefs["23m"], hrefs["automatic"], hrefs["1h"])
	}
	for _, a := range d.all("a") {
		if attr(a, "rel") == "prev" && !strings.HasSuffix(attr(a, "href"), "&window=1h") {
			t.Errorf("the step back forgets the window: %s", attr(a, "href"))
		}
	}
}

// TestEmptyLanesSayWhy: where there is nothing to draw, the reason stands there.
func TestEmptyLanesSayWhy(t *testing.T) {
	w := newWorld(t, storyNow.Add(-2*time.Hour))
	r := w.rollout("web")
	r.begin()
	s := w.server(nil)
	x := subjectOf(t, s, "/deployments/shop/web")
	v := s.scope(storyNow, x)
	last := v.Rest[len(v.Rest)-1]
	if !last.Empty || last.Name != "0 old" || len(last.Note) == 0 {
		t.Errorf("the lane of the old pods is %+v", last)
	}
}

// TestCrowdsAreNotDrawn: of many hundreds of pods those that block are drawn from
// the Deployment's own snapshot, and the page stays quick.
func TestCrowdsAreNotDrawn(t *testing.T) {
	w := newWorld(t, storyNow.Add(-2*time.Hour))
	r := w.rollout("web")
	r.begin()
	set := &replicaset.Snapshot{Version: 1, Now: w.now, Kind: "ReplicaSet", Found: true, Namespace: "shop", Name: r.sets[0].name, UID: r.sets[0].uid, RV: "9", Owner: "web", Want: 900, Burst: 500}
	d := r.snapshot()
	d.Want, d.ReplicaSets[0].Replicas, d.ReplicaSets[0].StatusReplicas, d.ReplicaSets[0].Available, d.ReplicaSets[0].Unavailable = 900, 900, 900, 840, 60
	for i := range 900 {
		p := replicaset.Pod{Name: fmt.Sprintf("%s-%04d", set.Name, i), UID: fmt.Sprint(i), RV: "1", Mine: true, Matches: true, Created: w.now.Add(-time.Minute), Phase: "Pending", Node: "node-1", Reason: "ImagePullBackOff", Image: "shop/web:2", Message: "not found"}
		set.Pods = append(set.Pods, p)
		if i < deployment.MaxBlocking {
			d.ReplicaSets[0].Blocking = append(d.ReplicaSets[0].Blocking, deployment.Pod{Name: p.Name, Created: p.Created, Phase: p.Phase, Node: p.Node, Reason: p.Reason, Image: p.Image, Message: p.Message})
		}
	}
	w.journal.Record(w.decideReplicaSet(set, script{}))
	w.journal.Record(w.decideDeployment(d, script{}))
	s := w.server(nil)
	v := s.scope(storyNow, subjectOf(t, s, "/deployments/shop/web"))
	if len(v.Pods) != 1 || v.Pods[0].Name != "50 waiting" || v.Pods[0].Note.String() != "each cannot pull shop/web:2 (not found); 28 of them are drawn" || v.Pods[0].Pending == "" {
		t.Errorf("what blocks is %+v", v.Pods)
	}
	if len(v.Rest) != 1 || v.Rest[0].Name != "900 new" || !strings.Contains(v.Rest[0].Note.String(), "too many to draw one by one, 10 more") {
		t.Errorf("the others are %+v", v.Rest)
	}
}

// TestEndingPodsBlockARecreate: what a Recreate waits for has lanes of its own.
func TestEndingPodsBlockARecreate(t *testing.T) {
	ending := &timeline.Pod{Name: "web-1-a", Pod: &replicaset.Pod{Name: "web-1-a", Terminating: true}, Steps: []timeline.Step{{At: drawnAt, Is: timeline.Ready}, {At: drawnAt.Add(time.Second), Is: timeline.Terminating}}}
	hold := func(kind decision.ActionKind) *telemetry.Trace {
		h := decision.Held{Kind: kind, Code: "pods-terminating", Blockers: []decision.Blocker{{Kind: "ReplicaSet", Name: "web-1"}}}
		return &telemetry.Trace{Rounds: []decision.Round{{Verdict: decision.Verdict{Held: []decision.Held{h}}}}}
	}
	if !blockedBy(hold(decision.CreateReplicaSet), "web-1", ending) {
		t.Error("a pod that a Recreate waits for does not block")
	}
	if blockedBy(hold(decision.CreateReplicaSet), "web-2", ending) || blockedBy(hold(decision.UpdateReplicaSet), "web-1", ending) {
		t.Error("a pod blocks that nothing waits for")
	}
	b, now := lanesAt()
	if v := b.single(ending, now); v.Tone != views.Waiting || !strings.HasPrefix(v.Note.String(), "is terminating, for ") {
		t.Errorf("its lane says %q", v.Note)
	}
}

// drawnAt is the moment at which the pictures of the tests are drawn.
var drawnAt = time.Date(2026, 11, 21, 3, 13, 4, 0, time.UTC)

// TestMissingPodsHaveALane that says why they are not there.
func TestMissingPodsHaveALane(t *testing.T) {
	rs := deployment.ReplicaSet{Name: "web-1", Mine: true, SameTemplate: true, Replicas: 10, StatusReplicas: 10}
	lane := missingPods(&rs)
	if lane != nil {
		t.Errorf("nothing is missing, and there is a lane %+v", lane)
	}
	rs.StatusReplicas, rs.Failure = 7, &decision.Condition{Reason: "FailedCreate", Message: "exceeded quota: small"}
	if lane = missingPods(&rs); lane == nil || lane.Name != "3 not created" || !strings.Contains(lane.Note.String(), "FailedCreate: exceeded quota: small") {
		t.Errorf("3 pods are refused, and the lane is %+v", lane)
	}
}

// TestTheAxisStandsStill while now moves.
func TestTheAxisStandsStill(t *testing.T) {
	var points []timeline.Point
	for i := range 40 {
		points = append(points, timeline.Point{At: drawnAt.Add(time.Duration(i-120) * time.Minute), NewSize: 10, Available: 10, Ceiling: 13, Floor: 8})
	}
	first, _ := scopeBase(points, drawnAt, time.Hour)
	moved := 0
	for i := range 60 {
		b, now := scopeBase(points, drawnAt.Add(time.Duration(i)*time.Minute), time.Hour)
		if b.to.Sub(b.from) != time.Hour || now.Before(b.from) || now.After(b.to) {
			t.Fatalf("after %d minutes the box is %s to %s and now %s", i, b.from, b.to, now)
		}
		if b.from != first.from {
			moved++
			first = b
		}
	}
	if moved == 0 || moved > 10 {
		t.Errorf("the axis moved %d times in an hour", moved)
	}
}
