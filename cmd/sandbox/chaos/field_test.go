package chaos_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes"

	"github.com/loopscope/loopscope/cmd/sandbox/testplane"
)

const (
	// replicas of every Deployment: a rollout of one at a time takes three steps.
	replicas = 3
	// settleLimit bounds a wait: a restart of the API server on a busy machine,
	// and what was to be done after it.
	settleLimit = 2 * time.Minute
)

// ground is a control plane with somebody who counts.
type ground struct {
	plane  *testplane.Plane
	client kubernetes.Interface
	census *census
	loops  *loops // nil where they run in a process of their own
}

// field is a namespace of Deployments that are rolled again and again.
type field struct {
	*ground
	namespace string
	count     int
	want      int32
	version   int // of the image that is wanted
	history   int // old ReplicaSets that a Deployment keeps at most
	gone      bool
}

// newField creates the Deployments of one fault and waits until they run.
func (g *ground) newField(t *testing.T, of fault, count int) *field {
	t.Helper()
	created, err := g.client.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "chaos-"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatalf("create namespace: %v", err)
	}
	f := &field{ground: g, namespace: created.Name, count: count, want: replicas, version: 1}
	f.await(t, "the service account", func(ctx context.Context) error {
		_, err := g.client.CoreV1().ServiceAccounts(f.namespace).Get(ctx, "default", metav1.GetOptions{})
		return err
	})
	for i := range count {
		d := f.deployment(fmt.Sprintf("web-%d", i))
		if of.shape != nil {
			of.shape(d)
		}
		f.history = int(*d.Spec.RevisionHistoryLimit)
		if _, err := g.client.AppsV1().Deployments(f.namespace).Create(t.Context(), d, metav1.CreateOptions{}); err != nil {
			t.Fatalf("create Deployment: %v", err)
		}
	}
	f.await(t, "the first pods", f.settled)
	if of.prepare != nil {
		of.prepare(t, f)
	}
	return f
}

func (f *field) deployment(name string) *appsv1.Deployment {
	labels := map[string]string{"app": name}
	one, none, history, want := intstr.FromInt32(1), intstr.FromInt32(0), int32(2), f.want
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: appsv1.DeploymentSpec{
			Replicas: &want, RevisionHistoryLimit: &history, Selector: &metav1.LabelSelector{MatchLabels: labels},
			Strategy: appsv1.DeploymentStrategy{
				Type:          appsv1.RollingUpdateDeploymentStrategyType,
				RollingUpdate: &appsv1.RollingUpdateDeployment{MaxSurge: &one, MaxUnavailable: &none},
			},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels, Annotations: map[string]string{"sandbox.loopscope.dev/ready-after": "200ms"}},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: f.image()}}},
			},
		},
	}
}

func (f *field) image() string { return fmt.Sprintf("shop:v%d", f.version) }

// await asks check until it is satisfied, each time with a bounded context: the
// API server may be dead.
func (f *field) await(t *testing.T, what string, check func(context.Context) error) {
	t.Helper()
	testplane.Until(t, settleLimit, what+" in "+f.namespace, func() error {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		return check(ctx)
	})
}

// roll begins a rollout of every Deployment.
func (f *field) roll(t *testing.T) {
	t.Helper()
	f.version++
	f.patchAll(t, fmt.Sprintf(`{"spec":{"template":{"spec":{"containers":[{"name":"main","image":%q}]}}}}`, f.image()))
}

func (f *field) patchAll(t *testing.T, patch string) {
	t.Helper()
	for _, d := range f.deployments(t) {
		_, err := f.client.AppsV1().Deployments(f.namespace).Patch(t.Context(), d.Name, types.StrategicMergePatchType, []byte(patch), metav1.PatchOptions{})
		if err != nil {
			t.Fatalf("patch Deployment %s/%s: %v", f.namespace, d.Name, err)
		}
	}
}

func (f *field) deployments(t *testing.T) []appsv1.Deployment {
	t.Helper()
	list, err := f.client.AppsV1().Deployments(f.namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatalf("list Deployments of %s: %v", f.namespace, err)
	}
	return list.Items
}

func (f *field) replicaSets(t *testing.T) []appsv1.ReplicaSet {
	t.Helper()
	list, err := f.client.AppsV1().ReplicaSets(f.namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatalf("list ReplicaSets of %s: %v", f.namespace, err)
	}
	return list.Items
}

// midway waits until so many new pods have been created, of all Deployments together.
func (f *field) midway(t *testing.T, pods int) {
	t.Helper()
	f.await(t, "the middle of the rollouts", func(context.Context) error {
		updated := 0
		for _, d := range present[*appsv1.Deployment](f.census, kindDeployment, f.namespace) {
			if d.Status.ObservedGeneration == d.Generation {
				updated += int(d.Status.UpdatedReplicas)
			}
		}
		if updated < pods {
			return fmt.Errorf("%d of %d pods are new", updated, pods)
		}
		return nil
	})
}

