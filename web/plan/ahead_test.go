package plan

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/loopscope/loopscope/controllers/deployment"
	"github.com/loopscope/loopscope/controllers/replicaset"
	"github.com/loopscope/loopscope/views"
)

// What is ahead of a new object ends with every pod available, and with a quota where that ends.
func TestAhead(t *testing.T) {
	at := time.Date(2026, 11, 25, 3, 0, 0, 0, time.UTC)
	d := &deployment.Snapshot{Version: deployment.SnapshotVersion, Now: at, Found: true, Namespace: "shop", Name: "web", UID: "d", Generation: 1, Selector: "app=web",
		Want: 4, Strategy: "RollingUpdate", MaxSurge: &deployment.IntOrPercent{Int: 1}, MaxUnavailable: &deployment.IntOrPercent{}, NextName: "web-1", NextHash: "1"}
	rs := &replicaset.Snapshot{Version: replicaset.SnapshotVersion, Now: at, Kind: "ReplicaSet", Found: true, Namespace: "shop", Name: "web", UID: "r", Generation: 1, Selector: "app=web", Want: 4, Burst: 500}
	for name, of := range map[string]func(room int) (views.Plan, error){
		"deployment": func(room int) (views.Plan, error) { return Ahead(t.Context(), d, most(room)) },
		"replicaset": func(room int) (views.Plan, error) { return AheadOfReplicaSet(t.Context(), rs, most(room)) },
	} {
		for room, available := range map[int]int64{0: 4, 9: 4, 3: 3, 1: 1} {
			p, err := of(room)
			if err != nil || len(p.Rows) == 0 || p.Cut != "" {
				t.Fatalf("%s, room for %d: %v, %+v", name, room, err, p)
			}
			last := p.Rows[len(p.Rows)-1]
			if last.Available.N != available || last.Mark == nil || (last.Mark.Word == "complete") != (available == 4) {
				t.Errorf("%s, room for %d: ends with %+v, %+v", name, room, last, last.Mark)
			}
		}
	}
	d.Deadline = new(int64(600))
	if p, err := Ahead(t.Context(), d, nil); err != nil || p.Sentence != "shop/web is settled: 4 of 4 available." {
		t.Errorf("as it ends it says %q, %v", p.Sentence, err)
	}
	if p, err := Ahead(t.Context(), d, most(3)); err != nil || !strings.Contains(p.Sentence, "no progress for 10m, quota few refuses 1 new pod (pods: 3 of 3 used)") {
		t.Errorf("past the deadline it says %q, %v", p.Sentence, err)
	}
	if _, err := Ahead(t.Context(), &deployment.Snapshot{}, nil); err == nil || !strings.Contains(err.Error(), "no Deployment") {
		t.Errorf("nothing is planned: %v", err)
	}
	if _, err := AheadOfReplicaSet(t.Context(), &replicaset.Snapshot{}, nil); err == nil {
		t.Error("no ReplicaSet is planned")
	}
}

// most refuses more than so many pods; 0 stands for no such bound.
func most(room int) func(bool, int, int) string {
	return func(_ bool, ofWanted, ofOthers int) string {
		if room == 0 || ofWanted+ofOthers < room {
			return ""
		}
		return fmt.Sprintf("exceeded quota: few, requested: pods=1, used: pods=%d, limited: pods=%d", ofWanted+ofOthers, room)
	}
}
