package bench

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"github.com/loopscope/loopscope/cmd/sandbox/testplane"
)

const (
	// phaseLimit bounds one phase of the slower side.
	phaseLimit = 10 * time.Minute
	// usersAtOnce is how many requests of a phase's beginning are on their way at once.
	usersAtOnce = 8
)

// workload is a namespace of equal Deployments, and what a watch shows of them.
type workload struct {
	client    kubernetes.Interface
	namespace string
	settings  settings
	changed   chan struct{} // holds a token when something is newer than the last look

	mu          sync.Mutex
	asked       map[string]int64 // the generation that the phase's act has made
	deployments map[string]*appsv1.Deployment
	sets        map[string]bool
	pods        map[string]bool // whether it is terminating
}

// phase is one thing that happens to every Deployment.
type phase struct {
	name  string
	act   func(w *workload, ctx context.Context, name string) (*appsv1.Deployment, error)
	size  func(settings) int32 // of each Deployment afterwards
	leave bool                 // whether the Deployments are still there afterwards
}

var phases = []phase{
	{"create", (*workload).create, func(s settings) int32 { return s.replicas }, true},
	{"image update", (*workload).updateImage, func(s settings) int32 { return s.replicas }, true},
	{"scale down", (*workload).scale, func(s settings) int32 { return s.fewer }, true},
	{"delete", (*workload).remove, func(settings) int32 { return 0 }, false},
}

// newWorkload makes a fresh namespace and watches it until the test ends.
func newWorkload(t *testing.T, plane *testplane.Plane, s settings, prefix string) *workload {
	t.Helper()
	config := plane.Config(t)
	config.ContentType = "application/vnd.kubernetes.protobuf"
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatalf("build client: %v", err)
	}
	w := &workload{client: client, namespace: newNamespace(t, client, prefix), settings: s, changed: make(chan struct{}, 1),
		asked: map[string]int64{}, deployments: map[string]*appsv1.Deployment{}, sets: map[string]bool{}, pods: map[string]bool{}}
	w.watch(t)
	return w
}

// newNamespace creates a namespace in which pods can be created.
func newNamespace(t *testing.T, client kubernetes.Interface, prefix string) string {
	t.Helper()
	created, err := client.CoreV1().Namespaces().Create(t.Context(),
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: prefix + "-"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatalf("create namespace: %v", err)
	}
	testplane.Until(t, time.Minute, "service account of "+created.Name, func() error {
		_, err := client.CoreV1().ServiceAccounts(created.Name).Get(t.Context(), "default", metav1.GetOptions{})
		return err
	})
	return created.Name
}

