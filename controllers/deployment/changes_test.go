package deployment_test

import (
	"bytes"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/loopscope/loopscope/controllers/deployment"
	"github.com/loopscope/loopscope/telemetry/decision"
)

// changed are the goldens that TestOneChange changes: one for each way that a sync goes.
var changed = []string{
	"settled", "settled-zero", "short", "unfinished", "waiting-mixed", "min-ready", "quota", "deadline-over", "no-room", "retire-behind",
	"retire-unhealthy", "scale-shared", "scale-up", "recreate-running", "recreate-size", "paused-pending", "history", "history-busy", "rollback", "collision",
	"create-refused", "used-again", "eta-known", "no-deadline", "namespace-held",
}

// set is the new ReplicaSet of a snapshot, or its oldest old one; without effect on
// the snapshot where there is none.
func set(s *deployment.Snapshot, same bool) *deployment.ReplicaSet {
	i := slices.IndexFunc(s.ReplicaSets, func(rs deployment.ReplicaSet) bool { return rs.SameTemplate == same })
	if i < 0 {
		return &deployment.ReplicaSet{}
	}
	return &s.ReplicaSets[i]
}

// oneChange is one change of a snapshot.
type oneChange struct {
	name  string
	do    func(s *deployment.Snapshot)
	first *decision.Outcome // of its first action, nil for the recorded one
}

