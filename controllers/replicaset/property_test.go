package replicaset_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/loopscope/loopscope/controllers/replicaset"
	"github.com/loopscope/loopscope/telemetry/decision"
)

// counted is the number of pods that are active once the claims are made,
// counted once more and in the simplest way.
func counted(s *replicaset.Snapshot) int64 {
	var n int64
	for _, p := range s.Pods {
		alive := p.Phase != "Failed" && p.Phase != "Succeeded" && !p.Terminating
		if alive && p.Matches && (p.Mine || !s.Deleting) {
			n++
		}
	}
	return n
}

// writes sums the pods that a verdict creates and deletes.
func writes(v decision.Verdict) (creates, deletes int64) {
	for _, a := range v.Actions {
		switch a.Kind {
		case decision.CreatePods:
			creates += a.Count
		case decision.DeletePods:
			deletes += a.Count
			if a.Count != int64(len(a.Victims)) {
				panic(fmt.Sprintf("%d victims for a deletion of %d", len(a.Victims), a.Count))
			}
		}
	}
	return creates, deletes
}

func TestNeverTooMuch(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := genSnapshot(t)
		creates, deletes := writes(replicaset.Decide(s))
		active := counted(s)
		switch {
		case creates > 0 && deletes > 0:
			t.Fatalf("creates %d and deletes %d in one sync", creates, deletes)
		case creates > max(0, s.Want-active), creates > s.Burst:
			t.Fatalf("creates %d with %d of %d active and a burst of %d", creates, active, s.Want, s.Burst)
		case deletes > max(0, active-s.Want), deletes > s.Burst:
			t.Fatalf("deletes %d with %d of %d active and a burst of %d", deletes, active, s.Want, s.Burst)
		}
		blocked := len(s.Echo) > 0 || s.Deleting ||
			(s.Expect.Creates > 0 || s.Expect.Deletes > 0) && now.Before(s.Expect.Expires)
		if due := min(s.Burst, max(s.Want-active, active-s.Want)); !blocked && creates+deletes != due {
			t.Fatalf("creates %d and deletes %d with %d of %d active, want %d", creates, deletes, active, s.Want, due)
		} else if blocked && creates+deletes != 0 {
			t.Fatalf("creates %d and deletes %d while nothing may be written", creates, deletes)
		}
	})
}

func TestShuffledSnapshotSameVerdict(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := genSnapshot(t)
		shuffled := *s
		shuffled.Pods = rapid.Permutation(s.Pods).Draw(t, "order")
		a := acted(s, decision.Try{}, func(v decision.Verdict) []decision.Outcome { return genOutcomes(t, v) })
		b := run(&shuffled, decision.Try{}, nil, decision.Recorded(a.rounds))
		if diff := cmp.Diff(a.rounds, b.rounds, compareFacts); diff != "" {
			t.Fatalf("verdict differs:\n%s", diff)
		}
		if diff := cmp.Diff(a.report, b.report, compareFacts); diff != "" {
			t.Fatalf("report differs:\n%s", diff)
		}
		if diff := cmp.Diff(a.sentence, b.sentence); diff != "" {
			t.Fatalf("sentence differs:\n%s", diff)
		}
	})
}

// TestVictimsArePrefix proves that deleting one more takes the same pods and
// one more, so that no burst and no second look takes another choice.
func TestVictimsArePrefix(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := genSnapshot(t)
		s.Echo, s.Expect, s.Deleting, s.Burst = nil, replicaset.Expectations{}, false, 500
		s.Want = 1
		all := victims(replicaset.Decide(s))
		for want := int64(2); want < counted(s); want++ {
			s.Want = want
			if got := victims(replicaset.Decide(s)); !slices.Equal(got, all[:len(got)]) {
				t.Fatalf("wanting %d takes %v, wanting 1 takes %v", want, got, all)
			}
		}
	})
}

func TestNoWriteWithoutReason(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := replicaset.Decide(genSnapshot(t))
		if problems := undeclared(v); len(problems) > 0 {
			t.Fatal(strings.Join(problems, "\n"))
		}
	})
}

// TestSnapshotIsNotChanged proves that the verbs only read.
func TestSnapshotIsNotChanged(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := genSnapshot(t)
		if len(s.Pods) > 0 {
			s.Pods = rapid.Permutation(s.Pods).Draw(t, "order")
		}
		was, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		found := decision.Learnt{Parent: "gone", ChildrenGone: []string{"uid-01", "uid-00"}}
		run(s, decision.Try{}, nil, func(v decision.Verdict) (list []decision.Outcome, learnt decision.Learnt) {
			learnt, found = found, decision.Learnt{}
			return genOutcomes(t, v), learnt
		})
		if is, _ := json.Marshal(s); string(is) != string(was) {
			t.Fatalf("snapshot changed:\n%s", cmp.Diff(string(was), string(is)))
		}
	})
}

