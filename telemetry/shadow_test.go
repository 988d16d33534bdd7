package telemetry

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/loopscope/loopscope/telemetry/decision"
)

// watching is a stream of syncs of one Deployment in a process that only watches.
type watching struct {
	t      *testing.T
	shadow *Shadow
	now    time.Time
	seq    uint64
}

func newWatching(t *testing.T) *watching {
	return &watching{t: t, shadow: NewShadow(TestLoops), now: time.Date(2026, 11, 21, 3, 0, 0, 0, time.UTC)}
}

// sync is a sync that saw ReplicaSets at some versions, for some causes, and
// would have written some sizes: name, from, to and the version decided on.
func (w *watching) sync(causes []Cause, seen map[string]string, actions ...decision.Action) *Trace {
	w.t.Helper()
	w.seq++
	w.now = w.now.Add(time.Second)
	type set struct {
		Name string `json:"name"`
		RV   string `json:"rv"`
	}
	var s struct {
		ReplicaSets []set `json:"replicaSets"`
	}
	for name, rv := range seen {
		s.ReplicaSets = append(s.ReplicaSets, set{name, rv})
	}
	raw, err := json.Marshal(s)
	if err != nil {
		w.t.Fatal(err)
	}
	x := &Trace{Epoch: "e", Seq: w.seq, Object: Object{"deployment", "shop", "web"}, Causes: causes, Ended: w.now, Snapshot: SnapshotText(raw),
		Rounds: []decision.Round{{Verdict: decision.Verdict{Actions: actions, Path: decision.Path{{Question: "RR-2"}}}}}}
	w.shadow.Add([]*Trace{x}, 0)
	return x
}

func resize(name, rv string, from, to int64) decision.Action {
	return decision.Action{Kind: decision.UpdateReplicaSet, Question: "RR-2", Target: decision.Ref{Kind: "ReplicaSet", Name: name, RV: rv}, Size: &decision.Size{From: from, To: to}}
}

// later is the number after that of a version.
func later(rv string) string { n, _ := strconv.Atoi(rv); return strconv.Itoa(n + 1) }

func wrote(name, was, is string, from, to int, manager string) Cause {
	return Cause{Kind: CauseModified, Object: "ReplicaSet " + name, OldRV: was, NewRV: is, Manager: manager, Fields: []decision.Change{{Field: "spec.replicas", From: fmt.Sprint(from), To: fmt.Sprint(to)}}}
}

// TestShadowVerdicts plays one decision and what came of it, in every way.
func TestShadowVerdicts(t *testing.T) {
	pod := Cause{Kind: CauseModified, Object: "ReplicaSet web-1", OldRV: "5", NewRV: "6", Fields: []decision.Change{{Field: "status.readyReplicas", From: "1", To: "2"}}}
	predict := resize("web-2", "10", 3, 5)
	for name, c := range map[string]struct {
		causes  []Cause
		verdict ShadowVerdict
	}{
		"the same":          {[]Cause{wrote("web-2", "10", "11", 3, 5, ControllerManager)}, ShadowAgrees},
		"the same, by whom": {[]Cause{wrote("web-2", "10", "11", 3, 5, "")}, ShadowAgrees},
		"another size":      {[]Cause{wrote("web-2", "10", "11", 3, 4, ControllerManager)}, ShadowUnexplained},
		"another version":   {[]Cause{wrote("web-2", "12", "13", 3, 4, ControllerManager)}, ShadowTiming},
		"more had changed":  {[]Cause{pod, wrote("web-2", "10", "11", 3, 4, ControllerManager)}, ShadowTiming},
		"somebody else":     {[]Cause{wrote("web-2", "10", "11", 3, 9, "kubectl")}, ShadowOther},
	} {
		w := newWatching(t)
		w.sync(nil, map[string]string{"web-2": "10"}, predict)
		x := w.sync(c.causes, nil)
		if early := w.shadow.State(w.now); early.Count(ShadowUnexplained) != 0 {
			t.Errorf("%s: unexplained at once", name)
		}
		st := w.shadow.State(w.now.Add(ShadowSettles + 1))
		if st.Count(c.verdict) != 1 || st.Syncs != 2 || st.Silent != 1 || st.Withdrawn != 0 {
			t.Errorf("%s: %+v", name, st)
		}
		if n := len(w.shadow.agreed); c.verdict != ShadowAgrees && n != 0 {
			t.Errorf("%s: %d managers are known by what was not predicted", name, n)
		}
		if differs := c.verdict != ShadowAgrees; differs != (len(st.Differences) == 1) || differs && (st.Differences[0].SeenIn != x.Seq || st.Differences[0].Sync != 1 || st.Differences[0].Predicted != "3 → 5") {
			t.Errorf("%s: kept %+v", name, st.Differences)
		}
	}
}