// changes are small changes, each of one thing that is decided on or told.
func changes() []oneChange {
	list := []oneChange{
		{"want 0", func(s *deployment.Snapshot) { s.Want = 0 }, nil},
		{"want 1", func(s *deployment.Snapshot) { s.Want = 1 }, nil},
		{"want +1", func(s *deployment.Snapshot) { s.Want++ }, nil},
		{"want -1", func(s *deployment.Snapshot) { s.Want = max(0, s.Want-1) }, nil},
		{"paused", func(s *deployment.Snapshot) { s.Paused = !s.Paused }, nil},
		{"no deadline", func(s *deployment.Snapshot) { s.Deadline = nil }, nil},
		{"deadline", func(s *deployment.Snapshot) { s.Deadline = new(int64(5)) }, nil},
		{"minReadySeconds", func(s *deployment.Snapshot) { s.MinReady++ }, nil},
		{"history 0", func(s *deployment.Snapshot) { s.HistoryLimit = new(int64(0)) }, nil},
		{"rollback", func(s *deployment.Snapshot) { s.RollbackTo = "1" }, nil},
		{"rollback 0", func(s *deployment.Snapshot) { s.RollbackTo = "0" }, nil},
		{"recreate", func(s *deployment.Snapshot) { s.Strategy = "Recreate" }, nil},
		{"surge 1", func(s *deployment.Snapshot) {
			s.Strategy, s.MaxSurge, s.MaxUnavailable = "RollingUpdate", &deployment.IntOrPercent{Int: 1}, &deployment.IntOrPercent{}
		}, nil},
		{"unavailable 2", func(s *deployment.Snapshot) {
			s.Strategy, s.MaxSurge, s.MaxUnavailable = "RollingUpdate", &deployment.IntOrPercent{}, &deployment.IntOrPercent{Int: 2}
		}, nil},
		{"generation", func(s *deployment.Snapshot) { s.Generation++ }, nil},
		{"revision", func(s *deployment.Snapshot) { s.Revision = "1" }, nil},
		{"collisions", func(s *deployment.Snapshot) { s.Status.Collisions = new(int64(3)) }, nil},
		{"terminating", func(s *deployment.Snapshot) { s.CountTerminating = true }, nil},
		{"namespace ending", func(s *deployment.Snapshot) { s.NamespaceTerminating = s.Now.Add(-time.Minute) }, nil},
		{"no progress seen", func(s *deployment.Snapshot) { s.LastProgress = time.Time{} }, nil},
		{"progress now", func(s *deployment.Snapshot) { s.LastProgress = s.Now }, nil},
		{"progress 30s ago", func(s *deployment.Snapshot) { s.LastProgress = s.Now.Add(-30 * time.Second) }, nil},
		{"progress 1m ago", func(s *deployment.Snapshot) { s.LastProgress = s.Now.Add(-time.Minute) }, nil},
		{"status held", func(s *deployment.Snapshot) { s.Held = s.Now.Add(-500 * time.Millisecond) }, nil},
		{"published updated -1", func(s *deployment.Snapshot) { s.Status.Updated-- }, nil},
		{"published replicas +1", func(s *deployment.Snapshot) { s.Status.Replicas++ }, nil},
		{"published ready -1", func(s *deployment.Snapshot) { s.Status.Ready-- }, nil},
		{"published available -1", func(s *deployment.Snapshot) { s.Status.Available-- }, nil},
		{"no conditions", func(s *deployment.Snapshot) { s.Status.Conditions = nil }, nil},
		{"no new", func(s *deployment.Snapshot) {
			s.ReplicaSets = slices.DeleteFunc(s.ReplicaSets, func(rs deployment.ReplicaSet) bool { return rs.SameTemplate })
		}, nil},
		{"no old", func(s *deployment.Snapshot) {
			s.ReplicaSets = slices.DeleteFunc(s.ReplicaSets, func(rs deployment.ReplicaSet) bool { return !rs.SameTemplate })
		}, nil},
		{"another old", func(s *deployment.Snapshot) {
			s.ReplicaSets = append(s.ReplicaSets, deployment.ReplicaSet{Name: "older", UID: "oo", RV: "1", Created: s.Now.Add(-100 * time.Hour), Mine: true, Matches: true,
				Replicas: 2, StatusReplicas: 2, Ready: 1, Available: 1, Generation: 1, ObservedGeneration: 1, Revision: "1", Desired: digits(s.Want), Unavailable: 1, NonTerminal: 2})
		}, nil},
		{"adopt", func(s *deployment.Snapshot) { set(s, false).Mine = false }, nil},
	}
	for _, reason := range []string{"NewReplicaSetCreated", "ReplicaSetUpdated", "NewReplicaSetAvailable", "DeploymentPaused", "ProgressDeadlineExceeded"} {
		list = append(list, oneChange{reason, func(s *deployment.Snapshot) {
			s.Status.Conditions = append(slices.DeleteFunc(s.Status.Conditions, func(c decision.Condition) bool { return c.Type == "Progressing" }),
				decision.Condition{Type: "Progressing", Status: "True", Reason: reason, Updated: s.Now.Add(-10 * time.Second), Transition: s.Now.Add(-20 * time.Second)})
		}, nil})
	}
	for _, state := range []decision.State{nobody, decision.Refused, decision.Conflicted, decision.Unknown, decision.Superseded} {
		list = append(list, oneChange{"first write " + string(state), func(*deployment.Snapshot) {}, &decision.Outcome{State: state, Failure: &decision.Failure{Message: "denied"}}})
	}
	for _, same := range []bool{true, false} {
		which := map[bool]string{true: "new ", false: "old "}[same]
		for name, do := range ofSet {
			list = append(list, oneChange{which + name, func(s *deployment.Snapshot) { do(s, set(s, same)) }, nil})
		}
	}
	slices.SortStableFunc(list, func(a, b oneChange) int { return strings.Compare(a.name, b.name) })
	return list
}

