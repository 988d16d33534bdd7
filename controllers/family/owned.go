package family

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"github.com/loopscope/loopscope/controllers/engine"
)

// OrphanSets is the name of the ReplicaSet index by namespace, for those without
// a controller. With ControllerUID a sync reads its own candidates and not every
// ReplicaSet of the namespace.
const OrphanSets = "orphanSets"

// IndexOrphan files an object without a controller under its namespace.
func IndexOrphan(obj any) ([]string, error) {
	if o, ok := obj.(metav1.Object); ok && metav1.GetControllerOf(o) == nil {
		return []string{o.GetNamespace()}, nil
	}
	return nil, nil
}

// ControlledBy lists the ReplicaSets of a controller in its namespace, in no
// order. A reference from another namespace is nobody's.
func ControlledBy(sets cache.Indexer, namespace string, uid types.UID) []*appsv1.ReplicaSet {
	return slices.DeleteFunc(setsIn(sets, engine.ControllerUID, string(uid)), func(rs *appsv1.ReplicaSet) bool {
		return rs.Namespace != namespace
	})
}

// OrphansIn lists the ReplicaSets of a namespace without a controller, in no order.
func OrphansIn(sets cache.Indexer, namespace string) []*appsv1.ReplicaSet {
	return setsIn(sets, OrphanSets, namespace)
}

func setsIn(sets cache.Indexer, index, value string) []*appsv1.ReplicaSet {
	found, _ := sets.ByIndex(index, value) // The constructor added the index: it exists.
	list := make([]*appsv1.ReplicaSet, 0, len(found))
	for _, obj := range found {
		if rs, ok := obj.(*appsv1.ReplicaSet); ok {
			list = append(list, rs)
		}
	}
	return list
}
