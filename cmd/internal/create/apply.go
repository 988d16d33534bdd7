package create

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cli-runtime/pkg/resource"

	"github.com/loopscope/loopscope/telemetry/prose"
)

// metaOf is the metadata of an object, nil where it has none.
func metaOf(info *resource.Info) metav1.Object {
	m, err := meta.Accessor(info.Object)
	if err != nil {
		return nil
	}
	return m
}

// sendApply applies one object on the server's side.
func (r *Request) sendApply(info *resource.Info, dry bool) (runtime.Object, error) {
	if info.Name == "" {
		return nil, errors.New("metadata.name is missing, and apply has to find the object: give it a name, or use `loopscope create` for one with generateName")
	}
	text, err := runtime.Encode(unstructured.UnstructuredJSONScheme, info.Object)
	if err != nil {
		return nil, err
	}
	patch := func(force bool) (runtime.Object, error) {
		return r.helper(info, dry).Patch(info.Namespace, info.Name, types.ApplyPatchType, text, &metav1.PatchOptions{Force: &force})
	}
	o, err := patch(r.force)
	if r.takesOver(err) {
		o, err = patch(true)
	}
	if apierrors.IsConflict(err) {
		return nil, conflict(info, err)
	}
	return o, err
}

// takesOver reports whether nothing but what `loopscope create` has set is in the way of
// `loopscope apply`: they are the same to whoever uses them, as kubectl's create and apply are.
func (r *Request) takesOver(err error) bool {
	causes := conflicts(err)
	return r.manager == managerOf("apply") && len(causes) > 0 && !slices.ContainsFunc(causes, func(c metav1.StatusCause) bool {
		return managerIn(c.Message) != managerOf("create")
	})
}

// conflicts are what an error says of fields that others have set.
func conflicts(err error) []metav1.StatusCause {
	var refused *apierrors.StatusError
	if !errors.As(err, &refused) || refused.ErrStatus.Details == nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(refused.ErrStatus.Details.Causes), func(c metav1.StatusCause) bool { return c.Type != metav1.CauseTypeFieldManagerConflict })
}

// conflict names who else has set what, and says what can be done; any other conflict is as it is.
func conflict(info *resource.Info, err error) error {
	fields := map[string][]string{}
	var others []string
	applied := "" // one of them that applies as well
	for _, c := range conflicts(err) {
		who := managerIn(c.Message)
		if fields[who] == nil {
			others = append(others, who)
		}
		if who != nobody && !strings.Contains(c.Message, `" using `) && !strings.Contains(c.Message, `" with subresource `) {
			applied = who
		}
		if !slices.Contains(fields[who], c.Field) {
			fields[who] = append(fields[who], c.Field)
		}
	}
	if len(others) == 0 {
		return err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s was not applied: others have set fields to other values than this input", info.ObjectName())
	for _, who := range others {
		fmt.Fprintf(&b, "\n  %s has set %s", who, prose.And(fields[who]))
	}
	b.WriteString("\nLeave these fields to them by removing them from the input, or give them the values that they have,")
	b.WriteString("\nor take them over with --force-conflicts.")
	if applied != "" {
		fmt.Fprintf(&b, " If %s is you, apply as the same with --field-manager=%s.", applied, applied)
	}
	return errors.New(b.String())
}

// nobody stands for a manager whom no message names.
const nobody = "another manager"

// managerIn is whom the message of a conflict names: conflict with "kubectl-edit" using apps/v1.
func managerIn(message string) string {
	_, rest, found := strings.Cut(message, `"`)
	name, _, closed := strings.Cut(rest, `"`)
	if !found || !closed || name == "" {
		return nobody
	}
	return name
}
