package deployment_test

import (
	"strings"
	"testing"
	"time"

	"github.com/loopscope/loopscope/controllers/deployment"
)

// A contest is over when nobody changes the field for as long as three changes take.
func TestContestOver(t *testing.T) {
	for _, c := range []struct {
		changes     int64
		lasted      time.Duration
		over, after string
	}{
		{1, 0, "15s", "one change"},
		{0, time.Minute, "3m0s", "a recording that counts none"},
		{5, time.Second, "15s", "short intervals"},
		{5, 4 * time.Minute, "3m0s", "minutes"},
		{4, time.Hour, "10m0s", "long intervals"},
		{2, 1 << 62, "10m0s", "longer than there is time"},
	} {
		contest := deployment.Contest{Since: noon, Last: noon.Add(c.lasted), Changes: c.changes}
		if got := contest.Over().Sub(contest.Last).String(); got != c.over {
			t.Errorf("after %s it is over %s after the last, want %s", c.after, got, c.over)
		}
	}
}

func TestDecodeContest(t *testing.T) {
	for contest, wrong := range map[string]string{
		`{"field": "spec.template"}`: "",
		`{"field": "spec.template", "backAndForth": true, "by": ["helm", "kubectl"]}`: "",
		`{"field": "spec.replicas", "by": ["helm", "kubectl"]}`:                       "",
		`{"field": "spec.paused", "by": ["helm", "kubectl"]}`:                         `a contest is about "spec.paused": use spec.template, spec.replicas, replicaset.spec.replicas or pods`,
		`{"field": "replicaset.spec.replicas", "by": ["helm"]}`:                       "",
		`{"field": "pods"}`:                                                "",
		`{"field": "replicaset.spec.replicas"}`:                            "takes 1 or more field managers, and has 0",
		`{"field": "spec.template", "backAndForth": true, "by": ["helm"]}`: "takes 2 or more field managers, and has 1",
		`{"field": "spec.replicas"}`:                                       "takes 2 or more field managers, and has 0",
		`{"field": "spec.replicas", "by": ["helm", "kubectl", "argocd-controller", "autoscaler"]}`: "has 4 field managers, more than the 3 that are read",
	} {
		contest = strings.Replace(contest, "{", `{"since": "2026-11-21T03:11:00Z", "last": "2026-11-21T03:12:00Z", `, 1)
		_, err := deployment.Decode([]byte(`{"v": 1, "now": "2026-11-21T03:13:00Z", "found": true, "name": "web", "contest": ` + contest + `}`))
		if (err == nil) != (wrong == "") || err != nil && !strings.Contains(err.Error(), wrong) {
			t.Errorf("%s: %v, want %q", contest, err, wrong)
		}
	}
}

// A sentence counts from the first change, and ends some time after the last.
func TestDecodeContestWithoutTimes(t *testing.T) {
	for _, times := range []string{``, `, "since": "2026-11-21T03:11:00Z"`, `, "last": "2026-11-21T03:11:00Z"`} {
		_, err := deployment.Decode([]byte(`{"v": 1, "now": "2026-11-21T03:13:00Z", "found": true, "name": "web", "contest": {"field": "pods"` + times + `}}`))
		if err == nil || !strings.Contains(err.Error(), "a contest about pods has no time of its first or its last change") {
			t.Errorf("%q: %v", times, err)
		}
	}
}
