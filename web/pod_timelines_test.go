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
		set(26, nil, podEvent(telemetry.CauseModified, at(25), decision.Change{Field: "status.conditions[Ready]", From: "true", To: "false"})), // as it stops
		set(31, nil, podEvent(telemetry.CauseDeleted, at(30))))
	newest := traces[len(traces)-1]
	lives, _ = timeline.Of(testLoops, traces, newest, storyNow)
	if got := stepsOf(lives[0], storyNow); got != "1s not running, 5s not ready, 9s ready, 20s terminating, 30s gone" || !lives[0].Over() || lives[0].Available(at(31)) {
		t.Errorf("to its end it is %q", got)
	}
	// Where the syncs between are not kept, the snapshots at both ends say as much as they can.
	lives, _ = timeline.Of(testLoops, []*telemetry.Trace{traces[3], newest}, newest, at(9))
	if got := stepsOf(lives[0], storyNow); got != "1s not running, 9s ready, 30s gone" {
		t.Errorf("of the two ends it is %q", got)
	}
}

// A pod that no kubelet runs yet is gone before the sync ends that deletes it.
func TestGoneWithinItsSync(t *testing.T) {
	at := func(seconds int) time.Time { return storyNow.Add(time.Duration(seconds) * time.Second) }
	traces := []*telemetry.Trace{
		{Started: at(1), Ended: at(1), Causes: []telemetry.Cause{podEvent(telemetry.CauseAdded, at(1))}},
		{Started: at(2), Ended: at(4), Rounds: []decision.Round{{
			Verdict:  decision.Verdict{Actions: []decision.Action{{Kind: decision.DeletePods, Victims: []decision.Victim{{Name: "web-1-a"}}}}},
			Outcomes: []decision.Outcome{{State: decision.Written}},
		}}},
		{Started: at(5), Ended: at(5), Causes: []telemetry.Cause{podEvent(telemetry.CauseDeleted, at(3))}},
	}
	lives, _ := timeline.Of(testLoops, traces, traces[2], storyNow)
	if got := stepsOf(lives[0], storyNow); got != "1s not running, 2s terminating, 3s gone" {
		t.Errorf("its steps are %q", got)
	}
}

// setOf is a sync of a ReplicaSet that saw those pods. What woke it and what it did is for the caller to say.
func setOf(w *world, at time.Time, expect replicaset.Expectations, pods ...replicaset.Pod) *telemetry.Trace {
	s := &replicaset.Snapshot{Version: 1, Now: at, Kind: "ReplicaSet", Found: true, Namespace: "shop", Name: "web-1", UID: "r", RV: "7", Want: int64(len(pods)), Expect: expect, Pods: pods}
	x := w.decideReplicaSet(s, script{})
	x.Rounds = nil
	return x
}

// created has the sync create that pod, deleted delete it.
func created(t *telemetry.Trace, name string) *telemetry.Trace {
	t.Rounds = []decision.Round{{Verdict: decision.Verdict{Actions: []decision.Action{{Kind: decision.CreatePods, Count: 1}}},
		Outcomes: []decision.Outcome{{State: decision.Written, Names: []string{name}}}}}
	return t
}

func deleted(t *telemetry.Trace, o decision.Outcome, names ...string) *telemetry.Trace {
	a := decision.Action{Kind: decision.DeletePods}
	for _, name := range names {
		a.Victims = append(a.Victims, decision.Victim{Name: name})
	}
	t.Rounds = []decision.Round{{Verdict: decision.Verdict{Actions: []decision.Action{a}}, Outcomes: []decision.Outcome{o}}}
	return t
}

// TestEndsThatWereOnlyCounted: of a pod whose end was not recorded the snapshots say when it went, or that it
// may not be in the cache yet.
func TestEndsThatWereOnlyCounted(t *testing.T) {
	w := newWorld(t, storyNow)
	at := func(seconds int) time.Time { return storyNow.Add(time.Duration(seconds) * time.Second) }
	none := replicaset.Expectations{}
	waits := replicaset.Expectations{Creates: 3, Since: at(1), Expires: at(301)}
	pod := replicaset.Pod{Name: "web-1-a", UID: "a", Mine: true, Matches: true, Created: at(1), Phase: "Pending"}
	written := decision.Outcome{State: decision.Written}
	quiet := func(from, to int) (list []*telemetry.Trace) {
		for i := from; i < to; i++ {
			list = append(list, setOf(w, at(i), none))
		}
		return list
	}
	for name, c := range map[string]struct {
		traces []*telemetry.Trace
		want   string
	}{
		"deleted": {append([]*telemetry.Trace{created(setOf(w, at(1), none), pod.Name), setOf(w, at(5), none, pod), deleted(setOf(w, at(10), none, pod), written, pod.Name),
			setOf(w, at(20), none, pod)}, quiet(40, 400)...), "1.018s not running, 10s terminating, 40s gone"},
		"deleted, and others were not": {append([]*telemetry.Trace{created(setOf(w, at(1), none), pod.Name),
			deleted(setOf(w, at(10), none, pod), decision.Outcome{State: decision.Partly, Names: []string{pod.Name}}, pod.Name, "web-1-b")}, quiet(40, 60)...), "1.018s not running, 10s terminating, 40s gone"},
		"its end with its deletion": {append([]*telemetry.Trace{created(setOf(w, at(1), none), pod.Name), setOf(w, at(5), none, pod)}, quiet(40, 60)...), "1.018s not running, 40s gone"},
		"gone before it was seen":   {append([]*telemetry.Trace{created(setOf(w, at(1), none), pod.Name), setOf(w, at(2), waits)}, quiet(40, 60)...), "1.018s not running, 40s gone"},
		"not seen yet":              {[]*telemetry.Trace{created(setOf(w, at(1), none), pod.Name), setOf(w, at(2), waits)}, "1.018s not running"},
		"just created":              {[]*telemetry.Trace{setOf(w, at(0), none), created(setOf(w, at(1), none), pod.Name)}, "1.018s not running"},
		"not seen, then seen":       {append([]*telemetry.Trace{created(setOf(w, at(1), none), pod.Name), setOf(w, at(2), waits), setOf(w, at(3), none, pod)}, quiet(40, 60)...), "1.018s not running, 40s gone"},
	} {
		lives, _ := timeline.Of(testLoops, c.traces, c.traces[len(c.traces)-1], storyNow)
		i := slices.IndexFunc(lives, func(l *timeline.Pod) bool { return l.Name == pod.Name })
		if got := stepsOf(lives[i], storyNow); got != c.want {
			t.Errorf("%s: its steps are %q, want %q", name, got, c.want)
		}
	}
}

