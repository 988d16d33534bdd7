package updates

import (
	"context"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"
)

// watcher counts the pods of a namespace after every change, as a user's load balancer would.
type watcher struct {
	mu             sync.Mutex
	pods           map[types.UID]state
	floor, ceiling int
	armed          bool
	least, most    int
	breaches       []string
}

type state struct{ counts, available bool }

// watches begins to watch. Bounds are held from now on.
func (r *run) watches(floor, ceiling int32) {
	r.t.Helper()
	w := &watcher{pods: map[types.UID]state{}, floor: int(floor), ceiling: int(ceiling), least: 1 << 30}
	f := informers.NewSharedInformerFactoryWithOptions(r.client, 0, informers.WithNamespace(r.namespace))
	informer := f.Core().V1().Pods().Informer()
	handler, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(obj any) { w.see(obj.(*corev1.Pod), false) },
		UpdateFunc: func(_, obj any) { w.see(obj.(*corev1.Pod), false) },
		DeleteFunc: func(obj any) {
			if pod, ok := obj.(*corev1.Pod); ok {
				w.see(pod, true)
			}
		},
	})
	if err != nil {
		r.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	f.StartWithContext(ctx)
	cache.WaitForCacheSync(ctx.Done(), handler.HasSynced)
	w.mu.Lock()
	w.armed = true
	w.mu.Unlock()
	r.watch = w
	r.t.Cleanup(func() {
		cancel()
		f.Shutdown()
		for _, b := range w.breaches {
			r.t.Error(b)
		}
	})
}

func (w *watcher) see(pod *corev1.Pod, gone bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if gone {
		delete(w.pods, pod.UID)
	} else {
		counts := pod.DeletionTimestamp == nil && pod.Status.Phase != corev1.PodFailed && pod.Status.Phase != corev1.PodSucceeded
		w.pods[pod.UID] = state{counts, counts && ready(pod)}
	}
	if !w.armed {
		return
	}
	pods, available := 0, 0
	for _, s := range w.pods {
		if s.counts {
			pods++
		}
		if s.available {
			available++
		}
	}
	w.least, w.most = min(w.least, available), max(w.most, pods)
	if available < w.floor {
		w.breaches = append(w.breaches, fmt.Sprintf("%s: %d pods available, under the floor of %d, with pod %s", time.Now().Format("15:04:05.000"), available, w.floor, pod.Name))
	}
	if pods > w.ceiling {
		w.breaches = append(w.breaches, fmt.Sprintf("%s: %d pods, over the ceiling of %d, with pod %s", time.Now().Format("15:04:05.000"), pods, w.ceiling, pod.Name))
	}
}

func ready(pod *corev1.Pod) bool {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}
