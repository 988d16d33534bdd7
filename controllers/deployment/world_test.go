package deployment_test

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/loopscope/loopscope/controllers/deployment"
	"github.com/loopscope/loopscope/telemetry/decision"
)

// world is a model of one Deployment in a cluster: its spec and status, its
// ReplicaSets with their pods, and the loops around it, one step at a time.
type world struct {
	d        deployment.Snapshot // spec and status; ReplicaSets are in sets
	template int
	sets     []*modelSet
	clock    time.Time
	serial   int
}

// modelSet is a ReplicaSet. What it reports lags behind its pods until it syncs.
type modelSet struct {
	rs       deployment.ReplicaSet
	template int
	pods     []bool // whether each is ready
	ending   int64  // pods that are deleted but not gone
	lost     []decision.DisruptedPod
}

func newWorld() *world {
	w := &world{clock: time.Date(2026, 11, 21, 3, 0, 0, 0, time.UTC), template: 1}
	w.d = deployment.Snapshot{Version: 1, Found: true, Namespace: "shop", Name: "web", UID: "d", RV: "1", Generation: 1,
		Strategy: "RollingUpdate", Deadline: new(int64(600)), HistoryLimit: new(int64(2)), Want: 3}
	return w
}

// snapshot is what observe would see now.
func (w *world) snapshot() *deployment.Snapshot {
	s := w.d
	s.Now = w.clock
	s.Status.Conditions = slices.Clone(w.d.Status.Conditions)
	s.NextName, s.NextHash = w.name(w.template, 0), "hash"
	s.CollisionName, s.CollisionHash = w.name(w.template, 1), "hash2"
	for _, m := range w.sets {
		rs := m.rs
		rs.SameTemplate = m.template == w.template
		rs.TerminatingNow = m.ending
		rs.NonTerminal = int64(len(m.pods)) + m.ending
		rs.Disrupted = m.lost[max(0, len(m.lost)-deployment.MaxDisrupted):]
		for i, ready := range m.pods {
			if !ready {
				rs.Unavailable++
				rs.Blocking = append(rs.Blocking, deployment.Pod{Name: fmt.Sprintf("%s-%d", rs.Name, i), Created: w.clock})
			}
		}
		rs.Blocking = rs.Blocking[:min(len(rs.Blocking), deployment.MaxBlocking)]
		s.ReplicaSets = append(s.ReplicaSets, rs)
	}
	s.Canonical()
	return &s
}

func (w *world) name(template, collision int) string {
	return fmt.Sprintf("web-%d-%d", template, collision)
}

// edit is a change of the spec by a person.
func (w *world) edit(change func()) {
	change()
	w.d.Generation++
}

// apply carries an action out.
func (w *world) apply(a decision.Action) decision.Outcome {
	w.serial++
	switch a.Kind {
	case decision.CreateReplicaSet:
		w.sets = append(w.sets, &modelSet{template: w.template, rs: deployment.ReplicaSet{
			Name: a.Target.Name, UID: "u" + strconv.Itoa(w.serial), RV: "1", Created: w.clock, Mine: true, Matches: true,
			Replicas: a.Size.To, Generation: 1, MinReady: *a.MinReadySeconds,
			Revision: a.Stamp.Revision, Desired: fmt.Sprint(*a.Stamp.Desired), Max: fmt.Sprint(*a.Stamp.Max)}})
	case decision.UpdateReplicaSet:
		w.update(w.find(a.Target.UID), a)
	case decision.DeleteReplicaSet:
		m := w.find(a.Target.UID)
		w.sets = slices.DeleteFunc(w.sets, func(n *modelSet) bool { return n == m })
	case decision.UpdateDeployment:
		w.edit(func() { w.d.RollbackTo = "" })
		if a.Restore != nil {
			w.template = w.find(a.Restore.UID).template
		}
	}
	return decision.Outcome{State: decision.Written, RV: strconv.Itoa(w.serial)}
}

func (w *world) update(m *modelSet, a decision.Action) {
	if a.Size != nil {
		m.rs.Replicas = a.Size.To
		m.rs.Generation++
	}
	if a.MinReadySeconds != nil {
		m.rs.MinReady = *a.MinReadySeconds
	}
	for to, value := range map[*string]string{&m.rs.Revision: a.Stamp.Revision, &m.rs.History: a.Stamp.History} {
		if value != "" {
			*to = value
		}
	}
	if a.Stamp.Desired != nil {
		m.rs.Desired, m.rs.Max = fmt.Sprint(*a.Stamp.Desired), fmt.Sprint(*a.Stamp.Max)
	}
	if a.Stamp.Copy {
		m.rs.CopyStale = false
	}
}

func (w *world) find(uid string) *modelSet {
	return w.sets[slices.IndexFunc(w.sets, func(m *modelSet) bool { return m.rs.UID == uid })]
}

// sync is one sync of the Deployment loop. lose says which actions fail.
func (w *world) sync(lose func() bool) played {
	p := run(w.snapshot(), decision.Try{}, nil, func(v decision.Verdict) (list []decision.Outcome, _ decision.Learnt) {
		for _, a := range v.Actions {
			if lose() {
				list = append(list, decision.Outcome{State: decision.Conflicted})
				break
			}
			list = append(list, w.apply(a))
		}
		for len(list) < len(v.Actions) {
			list = append(list, decision.Outcome{State: decision.NotTried})
		}
		return list, decision.Learnt{}
	})
	if p.report != nil && p.report.Publish && !lose() {
		w.d.Status = p.report.Status
		if p.report.Revision != "" {
			w.d.Revision = p.report.Revision
		}
	}
	return p
}

// syncSet is one sync of a ReplicaSet: pods follow the size, those that are not
// ready go first, and the status follows the pods.
func (w *world) syncSet(m *modelSet) {
	for int64(len(m.pods)) < m.rs.Replicas {
		m.pods = append(m.pods, false)
	}
	slices.SortStableFunc(m.pods, func(a, b bool) int { return rank(a) - rank(b) })
	if gone := int64(len(m.pods)) - m.rs.Replicas; gone > 0 {
		m.pods = m.pods[gone:]
		m.ending += gone
	}
	m.rs.StatusReplicas, m.rs.Ready = int64(len(m.pods)), readyPods(m)
	m.rs.Available, m.rs.ObservedGeneration = m.rs.Ready, m.rs.Generation
	m.rs.Terminating = new(m.ending)
}

func rank(ready bool) int {
	if ready {
		return 1
	}
	return 0
}

func readyPods(m *modelSet) (n int64) {
	for _, ready := range m.pods {
		if ready {
			n++
		}
	}
	return n
}

// available is the truth about the pods, whatever is reported.
func (w *world) available() (n int64) {
	for _, m := range w.sets {
		n += readyPods(m)
	}
	return n
}

func (w *world) asked() (n int64) {
	for _, m := range w.sets {
		n += m.rs.Replicas
	}
	return n
}

// calm runs everything without disturbance until nothing changes any more, and
// says how many passes that took; 0 if it never came to rest.
func (w *world) calm(passes int) int {
	for i := 1; i <= passes; i++ {
		w.clock = w.clock.Add(time.Second)
		for _, m := range w.sets {
			w.syncSet(m)
			for j := range m.pods {
				m.pods[j] = true
			}
			m.ending = 0
			w.syncSet(m)
			m.ending = 0
		}
		p := w.sync(func() bool { return false })
		if len(p.rounds[0].Verdict.Actions) == 0 && p.report != nil && !p.report.Publish {
			return i
		}
	}
	return 0
}
