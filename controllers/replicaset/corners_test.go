package replicaset_test

import (
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/loopscope/loopscope/controllers/replicaset"
	"github.com/loopscope/loopscope/telemetry/decision"
)

// answered runs a sync of one round, in which the one action ends in an outcome.
func answered(s *replicaset.Snapshot, try decision.Try, o decision.Outcome) played {
	return acted(s, try, func(decision.Verdict) []decision.Outcome { return []decision.Outcome{o} })
}

// TestRefusedPodsHaveOneEvent: [EV-2] however many pods of a sync are refused, the first error is told once.
func TestRefusedPodsHaveOneEvent(t *testing.T) {
	own := func(name string) replicaset.Pod {
		return replicaset.Pod{Name: name, UID: name, Mine: true, Matches: true}
	}
	for message, s := range map[string]*replicaset.Snapshot{
		"Error creating: full": sized(3),
		"Error deleting: full": sized(0, own("a"), own("b"), own("c")),
	} {
		p := answered(s, decision.Try{}, decision.Outcome{State: decision.Refused, Failed: 3, Failure: &decision.Failure{Code: 403, Message: "full"}})
		if e := p.report.Events; len(e) != 1 || e[0].Message != message {
			t.Errorf("3 refused pods have the events %v, want %q once", e, message)
		}
	}
}

// TestNoBurstIsNoBound: a snapshot that was made without one bounds nothing.
func TestNoBurstIsNoBound(t *testing.T) {
	for _, burst := range []int64{-1, 0} {
		s := sized(3)
		s.Burst = burst
		if creates, _ := writes(replicaset.Decide(s)); creates != 3 {
			t.Errorf("with a burst of %d it creates %d", burst, creates)
		}
	}
}

// TestClaimsComeByName whatever the order of the UIDs and of the pods.
func TestClaimsComeByName(t *testing.T) {
	orphan := func(name, u string) replicaset.Pod {
		return running(name, uid(u), func(p *replicaset.Pod) { p.Mine = false })
	}
	var names []string
	for _, a := range replicaset.Decide(sized(3, orphan("b", "1"), orphan("c", "3"), orphan("a", "2"))).Actions {
		names = append(names, a.Target.Name)
	}
	if !slices.Equal(names, []string{"a", "b", "c"}) {
		t.Errorf("it claims %v", names)
	}
}

// TestBucketsOfNoAge: an age that is not known, or not there yet, is in the bucket before
// the first.
func TestBucketsOfNoAge(t *testing.T) {
	for name, c := range map[string]struct {
		change change
		want   string
	}{"no creation": {noCreation, "-1"}, "created now": {created(0), "-1"}, "created later": {created(-time.Second), "-1"}, "a moment ago": {created(1), "0"}, "two": {created(2), "1"}} {
		v := replicaset.Decide(sized(1, running("a", c.change), running("b", cost(9))))
		for _, f := range v.Actions[0].Victims[0].Facts {
			if f.Name == "ageBucket" && f.Value.String() != c.want {
				t.Errorf("%s: bucket %s, want %s", name, f.Value, c.want)
			}
		}
	}
}

// TestNothingIsSettledOfNoRound: a sync that never came to a round leaves its status alone.
func TestNothingIsSettledOfNoRound(t *testing.T) {
	x := replicaset.NewSync(sized(1, running("a")))
	if r := x.Settle(nil); r.Publish || r.Hold || len(r.Path) > 0 {
		t.Errorf("the report is %+v", r)
	}
	if told := x.Tell(nil, nil, decision.Try{}, now); told.Sentence.Code != "settled" {
		t.Errorf("it says %s", told.Sentence.Code)
	}
	if told := replicaset.NewSync(sized(0, running("a"))).Tell(nil, nil, decision.Try{}, now); told.Sentence.Code != "claim-late" {
		t.Errorf("with one pod too many it says %s", told.Sentence.Code)
	}
}

