package sim

import (
	"errors"
	"fmt"
	"time"

	"github.com/loopscope/loopscope/controllers/deployment"
	"github.com/loopscope/loopscope/controllers/replicaset"
)

// FromReplicaSet makes a Cluster of a ReplicaSet or a ReplicationController that no Deployment
// owns: its loop alone syncs. Orphans that match are taken as adopted, and pods that no longer
// match as released; otherwise it is as with From.
func FromReplicaSet(s *replicaset.Snapshot) (*Cluster, error) {
	if !s.Found {
		return nil, errors.New("model a snapshot: there is no object in it")
	}
	c := &Cluster{Rules: Rules{Terminate: usualTermination}, now: s.Now.UTC().Round(0), images: map[string]int{}, fates: map[int]Fate{}, alone: s}
	c.spec.Namespace, c.spec.CountTerminating, c.wrote = s.Namespace, s.CountTerminating, c.now
	m := &set{status: s.Status, held: s.Held, due: timer{now: true}, rs: deployment.ReplicaSet{
		Name: s.Name, UID: s.UID, RV: s.RV, Mine: true, Matches: true, SameTemplate: true, Replicas: s.Want, MinReady: s.MinReady,
		Generation: s.Generation, Deleting: s.Deleting, Images: s.Images}}
	c.sets = append(c.sets, m)
	for i := range s.Pods {
		if p := &s.Pods[i]; p.Matches && !finished(p) {
			m.pods = append(m.pods, c.copied(m, p))
		}
	}
	if len(m.pods) > MaxPods {
		return nil, fmt.Errorf("model a snapshot: it has more than %d pods", MaxPods)
	}
	return c, nil
}

func finished(p *replicaset.Pod) bool { return p.Phase == "Succeeded" || p.Phase == "Failed" }

// copied makes a pod as a ReplicaSet's sync has observed it.
func (c *Cluster) copied(m *set, r *replicaset.Pod) *pod {
	p := c.newPod(m)
	fate := p.fate
	p.Pod, p.Mine = *r, true
	switch {
	case r.Terminating:
		p.terminate(c.now.Add(c.Rules.Terminate))
	case r.Ready:
		p.at = time.Time{}
		p.ready(r.ReadySince)
	case !passing[r.Reason]:
		p.setFate(Stuck(r.Reason), c)
	default:
		p.setFate(fate, c)
	}
	return p
}

// Size is the only ReplicaSet of such a Cluster as it is now.
func (c *Cluster) Size() Size { return c.Sizes()[0] }

// Sizes are the ReplicaSets or ReplicationControllers as they are now, by age.
func (c *Cluster) Sizes() []Size {
	var now Step
	c.measure(&now)
	return now.Sets
}