// TestShadowOfTheOthersPast: a controller whose cache has not seen the newest Deployment
// writes what an earlier sync here predicted on the same version of the ReplicaSet.
func TestShadowOfTheOthersPast(t *testing.T) {
	seen := map[string]string{"web-2": "10"}
	for name, c := range map[string]struct {
		now     []decision.Action // what the newest sync says
		wrote   Cause
		verdict ShadowVerdict // "" for no difference
	}{
		"changed":                    {[]decision.Action{resize("web-2", "10", 3, 7)}, wrote("web-2", "10", "11", 3, 5, ControllerManager), ShadowAgrees},
		"changed, and written so":    {[]decision.Action{resize("web-2", "10", 3, 7)}, wrote("web-2", "10", "11", 3, 7, ControllerManager), ShadowAgrees},
		"changed, neither":           {[]decision.Action{resize("web-2", "10", 3, 7)}, wrote("web-2", "10", "11", 3, 6, ControllerManager), ShadowUnexplained},
		"withdrawn":                  {nil, wrote("web-2", "10", "11", 3, 5, ControllerManager), ShadowAgrees},
		"withdrawn, another size":    {nil, wrote("web-2", "10", "11", 3, 6, ControllerManager), ShadowUnexplained},
		"withdrawn, another version": {nil, wrote("web-2", "12", "13", 3, 5, ControllerManager), ""},
	} {
		w := newWatching(t)
		w.sync(nil, seen, resize("web-2", "10", 3, 5))
		w.sync(nil, seen, c.now...)
		w.sync([]Cause{c.wrote}, seen)
		st := w.shadow.State(w.now.Add(ShadowSettles + 1))
		if c.verdict != "" && st.Count(c.verdict) != 1 || c.verdict == "" && (len(st.Questions) != 0 || st.Together != 1) {
			t.Errorf("%s: %+v, want %s", name, st, c.verdict)
		}
		if len(w.shadow.outdated) != 0 {
			t.Errorf("%s: what was settled is remembered", name)
		}
		if withdrawn := c.now == nil && c.verdict != ShadowAgrees; withdrawn != (st.Withdrawn == 1) {
			t.Errorf("%s: %d withdrawn", name, st.Withdrawn)
		}
	}
	w := newWatching(t)
	w.sync(nil, seen, resize("web-2", "10", 3, 5))
	gone := *w.sync(nil, seen)
	if len(w.shadow.outdated) != 1 {
		t.Error("what was withdrawn is forgotten")
	}
	gone.Gone = true
	if w.shadow.Add([]*Trace{&gone}, 0); len(w.shadow.outdated) != 0 {
		t.Error("what was withdrawn is remembered of a Deployment that is gone")
	}
}

