package telemetry_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/decision"
)

// saga builds the syncs of one Deployment and its ReplicaSets, a second apart.
type saga struct {
	at     time.Time
	seq    uint64
	traces []*telemetry.Trace
}

var (
	sagaBegan = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	web       = telemetry.Object{Loop: "deployment", Namespace: "shop", Name: "web"}
	webSet    = telemetry.Object{Loop: "replicaset", Namespace: "shop", Name: "web-1"}
)

func (s *saga) sync(o telemetry.Object, tone decision.Tone, code string, causes ...telemetry.Cause) *telemetry.Trace {
	s.seq++
	s.at = s.at.Add(time.Second)
	t := &telemetry.Trace{
		Epoch: "e", Seq: s.seq, Object: o, UID: "uid-" + o.Name, Causes: causes, Started: s.at, Ended: s.at.Add(10 * time.Millisecond),
		Result: telemetry.ResultUnchanged, Report: &decision.Report{}, Rounds: []decision.Round{{}},
		Sentence: decision.Sentence{Namespace: o.Namespace, Object: o.Name, Tone: tone, Verb: "is", State: string(tone), Code: code},
	}
	if o.Loop == "replicaset" {
		t.Owner = web.Name
	}
	for i := range t.Causes {
		if t.Causes[i].At.IsZero() {
			t.Causes[i].At = s.at.Add(-100 * time.Millisecond)
		}
	}
	s.traces = append(s.traces, t)
	return t
}

// writes lets a sync write an object.
func writes(t *telemetry.Trace, kind decision.ActionKind, name, rv string, changes ...decision.Change) *telemetry.Trace {
	r := &t.Rounds[0]
	r.Verdict.Actions = append(r.Verdict.Actions, decision.Action{Kind: kind, Question: "RR-2", Changes: changes,
		Target: decision.Ref{Kind: "ReplicaSet", Namespace: "shop", Name: name, RV: "on-" + rv}})
	r.Outcomes = append(r.Outcomes, decision.Outcome{State: decision.Written, RV: rv})
	t.Result = telemetry.ResultWrote
	return t
}

func creates(t *telemetry.Trace, pods ...string) *telemetry.Trace {
	o := decision.Outcome{State: decision.Written, Done: int64(len(pods))}
	for _, p := range pods {
		o.Names, o.RVs = append(o.Names, p), append(o.RVs, "rv-"+p)
	}
	t.Rounds[0].Verdict.Actions = []decision.Action{{Kind: decision.CreatePods, Count: int64(len(pods)), Question: "RS-5",
		Target: decision.Ref{Kind: "ReplicaSet", Namespace: "shop", Name: t.Name}}}
	t.Rounds[0].Outcomes = []decision.Outcome{o}
	t.Result = telemetry.ResultWrote
	return t
}

func publishes(t *telemetry.Trace, rv string) *telemetry.Trace {
	t.Report.Outcome = &decision.Outcome{State: decision.Written, RV: rv}
	t.Result = telemetry.ResultWrote
	return t
}

func event(kind telemetry.CauseKind, object, rv string, fields ...decision.Change) telemetry.Cause {
	return telemetry.Cause{Kind: kind, Object: object, NewRV: rv, Fields: fields}
}

// rollout is an image change that goes well: the Deployment scales, its
// ReplicaSet creates a pod, the pod becomes ready, both say so.
func rollout() *saga {
	s := &saga{at: sagaBegan}
	s.sync(web, decision.ToneOK, "settled")
	image := event(telemetry.CauseModified, "Deployment web", "10", decision.Change{Field: "spec.template.containers[app].image", From: "a", To: "b"})
	image.Manager = "kubectl-set"
	writes(s.sync(web, decision.ToneMoving, "new", image), decision.UpdateReplicaSet, "web-1", "11", decision.Change{Field: "spec.replicas", From: "0", To: "1"})
	creates(s.sync(webSet, decision.ToneMoving, "creating", event(telemetry.CauseModified, "ReplicaSet web-1", "11")), "web-1-x")
	held := s.sync(web, decision.ToneWaiting, "readiness", event(telemetry.CauseModified, "ReplicaSet web-1", "11"))
	held.Rounds[0].Verdict.Held = []decision.Held{{Code: "readiness", Kind: decision.UpdateReplicaSet, Target: decision.Ref{Kind: "ReplicaSet", Name: "web-0"}, Size: &decision.Size{From: 1}}}
	s.at = s.at.Add(9 * time.Second)
	ready := event(telemetry.CauseModified, "Pod web-1-x", "13", decision.Change{Field: "status.conditions[Ready]", From: "false", To: "true"})
	publishes(s.sync(webSet, decision.ToneOK, "settled", event(telemetry.CauseAdded, "Pod web-1-x", "rv-web-1-x"), ready), "14")
	publishes(s.sync(web, decision.ToneOK, "settled", event(telemetry.CauseModified, "ReplicaSet web-1", "14")), "15")
	s.sync(web, decision.ToneOK, "settled", event(telemetry.CauseModified, "Deployment web", "15"))
	return s
}