// TestAfterExpectsWhatWasWritten: [RS-3] all of what was written, or may have been, and of
// what failed on its way as much as was done.
func TestAfterExpectsWhatWasWritten(t *testing.T) {
	for _, c := range []struct {
		state decision.State
		want  int64
	}{{decision.Written, 3}, {decision.Unknown, 3}, {decision.Partly, 1}, {decision.Refused, 1}} {
		for _, s := range []*replicaset.Snapshot{sized(3), sized(0, running("a"), running("b"), running("c"))} {
			s.Expect = replicaset.Expectations{Creates: -1, Deletes: -1}
			v := replicaset.Decide(s)
			next := s.After(decision.Round{Verdict: v, Outcomes: []decision.Outcome{{State: c.state, Done: 1}}}, decision.Learnt{})
			want := replicaset.Expectations{Creates: c.want, Deletes: -1, Since: now, Expires: now.Add(replicaset.ExpectationsTimeout)}
			if s.Want == 0 {
				want.Creates, want.Deletes = -1, c.want
			}
			if next.Expect != want {
				t.Errorf("%s of %d wanted: it expects %+v", c.state, s.Want, next.Expect)
			}
		}
	}
}

// TestAfterKeepsWhatIsKnown: what a round did not do changes nothing, and what it found out
// replaces what was known.
func TestAfterKeepsWhatIsKnown(t *testing.T) {
	s := sized(3)
	s.Learnt.Parent = "gone"
	v := replicaset.Decide(s)
	for _, outcomes := range [][]decision.Outcome{nil, {{State: decision.Refused}}} {
		next := s.After(decision.Round{Verdict: v, Outcomes: outcomes}, decision.Learnt{})
		if next.Expect != s.Expect || next.Learnt.Parent != "gone" {
			t.Errorf("it expects %+v and knows %+v", next.Expect, next.Learnt)
		}
	}
	if next := s.After(decision.Round{}, decision.Learnt{Parent: "being deleted"}); next.Learnt.Parent != "being deleted" {
		t.Errorf("it knows %+v", next.Learnt)
	}
}

// TestStatusWithoutWhatWasDeleted: a deletion that was written took all of its pods, and one
// that went only so far those that it names.
func TestStatusWithoutWhatWasDeleted(t *testing.T) {
	for name, c := range map[string]struct {
		o    decision.Outcome
		want int64
	}{
		"all": {decision.Outcome{State: decision.Written, Done: 2}, 1}, "none": {decision.Outcome{State: decision.Refused, Failed: 2}, 3},
		"one": {decision.Outcome{State: decision.Partly, Done: 1, Failed: 1, Names: []string{"a"}}, 2},
	} {
		s := sized(1, running("a", cost(-2)), running("b", cost(-1)), running("c"))
		if got := answered(s, decision.Try{}, c.o).report.Status.Replicas; got != c.want {
			t.Errorf("%s: %d pods, want %d", name, got, c.want)
		}
	}
}

// TestHeldCountsWhatIsExpected: what was seen too often does not count against the rest.
func TestHeldCountsWhatIsExpected(t *testing.T) {
	for want, e := range map[int64]replicaset.Expectations{2: {Creates: 2, Deletes: -1}, 3: {Creates: -1, Deletes: 3}, 5: {Creates: 2, Deletes: 3}} {
		s := sized(9)
		s.Expect, s.Expect.Expires = e, now.Add(time.Minute)
		v := replicaset.Decide(s)
		for _, f := range v.Path[2].Facts[:2] {
			if want := map[string]int64{"creates": max(0, e.Creates), "deletes": max(0, e.Deletes)}[f.Name]; f.Value.String() != strconv.FormatInt(want, 10) {
				t.Errorf("%s are %s, want %d", f.Name, f.Value, want)
			}
		}
		if len(v.Held) != 1 || v.Held[0].When.Needed != want || v.Held[0].BlockerCount != want {
			t.Errorf("%+v holds %+v", e, v.Held)
		}
	}
}

// TestEchoHoldsOnlyWhatWouldBe: [RS-1] of what is not there, or is being deleted, no write
// is held back.
func TestEchoHoldsOnlyWhatWouldBe(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*replicaset.Snapshot)
		held   int
	}{
		"there":         {func(*replicaset.Snapshot) {}, 1},
		"not there":     {func(s *replicaset.Snapshot) { s.Found = false }, 0},
		"being deleted": {func(s *replicaset.Snapshot) { s.Deleting = true }, 0},
		"nothing to do": {func(s *replicaset.Snapshot) { s.Want = 0 }, 0},
	} {
		s := sized(1)
		s.Echo = []replicaset.Echo{
			{Object: "Pod b", Written: "9", Cached: "8", Since: now, Check: now.Add(2 * time.Second)},
			{Object: "Pod a", Written: "7", Cached: "6", Since: now, Check: now.Add(time.Second)},
		}
		c.change(s)
		v := replicaset.Decide(s)
		if len(v.Held) != c.held || len(v.Timers) != 1 || !v.Timers[0].At.Equal(now.Add(time.Second)) {
			t.Errorf("%s: held %+v until %+v", name, v.Held, v.Timers)
		}
	}
}