// TestShadowTime: what nobody writes is overdue from the first sync that said so,
// until somebody does; what a later sync does not come to any more is withdrawn.
func TestShadowTime(t *testing.T) {
	w := newWatching(t)
	seen := map[string]string{"web-2": "10"}
	w.sync(nil, seen, resize("web-2", "10", 3, 5))
	first := w.now
	for range 4 {
		w.sync(nil, seen, resize("web-2", "10", 3, 5))
	}
	if st := w.shadow.State(first.Add(ShadowWithin)); st.Count(ShadowOverdue) != 0 {
		t.Errorf("overdue at the limit: %+v", st)
	}
	st := w.shadow.State(first.Add(ShadowWithin + time.Millisecond))
	if st.Count(ShadowOverdue) != 1 || !st.Differences[0].At.Equal(first) {
		t.Errorf("overdue: %+v", st)
	}
	w.sync([]Cause{wrote("web-2", "10", "11", 3, 5, ControllerManager)}, seen)
	if st := w.shadow.State(w.now.Add(time.Hour)); st.Count(ShadowOverdue) != 0 || st.Count(ShadowAgrees) != 1 || len(st.Differences) != 0 {
		t.Errorf("written late: %+v", st)
	}
	w.sync(nil, seen, resize("web-2", "11", 5, 6))
	w.sync(nil, seen)
	if st := w.shadow.State(w.now.Add(time.Hour)); st.Withdrawn != 1 || st.Count(ShadowOverdue) != 0 {
		t.Errorf("withdrawn: %+v", st)
	}
}

// TestShadowUnpredicted: a write that nobody predicted is a difference where
// everything was known before it, and cannot be compared otherwise.
func TestShadowUnpredicted(t *testing.T) {
	w := newWatching(t)
	w.sync(nil, map[string]string{"web-2": "10"})
	w.sync([]Cause{{Kind: CauseModified, Object: "Deployment web"}, wrote("web-2", "10", "11", 3, 5, ControllerManager)}, map[string]string{"web-2": "11"})
	if st := w.shadow.State(w.now.Add(ShadowSettles + 1)); st.Together != 1 || len(st.Questions) != 0 {
		t.Errorf("together with its cause: %+v", st)
	}
	w.sync([]Cause{wrote("web-2", "11", "12", 5, 6, "kubectl")}, map[string]string{"web-2": "12"})
	if st := w.shadow.State(w.now); st.Together != 1 || st.Count(ShadowOther) != 1 || st.Differences[0].Manager != "kubectl" {
		t.Errorf("by somebody else: %+v", st)
	}
	w.sync([]Cause{wrote("web-2", "12", "13", 6, 7, ControllerManager)}, map[string]string{"web-2": "13"})
	st := w.shadow.State(w.now.Add(ShadowSettles + 1))
	if st.Count(ShadowUnexplained) != 1 || st.Differences[0].Predicted != "none" || st.Differences[0].Observed != "6 → 7" || st.Differences[0].Question != "RR-2" {
		t.Errorf("out of the blue: %+v", st)
	}
	w.sync([]Cause{{Kind: CauseModified, Object: "ReplicaSet web-2", Sync: 3, Fields: wrote("web-2", "", "", 1, 2, "").Fields}}, nil)
	if again := w.shadow.State(w.now); again.Count(ShadowUnexplained) != 1 || again.Together != st.Together {
		t.Errorf("our own write was compared: %+v", again)
	}
}

// TestShadowCreation compares ReplicaSets by their names.
func TestShadowCreation(t *testing.T) {
	w := newWatching(t)
	create := decision.Action{Kind: decision.CreateReplicaSet, Question: "RR-1", Target: decision.Ref{Kind: "ReplicaSet", Name: "web-3"}, Size: &decision.Size{To: 3}}
	w.sync(nil, nil, create)
	w.sync([]Cause{{Kind: CauseAdded, Object: "ReplicaSet web-3", NewRV: "20"}}, nil)
	if st := w.shadow.State(w.now); st.Count(ShadowAgrees) != 1 || st.Questions[0].Question != "RR-1" {
		t.Errorf("%+v", st)
	}
	w.sync(nil, nil, resize("web-2", "10", 3, 5))
	w.sync([]Cause{{Kind: CauseAdded, Object: "ReplicaSet web-2", NewRV: "21"}}, nil)
	if st := w.shadow.State(w.now); st.Count(ShadowAgrees) != 1 || st.Withdrawn != 1 {
		t.Errorf("a ReplicaSet that appears is not the size that was predicted of it: %+v", st)
	}
}

