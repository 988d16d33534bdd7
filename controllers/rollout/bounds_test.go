package rollout

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func share(s string) *Amount { return &Amount{Percent: s} }
func count(n int64) *Amount  { return &Amount{Int: n} }

// TestResolve holds the examples of [B-1] and [B-2] and the corners of rounding.
func TestResolve(t *testing.T) {
	for _, tc := range []struct {
		name               string
		want               int64
		surge, unavailable *Amount
		bounds             Bounds
		ceiling, floor     int64
	}{
		{"39 % of 10: up and down", 10, share("39%"), share("39%"), Bounds{10, 4, 3}, 14, 7},
		{"nil and nil: fencepost", 10, nil, nil, Bounds{10, 0, 1}, 10, 9},
		{"nothing of nothing: fencepost", 0, share("0%"), share("0%"), Bounds{0, 0, 1}, 0, 0},
		{"25 % of 10, the drawing", 10, share("25%"), share("25%"), Bounds{10, 3, 2}, 13, 8},
		{"25 % of 2 rounds down to 0", 2, share("25%"), share("25%"), Bounds{2, 1, 0}, 3, 2},
		{"25 % of 1", 1, share("25%"), share("25%"), Bounds{1, 1, 0}, 2, 1},
		{"counts", 10, count(2), count(3), Bounds{10, 2, 3}, 12, 7},
		{"more unavailable than wanted is capped", 3, count(0), count(9), Bounds{3, 0, 9}, 3, 0},
		{"100 %", 4, share("100%"), share("100%"), Bounds{4, 4, 4}, 8, 0},
		{"200 %", 4, share("200%"), share("0%"), Bounds{4, 8, 0}, 12, 4},
		{"1 % of 100 exactly", 100, share("1%"), share("1%"), Bounds{100, 1, 1}, 101, 99},
		{"1 % of 101", 101, share("1%"), share("1%"), Bounds{101, 2, 1}, 103, 100},
		{"capped where int32 would wrap", 2147483647, share("2147483647%"), count(0), Bounds{2147483647, 2147483647, 0}, 2147483647, 2147483647},
		{"a share above int32 is still a share", 1, share("3000000000%"), count(0), Bounds{1, 30000000, 0}, 30000001, 1},
		{"and is capped", 100, share("3000000000%"), share("9223372036854775807%"), Bounds{100, 2147483647, 2147483647}, 2147483647, 0},
		{"of none it is none", 0, share("3000000000%"), count(1), Bounds{0, 0, 1}, 0, 0},
		{"shares of fewer than none are none", -3, share("100%"), count(2), Bounds{-3, 0, 2}, -3, -3},
		{"negative counts are none", 5, count(-1), count(-1), Bounds{5, 0, 1}, 5, 4},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b, err := Resolve(tc.want, tc.surge, tc.unavailable)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.bounds, b); diff != "" {
				t.Errorf("bounds (-want +got):\n%s", diff)
			}
			if b.Ceiling() != tc.ceiling || b.Floor() != tc.floor {
				t.Errorf("ceiling %d and floor %d, want %d and %d", b.Ceiling(), b.Floor(), tc.ceiling, tc.floor)
			}
		})
	}
}

func TestResolveErrors(t *testing.T) {
	const advice = `a percentage is a whole number with a percent sign, such as "25%"`
	for text, want := range map[string]string{
		"25":                        `maxSurge: read "25": ` + advice,
		"%":                         `maxSurge: read "%": ` + advice,
		"-5%":                       `maxSurge: read "-5%": ` + advice,
		"+5%":                       `maxSurge: read "+5%": ` + advice,
		"2.5%":                      `maxSurge: read "2.5%": ` + advice,
		" 5%":                       `maxSurge: read " 5%": ` + advice,
		"123456789012345678901234":  `maxSurge: read "123456789012345678901234": ` + advice,
		"1234567890123456789012345": `maxSurge: read "12345678901234567890123…": ` + advice,
		"x23456789012345678901234%": `maxSurge: read "x2345678901234567890123…": ` + advice,
		"123456789012345678901234%": `maxSurge: read "12345678901234567890123…": above 9223372036854775807%`,
		"9223372036854775808%":      `maxSurge: read "9223372036854775808%": above 9223372036854775807%`,
	} {
		if _, err := Resolve(10, share(text), nil); err == nil || err.Error() != want {
			t.Errorf("surge %q gives %v, want %s", text, err, want)
		}
		if b, err := Resolve(10, nil, share(text)); err == nil || b != (Bounds{Want: 10}) {
			t.Errorf("unavailable %q gives %v and %v, want an error and no bounds", text, b, err)
		}
	}
}

