package telemetry

import (
	"testing"
)

// TestSplitKey: what has no namespace is a name.
func TestSplitKey(t *testing.T) {
	for key, want := range map[string][2]string{"shop/web": {"shop", "web"}, "web": {"", "web"}, "": {}} {
		if namespace, name := SplitKey(key); namespace != want[0] || name != want[1] {
			t.Errorf("%q: %q, %q", key, namespace, name)
		}
	}
}

// TestHeadOf is the owner, of a loop whose objects have one.
func TestHeadOf(t *testing.T) {
	for name, c := range map[string]struct {
		o     Object
		owner string
		want  Object
	}{
		"owned":             {Object{"replicaset", "shop", "web-1"}, "web", object("web")},
		"not owned":         {Object{"replicaset", "shop", "web-1"}, "", Object{"replicaset", "shop", "web-1"}},
		"of no loop's kind": {object("web"), "site", object("web")},
	} {
		if got := HeadOf(TestLoops, c.o, c.owner); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