// TestShadowOfSyncsWithoutRounds: one that ended before it could decide predicts nothing,
// and is no proof that nothing was to be decided.
func TestShadowOfSyncsWithoutRounds(t *testing.T) {
	w := newWatching(t)
	seen := map[string]string{"web-2": "10"}
	w.sync(nil, seen).Rounds = nil
	w.shadow.Add([]*Trace{{Object: object("api")}}, 0)
	w.sync([]Cause{wrote("web-2", "10", "11", 3, 5, ControllerManager)}, seen)
	if st := w.shadow.State(w.now.Add(ShadowSettles + 1)); st.Together != 1 || st.Syncs != 3 || st.Silent != 3 || len(st.Differences) != 0 {
		t.Errorf("%+v", st)
	}
}

// TestShadowOfOtherSyncs: other loops decide no sizes of ReplicaSets, and what is gone is forgotten.
func TestShadowOfOtherSyncs(t *testing.T) {
	w := newWatching(t)
	other := w.sync(nil, nil)
	gone := *other
	gone.Gone = true
	set := Trace{Object: Object{"replicaset", "shop", "web-1"}}
	w.shadow.Add([]*Trace{&set}, 0)
	if st := w.shadow.State(w.now); st.Syncs != 1 || len(w.shadow.newest) != 1 {
		t.Errorf("a ReplicaSet's sync was compared: %+v", st)
	}
	if w.shadow.Add([]*Trace{&gone}, 0); len(w.shadow.newest) != 0 {
		t.Errorf("%d Deployments are remembered, none is left", len(w.shadow.newest))
	}
}

// TestShadowPredictsSizes that would change, and ReplicaSets that would be created with any.
func TestShadowPredictsSizes(t *testing.T) {
	target := decision.Ref{Kind: "ReplicaSet", Name: "web-2", RV: "10"}
	x := &Trace{Epoch: "e", Seq: 7, Object: object("web"), Ended: time.Unix(9, 0)}
	for name, c := range map[string]struct {
		action decision.Action
		want   string // "" for none
	}{
		"a size":          {decision.Action{Kind: decision.UpdateReplicaSet, Size: &decision.Size{From: 1, To: 2}}, "1 → 2"},
		"the same size":   {decision.Action{Kind: decision.UpdateReplicaSet, Size: &decision.Size{From: 2, To: 2}}, ""},
		"no size":         {decision.Action{Kind: decision.UpdateReplicaSet}, ""},
		"a creation":      {decision.Action{Kind: decision.CreateReplicaSet, Size: &decision.Size{To: 2}}, "web-2"},
		"an empty one":    {decision.Action{Kind: decision.CreateReplicaSet, Size: &decision.Size{}}, "web-2"},
		"without a size":  {decision.Action{Kind: decision.CreateReplicaSet}, ""},
		"another's write": {decision.Action{Kind: decision.UpdateDeployment}, ""},
	} {
		c.action.Target, c.action.Question = target, "RR-2"
		p := predictionOf(x, &c.action)
		if (p == nil) != (c.want == "") {
			t.Errorf("%s: %+v, want %q", name, p, c.want)
		} else if want := (Difference{Verdict: ShadowOverdue, At: x.Ended, Object: x.Object, Target: "web-2", Question: "RR-2", Predicted: c.want, DecidedOn: "10", Epoch: "e", Sync: 7}); p != nil && (p.Difference != want || p.create != (c.action.Kind == decision.CreateReplicaSet)) {
			t.Errorf("%s: %+v, want %+v", name, p, want)
		}
	}
}

