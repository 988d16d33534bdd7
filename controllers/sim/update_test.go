package sim_test

import (
	"fmt"
	"slices"
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
		if e := sim.EstimateOf(c.s, decision.Round{}); e != nil {
			got = e.Words.At(c.s.Now)
		}
		if got != c.words {
			t.Errorf("%s: %q, not %q", c.name, got, c.words)
		}
	}
}

// TestUpdateModelledDuringItsTakeOver: a model that is made of any state of a take-over has
// each pod once, ready since when it was, and ends at once: no pod is counted anew.
func TestUpdateModelledDuringItsTakeOver(t *testing.T) {
	start := updating(5, request(t, `,"updatePeriod":"1s"`))
	start.Old.MinReady = 30
	c, err := sim.FromRollingUpdate(start)
	if err != nil {
		t.Fatal(err)
	}
	states := map[string]*rollingupdate.Snapshot{}
	for range 500 {
		c.Run(sim.Bound{Syncs: 1})
		s := c.Update()
		if s.Old.Parked == nil {
			continue
		}
		name := fmt.Sprintf("there %t, lets go %t, %d free, sealed %t", s.New != nil, s.New != nil && s.New.LetsGo, len(s.Free), s.Old.Parked.Account != nil)
		states[name] = s
		switch {
		case s.New == nil:
		case s.New.LetsGo: // Its loop releases them one by one.
			states[name+", none yet"] = held(s, len(s.Free))
			states[name+", some yet"] = held(s, 2)
		default:
			all := *s
			all.Strays = s.New.Pods
			states[name+", to be released"] = &all
		}
	}
	if len(states) < 5 {
		t.Fatalf("only %d states were seen", len(states))
	}
	for name, s := range states {
		t.Run(name, func(t *testing.T) {
			c, err := sim.FromRollingUpdate(s)
			if err != nil {
				t.Fatal(err)
			}
			r := c.Run(sim.Bound{})
			for i := range r.Steps {
				if pods, n := podsIn(&r.Steps[i]), r.Steps[i].Available; pods != 5 || n != 5 {
					t.Fatalf("after %s there are %d pods, %d available: %s", r.Steps[i].At.Sub(r.Began), pods, n, left(r.Steps[:i+1]))
				}
			}
			if got := left(r.Steps); r.End != sim.Complete || got != "web 5/5 new" || r.Ended.Sub(r.Began) > 5*time.Second {
				t.Errorf("ends %s after %s with %s: %s", r.End, r.Ended.Sub(r.Began), got, r.Sentence.At(r.At))
			}
		})
	}
}

// held is a take-over in which the new one has n of its pods yet, as a sync observes them:
// they are its own, and match what takes them over.
func held(s *rollingupdate.Snapshot, n int) *rollingupdate.Snapshot {
	x, of := *s, *s.New
	x.New = &of
	of.Pods = append(slices.Clone(of.Pods), s.Free[:n]...)
	x.Strays, x.Free = s.Free[:n:n], s.Free[n:]
	of.Replicas = int64(n)
	return &x
}

func podsIn(s *sim.Step) (n int64) {
	for _, one := range s.Sets {
		n += one.Pods
	}
	return n
}
