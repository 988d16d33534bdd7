package deployment_test

import (
	"bytes"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	"github.com/loopscope/loopscope/controllers/deployment"
	"github.com/loopscope/loopscope/telemetry/decision"
	"github.com/loopscope/loopscope/telemetry/prose"
)

// TestSentences says what a change of a recorded sync makes of its sentence.
func TestSentences(t *testing.T) {
	for _, c := range []struct {
		name, golden string
		change       func(*deployment.Snapshot, *decision.Try)
		want         string
	}{
		{"dropped, nothing known of an error", "settled", func(_ *deployment.Snapshot, try *decision.Try) {
			*try = decision.Try{Dropped: true, Limit: 1}
		}, "dropped after 1 try"},
		{"dropped for what it is itself", "strategy-unknown", func(_ *deployment.Snapshot, try *decision.Try) {
			*try = decision.Try{Dropped: true, Limit: 15}
		}, "dropped after 15 tries, the last error: unexpected deployment strategy type: Canary"},
		{"a lost pod is being started", "settled", func(s *deployment.Snapshot, _ *decision.Try) {
			lose(s, deployment.Pod{})
			set(s, true).StatusReplicas--
			s.LastProgress = s.Now
		}, "7 of 8 new pods are available"},
		{"a pod that was added is ready and not counted yet", "settled", func(s *deployment.Snapshot, _ *decision.Try) {
			lose(s, deployment.Pod{})
			rs := set(s, true)
			rs.Blocking, rs.Unavailable, rs.Startup = nil, 0, &deployment.StartupTimes{Pods: rs.Replicas, Fastest: time.Second, Slowest: time.Second}
			s.LastProgress = s.Now
		}, "7 of 8 new pods are available"},
		{"a lost pod has come back and is not ready", "settled", func(s *deployment.Snapshot, _ *decision.Try) {
			lose(s, deployment.Pod{Name: "p", Created: s.Now, Phase: "Running", ContainerState: decision.ContainerState{Running: s.Now}})
			s.LastProgress = s.Now
		}, "7 of 8 available since 03:13:00; pod p is running but not ready"},
		{"short, nothing known of when", "short", func(s *deployment.Snapshot, _ *decision.Try) {
			set(s, true).CopyStale, s.LastProgress = true, time.Time{}
			s.Status.Conditions = slices.DeleteFunc(s.Status.Conditions, func(c decision.Condition) bool { return c.Type == "Available" })
		}, "5 of 6 available; pod cart-7d4b9c6f5x-2kqxv keeps crashing (CrashLoopBackOff)"},
		{"below the floor, nobody saw since when", "short", func(s *deployment.Snapshot, _ *decision.Try) {
			rs := set(s, true)
			rs.Ready, rs.Available, rs.Unavailable = 1, 1, 5
			rs.Blocking = nil
			s.Status.Ready, s.Status.Available, s.Status.Unavailable = 1, 1, 5
			s.LastProgress = progressing(s).Updated
			i := slices.IndexFunc(s.Status.Conditions, func(c decision.Condition) bool { return c.Type == "Available" })
			s.Status.Conditions[i].Status, s.Status.Conditions[i].Transition = "False", s.Now.Add(-time.Minute)
		}, "1 of 6 available since 03:12:00; 5 pods are not ready"},
		{"paused, and its pods crash", "pause", func(s *deployment.Snapshot, _ *decision.Try) {
			rs := set(s, true)
			rs.Ready, rs.Available, rs.Unavailable = 0, 0, rs.Replicas
			rs.Blocking = []deployment.Pod{{Name: "a", Created: s.Now.Add(-time.Hour), Reason: "CrashLoopBackOff"}, {Name: "b", Created: s.Now.Add(-time.Hour), Reason: "CrashLoopBackOff"}}
		}, "it is paused with 0 of 4 available; 2 pods keep crashing (CrashLoopBackOff)"},
		{"scaled without a deadline, after one has passed", "scale-up", func(s *deployment.Snapshot, _ *decision.Try) {
			s.Deadline, s.LastProgress = nil, time.Time{}
			progressing(s).Reason = "ProgressDeadlineExceeded"
		}, "scaled 3 → 5"},
		{"old pods that are not ready, at the floor", "settled", func(s *deployment.Snapshot, _ *decision.Try) {
			*s = *rolling()
			behind := s.ReplicaSets[0]
			behind.Name, behind.UID, behind.Replicas, behind.StatusReplicas, behind.Available = "behind", "b", 2, 2, 3
			waits := &s.ReplicaSets[0]
			waits.Replicas, waits.StatusReplicas, waits.Available, waits.Unavailable = 6, 6, 1, 5
			waits.Blocking = []deployment.Pod{{Name: "p", Created: s.Now.Add(-time.Hour), Phase: "Running"}}
			s.ReplicaSets[1].Available, s.ReplicaSets[1].Desired = 5, "10"
			s.ReplicaSets = append(s.ReplicaSets, behind)
			s.Want = 10
		}, "old pod p is running but not ready"},
		{"revisions are deleted during a rollout", "settled", func(s *deployment.Snapshot, _ *decision.Try) {
			*s = *rolling()
			s.HistoryLimit = new(int64(0))
			s.ReplicaSets = append(s.ReplicaSets, deployment.ReplicaSet{Name: "older", UID: "oo", Created: s.Now.Add(-time.Hour), Mine: true, Matches: true})
			s.Status.Replicas, s.Status.Updated, s.Status.Available = 10, 10, 10
		}, "5 new pods are not ready, so 8 old pods stay: removing one leaves 7 available, below the floor of 8"},
		{"what the kubelet says comes before how many are available", "deadline-over", func(s *deployment.Snapshot, _ *decision.Try) {
			rs := set(s, true)
			rs.Available, rs.Unavailable = 0, rs.Replicas
			rs.Blocking = []deployment.Pod{{Name: "p4", Phase: "Pending", Node: "sandbox-1", Reason: "ContainerCreating", Created: s.Now.Add(-5 * time.Second)}}
			set(s, false).Available = 0
			for i := range 4 {
				at := s.Now.Add(time.Duration(i-4) * 10 * time.Second)
				rs.Disrupted = append(rs.Disrupted, decision.DisruptedPod{Name: "p" + strconv.Itoa(i), Node: "sandbox-1", Created: at.Add(-5 * time.Second), Disruption: decision.Disruption{
					At: at, Target: "TerminationByKubelet", Reason: "Evicted",
					Message: "The node was low on resource: memory. Threshold quantity: 100Mi, available: 80Mi. Container main was using 120Mi, request is 0, has larger consumption of memory. "}})
			}
		}, "no progress for 25m, 4 new pods were evicted one after another from node sandbox-1, which was low on memory (container … 120Mi, request is 0)"},
	} {
		g := readGolden(t, "testdata/golden/"+c.golden+".txtar")
		s, err := deployment.Decode(g.snapshot)
		if err != nil {
			t.Fatal(err)
		}
		c.change(s, &g.try)
		got := run(s, g.try, g.publish, answered(g.rounds, nil)).sentence
		if text := got.Lead.At(s.Now); text != c.want {
			t.Errorf("%s: %q, want %q", c.name, text, c.want)
		}
	}
}