// ofSet are those of one ReplicaSet.
var ofSet = map[string]func(s *deployment.Snapshot, rs *deployment.ReplicaSet){
	"size 0":          func(_ *deployment.Snapshot, rs *deployment.ReplicaSet) { rs.Replicas = 0 },
	"size 1":          func(_ *deployment.Snapshot, rs *deployment.ReplicaSet) { rs.Replicas = 1 },
	"size +1":         func(_ *deployment.Snapshot, rs *deployment.ReplicaSet) { rs.Replicas++ },
	"size -1":         func(_ *deployment.Snapshot, rs *deployment.ReplicaSet) { rs.Replicas = max(0, rs.Replicas-1) },
	"one exists more": func(_ *deployment.Snapshot, rs *deployment.ReplicaSet) { rs.StatusReplicas++ },
	"one exists less": func(_ *deployment.Snapshot, rs *deployment.ReplicaSet) {
		rs.StatusReplicas = max(0, rs.StatusReplicas-1)
	},
	"all available": func(_ *deployment.Snapshot, rs *deployment.ReplicaSet) {
		rs.Available, rs.Unavailable, rs.Blocking = rs.Replicas, 0, nil
	},
	"one available less": func(_ *deployment.Snapshot, rs *deployment.ReplicaSet) { rs.Available = max(0, rs.Available-1) },
	"one available more": func(_ *deployment.Snapshot, rs *deployment.ReplicaSet) { rs.Available++ },
	"desired none":       func(_ *deployment.Snapshot, rs *deployment.ReplicaSet) { rs.Desired = "" },
	"desired other":      func(s *deployment.Snapshot, rs *deployment.ReplicaSet) { rs.Desired = digits(s.Want + 2) },
	"max none":           func(_ *deployment.Snapshot, rs *deployment.ReplicaSet) { rs.Max = "" },
	"revision none":      func(_ *deployment.Snapshot, rs *deployment.ReplicaSet) { rs.Revision = "" },
	"revision 99":        func(_ *deployment.Snapshot, rs *deployment.ReplicaSet) { rs.Revision = "99" },
	"copy stale":         func(_ *deployment.Snapshot, rs *deployment.ReplicaSet) { rs.CopyStale = true },
	"not observed":       func(_ *deployment.Snapshot, rs *deployment.ReplicaSet) { rs.Generation = rs.ObservedGeneration + 1 },
	"one unavailable more": func(_ *deployment.Snapshot, rs *deployment.ReplicaSet) {
		rs.Unavailable++
	},
	"pods unknown": func(_ *deployment.Snapshot, rs *deployment.ReplicaSet) { rs.Blocking = nil },
	"one pod waits": func(s *deployment.Snapshot, rs *deployment.ReplicaSet) {
		rs.Available, rs.Unavailable = max(0, rs.Replicas-1), 1
		rs.Blocking = []deployment.Pod{{Name: rs.Name + "-p", Created: s.Now.Add(-time.Hour), Image: "i:1"}}
	},
	"pods ready": func(s *deployment.Snapshot, rs *deployment.ReplicaSet) {
		rs.MinReady, s.MinReady = 30, 30
		for i := range rs.Blocking {
			rs.Blocking[i].Ready, rs.Blocking[i].ReadySince = true, s.Now.Add(time.Duration(-5-i)*time.Second)
		}
	},
	"one pod ends": func(s *deployment.Snapshot, rs *deployment.ReplicaSet) {
		rs.TerminatingNow, rs.NonTerminal, rs.Terminating = 1, 1, new(int64(1))
		rs.TerminatingPods = []decision.TerminatingPod{{Name: rs.Name + "-t", Until: s.Now.Add(20 * time.Second)}}
	},
	"create fails": func(s *deployment.Snapshot, rs *deployment.ReplicaSet) {
		rs.StatusReplicas, rs.Available = max(0, rs.StatusReplicas-1), max(0, min(rs.Available, rs.StatusReplicas-1))
		rs.Failure = &decision.Condition{Type: "ReplicaFailure", Status: "True", Reason: "FailedCreate", Message: "denied by a webhook", Transition: s.Now.Add(-time.Minute)}
	},
	"delete fails": func(s *deployment.Snapshot, rs *deployment.ReplicaSet) {
		rs.Failure = &decision.Condition{Type: "ReplicaFailure", Status: "True", Reason: "FailedDelete", Message: "denied by a webhook", Transition: s.Now.Add(-time.Minute)}
	},
	"startup known": func(_ *deployment.Snapshot, rs *deployment.ReplicaSet) {
		rs.Startup = &deployment.StartupTimes{Pods: 2, Fastest: 12 * time.Second, Slowest: 25 * time.Second}
	},
	"least 0":  func(_ *deployment.Snapshot, rs *deployment.ReplicaSet) { rs.Least = new(int64(0)) },
	"deleting": func(_ *deployment.Snapshot, rs *deployment.ReplicaSet) { rs.Deleting = true },
}

