package telemetry

import (
	"testing"

	"github.com/loopscope/loopscope/telemetry/decision"
)

// TestSiblingsAsOfAVersion: what a sibling had before a change is what its syncs saw, less all that
// was written from then on.
func TestSiblingsAsOfAVersion(t *testing.T) {
	w := newWatching(t)
	at := func(rv string, ready int64) sized {
		return sized{RV: "1", ReplicaSets: []sizedSet{{Name: "api-1", RV: rv, Ready: ready}}}
	}
	ready := func(was, is, from, to string) Cause {
		return modified("ReplicaSet api-1", was, is, "", decision.Change{Field: "status.readyReplicas", From: from, To: to})
	}
	w.on(at("5", 1))
	w.on(at("8", 3), ready("5", "6", "1", "2"), ready("6", "8", "2", "3"))
	syncs := w.shadow.last.order
	w.shadow.last = newLookBack()
	for _, x := range syncs {
		x.Owner = "shop"
		w.shadow.last.remember(x)
	}
	w.shadow.begin()
	for rv, want := range map[string]int64{"9": 3, "8": 2, "7": 2, "6": 1, "2": 1} {
		if got := w.shadow.kinBefore(object("web"), rv).(*sized).ReplicaSets[0].Ready; got != want {
			t.Errorf("before %s: %d ready, want %d", rv, got, want)
		}
	}
	if s := w.shadow.kinBefore(object("db"), "9"); s != nil {
		t.Errorf("of one that was never seen: %+v", s)
	}
	if kin := w.shadow.last.kin(&Trace{Object: object("db"), Owner: "shop"}); len(kin) != 1 || kin[0] != object("web") {
		t.Errorf("siblings: %v", kin)
	}
	if kin := w.shadow.last.kin(&Trace{Object: object("db")}); kin != nil {
		t.Errorf("of one without an owner: %v", kin)
	}
}
