package create

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
)

var (
	configMaps = schema.GroupResource{Resource: "configmaps"}
	namespaces = schema.GroupResource{Resource: "namespaces"}
)

// Errors are told in kubectl's words, and each hint once.
func TestFailure(t *testing.T) {
	exists, deleted := apierrors.NewAlreadyExists(configMaps, "a"), apierrors.NewAlreadyExists(configMaps, "b")
	deleted.ErrStatus.Message = "object is being deleted: " + deleted.ErrStatus.Message
	const wait = "What is being deleted is there until its finalizers are removed: wait for that with `kubectl wait --for=delete`, then create it again."
	for _, c := range []struct {
		name, want string
		err        error
	}{
		{"ours", "error: no objects passed to create", errors.New("no objects passed to create")},
		{"the server's", "Error from server (Forbidden): configmaps \"a\" is forbidden: no", apierrors.NewForbidden(configMaps, "a", errors.New("no"))},
		{"already there", "Error from server (AlreadyExists): configmaps \"a\" already exists\nTo change what is there, use `loopscope apply`.", exists},
		{"still there", "Error from server (AlreadyExists): object is being deleted: configmaps \"b\" already exists\n" + wait, deleted},
		{"there and still there", "Error from server (AlreadyExists): configmaps \"a\" already exists\nError from server (AlreadyExists): object is being deleted: configmaps \"b\" already exists\nTo change what is there, use `loopscope apply`.\n" + wait,
			utilerrors.NewAggregate([]error{exists, deleted})},
		{"no namespace", "Error from server (NotFound): namespaces \"shop\" not found\nCreate the namespace first, or choose another one with --namespace.", apierrors.NewNotFound(namespaces, "shop")},
		{"another that is not there", "Error from server (NotFound): configmaps \"a\" not found", apierrors.NewNotFound(configMaps, "a")},
		{"several", "Error from server (AlreadyExists): configmaps \"a\" already exists\nError from server (AlreadyExists): configmaps \"b\" already exists\nx\nTo change what is there, use `loopscope apply`.",
			utilerrors.NewAggregate([]error{exists, apierrors.NewAlreadyExists(configMaps, "b"), errors.New("x")})},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := Failure(c.err)
			if err.Error() != c.want {
				t.Errorf("%q, want %q", err, c.want)
			}
			if again := Failure(fmt.Errorf("wrapped: %w", err)); strings.Contains(again.Error(), "error: error") {
				t.Errorf("told twice: %q", again)
			}
			if !errors.Is(err, c.err) && !errors.As(err, new(utilerrors.Aggregate)) {
				t.Error("the cause is lost")
			}
		})
	}
	if Failure(nil) != nil {
		t.Error("nothing is an error")
	}
}