// nobody stands for no outcomes at all.
const nobody decision.State = "planned"

func digits(n int64) string { return fmt.Sprint(n) }

// reported are the lines of a report that brief keeps: no path, and no numbers.
var reported = regexp.MustCompile(`^(publish|event|timer|change status.conditions|change metadata)`)

// brief is what a sync did, a line for each thing: less than a golden shows.
func brief(p played) []string {
	var list []string
	for _, r := range p.rounds {
		list = append(list, "at "+r.Verdict.Leaf())
		for _, a := range r.Verdict.Actions {
			text := fmt.Sprintf("%s %s [%s]", a.Kind, a.Target.Name, a.Question)
			if a.Size != nil {
				text += fmt.Sprintf(" %d->%d", a.Size.From, a.Size.To)
			}
			for _, c := range a.Changes {
				if c.Field != "spec.replicas" {
					text += fmt.Sprintf(" %s=%s", c.Field[strings.LastIndex(c.Field, "/")+1:], c.To)
				}
			}
			list = append(list, text)
		}
		for _, h := range r.Verdict.Held {
			list = append(list, fmt.Sprintf("held %s %s, %s, %s, %d blockers", h.Code, h.Target.Name, h.Unblocks.At(p.snapshot.Now), renderRelease(p, h.When), h.BlockerCount))
		}
	}
	if p.report != nil {
		for _, line := range strings.Split(strings.TrimSpace(renderReport(p)), "\n") {
			if reported.MatchString(line) {
				list = append(list, line)
			}
		}
	}
	for _, text := range []string{renderSentence(p), renderEstimate(p)} {
		if text != "" {
			list = append(list, strings.TrimSpace(text))
		}
	}
	return list
}

// TestOneChange changes one thing at a time in some goldens, and records what a sync of
// that does and says otherwise. What is not recorded makes no difference.
func TestOneChange(t *testing.T) {
	var got txtar.Archive
	for _, name := range changed {
		g := readGolden(t, "testdata/golden/"+name+".txtar")
		before := brief(play(t, g))
		var text bytes.Buffer
		for _, e := range changes() {
			s, err := deployment.Decode(g.snapshot)
			if err != nil {
				t.Fatal(err)
			}
			e.do(s)
			p := run(s, g.try, g.publish, answered(g.rounds, e.first))
			for _, problem := range p.problems() {
				t.Errorf("%s, %s: %s", name, e.name, problem)
			}
			after := slices.DeleteFunc(brief(p), func(line string) bool { return slices.Contains(before, line) })
			if len(after) > 0 {
				fmt.Fprintf(&text, "%s:\n\t%s\n", e.name, strings.ReplaceAll(strings.Join(after, "\n"), "\n", "\n\t"))
			}
		}
		got.Files = append(got.Files, txtar.File{Name: name, Data: text.Bytes()})
	}
	compare(t, "testdata/changes.txtar", &got)
}

// compare holds what the code says to what is recorded.
func compare(t *testing.T, file string, got *txtar.Archive) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, txtar.Format(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(txtar.Format(got))); diff != "" {
		t.Errorf("%s differs (-want +got), run with -update to accept:\n%s", file, diff)
	}
}

// answered writes what another sync than the recorded one decides. first is how its first
// write ends, nil for as recorded.
func answered(rounds []roundInput, first *decision.Outcome) decision.Act {
	round := 0
	return func(v decision.Verdict) ([]decision.Outcome, decision.Learnt) {
		round++
		var learnt decision.Learnt
		var list []decision.Outcome
		if round <= len(rounds) {
			list, learnt = slices.Clone(rounds[round-1].Outcomes), rounds[round-1].Learnt
		}
		for len(list) < len(v.Actions) {
			list = append(list, decision.Outcome{State: decision.Written})
		}
		switch {
		case first == nil || len(v.Actions) == 0:
		case first.State == nobody:
			return nil, learnt
		default:
			list[0] = *first
		}
		return list[:len(v.Actions)], learnt
	}
}