// settled sees whether every Deployment says that it is complete, at the image
// and size that were wanted last, and has one active ReplicaSet. The census may
// lag, so its word that all is well is checked.
func (f *field) settled(ctx context.Context) error {
	if err := f.judge(present[*appsv1.Deployment](f.census, kindDeployment, f.namespace), present[*appsv1.ReplicaSet](f.census, kindSet, f.namespace)); err != nil {
		return err
	}
	deployments, err := f.client.AppsV1().Deployments(f.namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	sets, err := f.client.AppsV1().ReplicaSets(f.namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	return f.judge(pointers(deployments.Items), pointers(sets.Items))
}

func pointers[T any](items []T) []*T {
	list := make([]*T, 0, len(items))
	for i := range items {
		list = append(list, &items[i])
	}
	return list
}

func (f *field) judge(deployments []*appsv1.Deployment, sets []*appsv1.ReplicaSet) error {
	if len(deployments) != f.count {
		return fmt.Errorf("%d Deployments, want %d", len(deployments), f.count)
	}
	for _, d := range deployments {
		if err := f.complete(d); err != nil {
			return fmt.Errorf("%s: %w", d.Name, err)
		}
	}
	return f.active(sets)
}

func (f *field) complete(d *appsv1.Deployment) error {
	s := d.Status
	if image := d.Spec.Template.Spec.Containers[0].Image; image != f.image() || *d.Spec.Replicas != f.want {
		return fmt.Errorf("its template has %s and %d replicas, want %s and %d", image, *d.Spec.Replicas, f.image(), f.want)
	}
	if s.ObservedGeneration != d.Generation || s.Replicas != f.want || s.UpdatedReplicas != f.want || s.AvailableReplicas != f.want {
		return fmt.Errorf("generation %d of %d observed, %d replicas, %d updated, %d available, want %d",
			s.ObservedGeneration, d.Generation, s.Replicas, s.UpdatedReplicas, s.AvailableReplicas, f.want)
	}
	for _, c := range s.Conditions {
		if c.Type == appsv1.DeploymentProgressing && (c.Status != corev1.ConditionTrue || c.Reason != "NewReplicaSetAvailable") {
			return fmt.Errorf("Progressing is %s: %s", c.Status, c.Reason)
		}
		if c.Type == appsv1.DeploymentReplicaFailure && c.Status == corev1.ConditionTrue {
			return fmt.Errorf("ReplicaFailure: %s", c.Message)
		}
	}
	return nil
}

// active sees whether one ReplicaSet of every Deployment has all the pods.
func (f *field) active(sets []*appsv1.ReplicaSet) error {
	active := map[types.UID]int{}
	for _, rs := range sets {
		if *rs.Spec.Replicas == 0 && rs.Status.Replicas == 0 {
			continue
		}
		active[ownerOf(rs)]++
		if image := rs.Spec.Template.Spec.Containers[0].Image; image != f.image() || *rs.Spec.Replicas != f.want || rs.Status.AvailableReplicas != f.want {
			return fmt.Errorf("ReplicaSet %s of %s has size %d and %d available", rs.Name, image, *rs.Spec.Replicas, rs.Status.AvailableReplicas)
		}
	}
	if len(active) != f.count {
		return fmt.Errorf("%d Deployments have an active ReplicaSet, want %d", len(active), f.count)
	}
	for owner, n := range active {
		if n != 1 {
			return fmt.Errorf("the Deployment with UID %s has %d active ReplicaSets", owner, n)
		}
	}
	return nil
}

// check sees that nothing is left over: no orphan, no second ReplicaSet of a
// template, and as many pods as are wanted once those that end have gone.
func (f *field) check(t *testing.T) {
	t.Helper()
	f.await(t, "the end of the history", f.historyFits)
	families, living := map[types.UID]bool{}, map[types.UID]bool{}
	for _, d := range f.deployments(t) {
		families[d.UID] = true
	}
	templates := map[string]string{}
	for _, rs := range f.replicaSets(t) {
		living[rs.UID] = true
		template := string(ownerOf(&rs)) + " " + rs.Spec.Template.Spec.Containers[0].Image
		if other := templates[template]; other != "" {
			t.Errorf("ReplicaSets %s and %s have one template", other, rs.Name)
		}
		templates[template] = rs.Name
		if !families[ownerOf(&rs)] {
			t.Errorf("ReplicaSet %s is an orphan", rs.Name)
		}
	}
	f.await(t, "the end of the old pods", func(context.Context) error { return f.podsFit(living) })
	for template, n := range f.census.templates(f.namespace) {
		if n > 1 {
			t.Errorf("%d ReplicaSets were created for one template: %s", n, template)
		}
	}
}

// historyFits sees whether every Deployment keeps as many old ReplicaSets as it may.
func (f *field) historyFits(context.Context) error {
	kept := map[types.UID]int{}
	for _, rs := range present[*appsv1.ReplicaSet](f.census, kindSet, f.namespace) {
		kept[ownerOf(rs)]++
	}
	for owner, n := range kept {
		if n > 1+f.history {
			return fmt.Errorf("the Deployment with UID %s has %d ReplicaSets, want %d at most", owner, n, 1+f.history)
		}
	}
	return nil
}

func (f *field) podsFit(living map[types.UID]bool) error {
	pods := 0
	for _, pod := range present[*corev1.Pod](f.census, kindPod, f.namespace) {
		if isFence(pod) {
			continue
		}
		pods++
		if !living[ownerOf(pod)] {
			return fmt.Errorf("pod %s is an orphan", pod.Name)
		}
	}
	if pods != f.count*int(f.want) {
		return fmt.Errorf("%d pods, want %d", pods, f.count*int(f.want))
	}
	return nil
}

// clear deletes the namespace, so that the next ones have the machine for themselves.
func (f *field) clear(t *testing.T) {
	t.Helper()
	if f == nil || f.gone {
		return
	}
	err := f.client.CoreV1().Namespaces().Delete(t.Context(), f.namespace, metav1.DeleteOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		t.Errorf("delete namespace %s: %v", f.namespace, err)
	}
}

func ownerOf(object metav1.Object) types.UID {
	if owner := metav1.GetControllerOf(object); owner != nil {
		return owner.UID
	}
	return ""
}
