package effects

import (
	"errors"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
)

// [RS-0]: a key that names no object is an error that names the key.
func TestKeysThatNameNothing(t *testing.T) {
	caches := newReplicaSetCaches(t)
	_, ofReplicaSet := caches.replicaSets.Observe(t.Context(), "a/b/c")
	_, ofController := caches.controllers.Observe(t.Context(), "a/b/c")
	for loop, err := range map[string]error{"replicaset": ofReplicaSet, "replicationcontroller": ofController} {
		if err == nil || !strings.Contains(err.Error(), `"a/b/c"`) {
			t.Errorf("%s: %v, want an error that names the key", loop, err)
		}
	}
}

// unreadable is a cache of owners that fails, and unreadableDeployments one of Deployments.
type unreadable struct{ owners }

func (unreadable) get(string, string) (*appsv1.ReplicaSet, error) { return nil, errors.New("closed") }

// A cache that cannot be read is no object that is gone.
func TestUnreadableCaches(t *testing.T) {
	b := newReplicaSetCaches(t).replicaSets
	b.owners = unreadable{b.owners}
	b.MarkUnresolved("shop/web")
	if _, err := b.Observe(t.Context(), "shop/web"); err == nil || err.Error() != "read cache: closed" {
		t.Errorf("%v, want what failed", err)
	}
	if !b.Unresolved("shop/web") {
		t.Error("what is due for a live read is forgotten")
	}
}
