package telemetry_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/decision"
)

func evicted(pod, rv string) telemetry.Cause {
	return event(telemetry.CauseModified, "Pod "+pod, rv, decision.Change{Field: "status.reason", To: "EvictionByEvictionAPI"})
}

func terminating(pod, rv string) telemetry.Cause {
	return event(telemetry.CauseModified, "Pod "+pod, rv, decision.Change{Field: "metadata.deletionTimestamp", To: "set"})
}

// drain is what a settled Deployment sees of pods that are evicted: its ReplicaSet's status. If others is set,
// another controller writes that.
func drain(others bool) *saga {
	s := &saga{at: sagaBegan}
	s.sync(webSet, decision.ToneOK, "settled", event(telemetry.CauseModified, "Pod web-1-x", "1", decision.Change{Field: "metadata.labels[a]", To: "b"}))
	s.sync(web, decision.ToneOK, "settled")
	s.at = s.at.Add(20 * time.Second)
	s.sync(webSet, decision.ToneOK, "settled", evicted("web-1-x", "2"))
	status := event(telemetry.CauseModified, "ReplicaSet web-1", "14")
	if creating := s.sync(webSet, decision.ToneMoving, "creating", terminating("web-1-x", "3")); others {
		status.Manager = "kube-controller-manager"
	} else {
		publishes(creates(creating, "web-1-y"), "14")
	}
	s.sync(web, decision.ToneMoving, "starting", status)
	return s
}

// TestStoryBeginsWithTheLostPods that its first sync was told of by the status of a ReplicaSet.
func TestStoryBeginsWithTheLostPods(t *testing.T) {
	const lost = `22.9 Pod web-1-x waits: EvictionByEvictionAPI
23.0 ReplicaSet web-1: nothing to write
23.9 Pod web-1-x is terminating
`
	for name, c := range map[string]struct {
		others bool
		want   string
	}{
		"own": {false, lost + `24.0 ReplicaSet web-1: created Pod web-1-y (rv rv-web-1-y); published its status (rv 14)
25.0 Deployment web: nothing to write
`},
		"another's": {true, lost + `24.0 ReplicaSet web-1: nothing to write
24.9 ReplicaSet web-1 was changed by kube-controller-manager
25.0 Deployment web: nothing to write
`},
	} {
		s := drain(c.others)
		story, ok := telemetry.NewExcerpt(telemetry.TestLoops, s.traces).Story(s.traces[4])
		if !ok {
			t.Fatalf("%s: there is no story", name)
		}
		if diff := cmp.Diff(c.want, told(story)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestStoryOfLostPodsIsApart: the loss belongs to no story that ended before, and what led to that to none that
// comes after.
func TestStoryOfLostPodsIsApart(t *testing.T) {
	s := rollout()
	s.at = s.at.Add(10 * time.Second)
	publishes(creates(s.sync(webSet, decision.ToneMoving, "creating", terminating("web-1-x", "20")), "web-1-y"), "21")
	s.sync(web, decision.ToneMoving, "starting", event(telemetry.CauseModified, "ReplicaSet web-1", "21"))
	e := telemetry.NewExcerpt(telemetry.TestLoops, s.traces)
	first, _ := e.Story(s.traces[5])
	second, _ := e.Story(s.traces[8])
	if strings.Contains(told(first), "terminating") || !strings.HasPrefix(told(second), "26.9 Pod web-1-x is terminating") {
		t.Errorf("the first:\n%s---\nthe second:\n%s", told(first), told(second))
	}
}

// scaledBack is a ReplicaSet that somebody scales: another controller undoes it before the Deployment's sync, which
// only what came of it unsettles.
func scaledBack(s *saga) {
	sized := func(by, from, to, rv string) telemetry.Cause {
		c := event(telemetry.CauseModified, "ReplicaSet web-1", rv, decision.Change{Field: "spec.replicas", From: from, To: to})
		c.Manager = by
		return c
	}
	s.at = s.at.Add(time.Hour)
	s.sync(web, decision.ToneOK, "settled", sized("kubectl", "5", "8", "31"), sized("kube-controller-manager", "8", "5", "32"))
	status := event(telemetry.CauseModified, "ReplicaSet web-1", "33", decision.Change{Field: "status.replicas", From: "5", To: "8"})
	status.Manager = "kube-controller-manager"
	s.sync(web, decision.ToneMoving, "surplus", status)
}

// TestStoryBeginsWithWhatWasUndone by another controller before the object was seen to be unsettled.
func TestStoryBeginsWithWhatWasUndone(t *testing.T) {
	s := rollout()
	before := len(s.traces)
	scaledBack(s)
	e := telemetry.NewExcerpt(telemetry.TestLoops, s.traces)
	story, ok := e.Story(s.traces[before+1])
	want := `16.9 ReplicaSet web-1 was changed by kubectl: spec.replicas 5 → 8
16.9 ReplicaSet web-1 was changed by kube-controller-manager: spec.replicas 8 → 5
17.0 Deployment web: nothing to write
17.9 ReplicaSet web-1 was changed by kube-controller-manager: status.replicas 5 → 8
18.0 Deployment web: nothing to write
`
	if !ok {
		t.Fatal("there is no story")
	}
	if diff := cmp.Diff(want, told(story)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	first, _ := e.Story(s.traces[before-1])
	if strings.Contains(told(first), "kubectl: spec.replicas") {
		t.Errorf("the story before:\n%s", told(first))
	}
}
