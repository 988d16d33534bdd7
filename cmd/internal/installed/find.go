package installed

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/loopscope/loopscope/telemetry/prose"
)

// Namespace is where a console is installed unless somebody chooses another one, and Selector what
// its Service is labelled with.
const (
	Namespace = "loopscope"
	Selector  = "app.kubernetes.io/name=loopscope"
)

// portName is that of the port over TLS, where a Service has several.
const portName = "https"

var (
	// ErrNone is where there is no console.
	ErrNone = errors.New("no Service there has the label " + Selector + ", selects pods and has one port, or one named " + portName)
	// ErrMayNotLook is where somebody may not look for one.
	ErrMayNotLook = errors.New("you may not look for it (list services)")
	// ErrMayNotForward is where somebody may see the console and not connect to it.
	ErrMayNotForward = errors.New("you may not forward ports to it (create pods/portforward)")
)

// Find is the console of a namespace, to which nothing is connected yet. The error is one of these,
// that there are several, or that it could not be looked for.
func Find(ctx context.Context, config *rest.Config, namespace string) (*Console, error) {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("client: %w", err)
	}
	c, err := find(ctx, client, namespace)
	if err != nil {
		return nil, err
	}
	c.config, c.client = config, client
	return c, nil
}

func find(ctx context.Context, client kubernetes.Interface, namespace string) (*Console, error) {
	list, err := client.CoreV1().Services(namespace).List(ctx, metav1.ListOptions{LabelSelector: Selector})
	switch {
	case apierrors.IsForbidden(err):
		return nil, ErrMayNotLook
	case err != nil:
		return nil, fmt.Errorf("look for an installed console: %w", err)
	}
	var found []*Console
	var names []string
	for i := range list.Items {
		if c := consoleOf(&list.Items[i]); c != nil {
			found, names = append(found, c), append(names, c.service)
		}
	}
	switch {
	case len(found) == 0:
		return nil, ErrNone
	case len(found) > 1:
		return nil, fmt.Errorf("namespace %s has several consoles (Services %s): delete all but one", namespace, prose.And(names))
	}
	return found[0], mayForward(ctx, client, namespace)
}

// consoleOf is the console behind a Service, nil where it has no port over TLS or selects nothing.
func consoleOf(s *corev1.Service) *Console {
	i := slices.IndexFunc(s.Spec.Ports, func(p corev1.ServicePort) bool { return p.Name == portName || len(s.Spec.Ports) == 1 })
	if i < 0 || len(s.Spec.Selector) == 0 {
		return nil
	}
	port := s.Spec.Ports[i].TargetPort
	if port.Type == intstr.Int && port.IntVal == 0 {
		port = intstr.FromInt32(s.Spec.Ports[i].Port)
	}
	return &Console{UID: string(s.UID), namespace: s.Namespace, service: s.Name, pods: labels.SelectorFromSet(s.Spec.Selector), port: port}
}

func mayForward(ctx context.Context, client kubernetes.Interface, namespace string) error {
	review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
		ResourceAttributes: &authorizationv1.ResourceAttributes{Namespace: namespace, Verb: "create", Resource: "pods", Subresource: "portforward"},
	}}
	answer, err := client.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx, review, metav1.CreateOptions{})
	switch {
	case err != nil:
		return fmt.Errorf("ask whether you may forward ports: %w", err)
	case !answer.Status.Allowed:
		return ErrMayNotForward
	}
	return nil
}

// endpoint is a pod that serves the console now, and its port.
type endpoint struct {
	pod  string
	port int32
}

// endpoint finds a pod that is ready, the first by name so that two looks agree.
func (c *Console) endpoint(ctx context.Context) (endpoint, error) {
	list, err := c.client.CoreV1().Pods(c.namespace).List(ctx, metav1.ListOptions{LabelSelector: c.pods.String()})
	if err != nil {
		return endpoint{}, fmt.Errorf("list its pods: %w", err)
	}
	slices.SortFunc(list.Items, func(a, b corev1.Pod) int { return strings.Compare(a.Name, b.Name) })
	for i := range list.Items {
		if p := &list.Items[i]; ready(p) {
			if port := portOf(p, c.port); port > 0 {
				return endpoint{p.Name, port}, nil
			}
		}
	}
	return endpoint{}, fmt.Errorf("none of its %s is ready: see 'kubectl -n %s get pods -l %s'", prose.Count(len(list.Items), "pod"), c.namespace, c.pods)
}

func ready(p *corev1.Pod) bool {
	return p.DeletionTimestamp == nil && slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

// portOf is the port of a pod that a Service leads to, 0 where it has none of that name.
func portOf(p *corev1.Pod, port intstr.IntOrString) int32 {
	if port.Type == intstr.Int {
		return port.IntVal
	}
	for _, c := range p.Spec.Containers {
		for _, x := range c.Ports {
			if x.Name == port.StrVal {
				return x.ContainerPort
			}
		}
	}
	return 0
}
