package installed

import (
	"errors"
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
)

func service(name string, ports ...corev1.ServicePort) *corev1.Service {
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: Namespace, Labels: map[string]string{"app.kubernetes.io/name": "loopscope"}},
		Spec:       corev1.ServiceSpec{Selector: map[string]string{"app": name}, Ports: ports},
	}
}

func secure(target intstr.IntOrString) corev1.ServicePort {
	return corev1.ServicePort{Name: portName, Port: 443, TargetPort: target}
}

// clientOf answers as an API server where the user may, or may not, forward ports.
func clientOf(forward bool, objects ...runtime.Object) *fake.Clientset {
	client := fake.NewClientset(objects...)
	client.PrependReactor("create", "selfsubjectaccessreviews", func(a clienttesting.Action) (bool, runtime.Object, error) {
		review := a.(clienttesting.CreateAction).GetObject().(*authorizationv1.SelfSubjectAccessReview)
		review.Status.Allowed = forward && review.Spec.ResourceAttributes.Subresource == "portforward"
		return true, review, nil
	})
	return client
}

func TestFind(t *testing.T) {
	plain := corev1.ServicePort{Name: "http", Port: 80}
	metrics := corev1.ServicePort{Name: "metrics", Port: 9090}
	bare := service("bare", secure(intstr.FromInt32(10257)))
	bare.Spec.Selector = nil
	for _, c := range []struct {
		name     string
		have     []runtime.Object
		forward  bool
		found    string
		port     intstr.IntOrString
		says     string
		mayNever bool
	}{
		{name: "none", forward: true, says: ErrNone.Error()},
		{name: "one", have: []runtime.Object{service("loopscope", metrics, secure(intstr.FromString("https")))}, forward: true, found: "loopscope", port: intstr.FromString("https")},
		{name: "a port of any name", have: []runtime.Object{service("mine", plain)}, forward: true, found: "mine", port: intstr.FromInt32(80)},
		{name: "no port over TLS", have: []runtime.Object{service("mine", plain, metrics)}, forward: true, says: ErrNone.Error()},
		{name: "no pods of its own", have: []runtime.Object{bare}, forward: true, says: ErrNone.Error()},
		{name: "several", have: []runtime.Object{service("a", plain), service("b", plain)}, forward: true, says: "namespace loopscope has several consoles (Services a and b): delete all but one"},
		{name: "no right to forward", have: []runtime.Object{service("loopscope", plain)}, found: "loopscope", port: intstr.FromInt32(80), says: ErrMayNotForward.Error()},
		{name: "no right to look", have: []runtime.Object{service("loopscope", plain)}, mayNever: true, says: ErrMayNotLook.Error()},
	} {
		client := clientOf(c.forward, c.have...)
		if c.mayNever {
			client.PrependReactor("list", "services", func(clienttesting.Action) (bool, runtime.Object, error) {
				return true, nil, apierrors.NewForbidden(schema.GroupResource{Resource: "services"}, "", errors.New("no"))
			})
		}
		got, err := find(t.Context(), client, Namespace)
		if (got == nil) != (c.found == "") || got != nil && (got.service != c.found || got.port != c.port) {
			t.Errorf("%s: found %+v, want %s at %v", c.name, got, c.found, &c.port)
		}
		if (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want %q", c.name, err, c.says)
		}
	}
}

func pod(name string, ready, ends bool) *corev1.Pod {
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: Namespace, Labels: map[string]string{"app": "loopscope"}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "manager", Ports: []corev1.ContainerPort{{Name: "https", ContainerPort: 10257}}}}},
	}
	if ready {
		p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	}
	if ends {
		p.DeletionTimestamp, p.Finalizers = &metav1.Time{}, []string{"x"}
	}
	return p
}

func TestEndpoint(t *testing.T) {
	client := clientOf(true, service("loopscope", secure(intstr.FromString("https"))), pod("c", true, false), pod("b", true, false), pod("a", false, false))
	c, err := find(t.Context(), client, Namespace)
	if err != nil {
		t.Fatal(err)
	}
	c.client = client
	if got, err := c.endpoint(t.Context()); err != nil || got != (endpoint{"b", 10257}) {
		t.Errorf("%+v, %v", got, err)
	}
	c.client = clientOf(true, pod("a", false, false), pod("z", true, true))
	if got, err := c.endpoint(t.Context()); err == nil || !strings.Contains(err.Error(), "none of its 2 pods is ready: see 'kubectl -n loopscope get pods -l app=loopscope'") {
		t.Errorf("%+v, %v", got, err)
	}
}
