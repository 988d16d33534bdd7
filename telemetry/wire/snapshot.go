package wire

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/loopscope/loopscope/controllers/decision"
	"github.com/loopscope/loopscope/controllers/deployment"
	"github.com/loopscope/loopscope/controllers/replicaset"
	"github.com/loopscope/loopscope/telemetry"
)

// Kinds of snapshot. They stand in files: none may change its meaning.
const (
	kindJSON byte = iota + 1
	kindDeployment
	kindReplicaSet
)

// packed is a snapshot as bytes, its kind in front. A trace that keeps no value
// keeps nothing else alive, and there is nothing in it for the garbage collector.
type packed []byte

// scratch is for packing.
var scratch = sync.Pool{New: func() any { return &coder{inline: true} }}

// Pack makes bytes of a *deployment.Snapshot or *replicaset.Snapshot, in a
// fraction of the time that JSON takes: this is how a trace keeps it. The error is
// that of a value which JSON could not hold.
func Pack(value any) (telemetry.Snapshot, error) {
	w := scratch.Get().(*coder)
	defer scratch.Put(w)
	w.data, w.err = w.data[:0], nil
	switch s := value.(type) {
	case *deployment.Snapshot:
		w.begin(kindDeployment, s.Now)
		w.deployment(s)
	case *replicaset.Snapshot:
		w.begin(kindReplicaSet, s.Now)
		w.replicaSet(s)
	default:
		panic(fmt.Sprintf("wire: %T is no snapshot", value))
	}
	if w.err != nil {
		return telemetry.Snapshot{}, w.err
	}
	return telemetry.SnapshotOf(packed(slices.Clone(w.data))), nil
}

func (w *coder) begin(kind byte, now time.Time) {
	w.data = append(w.data, kind)
	w.start = 0
	w.start = w.varint(now.Unix())
}

// Bytes is how much memory it takes.
func (p packed) Bytes() int { return len(p) }

// Unpack reads the value.
func (p packed) Unpack() (any, error) {
	w := coder{inline: true, reads: true, data: p[1:]}
	w.start = w.varint(0)
	switch p[0] {
	case kindDeployment:
		value := new(deployment.Snapshot)
		w.deployment(value)
		return value, w.end()
	case kindReplicaSet:
		value := new(replicaset.Snapshot)
		w.replicaSet(value)
		return value, w.end()
	}
	return nil, errShort
}

// snapshot keeps packed ones as they are, and anything else as its JSON.
func (w *coder) snapshot(s *telemetry.Snapshot) {
	if w.reads {
		*s = w.readSnapshot()
		return
	}
	p, ok := s.Value().(packed)
	if !ok && !s.IsZero() {
		text, err := s.JSON()
		if err != nil {
			w.err = err
		}
		p = append(packed{kindJSON}, text...)
	}
	w.uvarint(uint64(len(p)))
	w.data = append(w.data, p...)
}

func (w *coder) readSnapshot() (s telemetry.Snapshot) {
	n := w.uvarint(0)
	if n == 0 {
		return s
	}
	if n > uint64(len(w.data)) {
		w.fail()
		return s
	}
	p := slices.Clone(packed(w.data[:n]))
	w.data = w.data[n:]
	if p[0] == kindJSON && json.Valid(p[1:]) {
		return telemetry.SnapshotText(json.RawMessage(p[1:]))
	}
	if _, err := p.Unpack(); err != nil { // Looked at here, so that nobody finds later that it is damaged.
		w.fail()
		return s
	}
	return telemetry.SnapshotOf(p)
}

func (w *coder) deployment(s *deployment.Snapshot) {
	integer(w, &s.Version)
	w.instant(&s.Now)
	each(w, &s.Echo, func(w *coder, e *deployment.Echo) { w.echo((*replicaset.Echo)(e)) })
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
	maybe(w, &s.MaxSurge, (*coder).intOrShare)
	maybe(w, &s.MaxUnavailable, (*coder).intOrShare)
	integer(w, &s.MinReady)
	maybe(w, &s.Deadline, integer[int64])
	maybe(w, &s.HistoryLimit, integer[int64])
	str(w, &s.Revision)
	str(w, &s.RollbackTo)
	each(w, &s.Images, str[string])
	maybe(w, &s.Changed, func(w *coder, c *deployment.TemplateChange) {
		str(w, &c.From)
		str(w, &c.To)
		each(w, &c.Fields, (*coder).change)
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
	each(w, &s.Status.Conditions, (*coder).condition)
	w.instant(&s.Held)
	integer(w, &s.Lag)
	each(w, &s.ReplicaSets, (*coder).set)
	w.truth(&s.CountTerminating)
	w.learnt(&s.Learnt)
	each(w, &s.LiveReads, str[string])
	w.instant(&s.LastProgress)
}

func (w *coder) echo(e *replicaset.Echo) {
	str(w, &e.Object)
	str(w, &e.Written)
	str(w, &e.Cached)
	w.instant(&e.Since)
	w.instant(&e.Check)
}

func (w *coder) intOrShare(v *deployment.IntOrShare) {
	integer(w, &v.Int)
	str(w, &v.Share)
}

func (w *coder) condition(c *decision.Condition) {
	str(w, &c.Type)
	str(w, &c.Status)
	str(w, &c.Reason)
	str(w, &c.Message)
	w.instant(&c.Updated)
	w.instant(&c.Transition)
}

// set is a ReplicaSet of a Deployment's snapshot.
func (w *coder) set(s *deployment.ReplicaSet) {
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
	maybe(w, &s.Failure, (*coder).condition)
	str(w, &s.Revision)
	str(w, &s.History)
	str(w, &s.Desired)
	str(w, &s.Max)
	each(w, &s.Images, str[string])
	integer(w, &s.NonTerminal)
	integer(w, &s.Unavailable)
	each(w, &s.Blocking, func(w *coder, p *deployment.Pod) {
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
	maybe(w, &s.Came, func(w *coder, c *deployment.Came) {
		integer(w, &c.Pods)
		integer(w, &c.Fastest)
		integer(w, &c.Slowest)
	})
}

func (w *coder) replicaSet(s *replicaset.Snapshot) {
	integer(w, &s.Version)
	w.instant(&s.Now)
	str(w, &s.Kind)
	each(w, &s.Echo, (*coder).echo)
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
	each(w, &s.Status.Conditions, (*coder).condition)
	w.instant(&s.Held)
	integer(w, &s.Lag)
	integer(w, &s.Expect.Creates)
	integer(w, &s.Expect.Deletes)
	w.instant(&s.Expect.Since)
	w.instant(&s.Expect.Expires)
	each(w, &s.Pods, (*coder).pod)
	w.siblings(&s.Siblings)
	w.truth(&s.CountTerminating)
	w.truth(&s.DeletionCost)
	w.learnt(&s.Learnt)
	each(w, &s.LiveReads, str[string])
}

func (w *coder) pod(p *replicaset.Pod) {
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
func (w *coder) siblings(m *map[string]int64) {
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
	each(w, &list, func(w *coder, e *entry) {
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
