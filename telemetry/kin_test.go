package telemetry_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/decision"
)

var (
	update = telemetry.Object{Loop: "rollingupdate", Namespace: "shop", Name: "web"}
	oldRC  = telemetry.Object{Loop: "replicationcontroller", Namespace: "shop", Name: "web"}
	newRC  = telemetry.Object{Loop: "replicationcontroller", Namespace: "shop", Name: "web-2"}
)

func decides(t *telemetry.Trace, snapshot string) *telemetry.Trace {
	t.Snapshot = telemetry.SnapshotText([]byte(snapshot))
	return t
}

// replacement is an update that scales its new ReplicationController, whose status it
// sees before the sync is recorded that wrote it.
func replacement() *saga {
	s := &saga{at: sagaBegan}
	rc := func(name, rv string, fields ...decision.Change) telemetry.Cause {
		return event(telemetry.CauseModified, "ReplicationController "+name, rv, fields...)
	}
	size := func(t *telemetry.Trace, name, rv string) *telemetry.Trace {
		t.Rounds[0].Verdict.Actions = []decision.Action{{Kind: "scale", Target: decision.Ref{Kind: "ReplicationController", Namespace: "shop", Name: name}}}
		t.Rounds[0].Outcomes = []decision.Outcome{{State: decision.Written, RV: rv}}
		t.Result = telemetry.ResultWrote
		return t
	}
	asked := rc("web", "10", decision.Change{Field: "metadata.annotations[request]"})
	asked.Manager = "kubectl-annotate"
	decides(s.sync(update, decision.ToneMoving, "splitting", asked), `{"works":["web"],"fresh":true}`)
	replicas := decision.Change{Field: "spec.replicas", From: "0", To: "1"}
	decides(size(s.sync(update, decision.ToneMoving, "up"), "web-2", "11"), `{"works":["web","web-2"]}`)
	publishes(creates(s.sync(newRC, decision.ToneMoving, "creating", rc("web-2", "11", replicas)), "web-2-x"), "12")
	status := rc("web-2", "12", decision.Change{Field: "status.replicas", From: "0", To: "1"})
	decides(s.sync(update, decision.ToneWaiting, "floor", status), `{"works":["web","web-2"]}`)
	decides(s.sync(update, decision.ToneOK, "complete", rc("web-2", "13", decision.Change{Field: "metadata.labels[a]"})), `{"works":["web","web-2"]}`)
	other := telemetry.Object{Loop: "replicationcontroller", Namespace: "shop", Name: "api"}
	s.sync(other, decision.ToneOK, "settled")
	return s
}

// TestStoryOfWhatIsSteered: the story of an update has the syncs of the ReplicationControllers
// that it works on, begins with its request, and knows who wrote what it saw; theirs
// names the loop that scaled them.
func TestStoryOfWhatIsSteered(t *testing.T) {
	s := replacement()
	e := telemetry.NewExcerpt(telemetry.TestLoops, s.traces)
	story, ok := e.Story(s.traces[4])
	if !ok || story.Open || story.Counts.Syncs != 5 {
		t.Fatalf("%t, open %t: %+v", ok, story.Open, story.Counts)
	}
	got := told(story)
	for _, want := range []string{
		"ReplicationController web was changed by kubectl-annotate", "ReplicationController web-2: created Pod web-2-x",
		"ReplicationController web-2 was changed by an unknown writer: metadata.labels[a]",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("it lacks %q:\n%s", want, got)
		}
	}
	if strings.Contains(got, "status.replicas 0 → 1 by") || strings.Count(got, "unknown writer") != 1 || strings.Contains(got, " api") {
		t.Errorf("it has what it should not have:\n%s", got)
	}
	story, ok = e.Story(s.traces[2])
	if !ok || !strings.Contains(told(story), "web-2 was changed by the RollingUpdate loop: spec.replicas 0 → 1") || strings.Contains(told(story), "RollingUpdate web") {
		t.Fatalf("%t, the story of the new one:\n%s", ok, told(story))
	}
	if by := story.Beats[0].Sync; by == nil || by.Seq != 2 {
		t.Errorf("it was scaled in %+v", by)
	}
}

// TestFamilyOfWhatIsSteered: whatever is asked for, journal and archive give all of them.
func TestFamilyOfWhatIsSteered(t *testing.T) {
	s := replacement()
	j := telemetry.NewJournal(telemetry.JournalOptions{Loops: telemetry.TestLoops})
	for _, x := range s.traces {
		j.Record(x)
	}
	seqs := func(list []*telemetry.Trace) (n []uint64) {
		for _, x := range list {
			n = append(n, x.Seq)
		}
		slices.Sort(n)
		return n
	}
	want := []uint64{1, 2, 3, 4, 5}
	for _, o := range []telemetry.Object{update, newRC, oldRC} {
		if got := seqs(j.Family(o)); !slices.Equal(got, want) {
			t.Errorf("the family of %s %s is %v", o.Loop, o.Name, got)
		}
	}
	for _, at := range []int{1, 2} {
		list, err := telemetry.Around(t.Context(), telemetry.TestLoops, j.Archive(), s.traces[at])
		if got := seqs(list); err != nil || !slices.Equal(got, want) {
			t.Errorf("around sync %d: %v, %v", at+1, got, err)
		}
	}
	_, list, err := telemetry.Collect(t.Context(), telemetry.TestLoops, j.Archive(), update, s.at.Add(time.Second))
	if got := seqs(list); err != nil || !slices.Equal(got, want) {
		t.Errorf("collected: %v, %v", got, err)
	}
}
