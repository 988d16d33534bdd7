package telemetry

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/loopscope/loopscope/telemetry/decision"
)

func names(traces []*Trace) []string {
	list := []string{}
	for _, t := range traces {
		list = append(list, t.Namespace+"/"+t.Name)
	}
	return list
}

func TestBoardListsTheNewestOfEveryLiveObject(t *testing.T) {
	j := NewJournal(JournalOptions{Loops: TestLoops, Recent: 2})
	for i := range 5 {
		j.Record(quiet(fmt.Sprintf("web-%d", 4-i)))
	}
	record(j,
		&Trace{Object: Object{"deployment", "bank", "zeta"}},
		&Trace{Object: Object{"replicaset", "shop", "web-0"}},
		quiet("web-3"),
		&Trace{Object: object("web-1"), Gone: true},
		&Trace{Object: object("never-seen"), Gone: true})
	want := []string{"bank/zeta", "shop/web-0", "shop/web-2", "shop/web-3", "shop/web-4"}
	if diff := cmp.Diff(want, names(j.Board().List("deployment"))); diff != "" {
		t.Errorf("deployments (-want +got):\n%s", diff)
	}
	if tr, ok := j.Board().Get(object("web-3")); !ok || tr.Seq != 8 {
		t.Errorf("web-3: %+v, %v", tr, ok)
	}
	if _, ok := j.Board().Get(object("web-1")); ok {
		t.Error("web-1 is gone and on the board")
	}
}

// A loop is on the board as long as an object of it is.
func TestBoardLoops(t *testing.T) {
	j := NewJournal(JournalOptions{})
	check := func(want ...string) {
		t.Helper()
		if diff := cmp.Diff(want, j.Board().Loops()); diff != "" {
			t.Errorf("loops (-want +got):\n%s", diff)
		}
	}
	check()
	of := func(loop, name string, gone bool) *Trace {
		return &Trace{Object: Object{loop, "shop", name}, Gone: gone}
	}
	record(j, of("widget", "a", false), of("widget", "b", false), of("job", "a", false), of("job", "a", false))
	check("job", "widget")
	record(j, of("widget", "a", true), of("job", "a", true), of("job", "a", true))
	check("widget")
	record(j, of("widget", "b", true))
	check()
}

func TestBoardChildren(t *testing.T) {
	child := func(name, owner string, gone bool) *Trace {
		return &Trace{Object: Object{"replicaset", "shop", name}, Owner: owner, Gone: gone}
	}
	j := NewJournal(JournalOptions{Loops: TestLoops})
	record(j, child("web-b", "web", false), child("web-a", "web", false), child("api-a", "api", false), child("orphan", "", false))
	check := func(when, owner string, want ...string) {
		t.Helper()
		if diff := cmp.Diff(append([]string{}, want...), names(j.Board().Children("replicaset", "shop", owner))); diff != "" {
			t.Errorf("%s, children of %s (-want +got):\n%s", when, owner, diff)
		}
	}
	check("first", "web", "shop/web-a", "shop/web-b")
	check("first", "api", "shop/api-a")
	check("first", "")
	record(j, child("orphan", "web", false), child("web-a", "", false), child("api-a", "api", true))
	check("adopted, released, deleted", "web", "shop/orphan", "shop/web-b")
	check("adopted, released, deleted", "api")
	if n := len(j.Board().children); n != 1 {
		t.Errorf("%d owners are remembered, one has children", n)
	}
}

