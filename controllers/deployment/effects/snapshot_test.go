package effects

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/loopscope/loopscope/controllers/deployment"
	"github.com/loopscope/loopscope/controllers/engine"
	"github.com/loopscope/loopscope/controllers/family"
	"github.com/loopscope/loopscope/controllers/internal/lab"
	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/decision"
	"github.com/loopscope/loopscope/telemetry/redact"
)

// lookedAt is a sync of shop/web that has looked and done nothing yet.
func lookedAt(t *testing.T, c *deploymentCaches) *deploymentSync {
	t.Helper()
	seen, err := c.deployments.Observe(t.Context(), "shop/web")
	if err != nil {
		t.Fatal(err)
	}
	return seen.(*deploymentSync)
}

// A new ReplicaSet is named after the template and the collisions so far, and after one more
// where that name is taken, too.
func TestNameOfTheNextReplicaSet(t *testing.T) {
	for _, c := range []struct{ now, next *int32 }{{nil, new(int32(1))}, {new(int32(0)), new(int32(1))}, {new(int32(4)), new(int32(5))}} {
		caches := newDeploymentCaches(t)
		d := lab.Deployment("web", "d", "")
		d.Spec.Template, d.Status.CollisionCount = *lab.Template(map[string]string{"app": "web"}, "shop:v1"), c.now
		caches.Add(t, d)
		s := lookedAt(t, caches).s
		now, next := TemplateHash(&d.Spec.Template, c.now), TemplateHash(&d.Spec.Template, c.next)
		if s.NextHash != now || s.NextName != "web-"+now || s.CollisionHash != next || s.CollisionName != "web-"+next {
			t.Errorf("after %v collisions: %s, then %s, want %s, then %s", c.now, s.NextName, s.CollisionName, now, next)
		}
	}
}

// How the ReplicaSet of the next name differs from the template that it was created with is seen, and nothing
// of any other one.
func TestMutatedReplicaSet(t *testing.T) {
	labels := map[string]string{"app": "web"}
	d := lab.Deployment("web", "d", "")
	d.Spec.Template = *lab.Template(labels, "shop:v1")
	next := "web-" + TemplateHash(&d.Spec.Template, nil)
	for name, c := range map[string]struct {
		name   string
		change func(*corev1.PodTemplateSpec)
		want   *deployment.TemplateChange
	}{
		"as it was created": {next, func(*corev1.PodTemplateSpec) {}, nil},
		"mutated": {next, func(p *corev1.PodTemplateSpec) {
			p.Annotations = map[string]string{"token": "s3cret"}
			p.Spec.Containers[0].Image = "shop:v2"
		}, &deployment.TemplateChange{Fields: []decision.Change{{Field: "containers[web].image", From: "shop:v1", To: "shop:v2"}, {Field: "metadata.annotations[token]"}}}},
		"another one": {"web-old", func(p *corev1.PodTemplateSpec) { p.Spec.Containers[0].Image = "shop:v0" }, nil},
	} {
		caches := newDeploymentCaches(t)
		rs := &appsv1.ReplicaSet{ObjectMeta: lab.Object(c.name, "r", "1", labels, lab.OwnedBy(family.KindDeployment, "web", "d"))}
		rs.Spec.Template = *d.Spec.Template.DeepCopy()
		c.change(&rs.Spec.Template)
		caches.Add(t, d, rs)
		if s := lookedAt(t, caches).s; len(s.ReplicaSets) != 1 || !cmp.Equal(s.Mutated, c.want) {
			t.Errorf("%s: %d ReplicaSets, %+v", name, len(s.ReplicaSets), s.Mutated)
		}
	}
}

// A selector that cannot be read says why and matches nothing; an empty one selects all.
func TestSelectorsOfADeploymentsSnapshot(t *testing.T) {
	const odd = `"Near" is not a valid label selector operator`
	for name, c := range map[string]struct {
		selector      *metav1.LabelSelector
		all           bool
		told, failure string
		adopts        bool
	}{
		"labels":     {&metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}, false, "app=web", "", true},
		"everything": {&metav1.LabelSelector{}, true, "", "", true},
		"nothing":    {nil, false, "", "", false},
		"odd":        {&metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "app", Operator: "Near"}}}, false, "", odd, false},
	} {
		caches := newDeploymentCaches(t)
		d := lab.Deployment("web", "d", "")
		d.Spec.Selector = c.selector
		rs := &appsv1.ReplicaSet{ObjectMeta: lab.Object("web-1", "r", "1", map[string]string{"app": "web"}, nil)}
		rs.Spec.Selector = c.selector
		caches.Add(t, d, rs)
		s := lookedAt(t, caches).s
		if s.SelectsAll != c.all || s.Selector != c.told || s.SelectorError != c.failure || len(s.ReplicaSets) > 0 != c.adopts {
			t.Errorf("%s: all %v, %q, error %q, candidates %+v", name, s.SelectsAll, s.Selector, s.SelectorError, s.ReplicaSets)
		}
	}
}

