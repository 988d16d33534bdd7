package replicaset_test

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/loopscope/loopscope/controllers/replicaset"
)

// TestForecastIsWhatADecisionDeletes: whatever the pods are like, those that a
// smaller size deletes are the first of the forecast, with the same facts.
func TestForecastIsWhatADecisionDeletes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := genSnapshot(t)
		s.Found, s.Deleting, s.Echo, s.SelectorError, s.Expect, s.Burst = true, false, nil, "", replicaset.Expectations{}, 500
		all, of := replicaset.Forecast(s, len(s.Pods))
		if of != len(all) {
			t.Fatalf("%d of %d are ranked", len(all), of)
		}
		if len(all) < 2 {
			return
		}
		s.Want = rapid.Int64Range(1, int64(len(all))-1).Draw(t, "want")
		for _, a := range replicaset.Decide(s).Actions {
			for i, v := range a.Victims {
				if all[i].Name != v.Name || all[i].Rank != v.Rank || len(all[i].Facts) != len(v.Facts) {
					t.Fatalf("%s goes at place %d, the forecast has %s there", v.Name, v.Rank, all[i].Name)
				}
			}
		}
	})
}

// TestForecastSaysWhy holds a reason for every criterion, each compared with the
// pod that follows.
func TestForecastSaysWhy(t *testing.T) {
	for _, c := range []struct {
		because, says string
		first         []change
		minReady      int64
		siblings      map[string]int64
	}{
		{"unassigned", "is not scheduled, b is", []change{node(""), unready, phase("Pending")}, 0, nil},
		{"phase", "is Pending, b is Running", []change{phase("Pending"), unready}, 0, nil},
		{"ready", "is not ready, b is", []change{unready}, 0, nil},
		{"settling", "is ready but not available yet, b is available", []change{readyFor(time.Minute)}, 120, nil},
		{"cost", "has the lower deletion cost: -5 against 0 of b", []change{cost(-5)}, 0, nil},
		{"colocated", "is on a node with 3 pods of its owner, b on one with 1", []change{node("node-2")}, 0, map[string]int64{"node-1": 1, "node-2": 3}},
		{"readySince", "has been ready for a shorter time: 1m against 1h of b", []change{readyFor(time.Minute)}, 0, nil},
		{"restarts", "was restarted more often: 4 times against 0 of b", []change{restarted(4)}, 0, nil},
		{"restarts", "was restarted more often: 2 times against 0 of b", []change{sidecars(2)}, 0, nil},
		{"age", "is younger: 1h 1m against 2h of b", []change{created(61 * time.Minute)}, 0, nil},
		{"age", "has no creation time, b has one", []change{noCreation}, 0, nil},
		{"readySince", "has no Ready time, b has one", []change{readyNoTime}, 0, nil},
		{"uid", "ties with b in all that counts, so the UIDs decide", nil, 0, nil},
	} {
		s := sized(2, running("a", c.first...), running("b"))
		s.MinReady, s.Siblings = c.minReady, c.siblings
		got, _ := replicaset.Forecast(s, 5)
		if len(got) != 2 || got[0].Name != "a" || got[0].Because != c.because || got[0].Words.At(now) != c.says {
			t.Errorf("%s: %+v says %q", c.because, got[0].Because, got[0].Words.At(now))
		}
		if got[1].Because != "last" {
			t.Errorf("%s: the last pod goes because of %s", c.because, got[1].Because)
		}
	}
}

// TestForecastCountsWhatADecisionCounts leaves out what no decision would delete.
func TestForecastCountsWhatADecisionCounts(t *testing.T) {
	ending, finished, orphan := running("ending"), running("finished", phase("Succeeded")), running("orphan")
	ending.Terminating, orphan.Mine, orphan.Matches = true, false, false
	var names []string
	fates, _ := replicaset.Forecast(sized(3, ending, finished, orphan, running("stays")), 10)
	for _, f := range fates {
		names = append(names, f.Name)
	}
	if !slices.Equal(names, []string{"stays"}) {
		t.Errorf("the forecast ranks %q", names)
	}
	if got, of := replicaset.Forecast(sized(3, running("a")), -1); len(got) != 0 || of != 1 {
		t.Errorf("none was asked for, %d of %d came", len(got), of)
	}
}

// TestForecastOfTies says what puts a pod before those that differ, and then
// what puts it before the one that is like it.
func TestForecastOfTies(t *testing.T) {
	got, _ := replicaset.Forecast(sized(3, running("a", unready), running("b", unready), running("c")), 1)
	if said := got[0].Words.At(now); got[0].Because != "ready" || said != "is not ready, c is; the UIDs put it before b" {
		t.Errorf("because of %s it %s", got[0].Because, said)
	}
}