func TestBoardRemembersToneAndWrites(t *testing.T) {
	start := time.Date(2026, 11, 21, 1, 12, 0, 0, time.UTC)
	at := func(s int) time.Time { return start.Add(time.Duration(s) * time.Second) }
	say := func(s int, tone decision.Tone, uid string) *Trace {
		tr := quiet("web")
		tr.UID, tr.Ended, tr.Sentence.Tone = uid, at(s), tone
		return tr
	}
	scale := outcome(ResultWrote, "web", decision.Action{Size: &decision.Size{From: 1, To: 2}}, decision.Outcome{State: decision.Written})
	scale.UID, scale.Ended, scale.Sentence.Tone = "a", at(4), decision.ToneMoving
	known := say(8, decision.ToneWaiting, "a")
	known.Sentence.Since = at(6)
	wrote := say(5, decision.ToneMoving, "a")
	wrote.Result = ResultWrote
	j := NewJournal(JournalOptions{Loops: TestLoops, Recent: 1, Wrote: 1})
	var never time.Time
	for i, c := range []struct {
		trace *Trace
		since time.Time
		wrote uint64
		stuck time.Time // since when, if it is
	}{
		{say(1, decision.ToneOK, "a"), at(1), 0, never},
		{say(2, decision.ToneOK, "a"), at(1), 0, never},
		{say(3, decision.ToneMoving, "a"), at(3), 0, never},
		{scale, at(3), 4, never},
		{wrote, at(3), 5, never},
		{say(6, "", "a"), at(3), 5, never},
		{say(7, decision.ToneMoving, "a"), at(3), 5, never},
		{known, at(6), 5, at(6)},
		{say(9, decision.ToneWaiting, "b"), at(9), 0, at(9)},  // recreated under the same name
		{say(10, decision.ToneFailed, "b"), at(10), 0, at(9)}, // without a break
		{say(11, decision.ToneWaiting, ""), at(11), 0, at(9)},
		{say(12, decision.ToneOK, "b"), at(12), 0, never},
		{say(13, decision.ToneFailed, "b"), at(13), 0, at(13)},
	} {
		j.Record(c.trace)
		b := j.Board()
		row, _ := b.Row(object("web"))
		if since := b.SinceTone(object("web")); !since.Equal(c.since) || row.WroteSeq != c.wrote || (c.wrote > 0) == row.WroteAt.IsZero() {
			t.Errorf("step %d: since %v, wrote %d at %v; want %v, %d", i+1, since, row.WroteSeq, row.WroteAt, c.since, c.wrote)
		}
		if !row.StuckSince.Equal(c.stuck) {
			t.Errorf("step %d: stuck since %v, want %v", i+1, row.StuckSince, c.stuck)
		}
	}
}

