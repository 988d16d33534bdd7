package sim_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/loopscope/loopscope/controllers/deployment"
	"github.com/loopscope/loopscope/controllers/sim"
)

// recorded is a rollout as a trace would have recorded it: 8 old pods, of 5 new
// ones none can pull its image.
func recorded(t *testing.T) *deployment.Snapshot {
	t.Helper()
	c := from(t, web())
	c.Run(sim.Bound{})
	c.Edit(sim.Images("nginx:404"), sim.NewPods("", sim.Stuck("ImagePullBackOff")))
	c.Run(sim.Bound{Time: time.Minute})
	data, err := json.Marshal(c.Snapshot())
	if err != nil {
		t.Fatal(err)
	}
	s, err := deployment.Decode(data)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func from(t *testing.T, s *deployment.Snapshot) *sim.Cluster {
	t.Helper()
	c, err := sim.From(s)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestWhatIf edits one recorded snapshot in every way and says how it would go on.
func TestWhatIf(t *testing.T) {
	s := recorded(t)
	fresh, stuck := "", ""
	for _, rs := range s.ReplicaSets {
		if rs.SameTemplate {
			fresh, stuck = rs.Name, rs.Blocking[0].Name
		}
	}
	well := sim.Pods(fresh, sim.ReadyAfter(time.Second))
	for name, tc := range map[string]struct {
		edits []sim.Edit
		end   sim.End
		code  string
		asked int64
		after time.Duration // the last write was; 0 for any
	}{
		"nothing":             {nil, sim.Overdue, "image-pull", 13, 601 * time.Second},
		"no deadline":         {[]sim.Edit{sim.Deadline(0)}, sim.Waiting, "image-pull", 13, 0},
		"sooner":              {[]sim.Edit{sim.Deadline(90)}, sim.Overdue, "image-pull", 13, 91 * time.Second},
		"its pods get well":   {[]sim.Edit{well}, sim.Complete, "settled", 10, 2 * time.Second},
		"one pod gets well":   {[]sim.Edit{sim.Pod(stuck, sim.ReadyAfter(time.Second))}, sim.Overdue, "image-pull", 13, 605 * time.Second},
		"undo":                {[]sim.Edit{sim.Undo("web-1")}, sim.Complete, "settled", 10, 5 * time.Second},
		"another image":       {[]sim.Edit{sim.Images("nginx:2")}, sim.Complete, "settled", 10, 10 * time.Second},
		"fewer":               {[]sim.Edit{sim.Replicas(4)}, sim.Overdue, "image-pull", 5, 601 * time.Second},
		"none":                {[]sim.Edit{sim.Replicas(0)}, sim.Complete, "settled", 0, 0},
		"paused":              {[]sim.Edit{sim.Pause(true)}, sim.Waiting, "paused-pending", 13, 0},
		"all at once":         {[]sim.Edit{sim.Strategy("Recreate")}, sim.Overdue, "image-pull", 10, 0},
		"unknown strategy":    {[]sim.Edit{sim.Strategy("Bold")}, sim.Failed, "invalid", 13, 0},
		"more room":           {[]sim.Edit{sim.Surge(deployment.IntOrPercent{Int: 20})}, sim.Overdue, "image-pull", 18, 603 * time.Second},
		"well, but only late": {[]sim.Edit{well, sim.MinReady(30)}, sim.Complete, "settled", 10, 0},
		"well without room":   {[]sim.Edit{well, func(c *sim.Cluster) { c.Rules.Quota = 13 }}, sim.Complete, "settled", 10, 0},
	} {
		c := from(t, s)
		c.Edit(tc.edits...)
		r := c.Run(sim.Bound{})
		last := r.Steps[len(r.Steps)-1]
		if r.End != tc.end || r.Sentence.Code != tc.code || last.Asked != tc.asked || tc.after > 0 && r.Ended.Sub(r.Began) != tc.after || r.Ended.After(r.At) {
			t.Errorf("%s: %s (%s) after %s, %d asked for: %s", name, r.End, r.Sentence.Code, r.Ended.Sub(r.Began), last.Asked, r.Sentence.At(r.At))
		}
	}
}

// TestEndHasNoAge: how long what a run comes to has been so is nothing that anybody knows, however
// the run is cut and however long a deadline keeps the clock going.
func TestEndHasNoAge(t *testing.T) {
	for name, edits := range map[string][]sim.Edit{
		"more":       {sim.Replicas(12)},
		"fewer":      {sim.Replicas(4)},
		"image":      {sim.Images("nginx:2"), sim.Replicas(11)},
		"recreate":   {sim.Strategy("Recreate"), sim.Images("nginx:2")},
		"one by one": {sim.Surge(deployment.IntOrPercent{}), sim.Unavailable(deployment.IntOrPercent{Int: 1}), sim.Images("nginx:2")},
		"no change":  nil,
	} {
		for _, syncs := range []int{0, 1, 7, 30} {
			c := from(t, web())
			c.Run(sim.Bound{})
			c = from(t, c.Snapshot())
			c.Edit(edits...)
			r := c.Run(sim.Bound{Syncs: syncs})
			for r.End == sim.Unsettled {
				r = c.Run(sim.Bound{Syncs: syncs})
			}
			if text := r.Sentence.At(r.At); r.End != sim.Complete || edits != nil && strings.Contains(text, " for ") {
				t.Errorf("%s, %d syncs at a time: %s: %s", name, syncs, r.End, text)
			}
		}
	}
}

// TestFromRefuses: what cannot be modelled is said.
func TestFromRefuses(t *testing.T) {
	gone, large := web(), web()
	gone.Found = false
	large.ReplicaSets = []deployment.ReplicaSet{{Name: "web-0", UID: "0", StatusReplicas: sim.MaxPods}, {Name: "web-1", UID: "1", TerminatingNow: 1}}
	for want, s := range map[string]*deployment.Snapshot{"no Deployment": gone, "more than 5000 pods": large} {
		if _, err := sim.From(s); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want an error with %q", err, want)
		}
	}
	large.ReplicaSets[0].StatusReplicas--
	if _, err := sim.From(large); err != nil {
		t.Errorf("as many pods as there may be: %v", err)
	}
}

// TestFromKeepsTheSnapshot: a snapshot is only read, and comes back as it was
// where nothing has happened.
func TestFromKeepsTheSnapshot(t *testing.T) {
	s := recorded(t)
	before, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	c := from(t, s)
	modelled, _ := json.Marshal(c.Snapshot())
	c.Edit(sim.Replicas(2), sim.Images("nginx:3"))
	c.Run(sim.Bound{})
	if after, _ := json.Marshal(s); string(after) != string(before) {
		t.Errorf("the snapshot changed:\n%s", cmp.Diff(string(before), string(after)))
	}
	if string(modelled) != string(before) {
		t.Errorf("the model differs:\n%s", cmp.Diff(string(before), string(modelled)))
	}
}

// TestQuota: pods beyond it are refused, which the loops tell, and come once
// there is room.
func TestQuota(t *testing.T) {
	c := from(t, web())
	c.Rules.Quota = 4
	r := c.Run(sim.Bound{})
	if r.End != sim.Overdue || r.Steps[len(r.Steps)-1].Sets[0].Pods != 4 {
		t.Fatalf("ends %s: %s\n%s", r.End, r.Sentence.At(r.At), story(r.Steps))
	}
	c.Edit(sim.Replicas(3))
	if r = c.Run(sim.Bound{}); r.End != sim.Complete {
		t.Fatalf("ends %s: %s", r.End, r.Sentence.At(r.At))
	}
}

// TestBound: a run that is cut short says so and can be taken up again.
func TestBound(t *testing.T) {
	c := from(t, web())
	for _, b := range []sim.Bound{{Syncs: 3}, {Time: time.Second}} {
		if r := c.Run(b); r.End != sim.Unsettled || !r.At.Equal(c.Now()) {
			t.Errorf("%+v: ends %s, as of %s", b, r.End, r.At)
		}
	}
	began := c.Now()
	c.EditAt(began.Add(time.Hour), sim.Images("nginx:2"))
	r := c.Run(sim.Bound{})
	if after := r.Ended.Sub(began); r.End != sim.Complete || after < time.Hour || after > time.Hour+time.Minute {
		t.Errorf("ends %s after %s", r.End, after)
	}
}
