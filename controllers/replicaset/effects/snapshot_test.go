package effects

import (
	"errors"
	"fmt"
	"io"
	"net/url"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/loopscope/loopscope/controllers/family"
	"github.com/loopscope/loopscope/controllers/internal/lab"
	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/decision"
)

// A selector that cannot be read says why and matches nothing; an empty one selects all.
func TestSelectorsOfASnapshot(t *testing.T) {
	const odd = `"Near" is not a valid label selector operator`
	for name, c := range map[string]struct {
		selector      *metav1.LabelSelector
		told, failure string
		adopts        bool
	}{
		"labels":     {&metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}, "app=web", "", true},
		"everything": {&metav1.LabelSelector{}, "", "", true},
		"nothing":    {nil, "", "", false},
		"odd":        {&metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "app", Operator: "Near"}}}, "", odd, false},
	} {
		caches := newReplicaSetCaches(t)
		rs := &appsv1.ReplicaSet{ObjectMeta: lab.Object("web-1", "r", "1", map[string]string{"app": "web"}, nil)}
		rs.Spec.Selector = c.selector
		caches.Add(t, rs, podOf("p", nil))
		of, err := caches.replicaSets.Observe(t.Context(), "shop/web-1")
		if err != nil {
			t.Fatal(err)
		}
		if r := of.(*replicaSetSync).s; r.Selector != c.told || r.SelectorError != c.failure || len(r.Pods) > 0 != c.adopts {
			t.Errorf("%s: ReplicaSet %q, error %q, candidates %+v", name, r.Selector, r.SelectorError, r.Pods)
		}
	}
}

// What is not in the caches is no object for an event, and has no version.
func TestSyncsOfWhatIsGone(t *testing.T) {
	b := newReplicaSetCaches(t).replicaSets
	looked, err := b.Observe(t.Context(), "shop/web")
	if err != nil {
		t.Fatal(err)
	}
	sync := looked.(*replicaSetSync)
	if sync.Object() != runtime.Object(nil) {
		t.Errorf("events are about %T", sync.Object())
	}
	sync.Remember(lab.Synced(telemetry.ResultWrote, nil, decision.Action{Kind: decision.Adopt}))
	if o, _ := sync.Do(t.Context(), decision.Action{Kind: "Dance"}); o.State != decision.Refused || o.Failure.Message != "no code carries out Dance" {
		t.Errorf("what nobody can do came to %+v", o)
	}
	if b.changes.Of("shop/web", "") != nil {
		t.Error("what is gone has news")
	}
	if sync.cached(family.ResourcePods, "p") != "" {
		t.Error("what is not there has a version")
	}
}

