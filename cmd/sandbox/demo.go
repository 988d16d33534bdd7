package main

import (
	"context"
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes"
)

// Namespaces of the demo.
const (
	demoNamespace  = "demo"
	quotaNamespace = "demo-quota"
)

// demoManager owns what the demo writes.
const demoManager = "sandbox-demo"

// demoDeployment is one character of the demo.
type demoDeployment struct {
	namespace, name, image string
	replicas               int32
	story                  string // shown as an annotation
	pods                   map[string]string
	oneByOne               bool // surge 1, unavailable 0: the old pods stay until new ones serve
}

// demoCast is everybody at the start; demo_story.go moves them on.
var demoCast = []demoDeployment{
	{namespace: demoNamespace, name: "healthy", image: "nginx:1.27", replicas: 3, story: "Runs, and nothing happens."},
	{namespace: demoNamespace, name: "rolling", image: "shop:v1", replicas: 6, story: "Gets a new version every minute.",
		pods: map[string]string{"sandbox.loopscope.dev/ready-after": "4s"}, oneByOne: true},
	{namespace: demoNamespace, name: "stuck", image: "nginx:1.27", replicas: 3, story: "Was fine until somebody mistyped the image's tag.", oneByOne: true},
	{namespace: demoNamespace, name: "paused", image: "nginx:1.27", replicas: 2, story: "A change waits until the rollout is resumed."},
	{namespace: quotaNamespace, name: "quota", image: "nginx:1.27", replicas: 5, story: "Wants more pods than its namespace's quota allows."},
}

// createDemo creates what is missing of the demo. What is there already, from
// an earlier start, stays as its user left it.
func createDemo(ctx context.Context, client kubernetes.Interface) error {
	for _, name := range []string{demoNamespace, quotaNamespace} {
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
		_, err := client.CoreV1().Namespaces().Create(ctx, namespace, demoCreate())
		if err := unlessExists(err); err != nil {
			return fmt.Errorf("create namespace %s: %w", name, err)
		}
	}
	quota := &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Name: "small"},
		Spec:       corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{corev1.ResourcePods: resource.MustParse("3")}},
	}
	_, err := client.CoreV1().ResourceQuotas(quotaNamespace).Create(ctx, quota, demoCreate())
	if err := unlessExists(err); err != nil {
		return fmt.Errorf("create quota: %w", err)
	}
	for _, d := range demoCast {
		_, err := client.AppsV1().Deployments(d.namespace).Create(ctx, d.object(), demoCreate())
		if err := unlessExists(err); err != nil {
			return fmt.Errorf("create Deployment %s/%s: %w", d.namespace, d.name, err)
		}
	}
	return nil
}

func demoCreate() metav1.CreateOptions { return metav1.CreateOptions{FieldManager: demoManager} }

func unlessExists(err error) error {
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

// object is the Deployment as it is first created.
func (d demoDeployment) object() *appsv1.Deployment {
	labels := map[string]string{"app": d.name}
	container, _, _ := strings.Cut(d.image, ":")
	deadline := int32(600)
	object := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: d.name, Labels: labels, Annotations: map[string]string{"sandbox.loopscope.dev/story": d.story}},
		Spec: appsv1.DeploymentSpec{
			Replicas: &d.replicas, ProgressDeadlineSeconds: &deadline,
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels, Annotations: d.pods},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: container, Image: d.image}}},
			},
		},
	}
	if d.oneByOne {
		one, none := intstr.FromInt32(1), intstr.FromInt32(0)
		object.Spec.Strategy = appsv1.DeploymentStrategy{
			Type:          appsv1.RollingUpdateDeploymentStrategyType,
			RollingUpdate: &appsv1.RollingUpdateDeployment{MaxSurge: &one, MaxUnavailable: &none},
		}
	}
	return object
}