// TestOutcomesInWords: what is said of how a write ended, and of when it is tried again.
func TestOutcomesInWords(t *testing.T) {
	refused := &decision.Failure{Code: 403, Reason: "Forbidden", Message: "pods are forbidden"}
	lacking := &decision.Failure{Code: 403, Reason: "Forbidden", Message: `pods "a" is forbidden: User "alice" cannot patch resource "pods" in API group "" in the namespace "shop"`}
	orphaned := func(name string) replicaset.Pod {
		p := running(name)
		p.Mine = false
		return p
	}
	again := decision.Try{Number: 2, Next: now.Add(time.Second)}
	soon := decision.Try{Next: now.Add(time.Second)}
	surplus := func() *replicaset.Snapshot { return sized(0, running("a")) }
	for _, c := range []struct {
		name string
		s    *replicaset.Snapshot
		try  decision.Try
		o    decision.Outcome
		want string
	}{
		{"a refused deletion", surplus(), decision.Try{}, decision.Outcome{State: decision.Refused, Failed: 1, Failure: refused},
			"shop/web has failed: 1 of 1 pod cannot be deleted (pods are forbidden). Needs action: unblocks when the refusing component allows it."},
		{"tried again", surplus(), again, decision.Outcome{State: decision.Refused, Failed: 1, Failure: refused},
			"shop/web has failed: 1 of 1 pod cannot be deleted (pods are forbidden). Needs action: unblocks when the refusing component allows it. Try 2, again in 1s."},
		{"looked at again", surplus(), soon, decision.Outcome{State: decision.Refused, Failed: 1, Failure: refused},
			"shop/web has failed: 1 of 1 pod cannot be deleted (pods are forbidden). Needs action: unblocks when the refusing component allows it. Decides again in 1s."},
		{"a lost reply", surplus(), decision.Try{}, decision.Outcome{State: decision.Unknown},
			"shop/web is waiting: the reply to the deletion of pods was lost, so the next sync reads them live before it decides."},
		{"an internal error at a creation", sized(1), soon, decision.Outcome{State: decision.Unknown, Failure: &decision.Failure{Code: 500, Reason: "InternalError", Message: "Internal error occurred: quota evaluation timed out"}},
			"shop/web is waiting: the API server answered the creation of pods with an internal error (quota evaluation timed out) and may have done it. Reads them live before it decides again in 1s."},
		{"a lost reply to a creation", sized(1), soon, decision.Outcome{State: decision.Unknown}, "shop/web is waiting: the reply to the creation of pods was lost, so the next sync reads them live before it decides. Decides again in 1s."},
		{"a refused creation", sized(2), decision.Try{}, decision.Outcome{State: decision.Partly, Done: 1, Failed: 1, Failure: refused}, "shop/web has failed: the API server refuses 1 of 2 pods (pods are forbidden). Needs action: unblocks when it allows them or the template changes."},
		{"a claim without the permission", sized(1, orphaned("a")), again, decision.Outcome{State: decision.Refused, Failure: lacking},
			"shop/web has failed: the adoption of pod a cannot proceed: alice has no permission to patch pods here, so nothing is created or deleted. Needs action: unblocks when it is granted that permission. Try 2, again in 1s."},
		{"a refused creation, tried again", sized(2), again, decision.Outcome{State: decision.Partly, Done: 1, Failed: 1, Failure: refused}, "shop/web has failed: the API server refuses 1 of 2 pods (pods are forbidden). Needs action: unblocks when it allows them or the template changes. Try 2, again in 1s."},
	} {
		p := answered(c.s, c.try, c.o)
		if got := p.sentence.At(now); got != c.want {
			t.Errorf("%s: %s", c.name, got)
		}
		if found := replicaset.Found(c.s, p.rounds).Findings; c.o.State == decision.Unknown && len(found) > 0 {
			t.Errorf("%s: nobody is known to refuse, but it finds %+v", c.name, found)
		}
	}
	late := answered(sized(1), decision.Try{}, decision.Outcome{State: decision.Superseded})
	if told := answered(sized(1), decision.Try{}, decision.Outcome{State: decision.Superseded, Failure: refused}).sentence; told.Code == "namespace-terminating" {
		t.Errorf("a write that came too late says %s", told.At(now))
	}
	if c := late.report.Status.Conditions; len(c) > 0 {
		t.Errorf("a write that came too late is reported as %+v", c)
	}
}

