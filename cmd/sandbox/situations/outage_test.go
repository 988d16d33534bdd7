package situations_test

import (
	"errors"
	"os"
	"regexp"
	"testing"
	"time"
)

// outage is the situation of an API server that does not answer. It needs a
// plane of its own, so it is no script.
const outage = "api-server-down"

// downFor is how long the API server is away: the sentence has to stand within
// that. An outage that has lasted for noticed is one that everybody notices.
const (
	downFor = 40 * time.Second
	noticed = 12 * time.Second
)

// TestOutage takes the API server away in the middle of a rollout. It runs where
// all situations do, or those of its name.
func TestOutage(t *testing.T) {
	which := os.Getenv("LOOPSCOPE_SITUATIONS")
	if which != "all" && (which == "" || !regexp.MustCompile(which).MatchString(outage)) {
		t.Logf("LOOPSCOPE_SITUATIONS=all runs it")
		return
	}
	s := readSituation(outage, "create d/web pod:ready-after=3s surge=1 unavailable=0\nwait d/web status.availableReplicas=3\npatch d/web image=shop:v2\nwait d/web status.updatedReplicas=1\n")
	g := open(t, startWebhook(t))
	stage, err := g.scripts.Enter(t.Context(), s.name)
	if err != nil {
		t.Fatal(err)
	}
	steps, _ := s.steps(t, g.hook)
	for _, step := range steps {
		if err := stage.Do(t.Context(), step); err != nil {
			t.Fatal(err)
		}
	}
	g.Kill(t, "kube-apiserver", downFor)
	began := time.Now()
	told := g.toldWithout(t, s, began.Add(noticed))
	if time.Since(began) > downFor {
		t.Error("the API server was back before the sentence stood")
	}
	compare(t, s.name, []telling{told})
}

// toldWithout is told, of the places that need no API server: explain has none to ask.
// What holds is the outage: nobody else can say that nobody answers.
func (g *ground) toldWithout(t *testing.T, s situation, from time.Time) telling {
	t.Helper()
	kept := places
	places = []place{kept[0], kept[2], kept[3]}
	defer func() { places = kept }()
	return g.told(t, s, "during", func() error {
		if time.Now().Before(from) {
			return errors.New("the outage has only begun")
		}
		return nil
	})
}
