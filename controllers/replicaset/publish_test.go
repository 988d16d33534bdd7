package replicaset_test

import (
	"testing"
	"time"

	"github.com/loopscope/loopscope/controllers/replicaset"
	"github.com/loopscope/loopscope/telemetry/decision"
)

// published is a ReplicaSet whose status shows everything.
func published(want int64, pods ...replicaset.Pod) *replicaset.Snapshot {
	s := &replicaset.Snapshot{Version: replicaset.SnapshotVersion, Kind: "ReplicaSet", Namespace: "shop", Name: "web", UID: "rs-1", RV: "7",
		Now: time.Date(2026, time.March, 14, 9, 30, 0, 0, time.UTC), Found: true, Generation: 2, Want: want, Burst: 500, CountTerminating: true, Pods: pods}
	s.Status = settle(s).Status
	return s
}

func settle(s *replicaset.Snapshot) replicaset.Report {
	return *run(s, decision.Try{}, nil, decision.Nobody).report
}

// pod is one on a node; without a word it is starting.
func pod(name string, is ...string) replicaset.Pod {
	p := replicaset.Pod{Name: name, UID: name, Mine: true, Matches: true, FullLabels: true, Phase: "Running", Node: "n"}
	for _, word := range is {
		switch word {
		case "ready":
			p.Ready = true
		case "ending":
			p.Terminating = true
		}
	}
	return p
}

// TestStatusWaits: [RS-9] a status that only grows waits for more, at most a
// second from the first change; anything that somebody may wait for does not.
func TestStatusWaits(t *testing.T) {
	cases := []struct {
		name   string
		was    *replicaset.Snapshot
		change func(*replicaset.Snapshot)
		hold   bool
	}{
		{"one of two came up", published(2, pod("a"), pod("b")), func(s *replicaset.Snapshot) { s.Pods[0].Ready = true }, true},
		{"held for half a second", published(2, pod("a"), pod("b")), func(s *replicaset.Snapshot) {
			s.Pods[0].Ready, s.Held = true, s.Now.Add(-decision.StatusWindow/2)
		}, true},
		{"held for a second", published(2, pod("a"), pod("b")), func(s *replicaset.Snapshot) {
			s.Pods[0].Ready, s.Held = true, s.Now.Add(-decision.StatusWindow)
		}, false},
		{"the last one came up", published(2, pod("a", "ready"), pod("b")), func(s *replicaset.Snapshot) { s.Pods[1].Ready = true }, false},
		{"one went", published(2, pod("a", "ready"), pod("b", "ready")), func(s *replicaset.Snapshot) { s.Pods = s.Pods[:1] }, false},
		{"one is no longer ready", published(2, pod("a", "ready"), pod("b", "ready")), func(s *replicaset.Snapshot) { s.Pods[1].Ready = false }, false},
		{"one is ready, and another one no longer", published(3, pod("a", "ready"), pod("b", "ready"), pod("c")), func(s *replicaset.Snapshot) {
			s.MinReady, s.Status.Available = 10, 0 // None has been ready for long enough.
			s.Pods[0].ReadySince, s.Pods[1].Ready = s.Now.Add(-time.Second), false
		}, false},
		{"one is no longer available", published(2, pod("a", "ready"), pod("b", "ready")), func(s *replicaset.Snapshot) {
			s.MinReady, s.Pods[0].ReadySince, s.Pods[1].ReadySince = 10, s.Now.Add(-time.Minute), s.Now.Add(-time.Second)
		}, false},
		{"as many as wanted came up, and one is too many", published(2, pod("a", "ready"), pod("b"), pod("c")), func(s *replicaset.Snapshot) { s.Pods[1].Ready = true }, true},
		{"a generation", published(2, pod("a", "ready"), pod("b", "ready")), func(s *replicaset.Snapshot) { s.Generation++ }, false},
		{"one of two ended", published(1, pod("a", "ready"), pod("b", "ending"), pod("c", "ending")), func(s *replicaset.Snapshot) { s.Pods = s.Pods[:2] }, true},
		{"the last one ended", published(1, pod("a", "ready"), pod("b", "ending")), func(s *replicaset.Snapshot) { s.Pods = s.Pods[:1] }, true},
		{"a Deployment gave it a larger size", published(2, pod("a", "ready")), func(s *replicaset.Snapshot) {
			s.Owner, s.Generation, s.Want = "web", s.Generation+1, 3
			s.Pods = append(s.Pods, pod("b"))
		}, true},
		{"somebody gave it a larger size", published(2, pod("a", "ready")), func(s *replicaset.Snapshot) {
			s.Generation, s.Want = s.Generation+1, 3
			s.Pods = append(s.Pods, pod("b"))
		}, false},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			c.change(c.was)
			r := settle(c.was)
			if r.Hold != c.hold || r.Publish == c.hold {
				t.Fatalf("hold %v and publish %v, want hold %v; changes %v", r.Hold, r.Publish, c.hold, r.Changes)
			}
			if rings := len(r.Timers) > 0 && r.Timers[0].Code == "status"; rings != c.hold {
				t.Fatalf("timers %v", r.Timers)
			}
		})
	}
}

// TestDeletedPodsDoNotCount: a pod that this process deleted is out of the
// status although the cache still shows it, and ends if it is on a node.
func TestDeletedPodsDoNotCount(t *testing.T) {
	s := published(1, pod("a", "ready"), pod("b", "ready"))
	s.Pods[1].Expected, s.Expect.Deletes = true, 1
	if st := settle(s).Status; st.Replicas != 1 || st.Ready != 1 || st.Available != 1 || *st.Terminating != 1 {
		t.Fatalf("status %+v with %d ending", st, *st.Terminating)
	}
	s.Pods[1].Node = ""
	if st := settle(s).Status; *st.Terminating != 0 {
		t.Fatalf("%d ending, of one that is on no node", *st.Terminating)
	}
}

// TestAvailableIsReady: [P-1] a pod counts as available if it is ready, and has been
// for minReadySeconds; one that no longer is counts as neither, whenever it was.
func TestAvailableIsReady(t *testing.T) {
	for _, c := range []struct {
		name            string
		ready           bool
		since           time.Duration
		minReady        int64
		readies, enough int64
	}{
		{"ready, nothing asked", true, 0, 0, 1, 1},
		{"not ready, nothing asked", false, time.Hour, 0, 0, 0},
		{"ready for just long enough", true, 10 * time.Second, 10, 1, 1},
		{"ready for a moment less", true, 10*time.Second - 1, 10, 1, 0},
		{"no longer ready", false, time.Hour, 10, 0, 0},
	} {
		s := published(1, pod("a"))
		s.MinReady, s.Pods[0].Ready, s.Pods[0].ReadySince = c.minReady, c.ready, s.Now.Add(-c.since)
		if got := settle(s).Status; got.Ready != c.readies || got.Available != c.enough {
			t.Errorf("%s: %d ready and %d available, want %d and %d", c.name, got.Ready, got.Available, c.readies, c.enough)
		}
	}
}
