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
	l := ClaimsAfter(nil, lab.Noon, 3, lab.Synced(telemetry.ResultWrote, nil, claim(decision.Adopt, "a"), claim(decision.CreatePods, "web")))
	if diff := cmp.Diff(&decision.RecentChange{Kind: decision.Adopted, At: lab.Noon, Object: "a", Count: 1, Size: 3}, Current(l, lab.Noon)); diff != "" {
		t.Errorf("adopted (-want +got):\n%s", diff)
	}
	l = ClaimsAfter(l, lab.Noon, 3, lab.Synced(telemetry.ResultWrote, nil, claim(decision.Release, "b"), claim(decision.Release, "c")))
	if diff := cmp.Diff(&decision.RecentChange{Kind: decision.Released, At: lab.Noon, Object: "b", Count: 2, Size: 3}, Current(l, lab.Noon)); diff != "" {
		t.Errorf("released (-want +got):\n%s", diff)
	}
}

// What an adoption makes too many is deleted at once: by the same sync or by the next. Of another size it is no news.
func TestAdoptedAndTooMany(t *testing.T) {
	adopt := decision.Action{Kind: decision.Adopt, Target: decision.Ref{Name: "stray"}}
	deletes := func(names ...string) decision.Action {
		a := decision.Action{Kind: decision.DeletePods, Target: decision.Ref{Name: "web"}, Count: int64(len(names))}
		for _, name := range names {
			a.Victims = append(a.Victims, decision.Victim{Name: name})
		}
		return a
	}
	later := lab.Noon.Add(time.Second)
	for name, c := range map[string]struct {
		deletes decision.Action
		size    int64
		want    *decision.RecentChange
	}{
		"the same pod": {deletes("web-1", "stray"), 3, &decision.RecentChange{Kind: decision.Adopted, At: lab.Noon, Object: "stray", Count: 1, Size: 3, Deleted: "stray", DeletedCount: 2}},
		"another pod":  {deletes("web-1"), 3, &decision.RecentChange{Kind: decision.Adopted, At: lab.Noon, Object: "stray", Count: 1, Size: 3, Deleted: "web-1", DeletedCount: 1}},
		"scaled":       {deletes("web-1"), 2, nil},
	} {
		n := ClaimsAfter(nil, lab.Noon, 3, lab.Synced(telemetry.ResultWrote, nil, adopt))
		was := *n
		if diff := cmp.Diff(c.want, ClaimsAfter(n, later, c.size, lab.Synced(telemetry.ResultWrote, nil, c.deletes))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if *n != was {
			t.Errorf("%s: what the snapshot has became %+v", name, *n)
		}
	}
	both := ClaimsAfter(nil, lab.Noon, 3, lab.Synced(telemetry.ResultWrote, nil, adopt, deletes("stray")))
	if both == nil || both.Deleted != "stray" || both.DeletedCount != 1 {
		t.Errorf("in one sync: %+v", both)
	}
	told := &decision.RecentChange{Kind: decision.Adopted, At: lab.Noon, Told: lab.Noon, Object: "stray", Count: 1, Size: 3}
	if got := ClaimsAfter(told, later, 3, lab.Synced(telemetry.ResultWrote, nil, deletes("web-1"))); got == nil || got.DeletedCount != 0 {
		t.Errorf("told before: %+v", got)
	}
}

// Claims of one sync are counted together, and those of another are news of their own.
func TestClaimsAreCountedBySync(t *testing.T) {
	adopt := decision.Action{Kind: decision.Adopt, Target: decision.Ref{Name: "a"}}
	l := ClaimsAfter(nil, lab.Noon, 3, lab.Synced(telemetry.ResultWrote, nil, adopt, adopt))
	l = ClaimsAfter(l, lab.Noon.Add(time.Second), 3, lab.Synced(telemetry.ResultWrote, nil, adopt))
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

// What is over is no news any more, and what nobody has told is not over for long.
func TestCurrent(t *testing.T) {
	news := &decision.RecentChange{At: lab.Noon}
	if got := Current(nil, lab.Noon); got != nil {
		t.Errorf("of nothing is told %+v", got)
	}
	if got := Current(news, lab.Noon); got != news {
		t.Errorf("at once is told %+v", got)
	}
	if got := Current(news, lab.Noon.Add(24*time.Hour)); got != nil {
		t.Errorf("after a day is told %+v", got)
	}
}

// News is told from the first sync that finds the object settled, and forgotten when it is
// over. What came with the sync itself is not told yet.
func TestExpire(t *testing.T) {
	earlier, now := lab.Noon.Add(-time.Second), lab.Noon
	settled, busy := decision.Sentence{Code: codeSettled}, decision.Sentence{Code: "rolling"}
	for name, c := range map[string]struct {
		news, before *decision.RecentChange // before: the same where it is nil
		says         decision.Sentence
		now          time.Time
		want         *decision.RecentChange
	}{
		"settled":            {&decision.RecentChange{At: earlier}, nil, settled, now, &decision.RecentChange{At: earlier, Told: now}},
		"settled again":      {&decision.RecentChange{At: earlier, Told: earlier}, nil, settled, now, &decision.RecentChange{At: earlier, Told: earlier}},
		"busy":               {&decision.RecentChange{At: earlier}, nil, busy, now, &decision.RecentChange{At: earlier}},
		"over, never told":   {&decision.RecentChange{At: earlier}, nil, busy, now.Add(24 * time.Hour), nil},
		"over":               {&decision.RecentChange{At: earlier, Told: earlier}, nil, settled, now.Add(time.Hour), nil},
		"came with the sync": {&decision.RecentChange{At: now}, &decision.RecentChange{At: earlier}, settled, now, &decision.RecentChange{At: now}},
		"nothing":            {nil, nil, settled, now, nil},
		"forgotten":          {nil, &decision.RecentChange{At: earlier}, settled, now, nil},
	} {
		before := c.before
		if before == nil {
			before = c.news
		}
		var was decision.RecentChange
		if before != nil {
			was = *before
		}
		got := Expire(c.news, before, c.now, &telemetry.Trace{Sentence: c.says})
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if before != nil && *before != was {
			t.Errorf("%s: what the snapshot has became %+v", name, *before)
		}
	}
}

// What was adopted and what was released are told apart; the last counts.
func TestClaimsOfBothKinds(t *testing.T) {
	adopt := decision.Action{Kind: decision.Adopt, Target: decision.Ref{Name: "a"}}
	release := decision.Action{Kind: decision.Release, Target: decision.Ref{Name: "b"}}
	got := ClaimsAfter(nil, lab.Noon, 3, lab.Synced(telemetry.ResultWrote, nil, adopt, adopt, release))
	if diff := cmp.Diff(&decision.RecentChange{Kind: decision.Released, At: lab.Noon, Object: "b", Count: 1, Size: 3}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	refused := lab.Synced(telemetry.ResultFailed, nil, adopt, release)
	refused.Rounds[0].Outcomes[1].State = decision.Refused
	if got := ClaimsAfter(nil, lab.Noon, 3, refused); got == nil || got.Kind != decision.Adopted {
		t.Errorf("after a release that was refused it is %+v", got)
	}
}