// TestOldPodsCrashBeside: while new pods are missing, what is wrong with old ones is said as well, and the
// rollout waits for the new ones alone.
func TestOldPodsCrashBeside(t *testing.T) {
	crash := func(name string) deployment.Pod {
		return deployment.Pod{Name: name, Phase: "Running", Reason: "CrashLoopBackOff", ContainerState: decision.ContainerState{Exit: &decision.Exit{Code: 1, Restarts: 3}}}
	}
	image := deployment.Pod{Name: "n", Phase: "Pending", Reason: "ErrImagePull", Image: "web:404", Message: "not found"}
	crashingImage := image
	crashingImage.Name = "m"
	for _, c := range []struct {
		name       string
		new, old   []deployment.Pod
		lead, then string
	}{
		{"both", []deployment.Pod{image, crashingImage}, []deployment.Pod{crash("a"), crash("b")},
			"2 new pods cannot pull web:404 (not found); 8 of 10 available (floor 10); 2 old pods keep crashing (exit code 1, 3 restarts)",
			"Needs action: unblocks when that image exists or the template changes"},
		{"one each", []deployment.Pod{image}, []deployment.Pod{crash("a")},
			"new pod n cannot pull web:404 (not found); 9 of 10 available (floor 10); old pod a keeps crashing (exit code 1, 3 restarts)",
			"Needs action: unblocks when that image exists or the template changes"},
		{"of the same cause", []deployment.Pod{crash("n")}, []deployment.Pod{crash("a"), crash("b")},
			"new pod n keeps crashing (exit code 1, 3 restarts); 8 of 10 available (floor 10); 2 old pods keep crashing (exit code 1, 3 restarts)",
			"Needs action: unblocks when it stays up or the template changes"},
		{"what is fundamental of old pods comes no sooner", []deployment.Pod{crash("n")}, []deployment.Pod{image},
			"new pod n keeps crashing (exit code 1, 3 restarts); 9 of 10 available (floor 10); old pod n cannot pull web:404 (not found)",
			"Needs action: unblocks when it stays up or the template changes"},
		{"less room", []deployment.Pod{{Name: "n", Reason: "ErrImagePull", Image: "registry.example.com/team/project/web-frontend:2026-11-21", Message: "not found"}}, []deployment.Pod{crash("a"), crash("b")},
			"new pod n cannot pull registry.example.com/team/project/web-frontend:2026-11-21 (not found); 2 old pods keep crashing (exit code 1, 3 restarts)",
			"Needs action: unblocks when that image exists or the template changes"},
	} {
		s := rolling()
		fresh, was := set(s, true), set(s, false)
		put := func(rs *deployment.ReplicaSet, pods []deployment.Pod) {
			for _, p := range pods {
				p.Created = s.Now.Add(-time.Hour)
				rs.Blocking = append(rs.Blocking, p)
			}
			rs.Unavailable = int64(len(pods))
			rs.Available = rs.Replicas - rs.Unavailable
			rs.Ready = rs.Available
		}
		surge := int64(len(c.new))
		s.MaxSurge, s.MaxUnavailable = &deployment.IntOrPercent{Int: surge}, &deployment.IntOrPercent{}
		fresh.Replicas, fresh.StatusReplicas, was.Replicas, was.StatusReplicas = surge, surge, 10, 10
		put(fresh, c.new)
		put(was, c.old)
		p := run(s, decision.Try{}, nil, decision.Nobody)
		for _, problem := range p.problems() {
			t.Errorf("%s: %s", c.name, problem)
		}
		lead := p.sentence.Lead.At(s.Now)
		then, _, _ := strings.Cut(p.sentence.Then.At(s.Now), "; deadline")
		if lead != c.lead || then != c.then {
			t.Errorf("%s: %q\n%q, want %q\n%q", c.name, lead, then, c.lead, c.then)
		}
		if all := p.telling.Diagnosis.Findings; len(all) != 2 || all[0].Old || all[0].Beside || !all[1].Beside || !all[1].Old {
			t.Errorf("%s: findings %+v", c.name, all)
		}
	}
}