// TestNewSize holds the examples of [B-3] and [RR-2].
func TestNewSize(t *testing.T) {
	for _, tc := range []struct {
		name               string
		want, surge        int64
		size, total, grown int64
	}{
		{"one other of 5, at the ceiling", 1, 1, 5, 10, 5},
		{"one other of 5, much surge", 6, 10, 2, 7, 6},
		{"old 10, new 0, surge 2", 10, 2, 0, 10, 2},
		{"old 5, new 0, surge 2", 10, 2, 0, 5, 7},
		{"old 10, new 2, surge 2", 10, 2, 2, 12, 2},
		{"surge 0, old 10", 10, 0, 0, 10, 0},
		{"alone", 3, 1, 0, 0, 3},
		{"larger than wanted, at the ceiling", 3, 2, 5, 5, 5},
		{"room for one", 3, 1, 2, 3, 3},
		{"one below the ceiling", 3, 2, 0, 4, 1},
		{"above the ceiling it keeps its size", 3, 1, 2, 9, 2},
	} {
		if got := (Bounds{Want: tc.want, Surge: tc.surge}).NewSize(tc.size, tc.total); got != tc.grown {
			t.Errorf("%s: %d, want %d", tc.name, got, tc.grown)
		}
	}
}

// TestMayGo holds the budget of old pods to the pod, where none may go as well.
func TestMayGo(t *testing.T) {
	b := Bounds{Want: 10, Surge: 3, Unavailable: 2}
	for _, tc := range []struct{ total, size, available, want int64 }{
		{13, 0, 0, 5}, {13, 5, 5, 5}, {13, 5, 0, 0}, {13, 5, 3, 3}, {8, 0, 0, 0}, {7, 0, 0, -1}, {10, 10, 7, -1},
	} {
		if got := b.MayGo(tc.total, tc.size, tc.available); got != tc.want {
			t.Errorf("of %d, with %d of %d new ones available, %d may go, want %d", tc.total, tc.available, tc.size, got, tc.want)
		}
	}
	for _, tc := range []struct{ available, size, want int64 }{{3, 5, 3}, {7, 5, 5}, {-1, 5, 0}, {0, 0, 0}} {
		if got := Counted(tc.available, tc.size); got != tc.want {
			t.Errorf("%d available of %d count as %d, want %d", tc.available, tc.size, got, tc.want)
		}
	}
	if got := (Bounds{Want: 3, Unavailable: -1}).Missing(); got != 0 {
		t.Errorf("%d may be missing", got)
	}
}

// TestUnhealthyFirst: of each set those go that are not available, whatever it reports.
func TestUnhealthyFirst(t *testing.T) {
	sizes, gone := Unhealthy([]Set{{5, 2}, {4, 9}, {3, 0}}, 5)
	if diff := cmp.Diff([]int64{2, 4, 1}, sizes); diff != "" || gone != 5 {
		t.Errorf("%d go, sizes (-want +got):\n%s", gone, diff)
	}
}

// TestRetire holds the examples of [RR-3]: replicas 10, sizes before and after a
// whole [RR-3], available pods removed after unhealthy ones.
func TestRetire(t *testing.T) {
	for _, tc := range []struct {
		name        string
		bounds      Bounds
		fresh       Set
		old         []Set
		a, b, after int64
	}{
		{"fencepost 1, all ready", Bounds{10, 0, 1}, Set{}, []Set{{10, 10}}, 0, 1, 9},
		{"unavailable 2, 10 ready", Bounds{10, 0, 2}, Set{}, []Set{{10, 10}}, 0, 2, 8},
		{"unavailable 2, 8 ready: the unhealthy two go", Bounds{10, 0, 2}, Set{}, []Set{{10, 8}}, 2, 0, 8},
		{"unavailable 2, 9 ready: one of each", Bounds{10, 0, 2}, Set{}, []Set{{10, 9}}, 1, 1, 8},
		{"old 8 ready, new 2 not", Bounds{10, 0, 2}, Set{2, 0}, []Set{{8, 8}}, 0, 0, 8},
		{"the drawing: old 2, new 10 with 7", Bounds{10, 3, 2}, Set{10, 7}, []Set{{2, 2}}, 0, 1, 1},
		{"the drawing: old 1, new 10 with 7", Bounds{10, 3, 2}, Set{10, 7}, []Set{{1, 1}}, 0, 0, 1},
		{"oldest first", Bounds{10, 0, 2}, Set{}, []Set{{1, 1}, {9, 9}}, 0, 2, 8},
		{"more available than asked for counts as the size: 6 would really be left", Bounds{10, 3, 2}, Set{5, 3}, []Set{{8, 10}}, 0, 3, 5},
	} {
		t.Run(tc.name, func(t *testing.T) {
			total, available := tc.fresh.Size, Counted(tc.fresh.Available, tc.fresh.Size)
			for _, s := range tc.old {
				total, available = total+s.Size, available+Counted(s.Available, s.Size)
			}
			budget := max(0, tc.bounds.MayGo(total, tc.fresh.Size, Counted(tc.fresh.Available, tc.fresh.Size)))
			sizes, a := Unhealthy(tc.old, budget)
			next := make([]Set, len(sizes))
			for i := range sizes {
				next[i] = Set{sizes[i], tc.old[i].Available}
			}
			b := int64(0)
			if budget > 0 {
				sizes, b = Healthy(next, max(0, available-tc.bounds.Floor()))
			}
			after := int64(0)
			for _, n := range sizes {
				after += n
			}
			if a != tc.a || b != tc.b || after != tc.after {
				t.Errorf("%d unhealthy and %d healthy go, %d stay; want %d, %d, %d", a, b, after, tc.a, tc.b, tc.after)
			}
		})
	}
}

