package e2e_test

import (
	"fmt"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes"

	"github.com/loopscope/loopscope/cmd/sandbox/testplane"
)

// settleLimit bounds a rollout on a machine that is busy with other tests.
const settleLimit = 4 * time.Minute

// testplaneT is what both a test and the suite are to testplane.
type testplaneT = testing.TB

func clientOf(t testplaneT, plane *testplane.Plane) kubernetes.Interface {
	t.Helper()
	client, err := kubernetes.NewForConfig(plane.Config(t))
	if err != nil {
		t.Fatalf("build client: %v", err)
	}
	return client
}

// newNamespace creates a namespace in which pods can be created.
func newNamespace(t testing.TB, client kubernetes.Interface, prefix string) string {
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

// wanted is a Deployment as a test asks for it.
type wanted struct {
	name        string
	replicas    int32
	surge       intstr.IntOrString
	unavailable intstr.IntOrString
	readyAfter  time.Duration
	image       string
}

// oneByOne is a Deployment whose rollout takes a step for every pod.
func oneByOne(name string, replicas int32, readyAfter time.Duration) wanted {
	return wanted{name: name, replicas: replicas, surge: intstr.FromInt32(1), unavailable: intstr.FromInt32(0), readyAfter: readyAfter, image: "shop:v1"}
}

func (w wanted) object() *appsv1.Deployment {
	labels := map[string]string{"app": w.name}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: w.name, Labels: labels},
		Spec: appsv1.DeploymentSpec{
			Replicas: &w.replicas,
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Strategy: appsv1.DeploymentStrategy{
				Type:          appsv1.RollingUpdateDeploymentStrategyType,
				RollingUpdate: &appsv1.RollingUpdateDeployment{MaxSurge: &w.surge, MaxUnavailable: &w.unavailable},
			},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels, Annotations: map[string]string{"sandbox.loopscope.dev/ready-after": w.readyAfter.String()}},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: w.image}}},
			},
		},
	}
}

func create(t testing.TB, client kubernetes.Interface, namespace string, w wanted) {
	t.Helper()
	if _, err := client.AppsV1().Deployments(namespace).Create(t.Context(), w.object(), metav1.CreateOptions{}); err != nil {
		t.Fatalf("create Deployment %s/%s: %v", namespace, w.name, err)
	}
}

func get(t testing.TB, client kubernetes.Interface, namespace, name string) *appsv1.Deployment {
	t.Helper()
	d, err := client.AppsV1().Deployments(namespace).Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatalf("get Deployment %s/%s: %v", namespace, name, err)
	}
	return d
}

// setImage starts a rollout, as a user does.
func setImage(t testing.TB, client kubernetes.Interface, namespace, name, image string) {
	t.Helper()
	patchDeployment(t, client, namespace, name, fmt.Sprintf(`{"spec":{"template":{"spec":{"containers":[{"name":"main","image":%q}]}}}}`, image))
}

func patchDeployment(t testing.TB, client kubernetes.Interface, namespace, name, patch string) {
	t.Helper()
	_, err := client.AppsV1().Deployments(namespace).Patch(t.Context(), name, types.StrategicMergePatchType, []byte(patch), metav1.PatchOptions{})
	if err != nil {
		t.Fatalf("patch Deployment %s/%s: %v", namespace, name, err)
	}
}

// waitSettled waits until every replica is of the newest template and available.
func waitSettled(t testing.TB, client kubernetes.Interface, namespace, name string) *appsv1.Deployment {
	t.Helper()
	return waitFor(t, client, namespace, name, "rollout", settled)
}

func waitFor(t testing.TB, client kubernetes.Interface, namespace, name, what string, check func(*appsv1.Deployment) error) *appsv1.Deployment {
	t.Helper()
	var last *appsv1.Deployment
	testplane.Until(t, settleLimit, what+" of "+namespace+"/"+name, func() error {
		d, err := client.AppsV1().Deployments(namespace).Get(t.Context(), name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		last = d
		return check(d)
	})
	return last
}

func settled(d *appsv1.Deployment) error {
	want := *d.Spec.Replicas
	s := d.Status
	if s.ObservedGeneration < d.Generation || s.Replicas != want || s.UpdatedReplicas != want || s.AvailableReplicas != want {
		return fmt.Errorf("wanted %d: generation %d of %d observed, %d replicas, %d updated, %d available",
			want, s.ObservedGeneration, d.Generation, s.Replicas, s.UpdatedReplicas, s.AvailableReplicas)
	}
	return nil
}

// waitQuiet waits until it has settled and nothing is left that could move its
// status: the pods of the old template are gone, too.
func waitQuiet(t testing.TB, client kubernetes.Interface, namespace, name string) {
	t.Helper()
	waitFor(t, client, namespace, name, "quiet", func(d *appsv1.Deployment) error {
		if err := settled(d); err != nil {
			return err
		}
		selector, err := metav1.LabelSelectorAsSelector(d.Spec.Selector)
		if err != nil {
			return err
		}
		for _, p := range pods(t, client, namespace) {
			if p.DeletionTimestamp != nil && selector.Matches(labels.Set(p.Labels)) { // Before v1.35 no status has their number.
				return fmt.Errorf("pod %s is not gone yet", p.Name)
			}
		}
		if n := d.Status.TerminatingReplicas; n != nil && *n != 0 {
			return fmt.Errorf("status.terminatingReplicas is not 0 yet")
		}
		if c := progressing(d); c.Reason != "NewReplicaSetAvailable" {
			return fmt.Errorf("the condition Progressing has reason %q", c.Reason)
		}
		return nil
	})
}

// updated waits for a rollout that is on its way.
func updated(atLeast int32) func(*appsv1.Deployment) error {
	return func(d *appsv1.Deployment) error {
		if d.Status.ObservedGeneration < d.Generation || d.Status.UpdatedReplicas < atLeast {
			return fmt.Errorf("generation %d of %d observed, %d of at least %d updated",
				d.Status.ObservedGeneration, d.Generation, d.Status.UpdatedReplicas, atLeast)
		}
		return nil
	}
}

func replicaSets(t testing.TB, client kubernetes.Interface, namespace string) []appsv1.ReplicaSet {
	t.Helper()
	list, err := client.AppsV1().ReplicaSets(namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatalf("list ReplicaSets of %s: %v", namespace, err)
	}
	return list.Items
}

func pods(t testing.TB, client kubernetes.Interface, namespace string) []corev1.Pod {
	t.Helper()
	list, err := client.CoreV1().Pods(namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatalf("list pods of %s: %v", namespace, err)
	}
	return list.Items
}

func podReady(pod *corev1.Pod) bool {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

// waitGone waits until garbage collection has taken ReplicaSets and pods away.
func waitGone(t testing.TB, client kubernetes.Interface, namespace, app string) {
	t.Helper()
	only := metav1.ListOptions{LabelSelector: "app=" + app}
	testplane.Until(t, settleLimit, "garbage collection of "+app, func() error {
		sets, err := client.AppsV1().ReplicaSets(namespace).List(t.Context(), only)
		if err != nil {
			return err
		}
		pods, err := client.CoreV1().Pods(namespace).List(t.Context(), only)
		if err != nil {
			return err
		}
		if len(sets.Items)+len(pods.Items) > 0 {
			return fmt.Errorf("%d ReplicaSets and %d pods are left", len(sets.Items), len(pods.Items))
		}
		_, err = client.AppsV1().Deployments(namespace).Get(t.Context(), app, metav1.GetOptions{})
		if !apierrors.IsNotFound(err) {
			return fmt.Errorf("the Deployment itself: %v, want not found", err)
		}
		return nil
	})
}