// TestRefusersKeepTheirNames: a message may be too long for a sentence, the name of who refuses never is.
func TestRefusersKeepTheirNames(t *testing.T) {
	long := strings.Repeat("and so on ", 20)
	for message, want := range map[string]string{
		`admission webhook "tags.example.com" denied the request: ` + long: "webhook tags.example.com denies ReplicaSet ingest-7d4b9c6f5x (",
		`replicasets.apps "ingest-7d4b9c6f5x" is forbidden: exceeded quota: sets, requested: count/replicasets.apps=1, used: count/replicasets.apps=30, limited: count/replicasets.apps=30`: "quota sets refuses ReplicaSet ingest-7d4b9c6f5x (count/replicasets.apps: 30 of 30 used)",
		`replicasets.apps "ingest-7d4b9c6f5x" is forbidden: ValidatingAdmissionPolicy 'no-latest' with binding 'all' denied request: ` + long:                                               "policy no-latest denies ReplicaSet ingest-7d4b9c6f5x (",
	} {
		g := readGolden(t, "testdata/golden/create-refused.txtar")
		s, err := deployment.Decode(g.snapshot)
		if err != nil {
			t.Fatal(err)
		}
		refuse := answered(g.rounds, &decision.Outcome{State: decision.Refused, Failure: &decision.Failure{Code: 403, Message: message}})
		for try, want := range map[decision.Try]string{{Number: 1}: want, {Dropped: true, Limit: 15}: "dropped after 15 tries, the last error: " + want} {
			if got := run(s, try, nil, refuse).sentence.Lead.At(s.Now); !strings.HasPrefix(got, want) {
				t.Errorf("%q, want %q", got, want)
			}
		}
		s.Status.Conditions = []decision.Condition{{Type: "Progressing", Status: "False", Reason: "ReplicaSetCreateError", Message: `Failed to create new replica set "ingest-7d4b9c6f5x": ` + message}}
		want = strings.Replace(want, "ReplicaSet ingest-7d4b9c6f5x", "its new ReplicaSet", 1)
		if got := run(s, decision.Try{}, nil, decision.Nobody).sentence.Lead.At(s.Now); !strings.HasPrefix(got, want) {
			t.Errorf("who only looks says %q, want %q", got, want)
		}
	}
}