// TestProportional holds the worked examples of [S-3]. Sets stand in the order
// in which the loop gives them: by size, ties by age.
func TestProportional(t *testing.T) {
	for _, tc := range []struct {
		name          string
		want, surge   int64
		sizes, bases  []int64
		after         []int64
		bothBasesWere int64
	}{
		{name: "3 to 0, whatever the surge", surge: 2, sizes: []int64{2, 1}, bothBasesWere: 3, after: []int64{0, 0}},
		{name: "10 to 12, single", want: 12, sizes: []int64{10}, bothBasesWere: 10, after: []int64{12}},
		{name: "10 to 5, single", want: 5, sizes: []int64{10}, bothBasesWere: 10, after: []int64{5}},
		{name: "5 to 10", want: 10, sizes: []int64{3, 2}, bothBasesWere: 5, after: []int64{6, 4}},
		{name: "5 to 3", want: 3, sizes: []int64{3, 2}, bothBasesWere: 5, after: []int64{2, 1}},
		{name: "9 to 4", want: 4, sizes: []int64{8, 1}, bothBasesWere: 9, after: []int64{4, 0}},
		{name: "7 to 10", want: 10, sizes: []int64{3, 2, 2}, bothBasesWere: 7, after: []int64{4, 3, 3}},
		{name: "13 to 8", want: 8, sizes: []int64{8, 3, 2}, bothBasesWere: 13, after: []int64{5, 2, 1}},
		{name: "3 to 4, leftover to the first", want: 4, sizes: []int64{1, 1, 1}, bothBasesWere: 3, after: []int64{2, 1, 1}},
		{name: "3 to 2, the first loses", want: 2, sizes: []int64{1, 1, 1}, bothBasesWere: 3, after: []int64{0, 1, 1}},
		{name: "4 to 5", want: 5, sizes: []int64{2, 2}, bothBasesWere: 4, after: []int64{3, 2}},
		{name: "6 to 0", want: 0, sizes: []int64{3, 2, 1}, bothBasesWere: 6, after: []int64{0, 0, 0}},
		{name: "0 to 6", want: 6, sizes: []int64{0, 0, 0}, after: []int64{6, 0, 0}},
		{name: "10 to 20, surge 2", want: 20, surge: 2, sizes: []int64{6, 6}, bothBasesWere: 12, after: []int64{11, 11}},
		{name: "10 to 50, surge 3 to 6", want: 50, surge: 6, sizes: []int64{8, 5}, bothBasesWere: 13, after: []int64{34, 22}},
		{name: "10 to 14 with another template", want: 14, sizes: []int64{7, 3}, bothBasesWere: 10, after: []int64{10, 4}},
		{name: "10 to 30, surge 3", want: 30, surge: 3, sizes: []int64{8, 5}, bothBasesWere: 13, after: []int64{20, 13}},
		{name: "100 to 120, surge 20", want: 120, surge: 20, sizes: []int64{100, 20}, bothBasesWere: 120, after: []int64{117, 23}},
		{name: "recovery: one still noted for 3", want: 5, sizes: []int64{2, 1, 1}, bases: []int64{5, 3, 5}, after: []int64{2, 2, 1}},
		{name: "unknown base takes no part, the first gets the rest", want: 5, sizes: []int64{2, 1}, after: []int64{4, 1}},
		{name: "the first took all that there is to add", want: 10, sizes: []int64{4, 1}, bases: []int64{4, 100}, after: []int64{9, 1}},
		{name: "5 to 0, of unknown bases", want: 0, sizes: []int64{3, 2}, after: []int64{0, 0}},
		{name: "nobody", want: 3, surge: 1, after: []int64{}},
		{name: "saturated but not available", want: 2, surge: 1, sizes: []int64{2, 1}, bothBasesWere: 3, after: []int64{2, 1}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			members := make([]Member, len(tc.sizes))
			for i, n := range tc.sizes {
				members[i] = Member{Size: n, Base: tc.bothBasesWere}
				if tc.bases != nil {
					members[i].Base = tc.bases[i]
				}
			}
			if diff := cmp.Diff(tc.after, Proportional(members, tc.want, tc.surge)); diff != "" {
				t.Errorf("sizes (-want +got):\n%s", diff)
			}
		})
	}
}
