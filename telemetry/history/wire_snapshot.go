package history

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/loopscope/loopscope/controllers/decision"
	"github.com/loopscope/loopscope/controllers/deployment"
	"github.com/loopscope/loopscope/controllers/replicaset"
	"github.com/loopscope/loopscope/telemetry"
)

// Kinds of snapshot. They stand in files: none may change its meaning.
const (
	wireNone uint64 = iota
	wireJSON
	wireDeployment
	wireReplicaSet
)

// snapshot keeps values as values, and anything else as its JSON.
func (w *wire) snapshot(s *telemetry.Snapshot) {
	if w.reads {
		*s = w.readSnapshot()
		return
	}
	switch value := s.Value().(type) {
	case *deployment.Snapshot:
		w.uvarint(wireDeployment)
		w.deployment(value)
	case *replicaset.Snapshot:
		w.uvarint(wireReplicaSet)
		w.replicaSet(value)
	default:
		text, err := s.JSON()
		if err != nil {
			w.err = err
		}
		if len(text) == 0 {
			w.uvarint(wireNone)
			return
		}
		w.uvarint(wireJSON)
		w.uvarint(uint64(len(text)))
		w.data = append(w.data, text...)
	}
}

func (w *wire) readSnapshot() (s telemetry.Snapshot) {
	switch w.uvarint(0) {
	case wireNone:
	case wireDeployment:
		var value deployment.Snapshot
		w.deployment(&value)
		s = telemetry.SnapshotOf(&value)
	case wireReplicaSet:
		var value replicaset.Snapshot
		w.replicaSet(&value)
		s = telemetry.SnapshotOf(&value)
	case wireJSON:
		n := w.uvarint(0)
		if n > uint64(len(w.data)) || !json.Valid(w.data[:n]) {
			w.fail()
			break
		}
		s, w.data = telemetry.SnapshotText(slices.Clone(w.data[:n])), w.data[n:]
	default:
		w.fail()
	}
	return s
}

func (w *wire) deployment(s *deployment.Snapshot) {
	integer(w, &s.Version)
	w.instant(&s.Now)
	each(w, &s.Echo, func(w *wire, e *deployment.Echo) { w.echo((*replicaset.Echo)(e)) })
	w.truth(&s.Found)
	str(w, &s.Namespace)
	str(w, &s.Name)
	str(w, &s.UID)
	str(w, &s.RV)
	w.instant(&s.Created)
	integer(w, &s.Generation)
	w.truth(&s.Deleting)
	str(w, &s.Selector)
	w.truth(&s.SelectsAll)
	str(w, &s.SelectorError)
	w.truth(&s.Paused)
	integer(w, &s.Want)
	str(w, &s.Strategy)
	maybe(w, &s.MaxSurge, (*wire).intOrShare)
	maybe(w, &s.MaxUnavailable, (*wire).intOrShare)
	integer(w, &s.MinReady)
	maybe(w, &s.Deadline, integer[int64])
	maybe(w, &s.HistoryLimit, integer[int64])
	str(w, &s.Revision)
	str(w, &s.RollbackTo)
	each(w, &s.Images, str[string])
	maybe(w, &s.Changed, func(w *wire, c *deployment.TemplateChange) {
		str(w, &c.From)
		str(w, &c.To)
		each(w, &c.Fields, (*wire).change)
		integer(w, &c.More)
	})
	str(w, &s.NextHash)
	str(w, &s.NextName)
	str(w, &s.CollisionHash)
	str(w, &s.CollisionName)
	integer(w, &s.Status.ObservedGeneration)
	for _, n := range []*int64{&s.Status.Replicas, &s.Status.Updated, &s.Status.Ready, &s.Status.Available, &s.Status.Unavailable} {
		integer(w, n)
	}
	maybe(w, &s.Status.Terminating, integer[int64])
	maybe(w, &s.Status.Collisions, integer[int64])
	each(w, &s.Status.Conditions, (*wire).condition)
	w.instant(&s.Held)
	integer(w, &s.Lag)
	each(w, &s.ReplicaSets, (*wire).set)
	w.truth(&s.CountTerminating)
	w.learnt(&s.Learnt)
	each(w, &s.LiveReads, str[string])
	w.instant(&s.LastProgress)
}

func (w *wire) echo(e *replicaset.Echo) {
	str(w, &e.Object)
	str(w, &e.Written)
	str(w, &e.Cached)
	w.instant(&e.Since)
	w.instant(&e.Check)
}

func (w *wire) intOrShare(v *deployment.IntOrShare) {
	integer(w, &v.Int)
	str(w, &v.Share)
}

func (w *wire) condition(c *decision.Condition) {
	str(w, &c.Type)
	str(w, &c.Status)
	str(w, &c.Reason)
	str(w, &c.Message)
	w.instant(&c.Updated)
	w.instant(&c.Transition)
}

