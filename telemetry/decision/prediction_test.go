package decision_test

import (
	"slices"
	"testing"

	"github.com/loopscope/loopscope/telemetry/decision"
)

// What follows from a verdict and its report, as far as the loop declares it.
func TestForetell(t *testing.T) {
	set := decision.Ref{Kind: "ReplicaSet", Name: "web-1"}
	v := decision.Verdict{Path: decision.Path{{Question: "Q-9"}}, Actions: []decision.Action{
		{Kind: decision.UpdateReplicaSet, Target: set, Question: "Q-1", Size: &decision.Size{From: 3, To: 5}},
		{Kind: decision.UpdateReplicaSet, Target: set, Question: "Q-1", Size: &decision.Size{From: 3, To: 3}},
		{Kind: decision.UpdateReplicaSet, Target: set, Question: "Q-1"},
		{Kind: decision.CreateReplicaSet, Target: decision.Ref{Kind: "ReplicaSet", Name: "web-2"}, Question: "Q-2"},
		{Kind: decision.DeleteReplicaSet, Target: set, Question: "Q-3"},
		{Kind: decision.CreatePods, Target: set, Question: "Q-4", Count: 3},
		{Kind: decision.DeletePods, Target: set, Question: "Q-5", Victims: []decision.Victim{{Name: "a"}, {Name: "b"}}},
		{Kind: decision.Adopt, Target: set},
		{Kind: decision.Adopt, Target: set, Question: "Q-6", Changes: []decision.Change{{Field: "metadata.ownerReferences", To: "Deployment web"}}},
		{Kind: decision.UpdateDeployment, Target: decision.Ref{Kind: "Deployment", Name: "web"}, Question: "Q-7", Changes: []decision.Change{{Field: "metadata.annotations[back]", From: "1"}, {Field: "spec.template", From: "a", To: "b"}}},
	}}
	r := decision.Report{Changes: []decision.Change{
		{Field: "status.replicas", From: "3", To: "4"}, {Field: "status.conditions[Available]", From: "True Minimum 10:00:00", To: "True Minimum 10:00:01"},
		{Field: "status.conditions[Progressing]", To: "True Created 10:00:00"}, {Field: "metadata.annotations[x]", From: "1", To: "2"}, {Field: "status.ready", From: "1", To: "2"},
	}}
	p := func(a decision.Aspect, of, name, what, question string) decision.Prediction {
		return decision.Prediction{Predictable: decision.Predictable{Aspect: a, Of: of}, Name: name, What: what, Question: question}
	}
	pods := p(decision.AspectCreation, "Pod", "", "", "Q-4")
	pods.Count = 3
	want := []decision.Prediction{
		p(decision.AspectSize, "ReplicaSet", "web-1", "3 → 5", "Q-1"), p(decision.AspectCreation, "ReplicaSet", "web-2", "", "Q-2"), p(decision.AspectDeletion, "ReplicaSet", "web-1", "", "Q-3"),
		pods, p(decision.AspectDeletion, "Pod", "a", "", "Q-5"), p(decision.AspectDeletion, "Pod", "b", "", "Q-5"),
		p(decision.AspectOwner, "ReplicaSet", "web-1", "none → web", "Q-6"),
		p(decision.AspectAnnotations, "Deployment", "web", "metadata.annotations[back]", "Q-7"),
		p(decision.AspectStatus, "Deployment", "web", "status.ready 1 → 2, status.replicas 3 → 4", "Q-9"), p(decision.AspectConditions, "Deployment", "web", "status.conditions[Progressing]  → True Created", "Q-9"),
		p(decision.AspectAnnotations, "Deployment", "web", "metadata.annotations[x]", "Q-9"),
	}
	v.Actions = append(v.Actions, v.Actions[9])
	v.Actions[10].Restore = &set
	want = slices.Insert(want, 8, p(decision.AspectAnnotations, "Deployment", "web", "metadata.annotations[back], metadata.annotations[…]", "Q-7"))
	loop := decision.Loop{Kind: "Deployment"}
	if got := loop.Foretell("web", &v, &r); len(got) != 0 {
		t.Errorf("what is not declared: %+v", got)
	}
	for _, x := range want {
		loop.Predicts = append(loop.Predicts, x.Predictable)
	}
	if got := loop.Foretell("web", &v, &r); !slices.Equal(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	if x := want[0]; !x.Same(p(decision.AspectSize, "ReplicaSet", "web-1", "3 → 5", "")) || x.Same(want[1]) {
		t.Error("what is the same")
	}
	seen := decision.ChangesOf("ReplicaSet", "web-1", []decision.Change{{Field: "metadata.ownerReferences", From: "web"}, {Field: "metadata.ownerReferences"}})
	if len(seen) != 1 || seen[0].What != "web → none" || !seen[0].Releases() || want[6].Releases() {
		t.Errorf("a release: %+v", seen)
	}
	if x := p(decision.AspectStatus, "ReplicaSet", "web-1", "owner web → none", ""); x.Releases() {
		t.Error("a status that becomes none is taken for a release")
	}
	for of, want := range map[decision.Prediction][2]int64{
		p(decision.AspectSize, "ReplicaSet", "web-1", "10 → 9", ""): {10, 9}, p(decision.AspectStatus, "ReplicaSet", "web-1", "10 → 9", ""): {}, p(decision.AspectSize, "ReplicaSet", "web-1", "x → 9", ""): {}, p(decision.AspectSize, "ReplicaSet", "web-1", "10 → x", ""): {},
	} {
		if from, to := of.Sizes(); from != want[0] || to != want[1] {
			t.Errorf("%+v: %d and %d", of, from, to)
		}
	}
}

// What is written one after another is covered in parts, and of a rollback that its request is cleared.
func TestPredictionCovers(t *testing.T) {
	annotations, conditions, status := decision.AspectAnnotations, decision.AspectConditions, decision.AspectStatus
	for _, c := range []struct {
		aspect          decision.Aspect
		predicted, seen string
		want            bool
	}{
		{status, "a 1 → 2, b 3 → 4", "a 1 → 2, b 3 → 4", true},
		{status, "a 1 → 2, b 3 → 4", "a 1 → 2", false},
		{conditions, "a, b", "b", true},
		{conditions, "a, b", "b, c", false},
		{annotations, "a, b", "a", true},
		{annotations, "metadata.annotations[a], metadata.annotations[…]", "metadata.annotations[a]", true},
		{annotations, "metadata.annotations[a], metadata.annotations[…]", "metadata.annotations[a], metadata.annotations[b]", true},
		{annotations, "metadata.annotations[a], metadata.annotations[…]", "metadata.annotations[b]", false},
		{annotations, "metadata.annotations[…], metadata.annotations[a]", "metadata.annotations[a], metadata.annotations[b]", true},
		{annotations, "metadata.annotations[…], metadata.annotations[a]", "metadata.annotations[…], metadata.annotations[a]", true},
	} {
		p := decision.Prediction{Predictable: decision.Predictable{Aspect: c.aspect, Of: "Deployment"}, What: c.predicted, Question: "Q-1"}
		seen := p
		seen.What, seen.Question = c.seen, ""
		if got := p.Covers(&seen); got != c.want {
			t.Errorf("%s: %q covers %q: %t", c.aspect, c.predicted, c.seen, got)
		}
	}
}