// TestShadowListsDifferences with the newest first, then by object and ReplicaSet.
func TestShadowListsDifferences(t *testing.T) {
	s := NewShadow(TestLoops)
	for _, d := range []Difference{
		{At: time.Unix(1, 0), Object: object("a"), Target: "a-1", Question: "RR-1"}, {At: time.Unix(2, 0), Object: object("b"), Target: "b-2", Question: "RR-2"},
		{At: time.Unix(2, 0), Object: object("b"), Target: "b-1", Question: "RR-2"}, {At: time.Unix(2, 0), Object: object("a"), Target: "a-9", Question: "RR-1"},
	} {
		s.predictions[shadowTarget{"shop", d.Target}] = &prediction{Difference: d}
	}
	st := s.State(time.Unix(100, 0))
	var order []string
	for _, d := range st.Differences {
		order = append(order, d.Target)
	}
	if got := strings.Join(order, " "); got != "a-9 b-1 b-2 a-1" {
		t.Errorf("listed as %s", got)
	}
	if q := st.Questions; len(q) != 2 || q[0].Question != "RR-1" || q[0].Counts[ShadowOverdue] != 2 || q[1].Counts[ShadowOverdue] != 2 {
		t.Errorf("questions %+v", q)
	}
}

// TestShadowOfUnreadableSnapshots: what cannot be read whole is no proof of what was seen.
func TestShadowOfUnreadableSnapshots(t *testing.T) {
	for name, snapshot := range map[string]Snapshot{
		"none":        {},
		"partly":      SnapshotText([]byte(`{"replicaSets":[{"name":"web-2","rv":"10"},7]}`)),
		"not at all":  SnapshotText([]byte(`{"replicaSets":`)),
		"of another":  SnapshotText([]byte(`{"replicaSets":[{"name":"web-3","rv":"10"}]}`)),
		"of its past": SnapshotText([]byte(`{"replicaSets":[{"name":"web-2","rv":"9"}]}`)),
	} {
		w := newWatching(t)
		w.sync(nil, nil).Snapshot = snapshot
		w.sync([]Cause{wrote("web-2", "10", "11", 3, 5, ControllerManager)}, nil)
		if st := w.shadow.State(w.now.Add(ShadowSettles + 1)); st.Together != 1 || len(st.Differences) != 0 {
			t.Errorf("read %s: %+v", name, st)
		}
	}
}

// TestShadowSuspects: a cache that is behind another explains a difference, if
// what it shows later was written before.
func TestShadowSuspects(t *testing.T) {
	for name, c := range map[string]struct {
		rv      string
		verdict ShadowVerdict
	}{"written before": {"10", ShadowTiming}, "written by it": {"11", ShadowTiming}, "written after": {"12", ShadowUnexplained}, "no number": {"x", ShadowTiming}} {
		w := newWatching(t)
		w.sync(nil, nil, resize("web-2", "9", 3, 5))
		w.sync([]Cause{wrote("web-2", "9", "11", 3, 0, ControllerManager)}, nil)
		w.sync([]Cause{{Kind: CauseModified, Object: "Deployment web", NewRV: c.rv}}, nil)
		if st := w.shadow.State(w.now.Add(ShadowSettles)); st.Count(c.verdict) != 1 || len(st.Differences) != 1 {
			t.Errorf("%s: %+v", name, st)
		}
	}
}

// TestShadowOfWhatIsUndone: a controller that was behind undoes what it wrote once it knows,
// as is predicted on what it wrote. One that goes on as it began is not told from a wrong one.
func TestShadowOfWhatIsUndone(t *testing.T) {
	for name, c := range map[string]struct {
		next, then int64 // predicted on what it wrote, and written
		on         string
		verdict    ShadowVerdict
	}{
		"undone": {4, 4, "11", ShadowTiming}, "on its way": {7, 7, "11", ShadowUnexplained},
		"otherwise": {4, 3, "11", ShadowUnexplained}, "later": {4, 4, "12", ShadowUnexplained},
	} {
		w := newWatching(t)
		w.sync(nil, nil, resize("web-2", "10", 3, 5), resize("web-1", "8", 3, 2))
		w.sync([]Cause{wrote("web-2", "10", "11", 3, 6, ControllerManager)}, nil, resize("web-2", c.on, 6, c.next))
		w.sync([]Cause{wrote("web-2", c.on, "14", 6, int(c.then), ControllerManager)}, nil)
		if st := w.shadow.State(w.now.Add(2*ShadowSettles + 1)); st.Count(c.verdict) == 0 || (st.Count(ShadowUnexplained) == 0) != (c.verdict == ShadowTiming) {
			t.Errorf("%s: %+v, want %s", name, st, c.verdict)
		}
	}
}