// TestMissingPermission: whoever lacks a permission is named with it and with what ends that, from the first try to
// the last, and to whoever only looks. Granting it wakes no Deployment that is dropped.
func TestMissingPermission(t *testing.T) {
	const user = "system:serviceaccount:kube-system:loopscope"
	const message = `replicasets.apps is forbidden: User "` + user + `" cannot create resource "replicasets" in API group "apps" in the namespace "data"`
	const lacks = user + " has no permission to create replicasets here. Needs action: "
	g := readGolden(t, "testdata/golden/create-refused.txtar")
	s, err := deployment.Decode(g.snapshot)
	if err != nil {
		t.Fatal(err)
	}
	refuse := answered(g.rounds, &decision.Outcome{State: decision.Refused, Failure: &decision.Failure{Code: 403, Message: message}})
	for try, want := range map[decision.Try]string{
		{Number: 10, Limit: 15, Next: s.Now.Add(time.Second)}: "ReplicaSet ingest-7d4b9c6f5x cannot be created: " + lacks + "unblocks when it is granted that permission. Try 10 of 15, again in 1s; after the last it also takes a change of the Deployment.",
		{Dropped: true, Limit: 15}:                            "dropped after 15 tries: " + lacks + "once that is granted, annotate the Deployment to wake it. Looks again when it or a ReplicaSet changes, or at the next resync.",
	} {
		if got := run(s, try, nil, refuse).sentence.At(s.Now); got != "data/ingest has failed: "+want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	s.Status.Conditions = []decision.Condition{{Type: "Progressing", Status: "False", Reason: "ReplicaSetCreateError", Message: `Failed to create new replica set "ingest-7d4b9c6f5x": ` + message}}
	want := "its new ReplicaSet cannot be created: " + lacks + "unblocks when it is granted that permission. After the last try it takes a change of the Deployment as well."
	if got := run(s, decision.Try{}, nil, decision.Nobody).sentence.At(s.Now); got != "data/ingest has failed: "+want {
		t.Errorf("who only looks says %q, want %q", got, want)
	}
}

// TestRollbackToNothing: who asked for a revision that is gone is told so, and which there are, also where pods do not
// come up, which is why somebody goes back.
func TestRollbackToNothing(t *testing.T) {
	const want = "no ReplicaSet has revision 99 to go back to; these exist: "
	for golden, exist := range map[string]string{"rollback-unknown": "15, 14", "quota": "15, 14", "deadline-over": "15"} {
		s, err := deployment.Decode(readGolden(t, "testdata/golden/"+golden+".txtar").snapshot)
		if err != nil {
			t.Fatal(err)
		}
		s.RollbackTo = "99"
		set(s, true).Revision, set(s, false).Revision = "15", "14"
		act := answered(nil, nil)
		if p := run(s, decision.Try{}, nil, act); p.sentence.Lead.At(s.Now) != want+exist || len(p.problems()) > 0 {
			t.Errorf("%s: %q, want %q; %v", golden, p.sentence.Lead.At(s.Now), want+exist, p.problems())
		}
		for n := range 9 {
			s.ReplicaSets = append(s.ReplicaSets, deployment.ReplicaSet{Name: fmt.Sprint("older-", n), UID: fmt.Sprint(n), Mine: true, Matches: true, Revision: fmt.Sprint(n)})
		}
		if got := run(s, decision.Try{}, nil, act).sentence.Lead.At(s.Now); !strings.HasPrefix(got, want+exist+", 8, 7, ") || !strings.HasSuffix(got, " more") {
			t.Errorf("%s: of many it says %q", golden, got)
		}
	}
}

// TestNoProgressForTheDeadline: what a lost pod changes is no progress, so that none is never told for less than the deadline.
func TestNoProgressForTheDeadline(t *testing.T) {
	s, err := deployment.Decode(readGolden(t, "testdata/golden/deadline-over.txtar").snapshot)
	if err != nil {
		t.Fatal(err)
	}
	progressing(s).Updated = s.Now
	s.LastProgress = s.Now.Add(3*time.Second - time.Duration(*s.Deadline)*time.Second)
	if got, want := run(s, decision.Try{}, nil, decision.Nobody).sentence, fmt.Sprintf("no progress for %s, ", prose.Span(time.Duration(*s.Deadline)*time.Second)); !strings.HasPrefix(got.Lead.At(s.Now), want) {
		t.Errorf("%q, want %q", got.Lead.At(s.Now), want)
	}
}

// TestDeadlineRaisedAfterwards: no rollout makes no progress from before it began.
func TestDeadlineRaisedAfterwards(t *testing.T) {
	s, err := deployment.Decode(readGolden(t, "testdata/golden/deadline-over.txtar").snapshot)
	if err != nil {
		t.Fatal(err)
	}
	progressing(s).Updated, *s.Deadline = s.Now, 36000
	if got, want := run(s, decision.Try{}, nil, decision.Nobody).sentence, fmt.Sprintf("no progress for %s, ", prose.Span(s.Now.Sub(set(s, true).Created))); !strings.HasPrefix(got.Lead.At(s.Now), want) {
		t.Errorf("%q, want %q", got.Lead.At(s.Now), want)
	}
}

// lose makes the new ReplicaSet miss one available pod, which is in the way if it has a name.
func lose(s *deployment.Snapshot, p deployment.Pod) {
	rs := set(s, true)
	rs.Ready, rs.Available, rs.Unavailable = rs.Replicas-1, rs.Replicas-1, 1
	if p.Name != "" {
		rs.Blocking = []deployment.Pod{p}
	}
}

// TestRoomInALead: the longer a name gets, the less is said beside it. The file has from
// which length of the name on something else is said, with the name as NAME.
func TestRoomInALead(t *testing.T) {
	pods := map[string]deployment.Pod{
		"image":  {Name: "a", Reason: "ErrImagePull", Image: "NAME", Message: "not found"},
		"config": {Name: "b", Reason: "CreateContainerConfigError", Message: `configmap "NAME" not found`},
		"secret": {Name: "d", Reason: "CreateContainerConfigError", Message: `secret "NAME" not found`},
		"crash":  {Name: "c", Reason: "CrashLoopBackOff"},
		"ready":  {Name: "NAME", Phase: "Running"},
	}
	named := regexp.MustCompile(`zz+( … z+)?`) // as it may be shortened
	var got txtar.Archive
	for _, c := range [][]string{{"waiting-mixed", "image", "config"}, {"waiting-mixed", "image", "crash"}, {"waiting-mixed", "config", "crash", "ready"},
		{"waiting-mixed", "ready"}, {"short", "secret", "ready"}, {"waiting-mixed", "secret", "ready"}, {"deadline-over", "image", "crash"}, {"deadline-over", "config"}, {"short", "config"}} {
		var text bytes.Buffer
		last := ""
		for n := 2; n <= 120; n++ {
			g := readGolden(t, "testdata/golden/"+c[0]+".txtar")
			s, err := deployment.Decode(g.snapshot)
			if err != nil {
				t.Fatal(err)
			}
			rs := set(s, true)
			rs.Unavailable, rs.Blocking = max(2, int64(len(c)-1)), nil
			rs.Available = rs.Replicas - rs.Unavailable
			for _, kind := range c[1:] {
				p := pods[kind]
				p.Created = s.Now.Add(-time.Hour)
				for _, text := range []*string{&p.Name, &p.Image, &p.Message} {
					*text = strings.ReplaceAll(*text, "NAME", strings.Repeat("z", n))
				}
				rs.Blocking = append(rs.Blocking, p)
			}
			said := run(s, g.try, g.publish, answered(g.rounds, nil)).sentence
			if now := named.ReplaceAllString(said.Lead.At(s.Now)+". "+said.Then.At(s.Now), "NAME"); now != last {
				fmt.Fprintf(&text, "%d: %s.\n", n, now)
				last = now
			}
		}
		got.Files = append(got.Files, txtar.File{Name: strings.Join(c, " "), Data: text.Bytes()})
	}
	compare(t, "testdata/room.txtar", &got)
}

// TestRefusedBefore: whoever only looks says what the last try came to, and not that all goes well.
func TestRefusedBefore(t *testing.T) {
	s, err := deployment.Decode(readGolden(t, "testdata/golden/create-first-unseen.txtar").snapshot)
	if err != nil {
		t.Fatal(err)
	}
	const before, after = "the next write creates web-7d4b9c6f5x with 3 pods", `its new ReplicaSet was refused when it was last tried: replicasets.apps "web-7d4b9c6f5x" is forbidden: exceeded quota: rsq`
	look := func() decision.Sentence {
		return run(s, decision.Try{}, nil, func(decision.Verdict) (_ []decision.Outcome, _ decision.Learnt) { return }).sentence
	}
	if got := look(); got.Lead.At(s.Now) != before {
		t.Errorf("it says %q", got.At(s.Now))
	}
	s.Status.Conditions = append(s.Status.Conditions, decision.Condition{Type: "Progressing", Status: "False", Reason: "ReplicaSetCreateError",
		Message: `Failed to create new replica set "web-7d4b9c6f5x": replicasets.apps "web-7d4b9c6f5x" is forbidden: exceeded quota: rsq`, Transition: s.Now.Add(-time.Hour)})
	const ends = "Unblocks when the refusing component allows it, or the template changes; after the last try it takes a change of the Deployment as well"
	if got := look(); got.Then.At(s.Now) != ends {
		t.Errorf("after a refusal it ends %q, want %q", got.Then.At(s.Now), ends)
	}
	if got := look(); got.Lead.At(s.Now) != after || got.Tone != decision.ToneFailed || !got.Since.Equal(s.Now.Add(-time.Hour)) {
		t.Errorf("after a refusal it says %q, %s since %s", got.At(s.Now), got.Tone, got.Since)
	}
}

// TestMoreOutcomesThanActions: an answer to what was not asked is no part of a sync.
func TestMoreOutcomesThanActions(t *testing.T) {
	for _, file := range goldenFiles(t) {
		g := readGolden(t, file)
		s, err := deployment.Decode(g.snapshot)
		if err != nil {
			t.Fatal(err)
		}
		tell := func(more ...decision.Outcome) string {
			act := answered(g.rounds, nil)
			p := run(s, g.try, nil, func(v decision.Verdict) ([]decision.Outcome, decision.Learnt) {
				outcomes, learnt := act(v)
				return append(outcomes, more...), learnt
			})
			text := p.sentence.At(s.Now)
			if p.report != nil {
				text += fmt.Sprint(p.report.Events, p.report.Status.Conditions)
			}
			return text
		}
		if g.try.Dropped || slices.ContainsFunc(decided(s), func(a decision.Action) bool { return a.Kind == decision.DeleteReplicaSet }) {
			continue // Of these it matters that anything was tried, and what failed.
		}
		want := tell()
		for _, state := range []decision.State{decision.Written, decision.Refused, decision.Conflicted} {
			if got := tell(decision.Outcome{State: state, Failure: &decision.Failure{Message: "denied"}}); got != want {
				t.Errorf("%s, %s: %q, want %q", file, state, got, want)
			}
		}
	}
}

func decided(s *deployment.Snapshot) []decision.Action { return deployment.Decide(s).Actions }

// TestNumbers holds the key numbers of each golden.
func TestNumbers(t *testing.T) {
	var text bytes.Buffer
	for _, file := range goldenFiles(t) {
		s, err := deployment.Decode(readGolden(t, file).snapshot)
		if err != nil {
			t.Fatal(err)
		}
		text.WriteString(strings.TrimSuffix(filepath.Base(file), ".txtar"))
		for _, f := range deployment.Numbers(s) {
			fmt.Fprintf(&text, " %s=%s", f.Name, f.Value)
		}
		text.WriteString("\n")
	}
	compare(t, "testdata/numbers.txtar", &txtar.Archive{Comment: text.Bytes()})
}

// TestAnnotationsAside: where nobody acts, annotations that are out of date hide nothing of what is told without them.
func TestAnnotationsAside(t *testing.T) {
	told := 0
	for _, file := range goldenFiles(t) {
		s, err := deployment.Decode(readGolden(t, file).snapshot)
		if err != nil {
			t.Fatal(err)
		}
		plain := run(s, decision.Try{}, nil, decision.Nobody)
		if len(plain.rounds[0].Verdict.Actions) > 0 {
			continue
		}
		for i := range s.ReplicaSets {
			s.ReplicaSets[i].CopyStale = true
		}
		stale := run(s, decision.Try{}, nil, decision.Nobody)
		if got, want := stale.sentence.At(s.Now), plain.sentence.At(s.Now); got != want {
			t.Errorf("%s: %s\nwant %s", file, got, want)
		}
		if len(stale.rounds[0].Verdict.Actions) > 0 {
			told++
		}
	}
	if told < 20 {
		t.Errorf("annotations are out of date in %d", told)
	}
}