// A pod's name begins with its owner's and a dash, where that makes a name, as upstream has it.
func TestPrefixOfNewPods(t *testing.T) {
	for name, want := range map[string]string{"web-1": "web-1-", "Web": "Web"} {
		rs := &appsv1.ReplicaSet{ObjectMeta: lab.Object(name, "r", "1", nil, nil)}
		sync := &replicaSetSync{controller: newReplicaSetCaches(t).replicaSets, rs: rs}
		if got := sync.newPod().GenerateName; got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// Writes that the caches do not show are told in the order of their names, each with the
// version that the cache has, and so are pods.
func TestOrderOfASnapshot(t *testing.T) {
	caches := newReplicaSetCaches(t)
	rs := &appsv1.ReplicaSet{ObjectMeta: lab.Object("web", "r", "1", nil, nil), Spec: appsv1.ReplicaSetSpec{Selector: &metav1.LabelSelector{MatchLabels: lab.AppWeb}}}
	caches.Add(t, rs)
	for _, name := range []string{"c", "a", "b"} {
		p := podOf(name, lab.OwnedBy("ReplicaSet", "web", "r"))
		caches.Add(t, p)
		p = p.DeepCopy()
		p.ResourceVersion = "9"
		caches.replicaSets.wrotePod(p, rs)
	}
	seen, err := caches.replicaSets.Observe(t.Context(), "shop/web")
	if err != nil {
		t.Fatal(err)
	}
	told := ""
	for _, e := range seen.(*replicaSetSync).s.Echo {
		told += e.Object + " " + e.Cached + " " + e.Written + ", "
	}
	for _, p := range seen.(*replicaSetSync).s.Pods {
		told += p.Name + " " + p.UID + " " + p.RV + ", "
	}
	if told != "Pod a 1 9, Pod b 1 9, Pod c 1 9, a uid-a 1, b uid-b 1, c uid-c 1, " {
		t.Error(told)
	}
}

// Pods are counted by node over the whole family where there are too many, and where they
// have a family; those that are going or have ended do not count.
func TestSiblingsOfASnapshot(t *testing.T) {
	for name, c := range map[string]struct {
		owner *metav1.OwnerReference
		want  int32
		told  map[string]int64
	}{
		"too many":         {lab.OwnedBy("Deployment", "web", "d"), 1, map[string]int64{"n1": 2, "n2": 1}},
		"as many":          {lab.OwnedBy("Deployment", "web", "d"), 2, nil},
		"without a family": {nil, 1, nil},
	} {
		caches := newReplicaSetCaches(t)
		for _, set := range []string{"web-1", "web-2"} {
			labels := map[string]string{"pod-template-hash": set}
			caches.Add(t, &appsv1.ReplicaSet{ObjectMeta: lab.Object(set, "uid-"+set, "1", labels, c.owner), Spec: appsv1.ReplicaSetSpec{Replicas: &c.want, Selector: &metav1.LabelSelector{MatchLabels: labels}}})
		}
		add := func(name, set, node string, phase corev1.PodPhase) {
			p := &corev1.Pod{ObjectMeta: lab.Object(name, "uid-"+name, "1", map[string]string{"pod-template-hash": set}, lab.OwnedBy("ReplicaSet", set, "uid-"+set))}
			p.Spec.NodeName, p.Status.Phase = node, phase
			caches.Add(t, p)
		}
		add("a", "web-1", "n1", corev1.PodRunning)
		add("b", "web-1", "n2", corev1.PodRunning)
		add("c", "web-2", "n1", corev1.PodRunning)
		add("d", "web-2", "n1", corev1.PodFailed)
		add("e", "web-2", "", corev1.PodPending)
		seen, err := caches.replicaSets.Observe(t.Context(), "shop/web-1")
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c.told, seen.(*replicaSetSync).s.Siblings); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// The owner of a ReplicaSet is told where it is a Deployment; of any other it is known that there is one.
func TestOwnerOfASnapshot(t *testing.T) {
	for want, ref := range map[string]*metav1.OwnerReference{"web": lab.OwnedBy("Deployment", "web", "d"), "": lab.OwnedBy("Rollout", "web", "d")} {
		caches := newReplicaSetCaches(t)
		caches.Add(t, &appsv1.ReplicaSet{ObjectMeta: lab.Object("web-1", "r", "1", nil, ref)})
		seen, err := caches.replicaSets.Observe(t.Context(), "shop/web-1")
		if err != nil {
			t.Fatal(err)
		}
		if id := seen.Identity(); id.Owner != want || id.UID != "r" || !id.Found || id.Waiting {
			t.Errorf("of a %s: %+v", ref.Kind, id)
		}
		if got := seen.(*replicaSetSync).s.Controlled; got != (want == "") {
			t.Errorf("of a %s: controlled by something else %v", ref.Kind, got)
		}
	}
}

// What keeps one that is being deleted is in its snapshot, with the pods that are terminating, ended ones included.
func TestDeletionOfASnapshot(t *testing.T) {
	at := metav1.Unix(2000, 0)
	caches := newReplicaSetCaches(t)
	rs := &appsv1.ReplicaSet{ObjectMeta: lab.Object("web", "r", "1", nil, nil)}
	rc := lab.ReplicationController("web", "c", "1", 1)
	for _, o := range []metav1.Object{rs, rc} {
		o.SetDeletionTimestamp(&at)
		o.SetFinalizers([]string{"foregroundDeletion"})
		kind := map[metav1.Object]string{rs: "ReplicaSet", rc: "ReplicationController"}[o]
		going := &corev1.Pod{ObjectMeta: lab.Object(kind+"-a", kind+"-a", "1", nil, lab.OwnedBy(kind, "web", string(o.GetUID()))), Status: corev1.PodStatus{Phase: corev1.PodFailed}}
		going.DeletionTimestamp, going.Finalizers = &at, []string{"example.com/held"}
		caches.Add(t, o, going, &corev1.Pod{ObjectMeta: lab.Object(kind+"-b", kind+"-b", "1", nil, lab.OwnedBy(kind, "web", string(o.GetUID())))})
	}
	for kind, loop := range map[string]*replicaSetController{"ReplicaSet": caches.replicaSets, "ReplicationController": caches.controllers} {
		seen, err := loop.Observe(t.Context(), "shop/web")
		if err != nil {
			t.Fatal(err)
		}
		s := seen.(*replicaSetSync).s
		if diff := cmp.Diff(&decision.Deletion{Since: at.UTC(), Finalizers: []string{"foregroundDeletion"}, Blocking: 2}, s.Deletion); diff != "" {
			t.Errorf("%s: %s", kind, diff)
		}
		if diff := cmp.Diff([]decision.TerminatingPod{{Name: kind + "-a", Until: at.UTC(), Finalizers: []string{"example.com/held"}}}, s.TerminatingPods); diff != "" {
			t.Errorf("%s: %s", kind, diff)
		}
	}
}

// Pods that were deleted are described where it has no others, though it is not being deleted: they may be what its
// namespace waits for.
func TestTerminatingPodsOfASnapshot(t *testing.T) {
	at := metav1.Unix(2000, 0)
	for _, others := range []bool{false, true} {
		caches := newReplicaSetCaches(t)
		owned := func(name string) *corev1.Pod {
			return &corev1.Pod{ObjectMeta: lab.Object(name, name, "1", nil, lab.OwnedBy("ReplicaSet", "web", "r"))}
		}
		going, want := owned("web-a"), []decision.TerminatingPod{{Name: "web-a", Until: at.UTC(), Node: "node-1"}}
		going.DeletionTimestamp, going.Spec.NodeName = &at, "node-1"
		caches.Add(t, &appsv1.ReplicaSet{ObjectMeta: lab.Object("web", "r", "1", nil, nil)}, going)
		if others {
			caches.Add(t, owned("web-b"))
			want = nil
		}
		seen, err := caches.replicaSets.Observe(t.Context(), "shop/web")
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, seen.(*replicaSetSync).s.TerminatingPods); diff != "" {
			t.Errorf("others %v: %s", others, diff)
		}
	}
}

// Pods that have ended leave room in the description for those that have not, and the other way round.
func TestTerminatingPodsOfBothKinds(t *testing.T) {
	at := time.Unix(2000, 0)
	pods := func(prefix string, n int, phase corev1.PodPhase, until time.Time) (list []*corev1.Pod) {
		for i := range n {
			name := fmt.Sprintf("%s-%02d", prefix, i)
			list = append(list, &corev1.Pod{ObjectMeta: lab.Object(name, name, "1", nil, lab.OwnedBy("ReplicaSet", "web", "r")), Status: corev1.PodStatus{Phase: phase}})
			list[i].DeletionTimestamp = new(metav1.NewTime(until))
		}
		return list
	}
	for _, c := range []struct{ ended, running, wantEnded, wantRunning int }{
		{10, 2, 8, 2}, {2, 10, 2, 8}, {20, 20, 5, 5}, {0, 12, 0, 10}, {12, 0, 10, 0}, {3, 4, 3, 4},
	} {
		caches := newReplicaSetCaches(t)
		caches.Add(t, &appsv1.ReplicaSet{ObjectMeta: lab.Object("web", "r", "1", nil, nil)})
		for _, p := range append(pods("ended", c.ended, corev1.PodFailed, at), pods("running", c.running, corev1.PodRunning, at.Add(time.Minute))...) {
			caches.Add(t, p)
		}
		seen, err := caches.replicaSets.Observe(t.Context(), "shop/web")
		if err != nil {
			t.Fatal(err)
		}
		var got, want []string
		for _, p := range seen.(*replicaSetSync).s.TerminatingPods {
			got = append(got, p.Name)
		}
		for _, p := range append(pods("ended", c.wantEnded, "", at), pods("running", c.wantRunning, "", at)...) {
			want = append(want, p.Name)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%+v: %s", c, diff)
		}
	}
}

// What became of many requests does not depend on the order of their replies.
func TestSumOfPodResults(t *testing.T) {
	resource := schema.GroupResource{Resource: "pods"}
	refused, full, lost := apierrors.NewForbidden(resource, "web", nil), apierrors.NewForbidden(resource, "web", errors.New("exceeded quota")), apierrors.NewInternalError(errors.New("etcd"))
	cut := &url.Error{Op: "Post", URL: "https://127.0.0.1/api/v1/namespaces/shop/pods", Err: io.EOF}
	ends := apierrors.NewForbidden(resource, "ended", nil)
	ends.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}
	for name, c := range map[string]struct {
		failures    []error
		done        int
		want        decision.State
		terminating bool
		told        error
		lost        error // where that is another one
	}{
		"done":                          {nil, 2, decision.Written, false, nil, nil},
		"refused":                       {[]error{refused, full}, 0, decision.Refused, false, refused, nil},
		"refused in part":               {[]error{refused}, 1, decision.Partly, false, refused, nil},
		"lost, then refused":            {[]error{lost, refused}, 1, decision.Unknown, false, lost, nil},
		"refused and lost in one batch": {[]error{refused, lost}, 1, decision.Unknown, false, refused, lost},
		"cut, then refused":             {[]error{cut, refused}, 1, decision.Unknown, false, refused, cut},
		"refused, then cut":             {[]error{refused, cut}, 1, decision.Unknown, false, refused, cut},
		"cut, then ends":                {[]error{cut, ends}, 0, decision.Unknown, true, cut, nil},
		"ends, then cut":                {[]error{ends, cut}, 0, decision.Unknown, true, cut, nil},
		"ends":                          {[]error{ends, ends}, 0, decision.Refused, true, ends, nil},
		"ends, then refused twice":      {[]error{ends, refused, full}, 0, decision.Refused, true, refused, nil},
		"refused, then ends":            {[]error{refused, ends}, 0, decision.Refused, true, refused, nil},
	} {
		var all podResults
		for _, err := range c.failures {
			all.failed(err)
		}
		for range c.done {
			all.created(&corev1.Pod{})
		}
		o := all.sum()
		if o.State != c.want || all.terminating != c.terminating || o.Failed != int64(len(c.failures)) || o.Done != int64(c.done) {
			t.Errorf("%s: %+v, terminating %v", name, o, all.terminating)
		}
		if c.told != nil && o.Failure.Message != c.told.Error() {
			t.Errorf("%s: the failure is %q, want %q", name, o.Failure.Message, c.told)
		}
		if (o.Lost != nil) != (c.lost != nil) || o.Lost != nil && o.Lost.Message != c.lost.Error() {
			t.Errorf("%s: lost is %+v, want %v", name, o.Lost, c.lost)
		}
	}
}

// An outcome names so many pods and no more, and counts all.
func TestNamesOfPodResults(t *testing.T) {
	var all podResults
	for range maxNames + 1 {
		all.created(&corev1.Pod{ObjectMeta: lab.Object("p", "p", "1", nil, nil)})
	}
	if o := all.sum(); len(o.Names) != maxNames || len(o.RVs) != maxNames || o.Done != maxNames+1 {
		t.Errorf("%d names and %d versions of %d", len(o.Names), len(o.RVs), o.Done)
	}
}
