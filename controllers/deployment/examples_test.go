package deployment_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/loopscope/loopscope/controllers/deployment"
)

// example is a Deployment of the tables of worked examples: its ReplicaSets from the
// newest to the oldest, and the sizes they have after one sync.
type example struct {
	name               string
	want, was          int64
	surge, unavailable int64
	noNew              bool
	sizes, available   []int64
	desired            []int64 // where not all are noted for was
	after              []int64
	leaf               string
}

func (e example) snapshot() *deployment.Snapshot {
	now := time.Date(2026, 11, 21, 3, 13, 0, 0, time.UTC)
	s := &deployment.Snapshot{Version: 1, Now: now, Found: true, Namespace: "shop", Name: "web", UID: "d", Want: e.want, Strategy: "RollingUpdate",
		MaxSurge: &deployment.IntOrPercent{Int: e.surge}, MaxUnavailable: &deployment.IntOrPercent{Int: e.unavailable}, NextName: "web-next"}
	for i, n := range e.sizes {
		was := e.was
		if e.desired != nil {
			was = e.desired[i]
		}
		rs := deployment.ReplicaSet{Name: fmt.Sprintf("web-%d", i), UID: fmt.Sprint(i), Mine: true, Matches: true, Created: now.Add(-time.Duration(i) * time.Hour),
			Replicas: n, StatusReplicas: n, Available: n, SameTemplate: i == 0 && !e.noNew, Revision: fmt.Sprint(9 - i),
			Desired: fmt.Sprint(was), Max: fmt.Sprint(was + e.surge)}
		if e.available != nil {
			rs.Available = e.available[i]
		}
		s.ReplicaSets = append(s.ReplicaSets, rs)
	}
	return s
}

func (e example) check(t *testing.T) {
	t.Helper()
	v := deployment.Decide(e.snapshot())
	after := append([]int64(nil), e.sizes...)
	for _, a := range v.Actions {
		for i := range after {
			if a.Target.UID == fmt.Sprint(i) && a.Size != nil {
				after[i] = a.Size.To
			}
		}
	}
	if diff := cmp.Diff(e.after, after); diff != "" || v.Leaf() != e.leaf {
		t.Errorf("%s ends at %s, want %s; sizes (-want +got):\n%s", e.name, v.Leaf(), e.leaf, diff)
	}
}

// TestScalingExamples holds the worked examples of [S-1] and [S-3], new ReplicaSet first.
func TestScalingExamples(t *testing.T) {
	for _, e := range []example{
		{name: "10 to 12", was: 10, want: 12, sizes: []int64{10}, after: []int64{12}, leaf: "S-1.size"},
		{name: "10 to 5", was: 10, want: 5, sizes: []int64{10}, after: []int64{5}, leaf: "S-1.size"},
		{name: "5 to 10", was: 5, want: 10, sizes: []int64{2, 3}, after: []int64{4, 6}, leaf: "S-3"},
		{name: "5 to 3", was: 5, want: 3, sizes: []int64{2, 3}, after: []int64{1, 2}, leaf: "S-3"},
		{name: "9 to 4", was: 9, want: 4, sizes: []int64{8, 1}, after: []int64{4, 0}, leaf: "S-3"},
		{name: "7 to 10", was: 7, want: 10, sizes: []int64{2, 3, 2}, after: []int64{3, 4, 3}, leaf: "S-3"},
		{name: "13 to 8", was: 13, want: 8, sizes: []int64{2, 8, 3}, after: []int64{1, 5, 2}, leaf: "S-3"},
		{name: "3 to 4, the newest gets the leftover", was: 3, want: 4, sizes: []int64{1, 1, 1}, after: []int64{2, 1, 1}, leaf: "S-3"},
		{name: "3 to 2, the oldest loses", was: 3, want: 2, sizes: []int64{1, 1, 1}, after: []int64{1, 1, 0}, leaf: "S-3"},
		{name: "4 to 5 without a new one", was: 4, want: 5, noNew: true, sizes: []int64{2, 2}, after: []int64{3, 2}, leaf: "S-3"},
		{name: "6 to 0", was: 6, want: 0, sizes: []int64{3, 2, 1}, after: []int64{0, 0, 0}, leaf: "S-3"},
		{name: "6 to 0, with none noted on the new one", was: 6, want: 0, desired: []int64{-1, 6, 6}, sizes: []int64{0, 2, 1}, after: []int64{0, 0, 0}, leaf: "S-3"},
		{name: "10 to 20, surge 2", was: 10, want: 20, surge: 2, sizes: []int64{6, 6}, after: []int64{11, 11}, leaf: "S-3"},
		{name: "10 to 50, surge 3 to 6", was: 10, want: 50, surge: 6, desired: []int64{7, 7}, sizes: []int64{5, 8}, after: []int64{22, 34}, leaf: "S-3"},
		{name: "10 to 14 with another template", was: 10, want: 14, noNew: true, sizes: []int64{7, 3}, after: []int64{10, 4}, leaf: "S-3"},
		{name: "10 to 30, surge 3", was: 10, want: 30, surge: 3, sizes: []int64{5, 8}, after: []int64{13, 20}, leaf: "S-3"},
		{name: "100 to 120, surge 20", was: 100, want: 120, surge: 20, sizes: []int64{20, 100}, after: []int64{23, 117}, leaf: "S-3"},
		{name: "recovery of one", was: 5, want: 5, desired: []int64{5, 3, 5}, sizes: []int64{2, 1, 1}, after: []int64{2, 2, 1}, leaf: "S-3"},
		{name: "saturated by size, none available", was: 2, want: 2, surge: 1, desired: []int64{2, 1}, sizes: []int64{2, 1}, available: []int64{0, 1}, after: []int64{2, 1}, leaf: "S-3"},
		{name: "saturated", was: 2, want: 2, surge: 1, desired: []int64{2, 1}, sizes: []int64{2, 1}, after: []int64{2, 0}, leaf: "S-2"},
	} {
		e.check(t)
	}
}

