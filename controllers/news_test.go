package controllers

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/loopscope/loopscope/controllers/internal/lab"
	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/decision"
)

func TestReplicaSetNews(t *testing.T) {
	claim := func(kind decision.ActionKind, name string) decision.Action {
		return decision.Action{Kind: kind, Target: decision.Ref{Name: name}}
	}
	l := claimsAfter(nil, lab.Noon, lab.Synced(telemetry.ResultWrote, nil, claim(decision.Adopt, "a"), claim(decision.CreatePods, "web")))
	if diff := cmp.Diff(&decision.RecentChange{Kind: decision.Adopted, At: lab.Noon, Object: "a", Count: 1}, current(l, lab.Noon)); diff != "" {
		t.Errorf("adopted (-want +got):\n%s", diff)
	}
	l = claimsAfter(l, lab.Noon, lab.Synced(telemetry.ResultWrote, nil, claim(decision.Release, "b"), claim(decision.Release, "c")))
	if diff := cmp.Diff(&decision.RecentChange{Kind: decision.Released, At: lab.Noon, Object: "b", Count: 2}, current(l, lab.Noon)); diff != "" {
		t.Errorf("released (-want +got):\n%s", diff)
	}
}

// Claims of one sync are counted together, and those of another are news of their own.
func TestClaimsAreCountedBySync(t *testing.T) {
	adopt := decision.Action{Kind: decision.Adopt, Target: decision.Ref{Name: "a"}}
	l := claimsAfter(nil, lab.Noon, lab.Synced(telemetry.ResultWrote, nil, adopt, adopt))
	l = claimsAfter(l, lab.Noon.Add(time.Second), lab.Synced(telemetry.ResultWrote, nil, adopt))
	if n := current(l, lab.Noon.Add(time.Second)); n == nil || n.Count != 1 || !n.At.Equal(lab.Noon.Add(time.Second)) {
		t.Errorf("after two syncs it is %+v", n)
	}
}

func TestNewsroom(t *testing.T) {
	var r recent[*decision.RecentChange]
	news := &decision.RecentChange{Object: "a"}
	r.note("shop/web", "1", news)
	if got := r.of("shop/web", "1"); got != news {
		t.Errorf("it knows %+v", got)
	}
	if got := r.of("shop/web", "2"); got != nil {
		t.Errorf("of another object of that name it knows %+v", got)
	}
	r.note("shop/web", "1", nil)
	if len(r.keys) != 0 {
		t.Errorf("it keeps %v of what knows nothing", r.keys)
	}
	r.note("shop/web", "1", news)
	if r.forget("shop/web"); len(r.keys) != 0 {
		t.Errorf("it did not forget %v", r.keys)
	}
}
