package effects

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/types"
	appslisters "k8s.io/client-go/listers/apps/v1"

	"github.com/loopscope/loopscope/controllers/deployment"
	"github.com/loopscope/loopscope/controllers/family"
	"github.com/loopscope/loopscope/controllers/internal/lab"
	"github.com/loopscope/loopscope/telemetry/decision"
)

// [D-0]: a key that names no object is an error that names the key.
func TestDeploymentKeysThatNameNothing(t *testing.T) {
	if _, err := newDeploymentCaches(t).deployments.Observe(t.Context(), "a/b/c"); err == nil || !strings.Contains(err.Error(), `"a/b/c"`) {
		t.Errorf("%v, want an error that names the key", err)
	}
}

// A write to the Deployment is compared with its version, one to a ReplicaSet with that one's.
func TestVersionsInTheCaches(t *testing.T) {
	d := &deploymentSync{d: lab.Deployment("web", "d-1", appsv1.RollingUpdateDeploymentStrategyType), s: deployment.Snapshot{ReplicaSets: []deployment.ReplicaSet{{UID: "r-1", RV: "8"}, {UID: "r-2", RV: "9"}}}}
	d.d.ResourceVersion = "7"
	for _, c := range []struct{ resource, uid, want string }{{family.ResourceDeployments, "d-1", "7"}, {family.ResourceReplicaSets, "r-2", "9"}, {family.ResourceReplicaSets, "r-3", ""}} {
		if got := d.cached(c.resource, types.UID(c.uid)); got != c.want {
			t.Errorf("%s %s: version %q, want %q", c.resource, c.uid, got, c.want)
		}
	}
}

// [D-2]: what the caches hold is shared, and a sync that writes changes copies alone.
func TestSyncsLeaveTheCachesAlone(t *testing.T) {
	caches := newDeploymentCaches(t)
	d := lab.Deployment("web", "d-1", appsv1.RollingUpdateDeploymentStrategyType)
	d.Generation, d.Annotations = 3, map[string]string{"team": "red"}
	d.Spec.Replicas = new(int32(5))
	d.Spec.Template.Labels = map[string]string{"app": "web"}
	rs := &appsv1.ReplicaSet{ObjectMeta: lab.Object("web-1", "r-1", "1", map[string]string{"app": "web"}, lab.OwnedBy(family.KindDeployment, "web", "d-1"))}
	rs.Spec.Replicas = new(int32(2))
	rs.Spec.Template = *d.Spec.Template.DeepCopy()
	before, setBefore := d.DeepCopy(), rs.DeepCopy()
	caches.Add(t, d, rs)
	target, err := caches.deployments.Observe(t.Context(), "shop/web")
	if err != nil {
		t.Fatal(err)
	}
	s := decision.Sync{Core: target.Core()}
	s.Run(func(v decision.Verdict) ([]decision.Outcome, decision.Learnt) {
		if len(v.Actions) == 0 {
			t.Fatal("the sync writes nothing")
		}
		for _, action := range v.Actions {
			target.Do(t.Context(), action)
		}
		return nil, decision.Learnt{}
	})
	target.Publish(t.Context())
	if diff := cmp.Diff(before, d) + cmp.Diff(setBefore, rs); diff != "" {
		t.Errorf("the sync changed cached objects:\n%s", diff)
	}
}

type unreadableDeployments struct {
	appslisters.DeploymentLister
}

func (unreadableDeployments) Deployments(string) appslisters.DeploymentNamespaceLister {
	return unreadableNamespace{}
}

// A cache that cannot be read is no object that is gone.
func TestUnreadableDeploymentCaches(t *testing.T) {
	b := newDeploymentCaches(t).deployments
	b.deployments = unreadableDeployments{}
	b.MarkUnresolved("shop/web")
	if _, err := b.Observe(t.Context(), "shop/web"); err == nil || err.Error() != "read cache: closed" {
		t.Errorf("%v, want what failed", err)
	}
	if !b.Unresolved("shop/web") {
		t.Error("what is due for a live read is forgotten")
	}
}

type unreadableNamespace struct {
	appslisters.DeploymentNamespaceLister
}

func (unreadableNamespace) Get(string) (*appsv1.Deployment, error) { return nil, errors.New("closed") }
