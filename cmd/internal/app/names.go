package app

import (
	"cmp"
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	"github.com/loopscope/loopscope/controllers"
	"github.com/loopscope/loopscope/controllers/engine"
)

// KindOf is what the API calls the objects of a loop. Those of a loop of another program
// have no group that is known here.
func KindOf(loop string) schema.GroupVersionKind {
	r := registered(loop)
	return r.Resource.GroupVersion().WithKind(cmp.Or(r.Kind, Loops().Kind(loop)))
}

// registered is what the program knows of a loop, empty for one of another program.
func registered(loop string) engine.Registration {
	for _, r := range controllers.Registered {
		if r.Loop.Name == loop {
			return r
		}
	}
	return engine.Registration{}
}

// Names are those of the objects of a loop in a namespace, for a shell that completes them.
func Names(ctx context.Context, config *rest.Config, loop, namespace, version string) ([]string, error) {
	resource := registered(loop).Resource
	if resource.Empty() {
		return nil, fmt.Errorf("the objects of the loop %q are not in this program's API", loop)
	}
	return listNames(ctx, config, resource, namespace, version)
}

// Namespaces are the names of those of the cluster, for a shell that completes them.
func Namespaces(ctx context.Context, config *rest.Config, version string) ([]string, error) {
	return listNames(ctx, config, corev1.SchemeGroupVersion.WithResource("namespaces"), "", version)
}

// listNames reads the metadata alone: a shell waits for it.
func listNames(ctx context.Context, config *rest.Config, resource schema.GroupVersionResource, namespace, version string) ([]string, error) {
	config, err := reading(config, version, "completion")
	if err != nil {
		return nil, err
	}
	c, err := metadata.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("client: %w", err)
	}
	list, err := c.Resource(resource).Namespace(namespace).List(ctx, metav1.ListOptions{ResourceVersion: "0"})
	if err != nil {
		return nil, err
	}
	names := make([]string, len(list.Items))
	for i := range list.Items {
		names[i] = list.Items[i].Name
	}
	return names, nil
}