// What a snapshot has of a Deployment and a ReplicaSet, each field from where it belongs.
func TestFieldsOfASnapshot(t *testing.T) {
	caches := newDeploymentCaches(t)
	at := func(seconds int64) time.Time { return time.Unix(seconds, 0).UTC() }
	d := lab.Deployment("web", "d", appsv1.RollingUpdateDeploymentStrategyType)
	d.Generation, d.CreationTimestamp = 7, metav1.Unix(100, 0)
	d.Annotations = map[string]string{AnnotationRevision: "5", AnnotationRollback: "3", "team": "red"}
	d.Spec.Replicas, d.Spec.MinReadySeconds, d.Spec.Paused = new(int32(9)), 8, true
	d.Spec.ProgressDeadlineSeconds, d.Spec.RevisionHistoryLimit = new(int32(600)), new(int32(10))
	d.Spec.Strategy.RollingUpdate = &appsv1.RollingUpdateDeployment{MaxSurge: new(intstr.FromInt32(2)), MaxUnavailable: new(intstr.FromString("25%"))}
	d.Spec.Template = *lab.Template(map[string]string{"app": "web"}, "shop:v1")
	d.Status = appsv1.DeploymentStatus{ObservedGeneration: 6, Replicas: 1, UpdatedReplicas: 2, ReadyReplicas: 3, AvailableReplicas: 4, UnavailableReplicas: 5, TerminatingReplicas: new(int32(6)), CollisionCount: new(int32(7)),
		Conditions: []appsv1.DeploymentCondition{
			{Type: appsv1.DeploymentProgressing, Status: corev1.ConditionTrue, Reason: "R", Message: "M", LastUpdateTime: metav1.Unix(400, 0), LastTransitionTime: metav1.Unix(300, 0)},
			{Type: appsv1.DeploymentAvailable, Status: corev1.ConditionTrue, LastUpdateTime: metav1.Unix(500, 0)}}}
	rs := &appsv1.ReplicaSet{ObjectMeta: lab.Object("web-1", "r", "4", map[string]string{"app": "web"}, lab.OwnedBy("Deployment", "web", "d"))}
	rs.Generation, rs.CreationTimestamp = 3, metav1.Unix(150, 0)
	rs.Annotations = map[string]string{AnnotationRevision: "4", AnnotationHistory: "1,2", AnnotationDesired: "9", AnnotationMax: "11", "team": "blue"}
	rs.Spec = appsv1.ReplicaSetSpec{Replicas: new(int32(2)), MinReadySeconds: 1, Template: *lab.Template(map[string]string{"app": "web"}, "shop:v0")}
	rs.Status = appsv1.ReplicaSetStatus{ObservedGeneration: 2, Replicas: 3, ReadyReplicas: 4, AvailableReplicas: 5, TerminatingReplicas: new(int32(6))}
	older := rs.DeepCopy()
	older.Name, older.UID, older.CreationTimestamp = "web-2", "r2", metav1.Unix(140, 0)
	same := older.DeepCopy()
	same.Name, same.UID = "web-0", "r0"
	same.Annotations[AnnotationRevision] = ""
	delete(older.Annotations, AnnotationRevision)
	caches.Add(t, d, rs, older, same)
	s := lookedAt(t, caches).s
	if len(s.ReplicaSets) != 3 || s.ReplicaSets[0].Name != "web-0" || s.ReplicaSets[1].Name != "web-2" {
		t.Fatalf("not in the order of their creation: %+v", s.ReplicaSets)
	}
	if !s.ReplicaSets[0].EmptyRevision || s.ReplicaSets[1].EmptyRevision {
		t.Errorf("the revision that is empty: %+v", s.ReplicaSets)
	}
	want := deployment.ReplicaSet{Name: "web-1", UID: "r", RV: "4", Created: at(150), Mine: true, Matches: true, CopyStale: true, Replicas: 2, MinReady: 1, Generation: 3, ObservedGeneration: 2,
		StatusReplicas: 3, Ready: 4, Available: 5, Terminating: new(int64(6)), Revision: "4", History: "1,2", Desired: "9", Max: "11", Images: []string{"shop:v0"}}
	if diff := cmp.Diff(want, s.ReplicaSets[2]); diff != "" {
		t.Errorf("ReplicaSet (-want +got):\n%s", diff)
	}
	status := deployment.Status{ObservedGeneration: 6, Replicas: 1, Updated: 2, Ready: 3, Available: 4, Unavailable: 5, Terminating: new(int64(6)), Collisions: new(int64(7)), Conditions: []decision.Condition{
		{Type: "Progressing", Status: "True", Reason: "R", Message: "M", Updated: at(400), Transition: at(300)}, {Type: "Available", Status: "True", Updated: at(500), Transition: time.Time{}.UTC()}}}
	if diff := cmp.Diff(status, s.Status); diff != "" {
		t.Errorf("status (-want +got):\n%s", diff)
	}
	if s.UID != "d" || s.RV != "1" || !s.Created.Equal(at(100)) || s.Generation != 7 || s.Deleting || !s.Paused || s.Want != 9 || s.MinReady != 8 || *s.Deadline != 600 || *s.HistoryLimit != 10 ||
		s.Strategy != "RollingUpdate" || s.Revision != "5" || s.RollbackTo != "3" || len(s.Images) != 1 || s.Images[0] != "shop:v1" || !s.LastProgress.Equal(at(400)) {
		t.Errorf("Deployment %+v", s)
	}
}

