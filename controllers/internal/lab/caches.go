package lab

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"github.com/loopscope/loopscope/telemetry"
)

// Caches are informers that nobody started: a test fills their stores itself and calls the
// handlers as an informer would.
type Caches struct {
	Factory informers.SharedInformerFactory
}

// NewCaches makes empty ones.
func NewCaches(client kubernetes.Interface) *Caches {
	return &Caches{informers.NewSharedInformerFactory(client, 0)}
}

// Add puts objects into their caches.
func (c *Caches) Add(t testing.TB, objects ...any) {
	t.Helper()
	for _, o := range objects {
		if err := c.StoreOf(o).Add(o); err != nil {
			t.Fatal(err)
		}
	}
}

// StoreOf is the cache of objects of that kind.
func (c *Caches) StoreOf(o any) cache.Store {
	switch o.(type) {
	case *appsv1.Deployment:
		return c.Factory.Apps().V1().Deployments().Informer().GetStore()
	case *appsv1.ReplicaSet:
		return c.Factory.Apps().V1().ReplicaSets().Informer().GetStore()
	case *corev1.ReplicationController:
		return c.Factory.Core().V1().ReplicationControllers().Informer().GetStore()
	default:
		return c.Factory.Core().V1().Pods().Informer().GetStore()
	}
}

// Queued are the keys that wait for a sync.
func Queued(l interface{ State() telemetry.LoopState }) []string {
	var keys []string
	for _, k := range l.State().Queue.Keys {
		keys = append(keys, k.Key)
	}
	return keys
}

// KeyState is a key of a loop's queue; false where it is not queued.
func KeyState(l interface{ State() telemetry.LoopState }, key string) (telemetry.KeyState, bool) {
	for _, k := range l.State().Queue.Keys {
		if k.Key == key {
			return k, true
		}
	}
	return telemetry.KeyState{}, false
}

// ReplicationController is one that selects AppWeb.
func ReplicationController(name, uid, rv string, replicas int32) *corev1.ReplicationController {
	return &corev1.ReplicationController{
		ObjectMeta: Object(name, uid, rv, AppWeb, nil),
		Spec: corev1.ReplicationControllerSpec{Replicas: &replicas, Selector: AppWeb, MinReadySeconds: 7, Template: &corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: AppWeb}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "shop:v1"}}},
		}},
	}
}

// AppWeb is the label of most objects.
var AppWeb = map[string]string{"app": "web"}