// set is a ReplicaSet of a Deployment's snapshot.
func (w *wire) set(s *deployment.ReplicaSet) {
	str(w, &s.Name)
	str(w, &s.UID)
	str(w, &s.RV)
	w.instant(&s.Created)
	for _, b := range []*bool{&s.Mine, &s.Matches, &s.Deleting, &s.SameTemplate, &s.CopyStale} {
		w.truth(b)
	}
	integer(w, &s.Replicas)
	maybe(w, &s.Least, integer[int64])
	for _, n := range []*int64{&s.MinReady, &s.Generation, &s.ObservedGeneration, &s.StatusReplicas, &s.Ready, &s.Available} {
		integer(w, n)
	}
	maybe(w, &s.Terminating, integer[int64])
	maybe(w, &s.Failure, (*wire).condition)
	str(w, &s.Revision)
	str(w, &s.History)
	str(w, &s.Desired)
	str(w, &s.Max)
	each(w, &s.Images, str[string])
	integer(w, &s.NonTerminal)
	integer(w, &s.Unavailable)
	each(w, &s.Blocking, func(w *wire, p *deployment.Pod) {
		str(w, &p.Name)
		w.instant(&p.Created)
		str(w, &p.Phase)
		str(w, &p.Node)
		w.truth(&p.Ready)
		w.instant(&p.ReadySince)
		str(w, &p.Reason)
		str(w, &p.Message)
		str(w, &p.Image)
		w.instant(&p.Since)
		integer(w, &p.Restarts)
	})
	integer(w, &s.Ending)
	maybe(w, &s.Came, func(w *wire, c *deployment.Came) {
		integer(w, &c.Pods)
		integer(w, &c.Fastest)
		integer(w, &c.Slowest)
	})
}

func (w *wire) replicaSet(s *replicaset.Snapshot) {
	integer(w, &s.Version)
	w.instant(&s.Now)
	str(w, &s.Kind)
	each(w, &s.Echo, (*wire).echo)
	w.truth(&s.Found)
	str(w, &s.Namespace)
	str(w, &s.Name)
	str(w, &s.UID)
	str(w, &s.RV)
	integer(w, &s.Generation)
	w.truth(&s.Deleting)
	str(w, &s.Owner)
	str(w, &s.Selector)
	str(w, &s.SelectorError)
	integer(w, &s.Want)
	integer(w, &s.MinReady)
	each(w, &s.Images, str[string])
	integer(w, &s.Burst)
	for _, n := range []*int64{&s.Status.ObservedGeneration, &s.Status.Replicas, &s.Status.FullyLabeled, &s.Status.Ready, &s.Status.Available} {
		integer(w, n)
	}
	maybe(w, &s.Status.Terminating, integer[int64])
	each(w, &s.Status.Conditions, (*wire).condition)
	w.instant(&s.Held)
	integer(w, &s.Lag)
	integer(w, &s.Expect.Creates)
	integer(w, &s.Expect.Deletes)
	w.instant(&s.Expect.Since)
	w.instant(&s.Expect.Expires)
	each(w, &s.Pods, (*wire).pod)
	w.siblings(&s.Siblings)
	w.truth(&s.CountTerminating)
	w.truth(&s.DeletionCost)
	w.learnt(&s.Learnt)
	each(w, &s.LiveReads, str[string])
}

func (w *wire) pod(p *replicaset.Pod) {
	str(w, &p.Name)
	str(w, &p.UID)
	str(w, &p.RV)
	w.truth(&p.Mine)
	w.truth(&p.Matches)
	w.truth(&p.FullLabels)
	w.instant(&p.Created)
	str(w, &p.Phase)
	w.truth(&p.Terminating)
	w.truth(&p.Expected)
	str(w, &p.Node)
	w.truth(&p.Ready)
	w.instant(&p.ReadySince)
	integer(w, &p.Cost)
	integer(w, &p.Restarts)
	integer(w, &p.SidecarRestarts)
	str(w, &p.Reason)
	str(w, &p.Message)
	str(w, &p.Image)
	w.instant(&p.Since)
}

// siblings are written in the order of their names: the same snapshot is the same bytes.
func (w *wire) siblings(m *map[string]int64) {
	type entry struct {
		node string
		pods int64
	}
	var list []entry
	if !w.reads && *m != nil {
		list = make([]entry, 0, len(*m))
		for _, node := range slices.Sorted(maps.Keys(*m)) {
			list = append(list, entry{node, (*m)[node]})
		}
	}
	each(w, &list, func(w *wire, e *entry) {
		str(w, &e.node)
		integer(w, &e.pods)
	})
	if w.reads && list != nil {
		*m = make(map[string]int64, len(list))
		for _, e := range list {
			(*m)[e.node] = e.pods
		}
	}
}