// TestStatusIsPublishedOnce proves that a status that was published is not
// published again, and that its numbers fit into one another.
func TestStatusIsPublishedOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := genSnapshot(t)
		s.Echo = nil
		p := acted(s, decision.Try{}, func(v decision.Verdict) []decision.Outcome { return genOutcomes(t, v) })
		if p.report == nil {
			return
		}
		report, st, most := p.report, p.report.Status, max(int64(len(s.Pods)), s.Want)
		if s.Expect.Creates > 0 { // They may be those that were counted, and then fewer were wanted.
			most = max(most, s.Status.Replicas)
		}
		if report.Publish == report.Hold && len(report.Changes) > 0 || (report.Publish || report.Hold) != (len(report.Changes) > 0) {
			t.Fatalf("publish %v and hold %v with %d changes", report.Publish, report.Hold, len(report.Changes))
		}
		if report.Publish && (st.Available > st.Ready || st.Ready > st.Replicas || st.FullyLabeled > st.Replicas || st.Replicas > most) {
			t.Fatalf("status does not add up: %+v", st)
		}
		s.Status = st
		if again := run(s, decision.Try{}, nil, decision.Recorded(p.rounds)).report; again.Publish {
			t.Fatalf("published again: %+v", again.Changes)
		}
	})
}

// TestSecondRoundAsksForNothingTwice proves that After keeps a round from
// repeating what the one before it did.
func TestSecondRoundAsksForNothingTwice(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := genSnapshot(t)
		v := replicaset.Decide(s)
		round := decision.Round{Verdict: v, Outcomes: genOutcomes(t, v)}
		second := replicaset.Decide(s.After(round, decision.Learnt{}))
		done := map[string]bool{}
		var managed bool
		for i, o := range round.Outcomes {
			if o.State == decision.Written {
				done[string(v.Actions[i].Kind)+v.Actions[i].Target.UID] = true
			}
			managed = managed || o.Done > 0 || o.State == decision.Written && v.Actions[i].Count > 0
		}
		for _, a := range second.Actions {
			if done[string(a.Kind)+a.Target.UID] {
				t.Fatalf("asks again for %s %s", a.Kind, a.Target.Name)
			}
		}
		if creates, deletes := writes(second); managed && creates+deletes > 0 {
			t.Fatalf("creates %d and deletes %d after a round that did", creates, deletes)
		}
	})
}

// TestFoldingEnds carries verdicts out on a model of the cluster until nothing
// is left to do, within the number of syncs that the burst allows.
func TestFoldingEnds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := genSnapshot(t)
		s.Echo, s.Expect, s.Deleting = nil, replicaset.Expectations{}, false
		bound := max(s.Want, int64(len(s.Pods)))/s.Burst + 2
		for sync := int64(0); ; sync++ {
			v := replicaset.Decide(s)
			if len(v.Actions) == 0 {
				break
			}
			if sync > bound {
				t.Fatalf("still acting after %d syncs: %+v", sync, v.Actions)
			}
			s = fold(s, v, sync)
		}
		if got := counted(s); got != s.Want {
			t.Fatalf("ends with %d active pods, want %d", got, s.Want)
		}
	})
}

// fold carries a verdict out without a failure.
func fold(s *replicaset.Snapshot, v decision.Verdict, sync int64) *replicaset.Snapshot {
	outcomes := make([]decision.Outcome, len(v.Actions))
	for i := range outcomes {
		outcomes[i].State = decision.Written
	}
	next := s.After(decision.Round{Verdict: v, Outcomes: outcomes}, decision.Learnt{})
	next.Expect = replicaset.Expectations{}
	for _, a := range v.Actions {
		for _, victim := range a.Victims {
			next.Pods = slices.DeleteFunc(next.Pods, func(p replicaset.Pod) bool { return p.UID == victim.UID })
		}
		for i := int64(0); a.Kind == decision.CreatePods && i < a.Count; i++ {
			name := fmt.Sprintf("new-%d-%d", sync, i)
			next.Pods = append(next.Pods, replicaset.Pod{Name: name, UID: name, Mine: true, Matches: true, Phase: "Pending"})
		}
	}
	return next
}

// BenchmarkDecide decides for 500 pods: with nothing to do, and with 250 of
// them to be ranked and deleted.
func BenchmarkDecide(b *testing.B) {
	pods := make([]replicaset.Pod, 500)
	for i := range pods {
		pods[i] = running(fmt.Sprintf("web-7d4b9c6f5x-%05d", i), node(fmt.Sprintf("node-%d", i%20)),
			readyFor(time.Hour+time.Duration(i*7919%40)*time.Second), restarted(int64(i%3)))
	}
	for _, bb := range []struct {
		name string
		want int64
	}{{"enough", 500}, {"rank250", 250}} {
		b.Run(bb.name, func(b *testing.B) {
			s := sized(bb.want, pods...)
			b.ReportAllocs()
			for b.Loop() {
				replicaset.Decide(s)
			}
		})
	}
}

// BenchmarkSync is everything pure of one sync of a ReplicaSet whose 10 pods start.
func BenchmarkSync(b *testing.B) {
	pods := make([]replicaset.Pod, 10)
	for i := range pods {
		pods[i] = replicaset.Pod{Name: fmt.Sprintf("web-7d4b9c6f5x-%05d", i), UID: fmt.Sprint(i), Mine: true, Matches: true, Phase: "Pending", Reason: "ContainerCreating", Node: "node-1"}
	}
	s := sized(10, pods...)
	b.ReportAllocs()
	for b.Loop() {
		x := decision.Sync{Core: replicaset.NewSync(s)}
		x.Run(decision.Nobody)
		x.Tell(decision.Try{}, s.Now)
	}
}