func TestWritesAreFoundByWhatTheyWrote(t *testing.T) {
	j := NewJournal(JournalOptions{Loops: TestLoops, Writes: 6})
	rs := decision.Ref{Kind: "ReplicaSet", Namespace: "shop", Name: "web-7d4b9c6f5x"}
	scaled := outcome(ResultWrote, "web", decision.Action{Kind: decision.UpdateReplicaSet, Target: rs}, decision.Outcome{State: decision.Written, RV: "101"})
	scaled.Report = &decision.Report{Outcome: &decision.Outcome{State: decision.Written, RV: "102"}}
	refused := outcome(ResultFailed, "web", decision.Action{Target: rs}, decision.Outcome{State: decision.Refused, RV: "103"})
	created := outcome(ResultWrote, "web", decision.Action{Kind: decision.CreateReplicaSet, Target: decision.Ref{Kind: "ReplicaSet", Namespace: "shop"}},
		decision.Outcome{State: decision.Written, RV: "104", Names: []string{"web-new"}})
	pods := outcome(ResultWrote, "web-7d4b9c6f5x", decision.Action{Kind: decision.CreatePods, Target: rs, Count: 2},
		decision.Outcome{State: decision.Partly, Names: []string{"web-7d4b9c6f5x-aaaaa", "web-7d4b9c6f5x-bbbbb"}})
	pods.Loop = "replicaset"
	record(j, scaled, refused, created, pods)
	for _, c := range []struct {
		kind, name, rv string
		want           uint64
	}{
		{"ReplicaSet", "web-7d4b9c6f5x", "101", 1},
		{"Deployment", "web", "102", 1},
		{"ReplicaSet", "web-7d4b9c6f5x", "103", 0},
		{"ReplicaSet", "web-new", "104", 3},
		{"ReplicaSet", "web-new", "", 0},
		{"Pod", "web-7d4b9c6f5x-aaaaa", "", 0},
	} {
		if got, ok := j.SyncOf(c.kind, "shop", c.name, c.rv); got != c.want || ok != (c.want > 0) {
			t.Errorf("SyncOf(%s %s at %q) = %d, %v; want %d", c.kind, c.name, c.rv, got, ok, c.want)
		}
	}
	if got, ok := j.Named("Pod", "shop", "web-7d4b9c6f5x-bbbbb"); got != 4 || !ok {
		t.Errorf("Named = %d, %v; want 4", got, ok)
	}
	record(j, pods) // The same names again take no more room.
	if got, _ := j.Named("Pod", "shop", "web-7d4b9c6f5x-bbbbb"); got != 5 || len(j.wrote.syncs) != 6 {
		t.Errorf("Named = %d with %d writes remembered; want 5 with 6", got, len(j.wrote.syncs))
	}
	record(j, outcome(ResultWrote, "web", decision.Action{Target: rs}, decision.Outcome{State: decision.Written, RV: "105"}),
		outcome(ResultWrote, "web", decision.Action{Target: rs}, decision.Outcome{State: decision.Written, RV: "106"}))
	if _, ok := j.SyncOf("ReplicaSet", "shop", rs.Name, "101"); ok {
		t.Error("the oldest write is remembered beyond the bound")
	}
	if _, ok := j.SyncOf("ReplicaSet", "shop", rs.Name, "106"); !ok {
		t.Error("the newest write is forgotten")
	}
}

// TestBoardOfAnotherObject: one of the same name with another UID has no past, and one whose UID was not known has.
func TestBoardOfAnotherObject(t *testing.T) {
	for name, c := range map[string]struct {
		was, is string
		want    uint64
	}{"the same": {"a", "a", 7}, "another": {"a", "b", 0}, "not known before": {"", "b", 7}, "not known now": {"a", "", 7}} {
		r := (*Row)(nil).next(&Trace{Seq: 7, UID: c.was, Result: ResultWrote})
		if got := r.next(&Trace{Seq: 8, UID: c.is}).WroteSeq; got != c.want {
			t.Errorf("%s: it wrote last in %d", name, got)
		}
	}
}

// TestBoardNamespaces are those of each loop, each once.
func TestBoardNamespaces(t *testing.T) {
	j := NewJournal(JournalOptions{})
	for _, o := range []Object{object("web"), object("api"), {Loop: "deployment", Namespace: "bank", Name: "web"}, {Loop: "deployment", Name: "nowhere"}} {
		j.Record(&Trace{Object: o})
	}
	b := j.Board()
	if got := b.Namespaces("deployment"); !slices.Equal(got, []string{"bank", "shop"}) {
		t.Errorf("%q", got)
	}
	if got := b.RowsIn("deployment", []string{"bank", "elsewhere"}); len(got) != 1 || got[0].Trace.Namespace != "bank" || len(b.RowsIn("deployment", nil)) != 0 {
		t.Errorf("%d rows", len(got))
	}
	for _, name := range []string{"web", "api"} {
		j.Record(&Trace{Object: object(name), Gone: true})
	}
	if got := b.Namespaces("deployment"); !slices.Equal(got, []string{"bank"}) {
		t.Errorf("%q are left", got)
	}
	j.Record(&Trace{Object: Object{Loop: "deployment", Namespace: "bank", Name: "web"}, Gone: true})
	if got := b.Namespaces("deployment"); len(got) != 0 || !slices.Equal(b.Loops(), []string{"deployment"}) {
		t.Errorf("%q and %q are left", got, b.Loops())
	}
}
