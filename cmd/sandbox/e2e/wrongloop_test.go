package e2e_test

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/loopscope/loopscope/cmd/sandbox/testplane"
)

// lie is what the real loops are told about the Deployment of a name and its
// ReplicaSets, and the breach that this leads to.
type lie struct {
	tell  func(d *appsv1.Deployment, rs *appsv1.ReplicaSet) // one of them, the other is nil
	found string
}

// lies are by the name of their Deployment.
func lies() map[string]lie {
	var told atomic.Int32
	return map[string]lie{
		"surge": {found: "together 7, over the ceiling of 6", tell: func(d *appsv1.Deployment, _ *appsv1.ReplicaSet) {
			if d != nil {
				more := intstr.FromInt32(2)
				d.Spec.Strategy.RollingUpdate.MaxSurge = &more
			}
		}},
		"spare": {found: "under the floor of 5", tell: func(d *appsv1.Deployment, _ *appsv1.ReplicaSet) {
			if d != nil {
				more := intstr.FromInt32(1)
				d.Spec.Strategy.RollingUpdate.MaxUnavailable = &more
			}
		}},
		"strip": {found: "label example.com/row of", tell: func(_ *appsv1.Deployment, rs *appsv1.ReplicaSet) {
			if rs != nil {
				delete(rs.Labels, "example.com/row")
			}
		}},
		"lost": {found: "has lost its controller", tell: func(_ *appsv1.Deployment, rs *appsv1.ReplicaSet) {
			if rs != nil {
				rs.OwnerReferences = nil
			}
		}},
		// It sees no ReplicaSet of its own, and takes the name of each for another's.
		"twice": {found: "have one template", tell: func(d *appsv1.Deployment, rs *appsv1.ReplicaSet) {
			if rs != nil {
				rs.OwnerReferences, rs.Labels = nil, nil
				return
			}
			collisions := min(3, told.Add(1))
			d.Status.CollisionCount = &collisions
		}},
	}
}

// tell is a transform of informers: every lie about the Deployment of its name.
func tell(all map[string]lie) func(any) (any, error) {
	return func(object any) (any, error) {
		switch o := object.(type) {
		case *appsv1.Deployment:
			if l, lied := all[o.Name]; lied {
				l.tell(o, nil)
			}
		case *appsv1.ReplicaSet:
			if l, lied := all[o.Labels["app"]]; lied {
				l.tell(nil, o)
			}
		}
		return object, nil
	}
}

// TestWatcherCatchesAWrongLoop shows that TestRolloutBounds can fail: it runs
// the real loops, lies to them about one Deployment in each way that matters,
// and expects the watcher to say so of that one, and nothing of the last.
func TestWatcherCatchesAWrongLoop(t *testing.T) {
	t.Parallel()
	plane := testplane.Start(t, testplane.Options{Loops: "none", Nodes: 1})
	client := clientOf(t, plane)
	all := lies()
	runLoops(t, plane.LoopscopeConfig(t), tell(all))
	namespace := newNamespace(t, client, "wrong")
	watched := record(t, client, namespace)
	create(t, client, namespace, oneByOne("right", 5, 500*time.Millisecond))
	for name := range all {
		create(t, client, namespace, oneByOne(name, 5, 500*time.Millisecond))
	}
	waitSettled(t, client, namespace, "right")
	waitSettled(t, client, namespace, "surge")
	waitSettled(t, client, namespace, "spare")
	waitSettled(t, client, namespace, "strip")
	for name := range all {
		plan{wanted: wanted{name: name}}.plant(t, client, namespace)
		setImage(t, client, namespace, name, "shop:v2")
	}
	setImage(t, client, namespace, "right", "shop:v2")
	waitSettled(t, client, namespace, "right")
	testplane.Until(t, settleLimit, "the discovery of every lie", func() error { return discovered(all, watched.sofar()) })
	for _, b := range replay(watched.until(t, client, namespace)).breaches {
		if b.deployment == "right" {
			t.Errorf("breach %q of the Deployment that nobody lied about", b)
		}
	}
}

// discovered names what the watcher has not found out yet.
func discovered(all map[string]lie, changes []change) error {
	left := map[string]string{}
	for name, l := range all {
		left[name] = l.found
	}
	for _, b := range replay(changes).breaches {
		if strings.Contains(b.text, left[b.deployment]) {
			delete(left, b.deployment)
		}
	}
	if len(left) > 0 {
		return fmt.Errorf("not found: %v", left)
	}
	return nil
}
