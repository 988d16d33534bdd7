package create

import (
	"errors"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	cmdutil "k8s.io/kubectl/pkg/cmd/util"
)

// Failed is an error in kubectl's words, whole as it is printed.
type Failed struct {
	text  string
	cause error
}

func (f *Failed) Error() string { return f.text }

// Unwrap returns the error that is told.
func (f *Failed) Unwrap() error { return f.cause }

// Failure tells an error in kubectl's words, and what can be done where these do not; nil
// stays nil.
func Failure(err error) error {
	if err == nil || errors.As(err, new(*Failed)) {
		return err
	}
	text := ""
	cmdutil.BehaviorOnFatal(func(message string, _ int) { text = message })
	defer cmdutil.DefaultBehaviorOnFatal()
	cmdutil.CheckErr(err)
	text = strings.TrimSuffix(text, "\n")
	for _, hint := range hints(err) {
		text += "\n" + hint
	}
	return &Failed{text, err}
}

// hints say what can be done about errors, each once.
func hints(err error) []string {
	var list []string
	for _, h := range []struct {
		is   func(error) bool
		what string
	}{
		{func(err error) bool { return apierrors.IsAlreadyExists(err) && !beingDeleted(err) }, "To change what is there, use `loopscope apply`."},
		{beingDeleted, "What is being deleted is there until its finalizers are removed: wait for that with `kubectl wait --for=delete`, then create it again."},
		{missingNamespace, "Create the namespace first, or choose another one with --namespace."},
	} {
		if anyOf(err, h.is) {
			list = append(list, h.what)
		}
	}
	return list
}

func anyOf(err error, is func(error) bool) bool {
	var all utilerrors.Aggregate
	if !errors.As(err, &all) {
		return is(err)
	}
	for _, e := range all.Errors() {
		if anyOf(e, is) {
			return true
		}
	}
	return false
}

// beingDeleted reports whether the name is taken by an object that is about to go, in the API server's words.
func beingDeleted(err error) bool {
	return apierrors.IsAlreadyExists(err) && strings.Contains(err.Error(), "object is being deleted: ")
}

func missingNamespace(err error) bool {
	var status apierrors.APIStatus
	if !apierrors.IsNotFound(err) || !errors.As(err, &status) {
		return false
	}
	details := status.Status().Details
	return details != nil && details.Kind == "namespaces"
}
