package migrate

import (
	"errors"
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
)

// clientWithout is one of a user who has every right but to list some resources, or of an API
// server that cannot list them.
func clientWithout(c *Cluster, broken error, resources ...string) *fake.Clientset {
	objects := []runtime.Object{c.Controller}
	if c.Set != nil {
		objects = append(objects, c.Set)
	}
	if c.Deployment != nil {
		objects = append(objects, c.Deployment)
	}
	for i := range c.Pods {
		objects = append(objects, &c.Pods[i])
	}
	client := fake.NewClientset(objects...)
	refused := map[string]bool{}
	for _, resource := range resources {
		refused[resource] = true
		client.PrependReactor("list", resource, func(clienttesting.Action) (bool, runtime.Object, error) {
			if broken != nil {
				return true, nil, broken
			}
			return true, nil, apierrors.NewForbidden(schema.GroupResource{Resource: resource}, "", errors.New("no RBAC policy matched"))
		})
	}
	client.PrependReactor("create", "selfsubjectaccessreviews", func(a clienttesting.Action) (bool, runtime.Object, error) {
		create, _ := a.(clienttesting.CreateAction)
		review, _ := create.GetObject().(*authorizationv1.SelfSubjectAccessReview)
		asked := review.Spec.ResourceAttributes
		review.Status.Allowed = broken != nil || asked.Verb != "list" || !refused[asked.Resource]
		return true, review, nil
	})
	return client
}

// TestKindsThatCannotBeListed are in the way: one of them might adopt the pods.
func TestKindsThatCannotBeListed(t *testing.T) {
	kinds := []string{"deployments", "statefulsets", "daemonsets", "replicationcontrollers"}
	broken := apierrors.NewInternalError(errors.New("etcd is slow"))
	for _, c := range []struct {
		name   string
		broken error
		kinds  []string
		want   []string // each in one problem
	}{
		{"no right", nil, kinds, []string{"you lack the right to list daemonsets.apps, list deployments.apps, list replicationcontrollers and list statefulsets.apps in this namespace"}},
		{"no answer", broken, kinds[2:3], []string{"DaemonSets cannot be listed, and one of them might adopt these pods while nobody owns them"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := Migration{client: clientWithout(scene(3), c.broken, c.kinds...), namespace: "shop", options: *there}
			p, err := m.Plan(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if len(p.Problems) != len(c.want) || !strings.Contains(p.Problems[0], c.want[0]) {
				t.Errorf("problems %q, want %q", p.Problems, c.want)
			}
		})
	}
}

// TestUndoReadsAutoscalersThatWereMoved, and says of others that it could not.
func TestUndoReadsAutoscalersThatWereMoved(t *testing.T) {
	c := scene(3)
	c.Scalers = []scaler{scalerOf("mine", ofController, "web")}
	_, _, moved := steps(c, &Options{Controller: "web", MoveScalers: true, Keep: true})
	for _, x := range []struct {
		name   string
		broken error
	}{{"no right", nil}, {"no answer", apierrors.NewInternalError(errors.New("etcd is slow"))}} {
		t.Run(x.name, func(t *testing.T) {
			if _, err := read(t.Context(), clientWithout(moved, x.broken, "horizontalpodautoscalers"), "shop", back); err == nil || !strings.Contains(err.Error(), "list HorizontalPodAutoscalers, of which --move-autoscaler has pointed some to the Deployment") {
				t.Errorf("it goes on without them: %v", err)
			}
		})
	}

	m := Migration{client: clientWithout(kept(func(*Cluster) {}), nil, "horizontalpodautoscalers"), namespace: "shop", options: *back}
	p, err := m.Plan(t.Context())
	if err != nil || len(p.Problems) > 0 {
		t.Fatalf("%v, %+v", err, p)
	}
	if len(p.Unread) != 1 || !strings.HasPrefix(p.Unread[0], "HorizontalPodAutoscalers: one that scales Deployment web has to be pointed to ReplicationController web afterwards") {
		t.Errorf("not known: %q", p.Unread)
	}
}
