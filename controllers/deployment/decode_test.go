package deployment_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/loopscope/loopscope/controllers/deployment"
	"github.com/loopscope/loopscope/telemetry/decision"
)

// TestDecodeRefuses says for each kind of bad input what is wrong with it.
func TestDecodeRefuses(t *testing.T) {
	const now = `"now": "2026-11-21T03:13:00Z"`
	for name, tc := range map[string]struct{ text, want string }{
		"nothing":          {``, "unexpected end of JSON input"},
		"no JSON":          {`apiVersion: apps/v1`, "invalid character 'a'"},
		"no version":       {`{` + now + `}`, `no version: a snapshot begins with "v": 1`},
		"newer":            {`{"v": 2, "future": 1}`, "version 2, and this program reads version 1: use the release that wrote it"},
		"unknown field":    {`{"v": 1, ` + now + `, "replicaSet": 1}`, `unknown field "replicaSet"`},
		"two":              {`{"v": 1, ` + now + `}{}`, "after top-level value"},
		"no instant":       {`{"v": 1}`, `no "now": give the instant of the decision`},
		"no name":          {`{"v": 1, ` + now + `, "found": true}`, "found, but without a name"},
		"negative":         {`{"v": 1, ` + now + `, "want": -1}`, "want -1: use 0 to 2147483647"},
		"large":            {`{"v": 1, ` + now + `, "want": 2147483648}`, "want 2147483648: use 0 to 2147483647"},
		"fraction":         {`{"v": 1, ` + now + `, "want": 1.5}`, "cannot unmarshal number 1.5"},
		"limit":            {`{"v": 1, ` + now + `, "revisionHistoryLimit": -4}`, "revisionHistoryLimit -4: use 0 to"},
		"status":           {`{"v": 1, ` + now + `, "status": {"ready": -4}}`, "a number of the status -4"},
		"far future":       {`{"v": 1, "now": "9999-01-01T00:00:00Z"}`, "now is in the year 9999: use one up to 9000"},
		"nameless set":     {`{"v": 1, ` + now + `, "replicaSets": [{"name": "a"}]}`, `ReplicaSet "a" has no name or no uid`},
		"twice":            {`{"v": 1, ` + now + `, "replicaSets": [{"name": "a", "uid": "1"}, {"name": "a", "uid": "2"}]}`, "ReplicaSet a (uid 2) appears twice"},
		"deep":             {`{"v": 1, "replicaSets": ` + strings.Repeat("[", 40) + strings.Repeat("]", 40) + `}`, "nested deeper than 12"},
		"13 deep":          {`{"v": 1, "replicaSets": ` + strings.Repeat("[", 12) + strings.Repeat("]", 12) + `}`, "nested deeper than 12"},
		"12 deep":          {`{"v": 1, "replicaSets": ` + strings.Repeat("[", 11) + strings.Repeat("]", 11) + `}`, "cannot unmarshal array"},
		"many in a row":    {`{"v": 1, "future": [` + strings.Repeat("[],{},", 20) + `0]}`, `unknown field "future"`},
		"quoted bracket":   {`{"v": 1, "name": "\"` + strings.Repeat("[", 40) + `"}`, `no "now"`},
		"after a quote":    {`{"v": 1, "name": "\"", "replicaSets": ` + strings.Repeat("[", 40) + strings.Repeat("]", 40) + `}`, "nested deeper than 12"},
		"backslash":        {`{"v": 1, "name": \` + strings.Repeat("[", 12), "nested deeper than 12"},
		"bracket in words": {`{"v": 1, "name": "` + strings.Repeat("[", 40) + `"}`, `no "now"`},
		"many sets":        {`{"v": 1, ` + now + `, "replicaSets": [` + strings.Repeat(`{},`, 2000) + `{}]}`, "2001 ReplicaSets are more than the 2000"},
		"many pods":        {`{"v": 1, ` + now + `, "replicaSets": [{"name": "a", "uid": "1", "blocking": [` + strings.Repeat(`{"name":"p","created":"2026-11-21T03:13:00Z"},`, 50) + `{}]}]}`, "describes 51 pods"},
		"many disrupted":   {`{"v": 1, ` + now + `, "replicaSets": [{"name": "a", "uid": "1", "disrupted": [` + strings.Repeat(`{"name":"p","created":"2026-11-21T03:13:00Z"},`, 20) + `{}]}]}`, "describes 21 disrupted pods"},
		"late disruption":  {`{"v": 1, ` + now + `, "replicaSets": [{"name": "a", "uid": "1", "disrupted": [{"name":"p","created":"2026-11-21T03:13:00Z","at":"9999-01-01T00:00:00Z"}]}]}`, "pod p, disrupted is in the year 9999"},
		"2000 sets":        {`{"v": 1, ` + now + `, "replicaSets": [` + strings.Repeat(`{},`, 1999) + `{}]}`, `ReplicaSet "" has no name`},
		"no uid":           {`{"v": 1, ` + now + `, "replicaSets": [{"name": "a"}]}`, `ReplicaSet "a" has no name or no uid`},
		"no name of a set": {`{"v": 1, ` + now + `, "replicaSets": [{"uid": "1"}]}`, `ReplicaSet "" has no name or no uid`},
		"uid twice":        {`{"v": 1, ` + now + `, "replicaSets": [{"name": "a", "uid": "1"}, {"name": "b", "uid": "1"}]}`, "ReplicaSet b (uid 1) appears twice"},
		"as much as read":  {strings.Repeat(" ", deployment.MaxSnapshotBytes), "unexpected end of JSON input"},
		"huge":             {strings.Repeat(" ", deployment.MaxSnapshotBytes+1), "bytes are more than the 8388608 that are read"},
	} {
		s, err := deployment.Decode([]byte(tc.text))
		switch {
		case err == nil || s != nil:
			t.Errorf("%s: accepted as %+v", name, s)
		case !strings.HasPrefix(err.Error(), "decode snapshot: ") || !strings.Contains(err.Error(), tc.want):
			t.Errorf("%s: %q, want it to say %q", name, err, tc.want)
		}
	}
}

// TestDecodeLimits: each value is read up to its limit, and refused one beyond it.
func TestDecodeLimits(t *testing.T) {
	type snapshot = deployment.Snapshot
	type change struct {
		limit int64
		set   func(*snapshot, int64)
	}
	count := func(to func(*snapshot) *int64) change {
		return change{math.MaxInt32, func(s *snapshot, n int64) { *to(s) = n }}
	}
	optional := func(to func(*snapshot) **int64) change {
		return change{math.MaxInt32, func(s *snapshot, n int64) { *to(s) = &n }}
	}
	year := func(to func(*snapshot) *time.Time) change {
		return change{9000, func(s *snapshot, n int64) { *to(s) = time.Date(int(n), 1, 1, 0, 0, 0, 0, time.UTC) }}
	}
	rs := func(s *snapshot) *deployment.ReplicaSet { return &s.ReplicaSets[0] }
	contest := func(s *snapshot) *deployment.Contest {
		s.Contest = &deployment.Contest{Field: deployment.ContestedTemplate, Since: noon, Last: noon}
		return s.Contest
	}
	pod := func(s *snapshot) *deployment.Pod { return &rs(s).Blocking[0] }
	for name, c := range map[string]change{
		"want":                          count(func(s *snapshot) *int64 { return &s.Want }),
		"minReadySeconds":               count(func(s *snapshot) *int64 { return &s.MinReady }),
		"progressDeadlineSeconds":       optional(func(s *snapshot) **int64 { return &s.Deadline }),
		"revisionHistoryLimit":          optional(func(s *snapshot) **int64 { return &s.HistoryLimit }),
		"replicas of the status":        count(func(s *snapshot) *int64 { return &s.Status.Replicas }),
		"updated of the status":         count(func(s *snapshot) *int64 { return &s.Status.Updated }),
		"ready of the status":           count(func(s *snapshot) *int64 { return &s.Status.Ready }),
		"available of the status":       count(func(s *snapshot) *int64 { return &s.Status.Available }),
		"unavailable of the status":     count(func(s *snapshot) *int64 { return &s.Status.Unavailable }),
		"terminating of the status":     optional(func(s *snapshot) **int64 { return &s.Status.Terminating }),
		"collisions of the status":      optional(func(s *snapshot) **int64 { return &s.Status.Collisions }),
		"now":                           year(func(s *snapshot) *time.Time { return &s.Now }),
		"created":                       year(func(s *snapshot) *time.Time { return &s.Created }),
		"lastProgress":                  year(func(s *snapshot) *time.Time { return &s.LastProgress }),
		"held":                          year(func(s *snapshot) *time.Time { return &s.Held }),
		"namespaceEnding":               year(func(s *snapshot) *time.Time { return &s.NamespaceTerminating }),
		"news":                          year(func(s *snapshot) *time.Time { return &s.Recent.At }),
		"news, told":                    year(func(s *snapshot) *time.Time { return &s.Recent.Told }),
		"echo, since":                   year(func(s *snapshot) *time.Time { return &s.Echo[0].Since }),
		"echo, check":                   year(func(s *snapshot) *time.Time { return &s.Echo[0].Check }),
		"condition, updated":            year(func(s *snapshot) *time.Time { return &s.Status.Conditions[0].Updated }),
		"condition, transition":         year(func(s *snapshot) *time.Time { return &s.Status.Conditions[0].Transition }),
		"more of changed":               count(func(s *snapshot) *int64 { return &s.Changed.More }),
		"since of a contest":            year(func(s *snapshot) *time.Time { return &contest(s).Since }),
		"last of a contest":             year(func(s *snapshot) *time.Time { return &contest(s).Last }),
		"changes of a contest":          count(func(s *snapshot) *int64 { return &contest(s).Changes }),
		"low of a contest":              count(func(s *snapshot) *int64 { return &contest(s).Low }),
		"high of a contest":             count(func(s *snapshot) *int64 { return &contest(s).High }),
		"managers of a contest":         {deployment.MaxContestants, func(s *snapshot, n int64) { contest(s).By = make([]string, n) }},
		"more of mutated":               count(func(s *snapshot) *int64 { s.Mutated = &deployment.TemplateChange{}; return &s.Mutated.More }),
		"replicas of a set":             count(func(s *snapshot) *int64 { return &rs(s).Replicas }),
		"minReadySeconds of a set":      count(func(s *snapshot) *int64 { return &rs(s).MinReady }),
		"statusReplicas of a set":       count(func(s *snapshot) *int64 { return &rs(s).StatusReplicas }),
		"ready of a set":                count(func(s *snapshot) *int64 { return &rs(s).Ready }),
		"available of a set":            count(func(s *snapshot) *int64 { return &rs(s).Available }),
		"nonTerminal of a set":          count(func(s *snapshot) *int64 { return &rs(s).NonTerminal }),
		"lost pods of a set":            count(func(s *snapshot) *int64 { rs(s).Lost = &decision.LostPods{}; return &rs(s).Lost.Count }),
		"unavailable of a set":          count(func(s *snapshot) *int64 { return &rs(s).Unavailable }),
		"ending of a set":               count(func(s *snapshot) *int64 { return &rs(s).TerminatingNow }),
		"endingEnded of a set":          count(func(s *snapshot) *int64 { return &rs(s).TerminatingEnded }),
		"terminating of a set":          optional(func(s *snapshot) **int64 { return &rs(s).Terminating }),
		"least of a set":                optional(func(s *snapshot) **int64 { return &rs(s).Least }),
		"created of a set":              year(func(s *snapshot) *time.Time { return &rs(s).Created }),
		"failure of a set":              year(func(s *snapshot) *time.Time { return &rs(s).Failure.Transition }),
		"pods that came":                count(func(s *snapshot) *int64 { return &rs(s).Startup.Pods }),
		"created of a pod":              year(func(s *snapshot) *time.Time { return &pod(s).Created }),
		"readySince of a pod":           year(func(s *snapshot) *time.Time { return &pod(s).ReadySince }),
		"since of a pod":                year(func(s *snapshot) *time.Time { return &pod(s).Since }),
		"running of a pod":              year(func(s *snapshot) *time.Time { return &pod(s).Running }),
		"exit of a pod":                 year(func(s *snapshot) *time.Time { return &pod(s).Exit.At }),
		"restarts of a pod":             count(func(s *snapshot) *int64 { return &pod(s).Exit.Restarts }),
		"pods like a pod":               count(func(s *snapshot) *int64 { return &pod(s).Like }),
		"until of a terminating pod":    year(func(s *snapshot) *time.Time { return &rs(s).TerminatingPods[0].Until }),
		"until of an ended pod":         year(func(s *snapshot) *time.Time { return &rs(s).TerminatingEndedPods[0].Until }),
		"created of a disrupted pod":    year(func(s *snapshot) *time.Time { return &rs(s).Disrupted[0].Created }),
		"disruption of a disrupted pod": year(func(s *snapshot) *time.Time { return &rs(s).Disrupted[0].At }),
		"arrived":                       {deployment.MaxArrived, func(s *snapshot, n int64) { s.Arrived = make([]string, n) }},
		"mutated fields":                {deployment.MaxChanged, func(s *snapshot, n int64) { s.Mutated = &deployment.TemplateChange{Fields: make([]decision.Change, n)} }},
		"changed fields":                {deployment.MaxChanged, func(s *snapshot, n int64) { s.Changed.Fields = make([]decision.Change, n) }},
		"pods":                          {deployment.MaxBlocking, func(s *snapshot, n int64) { rs(s).Blocking = make([]deployment.Pod, n) }},
		"terminating pods": {decision.MaxTerminatingPods, func(s *snapshot, n int64) {
			rs(s).TerminatingPods = make([]decision.TerminatingPod, n)
		}},
		"ended terminating pods": {decision.MaxTerminatingPods, func(s *snapshot, n int64) {
			rs(s).TerminatingEndedPods = make([]decision.TerminatingPod, n)
		}},
		"disrupted pods": {deployment.MaxDisrupted, func(s *snapshot, n int64) { rs(s).Disrupted = make([]decision.DisruptedPod, n) }},
		"slowest":        {int64(deployment.MaxStartupTime), func(s *snapshot, n int64) { rs(s).Startup.Slowest = time.Duration(n) }},
		"fastest":        {0, func(s *snapshot, n int64) { rs(s).Startup.Fastest = time.Duration(-n) }},
		"fastest, beside the slowest": {int64(time.Minute), func(s *snapshot, n int64) {
			rs(s).Startup.Fastest, rs(s).Startup.Slowest = time.Duration(n), time.Minute
		}},
	} {
		for beyond, fits := range []bool{true, false} {
			s := &snapshot{Version: 1, Now: noon, Recent: &decision.RecentChange{}, Echo: []deployment.Echo{{}}, Changed: &deployment.TemplateChange{},
				Status: deployment.Status{Conditions: []decision.Condition{{}}}, ReplicaSets: []deployment.ReplicaSet{{Name: "a", UID: "1", Failure: &decision.Condition{},
					Startup: &deployment.StartupTimes{}, Blocking: []deployment.Pod{{ContainerState: decision.ContainerState{Exit: &decision.Exit{}}}},
					TerminatingPods: []decision.TerminatingPod{{}}, TerminatingEndedPods: []decision.TerminatingPod{{}}, Disrupted: []decision.DisruptedPod{{}}}}}
			c.set(s, c.limit+int64(beyond))
			data, err := json.Marshal(s)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := deployment.Decode(data); (err == nil) != fits {
				t.Errorf("%s %d: %v", name, c.limit+int64(beyond), err)
			}
		}
	}
	// Nothing is wrong with a snapshot that has none of what is optional.
	if _, err := deployment.Decode([]byte(`{"v": 1, "now": "2026-11-21T03:13:00Z", "found": true, "name": "web", "replicaSets": [{"name": "a", "uid": "1", "blocking": [{"name": "p"}]}]}`)); err != nil {
		t.Error(err)
	}
}
