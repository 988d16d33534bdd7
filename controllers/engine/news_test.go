package engine

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
	l := ClaimsAfter(nil, lab.Noon, lab.Synced(telemetry.ResultWrote, nil, claim(decision.Adopt, "a"), claim(decision.CreatePods, "web")))
	if diff := cmp.Diff(&decision.RecentChange{Kind: decision.Adopted, At: lab.Noon, Object: "a", Count: 1}, Current(l, lab.Noon)); diff != "" {
		t.Errorf("adopted (-want +got):\n%s", diff)
	}
	l = ClaimsAfter(l, lab.Noon, lab.Synced(telemetry.ResultWrote, nil, claim(decision.Release, "b"), claim(decision.Release, "c")))
	if diff := cmp.Diff(&decision.RecentChange{Kind: decision.Released, At: lab.Noon, Object: "b", Count: 2}, Current(l, lab.Noon)); diff != "" {
		t.Errorf("released (-want +got):\n%s", diff)
	}
}

// Claims of one sync are counted together, and those of another are news of their own.
func TestClaimsAreCountedBySync(t *testing.T) {
	adopt := decision.Action{Kind: decision.Adopt, Target: decision.Ref{Name: "a"}}
	l := ClaimsAfter(nil, lab.Noon, lab.Synced(telemetry.ResultWrote, nil, adopt, adopt))
	l = ClaimsAfter(l, lab.Noon.Add(time.Second), lab.Synced(telemetry.ResultWrote, nil, adopt))
	if n := Current(l, lab.Noon.Add(time.Second)); n == nil || n.Count != 1 || !n.At.Equal(lab.Noon.Add(time.Second)) {
		t.Errorf("after two syncs it is %+v", n)
	}
}

func TestNewsroom(t *testing.T) {
	var r Recent[*decision.RecentChange]
	news := &decision.RecentChange{Object: "a"}
	r.Note("shop/web", "1", news)
	if got := r.Of("shop/web", "1"); got != news {
		t.Errorf("it knows %+v", got)
	}
	if got := r.Of("shop/web", "2"); got != nil {
		t.Errorf("of another object of that name it knows %+v", got)
	}
	r.Note("shop/web", "1", nil)
	if len(r.keys) != 0 {
		t.Errorf("it keeps %v of what knows nothing", r.keys)
	}
	r.Note("shop/web", "1", news)
	if r.Forget("shop/web"); len(r.keys) != 0 {
		t.Errorf("it did not forget %v", r.keys)
	}
}