// TestRefusedSince: each try is refused anew, and the status knows since when the same was.
func TestRefusedSince(t *testing.T) {
	refused := decision.Outcome{State: decision.Refused, Failed: 1, Failure: &decision.Failure{Code: 403, Message: "pods are forbidden"}}
	hourAgo := now.Add(-time.Hour)
	for _, c := range []struct {
		name   string
		s      *replicaset.Snapshot
		reason string
		since  time.Time
	}{
		{"a creation, first", sized(1), "", now},
		{"a creation, again", sized(1), "FailedCreate", hourAgo},
		{"a creation after a deletion", sized(1), "FailedDelete", now},
		{"a deletion, again", sized(0, running("a")), "FailedDelete", hourAgo},
		{"a deletion after a creation", sized(0, running("a")), "FailedCreate", now},
	} {
		if c.reason != "" {
			c.s.Status.Conditions = []decision.Condition{{Type: "ReplicaFailure", Status: "True", Reason: c.reason, Transition: hourAgo}}
		}
		found := replicaset.Found(c.s, answered(c.s, decision.Try{}, refused).rounds).Findings
		if len(found) != 1 || !found[0].Since.Equal(c.since) {
			t.Errorf("%s: %+v, want since %s", c.name, found, c.since)
		}
	}
}

// TestStatusInWords: what is said of a status that was not written.
func TestStatusInWords(t *testing.T) {
	for _, c := range []struct {
		name string
		o    decision.Outcome
		want string
	}{
		{"by somebody", decision.Outcome{State: decision.Conflicted, Other: &decision.Writer{Manager: "kubectl"}}, "shop/web is waiting: kubectl wrote it first. Decides again."},
		{"by somebody, all told", decision.Outcome{State: decision.Conflicted, Other: &decision.Writer{Manager: "kubectl", RV: "9", Fields: []string{"spec.replicas"}}}, "shop/web is waiting: kubectl wrote it first, rv 7 became 9 (spec.replicas). Decides again."},
		{"by nobody known", decision.Outcome{State: decision.Conflicted, Other: &decision.Writer{RV: "9", Fields: []string{"spec.replicas"}}}, "shop/web is waiting: another writer wrote it first. Decides again."},
		{"by nobody", decision.Outcome{State: decision.Conflicted}, "shop/web is waiting: another writer wrote it first. Decides again."},
		{"written", decision.Outcome{State: decision.Written}, "shop/web is settled: 1 of 1 pod is available."},
	} {
		s := sized(1, running("a"))
		s.RV = "7"
		if got := run(s, decision.Try{}, &c.o, decision.Nobody).sentence.At(now); got != c.want {
			t.Errorf("%s: %s", c.name, got)
		}
	}
}

