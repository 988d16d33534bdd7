package controllers

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/runtime"

	deployments "github.com/loopscope/loopscope/controllers/deployment/effects"
	"github.com/loopscope/loopscope/controllers/engine"
	"github.com/loopscope/loopscope/controllers/internal/lab"
	"github.com/loopscope/loopscope/telemetry"
)

// withoutTeam is a policy that lets no ReplicaSet have the annotation, and one that lets it have more.
func withoutTeam(more func(rs *appsv1.ReplicaSet)) func(runtime.Object) {
	return func(o runtime.Object) {
		if rs, ok := o.(*appsv1.ReplicaSet); ok {
			delete(rs.Annotations, "team")
			more(rs)
		}
	}
}

// nothingMore is of a policy that does nothing else.
func nothingMore(*appsv1.ReplicaSet) {}

// withoutItsTeam is the new ReplicaSet as such a policy leaves it.
func withoutItsTeam(size int32) *appsv1.ReplicaSet {
	rs := webSet(2, size)
	delete(rs.Annotations, "team")
	return rs
}

// unkeptRows are ReplicaSets that do not keep what the loop writes into them.
func unkeptRows() (rows []actingRow) {
	add := func(name string, more func(*appsv1.ReplicaSet), arrange func(s *scene, d *appsv1.Deployment)) {
		row := deploymentRow("annotations that are not kept", name, func(s *scene) {
			arrange(s, webDeployment())
			s.server.Mutate(withoutTeam(more))
		})
		row.keep = true
		rows = append(rows, row)
	}
	add("at rest", nothingMore, func(s *scene, d *appsv1.Deployment) { s.have(d, webSet(1, 0), withoutItsTeam(3)) })
	add("it was scaled", nothingMore, func(s *scene, d *appsv1.Deployment) {
		d.Spec.Replicas = new(int32(5))
		s.have(d, webSet(1, 0), withoutItsTeam(3))
	})
	add("in the middle of a rollout", nothingMore, func(s *scene, d *appsv1.Deployment) { s.have(d, webSet(1, 3), withoutItsTeam(1)) })
	add("it is paused, and was scaled", nothingMore, func(s *scene, d *appsv1.Deployment) {
		d.Spec.Replicas, d.Spec.Paused = new(int32(5)), true
		s.have(d, webSet(1, 0), withoutItsTeam(3))
	})
	add("a rollback is asked for", nothingMore, func(s *scene, d *appsv1.Deployment) {
		d.Annotations[deployments.AnnotationRollback] = "1"
		s.have(d, webSet(1, 0), withoutItsTeam(3))
	})
	add("nor are its minReadySeconds and its revision", func(rs *appsv1.ReplicaSet) {
		rs.Spec.MinReadySeconds = 5
		delete(rs.Annotations, deployments.AnnotationRevision)
	}, func(s *scene, d *appsv1.Deployment) {
		d.Spec.MinReadySeconds = 7
		rs := withoutItsTeam(1)
		delete(rs.Annotations, deployments.AnnotationRevision)
		s.have(d, webSet(1, 3), rs)
	})
	add("something else is", func(rs *appsv1.ReplicaSet) { rs.Spec.MinReadySeconds = 7 }, func(s *scene, d *appsv1.Deployment) {
		d.Spec.MinReadySeconds = 7
		s.have(d, webSet(1, 3), withoutItsTeam(1))
	})
	return rows
}