// The least size of a ReplicaSet is told for as long as its status may be of before it.
func TestLeastSizeOfASnapshot(t *testing.T) {
	caches := newDeploymentCaches(t)
	caches.Add(t, lab.Deployment("web", "d", ""))
	for _, c := range []struct {
		size                 int32
		generation, observed int64
		want                 *int64
	}{{5, 1, 1, nil}, {2, 2, 1, nil}, {5, 3, 1, new(int64(2))}, {5, 3, 3, nil}} {
		rs := &appsv1.ReplicaSet{ObjectMeta: lab.Object("web-1", "r", "1", nil, lab.OwnedBy("Deployment", "web", "d"))}
		rs.Generation, rs.Spec.Replicas, rs.Status.ObservedGeneration = c.generation, &c.size, c.observed
		caches.Add(t, rs)
		if got := lookedAt(t, caches).s.ReplicaSets[0].Least; (got == nil) != (c.want == nil) || got != nil && *got != *c.want {
			t.Errorf("%d at generation %d, %d observed: least %v", c.size, c.generation, c.observed, got)
		}
	}
}

// What is not in the caches is no object for an event, and has no version.
func TestDeploymentSyncsOfWhatIsGone(t *testing.T) {
	b := newDeploymentCaches(t).deployments
	looked, err := b.Observe(t.Context(), "shop/web")
	if err != nil {
		t.Fatal(err)
	}
	sync := looked.(*deploymentSync)
	if sync.Object() != runtime.Object(nil) {
		t.Errorf("events are about %T", sync.Object())
	}
	sync.Remember(lab.Synced(telemetry.ResultWrote, nil, decision.Action{Kind: decision.Adopt}))
	if o, _ := sync.Do(t.Context(), decision.Action{Kind: "Dance"}); o.State != decision.Refused || o.Failure.Message != "no code carries out Dance" {
		t.Errorf("what nobody can do came to %+v", o)
	}
	if b.changes.Of("shop/web", "") != (objectChanges{}) {
		t.Error("what is gone has news")
	}
	if sync.cached(family.ResourceReplicaSets, "r") != "" {
		t.Error("what is not there has a version")
	}
}

