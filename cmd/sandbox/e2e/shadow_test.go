package e2e_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/loopscope/loopscope/cmd/sandbox/testplane"
)

// TestShadowBesideUpstream runs `loopscope manager --watch` beside Kubernetes'
// own loops while Deployments roll: it writes nothing, compares what it would
// have written, and finds next to nothing that it cannot explain.
func TestShadowBesideUpstream(t *testing.T) {
	t.Parallel()
	plane := testplane.Start(t, testplane.Options{Loops: "upstream", Audit: true})
	client := clientOf(t, plane)
	watch := testplane.Watch(t, plane)
	namespace := newNamespace(t, client, "shadow")
	first := testplane.Number(t, "LOOPSCOPE_E2E_SEED", rand.Uint64N(1_000_000))
	t.Run("replicationcontroller", func(t *testing.T) { resizeController(t, client, namespace) })
	runPlans(t, client, namespace, first, testplane.Number(t, "LOOPSCOPE_E2E_SHADOW", 2))

	c := watch.Settled(t)
	t.Logf("seed %d: %s", first, c)
	c.Check(t)
	for _, k := range c.Kinds {
		if k.Aspect == "event" && k.Compared == 0 {
			t.Errorf("%s: no event was compared", k.Loop)
		}
	}
	_, metrics := fetch(t, watch.Dashboard+"/metrics")
	if !strings.Contains(metrics, `loopscope_shadow_compared_total{aspect="status",kind="Deployment",loop="deployment",`) || !strings.Contains(metrics, `loopscope_shadow_decisions_total{verdict="unexplained"} `) || !strings.Contains(metrics, "loopscope_shadow_overdue ") {
		t.Error("the metrics do not have what was compared")
	}
	watch.OnlyRead(t)
	events, err := client.CoreV1().Events(namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range events.Items { // which the audit log leaves out
		if strings.Contains(e.ReportingController+e.Source.Component, "loopscope") {
			t.Errorf("it has published an event: %s", e.Message)
		}
	}
}

// resizeController has a ReplicationController make pods, delete some of them, and delete all.
func resizeController(t *testing.T, client kubernetes.Interface, namespace string) {
	labels, size := map[string]string{"app": "counter"}, int32(12)
	rc := &corev1.ReplicationController{ObjectMeta: metav1.ObjectMeta{Name: "counter"}, Spec: corev1.ReplicationControllerSpec{Replicas: &size, Selector: labels,
		Template: &corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "shop:v1"}}}}}}
	if _, err := client.CoreV1().ReplicationControllers(namespace).Create(t.Context(), rc, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	for i, to := range []int32{12, 7, 9, 9, 2, 0} {
		if i == 3 {
			strayAndReturn(t, client, namespace)
		}
		patch := fmt.Sprintf(`{"spec":{"replicas":%d}}`, to)
		if _, err := client.CoreV1().ReplicationControllers(namespace).Patch(t.Context(), "counter", types.MergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
		testplane.Until(t, settleLimit, "size of the ReplicationController", func() error {
			now, err := client.CoreV1().ReplicationControllers(namespace).Get(t.Context(), "counter", metav1.GetOptions{})
			if err == nil && (now.Status.ObservedGeneration != now.Generation || now.Status.Replicas != to || now.Status.ReadyReplicas != to) {
				err = fmt.Errorf("%d of %d pods are ready", now.Status.ReadyReplicas, to)
			}
			return err
		})
	}
}

// strayAndReturn takes the label from a pod, which is released and replaced, and gives it back.
func strayAndReturn(t *testing.T, client kubernetes.Interface, namespace string) {
	pods, err := client.CoreV1().Pods(namespace).List(t.Context(), metav1.ListOptions{LabelSelector: "app=counter"})
	if err != nil || len(pods.Items) == 0 {
		t.Fatalf("%d pods: %v", len(pods.Items), err)
	}
	name := pods.Items[0].Name
	for _, label := range []string{"stray", "counter"} {
		if _, err := client.CoreV1().Pods(namespace).Patch(t.Context(), name, types.MergePatchType, []byte(`{"metadata":{"labels":{"app":"`+label+`"}}}`), metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
		testplane.Until(t, settleLimit, "the pod's owner", func() error {
			p, err := client.CoreV1().Pods(namespace).Get(t.Context(), name, metav1.GetOptions{})
			if apierrors.IsNotFound(err) {
				return nil // It was taken back, and one too many.
			}
			if err == nil && (metav1.GetControllerOf(p) != nil) != (label == "counter") {
				err = fmt.Errorf("labelled %s it has the owners %v", label, p.OwnerReferences)
			}
			return err
		})
	}
}
