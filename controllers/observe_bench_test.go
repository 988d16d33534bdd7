package controllers

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"

	deployments "github.com/loopscope/loopscope/controllers/deployment/effects"
	"github.com/loopscope/loopscope/controllers/engine"
	"github.com/loopscope/loopscope/controllers/internal/lab"
	replicasets "github.com/loopscope/loopscope/controllers/replicaset/effects"
)

// BenchmarkObserve observes an owner of 500 pods, each of which says why it waits.
func BenchmarkObserve(b *testing.B) {
	field := rollout()
	for i := range 500 {
		p := field.pods[0].DeepCopy()
		p.Name, p.UID = fmt.Sprint("web-2-x", i), p.UID+"x"
		p.Status.ContainerStatuses[0].State.Waiting.Message = `Back-off pulling image "registry.example/shop/web:1.2.3"`
		p.Status.ContainerStatuses[0].Image = "registry.example/shop/web:1.2.3"
		p.Spec.NodeName = "node-17.example"
		field.pods = append(field.pods, p)
	}
	client := answering(field, replies["taken"])
	f := informers.NewSharedInformerFactory(client, 0)
	r, err := replicasets.New(b.Context(), f.Apps().V1().ReplicaSets(), f.Core().V1().Pods(), client, engine.Options{})
	lab.Check(b, err)
	d, err := deployments.New(b.Context(), f.Apps().V1().Deployments(), f.Apps().V1().ReplicaSets(), f.Core().V1().Pods(), client, engine.Options{})
	lab.Check(b, err)
	stores := (&lab.Caches{Factory: f}).StoreOf
	for _, o := range field.objects() {
		if _, is := o.(*corev1.ReplicationController); !is {
			lab.Check(b, cache.Store(stores(o)).Add(o))
		}
	}
	for key, l := range map[string]*engine.Loop{"shop/web-2": r, "shop/web": d} {
		b.Run(l.Name(), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := l.Does().Observe(b.Context(), key); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
