package wire

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/loopscope/loopscope/controllers/deployment"
	"github.com/loopscope/loopscope/controllers/replicaset"
	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/decision"
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
	*w = coder{inline: true, data: w.data[:0]}
	switch s := value.(type) {
	case *deployment.Snapshot:
		w.begin(kindDeployment, s.Now)
		w.deployment(s)
	case *replicaset.Snapshot:
		w.begin(kindReplicaSet, s.Now)
		w.replicaSet(s)
	default:
		panic(fmt.Sprintf("wire: %T is not a snapshot", value))
	}
	if w.err != nil {
		return telemetry.Snapshot{}, w.err
	}
	return telemetry.SnapshotOf(packed(slices.Clone(w.data))), nil
}

func (w *coder) begin(kind byte, now time.Time) {
	w.data = append(w.data, kind)
	w.start = w.varint(now.Unix())
}

// Bytes is how much memory it takes.
func (p packed) Bytes() int { return len(p) }

// Unpack reads the value.
func (p packed) Unpack() (any, error) {
	w := coder{inline: true, reads: true, data: p[1:]}
	w.start = signed(w.next())
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
	n := w.next()
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
	str(w, &s.Namespace)
	str(w, &s.Name)
	str(w, &s.UID)
	rv(w, &s.RV)
	w.instant(&s.Created)
	integer(w, &s.Generation)
	str(w, &s.Selector)
	integer(w, &s.Want)
	str(w, &s.Strategy)
	m := w.mask(2)
	m.bool(&s.Found)
	m.bool(&s.Deleting)
	m.bool(&s.SelectsAll)
	m.bool(&s.Paused)
	m.bool(&s.CountTerminating)
	orEach(&m, &s.Echo, func(w *coder, e *deployment.Echo) { w.echo((*replicaset.Echo)(e)) })
	orStr(&m, &s.SelectorError)
	maybe(&m, &s.MaxSurge, (*coder).intOrPercent)
	maybe(&m, &s.MaxUnavailable, (*coder).intOrPercent)
	orInteger(&m, &s.MinReady)
	maybe(&m, &s.Deadline, integer[int64])
	maybe(&m, &s.HistoryLimit, integer[int64])
	orStr(&m, &s.Revision)
	orStr(&m, &s.RollbackTo)
	orEach(&m, &s.Images, str[string])
	maybe(&m, &s.Changed, func(w *coder, c *deployment.TemplateChange) {
		str(w, &c.From)
		str(w, &c.To)
		each(w, &c.Fields, (*coder).change)
		integer(w, &c.More)
	})
	m.end()
	m = w.mask(3)
	orStr(&m, &s.NextHash)
	orStr(&m, &s.NextName)
	orStr(&m, &s.CollisionHash)
	orStr(&m, &s.CollisionName)
	for _, n := range []*int64{&s.Status.ObservedGeneration, &s.Status.Replicas, &s.Status.Updated, &s.Status.Ready, &s.Status.Available, &s.Status.Unavailable} {
		orInteger(&m, n)
	}
	maybe(&m, &s.Status.Terminating, integer[int64])
	maybe(&m, &s.Status.Collisions, integer[int64])
	orEach(&m, &s.Status.Conditions, (*coder).condition)
	m.instant(&s.Held)
	orInteger(&m, &s.Lag)
	orEach(&m, &s.ReplicaSets, (*coder).set)
	if m.has(!s.Learnt.IsZero()) {
		w.learnt(&s.Learnt)
	}
	orEach(&m, &s.LiveReads, str[string])
	m.instant(&s.LastProgress)
	m.instant(&s.NamespaceTerminating)
	maybe(&m, &s.Recent, (*coder).recentChange)
	orEach(&m, &s.Arrived, str[string])
	m.end()
}

func (w *coder) recentChange(n *decision.RecentChange) {
	str(w, &n.Kind)
	w.instant(&n.At)
	m := w.mask(1)
	m.instant(&n.Told)
	orStr(&m, &n.By)
	orStr(&m, &n.Object)
	for _, count := range []*int64{&n.Count, &n.From, &n.To, &n.Became} {
		orInteger(&m, count)
	}
	m.end()
}

func (w *coder) echo(e *replicaset.Echo) {
	str(w, &e.Object)
	rv(w, &e.Written)
	rv(w, &e.Cached)
	w.instant(&e.Since)
	w.instant(&e.Check)
}