// What is written to a ReplicaSet is what the action says, and nothing else.
func TestApply(t *testing.T) {
	sync := &deploymentSync{d: lab.Deployment("web", "d", "")}
	sync.d.Annotations = map[string]string{"team": "red", AnnotationRevision: "9"}
	rs := &appsv1.ReplicaSet{}
	sync.apply(rs, decision.Action{})
	if diff := cmp.Diff(&appsv1.ReplicaSet{}, rs); diff != "" {
		t.Errorf("by nothing: %s", diff)
	}
	sync.apply(rs, decision.Action{MinReadySeconds: new(int64(30)), Size: &decision.Size{To: 4}, Stamp: &decision.Stamp{Revision: "3", Desired: new(int64(4)), Max: new(int64(5))}})
	want := &appsv1.ReplicaSet{Spec: appsv1.ReplicaSetSpec{Replicas: new(int32(4)), MinReadySeconds: 30}}
	want.Annotations = map[string]string{AnnotationRevision: "3", AnnotationDesired: "4", AnnotationMax: "5"}
	if diff := cmp.Diff(want, rs); diff != "" {
		t.Errorf("sized and stamped: %s", diff)
	}
	sync.apply(rs, decision.Action{Stamp: &decision.Stamp{Copy: true, History: "3"}})
	want.Annotations["team"], want.Annotations[AnnotationHistory] = "red", "3"
	if diff := cmp.Diff(want, rs); diff != "" {
		t.Errorf("copied: %s", diff)
	}
	for _, c := range [][3]string{{"", "1", "1"}, {"1", "1,2", "1,2"}, {"x", "…,2", "x,2"}, {"x", "7", "7"}} {
		if got := verbatimHistory(c[0], c[1]); got != c[2] {
			t.Errorf("%q made %q became %q, want %q", c[0], c[1], got, c[2])
		}
	}
}

// Writes that the caches do not show are told in the order of their names, each with the
// version that the cache has, and so are pods.
func TestOrderOfADeploymentsSnapshot(t *testing.T) {
	caches := newDeploymentCaches(t)
	caches.Add(t, lab.Deployment("web", "d", ""))
	for _, name := range []string{"c", "a", "b"} {
		rs := &appsv1.ReplicaSet{ObjectMeta: lab.Object(name, name, "1", map[string]string{"app": "web"}, lab.OwnedBy("Deployment", "web", "d"))}
		caches.Add(t, rs)
		rs = rs.DeepCopy()
		rs.ResourceVersion = "9"
		caches.deployments.wroteReplicaSet(rs)
	}
	told := ""
	for _, e := range lookedAt(t, caches).s.Echo {
		told += e.Object + " " + e.Cached + " " + e.Written + ", "
	}
	if told != "ReplicaSet a 1 9, ReplicaSet b 1 9, ReplicaSet c 1 9, " {
		t.Error(told)
	}
}

// Numbers that are missing have the API server's defaults, or none.
func TestNumbersThatAreMissing(t *testing.T) {
	if family.DefaultToOne(nil) != 1 || family.DefaultToOne(new(int32(0))) != 0 {
		t.Error("a size that is missing is not 1")
	}
	if limited(nil) != nil || limited(new(int32(math.MaxInt32))) != nil || *limited(new(int32(math.MaxInt32 - 1))) != math.MaxInt32-1 {
		t.Error("no limit is one")
	}
	if family.ToInt(nil) != nil || family.ToInt32(nil) != nil || *family.ToInt(new(int32(3))) != 3 || *family.ToInt32(new(int64(3))) != 3 {
		t.Error("a count that is missing is not the same in the record")
	}
	for v, want := range map[*intstr.IntOrString]deployment.IntOrPercent{new(intstr.FromString("25%")): {Percent: "25%"}, new(intstr.FromInt32(3)): {Int: 3}} {
		if got := intOrPercent(v); *got != want {
			t.Errorf("%v is %+v, want %+v", v, got, want)
		}
	}
	if intOrPercent(nil) != nil {
		t.Error("a bound that is missing is one")
	}
}

// Progress that ended is none, and says nothing of when there was some.
func TestEndedProgress(t *testing.T) {
	caches := newDeploymentCaches(t)
	d := lab.Deployment("web", "d", "")
	d.Status.Conditions = []appsv1.DeploymentCondition{{Type: appsv1.DeploymentProgressing, Status: corev1.ConditionFalse, LastUpdateTime: metav1.Unix(400, 0)}}
	caches.Add(t, d)
	if at := lookedAt(t, caches).s.LastProgress; !at.IsZero() {
		t.Errorf("the last progress was at %s", at)
	}
}

