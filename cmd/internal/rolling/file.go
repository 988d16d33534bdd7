package rolling

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/resource"
	"k8s.io/client-go/kubernetes/scheme"
)

// Read reads the one ReplicationController of a file, an address or standard input ("-"). A
// list of one is unwrapped.
func Read(flags genericclioptions.RESTClientGetter, file string) (*corev1.ReplicationController, error) {
	infos, err := resource.NewBuilder(flags).
		WithScheme(scheme.Scheme, scheme.Scheme.PrioritizedVersionsAllGroups()...).
		FilenameParam(false, &resource.FilenameOptions{Filenames: []string{file}}).
		Local().Flatten().Do().Infos()
	switch {
	case err != nil:
		return nil, err
	case len(infos) != 1:
		return nil, fmt.Errorf("%s has %d objects: give a file with one ReplicationController", file, len(infos))
	}
	rc, ok := infos[0].Object.(*corev1.ReplicationController)
	if !ok {
		return nil, fmt.Errorf("%s has a %s: give a file with one ReplicationController", file, infos[0].Object.GetObjectKind().GroupVersionKind().Kind)
	}
	if rc.Name == "" {
		return nil, fmt.Errorf("the ReplicationController of %s has no name", file)
	}
	return rc, nil
}