// TestWaitsInWords: pods that wait for different things are told by what they wait for.
func TestWaitsInWords(t *testing.T) {
	waiting := func(name, why string) replicaset.Pod {
		return running(name, unready, phase("Pending"), func(p *replicaset.Pod) { p.Reason, p.Since = why, now.Add(-time.Minute) })
	}
	image, config, node := waiting("a", "ImagePullBackOff"), waiting("b", "CreateContainerConfigError"), waiting("c", "Unschedulable")
	node.Node, node.Message = "", "0/3 nodes are available: 3 Insufficient cpu."
	for _, c := range []struct {
		name string
		s    *replicaset.Snapshot
		want string
	}{
		{"one of one", sized(1, image), "shop/web is waiting: 1 of 1 pod is not available; a cannot pull its image (ImagePullBackOff). Needs action: unblocks when that image can be pulled, or the template changes and the pod is deleted."},
		{"one of two", sized(2, image, running("z")), "shop/web is waiting: 1 of 2 pods is not available; a cannot pull its image (ImagePullBackOff). Needs action: unblocks when that image can be pulled, or the template changes and the pod is deleted."},
		{"two alike", sized(2, image, waiting("d", "ImagePullBackOff")), "shop/web is waiting: 2 of 2 pods cannot pull its image (ImagePullBackOff). Needs action: unblocks when that image can be pulled, or the template changes and the pods are deleted."},
		{"two", sized(2, image, config), "shop/web is waiting: 2 of 2 pods are not available; a cannot pull its image (ImagePullBackOff) and b cannot be started as it is configured (CreateContainerConfigError). Needs action: unblocks only when all of them are resolved."},
		{"three", sized(3, image, config, node), "shop/web is waiting: 3 of 3 pods are not available; c fits no node (…des have too little cpu), a cannot pull its image (ImagePullBackOff) and b cannot be started as it is configured. Needs action: unblocks only when all of them are resolved."},
		{"three, two alike", sized(3, image, config, waiting("d", "ImagePullBackOff")), "shop/web is waiting: 3 of 3 pods are not available; 2 cannot pull its image (ImagePullBackOff) and b cannot be started as it is configured (CreateContainerConfigError). Needs action: unblocks only when all of them are resolved."},
	} {
		if got := run(c.s, decision.Try{}, nil, decision.Nobody).sentence.At(now); got != c.want {
			t.Errorf("%s: %s", c.name, got)
		}
	}
	for _, owned := range []func(s *replicaset.Snapshot){func(s *replicaset.Snapshot) { s.Owner = "web" }, func(s *replicaset.Snapshot) { s.Controlled = true }} {
		s := sized(1, image)
		owned(s)
		const want = "Needs action: unblocks when that image can be pulled or the template changes"
		if got := run(s, decision.Try{}, nil, decision.Nobody).sentence.Then.At(now); got != want {
			t.Errorf("of an owner that replaces its pods: %s", got)
		}
	}
	s := sized(1)
	s.Learnt.NamespaceTerminating = true
	if got := run(s, decision.Try{}, nil, decision.Nobody).sentence.Code; got != "namespace-terminating" {
		t.Errorf("of a namespace that ends it says %s", got)
	}
}

// TestClaimsInWords: of two kinds of claims the adoptions are told, and they alone are counted.
func TestClaimsInWords(t *testing.T) {
	orphan := func(p *replicaset.Pod) { p.Mine = false }
	stray := func(p *replicaset.Pod) { p.Matches = false }
	s := sized(2, running("a", orphan), running("b", orphan), running("c", stray))
	const want = "shop/web is moving: the next write adopts 2 pods without a controller."
	if got := run(s, decision.Try{}, nil, decision.Nobody).sentence.At(now); got != want {
		t.Errorf("it says %s", got)
	}
}

func ending(p replicaset.Pod) replicaset.Pod {
	p.Terminating = true
	return p
}

// TestBlockerWaitsLongest: of the most frequent reason that pod is named that waits longest,
// since it was created where it does not say since when.
func TestBlockerWaitsLongest(t *testing.T) {
	waits := func(name, why string, made, since time.Duration) replicaset.Pod {
		return running(name, unready, created(made), func(p *replicaset.Pod) {
			if p.Reason = why; since > 0 {
				p.Since = now.Add(-since)
			}
		})
	}
	for _, c := range []struct {
		pods []replicaset.Pod
		want string
	}{
		{[]replicaset.Pod{waits("a", "X", 10*time.Minute, 0), waits("b", "X", time.Hour, 30*time.Minute)}, "b"},
		{[]replicaset.Pod{waits("a", "X", 40*time.Minute, 0), waits("b", "X", time.Hour, 30*time.Minute)}, "a"},
		{[]replicaset.Pod{waits("a", "X", time.Hour, time.Minute), waits("b", "X", time.Hour, time.Minute)}, "a"},
		{[]replicaset.Pod{waits("a", "X", time.Hour, time.Hour), waits("b", "Y", time.Hour, 2*time.Second), waits("c", "Y", time.Hour, time.Second)}, "b"},
		{[]replicaset.Pod{waits("a", "Y", time.Hour, 2*time.Second), waits("b", "Y", time.Hour, time.Second), waits("c", "X", time.Hour, time.Hour)}, "a"},
		{[]replicaset.Pod{waits("a", "X", time.Hour, 0), running("b")}, "a"},
		{[]replicaset.Pod{waits("a", "X", time.Hour, time.Hour), waits("b", "X", time.Hour, time.Minute)}, "a"},
		{[]replicaset.Pod{ending(waits("a", "X", time.Hour, time.Hour)), waits("b", "X", time.Hour, time.Minute)}, "b"},
	} {
		p := run(sized(int64(len(c.pods)), c.pods...), decision.Try{}, nil, decision.Nobody)
		got := ""
		for _, step := range p.report.Path {
			for _, f := range step.Facts {
				if f.Name == "blocker" {
					got = f.Value.String()
				}
			}
		}
		if got != c.want {
			t.Errorf("the blocker is %q, want %s", got, c.want)
		}
	}
}

