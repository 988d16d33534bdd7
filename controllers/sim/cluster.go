package sim

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/loopscope/loopscope/controllers/deployment"
	"github.com/loopscope/loopscope/controllers/replicaset"
	"github.com/loopscope/loopscope/telemetry/decision"
)

// MaxPods bounds the pods of a Cluster. Creating more is refused like by a quota.
const MaxPods = 5_000

// burst is how many pods one sync of a ReplicaSet creates or deletes at most.
const burst = 500

// Rules are how pods behave and in which turn the loops sync. They hold for what
// happens after they are set. From sets Terminate to 1 s.
type Rules struct {
	// Schedule is how long a new pod waits for a node.
	Schedule time.Duration
	// Terminate is how long a deleted pod takes to be gone.
	Terminate time.Duration
	// Quota bounds the pods that exist at once; 0 stands for MaxPods.
	Quota int
	// Refuse says why one more pod is refused, of the template that is wanted or of another one, while so many
	// of it and of others are there; "" where it is not. Nil refuses none.
	Refuse func(wanted bool, ofWanted, ofOthers int) string
	// Fate is what becomes of the n-th pod, counted from 1, that a ReplicaSet
	// creates. Nil stands for the usual fate: ready 5 s after it has a node. A
	// ReplicaSet with a fate of its own (NewPods) does not ask.
	Fate func(replicaSet string, n int) Fate
	// Next picks the loop that syncs next where 2 or more are due: a number
	// below due. Nil stands for the first: the Deployment, then its ReplicaSets
	// by age.
	Next func(due int) int
}

// usualReady is the usual fate of a pod, and usualTermination how long it takes to end.
const (
	usualReady       = 5 * time.Second
	usualTermination = time.Second
)

// Cluster is a Deployment with its ReplicaSets and pods, or a rolling update with its
// ReplicationControllers and theirs, and what is due to happen to them. It is made by From,
// FromReplicaSet or FromRollingUpdate, and is not safe for concurrent use.
type Cluster struct {
	Rules Rules

	// spec is the Deployment; its ReplicaSets are in sets.
	spec deployment.Snapshot
	// template numbers the pod template that is wanted now, templates counts
	// them, images holds those that edits have made.
	template, templates int
	images              map[string]int
	fates               map[int]Fate // of new pods by template; others ask the rules
	sets                []*set
	due                 timer // the Deployment's
	now                 time.Time
	wrote               time.Time // the last write, or the beginning
	serial              int       // of everything created or written
	plans               []plan
	begin               func(*deployment.Snapshot) core
	alone               *replicaset.Snapshot // what the only ReplicaSet was made of; nil where there is a Deployment
	rolling             *update              // nil where there is none
}

// core is the pure part of a Deployment's sync, with the status that it settled.
type core interface {
	decision.Core
	Report() *deployment.Report
}

// timer is when a loop syncs next: at once, or when the clock fires. The earliest
// of several times wins, as in the queue of the real loops.
type timer struct {
	now bool
	at  time.Time
}

func (a *timer) fire(at time.Time) {
	if a.at.IsZero() || !at.IsZero() && at.Before(a.at) {
		a.at = at
	}
}

// plan is edits that happen later.
type plan struct {
	at    time.Time
	edits []Edit
}

// From makes a Cluster that looks like the snapshot. What was on its way to the
// caches is taken as arrived. Pods that are named in the snapshot keep their
// names; the available ones, which are only counted there, are given some. A pod
// that waits for a reason that time does not fix stays so, and so do the new pods of
// its ReplicaSet, until an edit says otherwise. It is an error if there is no
// Deployment in the snapshot, or more than MaxPods pods.
func From(s *deployment.Snapshot) (*Cluster, error) {
	if !s.Found {
		return nil, errors.New("model a snapshot: there is no Deployment in it")
	}
	c := &Cluster{Rules: Rules{Terminate: usualTermination}, spec: *s, now: s.Now.UTC().Round(0), begin: func(s *deployment.Snapshot) core { return deployment.NewSync(s) },
		images: map[string]int{}, fates: map[int]Fate{}}
	c.spec.Echo, c.spec.LiveReads, c.spec.ReplicaSets, c.spec.Recent, c.spec.Arrived, c.spec.Contest = nil, nil, nil, nil, nil, nil
	c.due.now, c.wrote = true, c.now
	sets := *s
	sets.ReplicaSets = slices.Clone(s.ReplicaSets)
	sets.Canonical()
	if PodsIn(&sets) > MaxPods {
		return nil, fmt.Errorf("model a snapshot: it has more than %d pods", MaxPods)
	}
	for _, rs := range sets.ReplicaSets {
		c.add(rs)
	}
	return c, nil
}