func (w *workload) watch(t *testing.T) {
	t.Helper()
	factory := informers.NewSharedInformerFactoryWithOptions(w.client, 0, informers.WithNamespace(w.namespace))
	handler := cache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { w.see(object, false) },
		UpdateFunc: func(_, object any) { w.see(object, false) },
		DeleteFunc: func(object any) { w.see(object, true) },
	}
	for _, informer := range []cache.SharedIndexInformer{
		factory.Apps().V1().Deployments().Informer(), factory.Apps().V1().ReplicaSets().Informer(), factory.Core().V1().Pods().Informer(),
	} {
		if _, err := informer.AddEventHandler(handler); err != nil {
			t.Fatalf("watch %s: %v", w.namespace, err)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(func() { cancel(); factory.Shutdown() })
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
}

func (w *workload) see(object any, gone bool) {
	if missed, ok := object.(cache.DeletedFinalStateUnknown); ok {
		object = missed.Obj
	}
	w.mu.Lock()
	switch o := object.(type) {
	case *appsv1.Deployment:
		keep(w.deployments, o.Name, o, gone)
	case *appsv1.ReplicaSet:
		keep(w.sets, o.Name, true, gone)
	case *corev1.Pod:
		keep(w.pods, o.Name, o.DeletionTimestamp != nil, gone)
	}
	w.mu.Unlock()
	select {
	case w.changed <- struct{}{}:
	default: // the token is there already
	}
}

func keep[T any](all map[string]T, name string, value T, gone bool) {
	if gone {
		delete(all, name)
	} else {
		all[name] = value
	}
}

// begin does the phase's act to every Deployment.
func (w *workload) begin(t *testing.T, p phase) {
	t.Helper()
	names, failed := make(chan string), make([]error, usersAtOnce)
	var users sync.WaitGroup
	for i := range failed {
		users.Go(func() {
			for name := range names {
				asked, err := p.act(w, t.Context(), name)
				if err != nil {
					failed[i] = errors.Join(failed[i], err)
					continue
				}
				w.mu.Lock()
				w.asked[name] = asked.Generation
				w.mu.Unlock()
			}
		})
	}
	for i := range w.settings.deployments {
		names <- fmt.Sprintf("web-%03d", i)
	}
	close(names)
	users.Wait()
	if err := errors.Join(failed...); err != nil {
		t.Fatalf("%s: %v", p.name, err)
	}
}

// finish waits until the phase is over for every Deployment.
func (w *workload) finish(t *testing.T, p phase) {
	t.Helper()
	deadline := time.After(phaseLimit)
	for {
		err := w.unfinished(p)
		if err == nil {
			return
		}
		select {
		case <-w.changed:
		case <-deadline:
			t.Fatalf("%s: not within %s: %v", p.name, phaseLimit, err)
		}
	}
}

// unfinished says what the phase still waits for: what "kubectl rollout status"
// waits for, and the end of every pod that is to go.
func (w *workload) unfinished(p phase) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	expected := 0
	if p.leave {
		expected = w.settings.deployments
	}
	if len(w.deployments) != expected {
		return fmt.Errorf("%d Deployments, want %d", len(w.deployments), expected)
	}
	for name, d := range w.deployments {
		if d.Generation < w.asked[name] {
			return fmt.Errorf("%s: the watch shows generation %d, want %d", name, d.Generation, w.asked[name])
		}
		if err := incomplete(d, p.size(w.settings)); err != nil {
			return err
		}
	}
	if !p.leave && len(w.sets) > 0 {
		return fmt.Errorf("%d ReplicaSets are left", len(w.sets))
	}
	if expected *= int(p.size(w.settings)); len(w.pods) != expected {
		return fmt.Errorf("%d pods, want %d", len(w.pods), expected)
	}
	for name, terminating := range w.pods {
		if terminating {
			return fmt.Errorf("pod %s is terminating", name)
		}
	}
	return nil
}

func incomplete(d *appsv1.Deployment, size int32) error {
	s := d.Status
	if *d.Spec.Replicas != size || s.ObservedGeneration < d.Generation || s.Replicas != size || s.UpdatedReplicas != size || s.AvailableReplicas != size {
		return fmt.Errorf("%s: wanted %d; generation %d of %d observed, %d replicas, %d updated, %d available",
			d.Name, size, s.ObservedGeneration, d.Generation, s.Replicas, s.UpdatedReplicas, s.AvailableReplicas)
	}
	return nil
}

func (w *workload) create(ctx context.Context, name string) (*appsv1.Deployment, error) {
	labels := map[string]string{"app": name}
	return w.client.AppsV1().Deployments(w.namespace).Create(ctx, &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels},
		Spec: appsv1.DeploymentSpec{
			Replicas: &w.settings.replicas,
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "shop:v1"}}},
			},
		},
	}, metav1.CreateOptions{})
}

func (w *workload) updateImage(ctx context.Context, name string) (*appsv1.Deployment, error) {
	return w.patch(ctx, name, `{"spec":{"template":{"spec":{"containers":[{"name":"main","image":"shop:v2"}]}}}}`)
}

func (w *workload) scale(ctx context.Context, name string) (*appsv1.Deployment, error) {
	return w.patch(ctx, name, fmt.Sprintf(`{"spec":{"replicas":%d}}`, w.settings.fewer))
}

func (w *workload) patch(ctx context.Context, name, patch string) (*appsv1.Deployment, error) {
	return w.client.AppsV1().Deployments(w.namespace).Patch(ctx, name, types.StrategicMergePatchType, []byte(patch), metav1.PatchOptions{})
}

func (w *workload) remove(ctx context.Context, name string) (*appsv1.Deployment, error) {
	return &appsv1.Deployment{}, w.client.AppsV1().Deployments(w.namespace).Delete(ctx, name, metav1.DeleteOptions{})
}
