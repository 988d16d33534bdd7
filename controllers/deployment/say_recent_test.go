package deployment_test

import (
	"strings"
	"testing"
	"time"

	"github.com/loopscope/loopscope/controllers/deployment"
	"github.com/loopscope/loopscope/telemetry/decision"
)

// TestNews says what becomes of news in the sentence of a Deployment at rest: of 8 pods
// of ReplicaSet api-7d4b9c6f5x, and of none of api-6c9f7d5b48.
func TestNews(t *testing.T) {
	const fresh, old = "api-7d4b9c6f5x", "api-6c9f7d5b48"
	g := play(t, readGolden(t, "testdata/golden/settled.txtar"))
	now := g.snapshot.Now
	ago := func(d time.Duration) time.Time { return now.Add(-d) }
	for name, tc := range map[string]struct {
		news  decision.RecentChange
		want  string // "" for no clause
		turns time.Duration
	}{
		"scaled up by hand":        {decision.RecentChange{Kind: decision.ScaledBack, At: ago(20 * time.Second), By: "kubectl", Object: fresh, From: 9, To: 8}, "kubectl scaled ReplicaSet " + fresh + " to 9, and it was scaled back to 8", 40 * time.Second},
		"an old one, by somebody":  {decision.RecentChange{Kind: decision.ScaledBack, At: now, Object: old, From: 2}, "somebody scaled ReplicaSet " + old + " to 2, and it was scaled back to 0", time.Minute},
		"told since":               {decision.RecentChange{Kind: decision.ScaledBack, At: ago(time.Hour), Told: ago(59 * time.Second), Object: fresh, From: 9, To: 8}, "somebody scaled ReplicaSet " + fresh + " to 9, and it was scaled back to 8", time.Second},
		"a minute ago":             {decision.RecentChange{Kind: decision.ScaledBack, At: ago(time.Hour), Told: ago(time.Minute), Object: fresh, From: 9, To: 8}, "", 0},
		"another size since":       {decision.RecentChange{Kind: decision.ScaledBack, At: now, Object: fresh, From: 9, To: 7}, "", 0},
		"cleaned up since":         {decision.RecentChange{Kind: decision.ScaledBack, At: now, Object: "api-gone", From: 9}, "", 0},
		"undone":                   {decision.RecentChange{Kind: decision.WentBack, At: now, By: "kubectl-rollout", Object: fresh, From: 14, To: 13, Became: 15}, "kubectl-rollout rolled it back from revision 14 to the template of revision 13, now revision 15", time.Minute},
		"undone by somebody":       {decision.RecentChange{Kind: decision.WentBack, At: now, Object: fresh, From: 14, To: 13, Became: 15}, "it was rolled back from revision 14 to the template of revision 13, now revision 15", time.Minute},
		"another template since":   {decision.RecentChange{Kind: decision.WentBack, At: now, Object: old, From: 14, To: 13, Became: 15}, "", 0},
		"adopted":                  {decision.RecentChange{Kind: decision.Adopted, At: now, Object: old, Count: 1}, "it adopted ReplicaSet " + old + ", which matched its selector", time.Minute},
		"adopted three":            {decision.RecentChange{Kind: decision.Adopted, At: now, Object: old, Count: 3}, "it adopted ReplicaSet " + old + " and 2 more that matched its selector", time.Minute},
		"released":                 {decision.RecentChange{Kind: decision.Released, At: now, Object: "api-gone", Count: 1, Pods: 4}, "it released ReplicaSet api-gone, which no longer matched its selector; its 4 pods run on", time.Minute},
		"released two, of one pod": {decision.RecentChange{Kind: decision.Released, At: now, Object: "api-gone", Count: 2, Pods: 1}, "it released ReplicaSet api-gone and 1 more that no longer matched its selector; their pod runs on", time.Minute},
		"released without pods":    {decision.RecentChange{Kind: decision.Released, At: now, Object: "api-gone", Count: 1}, "it released ReplicaSet api-gone, which no longer matched its selector", time.Minute},
		"released and adopted":     {decision.RecentChange{Kind: decision.Released, At: now, Object: old, Count: 1, Pods: 4}, "", 0},
		"of no known kind":         {decision.RecentChange{Kind: "odd", At: now, Object: old}, "", 0},
	} {
		s := *g.snapshot
		s.Recent = &tc.news
		got := run(&s, g.try, nil, decision.Recorded(g.rounds)).sentence
		_, clause, _ := strings.Cut(got.Lead.At(now), "; ")
		if clause != tc.want {
			t.Errorf("%s: %q, want %q", name, clause, tc.want)
		}
		if tc.want == "" != got.ChangesAt.IsZero() || tc.want != "" && got.ChangesAt.Sub(now) != tc.turns {
			t.Errorf("%s: it turns at %s, want that in %s", name, got.ChangesAt, tc.turns)
		}
	}
}

// TestNewsGoesByTheClock says the same sync again when its sentence turns.
func TestNewsGoesByTheClock(t *testing.T) {
	g := play(t, readGolden(t, "testdata/golden/news-went-back.txtar"))
	x := decision.Sync{Core: deployment.NewSync(g.snapshot)}
	x.Run(decision.Recorded(g.rounds))
	again := x.Tell(g.try, g.sentence.ChangesAt).Sentence
	if got := again.Lead.At(g.sentence.ChangesAt); got != "8 of 8 available, unchanged for 1m" || !again.ChangesAt.IsZero() {
		t.Errorf("a minute later it says %q until %s", got, again.ChangesAt)
	}
}
