package create

import (
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/cli-runtime/pkg/resource"
)

func conflictOf(causes ...metav1.StatusCause) error {
	return apierrors.NewApplyConflict(causes, "it did not work")
}

func cause(message, field string) metav1.StatusCause {
	return metav1.StatusCause{Type: metav1.CauseTypeFieldManagerConflict, Message: message, Field: field}
}

// A conflict names each manager once, with its fields, and the way out that there is.
func TestConflict(t *testing.T) {
	info := &resource.Info{Name: "web", Object: &unstructured.Unstructured{}}
	for _, c := range []struct {
		name    string
		err     error
		says    []string
		without string
	}{
		{"who wrote otherwise", conflictOf(cause(`conflict with "kubectl-edit" using apps/v1`, ".spec.replicas"), cause(`conflict with "kubectl-edit" using apps/v1`, ".spec.paused"), cause(`conflict with "kubectl-edit" using apps/v1`, ".spec.paused")),
			[]string{"kubectl-edit has set .spec.replicas and .spec.paused\n", "--force-conflicts"}, "--field-manager"},
		{"who applied", conflictOf(cause(`conflict with "kubectl"`, ".spec.replicas")), []string{"kubectl has set .spec.replicas", "If kubectl is you, apply as the same with --field-manager=kubectl."}, ""},
		{"two", conflictOf(cause(`conflict with "a" using v1`, ".x"), cause(`conflict with "b" using v1`, ".y")), []string{"a has set .x", "b has set .y"}, "--field-manager"},
		{"words of another release", conflictOf(cause("no", ".x")), []string{"another manager has set .x"}, "--field-manager"},
		{"another conflict", apierrors.NewConflict(metav1.Unversioned.WithResource("pods").GroupResource(), "web", nil), []string{"Operation cannot be fulfilled"}, "--force-conflicts"},
	} {
		t.Run(c.name, func(t *testing.T) {
			text := conflict(info, c.err).Error()
			for _, want := range c.says {
				if !strings.Contains(text, want) {
					t.Errorf("%q does not say %q", text, want)
				}
			}
			if c.without != "" && strings.Contains(text, c.without) {
				t.Errorf("%q says %q", text, c.without)
			}
		})
	}
}

// Apply takes over what create has set, and nothing where anybody else is in the way or it goes by
// another name.
func TestTakesOver(t *testing.T) {
	create, edit := cause(`conflict with "loopscope-create" using apps/v1`, ".x"), cause(`conflict with "kubectl-edit" using apps/v1`, ".y")
	for _, c := range []struct {
		name, manager string
		err           error
		want          bool
	}{
		{"what create has set", "loopscope-apply", conflictOf(create, create), true},
		{"somebody else", "loopscope-apply", conflictOf(edit), false},
		{"somebody else as well", "loopscope-apply", conflictOf(create, edit), false},
		{"under another name", "ci", conflictOf(create), false},
		{"words of another release", "loopscope-apply", conflictOf(cause("no", ".x")), false},
		{"another conflict", "loopscope-apply", apierrors.NewConflict(metav1.Unversioned.WithResource("pods").GroupResource(), "web", nil), false},
		{"no error", "loopscope-apply", nil, false},
	} {
		if got := (&Request{manager: c.manager}).takesOver(c.err); got != c.want {
			t.Errorf("%s: %t, want %t", c.name, got, c.want)
		}
	}
}

// FuzzManagerIn proves that whatever the message of a conflict is, somebody is named, and
// nobody whom it does not name.
func FuzzManagerIn(f *testing.F) {
	for _, s := range []string{`conflict with "kubectl-edit" using apps/v1`, `conflict with "a"`, `"`, `""`, `"a`, "", `x "y" "z"`, "\x00\"\x1b\""} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, message string) {
		switch name := managerIn(message); {
		case name == "":
			t.Fatal("nobody is named")
		case name != nobody && (!strings.Contains(message, `"`+name+`"`) || strings.Contains(name, `"`)):
			t.Fatalf("%q names %q", message, name)
		}
	})
}