// PodsIn is how many pods there are in a snapshot, terminating ones included.
func PodsIn(s *deployment.Snapshot) (pods int64) {
	for i := range s.ReplicaSets {
		rs := &s.ReplicaSets[i]
		pods += running(rs) + rs.TerminatingNow
	}
	return pods
}

// Now is the instant that the cluster has come to.
func (c *Cluster) Now() time.Time { return c.now }

// set is a ReplicaSet. Its spec is in rs, and its status is its own.
type set struct {
	rs       deployment.ReplicaSet
	status   replicaset.Status
	held     time.Time // since when its status is held back
	template int
	pods     []*pod
	created  int  // pods created so far
	refused  bool // its last creation was
	due      timer
}

// add models a recorded ReplicaSet. Each has the wanted template, which is
// number 0, or one of its own.
func (c *Cluster) add(rs deployment.ReplicaSet) {
	m := &set{rs: rs, due: timer{now: true}}
	if !rs.SameTemplate {
		c.templates++
		m.template = c.templates
	}
	m.status = replicaset.Status{ObservedGeneration: rs.ObservedGeneration, Replicas: rs.StatusReplicas,
		FullyLabeled: rs.StatusReplicas, Ready: rs.Ready, Available: rs.Available, Terminating: rs.Terminating}
	if rs.Failure != nil {
		m.status.Conditions = []decision.Condition{*rs.Failure}
	}
	c.sets = append(c.sets, m)
	c.populate(m)
}

// running is the number of active pods of a recorded ReplicaSet. A snapshot
// written by hand may have only the counts of the status.
func running(rs *deployment.ReplicaSet) int64 {
	if rs.NonTerminal == 0 {
		return max(rs.StatusReplicas, rs.Unavailable, int64(len(rs.Blocking)))
	}
	return max(rs.NonTerminal-rs.TerminatingNow, rs.Unavailable, int64(len(rs.Blocking)))
}

// unavailable is how many of them are not available.
func unavailable(rs *deployment.ReplicaSet) int64 {
	if rs.NonTerminal == 0 {
		return max(rs.StatusReplicas-rs.Available, rs.Unavailable, int64(len(rs.Blocking)))
	}
	return max(rs.Unavailable, int64(len(rs.Blocking)))
}

// populate gives a recorded ReplicaSet its pods.
func (c *Cluster) populate(m *set) {
	for _, p := range m.rs.Blocking {
		m.pods = append(m.pods, c.recorded(m, p))
	}
	missing := unavailable(&m.rs)
	for int64(len(m.pods)) < missing {
		m.pods = append(m.pods, c.newPod(m))
	}
	since := c.now.Add(-seconds(m.rs.MinReady))
	if m.rs.Created.Before(since) {
		since = m.rs.Created
	}
	for int64(len(m.pods)) < running(&m.rs) {
		p := c.newPod(m)
		p.Node, p.at = c.node(), time.Time{}
		p.ready(since)
		m.pods = append(m.pods, p)
	}
	for range m.rs.TerminatingNow {
		p := c.newPod(m)
		p.terminate(c.now.Add(c.Rules.Terminate))
		m.pods = append(m.pods, p)
	}
	m.rs.Blocking, m.rs.Disrupted = nil, nil
}

// next numbers what is created or written.
func (c *Cluster) next() int {
	c.serial++
	return c.serial
}

func (c *Cluster) rv() string { return fmt.Sprintf("sim-%d", c.next()) }

// named finds a ReplicaSet, nil if there is none of that name.
func (c *Cluster) named(name string) *set {
	i := slices.IndexFunc(c.sets, func(m *set) bool { return m.rs.Name == name })
	if i < 0 {
		return nil
	}
	return c.sets[i]
}

// touched notes that a number of a ReplicaSet has changed, which wakes the Deployment.
func (c *Cluster) touched() { c.due.now, c.spec.LastProgress = true, c.now }

// seconds is a length of time as an int32 holds it.
func seconds(n int64) time.Duration { return time.Duration(max(0, min(n, 1<<31-1))) * time.Second }
