package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

const (
	// rollEvery is how often "rolling" gets a new version.
	rollEvery = time.Minute
	// storyPause lies between two looks at the demo's Deployments.
	storyPause = 250 * time.Millisecond
)

// playDemo moves the demo on until ctx ends: it says when the first pod is
// ready, breaks "stuck", pauses "paused" and gives "rolling" a new version every
// minute. Errors are expected while the API server is down; the next look tries again.
func (s *sandbox) playDemo(ctx context.Context) {
	greeted, stuck, paused := false, false, false
	roll := s.clock.Now().Add(rollEvery / 4)
	for s.sleep(ctx, storyPause) {
		if !greeted {
			greeted = s.greet(ctx)
		}
		stuck = stuck || s.once(ctx, "stuck", `{"spec":{"template":{"spec":{"containers":[{"name":"nginx","image":"nginx:404"}]}}}}`)
		paused = paused || s.once(ctx, "paused", `{"spec":{"paused":true,"template":{"spec":{"containers":[{"name":"nginx","image":"nginx:1.28"}]}}}}`)
		if !s.clock.Now().Before(roll) && s.rollOn(ctx) {
			roll = s.clock.Now().Add(rollEvery)
		}
	}
}

// sleep waits for d and reports whether ctx is still alive.
func (s *sandbox) sleep(ctx context.Context, d time.Duration) bool {
	timer := s.clock.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C():
		return true
	case <-ctx.Done():
		return false
	}
}

// greet prints the time of the first ready pod of the demo.
func (s *sandbox) greet(ctx context.Context) bool {
	pods, err := s.client.CoreV1().Pods(demoNamespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return false
	}
	for _, pod := range pods.Items {
		for _, condition := range pod.Status.Conditions {
			if condition.Type == corev1.PodReady && condition.Status == corev1.ConditionTrue {
				s.progress.say(fmt.Sprintf("demo: first pod ready after %.1f s", s.progress.elapsed().Seconds()))
				return true
			}
		}
	}
	return false
}

// once changes a Deployment as soon as it has rolled out its first version, and
// reports whether there is nothing left to do. A Deployment that somebody has
// changed already, or deleted, is left alone.
func (s *sandbox) once(ctx context.Context, name, patch string) bool {
	d, ok := s.demoDeployment(ctx, name)
	switch {
	case !ok:
		return false
	case d.Generation > 1:
		return true
	case !rolledOut(d):
		return false
	}
	return s.patchDemo(ctx, name, patch) == nil
}

// rollOn gives "rolling" its next version, once the last one is rolled out.
func (s *sandbox) rollOn(ctx context.Context) bool {
	d, ok := s.demoDeployment(ctx, "rolling")
	if !ok || !rolledOut(d) || d.Spec.Paused {
		return false
	}
	next := fmt.Sprintf(`{"spec":{"template":{"spec":{"containers":[{"name":"shop","image":%q}]}}}}`, nextVersion(d))
	return s.patchDemo(ctx, "rolling", next) == nil
}

func (s *sandbox) demoDeployment(ctx context.Context, name string) (*appsv1.Deployment, bool) {
	d, err := s.client.AppsV1().Deployments(demoNamespace).Get(ctx, name, metav1.GetOptions{})
	return d, err == nil
}

func (s *sandbox) patchDemo(ctx context.Context, name, patch string) error {
	_, err := s.client.AppsV1().Deployments(demoNamespace).Patch(ctx, name, types.StrategicMergePatchType, []byte(patch),
		metav1.PatchOptions{FieldManager: demoManager})
	return err
}

// rolledOut reports whether every replica is of the newest template and serves.
func rolledOut(d *appsv1.Deployment) bool {
	want := *d.Spec.Replicas
	return d.Status.ObservedGeneration >= d.Generation && d.Status.Replicas == want &&
		d.Status.UpdatedReplicas == want && d.Status.AvailableReplicas == want
}

// nextVersion counts the version of the first container's image up: shop:v1, shop:v2.
func nextVersion(d *appsv1.Deployment) string {
	name, version, _ := strings.Cut(d.Spec.Template.Spec.Containers[0].Image, ":v")
	current, err := strconv.Atoi(version)
	if err != nil {
		current = 0
	}
	return fmt.Sprintf("%s:v%d", name, current+1)
}
