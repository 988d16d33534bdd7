package replicaset_test

import (
	"strings"
	"testing"
	"time"

	"github.com/loopscope/loopscope/telemetry/decision"
)

// TestNews says what becomes of news in the sentence of a ReplicaSet at rest.
func TestNews(t *testing.T) {
	g := play(t, readGolden(t, "testdata/golden/settled.txtar"))
	now := g.snapshot.Now
	for name, tc := range map[string]struct {
		news *decision.RecentChange
		want string // "" for no clause
	}{
		"none":            {nil, ""},
		"adopted":         {&decision.RecentChange{Kind: decision.Adopted, At: now, Object: "stray", Count: 1}, "it adopted pod stray, which matched its selector"},
		"released two":    {&decision.RecentChange{Kind: decision.Released, At: now, Object: "web-1", Count: 2}, "it released pod web-1 and 1 more that no longer matched its selector"},
		"one too many":    {&decision.RecentChange{Kind: decision.Adopted, At: now, Object: "stray", Count: 1, Deleted: "stray", DeletedCount: 1}, "it adopted pod stray, one too many, and deleted it"},
		"for another":     {&decision.RecentChange{Kind: decision.Adopted, At: now, Object: "stray", Count: 1, Deleted: "web-1", DeletedCount: 1}, "it adopted pod stray, and deleted pod web-1, as one was too many"},
		"two too many":    {&decision.RecentChange{Kind: decision.Adopted, At: now, Object: "stray", Count: 2, Deleted: "stray", DeletedCount: 2}, "it adopted pod stray and 1 more, and deleted pod stray and 1 more, as these were too many"},
		"a minute ago":    {&decision.RecentChange{Kind: decision.Released, At: now.Add(-time.Minute), Object: "web-1", Count: 1}, ""},
		"of another kind": {&decision.RecentChange{Kind: decision.WentBack, At: now, Object: "web-1"}, ""},
	} {
		s := *g.snapshot
		s.Recent = tc.news
		got := run(&s, g.try, nil, decision.Recorded(g.rounds)).sentence
		checkNumbers(t, run(&s, g.try, nil, decision.Recorded(g.rounds)))
		_, clause, _ := strings.Cut(got.Lead.At(now), "; ")
		if clause != tc.want {
			t.Errorf("%s: %q, want %q", name, clause, tc.want)
		}
		if turns := now.Add(time.Minute); tc.want != "" && !got.ChangesAt.Equal(turns) {
			t.Errorf("%s: it turns at %s, want %s", name, got.ChangesAt, turns)
		}
	}
}
