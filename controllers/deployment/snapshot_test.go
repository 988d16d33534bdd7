package deployment_test

import (
	"encoding/json"
	"fmt"
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/loopscope/loopscope/controllers/deployment"
	"github.com/loopscope/loopscope/telemetry/decision"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func drawTime(t *rapid.T, label string) time.Time {
	if rapid.IntRange(0, 9).Draw(t, label+" unknown") == 0 {
		return time.Time{}
	}
	return drawKnownTime(t, label)
}

func drawKnownTime(t *rapid.T, label string) time.Time {
	return noon.Add(time.Duration(rapid.IntRange(-2000, 0).Draw(t, label)) * time.Second)
}

// drawCount prefers small numbers and does not forget the largest.
func drawCount(t *rapid.T, label string) int64 {
	return rapid.OneOf(rapid.Int64Range(0, 12), rapid.SampledFrom([]int64{math.MaxInt32, math.MaxInt32 - 1})).Draw(t, label)
}

func drawLimit(t *rapid.T, label string) *int64 {
	return rapid.SampledFrom([]*int64{nil, new(int64(0)), new(int64(1)), new(int64(600)), new(int64(math.MaxInt32))}).Draw(t, label)
}

// drawSnapshot is any snapshot that Decode accepts, however absurd.
func drawSnapshot(t *rapid.T) *deployment.Snapshot {
	rarely := func(label string) bool { return rapid.IntRange(0, 9).Draw(t, label) == 0 }
	amount := func(label string) *deployment.IntOrPercent {
		return rapid.SampledFrom([]*deployment.IntOrPercent{nil, {}, {Int: 1}, {Percent: "25%"}, {Percent: "100%"}, {Percent: "25"}, {Int: math.MaxInt32}, {Percent: "2147483647%"}}).Draw(t, label)
	}
	s := &deployment.Snapshot{Version: 1, Now: noon, Found: !rarely("gone"), Namespace: "shop", Name: "web", UID: "d", RV: "7",
		Generation: rapid.Int64Range(0, 3).Draw(t, "generation"), Deleting: rarely("deleting"), SelectsAll: rarely("all"), Paused: rarely("paused"),
		Want: drawCount(t, "want"), Strategy: rapid.SampledFrom([]string{"RollingUpdate", "RollingUpdate", "RollingUpdate", "Recreate", ""}).Draw(t, "strategy"),
		MaxSurge: amount("surge"), MaxUnavailable: amount("unavailable"), MinReady: rapid.Int64Range(0, 60).Draw(t, "minReady"),
		Deadline: drawLimit(t, "deadline"), HistoryLimit: drawLimit(t, "history"),
		Revision:   rapid.SampledFrom([]string{"", "1", "x"}).Draw(t, "revision"),
		RollbackTo: rapid.SampledFrom([]string{"", "", "", "0", "1", "-1", "x"}).Draw(t, "rollback"),
		NextName:   "web-next", NextHash: "next", CollisionName: "web-other", CollisionHash: "other",
		CountTerminating: rapid.Bool().Draw(t, "terminating"), SizeEventsBefore132: rapid.Bool().Draw(t, "size events"), Status: drawStatus(t)}
	if rarely("selector") {
		s.SelectorError = "bad"
	}
	if rarely("echo") {
		s.Echo = []deployment.Echo{{Object: "Deployment web", Written: "9", Cached: "7", Since: drawTime(t, "since"), Check: drawTime(t, "check")}}
	}
	if rapid.Bool().Draw(t, "progressed") {
		s.LastProgress = drawTime(t, "last progress")
	}
	if rapid.Bool().Draw(t, "arrived") {
		s.Arrived = []string{"ConfigMap app", "PersistentVolumeClaim data"}
	}
	if rapid.Bool().Draw(t, "news") {
		s.Recent = &decision.RecentChange{Kind: rapid.SampledFrom([]decision.RecentChangeKind{decision.ScaledBack, decision.WentBack, decision.Adopted, decision.Released, "odd"}).Draw(t, "news kind"),
			At: drawTime(t, "news at"), Told: drawTime(t, "news told"), By: rapid.SampledFrom([]string{"", "kubectl"}).Draw(t, "news by"),
			Object: "web-1", Count: drawCount(t, "news count"), From: drawCount(t, "news from"), To: drawCount(t, "news to"), Became: drawCount(t, "news became"), Pods: drawCount(t, "news pods")}
	}
	if rarely("contest") {
		s.Contest = &deployment.Contest{Field: rapid.SampledFrom([]deployment.ContestedField{deployment.ContestedTemplate, deployment.ContestedSize, deployment.ContestedSet, deployment.ContestedPods}).Draw(t, "contested"),
			Since: drawKnownTime(t, "contest since"), Last: drawKnownTime(t, "contest last"), Changes: drawCount(t, "contest changes"),
			By: []string{"helm", "kubectl-edit"}, BackAndForth: true, Object: "web-1", Low: drawCount(t, "contest low"), High: drawCount(t, "contest high")}
	}
	if rarely("learnt") {
		s.Learnt = rapid.SampledFrom([]decision.Learnt{{Parent: "gone"}, {NamespaceTerminating: true}, {ChildrenGone: []string{"1"}},
			{NameTaken: &decision.NameTaken{Name: "web-next"}}, {NameTaken: &decision.NameTaken{Name: "web-other", Mine: true}},
			{NameTaken: &decision.NameTaken{Name: "web-next", Mine: true, SameTemplate: true}}}).Draw(t, "what")
	}
	for i := range rapid.IntRange(0, 4).Draw(t, "sets") {
		s.ReplicaSets = append(s.ReplicaSets, drawSet(t, i))
	}
	return s
}

func drawStatus(t *rapid.T) deployment.Status {
	st := deployment.Status{ObservedGeneration: rapid.Int64Range(0, 3).Draw(t, "observed"), Replicas: drawCount(t, "replicas"), Updated: drawCount(t, "updated"),
		Ready: drawCount(t, "ready"), Available: drawCount(t, "available"), Unavailable: drawCount(t, "unavailable"), Collisions: drawLimit(t, "collisions")}
	reasons := []string{"NewReplicaSetCreated", "FoundNewReplicaSet", "ReplicaSetUpdated", "NewReplicaSetAvailable", "DeploymentPaused",
		"DeploymentResumed", "ReplicaSetCreateError", "ProgressDeadlineExceeded"}
	if rapid.Bool().Draw(t, "progressing") {
		st.Conditions = append(st.Conditions, decision.Condition{Type: "Progressing", Status: "True", Reason: rapid.SampledFrom(reasons).Draw(t, "reason"), Updated: drawTime(t, "updated at")})
	}
	if rapid.Bool().Draw(t, "has available") {
		st.Conditions = append(st.Conditions, decision.Condition{Type: "Available", Status: "True", Reason: "MinimumReplicasAvailable", Transition: drawTime(t, "available at")})
	}
	return st
}

func drawSet(t *rapid.T, i int) deployment.ReplicaSet {
	text := func(label string) string {
		return rapid.SampledFrom([]string{"", "0", "3", "5", "x", "-1", "2147483648"}).Draw(t, label)
	}
	rs := deployment.ReplicaSet{Name: fmt.Sprintf("web-%d", i), UID: fmt.Sprint(i), RV: "5", Created: drawTime(t, "created"),
		Mine: rapid.IntRange(0, 9).Draw(t, "mine") > 0, Matches: rapid.IntRange(0, 9).Draw(t, "matches") > 0,
		SameTemplate: rapid.IntRange(0, 2).Draw(t, "same") == 0, CopyStale: rapid.IntRange(0, 9).Draw(t, "stale") == 0,
		Replicas: drawCount(t, "size"), MinReady: rapid.Int64Range(0, 60).Draw(t, "set minReady"), Generation: 1, ObservedGeneration: rapid.Int64Range(0, 1).Draw(t, "set observed"),
		StatusReplicas: drawCount(t, "set replicas"), Ready: drawCount(t, "set ready"), Available: drawCount(t, "set available"), Terminating: drawLimit(t, "set terminating"),
		Revision: text("set revision"), History: text("history"), Desired: text("desired"), Max: text("max"),
		NonTerminal: drawCount(t, "nonTerminal"), Unavailable: drawCount(t, "set unavailable"), TerminatingNow: drawCount(t, "ending"), TerminatingEnded: drawCount(t, "ending ended")}
	if rapid.IntRange(0, 9).Draw(t, "failing") == 0 {
		rs.Failure = &decision.Condition{Type: "ReplicaFailure", Status: "True", Reason: rapid.SampledFrom([]string{"FailedCreate", "FailedDelete"}).Draw(t, "failure"),
			Message: rapid.SampledFrom([]string{"", "exceeded quota", `exceeded quota: team, requested: pods=1, used: pods=2, limited: pods=2`, "denied"}).Draw(t, "message"), Transition: drawTime(t, "failed at")}
	}
	for j := range rapid.IntRange(0, 3).Draw(t, "blocking") {
		p := deployment.Pod{Name: fmt.Sprintf("p%d", j), Created: drawTime(t, "pod created"), Image: "i",
			Reason: rapid.SampledFrom([]string{"", "ErrImagePull", "ImagePullBackOff", "CrashLoopBackOff", "Unschedulable", "ContainerCreating", "Odd"}).Draw(t, "pod reason")}
		if p.Ready = rapid.Bool().Draw(t, "pod ready"); p.Ready && rapid.Bool().Draw(t, "known since") {
			p.ReadySince = drawTime(t, "ready since")
		}
		rs.Blocking = append(rs.Blocking, p)
	}
	return rs
}

func drawOutcome(t *rapid.T) decision.Outcome {
	o := decision.Outcome{State: rapid.SampledFrom([]decision.State{decision.Written, decision.Written, decision.Refused, decision.Conflicted, decision.Unknown,
		decision.Superseded, decision.Tolerated, decision.NotTried}).Draw(t, "state")}
	if rapid.Bool().Draw(t, "explained") {
		o.Failure = &decision.Failure{Message: "denied", Terminal: rapid.Bool().Draw(t, "terminal")}
		o.Other = &decision.Writer{Manager: rapid.SampledFrom([]string{"", "helm"}).Draw(t, "manager"), RV: rapid.SampledFrom([]string{"", "8"}).Draw(t, "other rv")}
	}
	return o
}

// TestAnySnapshot gives every combination of fields to a whole sync: nothing
// panics, all that is said is a fact and all that is written is declared, the
// record survives JSON, and no status is published that the API server refuses.
func TestAnySnapshot(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawSnapshot(t)
		before, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := deployment.Decode(before); err != nil {
			t.Fatalf("drawn, but refused: %v", err)
		}
		var try decision.Try
		if rapid.IntRange(0, 3).Draw(t, "failing") == 0 {
			try = decision.Try{Number: 3, Limit: 15, Next: noon.Add(time.Second), Dropped: rapid.Bool().Draw(t, "dropped")}
		}
		var published *decision.Outcome
		if rapid.Bool().Draw(t, "published") {
			published = new(drawOutcome(t))
		}
		acts, found := rapid.IntRange(0, 5).Draw(t, "acted") > 0, s.Learnt
		p := run(s, try, published, func(v decision.Verdict) (list []decision.Outcome, learnt decision.Learnt) {
			if !acts {
				return nil, decision.Learnt{}
			}
			for range v.Actions {
				list = append(list, drawOutcome(t))
			}
			learnt, found = found, decision.Learnt{}
			return list, learnt
		})
		if p.report != nil {
			checkPublishable(t, s, *p.report)
		}
		for _, problem := range p.problems() {
			t.Fatalf("%s\n%s\n%s", problem, before, render(p))
		}
		if _, err := json.Marshal([]any{p.sentence, p.report, p.rounds}); err != nil {
			t.Fatalf("the record cannot be written: %v", err)
		}
		if !known(p.sentence.Code) || len(p.sentence.Lead) == 0 || p.sentence.Verb == "" || p.sentence.State == "" {
			t.Fatalf("no whole sentence: %+v", p.sentence)
		}
		if after, err := json.Marshal(s); err != nil || string(after) != string(before) {
			t.Fatalf("the snapshot was changed (%v):\n%s\n%s", err, before, after)
		}
	})
}

// checkPublishable: a report and its changes agree, timers lie ahead, collisions
// never sink, and each condition is there once.
func checkPublishable(t *rapid.T, s *deployment.Snapshot, r deployment.Report) {
	if r.Publish && r.Hold || (r.Publish || r.Hold) != (len(r.Changes) > 0) {
		t.Fatalf("publish is %v with %d changes", r.Publish, len(r.Changes))
	}
	for _, timer := range r.Timers {
		if !timer.At.After(s.Now) {
			t.Fatalf("timer %s rings at %s, it is %s", timer.Code, timer.At, s.Now)
		}
	}
	if s.Status.Collisions != nil && (r.Status.Collisions == nil || *r.Status.Collisions < *s.Status.Collisions) {
		t.Fatalf("collisions sink from %d to %v", *s.Status.Collisions, r.Status.Collisions)
	}
	seen := map[string]bool{}
	for _, c := range r.Status.Conditions {
		if seen[c.Type] {
			t.Fatalf("condition %s appears twice", c.Type)
		}
		seen[c.Type] = true
	}
}
