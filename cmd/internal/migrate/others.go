package migrate

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/kubernetes"

	"github.com/loopscope/loopscope/telemetry/prose"
)

// readOthers reads the ReplicaSets that the migration's Deployment has made from other templates.
// Once it is gone they are known by the annotation that its loop has copied to them.
func (c *Cluster) readOthers(ctx context.Context, client kubernetes.Interface, namespace string, r *record) error {
	how := metav1.ListOptions{LabelSelector: labels.SelectorFromSet(r.Selector).String()}
	list, err := client.AppsV1().ReplicaSets(namespace).List(ctx, how)
	if err != nil {
		return fmt.Errorf("list ReplicaSets: %w", err)
	}
	d := c.Deployment
	ours := d != nil && from(d, c.Controller)
	for i := range list.Items {
		set := &list.Items[i]
		owner := ownerOf(set)
		left := owner == "" && from(set, c.Controller)
		if set.Name != setName(r) && (left || ours && owner == d.UID) {
			c.Others = append(c.Others, set)
		}
	}
	return nil
}

// populated are the other ReplicaSets that have pods, or are about to.
func (c *Cluster) populated() (list []*appsv1.ReplicaSet) {
	for _, set := range c.Others {
		if set.DeletionTimestamp == nil && (replicas(set.Spec.Replicas) > 0 || set.Status.Replicas > 0 || len(c.owned(set.UID)) > 0) {
			list = append(list, set)
		}
	}
	return list
}

// replaced reports whether a ReplicaSet replaces a pod that ends.
func (c *Cluster) replaced() bool {
	set := c.Set
	return set != nil && set.DeletionTimestamp == nil && !sealed(&set.Spec.Template) || len(c.populated()) > 0
}

// dropOthers deletes the ReplicaSets of other templates, which nothing has use for without the
// Deployment. One with pods is in the way: the ReplicationController would make its own beside them.
func dropOthers(c *Cluster) (s Step, due bool) {
	var deletions []Write
	for _, set := range c.Others {
		if set.DeletionTimestamp != nil {
			return wait("until ReplicaSet %s is gone, which is being deleted", set.Name), true
		}
		deletions = append(deletions, write(Delete, set))
	}
	if full := c.populated(); len(full) > 0 {
		return blocked("%s pods of another template, and the ReplicationController would make its own beside them: delete what is not needed first, with `kubectl -n %s delete replicaset %s`",
			theyHave(full), full[0].Namespace, full[0].Name), true
	}
	if len(deletions) == 0 {
		return Step{}, false
	}
	return act("delete "+prose.Count(len(deletions), "ReplicaSet")+" of other templates", "no loop has anything to do with it, as there are no pods of these", deletions...), true
}

func theyHave(sets []*appsv1.ReplicaSet) string {
	var names []string
	for _, set := range sets {
		names = append(names, set.Name)
	}
	some := prose.Some(names, mostNames)
	return prose.Plural(len(names), "ReplicaSet "+some+" has", "ReplicaSets "+some+" have")
}
