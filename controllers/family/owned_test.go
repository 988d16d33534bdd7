package family

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/loopscope/loopscope/controllers/engine"
	"github.com/loopscope/loopscope/controllers/internal/lab"
)

// A controller is told its own ReplicaSets of its own namespace, and orphans are told by namespace.
func TestReplicaSetsOfAController(t *testing.T) {
	sets := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{engine.ControllerUID: engine.IndexController, OrphanSets: IndexOrphan})
	set := func(namespace, name, owner string) *appsv1.ReplicaSet {
		rs := &appsv1.ReplicaSet{ObjectMeta: lab.Object(name, "uid-"+name, "1", nil, nil)}
		if owner != "" {
			rs.ObjectMeta = lab.Object(name, "uid-"+name, "1", nil, lab.OwnedBy(KindDeployment, "web", owner))
		}
		rs.Namespace = namespace
		lab.Check(t, sets.Add(rs))
		return rs
	}
	mine, lone := set("shop", "web-1", "d1"), set("shop", "lone", "")
	set("shop", "api-1", "d2")
	set("else", "web-2", "d1") // Its reference reaches over the border and counts nowhere.
	far := set("else", "far", "")
	for _, c := range []struct {
		name      string
		got, want []*appsv1.ReplicaSet
	}{
		{"controlled", ControlledBy(sets, "shop", "d1"), []*appsv1.ReplicaSet{mine}},
		{"of nobody", ControlledBy(sets, "shop", "d9"), []*appsv1.ReplicaSet{}},
		{"orphans", OrphansIn(sets, "shop"), []*appsv1.ReplicaSet{lone}},
		{"orphans elsewhere", OrphansIn(sets, "else"), []*appsv1.ReplicaSet{far}},
	} {
		if diff := cmp.Diff(c.want, c.got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
	if keys, err := IndexOrphan("no object"); keys != nil || err != nil {
		t.Errorf("what is no object is filed under %q, %v", keys, err)
	}
}

func TestNumbersThatMayBeMissing(t *testing.T) {
	if ToInt(nil) != nil || ToInt32(nil) != nil {
		t.Error("nothing became a number")
	}
	if got := ToInt(new(int32(7))); got == nil || *got != 7 {
		t.Errorf("7 became %v", got)
	}
	if got := ToInt32(new(int64(7))); got == nil || *got != 7 {
		t.Errorf("7 became %v", got)
	}
	if DefaultToOne(nil) != 1 || DefaultToOne(new(int32(0))) != 0 || DefaultToOne(new(int32(3))) != 3 {
		t.Error("a size that is missing is 1, any other what it says")
	}
}