// TestTiesOfOneSecond: [S-3] of ReplicaSets that are as large and of one second, the last by name is
// given what rounding leaves, and the first by name loses it.
func TestTiesOfOneSecond(t *testing.T) {
	for want, grown := range map[int64]string{3: "web-1", 1: "web-0"} {
		s := example{was: 2, want: want, noNew: true, sizes: []int64{1, 1}}.snapshot()
		for i := range s.ReplicaSets {
			s.ReplicaSets[i].Created = s.Now.Add(-time.Hour)
		}
		v := deployment.Decide(s)
		for i := range v.Actions {
			if a := &v.Actions[i]; (a.Size != nil) != (a.Target.Name == grown) {
				t.Errorf("2 to %d: %s is sized %v, and only %s is to be", want, a.Target.Name, a.Size, grown)
			}
		}
	}
}

// TestCeilingIsReadAgain: the ceiling of the largest surge is an annotation that [S-3] takes for a number.
func TestCeilingIsReadAgain(t *testing.T) {
	e := example{was: 10, want: 11, sizes: []int64{5, 10}}
	for _, surge := range []*deployment.IntOrPercent{{Int: math.MaxInt32}, {Percent: "30000000000%"}} {
		s := e.snapshot()
		s.MaxSurge = surge
		actions := deployment.Decide(s).Actions
		if len(actions) != 2 {
			t.Fatalf("surge %+v: %d writes, want 2", surge, len(actions))
		}
		for _, a := range actions {
			if *a.Stamp.Max != math.MaxInt32 || a.Size != nil && (a.Size.To < a.Size.From || a.Size.To > math.MaxInt32) {
				t.Errorf("surge %+v: %s is sized %v under a ceiling of %d", surge, a.Target.Name, a.Size, *a.Stamp.Max)
			}
		}
	}
}

// TestRollingExamples holds the examples of [RR-2] and [RR-3], new ReplicaSet first.
func TestRollingExamples(t *testing.T) {
	for _, e := range []example{
		{name: "old 10, new 0, surge 2", want: 10, surge: 2, sizes: []int64{0, 10}, after: []int64{2, 10}, leaf: "RR-2.size"},
		{name: "old 5, new 0", want: 10, surge: 2, sizes: []int64{0, 5}, after: []int64{7, 5}, leaf: "RR-2.size"},
		{name: "old 10, new 2: no room, and none may go", want: 10, surge: 2, sizes: []int64{2, 10}, available: []int64{0, 10}, after: []int64{2, 10}, leaf: "RR-4"},
		{name: "old 2, new 11", want: 10, surge: 2, sizes: []int64{11, 2}, after: []int64{10, 2}, leaf: "RR-2.size"},
		{name: "surge 0, old 10: the fencepost lets one go", want: 10, sizes: []int64{0, 10}, after: []int64{0, 9}, leaf: "RR-3b"},
		{name: "unavailable 2, 10 ready", want: 10, unavailable: 2, sizes: []int64{0, 10}, after: []int64{0, 8}, leaf: "RR-3b"},
		{name: "unavailable 2, 8 ready", want: 10, unavailable: 2, sizes: []int64{0, 10}, available: []int64{0, 8}, after: []int64{0, 8}, leaf: "RR-3a"},
		{name: "unavailable 2, 9 ready: the unhealthy one first", want: 10, unavailable: 2, sizes: []int64{0, 10}, available: []int64{0, 9}, after: []int64{0, 9}, leaf: "RR-3a"},
		{name: "and then a healthy one", want: 10, unavailable: 2, sizes: []int64{0, 9}, available: []int64{0, 9}, after: []int64{1, 9}, leaf: "RR-2.size"},
		{name: "old 8 ready, new 2 not", want: 10, unavailable: 2, sizes: []int64{2, 8}, available: []int64{0, 8}, after: []int64{2, 8}, leaf: "RR-4"},
		{name: "the floor holds on counted pods: not 8 to 3", want: 10, surge: 3, unavailable: 2, sizes: []int64{5, 8}, available: []int64{3, 10}, after: []int64{5, 8}, leaf: "RR-4"},
	} {
		e.was = e.want
		e.check(t)
	}
}

// What may not go yet is held from where this sync leaves it, not from where it
// found it.
func TestHeldIsWhatIsLeft(t *testing.T) {
	v := deployment.Decide(example{want: 10, was: 10, unavailable: 3, sizes: []int64{0, 8, 2}}.snapshot())
	var held []string
	for _, h := range v.Held {
		held = append(held, fmt.Sprintf("%s %s from %d", h.Code, h.Target.Name, h.Size.From))
	}
	if diff := cmp.Diff([]string{"ceiling web-0 from 0", "floor web-1 from 7"}, held); diff != "" {
		t.Errorf("held (-want +got):\n%s", diff)
	}
}