// TestFirstToSettleRings: [RS-11] the timer is that of the pod that is available first, and
// a pod without a time has none; what is settled is so since the youngest got ready.
func TestFirstToSettleRings(t *testing.T) {
	for _, c := range []struct {
		pods []replicaset.Pod
		want time.Duration
	}{
		{[]replicaset.Pod{running("a", readyFor(4*time.Second)), running("b", readyFor(7*time.Second))}, 3 * time.Second},
		{[]replicaset.Pod{running("a", readyFor(7*time.Second)), running("b", readyFor(4*time.Second))}, 3 * time.Second},
		{[]replicaset.Pod{running("a", readyNoTime), running("b", readyFor(4*time.Second))}, 6 * time.Second},
		{[]replicaset.Pod{running("a", readyNoTime), running("b")}, 10 * time.Second},
	} {
		s := sized(2, c.pods...)
		s.MinReady = 10
		r := settle(s)
		if len(r.Timers) == 0 || !r.Timers[len(r.Timers)-1].At.Equal(now.Add(c.want)) {
			t.Errorf("timers %+v, want one in %s", r.Timers, c.want)
		}
	}
	for _, pods := range [][]replicaset.Pod{{running("a"), running("b", readyFor(time.Minute))}, {running("a", readyFor(time.Minute)), running("b")}} {
		if since := run(sized(2, pods...), decision.Try{}, nil, decision.Nobody).sentence.Since; !since.Equal(now.Add(-time.Minute)) {
			t.Errorf("settled since %s", since)
		}
	}
}

// TestOnlyItsOwnAreLost: a pod that the cluster ended counts where it was one of its own
// and is gone from the number.
func TestOnlyItsOwnAreLost(t *testing.T) {
	for name, c := range map[string]struct {
		mine, ending bool
		want         int
	}{"its own": {true, true, 1}, "somebody else's": {false, true, 0}, "still there": {true, false, 0}} {
		s := sized(2, running("a", func(p *replicaset.Pod) {
			p.Mine, p.Terminating = c.mine, c.ending
			p.Disruption = &decision.Disruption{Target: "PreemptionByScheduler", At: now.Add(-time.Second)}
		}))
		if got := len(replicaset.Diagnose(s).Findings); got != c.want {
			t.Errorf("%s: %d findings", name, got)
		}
	}
	s := sized(1, running("a", func(p *replicaset.Pod) { p.Ready = false }))
	if s.MinReady = 10; len(replicaset.Diagnose(s).Findings) != 1 {
		t.Error("a pod that was ready for long and is no longer keeps nobody")
	}
}

// TestHeldNamesTen: of many blockers ten are named, and all are counted.
func TestHeldNamesTen(t *testing.T) {
	s := sized(1)
	for range 12 {
		s.Echo = append(s.Echo, replicaset.Echo{Object: "Pod a", Written: "9", Cached: "8", Since: now, Check: now.Add(time.Second)})
	}
	h := replicaset.Decide(s).Held[0]
	if len(h.Blockers) != 10 || h.BlockerCount != 12 || h.When.Of.Kind != "Pod" || h.When.Of.Name != "a" || h.When.Of.RV != "9" {
		t.Errorf("%d of %d blockers, until %+v", len(h.Blockers), h.BlockerCount, h.When)
	}
}
