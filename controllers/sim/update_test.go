package sim_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/loopscope/loopscope/controllers/rollingupdate"
	"github.com/loopscope/loopscope/controllers/sim"
	"github.com/loopscope/loopscope/telemetry/decision"
)

// request is one with those fields, and otherwise with the defaults of kubectl.
func request(t interface{ Fatal(...any) }, fields string) *rollingupdate.Request {
	r, err := rollingupdate.ParseRequest(`{"version":1,"id":"a","image":"web:2"` + fields + `}`)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// updating is an update of a ReplicationController of which all pods are available.
func updating(size int64, r *rollingupdate.Request) *rollingupdate.Snapshot {
	s := &rollingupdate.Snapshot{Version: rollingupdate.SnapshotVersion, Now: time.Date(2026, 11, 26, 3, 0, 0, 0, time.UTC), Namespace: "shop", Name: "web",
		Request: r, NewName: "web-7d", OldKey: "5b", NewKey: "7d", Old: &rollingupdate.Controller{
			Name: "web", UID: "w", RV: "1", Generation: 1, Observed: 1, Size: size, Replicas: size, Containers: []rollingupdate.Container{{Name: "web", Image: "web:1"}}}}
	for i := range size {
		name := fmt.Sprintf("web-%03d", i)
		s.Old.Pods = append(s.Old.Pods, rollingupdate.Pod{UID: name, RV: "1", Pod: decision.Pod{Name: name, Phase: "Running", Node: "n", Ready: true, ReadySince: s.Now.Add(-time.Hour), Created: s.Now.Add(-time.Hour)}})
	}
	return s
}

// TestUpdate: an update in the model comes to the end that its request asks for.
func TestUpdate(t *testing.T) {
	for _, c := range []struct {
		name   string
		fields string
		edit   sim.Edit
		end    sim.End
		code   string
		sets   string // that are left, with their sizes
	}{
		{"renamed", "", nil, sim.Complete, "complete", "web 3/3 new"},
		{"deleted", `,"cleanup":"delete"`, nil, sim.Complete, "complete", "web-7d 3/3 new"},
		{"preserved", `,"cleanup":"preserve"`, nil, sim.Complete, "complete", "web 0/0, web-7d 3/3 new"},
		{"paused", `,"paused":true`, nil, sim.Waiting, "paused", "web 3/3"},
		{"new pods that never come", "", sim.NewPods("", sim.Stuck("ImagePullBackOff")), sim.Overdue, "image-pull", "web 3/3, web-7d 1/0 new"},
		{"taken back at once", `,"abort":true`, nil, sim.Aborted, "aborted", "web 3/3"},
		{"no such container", `,"container":"x"`, nil, sim.Failed, "no-container", "web 3/3"},
	} {
		t.Run(c.name, func(t *testing.T) {
			cluster, err := sim.FromRollingUpdate(updating(3, request(t, c.fields)))
			if err != nil {
				t.Fatal(err)
			}
			if c.edit != nil {
				cluster.Edit(c.edit)
			}
			r := cluster.Run(sim.Bound{})
			if got := left(r.Steps); r.End != c.end || r.Sentence.Code != c.code || got != c.sets {
				t.Errorf("ends %s (%s) with %s: %s", r.End, r.Sentence.Code, got, r.Sentence.At(r.At))
			}
			t.Logf("%s %s: %s", r.Ended.Sub(r.Began), r.End, r.Sentence.At(r.At))
		})
	}
}

// left are the sizes after the last step.
func left(steps []sim.Step) (text string) {
	for i, s := range steps[len(steps)-1].Sets {
		if i > 0 {
			text += ", "
		}
		if text += fmt.Sprintf("%s %d/%d", s.Name, s.Replicas, s.Available); s.New {
			text += " new"
		}
	}
	return text
}

// TestUpdateEstimate: an update of which new pods have become ready completes when its
// periods and its pods say so; otherwise it says why nobody knows, where its sentence does not.
func TestUpdateEstimate(t *testing.T) {
	of := func(fields string, change func(*rollingupdate.Snapshot)) *rollingupdate.Snapshot {
		c, err := sim.FromRollingUpdate(updating(3, request(t, fields)))
		if err != nil {
			t.Fatal(err)
		}
		c.Run(sim.Bound{Time: 61 * time.Second}) // The second new pod is on its way.
		s := c.Update()
		change(s)
		return s
	}
	for _, c := range []struct {
		name  string
		s     *rollingupdate.Snapshot
		words string
	}{
		{"under way", of("", func(*rollingupdate.Snapshot) {}), "Completes in 1m 59s, as 1 pod became ready in 5s; 3 steps are left"},
		{"no period", of(`,"updatePeriod":"1m"`, func(s *rollingupdate.Snapshot) { *s.Request.UpdatePeriod = 0 }), "Completes in 9s, as 1 pod became ready in 5s; 3 steps are left"},
		{"paused", of("", func(s *rollingupdate.Snapshot) { s.Request.Paused = true }), ""},
		{"taken back", of("", func(s *rollingupdate.Snapshot) { s.Request.Abort = true }), ""},
		{"not begun", updating(3, request(t, "")), ""},
		{"nobody asks", of("", func(s *rollingupdate.Snapshot) { s.Request = nil }), ""},
		{"a pod that never comes", of("", func(s *rollingupdate.Snapshot) { s.New.Pods[1].Reason = "ImagePullBackOff" }), "It cannot complete until that is resolved"},
		{"a pod that is slower than any", of("", func(s *rollingupdate.Snapshot) { s.Now = s.Now.Add(time.Minute) }), "No estimate: a new pod takes longer than any before it"},
		{"no new pod yet", of("", func(s *rollingupdate.Snapshot) { s.New.Pods = nil }), "No estimate: no new pod has become ready yet"},
	} {
		got := ""
		if e := sim.EstimateOf(c.s, decision.Learnt{}); e != nil {
			got = e.Words.At(c.s.Now)
		}
		if got != c.words {
			t.Errorf("%s: %q, not %q", c.name, got, c.words)
		}
	}
}