// TestLaterVersions: the later of two numbers; what is none is not known to be later.
func TestLaterVersions(t *testing.T) {
	const large = "99999999999999999999" // More than a version can be.
	for _, c := range []struct {
		rv, than string
		want     bool
	}{{"10", "9", true}, {"9", "10", false}, {"9", "9", false}, {"x", "9", false}, {"9", "x", false}, {large, "9", false}, {"9", large, false}, {"9", "", false}} {
		if got := after(c.rv, c.than); got != c.want {
			t.Errorf("%q after %q: %t, want %t", c.rv, c.than, got, c.want)
		}
	}
}

// TestShadowLearnsTheController: whoever writes what is predicted, again and
// again, is the other controller, however it calls itself.
func TestShadowLearnsTheController(t *testing.T) {
	w := newWatching(t)
	for i := range 4 {
		rv := fmt.Sprint(i)
		w.sync(nil, nil, resize("web-2", rv, 3, 5))
		w.sync([]Cause{wrote("web-2", rv, later(fmt.Sprint(i)), 3, 4, "cloud-controllers")}, nil)
		st := w.shadow.State(w.now.Add(ShadowSettles + 1))
		if known := i == 3; known != (st.Count(ShadowUnexplained) == 1) {
			t.Errorf("after %d: %+v", i, st.Questions)
		}
		w.sync(nil, nil, resize("web-2", rv, 3, 5))
		w.sync([]Cause{wrote("web-2", rv, later(fmt.Sprint(i)), 3, 5, "cloud-controllers")}, nil)
	}
}

// TestShadowIsBounded: neither differences nor a gap make it grow.
func TestShadowIsBounded(t *testing.T) {
	w := newWatching(t)
	for i := range 2 * maxDifferences {
		w.sync(nil, nil, resize("web-2", fmt.Sprint(i), 3, 5))
		w.sync([]Cause{wrote("web-2", fmt.Sprint(i), later(fmt.Sprint(i)), 3, 4, ControllerManager)}, nil)
	}
	if st := w.shadow.State(w.now.Add(ShadowSettles + 1)); len(st.Differences) != maxDifferences || st.Count(ShadowUnexplained) != 2*maxDifferences || st.Differences[0].Sync != w.seq-1 {
		t.Errorf("%d differences kept, %d counted, the newest of sync %d", len(st.Differences), st.Count(ShadowUnexplained), st.Differences[0].Sync)
	}
	w.sync(nil, nil, resize("web-2", "1", 3, 5))
	w.shadow.Add(nil, 7)
	if st := w.shadow.State(w.now.Add(time.Hour)); st.Missed != 7 || st.Count(ShadowOverdue) != 0 || len(w.shadow.outdated) != 0 {
		t.Errorf("after a gap: %+v", st)
	}
	for i := range maxPredictions {
		w.shadow.predictions[shadowTarget{"shop", fmt.Sprint(i)}] = &prediction{}
	}
	w.sync(nil, nil, resize("7", "1", 3, 5), resize("one too many", "1", 3, 5))
	if p := w.shadow.predictions; len(p) != maxPredictions || p[shadowTarget{"shop", "7"}].Predicted != "3 → 5" {
		t.Errorf("%d predictions, want %d, and a newer one in the place of an older one", len(p), maxPredictions)
	}
	for i := range maxPredictions {
		w.shadow.outdated[shadowTarget{"shop", fmt.Sprint("old ", i)}] = &prediction{}
	}
	if w.sync(nil, nil); len(w.shadow.outdated) != maxPredictions {
		t.Errorf("%d outdated predictions, want %d", len(w.shadow.outdated), maxPredictions)
	}
}