// TestManyEndsReadFewSnapshots: where more ends are unknown than snapshots are read, each is no earlier than it was.
func TestManyEndsReadFewSnapshots(t *testing.T) {
	w := newWorld(t, storyNow)
	at := func(seconds int) time.Time { return storyNow.Add(time.Duration(seconds) * time.Second) }
	const n = 120
	var pods []replicaset.Pod
	for i := range n {
		pods = append(pods, replicaset.Pod{Name: fmt.Sprintf("web-1-%03d", i), UID: fmt.Sprint(i), Mine: true, Matches: true, Created: at(0), Phase: "Pending"})
	}
	var traces []*telemetry.Trace
	for i := range n + 1 { // One goes before each.
		traces = append(traces, setOf(w, at(i), replicaset.Expectations{}, pods[i:]...))
	}
	lives, _ := timeline.Of(testLoops, traces, traces[n], storyNow)
	exact := 0
	for i, l := range lives {
		last := l.Steps[len(l.Steps)-1]
		if last.Is != timeline.Gone || last.At.Before(at(i+1)) || last.At.After(at(n)) {
			t.Errorf("%s: %s, and it went after %ds", l.Name, stepsOf(l, storyNow), i+1)
		}
		if last.At.Equal(at(i + 1)) {
			exact++
		}
	}
	if len(lives) != n || exact == 0 || exact == n {
		t.Errorf("of %d pods the ends of %d are exact", len(lives), exact)
	}
}

// TestScopeOfTheStory reads the lanes of the rollout that is stuck.
func TestScopeOfTheStory(t *testing.T) {
	w := newWorld(t, storyNow.Add(-2*time.Hour))
	stuckRollout(w)
	s := w.server(nil)
	x := subjectOf(t, s, "/deployments/shop/web")
	v := s.objects.Rollout(storyNow, x)
	if len(v.Pods) != 3 || len(v.Rest) != 2 || v.Rest[0].Name != "7 new" || v.Rest[1].Count != 10 {
		t.Fatalf("%d pods block, the rest is %+v", len(v.Pods), v.Rest)
	}
	for _, l := range v.Pods {
		if note := l.Note.String(); !strings.Contains(note, "cannot pull registry.example/shop/web:3.4.0 (not found)") || l.Tone != views.Waiting || l.Thick != "" {
			t.Errorf("the lane of %s says %q", l.Own, note)
		}
	}
	for _, want := range []string{"shop/web is waiting: 3 new pods cannot pull", "10 new, 1 old, 8 available; floor 8, ceiling 13.",
		"Pod " + v.Pods[0].Owner + v.Pods[0].Own + " cannot pull registry.example/shop/web:3.4.0 (not found), for 13m."} {
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
	v = s.objects.Rollout(storyNow, subjectOf(t, s, "/deployments/shop/web?pod="+asked))
	if len(v.Pods)+len(v.MorePods) != 4 || v.Pods[0].Owner+v.Pods[0].Own != asked || v.Pods[0].Note.String() != "is available" || v.Pods[0].Tone != views.Idle {
		t.Errorf("the pod that was asked for has no lane in front: %+v", v.Pods[0])
	}
}

// TestWindows follows the lengths that a page offers: the one that is shown
// leads nowhere, and every step keeps it.
func TestWindows(t *testing.T) {
	_, base := told(t)
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
	v := s.objects.Rollout(storyNow, x)
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
	v := s.objects.Rollout(storyNow, subjectOf(t, s, "/deployments/shop/web"))
	if len(v.Pods) != 1 || v.Pods[0].Name != "50 waiting" || v.Pods[0].Note.String() != "each cannot pull shop/web:2 (not found); 28 of them are drawn" || v.Pods[0].Pending == "" {
		t.Errorf("what blocks is %+v", v.Pods)
	}
	if len(v.Rest) != 1 || v.Rest[0].Name != "900 new" || !strings.Contains(v.Rest[0].Note.String(), "too many to draw one by one, 10 more") {
		t.Errorf("the others are %+v", v.Rest)
	}
}
