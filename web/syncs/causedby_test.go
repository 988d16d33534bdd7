package syncs

import (
	"testing"

	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/decision"
	"github.com/loopscope/loopscope/web/source"
)

// TestCausedByAWriteOfAName: what is new was created by the sync that wrote it, and what is gone
// deleted. A name alone says neither.
func TestCausedByAWriteOfAName(t *testing.T) {
	loops := decision.Loops{{Name: "rollingupdate", Kind: "RollingUpdate"}, {Name: "deployment", Kind: "Deployment"}}
	j := telemetry.NewJournal(telemetry.JournalOptions{Loops: loops, Epoch: "7c41"})
	by := func(kind decision.ActionKind, object, name, rv string) {
		j.Record(&telemetry.Trace{Object: telemetry.Object{Loop: "rollingupdate", Namespace: "shop", Name: "web"}, Rounds: []decision.Round{{
			Verdict:  decision.Verdict{Actions: []decision.Action{{Kind: kind, Target: decision.Ref{Kind: object, Namespace: "shop", Name: name}}}},
			Outcomes: []decision.Outcome{{State: decision.Written, RV: rv}},
		}}})
	}
	by(decision.Delete, "Pod", "a", "")
	by(decision.Create, "Pod", "b", "7")
	by(decision.DeleteReplicaSet, "ReplicaSet", "web-1", "")
	s, x := NewTeller(source.New(source.Options{Journal: j}, nil)), &telemetry.Trace{Epoch: "7c41", Object: telemetry.Object{Loop: "deployment", Namespace: "shop", Name: "web"}}
	for _, c := range []struct {
		kind   telemetry.CauseKind
		object string
		want   string
	}{
		{telemetry.CauseDeleted, "Pod a", "written by RollingUpdate #1"},
		{telemetry.CauseAdded, "Pod a", ""},
		{telemetry.CauseAdded, "Pod b", "written by RollingUpdate #2"},
		{telemetry.CauseDeleted, "Pod b", ""},
		{telemetry.CauseModified, "Pod b", ""},
		{telemetry.CauseDeleted, "Pod c", ""},
		{telemetry.CauseDeleted, "ReplicaSet web-1", "written by RollingUpdate #3"},
	} {
		if got := s.causedBy(x, telemetry.Cause{Kind: c.kind, Object: c.object}).String(); got != c.want {
			t.Errorf("%s %s: %q, want %q", c.kind, c.object, got, c.want)
		}
	}
}
