package deployment

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/loopscope/loopscope/controllers/diagnosis"
	"github.com/loopscope/loopscope/telemetry/decision"
)

var at = time.Date(2026, 11, 21, 3, 0, 0, 0, time.UTC)

// TestSetCondition holds the rule of [ST-3]: what stands is left alone, what is
// replaced goes last, and only another status moves the transition.
func TestSetCondition(t *testing.T) {
	old := func(kind, status, reason string) decision.Condition {
		return decision.Condition{Type: kind, Status: status, Reason: reason, Message: "old", Updated: at, Transition: at}
	}
	later := at.Add(time.Minute)
	next := func(status, reason string, transition time.Time) decision.Condition {
		return decision.Condition{Type: "Progressing", Status: status, Reason: reason, Message: "new", Updated: later, Transition: transition}
	}
	available := old("Available", "True", "MinimumReplicasAvailable")
	for name, tc := range map[string]struct {
		before []decision.Condition
		set    decision.Condition
		after  []decision.Condition
	}{
		"same status and reason": {[]decision.Condition{old("Progressing", "True", "A"), available}, next("True", "A", later),
			[]decision.Condition{old("Progressing", "True", "A"), available}},
		"another reason keeps the transition and goes last": {[]decision.Condition{old("Progressing", "True", "A"), available}, next("True", "B", later),
			[]decision.Condition{available, next("True", "B", at)}},
		"another status moves it": {[]decision.Condition{old("Progressing", "True", "A"), available}, next("False", "A", later),
			[]decision.Condition{available, next("False", "A", later)}},
		"a new one goes last": {[]decision.Condition{available}, next("True", "A", later),
			[]decision.Condition{available, next("True", "A", later)}},
	} {
		st := Status{Conditions: tc.before}
		setCondition(&st, tc.set)
		if diff := cmp.Diff(tc.after, st.Conditions); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestAppendHistory holds [G-3]: oldest entries go first, and what is still too
// long is not appended.
func TestAppendHistory(t *testing.T) {
	long := strings.TrimSuffix(strings.Repeat("1234567890123456789,", 100), ",")
	for _, tc := range []struct{ name, history, revision, want string }{
		{"first", "", "7", "7"},
		{"next", "5", "7", "5,7"},
		{"one entry makes room", long, "7", strings.TrimPrefix(long, "1234567890123456789,") + ",7"},
		{"exactly 2000 fits", strings.Repeat("1", 1998), "7", strings.Repeat("1", 1998) + ",7"},
		{"no more goes than must", "1,22," + strings.Repeat("3", 1995), "7", "22," + strings.Repeat("3", 1995) + ",7"},
		{"empty entries start anew", ",5", "7", "7"},
		{"2001 drops the long one", strings.Repeat("1", 1999), "7", "7"},
		{"a revision that can never fit", "5", strings.Repeat("9", 2001), ""},
	} {
		got := appendHistory(tc.history, tc.revision)
		if got != tc.want || len(got) > historyLimit {
			t.Errorf("%s: %d characters %.40q, want %.40q", tc.name, len(got), got, tc.want)
		}
	}
}

// TestTerminating holds [ST-5]: never observed counts as none, any other unknown
// number makes the sum unknown, and without the switch there is none.
func TestTerminating(t *testing.T) {
	set := func(observed int64, n *int64) ReplicaSet {
		return ReplicaSet{Mine: true, Matches: true, ObservedGeneration: observed, Terminating: n}
	}
	for name, tc := range map[string]struct {
		on   bool
		sets []ReplicaSet
		want *int64
	}{
		"off":            {false, []ReplicaSet{set(1, new(int64(3)))}, nil},
		"sum":            {true, []ReplicaSet{set(1, new(int64(3))), set(2, new(int64(1)))}, new(int64(4))},
		"never observed": {true, []ReplicaSet{set(1, new(int64(3))), set(0, nil)}, new(int64(3))},
		"unknown":        {true, []ReplicaSet{set(1, new(int64(3))), set(1, nil)}, nil},
		"none":           {true, nil, new(int64(0))},
	} {
		c := settler{view: viewOf(&Snapshot{CountTerminating: tc.on, ReplicaSets: tc.sets})}
		if diff := cmp.Diff(tc.want, c.terminating()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestPauseReason holds [D-7].
func TestPauseReason(t *testing.T) {
	for _, tc := range []struct {
		paused   bool
		deadline *int64
		reason   string
		want     string
	}{
		{true, new(int64(600)), "", reasonPaused},
		{true, new(int64(600)), reasonUpdated, reasonPaused},
		{true, new(int64(600)), reasonPaused, ""},
		{true, new(int64(600)), reasonDeadline, ""},
		{true, nil, reasonUpdated, ""},
		{false, new(int64(600)), reasonPaused, reasonResumed},
		{false, new(int64(600)), reasonUpdated, ""},
		{false, new(int64(600)), "", ""},
		{false, nil, reasonPaused, ""},
	} {
		s := &Snapshot{Paused: tc.paused, Deadline: tc.deadline}
		if tc.reason != "" {
			s.Status.Conditions = []decision.Condition{{Type: condProgressing, Reason: tc.reason}}
		}
		if got := viewOf(s).pauseReason(); got != tc.want {
			t.Errorf("%+v: %q", tc, got)
		}
	}
}

// TestSurplus holds the order and the exceptions of [H-1].
func TestSurplus(t *testing.T) {
	set := func(name, revision string, change func(*ReplicaSet)) ReplicaSet {
		rs := ReplicaSet{Name: name, UID: name, Mine: true, Matches: true, Revision: revision, Created: at, Generation: 1, ObservedGeneration: 1}
		if change != nil {
			change(&rs)
		}
		return rs
	}
	for name, tc := range map[string]struct {
		limit int64
		sets  []ReplicaSet
		over  int64
		may   []string
	}{
		"within the limit":        {2, []ReplicaSet{set("a", "1", nil), set("b", "2", nil)}, 0, nil},
		"lowest revision first":   {1, []ReplicaSet{set("a", "10", nil), set("b", "9", nil), set("c", "2", nil)}, 2, []string{"c", "b"}},
		"missing counts as 0":     {1, []ReplicaSet{set("a", "1", nil), set("b", "", nil)}, 1, []string{"b"}},
		"empty: by age":           {1, []ReplicaSet{set("a", "5", nil), set("b", "", func(rs *ReplicaSet) { rs.EmptyRevision, rs.Created = true, at.Add(time.Hour) })}, 1, []string{"a"}},
		"unreadable: by age":      {1, []ReplicaSet{set("b", "x", nil), set("a", "5", func(rs *ReplicaSet) { rs.Created = at.Add(time.Hour) })}, 1, []string{"b"}},
		"unreadable and younger":  {1, []ReplicaSet{set("a", "5", nil), set("b", "x", func(rs *ReplicaSet) { rs.Created = at.Add(time.Hour) })}, 1, []string{"a"}},
		"too large and older":     {1, []ReplicaSet{set("b", "99999999999999999999", nil), set("a", "5", func(rs *ReplicaSet) { rs.Created = at.Add(time.Hour) })}, 1, []string{"b"}},
		"deleting does not count": {1, []ReplicaSet{set("a", "1", func(rs *ReplicaSet) { rs.Deleting = true }), set("b", "2", nil)}, 0, nil},
		"busy ones are not made up for": {1, []ReplicaSet{
			set("a", "1", func(rs *ReplicaSet) { rs.StatusReplicas = 1 }),
			set("b", "2", func(rs *ReplicaSet) { rs.Replicas = 1 }),
			set("c", "3", func(rs *ReplicaSet) { rs.Generation = 2 }),
			set("d", "4", nil), set("e", "5", nil)}, 4, []string{"d"}},
	} {
		over, may, busy := viewOf(&Snapshot{HistoryLimit: &tc.limit, ReplicaSets: tc.sets}).surplus()
		var names []string
		for _, rs := range may {
			names = append(names, rs.Name)
		}
		if diff := cmp.Diff(tc.may, names); over != tc.over || diff != "" || int64(len(may)+len(busy)) != over {
			t.Errorf("%s: %d over, want %d, %d busy; may go (-want +got):\n%s", name, over, tc.over, len(busy), diff)
		}
	}
}

// TestLastRevision: revision 0 of a rollback is the second highest ([RB-2]).
func TestLastRevision(t *testing.T) {
	for _, tc := range []struct {
		revisions []string
		want      int64
	}{
		{nil, 0}, {[]string{"1"}, 0}, {[]string{"1", "2"}, 1}, {[]string{"7", "3", "9", "x", ""}, 7}, {[]string{"4", "4"}, 4}, {[]string{"9", "7", "8"}, 8}, {[]string{"9", "8", "7"}, 8},
	} {
		s := &Snapshot{}
		for i, r := range tc.revisions {
			s.ReplicaSets = append(s.ReplicaSets, ReplicaSet{Name: digits(int64(i)), Mine: true, Matches: true, Revision: r})
		}
		if got := viewOf(s).lastRevision(); got != tc.want {
			t.Errorf("%v: %d, want %d", tc.revisions, got, tc.want)
		}
	}
}

// TestNewIsTheOldestEqual holds [N-1]: of several ReplicaSets with the template
// the oldest is the new one, ties by name, and the highest revision grows.
func TestNewIsTheOldestEqual(t *testing.T) {
	set := func(name string, age time.Duration, same bool, revision string) ReplicaSet {
		return ReplicaSet{Name: name, UID: name, Mine: true, Matches: true, SameTemplate: same, Created: at.Add(-age), Revision: revision}
	}
	v := viewOf(&Snapshot{ReplicaSets: []ReplicaSet{set("c", time.Hour, true, "9"), set("b", time.Hour, true, "3"), set("a", 0, true, "4"), set("z", 2*time.Hour, false, "12")}})
	if v.newSet.Name != "b" || len(v.old) != 3 || v.newRevision() != 13 {
		t.Errorf("new is %s, %d are old, the next revision is %d", v.newSet.Name, len(v.old), v.newRevision())
	}
}

// TestRequeue holds: the deadline and a second, never in the past, and
// only while one is running.
func TestRequeue(t *testing.T) {
	for name, tc := range map[string]struct {
		deadline *int64
		reason   string
		updated  time.Duration
		want     time.Duration
	}{
		"running":             {new(int64(600)), reasonUpdated, 100 * time.Second, 501 * time.Second},
		"due":                 {new(int64(600)), reasonUpdated, 600 * time.Second, time.Second},
		"over, not marked":    {new(int64(600)), reasonUpdated, 700 * time.Second, time.Second},
		"complete":            {new(int64(600)), reasonUpdated, 100 * time.Second, 0},
		"complete before":     {new(int64(600)), reasonDone, 100 * time.Second, 0},
		"marked":              {new(int64(600)), reasonDeadline, 100 * time.Second, 0},
		"no deadline":         {nil, reasonUpdated, 100 * time.Second, 0},
		"longest that exists": {new(int64(1<<31 - 1)), reasonUpdated, 0, (1<<31 - 1 + 1) * time.Second},
	} {
		c := &settler{view: viewOf(&Snapshot{Now: at, Want: 3, Deadline: tc.deadline})}
		if name == "complete" {
			c.report.Status = Status{Replicas: 3, Updated: 3, Available: 3}
		}
		c.report.Status.Conditions = []decision.Condition{{Type: condProgressing, Status: "True", Reason: tc.reason, Updated: at.Add(-tc.updated)}}
		c.requeue()
		got := time.Duration(0)
		if len(c.report.Timers) > 0 {
			got = c.report.Timers[0].At.Sub(at)
		}
		if got != tc.want {
			t.Errorf("%s: looks again in %s, want %s", name, got, tc.want)
		}
	}
}

// TestMinReadyTimer: the first pod that has been ready for long enough rings, in
// whichever ReplicaSet it is; what is past rings no more.
func TestMinReadyTimer(t *testing.T) {
	set := func(age time.Duration, ready ...time.Duration) ReplicaSet {
		rs := ReplicaSet{Name: age.String(), UID: age.String(), Mine: true, Matches: true, Created: at.Add(-age), MinReady: 60}
		for _, ago := range ready {
			rs.Blocking = append(rs.Blocking, Pod{Ready: true, ReadySince: at.Add(-ago)})
		}
		return rs
	}
	for name, tc := range map[string]struct {
		sets []ReplicaSet
		want time.Duration
	}{
		"the old one":           {[]ReplicaSet{set(2, 50*time.Second), set(1, 10*time.Second)}, 10 * time.Second},
		"the new one":           {[]ReplicaSet{set(2, 10*time.Second), set(1, 50*time.Second)}, 10 * time.Second},
		"the old one alone":     {[]ReplicaSet{set(2, 50*time.Second), set(1)}, 10 * time.Second},
		"the new one alone":     {[]ReplicaSet{set(2), set(1, 50*time.Second)}, 10 * time.Second},
		"the second pod":        {[]ReplicaSet{set(1, 10*time.Second, 20*time.Second)}, 40 * time.Second},
		"the first pod":         {[]ReplicaSet{set(1, 20*time.Second, 10*time.Second)}, 40 * time.Second},
		"one is due":            {[]ReplicaSet{set(1, 60*time.Second, 10*time.Second)}, 50 * time.Second},
		"none waits":            {[]ReplicaSet{set(2), set(1)}, 0},
		"nothing known of when": {[]ReplicaSet{{Mine: true, Matches: true, MinReady: 60, Blocking: []Pod{{Ready: true}, {ReadySince: at}}}}, 0},
	} {
		c := &settler{view: viewOf(&Snapshot{Now: at, ReplicaSets: tc.sets})}
		c.minReadyTimer()
		got := time.Duration(0)
		if len(c.report.Timers) > 0 {
			got = c.report.Timers[0].At.Sub(at)
		}
		if got != tc.want || len(c.report.Timers) > 1 {
			t.Errorf("%s: looks again in %s, want %s", name, got, tc.want)
		}
	}
}

// TestUrgent: somebody may be waiting for any of these changes of a status.
func TestUrgent(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*Report)
		want   bool
	}{
		"nothing":           {func(*Report) {}, false},
		"a generation":      {func(r *Report) { r.Status.ObservedGeneration++ }, true},
		"a revision":        {func(r *Report) { r.Revision = "2" }, true},
		"more pods":         {func(r *Report) { r.Status.Replicas++ }, false},
		"fewer pods":        {func(r *Report) { r.Status.Replicas-- }, true},
		"more ready":        {func(r *Report) { r.Status.Ready++ }, false},
		"fewer ready":       {func(r *Report) { r.Status.Ready-- }, true},
		"more available":    {func(r *Report) { r.Status.Available++ }, false},
		"fewer available":   {func(r *Report) { r.Status.Available-- }, true},
		"a collision":       {func(r *Report) { r.Status.Collisions = new(int64(1)) }, true},
		"available at last": {func(r *Report) { setCondition(&r.Status, decision.Condition{Type: condAvailable, Status: "True"}) }, true},
		"available again":   {func(r *Report) { dropCondition(&r.Status, condAvailable) }, true},
		"a failure":         {func(r *Report) { setCondition(&r.Status, decision.Condition{Type: condReplicaFailure, Status: "True"}) }, true},
		"progress": {func(r *Report) {
			setCondition(&r.Status, decision.Condition{Type: condProgressing, Status: "True", Reason: reasonUpdated})
		}, false},
		"complete": {func(r *Report) {
			setCondition(&r.Status, decision.Condition{Type: condProgressing, Status: "True", Reason: reasonDone})
		}, true},
		"over the deadline": {func(r *Report) {
			setCondition(&r.Status, decision.Condition{Type: condProgressing, Status: "False", Reason: reasonUpdated})
		}, true},
		"something of users": {func(r *Report) { setCondition(&r.Status, decision.Condition{Type: "Odd", Status: "True"}) }, false},
	} {
		for _, before := range []string{reasonCreated, reasonFound} {
			st := Status{Replicas: 3, Ready: 3, Available: 3, Conditions: []decision.Condition{
				{Type: condProgressing, Status: "True", Reason: before}, {Type: condAvailable, Status: "False", Reason: reasonBelow}}}
			c := &settler{view: viewOf(&Snapshot{Now: at, Status: st})}
			c.report.Status = copyStatus(st)
			if tc.change(&c.report); c.urgent() != tc.want {
				t.Errorf("%s after %s: urgent is %v", name, before, c.urgent())
			}
		}
	}
}

// TestOldUnblocks: how many of the new pods it takes until one more old pod may go, of
// 10 that are wanted.
func TestOldUnblocks(t *testing.T) {
	for _, tc := range []struct {
		size, available, unavailable, old, may int64
		want                                   string
	}{
		{4, 4, 0, 4, 0, "when 3 more pods become available"},
		{5, 5, 0, 5, 0, "when 1 more pod becomes available"},
		{3, 0, 3, 10, 0, "when any 1 of the 3 becomes ready"},
		{3, 0, 3, 9, 0, "when any 2 of the 3 become ready"},
		{3, 0, 3, 8, 0, "when all 3 become ready"},
		{3, 0, 3, 7, 0, "when all 3 become ready"},
		{3, 0, 3, 8, 2, "when any 1 of the 3 becomes ready"},
		{1, 0, 1, 10, 0, "when it becomes ready"},
		{1, 0, 1, 8, 0, "when it becomes ready"},
		{3, 0, 5, 9, 0, "when any 2 of them become ready"},
		{3, 0, 5, 10, 0, "when any 1 of them becomes ready"},
		{3, 0, 5, 8, 0, "when any 3 of them become ready"},
		{3, 0, 5, 7, 0, "when they become ready"},
	} {
		set := func(name string, size, available int64) ReplicaSet {
			return ReplicaSet{Name: name, UID: name, Mine: true, Matches: true, SameTemplate: name == "new", Replicas: size, StatusReplicas: size, Available: available}
		}
		s := &Snapshot{Now: at, Want: 10, Strategy: rollingUpdate, MaxSurge: &IntOrPercent{Int: 3}, MaxUnavailable: &IntOrPercent{Int: tc.may},
			ReplicaSets: []ReplicaSet{set("new", tc.size, tc.available), set("old", tc.old, tc.old)}}
		s.ReplicaSets[0].Unavailable = tc.unavailable
		if got := viewOf(s).oldUnblocks(nil).At(at); got != tc.want {
			t.Errorf("%+v: %q", tc, got)
		}
	}
}

// TestNewRevision: [G-3] one more than the highest of old ReplicaSets, as far as numbers go.
func TestNewRevision(t *testing.T) {
	for want, revisions := range map[int64][]string{1: {""}, 8: {"7", "3", "x"}, math.MaxInt64: {"9223372036854775807"}, 1 << 62: {"4611686018427387903"}} {
		v := &view{}
		for _, revision := range revisions {
			v.old = append(v.old, &ReplicaSet{Revision: revision})
		}
		if got := v.newRevision(); got != want {
			t.Errorf("after %q it is %d, want %d", revisions, got, want)
		}
	}
}

// TestProportionalBase: [S-3] the whole is that of the annotation, or else of the status.
func TestProportionalBase(t *testing.T) {
	d := &decider{view: viewOf(&Snapshot{Status: Status{Replicas: 7}})}
	for text, want := range map[string]int64{"12": 12, "1": 1, "0": 7, "-1": 7, "": 7, "x": 7} {
		if got := d.proportionalBase(&ReplicaSet{Max: text}); got != want {
			t.Errorf("of %q it is %d, want %d", text, got, want)
		}
	}
}

// TestDisruptedWhileMissing: pods that were taken away are told while some are missing.
func TestDisruptedWhileMissing(t *testing.T) {
	at := time.Unix(1_800_000_000, 0)
	evicted := decision.DisruptedPod{Name: "p", Created: at.Add(-time.Hour), Disruption: decision.Disruption{At: at.Add(-time.Second), Reason: "Evicted", Message: "low on memory"}}
	for available, want := range []int{1, 0} {
		rs := &ReplicaSet{Name: "new", Replicas: 1, StatusReplicas: 0, Available: int64(available), Disrupted: []decision.DisruptedPod{evicted}}
		if got := viewOf(&Snapshot{Now: at}).disrupted(rs, nil); len(got) != want {
			t.Errorf("with %d of 1 available %d findings, want %d", available, len(got), want)
		}
	}
}

// TestNotRecreated: a ReplicaSet that is being deleted creates no pods, whatever else would refuse them, and
// what holds its deletion is named.
func TestNotRecreated(t *testing.T) {
	rs := ReplicaSet{Name: "new", UID: "n", Mine: true, Matches: true, SameTemplate: true, Deleting: true, Replicas: 3,
		Failure: &decision.Condition{Reason: "FailedCreate", Message: "exceeded quota: q"}}
	s := &Snapshot{Now: at, Namespace: "shop", Want: 3, Strategy: rollingUpdate, ReplicaSets: []ReplicaSet{rs}}
	for _, c := range []struct {
		finalizers []string
		says       string
		action     bool
	}{
		{nil, " are not created, as ReplicaSet new is being deleted | when it is gone and the next one has created them", false},
		{[]string{"example.com/held"}, " are not created, as ReplicaSet new is being deleted and a finalizer blocks the deletion of its pod new-a (example.com/held) | when the controller that set example.com/held removes it", true},
	} {
		s.ReplicaSets[0].TerminatingPods = []decision.TerminatingPod{{Name: "new-a", Until: at.Add(-time.Minute), Finalizers: c.finalizers}}
		list := Diagnose(s, decision.Learnt{}).Findings
		if len(list) != 1 || list[0].Count != 3 || list[0].NeedsAction != c.action || list[0].After.At(at)+" | "+list[0].Unblocks.At(at) != c.says {
			t.Errorf("%v: %+v, want %q", c.finalizers, list, c.says)
		}
	}
}

// TestKeptReplicaSet: a finalizer of the ReplicaSet itself is named, and is why no pod of it is made, or goes.
func TestKeptReplicaSet(t *testing.T) {
	kept := &decision.Deletion{Since: at.Add(-time.Hour), Finalizers: []string{"example.com/hold"}}
	rs := ReplicaSet{Name: "web-a", UID: "a", Mine: true, Matches: true, Deleting: true, Deletion: kept}
	const keeps, ends = ", as ReplicaSet web-a is being deleted and a finalizer keeps it (example.com/hold) | ", "when the controller that set example.com/hold removes it"
	for name, c := range map[string]struct {
		change func(rs *ReplicaSet)
		says   string // "" for nothing
	}{
		"not made":              {func(rs *ReplicaSet) { rs.SameTemplate, rs.Replicas = true, 2 }, " are not created" + keeps + ends},
		"old, as large as told": {func(rs *ReplicaSet) { rs.Replicas, rs.StatusReplicas = 2, 2 }, ""},
		"old, smaller":          {func(rs *ReplicaSet) { rs.Replicas, rs.StatusReplicas = 1, 2 }, " are not deleted" + keeps + ends},
		"old, smaller, no more known": {func(rs *ReplicaSet) { rs.StatusReplicas, rs.Deletion = 2, nil },
			" are not deleted, as ReplicaSet web-a is being deleted | when it is gone, and with it its pods"},
		"old, not seen yet":  {func(rs *ReplicaSet) { rs.StatusReplicas, rs.Generation = 2, 1 }, ""},
		"old, still its own": {func(rs *ReplicaSet) { rs.StatusReplicas, rs.Deleting = 2, false }, ""},
	} {
		set := rs
		c.change(&set)
		list := Diagnose(&Snapshot{Now: at, Namespace: "shop", Want: 2, Strategy: rollingUpdate, ReplicaSets: []ReplicaSet{set}}, decision.Learnt{}).Findings
		got := ""
		for i := range list {
			got += list[i].After.At(at) + " | " + list[i].Unblocks.At(at)
		}
		if got != c.says || strings.Contains(got, ends) && !list[0].NeedsAction {
			t.Errorf("%s: %+v\n\t%s, want\n\t%s", name, list, got, c.says)
		}
	}
}

// TestKeeper: new pods keep old ones only while some of them are missing.
func TestKeeper(t *testing.T) {
	for available, want := range []string{diagnosis.Image, diagnosis.Image, ""} {
		v := viewOf(&Snapshot{Now: at, Want: 2, Strategy: rollingUpdate, ReplicaSets: []ReplicaSet{{Name: "new", UID: "n", Mine: true, Matches: true, SameTemplate: true,
			Replicas: 2, StatusReplicas: 2, Available: int64(available), Unavailable: 1, Blocking: []Pod{{Name: "p", Created: at, Image: "web:404", Reason: "ImagePullBackOff"}}}}})
		got := ""
		if f := v.keeper(); f != nil {
			got = f.Code
		}
		if got != want {
			t.Errorf("with %d of 2 available it is %q, want %q", available, got, want)
		}
	}
}

// TestPausedHolds: what a pause holds is what is written once it is resumed, as far as that goes at once.
func TestPausedHolds(t *testing.T) {
	fresh := func(size, available int64) ReplicaSet {
		return ReplicaSet{Name: "new", UID: "n", SameTemplate: true, Revision: "2", Replicas: size, StatusReplicas: size, Available: available, NonTerminal: size}
	}
	named := func(name string, size, available int64) ReplicaSet {
		return ReplicaSet{Name: name, UID: name, Revision: "1", Replicas: size, StatusReplicas: size, Available: available, NonTerminal: size}
	}
	old := func(size int64) ReplicaSet { return named("old", size, size) }
	stale := fresh(4, 2)
	stale.Max = "13"
	for name, c := range map[string]struct {
		want, surge int64
		strategy    string
		sets        []ReplicaSet
		holds       string
	}{
		"a first step":              {8, 2, rollingUpdate, []ReplicaSet{old(8)}, "next 0->2 when the Deployment is resumed"},
		"no room yet":               {6, 1, rollingUpdate, []ReplicaSet{old(5), fresh(2, 2)}, "new 2->6 when the Deployment is resumed and an old pod has gone"},
		"old pods may go":           {6, 2, rollingUpdate, []ReplicaSet{old(2), fresh(6, 5)}, "old 2->1 when the Deployment is resumed"},
		"those that are missing":    {6, 3, rollingUpdate, []ReplicaSet{named("a", 1, 1), named("failing", 2, 0), fresh(6, 5)}, "failing 2->0 when the Deployment is resumed"},
		"a status that is behind":   {6, 2, rollingUpdate, []ReplicaSet{named("late", 1, 2), old(1), fresh(6, 5)}, "late 1->0 when the Deployment is resumed and the status of late has caught up with its size"},
		"a ceiling that is stamped": {10, 1, rollingUpdate, []ReplicaSet{old(7), stale}, "new 4->10 when the Deployment is resumed and an old pod has gone"},
		"old pods may not go":       {6, 2, rollingUpdate, []ReplicaSet{old(2), fresh(6, 4)}, "old 2->0 when the Deployment is resumed and more pods are available"},
		"nothing runs":              {6, 0, recreate, nil, "next 0->6 when the Deployment is resumed"},
		"one after the other":       {6, 0, recreate, []ReplicaSet{old(6)}, "next 0->6 when the Deployment is resumed and its old pods are gone"},
		"old pods under Recreate":   {6, 0, recreate, []ReplicaSet{old(2), fresh(6, 5)}, "old 2->0 when the Deployment is resumed"},
	} {
		s := &Snapshot{Now: at, Found: true, Paused: true, Want: c.want, Strategy: c.strategy, MaxSurge: &IntOrPercent{Int: c.surge}, MaxUnavailable: &IntOrPercent{}, NextName: "next"}
		for _, rs := range c.sets {
			rs.Mine, rs.Matches, rs.Desired = true, true, digits(c.want)
			if rs.Max == "" {
				rs.Max = digits(c.want + c.surge)
			}
			s.ReplicaSets = append(s.ReplicaSets, rs)
		}
		got := ""
		v := Decide(s)
		for _, h := range v.Held {
			got += h.Target.Name + " " + digits(h.Size.From) + "->" + digits(h.Size.To) + " " + h.Unblocks.At(at)
		}
		if slices.ContainsFunc(v.Actions, func(a decision.Action) bool { return a.Size != nil }) || got != c.holds {
			t.Errorf("%s: writes %+v and holds %s, want %s", name, v.Actions, got, c.holds)
		}
		s.Paused = false
		next, alone := Decide(s).Actions, strings.HasSuffix(got, " is resumed")
		does := len(next) > 0 && next[0].Target.Name == v.Held[0].Target.Name
		if does != alone || does && next[0].Size.To != v.Held[0].Size.To {
			t.Errorf("%s: holds %s, and resumed it writes %+v", name, got, next)
		}
	}
}

// TestPausedRecreate: nobody waits for old pods that nobody deletes.
func TestPausedRecreate(t *testing.T) {
	for paused, want := range map[bool][]string{false: {"pods-terminating when the last of them is gone, as Recreate starts no new pod before"}, true: nil} {
		var got []string
		for _, f := range Diagnose(&Snapshot{Now: at, Found: true, Paused: paused, Want: 3, Strategy: recreate, ReplicaSets: []ReplicaSet{
			{Name: "old", UID: "o", Mine: true, Matches: true, Replicas: 3, StatusReplicas: 3, Available: 3, NonTerminal: 3}}}, decision.Learnt{}).Findings {
			got = append(got, f.Code+" "+f.Unblocks.At(at))
		}
		if !slices.Equal(got, want) {
			t.Errorf("paused %v: %q, want %q", paused, got, want)
		}
	}
}

// TestStaying: deleted pods that stay are one finding, of old and new ones, running and ended; a Recreate waits for old
// ones that still run.
func TestStaying(t *testing.T) {
	held := func(name string) []decision.TerminatingPod {
		return []decision.TerminatingPod{{Name: name, Until: at.Add(-time.Minute), Finalizers: []string{"example.com/hold"}}}
	}
	for _, c := range []struct {
		strategy              string
		fresh, old, oldEnded  int64
		beside, first         int64 // how many pods
		besideOld, beforeRest bool
	}{
		{rollingUpdate, 1, 1, 1, 3, 0, false, false},
		{rollingUpdate, 0, 1, 0, 1, 0, true, false},
		{recreate, 1, 0, 0, 1, 0, false, false},
		{recreate, 0, 0, 1, 1, 0, true, false},
		{recreate, 1, 1, 0, 1, 1, false, true},
	} {
		fresh := ReplicaSet{Name: "new", UID: "n", Mine: true, Matches: true, SameTemplate: true, Replicas: 1, StatusReplicas: 1, Ready: 1, Available: 1, TerminatingNow: c.fresh, TerminatingPods: held("new-a")[:c.fresh]}
		former := ReplicaSet{Name: "old", UID: "o", Mine: true, Matches: true, TerminatingNow: c.old, NonTerminal: c.old, TerminatingPods: held("old-a")[:c.old], TerminatingEnded: c.oldEnded, TerminatingEndedPods: held("old-b")[:c.oldEnded]}
		list := Diagnose(&Snapshot{Now: at, Found: true, Namespace: "shop", Want: 1, Strategy: c.strategy, ReplicaSets: []ReplicaSet{former, fresh}}, decision.Learnt{}).Findings
		var first int64
		if c.beforeRest {
			if len(list) == 0 || list[0].Beside {
				t.Errorf("%+v: it waits for nothing: %+v", c, list)
				continue
			}
			first, list = list[0].Count, list[1:]
		}
		if first != c.first || len(list) != 1 || !list[0].Beside || list[0].Count != c.beside || list[0].Old != c.besideOld || !list[0].NeedsAction {
			t.Errorf("%+v: %d, and beside it %+v", c, first, list)
		}
	}
}

// TestUnseen: that nothing is known of a pod is usual for as long as pods usually take.
func TestUnseen(t *testing.T) {
	for ago, want := range map[time.Duration]bool{assumedUsual - time.Second: true, assumedUsual: false, assumedUsual + time.Second: false} {
		list := Diagnose(&Snapshot{Now: at, Want: 2, LastProgress: at.Add(-ago), ReplicaSets: []ReplicaSet{{Mine: true, Matches: true, SameTemplate: true,
			Replicas: 2, StatusReplicas: 2, Available: 1}}}, decision.Learnt{}).Findings
		if len(list) != 1 || list[0].Code != diagnosis.Probe || list[0].Usual != want {
			t.Errorf("%s after progress: %+v, want usual %v", ago, list, want)
		}
	}
}

// TestUnseenInNamespace: no pod is created in a namespace that is being deleted, of which its ReplicaSet need not have said
// anything.
func TestUnseenInNamespace(t *testing.T) {
	s := &Snapshot{Now: at, Found: true, Want: 3, Strategy: rollingUpdate, NamespaceTerminating: at.Add(-time.Minute), ReplicaSets: []ReplicaSet{
		{Name: "old", UID: "o", Mine: true, Matches: true, Replicas: 1, StatusReplicas: 1, Available: 1},
		{Name: "web", UID: "w", Mine: true, Matches: true, SameTemplate: true, Revision: "1", Replicas: 3}}}
	list := Diagnose(s, decision.Learnt{}).Findings
	if len(list) != 1 || list[0].Code != diagnosis.Namespace || list[0].Count != 3 || list[0].Unblocks.At(at) != "when the namespace is gone and recreated" {
		t.Errorf("it finds %+v", list)
	}
	if held := Decide(s).Held; len(held) != 1 || held[0].Code != diagnosis.Namespace || held[0].When.Event != decision.Never || held[0].Blockers[0].Kind != "Namespace" {
		t.Errorf("it holds %+v", held)
	}
}

// TestWaitForEcho: of several writes that are not seen yet, the first check rings, and
// never before a second.
func TestWaitForEcho(t *testing.T) {
	for name, tc := range map[string]struct {
		checks []time.Duration // from now; 0 for an unknown one
		want   time.Duration
	}{
		"one":                {[]time.Duration{20 * time.Second}, 20 * time.Second},
		"the first":          {[]time.Duration{20 * time.Second, 30 * time.Second}, 20 * time.Second},
		"the second":         {[]time.Duration{30 * time.Second, 20 * time.Second}, 20 * time.Second},
		"the first, unknown": {[]time.Duration{0, 20 * time.Second}, 20 * time.Second},
		"the other, unknown": {[]time.Duration{20 * time.Second, 0}, 20 * time.Second},
		"unknown":            {[]time.Duration{0}, time.Second},
		"over":               {[]time.Duration{-time.Second}, time.Second},
	} {
		s := &Snapshot{Now: at}
		for _, d := range tc.checks {
			e := Echo{Object: "ReplicaSet web"}
			if d != 0 {
				e.Check = at.Add(d)
			}
			s.Echo = append(s.Echo, e)
		}
		timers := Decide(s).Timers
		if len(timers) != 1 || timers[0].At.Sub(at) != tc.want {
			t.Errorf("%s: %+v, want one in %s", name, timers, tc.want)
		}
	}
	if timers := Decide(&Snapshot{Now: at, Echo: []Echo{{Check: at}}}).Timers; timers[0].At.Sub(at) != time.Second {
		t.Errorf("due now: %+v", timers)
	}
}

// TestSameCondition: a condition is published again for any difference.
func TestSameCondition(t *testing.T) {
	a := decision.Condition{Type: "A", Status: "True", Reason: "R", Message: "m", Updated: at, Transition: at}
	if b := a; !sameCondition(a, b) {
		t.Error("a copy differs")
	}
	for name, change := range map[string]func(*decision.Condition){
		"type":       func(c *decision.Condition) { c.Type = "B" },
		"status":     func(c *decision.Condition) { c.Status = "False" },
		"reason":     func(c *decision.Condition) { c.Reason = "S" },
		"message":    func(c *decision.Condition) { c.Message = "n" },
		"updated":    func(c *decision.Condition) { c.Updated = at.Add(1) },
		"transition": func(c *decision.Condition) { c.Transition = at.Add(1) },
	} {
		b := a
		if change(&b); sameCondition(a, b) {
			t.Errorf("another %s is the same", name)
		}
	}
}

// TestClause: the only pod of the first finding is named, of others their number is said.
func TestClause(t *testing.T) {
	v := viewOf(&Snapshot{Deadline: new(int64(600))})
	for _, tc := range []struct {
		f     decision.Finding
		first bool
		want  string
	}{
		{decision.Finding{Count: 1, Pods: []string{"a"}}, true, "new pod a"},
		{decision.Finding{Count: 2, Pods: []string{"a"}}, true, "2 new pods"},
		{decision.Finding{Count: 1}, true, "1 new pod"},
		{decision.Finding{Count: 1, Pods: []string{"a"}}, false, "1"},
		{decision.Finding{Count: 1, Pods: []string{"a"}, Old: true}, true, "old pod a"},
		{decision.Finding{Count: 1, Pods: []string{"a"}, Old: true}, false, "1 old pod"},
	} {
		if got := v.clause(&tc.f, tc.first).At(at); got != tc.want {
			t.Errorf("%+v, first %v: %q", tc.f, tc.first, got)
		}
	}
}

// TestRecreateBlockers: Recreate waits for the ReplicaSets that have pods, by either count.
func TestRecreateBlockers(t *testing.T) {
	set := func(name string, reported, running int64) ReplicaSet {
		return ReplicaSet{Name: name, UID: name, Mine: true, Matches: true, StatusReplicas: reported, NonTerminal: running}
	}
	v := Decide(&Snapshot{Now: at, Found: true, Name: "web", Want: 2, Strategy: recreate, NextName: "web-new",
		ReplicaSets: []ReplicaSet{set("a", 0, 1), set("b", 0, 0), set("c", 1, 0), set("d", 2, 2)}})
	if len(v.Held) != 1 || v.Held[0].When.Needed != 3 {
		t.Fatalf("held %+v, want one that waits for 3 pods", v.Held)
	}
	want := []decision.Blocker{{Kind: "ReplicaSet", Name: "a"}, {Kind: "ReplicaSet", Name: "c"}, {Kind: "ReplicaSet", Name: "d"}}
	if diff := cmp.Diff(want, v.Held[0].Blockers); diff != "" || v.Held[0].BlockerCount != 3 {
		t.Errorf("%d blockers (-want +got):\n%s", v.Held[0].BlockerCount, diff)
	}
}

// TestSetBlockers names ten of any number.
func TestSetBlockers(t *testing.T) {
	for n, want := range map[int]int{0: 0, 1: 1, maxBlockers: maxBlockers, maxBlockers + 1: maxBlockers} {
		rs := ReplicaSet{Blocking: make([]Pod, n)}
		first, count := setBlockers(slices.Repeat([]*ReplicaSet{{}}, n))
		blocking := viewOf(&Snapshot{}).blockers(&rs)
		if len(first) != want || count != int64(n) || len(blocking) != want {
			t.Errorf("%d of %d ReplicaSets and %d pods, want %d", len(first), n, len(blocking), want)
		}
	}
}

// TestPausedAtZero: [S-1] an annotation of a ReplicaSet without pods stays as it is, even
// where it is not what is wanted.
func TestPausedAtZero(t *testing.T) {
	for size, want := range []int{0, 1} {
		v := Decide(&Snapshot{Now: at, Found: true, Paused: true, Want: int64(size), Strategy: recreate, ReplicaSets: []ReplicaSet{
			{Name: "web", UID: "w", Mine: true, Matches: true, SameTemplate: true, Revision: "1", Replicas: int64(size), Desired: "3", Max: digits(int64(size))}}})
		if len(v.Actions) != want {
			t.Errorf("with %d pods: %+v, want %d writes", size, v.Actions, want)
		}
	}
}

func TestSeconds(t *testing.T) {
	for n, want := range map[int64]time.Duration{-1: 0, 0: 0, 1: time.Second, 1<<31 - 1: (1<<31 - 1) * time.Second, 1 << 31: (1<<31 - 1) * time.Second} {
		if got := seconds(n); got != want {
			t.Errorf("%d: %s", n, got)
		}
	}
}

// TestRefusedCreate: [N-5] a refusal that the sync has learnt from is none.
func TestRefusedCreate(t *testing.T) {
	create := decision.Action{Kind: decision.CreateReplicaSet, Target: decision.Ref{Name: "web-new"}}
	for name, tc := range map[string]struct {
		kind decision.ActionKind
		o    decision.Outcome
		want bool
	}{
		"refused":          {decision.CreateReplicaSet, decision.Outcome{State: decision.Refused, Failure: &decision.Failure{Message: "denied"}}, true},
		"learnt from":      {decision.CreateReplicaSet, decision.Outcome{State: decision.Refused, Failure: &decision.Failure{Message: "denied", Terminal: true}}, false},
		"a taken name":     {decision.CreateReplicaSet, decision.Outcome{State: decision.Refused, Failure: &decision.Failure{Message: "denied", Reason: decision.AlreadyExists}}, false},
		"for no reason":    {decision.CreateReplicaSet, decision.Outcome{State: decision.Refused}, false},
		"unknown":          {decision.CreateReplicaSet, decision.Outcome{State: decision.Unknown, Failure: &decision.Failure{Message: "lost"}}, false},
		"of another write": {decision.UpdateReplicaSet, decision.Outcome{State: decision.Refused, Failure: &decision.Failure{Message: "denied"}}, false},
	} {
		a := create
		a.Kind = tc.kind
		c := &settler{last: decision.Round{Verdict: decision.Verdict{Actions: []decision.Action{a}}, Outcomes: []decision.Outcome{tc.o}}}
		if r := c.refusedCreate(); (r != nil) != tc.want || tc.want && r.message() != `Failed to create new replica set "web-new": denied` {
			t.Errorf("%s: %+v", name, r)
		}
	}
}

func TestStartupTimes(t *testing.T) {
	for _, tc := range []struct {
		took             []time.Duration
		fastest, slowest time.Duration
	}{
		{nil, 0, 0}, {[]time.Duration{5}, 5, 5}, {[]time.Duration{5, 3}, 3, 5}, {[]time.Duration{3, 5}, 3, 5}, {[]time.Duration{5, 3, 9, 4}, 3, 9}, {[]time.Duration{5, -1}, 0, 5},
	} {
		var c StartupTimes
		for _, took := range tc.took {
			c.Add(took)
		}
		if want := (StartupTimes{Pods: int64(len(tc.took)), Fastest: tc.fastest, Slowest: tc.slowest}); c != want {
			t.Errorf("%v: %+v", tc.took, c)
		}
	}
}

// TestRefreshAnnotations: [S-3] under Recreate only an annotation that is known to be
// another one is written.
func TestRefreshAnnotations(t *testing.T) {
	set := func(name, desired string) ReplicaSet {
		return ReplicaSet{Name: name, UID: name, Mine: true, Matches: true, Replicas: 1, Desired: desired}
	}
	v := Decide(&Snapshot{Now: at, Found: true, Want: 2, Strategy: recreate, ReplicaSets: []ReplicaSet{set("a", "3"), set("b", ""), set("c", "x"), set("d", "2")}})
	if len(v.Actions) != 1 || v.Actions[0].Target.Name != "a" {
		t.Errorf("writes %+v, want one of a", v.Actions)
	}
}

// TestAdoptsNone: what is being deleted or does not match is not adopted.
func TestAdoptsNone(t *testing.T) {
	v := viewOf(&Snapshot{ReplicaSets: []ReplicaSet{{Name: "a", Matches: true, Deleting: true}, {Name: "b"}, {Name: "c", Matches: true}}})
	if len(v.adopt) != 1 || v.adopt[0].Name != "c" || len(v.children)+len(v.release) != 0 {
		t.Errorf("adopts %d, owns %d, releases %d", len(v.adopt), len(v.children), len(v.release))
	}
}
