package syncs

import (
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/loopscope/loopscope/controllers"
	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/web/source"
)

// TestObserved: of every loop it is said what its caches held, by the kind that it has.
func TestObserved(t *testing.T) {
	replicas := "ReplicaSet: rv 48121, generation 3, wanted 3|pods: 3 pods: its own and orphans|expects: None: the cache shows every pod that it created or deleted."
	golden := map[string][2]string{
		"deployment":            {"deployment/testdata/golden/completed.txtar", "Deployment: rv 48600, generation 15, wanted 10|new: web-7d4b9c6f5x rv 4801, size 10, 10 available|others: 1 ReplicaSet of size 0"},
		"replicaset":            {"replicaset/testdata/golden/create-one.txtar", replicas},
		"replicationcontroller": {"replicaset/testdata/golden/create-one.txtar", strings.Replace(replicas, "ReplicaSet", "ReplicationController", 1)},
		"rollingupdate":         {"rollingupdate/testdata/golden/up.txtar", `request: {"version":1,"id":"r1","image":"web:2","deploymentKey":"deployment","surge":1,"unavailable":0,"updatePeriod":"1m0s","timeout":"5m0s","cleanup":"rename"}|new: web-6d5 rv 20, size 0, 0 pods|old: web rv 10, size 3, 3 pods`},
	}
	s := NewTeller(&source.Source{Loops: controllers.Loops})
	for _, l := range controllers.Loops {
		a, err := txtar.ParseFile("../../controllers/" + golden[l.Name][0])
		if err != nil {
			t.Fatalf("%s: %v", l.Name, err)
		}
		x := &telemetry.Trace{Object: telemetry.Object{Loop: l.Name}, Snapshot: telemetry.SnapshotText(a.Files[0].Data)}
		if got := observed(s, x); got != golden[l.Name][1] {
			t.Errorf("%s: %s", l.Name, got)
		}
	}
	x := &telemetry.Trace{Object: telemetry.Object{Loop: "claim"}}
	if got := observed(s, x); got != "snapshot: not recorded" {
		t.Errorf("no snapshot: %s", got)
	}
	x.Snapshot = telemetry.SnapshotText([]byte("{}"))
	if got := observed(s, x); got != "snapshot: as JSON, under Raw" {
		t.Errorf("the snapshot of another loop: %s", got)
	}
}

func observed(s *Teller, t *telemetry.Trace) string {
	var lines []string
	for _, l := range s.Observed(t) {
		lines = append(lines, l.Label+": "+l.Text.String())
	}
	return strings.Join(lines, "|")
}