// TestUnkeptAnnotations: what the API server does not keep is written once, however often the ReplicaSet changes,
// and again when the Deployment asks for something else, or the policy may have gone.
func TestUnkeptAnnotations(t *testing.T) {
	s := newScene(t, "deployment", lab.OverHTTP2)
	seen := ""
	s.server.Mutate(withoutTeam(func(rs *appsv1.ReplicaSet) { // It writes something else each time.
		seen += "I"
		rs.Annotations["seen"] = seen
	}))
	d := webDeployment()
	s.have(d, webSet(1, 0), withoutItsTeam(3))
	// The echo of every write comes before the next sync.
	sync := func() string {
		t.Helper()
		trace := s.sync()
		s.server.Change(func(o runtime.Object) { s.cached(o.DeepCopyObject()) })
		if trace.Result != telemetry.ResultWrote && trace.Result != telemetry.ResultUnchanged {
			t.Errorf("%s: %+v", trace.Result, trace.Failure)
		}
		return shortOf(slices.DeleteFunc(s.server.Requests(), func(x lab.Sent) bool { return strings.HasSuffix(x.Path, "/events") }))
	}
	const stamp = "PUT replicasets/web-2 200"
	expect := func(what, want string) {
		t.Helper()
		if got := sync(); got != want {
			t.Errorf("%s: sent %q, want %q", what, got, want)
		}
	}
	expect("first", stamp)
	expect("after its echo", "")
	d = d.DeepCopy()
	d.Annotations["tier"], d.ResourceVersion = "front", "101" // That is no other generation.
	s.have(d)
	expect("another annotation", stamp)
	expect("after the echo of that", "")
	d = d.DeepCopy()
	d.Generation, d.Spec.Replicas, d.ResourceVersion = 2, new(int32(4)), "102"
	s.have(d)
	expect("another generation", stamp)
	if got := sync(); !strings.HasPrefix(got, stamp+", PUT deployments/web/status 200") {
		t.Errorf("it is not scaled: %q", got)
	}
	s.clock.Step(11 * time.Minute)
	expect("long after", stamp)
	s.server.Mutate(nil)
	expect("still believed", "")
	s.clock.Step(11 * time.Minute)
	expect("the policy is gone", stamp)
	expect("everything is kept", "")
}

// TestUnkeptIsNoVersion: a write that stored nothing is neither waited for nor taken for the one that made the version.
func TestUnkeptIsNoVersion(t *testing.T) {
	s := newScene(t, "deployment", lab.OverHTTP2)
	s.have(webDeployment(), webSet(1, 0), withoutItsTeam(3))
	s.server.Mutate(withoutTeam(nothingMore))
	trace := s.sync()
	if o := trace.Rounds[0].Outcomes[0]; o.RV != "" || len(s.opts.Ledger.All()) > 0 {
		t.Errorf("it stands at %q, and is waited for: %v", o.RV, s.opts.Ledger.All())
	}
	if len(trace.Rounds) != 2 || trace.Rounds[1].Learnt.Unkept == nil || !trace.Rounds[1].Learnt.Unkept.Copy {
		t.Errorf("rounds: %+v", trace.Rounds)
	}
	if sent := s.server.Requests(); len(sent) != 1 || sent[0].Method != http.MethodPut {
		t.Errorf("sent %s", shortOf(sent))
	}
}

// TestUnkeptWhereNobodyActs: who does not write cannot know what is kept, and tells what else goes on.
func TestUnkeptWhereNobodyActs(t *testing.T) {
	want := map[string]string{
		"at rest":                                      "shop/web is settled: 3 of 3 available, unchanged for 1h.",
		"it was scaled":                                "shop/web is moving: annotations aside, the next write scales web-2. Nothing was written.",
		"in the middle of a rollout":                   "shop/web is moving: annotations aside, the next write scales web-1. Nothing was written.",
		"it is paused, and was scaled":                 "shop/web is paused: 3 of 5 available. Scaling still works; not written yet.",
		"a rollback is asked for":                      "shop/web is moving: annotations aside, the next write is to web. Nothing was written.",
		"nor are its minReadySeconds and its revision": "shop/web is moving: annotations and minReadySeconds aside, the next write scales web-1. Nothing was written.",
		"something else is":                            "shop/web is moving: annotations and minReadySeconds aside, the next write scales web-1. Nothing was written.",
	}
	for _, row := range unkeptRows() {
		s := newScene(t, row.loop, lab.OverHTTP2)
		s.opts.Mode = engine.Watch
		s.build(row.loop)
		row.arrange(s)
		watched := s.sync()
		explained, err := deployments.Explain(t.Context(), s.client("loopscope/test explain"), "shop", "web", engine.Options{Clock: s.clock})
		if err != nil {
			t.Fatal(err)
		}
		for how, trace := range map[string]*telemetry.Trace{"watched": watched, "explained": explained} {
			if got := trace.Sentence.At(lab.At); got != want[row.name] {
				t.Errorf("%s, %s: %s", row.name, how, got)
			}
		}
	}
}