func (w *coder) intOrPercent(v *deployment.IntOrPercent) {
	integer(w, &v.Int)
	str(w, &v.Percent)
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
	rv(w, &s.RV)
	w.instant(&s.Created)
	m := w.mask(2)
	for _, b := range []*bool{&s.Mine, &s.Matches, &s.Deleting, &s.SameTemplate, &s.CopyStale} {
		m.bool(b)
	}
	orInteger(&m, &s.Replicas)
	maybe(&m, &s.Least, integer[int64])
	for _, n := range []*int64{&s.MinReady, &s.Generation, &s.ObservedGeneration, &s.StatusReplicas, &s.Ready, &s.Available} {
		orInteger(&m, n)
	}
	maybe(&m, &s.Terminating, integer[int64])
	maybe(&m, &s.Failure, (*coder).condition)
	m.end()
	m = w.mask(2)
	orStr(&m, &s.Revision)
	orStr(&m, &s.History)
	orStr(&m, &s.Desired)
	orStr(&m, &s.Max)
	orEach(&m, &s.Images, str[string])
	orInteger(&m, &s.NonTerminal)
	orInteger(&m, &s.Unavailable)
	orEach(&m, &s.Blocking, (*coder).blocking)
	orInteger(&m, &s.TerminatingNow)
	maybe(&m, &s.Startup, func(w *coder, c *deployment.StartupTimes) {
		integer(w, &c.Pods)
		integer(w, &c.Fastest)
		integer(w, &c.Slowest)
	})
	w.containers(&m, s.Blocking)
	orEach(&m, &s.TerminatingPods, (*coder).terminating)
	orEach(&m, &s.Disrupted, func(w *coder, p *decision.DisruptedPod) {
		str(w, &p.Name)
		w.instant(&p.Created)
		str(w, &p.Node)
		w.disruption(&p.Disruption)
	})
	m.end()
}

func (w *coder) replicaSet(s *replicaset.Snapshot) {
	integer(w, &s.Version)
	w.instant(&s.Now)
	str(w, &s.Kind)
	str(w, &s.Namespace)
	str(w, &s.Name)
	str(w, &s.UID)
	rv(w, &s.RV)
	integer(w, &s.Generation)
	str(w, &s.Selector)
	integer(w, &s.Want)
	integer(w, &s.Burst)
	m := w.mask(2)
	m.bool(&s.Found)
	m.bool(&s.Deleting)
	m.bool(&s.CountTerminating)
	m.bool(&s.DeletionCost)
	orEach(&m, &s.Echo, (*coder).echo)
	orStr(&m, &s.Owner)
	orStr(&m, &s.SelectorError)
	orInteger(&m, &s.MinReady)
	orEach(&m, &s.Images, str[string])
	for _, n := range []*int64{&s.Status.ObservedGeneration, &s.Status.Replicas, &s.Status.FullyLabeled, &s.Status.Ready, &s.Status.Available} {
		orInteger(&m, n)
	}
	maybe(&m, &s.Status.Terminating, integer[int64])
	orEach(&m, &s.Status.Conditions, (*coder).condition)
	m.end()
	m = w.mask(2)
	m.instant(&s.Held)
	orInteger(&m, &s.Lag)
	orInteger(&m, &s.Expect.Creates)
	orInteger(&m, &s.Expect.Deletes)
	m.instant(&s.Expect.Since)
	m.instant(&s.Expect.Expires)
	orEach(&m, &s.Pods, (*coder).pod)
	if m.has(s.Siblings != nil) {
		w.siblings(&s.Siblings)
	}
	if m.has(!s.Learnt.IsZero()) {
		w.learnt(&s.Learnt)
	}
	orEach(&m, &s.LiveReads, str[string])
	maybe(&m, &s.Recent, (*coder).recentChange)
	w.disruptions(&m, s.Pods)
	m.end()
}

func (w *coder) pod(p *replicaset.Pod) {
	str(w, &p.Name)
	str(w, &p.UID)
	rv(w, &p.RV)
	w.instant(&p.Created)
	str(w, &p.Phase)
	m := w.mask(2)
	for _, b := range []*bool{&p.Mine, &p.Matches, &p.FullLabels, &p.Terminating, &p.Expected, &p.Ready} {
		m.bool(b)
	}
	orStr(&m, &p.Node)
	m.instant(&p.ReadySince)
	orInteger(&m, &p.Cost)
	orInteger(&m, &p.Restarts)
	orInteger(&m, &p.SidecarRestarts)
	orStr(&m, &p.Reason)
	orStr(&m, &p.Message)
	orStr(&m, &p.Image)
	m.instant(&p.Since)
	if m.has(p.ContainerState != (decision.ContainerState{})) {
		w.containerState(&p.ContainerState)
	}
	m.end()
}

// siblings are written in the order of their names: the same snapshot is the same bytes.
func (w *coder) siblings(m *map[string]int64) {
	type entry struct {
		node string
		pods int64
	}
	list := make([]entry, 0, len(*m))
	for _, node := range slices.Sorted(maps.Keys(*m)) {
		list = append(list, entry{node, (*m)[node]})
	}
	each(w, &list, func(w *coder, e *entry) {
		str(w, &e.node)
		integer(w, &e.pods)
	})
	if w.reads {
		*m = make(map[string]int64, len(list))
		for _, e := range list {
			(*m)[e.node] = e.pods
		}
	}
}
