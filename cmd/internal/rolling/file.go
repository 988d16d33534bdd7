package rolling

import (
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/resource"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/loopscope/loopscope/telemetry/prose"
)

// strict reads objects and refuses fields that their kinds do not have.
var strict = serializer.NewCodecFactory(scheme.Scheme, serializer.EnableStrict).UniversalDeserializer()

// Read reads the one ReplicationController of a file, an address or standard input ("-"). A
// list of one is unwrapped. A field that no ReplicationController has is an error.
func Read(flags genericclioptions.RESTClientGetter, file string) (*corev1.ReplicationController, error) {
	infos, err := resource.NewBuilder(flags).Unstructured().
		FilenameParam(false, &resource.FilenameOptions{Filenames: []string{file}}).
		Local().Flatten().Do().Infos()
	switch {
	case err != nil:
		return nil, err
	case len(infos) != 1:
		return nil, fmt.Errorf("%s has %d objects: give a file with one ReplicationController", file, len(infos))
	}
	is := infos[0].Object.GetObjectKind().GroupVersionKind()
	switch {
	case is.Kind != "ReplicationController":
		return nil, fmt.Errorf("%s has a %s: give a file with one ReplicationController", file, is.Kind)
	case is.GroupVersion() != corev1.SchemeGroupVersion:
		return nil, fmt.Errorf("%s has a ReplicationController of %s: its apiVersion is v1", file, is.GroupVersion())
	}
	rc, err := decode(infos[0].Object)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s: %w", file, err)
	case rc.Name == "":
		return nil, fmt.Errorf("the ReplicationController of %s has no name", file)
	}
	return rc, nil
}

func decode(o runtime.Object) (*corev1.ReplicationController, error) {
	text, err := runtime.Encode(unstructured.UnstructuredJSONScheme, o)
	if err != nil {
		return nil, err
	}
	rc := &corev1.ReplicationController{}
	_, _, err = strict.Decode(text, nil, rc)
	if unknown, is := runtime.AsStrictDecodingError(err); is {
		return nil, errors.New(prose.And(texts(unknown.Errors())) + ": correct or remove what no ReplicationController has")
	}
	return rc, err
}

func texts(list []error) (all []string) {
	for _, err := range list {
		all = append(all, err.Error())
	}
	return all
}