// A copy of annotations is stale where one is missing or another, those of the loop aside.
func TestStaleCopies(t *testing.T) {
	for name, c := range map[string]struct {
		from, to map[string]string
		want     bool
	}{
		"same":                  {map[string]string{"a": "1"}, map[string]string{"a": "1"}, false},
		"another":               {map[string]string{"a": "1"}, map[string]string{"a": "2"}, true},
		"missing":               {map[string]string{"a": ""}, nil, true},
		"one more":              {nil, map[string]string{"a": "1"}, false},
		"a revision":            {map[string]string{AnnotationRevision: "2"}, map[string]string{AnnotationRevision: "1"}, false},
		"what was applied last": {map[string]string{corev1.LastAppliedConfigAnnotation: "{}"}, nil, false},
	} {
		if got := copyStale(c.from, c.to); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// What is to be written, or written back, and is gone from the cache was superseded.
func TestWritesOfWhatIsGone(t *testing.T) {
	caches := newDeploymentCaches(t)
	caches.Add(t, lab.Deployment("web", "d", ""))
	sync := lookedAt(t, caches)
	gone := decision.Ref{Kind: family.KindReplicaSet, Namespace: "shop", Name: "web-1", UID: "r", RV: "1"}
	for _, a := range []decision.Action{{Kind: decision.UpdateReplicaSet, Target: gone}, {Kind: decision.UpdateDeployment, Restore: &gone}} {
		if o, _ := sync.Do(t.Context(), a); o.State != decision.Superseded {
			t.Errorf("%s came to %s", a.Kind, o.State)
		}
	}
}

// Who was first is told with what he changed, from what was seen to what stands now.
func TestOtherWriter(t *testing.T) {
	was, live := lab.Deployment("web", "d", ""), lab.Deployment("web", "d", "")
	live.ResourceVersion, live.DeletionTimestamp = "2", &metav1.Time{Time: lab.At}
	live.ManagedFields = []metav1.ManagedFieldsEntry{lab.SignedBy("kubectl", "", 1, `{"f:metadata":{"f:labels":{"f:a":{}}}}`)}
	live.Labels = map[string]string{"a": "1"}
	l := newDeploymentCaches(t).deployments.Loop
	got := engine.OtherWriter(l, was, func() (*appsv1.Deployment, error) { return live, nil }, deploymentFields)
	if diff := cmp.Diff(&decision.Writer{RV: "2", Fields: []string{"metadata.deletionTimestamp", "metadata.labels[a]"}}, got); diff != "" {
		t.Errorf("deleted (-want +got):\n%s", diff)
	}
	live.DeletionTimestamp = nil
	got = engine.OtherWriter(l, was, func() (*appsv1.Deployment, error) { return live, nil }, deploymentFields)
	if diff := cmp.Diff(&decision.Writer{Manager: "kubectl", RV: "2", Fields: []string{"metadata.labels[a]"}}, got); diff != "" {
		t.Errorf("labelled (-want +got):\n%s", diff)
	}
}

// What keeps a Deployment that is being deleted, and each of its ReplicaSets that is, is in its snapshot.
func TestDeletionOfADeploymentsSnapshot(t *testing.T) {
	at := metav1.Unix(2000, 0)
	caches := newDeploymentCaches(t)
	d := lab.Deployment("web", "d", "")
	d.DeletionTimestamp, d.Finalizers = &at, []string{"foregroundDeletion", "example.com/hold\x1b[2J"}
	going := &appsv1.ReplicaSet{ObjectMeta: lab.Object("web-1", "r", "1", map[string]string{"app": "web"}, lab.OwnedBy("Deployment", "web", "d"))}
	going.DeletionTimestamp, going.Finalizers = &at, []string{"example.com/set"}
	stays := &appsv1.ReplicaSet{ObjectMeta: lab.Object("web-2", "s", "1", map[string]string{"app": "web"}, lab.OwnedBy("Deployment", "web", "d"))}
	stays.OwnerReferences[0].BlockOwnerDeletion, stays.Finalizers = nil, []string{"example.com/set"}
	pod := &corev1.Pod{ObjectMeta: lab.Object("web-1-a", "p", "1", nil, lab.OwnedBy("ReplicaSet", "web-1", "r"))}
	caches.Add(t, d, going, stays, pod)
	s := lookedAt(t, caches).s
	got := []*decision.Deletion{s.Deletion, s.ReplicaSets[0].Deletion, s.ReplicaSets[1].Deletion}
	want := []*decision.Deletion{
		{Since: at.UTC(), Finalizers: []string{"foregroundDeletion", redact.Message("example.com/hold\x1b[2J")}, Blocking: 1},
		{Since: at.UTC(), Finalizers: []string{"example.com/set"}, Blocking: 1}, nil,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
