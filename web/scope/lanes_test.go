package scope

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
	"github.com/loopscope/loopscope/web/source"
	"github.com/loopscope/loopscope/web/timeline"
)

// TestPicturesStopInAnOutage where the API server served last, or at the newest sync after that.
func TestPicturesStopInAnOutage(t *testing.T) {
	wentDown := drawnAt.Add(-5 * time.Minute)
	cut := source.Outage{Outage: telemetry.Outage{Began: wentDown}, On: true}
	before, after := []timeline.Point{{At: wentDown.Add(-time.Minute)}}, []timeline.Point{{At: wentDown.Add(time.Minute)}}
	for _, c := range []struct {
		name      string
		of        source.Outage
		points    []timeline.Point
		now, want time.Time
	}{
		{"no outage", source.Outage{}, before, drawnAt, drawnAt},
		{"nothing since", cut, before, drawnAt, wentDown},
		{"a sync since", cut, after, drawnAt, wentDown.Add(time.Minute)},
		{"over before", cut, before, wentDown.Add(-time.Second), wentDown.Add(-time.Second)},
	} {
		if got := knownTo(c.of, c.points, c.now); !got.Equal(c.want) {
			t.Errorf("%s: to %s, want %s", c.name, got.Format(time.TimeOnly), c.want.Format(time.TimeOnly))
		}
	}
	box := scopeBox{from: drawnAt.Add(-10 * time.Minute), to: drawnAt.Add(10 * time.Minute), most: 1}
	v := box.sizes([]timeline.Point{{At: drawnAt.Add(-9 * time.Minute), Available: 1}}, wentDown, drawnAt)
	if !strings.HasSuffix(v.Available, "H"+box.x(wentDown)) || v.Now != box.x(drawnAt) {
		t.Errorf("the line %s ends elsewhere than at %s, or now is not at %s", v.Available, box.x(wentDown), v.Now)
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