func told(story *telemetry.Story) string {
	var b strings.Builder
	for i := range story.Beats {
		beat := &story.Beats[i]
		fmt.Fprintf(&b, "%s %s", beat.At.Format("05.0"), beat.Tell().At(beat.At))
		if w := beat.Waited; w != nil {
			fmt.Fprintf(&b, " [after %s of %s]", w.For.Round(time.Second), strings.Join(w.Codes, ","))
		}
		if beat.Settles {
			b.WriteString(" [settled]")
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// TestNothingWaitsAtZero: an old ReplicaSet that its Deployment has scaled to zero is at rest.
func TestNothingWaitsAtZero(t *testing.T) {
	s := &saga{at: sagaBegan}
	zero := telemetry.Object{Loop: "replicaset", Namespace: "shop", Name: "web-0"}
	s.sync(web, decision.ToneOK, "settled")
	writes(s.sync(web, decision.ToneMoving, "new"), decision.UpdateReplicaSet, "web-1", "11", decision.Change{Field: "spec.replicas", From: "0", To: "1"})
	s.sync(zero, decision.ToneNeutral, "scaled-to-zero")
	s.at = s.at.Add(time.Minute)
	publishes(s.sync(zero, decision.ToneNeutral, "scaled-to-zero"), "16")
	settled := publishes(s.sync(web, decision.ToneOK, "settled"), "17")
	story, ok := telemetry.NewExcerpt(telemetry.TestLoops, s.traces).Story(settled)
	if text := told(story); !ok || !strings.Contains(text, "web-0: published") || strings.Contains(text, "scaled-to-zero") {
		t.Errorf("%t:\n%s", ok, text)
	}
}

func TestStoryOfARollout(t *testing.T) {
	s := rollout()
	e := telemetry.NewExcerpt(telemetry.TestLoops, s.traces)
	story, ok := e.Story(s.traces[len(s.traces)-1])
	if !ok {
		t.Fatal("there is no story")
	}
	want := `01.9 Deployment web was changed by kubectl-set: spec.template.containers[app].image a → b
02.0 Deployment web: wrote ReplicaSet web-1: spec.replicas 0 → 1 (rv 11)
03.0 ReplicaSet web-1: created Pod web-1-x (rv rv-web-1-x)
04.0 Deployment web: held back ReplicaSet web-0 1 → 0 (readiness)
13.9 Pod web-1-x was created
13.9 Pod web-1-x became ready
14.0 ReplicaSet web-1: published its status (rv 14)
15.0 Deployment web: published its status (rv 15) [after 11s of readiness] [settled]
`
	if diff := cmp.Diff(want, told(story)); diff != "" {
		t.Errorf("story (-want +got):\n%s", diff)
	}
	if story.Object != web || story.UID != "uid-web" {
		t.Errorf("it is of %v with the UID %q", story.Object, story.UID)
	}
	counts := telemetry.StoryCounts{Changes: 1, Pods: 2, Syncs: 5, Writes: 4}
	if story.Counts != counts || story.Open || !story.Began.Equal(sagaBegan.Add(1900*time.Millisecond)) || !story.Settled.Equal(s.traces[5].Ended) {
		t.Errorf("counts %+v, open %t, began %s, settled %s", story.Counts, story.Open, story.Began, story.Settled)
	}
}

// TestStoryHasThePodsOfItsEnd: a pod that became ready before the end is told, also where the sync that
// took the event began after it and wrote nothing.
func TestStoryHasThePodsOfItsEnd(t *testing.T) {
	s := rollout()
	ready := event(telemetry.CauseModified, "Pod web-1-y", "16", decision.Change{Field: "status.conditions[Ready]", From: "false", To: "true"})
	ready.At = s.traces[5].Started.Add(-time.Millisecond)
	s.sync(webSet, decision.ToneOK, "settled", ready)
	story, ok := telemetry.NewExcerpt(telemetry.TestLoops, s.traces).Story(s.traces[5])
	if !ok || !strings.Contains(told(story), "14.9 Pod web-1-y became ready\n") || story.Counts.Pods != 3 || !story.Settled.Equal(s.traces[5].Ended) {
		t.Errorf("%t, %+v, settled %s:\n%s", ok, story.Counts, story.Settled, told(story))
	}
}

// TestStoryIsTheSameFromWithin asks for the story at each of its syncs.
func TestStoryIsTheSameFromWithin(t *testing.T) {
	s := rollout()
	e := telemetry.NewExcerpt(telemetry.TestLoops, s.traces)
	newest, _ := e.Story(s.traces[6])
	for _, i := range []int{1, 3, 5} {
		story, ok := e.Story(s.traces[i])
		if !ok {
			t.Fatalf("no story at sync %d", i+1)
		}
		if diff := cmp.Diff(told(newest), told(story)); diff != "" {
			t.Errorf("story at sync %d (-of the newest +of it):\n%s", i+1, diff)
		}
	}
	if _, ok := e.Story(s.traces[0]); ok {
		t.Error("a Deployment that was never unsettled has a story")
	}
}

func TestStoryWithoutItsBeginningIsOpen(t *testing.T) {
	s := rollout()
	story, ok := telemetry.NewExcerpt(telemetry.TestLoops, s.traces[3:]).Story(s.traces[5])
	if !ok || !story.Open {
		t.Errorf("story %t, open %t, want one that is open", ok, ok && story.Open)
	}
	running, ok := telemetry.NewExcerpt(telemetry.TestLoops, s.traces[:4]).Story(s.traces[3])
	if !ok || !running.Settled.IsZero() || running.Sentence.Code != "readiness" || strings.Contains(told(running), "[settled]") {
		t.Errorf("story of a rollout under way: %t, settled %s, %s", ok, running.Settled, running.Sentence.Code)
	}
}

func TestStoriesOfOneDeploymentAreApart(t *testing.T) {
	s := rollout()
	s.at = s.at.Add(10 * time.Second)
	scale := event(telemetry.CauseModified, "Deployment web", "20", decision.Change{Field: "spec.replicas", From: "1", To: "2"})
	writes(s.sync(web, decision.ToneMoving, "scaling", scale), decision.UpdateReplicaSet, "web-1", "21")
	e := telemetry.NewExcerpt(telemetry.TestLoops, s.traces)
	first, _ := e.Story(s.traces[5])
	second, _ := e.Story(s.traces[7])
	if strings.Contains(told(first), "21") || strings.Contains(told(second), "image") {
		t.Errorf("two stories run into each other:\n%s---\n%s", told(first), told(second))
	}
}

// TestStoryIsOfOneObject: another one of the same name has stories of its own, and a sync
// that does not know which of them it was of is of the one that was seen last.
func TestStoryIsOfOneObject(t *testing.T) {
	for name, c := range map[string]struct {
		first, later string // UIDs of the syncs
		syncs        int
	}{
		"the same":            {"uid-web", "uid-web", 5},
		"created again":       {"uid-old", "uid-web", 4},
		"unknown at first":    {"", "uid-web", 5},
		"unknown at the last": {"uid-web", "", 5},
	} {
		s := &saga{at: sagaBegan}
		for range 5 {
			s.sync(web, decision.ToneMoving, "new").UID = c.later
		}
		s.traces[0].UID = c.first
		story, ok := telemetry.NewExcerpt(telemetry.TestLoops, s.traces).Story(s.traces[4])
		if !ok || !story.Began.Equal(s.traces[5-c.syncs].Started) {
			t.Errorf("%s: story %t of %+v, want it from sync %d on", name, ok, story, 6-c.syncs)
		}
	}
}

// TestStoryEndsWithItsObject: the sync that finds it gone is the last of its story, and none of
// the next object of that name.
func TestStoryEndsWithItsObject(t *testing.T) {
	s := &saga{at: sagaBegan}
	gone := func() {
		x := s.sync(web, decision.ToneNeutral, "gone", event(telemetry.CauseDeleted, "Deployment web", "9"))
		x.UID, x.Report, x.Gone = "", nil, true
	}
	create := func(uid string) {
		s.at = s.at.Add(5 * time.Hour)
		created := s.sync(web, decision.ToneMoving, "new", event(telemetry.CauseAdded, "Deployment web", "10"))
		writes(created, decision.CreateReplicaSet, "web-2", "11").UID = uid
	}
	s.sync(web, decision.ToneOK, "settled")
	s.sync(web, decision.ToneMoving, "new", event(telemetry.CauseModified, "Deployment web", "8"))
	gone()
	gone()
	create("uid-2")
	creates(s.sync(webSet, decision.ToneMoving, "creating"), "web-1-x")
	s.sync(web, decision.ToneOK, "settled").UID = "uid-2"
	gone()
	create("uid-3")
	for name, c := range map[string]struct {
		syncs       []int // by number, of which each has the same story
		began, last int
		settled     bool
	}{
		"the first":  {[]int{2, 3, 4}, 2, 4, false},
		"the second": {[]int{5, 7}, 5, 7, true},
		"its end":    {[]int{8}, 8, 8, false},
		"the third":  {[]int{9}, 9, 9, false},
	} {
		for _, n := range c.syncs {
			story, ok := telemetry.NewExcerpt(telemetry.TestLoops, s.traces).Story(s.traces[n-1])
			if !ok || story.Open || story.Settled.IsZero() == c.settled {
				t.Fatalf("%s, from sync %d: %t, %+v", name, n, ok, story)
			}
			if d := s.traces[c.began-1].Started.Sub(story.Began); d < 0 || d > time.Second {
				t.Errorf("%s, from sync %d: it began at %s, %s before sync %d", name, n, story.Began, d, c.began)
			}
			last := story.Beats[len(story.Beats)-1]
			if last.Sync == nil || last.Sync.Seq > uint64(c.last) || story.Sentence.Code != s.traces[c.last-1].Sentence.Code {
				t.Errorf("%s, from sync %d: it ends with %q:\n%s", name, n, story.Sentence.Code, told(story))
			}
		}
	}
}

func TestChainRunsAcrossLoops(t *testing.T) {
	s := rollout()
	e := telemetry.NewExcerpt(telemetry.TestLoops, s.traces)
	back := e.Chain(s.traces[5]).Origins
	var seqs []uint64
	for at := back; at != nil; {
		seqs = append(seqs, at.Sync.Seq)
		var on *telemetry.Link
		for _, l := range at.Links {
			if l.Sync != nil && !l.Elsewhere {
				on = l
			}
		}
		at = on
	}
	if diff := cmp.Diff([]uint64{6, 5, 3, 2}, seqs); diff != "" {
		t.Errorf("syncs back to the change (-want +got):\n%s", diff)
	}
	ahead := e.Chain(s.traces[1]).Effects
	if got := tree(ahead); got != "2(3(5(6(7))) 4)" {
		t.Errorf("syncs that came of the change: %s", got)
	}
}

func tree(l *telemetry.Link) string {
	text := fmt.Sprint(l.Sync.Seq)
	var below []string
	for _, x := range l.Links {
		if x.Sync != nil && !x.Elsewhere {
			below = append(below, tree(x))
		}
	}
	if len(below) > 0 {
		text += "(" + strings.Join(below, " ") + ")"
	}
	return text
}

// TestChainIsBounded follows writes that go round forever.
func TestChainIsBounded(t *testing.T) {
	s := &saga{at: sagaBegan}
	for i := range 2000 {
		publishes(s.sync(web, decision.ToneMoving, "new", event(telemetry.CauseModified, "Deployment web", fmt.Sprint(i))), fmt.Sprint(i+1))
	}
	chain := telemetry.NewExcerpt(telemetry.TestLoops, s.traces).Chain(s.traces[1999])
	n, deepest := 0, chain.Origins
	for len(deepest.Links) > 0 {
		deepest, n = deepest.Links[0], n+1
	}
	if n != 256 || deepest.Cut != 1 {
		t.Errorf("%d links, %d cut, want 256 and 1", n, deepest.Cut)
	}
}

func TestLinksHoldAcrossARestart(t *testing.T) {
	s := rollout()
	for _, x := range s.traces[4:] { // the process was started again
		x.Epoch, x.Seq = "f", x.Seq-4
	}
	if got := tree(telemetry.NewExcerpt(telemetry.TestLoops, s.traces).Chain(s.traces[1]).Effects); got != "2(3(1(2(3))) 4)" {
		t.Errorf("syncs that came of the change: %s", got)
	}
}

func TestWritesOfASync(t *testing.T) {
	s := &saga{at: sagaBegan}
	x := creates(s.sync(webSet, decision.ToneFailed, "refused"), "a", "b")
	o := &x.Rounds[0].Outcomes[0]
	o.State, o.Done, o.Failed, o.Failure = decision.Partly, 5, 2, &decision.Failure{Code: 403, Message: "exceeded quota"}
	for _, state := range []decision.State{decision.NotTried, decision.Superseded} { // Never sent.
		x.Rounds[0].Verdict.Actions = append(x.Rounds[0].Verdict.Actions, decision.Action{Kind: decision.Adopt, Target: decision.Ref{Kind: "Pod", Name: "c"}})
		x.Rounds[0].Outcomes = append(x.Rounds[0].Outcomes, decision.Outcome{State: state})
	}
	publishes(x, "30")
	var got []string
	for _, w := range x.Writes(telemetry.TestLoops) {
		got = append(got, fmt.Sprintf("%s %s %d %s %s", w.Kind, w.Object, w.Count, w.State, w.RV))
	}
	want := []string{"create-pods Pod a 0 written rv-a", "create-pods Pod b 0 written rv-b", "create-pods Pod 3 written ", "create-pods Pod 2 refused ", "update-status ReplicaSet web-1 0 written 30"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("writes (-want +got):\n%s", diff)
	}
}

// TestChainGoesOnBehindATimer: a sync that the clock woke came of the one that
// set the clock, and a timer that was taken before its time led to nothing.
func TestChainGoesOnBehindATimer(t *testing.T) {
	s := &saga{at: sagaBegan}
	due := sagaBegan.Add(2 * time.Second)
	s.sync(web, decision.ToneMoving, "moving", event(telemetry.CauseModified, "ReplicaSet web-1", "7")).Timers = []decision.Timer{{Code: "status", At: due}}
	s.at = due
	s.sync(web, decision.ToneMoving, "moving", telemetry.Cause{Kind: telemetry.CauseTimer, Code: "status", Due: due})
	early := s.sync(web, decision.ToneMoving, "moving", telemetry.Cause{Kind: telemetry.CauseTimer, Code: "status", Due: s.at.Add(time.Hour)})
	e := telemetry.NewExcerpt(telemetry.TestLoops, s.traces)
	if got := tree(e.Chain(s.traces[1]).Origins); got != "2(1)" {
		t.Errorf("the timer leads back to %s", got)
	}
	if got := tree(e.Chain(early).Origins); got != "3" {
		t.Errorf("a timer that did not ring leads back to %s", got)
	}
}

// TestStoryOfAHandScaledReplicaSet: two loops see one event, a moment apart. It is told,
// also where the loop of the ReplicaSet saw it before the story began.
func TestStoryOfAHandScaledReplicaSet(t *testing.T) {
	s := &saga{at: sagaBegan}
	s.sync(web, decision.ToneOK, "settled")
	byHand := event(telemetry.CauseModified, "ReplicaSet web-1", "20", decision.Change{Field: "spec.replicas", From: "3", To: "6"})
	byHand.Manager = "kubectl"
	back := writes(s.sync(web, decision.ToneMoving, "scaled", byHand), decision.UpdateReplicaSet, "web-1", "21", decision.Change{Field: "spec.replicas", From: "6", To: "3"})
	creates(s.sync(webSet, decision.ToneMoving, "creating", byHand), "web-1-y")
	early := s.traces[len(s.traces)-1]
	seen := back.Causes[0].At
	early.Started, early.Causes[0].At = seen.Add(time.Microsecond), seen.Add(-17*time.Microsecond)
	s.traces[1], s.traces[2] = early, back
	last := s.sync(web, decision.ToneOK, "settled", event(telemetry.CauseModified, "ReplicaSet web-1", "21"))
	story, ok := telemetry.NewExcerpt(telemetry.TestLoops, s.traces).Story(last)
	if !ok {
		t.Fatal("there is no story")
	}
	if text := told(story); story.Counts.Changes != 1 || !strings.Contains(text, "ReplicaSet web-1 was changed by kubectl: spec.replicas 3 → 6") {
		t.Errorf("%d changes by others:\n%s", story.Counts.Changes, text)
	}
}

// TestDeletionOfWhatCameBack: the hash of a template that comes back names the same ReplicaSet.
// Whoever deletes that one is not the sync that deleted the one before.
func TestDeletionOfWhatCameBack(t *testing.T) {
	s := &saga{at: sagaBegan}
	gone := event(telemetry.CauseDeleted, "ReplicaSet web-1", "")
	writes(s.sync(web, decision.ToneMoving, "new"), decision.DeleteReplicaSet, "web-1", "")
	s.sync(web, decision.ToneMoving, "new", gone)
	writes(s.sync(web, decision.ToneMoving, "new"), decision.CreateReplicaSet, "web-1", "20")
	s.sync(web, decision.ToneMoving, "new", event(telemetry.CauseAdded, "ReplicaSet web-1", "20"))
	gone.OldRV = "20"
	byHand := s.sync(web, decision.ToneMoving, "new", gone)
	e := telemetry.NewExcerpt(telemetry.TestLoops, s.traces)
	if by := e.WriterOf(byHand, &byHand.Causes[0]); by != nil {
		t.Errorf("sync %d is said to have deleted what somebody else did", by.Seq)
	}
	if by := e.WriterOf(s.traces[1], &s.traces[1].Causes[0]); by != s.traces[0] {
		t.Errorf("the first deletion was by %+v", by)
	}
	story, ok := e.Story(byHand)
	if want := "04.9 ReplicaSet web-1 was deleted\n"; !ok || strings.Count(told(story), "was deleted") != 1 || !strings.Contains(told(story), want) {
		t.Errorf("a story %t without %q or with another deletion:\n%s", ok, want, told(story))
	}
}

// TestDeletionsOfOneName: each leads to the syncs that were told of it, and of these back.
func TestDeletionsOfOneName(t *testing.T) {
	for name, created := range map[string]bool{"with the creation in between": true, "without it": false} {
		s := &saga{at: sagaBegan}
		gone := event(telemetry.CauseDeleted, "ReplicaSet web-1", "")
		for range 2 {
			writes(s.sync(web, decision.ToneMoving, "new"), decision.DeleteReplicaSet, "web-1", "")
			s.sync(web, decision.ToneMoving, "new", gone)
			if x := s.sync(web, decision.ToneMoving, "new"); created {
				writes(x, decision.CreateReplicaSet, "web-1", fmt.Sprint("rv", x.Seq))
			}
		}
		e := telemetry.NewExcerpt(telemetry.TestLoops, s.traces)
		for i, want := range map[int]string{1: "2(1)", 4: "5(4)"} {
			if got := tree(e.Chain(s.traces[i]).Origins); got != want {
				t.Errorf("%s: sync %d came of %s, want %s", name, i+1, got, want)
			}
		}
		for i, want := range map[int]string{0: "1(2)", 3: "4(5)"} {
			if got := tree(e.Chain(s.traces[i]).Effects); got != want {
				t.Errorf("%s: of sync %d came %s, want %s", name, i+1, got, want)
			}
		}
	}
}

// TestDeletedAndCreatedInOneSync: what a sync replaces under its name, it deleted.
func TestDeletedAndCreatedInOneSync(t *testing.T) {
	s := &saga{at: sagaBegan}
	x := writes(s.sync(web, decision.ToneMoving, "new"), decision.Delete, "web-1", "")
	writes(x, decision.Create, "web-1", "20")
	seen := s.sync(web, decision.ToneMoving, "new", event(telemetry.CauseDeleted, "ReplicaSet web-1", ""))
	if by := telemetry.NewExcerpt(telemetry.TestLoops, s.traces).WriterOf(seen, &seen.Causes[0]); by != x {
		t.Errorf("it was deleted by %+v", by)
	}
}
