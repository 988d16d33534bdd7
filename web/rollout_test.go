package web

import (
	"fmt"
	"sort"
	"time"

	"github.com/loopscope/loopscope/controllers/deployment"
	"github.com/loopscope/loopscope/controllers/replicaset"
	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/decision"
	"github.com/loopscope/loopscope/web/facts"
)

// rollout is a model of one Deployment of ten pods that rolls from one image to
// the next. The loops decide; the model only lets pods become ready, all but
// some, and pods end. So every number on its pages is one the rules allow.
type rollout struct {
	w      *world
	name   string
	rv     string
	gen    int64
	status deployment.Status
	sets   []*modelSet
	moved  time.Time
	image  string
}

type modelSet struct {
	name, rv, uid, image, revision string
	size, gen                      int64
	desired, max                   string
	created                        time.Time
	pods                           []*modelPod
	status                         replicaset.Status
}

type modelPod struct {
	name    string
	created time.Time
	ready   time.Time
	stuck   string
}

const podLetters = "bcdfghjklmnpqrstvwxz2456789"

func (w *world) rollout(name string) *rollout {
	return &rollout{w: w, name: name, rv: w.nextRV(), gen: 14, image: "registry.example/shop/web:3.3.2", status: deployment.Status{ObservedGeneration: 0}}
}

func ptr[T any](v T) *T { return &v }

func (r *rollout) hash(image string) string {
	sum := uint32(17)
	for _, c := range image {
		sum = sum*31 + uint32(c)
	}
	b := make([]byte, 10)
	for i := range b {
		b[i] = podLetters[sum%uint32(len(podLetters))]
		sum = sum/3 + 7919*uint32(i+1)
	}
	return string(b)
}

func (r *rollout) snapshot() *deployment.Snapshot {
	s := &deployment.Snapshot{Version: deployment.SnapshotVersion, Now: r.w.now, Held: r.w.now.Add(-decision.StatusWindow), Found: true, Namespace: "shop", Name: r.name, UID: "d-" + r.name, RV: r.rv,
		Created: r.w.began(), Generation: r.gen, Selector: "app=" + r.name, Want: 10, Strategy: "RollingUpdate",
		MaxSurge: &deployment.IntOrPercent{Percent: "25%"}, MaxUnavailable: &deployment.IntOrPercent{Percent: "25%"}, Deadline: ptr(int64(600)), HistoryLimit: ptr(int64(10)),
		Images: []string{r.image}, NextHash: r.hash(r.image), NextName: r.name + "-" + r.hash(r.image), CollisionHash: "5f4bd6c97d", CollisionName: r.name + "-5f4bd6c97d",
		Status: r.status, LastProgress: r.moved}
	newest := 0
	for i, m := range r.sets {
		s.ReplicaSets = append(s.ReplicaSets, r.child(m))
		if m.image == r.image {
			newest = i
		}
	}
	if len(r.sets) > 0 {
		s.Revision = r.sets[newest].revision
	}
	if newest > 0 && s.Revision != "" {
		s.Changed = &deployment.TemplateChange{From: r.sets[newest-1].revision, To: s.Revision, Fields: []decision.Change{
			{Field: "containers[web].image", From: r.sets[newest-1].image, To: r.image}, {Field: "containers[web].env[CACHE_URL]"},
			{Field: "containers[web].resources.requests[cpu]", From: "250m", To: "500m"}}}
	}
	return s
}

func (r *rollout) child(m *modelSet) deployment.ReplicaSet {
	c := deployment.ReplicaSet{Name: m.name, UID: m.uid, RV: m.rv, Created: m.created, Mine: true, Matches: true, SameTemplate: m.image == r.image,
		Replicas: m.size, Generation: m.gen, ObservedGeneration: m.status.ObservedGeneration, StatusReplicas: m.status.Replicas, Ready: m.status.Ready,
		Available: m.status.Available, Revision: m.revision, Desired: m.desired, Max: m.max, Images: []string{m.image}, NonTerminal: int64(len(m.pods))}
	for _, p := range m.pods {
		if p.ready.IsZero() {
			c.Unavailable++
			c.Blocking = append(c.Blocking, deployment.Pod{Name: p.name, Created: p.created, Phase: "Pending", Node: "node-1", Reason: reasonOf(p),
				Message: messageOf(p, m.image), Image: m.image, Since: p.created.Add(3 * time.Second)})
		}
	}
	sort.Slice(c.Blocking, func(i, j int) bool { return c.Blocking[i].Name < c.Blocking[j].Name })
	return c
}

func reasonOf(p *modelPod) string {
	if p.stuck != "" {
		return p.stuck
	}
	return "ContainerCreating"
}

func messageOf(p *modelPod, image string) string {
	if p.stuck == "ImagePullBackOff" {
		return "Back-off pulling image \"" + image + "\": not found"
	}
	return ""
}

// imageOf is the image of the container that waits.
func imageOf(p *modelPod, image string) string {
	if p.stuck == "" {
		return ""
	}
	return image
}

// sync runs the Deployment's loop once for a cause, and its ReplicaSets' after it.
func (r *rollout) sync(cause telemetry.Cause) *telemetry.Trace {
	r.w.now = r.w.now.Add(14 * time.Millisecond)
	s := r.snapshot()
	t := r.w.decideDeployment(s, script{})
	cause.At = t.Queued
	t.Causes = []telemetry.Cause{cause}
	r.apply(t)
	r.w.journal.Record(t)
	return t
}

// settle runs syncs until one writes nothing, as echoes do.
func (r *rollout) settle(cause telemetry.Cause) {
	for range 60 {
		t := r.sync(cause)
		if !t.Wrote() {
			return
		}
		cause = r.echo(t)
		for _, m := range r.sets {
			r.syncSet(m)
		}
	}
	r.w.t.Fatalf("the model of %s does not come to rest", r.name)
}

// echo is the event as which the last write of a sync comes back.
func (r *rollout) echo(t *telemetry.Trace) telemetry.Cause {
	c := telemetry.Cause{Kind: telemetry.CauseModified, Sync: t.Seq}
	if t.Report != nil && t.Report.Outcome != nil {
		c.Object, c.NewRV = "Deployment "+r.name, t.Report.Outcome.RV
		c.Fields = t.Report.Changes[:min(2, len(t.Report.Changes))]
		return c
	}
	last := t.Rounds[len(t.Rounds)-1]
	for i, a := range last.Verdict.Actions {
		c.Object, c.OldRV, c.NewRV = a.Target.Kind+" "+a.Target.Name, a.Target.RV, last.Outcomes[i].RV
		if a.Size != nil {
			c.Fields = []decision.Change{{Field: "spec.replicas", From: fmt.Sprint(a.Size.From), To: fmt.Sprint(a.Size.To)}}
		}
	}
	return c
}

func (r *rollout) apply(t *telemetry.Trace) {
	for _, round := range t.Rounds {
		for i, a := range round.Verdict.Actions {
			r.applyAction(a, round.Outcomes[i].RV)
		}
	}
	if t.Report != nil && t.Report.Outcome != nil {
		core := deployment.NewSync(r.snapshotFor(t))
		facts.TellAgain(core, t, r.w.now)
		r.status, r.rv = core.Report().Status, t.Report.Outcome.RV
	}
}

// snapshotFor is the snapshot that a trace was decided on.
func (r *rollout) snapshotFor(t *telemetry.Trace) *deployment.Snapshot {
	s, err := facts.Deployment(testLoops, t)
	if err != nil {
		r.w.t.Fatal(err)
	}
	return s
}

func (r *rollout) applyAction(a decision.Action, rv string) {
	var m *modelSet
	for _, x := range r.sets {
		if x.name == a.Target.Name {
			m = x
		}
	}
	if m == nil {
		m = &modelSet{name: a.Target.Name, uid: "rs-" + a.Target.Name, image: r.image, created: r.w.now}
		r.sets = append(r.sets, m)
	}
	m.rv = rv
	m.gen++
	if a.Size != nil && a.Size.To != m.size {
		m.size, r.moved = a.Size.To, r.w.now
	}
	if a.Stamp != nil {
		if a.Stamp.Revision != "" {
			m.revision = a.Stamp.Revision
		}
		if a.Stamp.Desired != nil {
			m.desired, m.max = fmt.Sprint(*a.Stamp.Desired), fmt.Sprint(*a.Stamp.Max)
		}
	}
}

// syncSet runs the ReplicaSet's loop until its pods and status fit its size.
func (r *rollout) syncSet(m *modelSet) {
	for range 4 {
		r.w.now = r.w.now.Add(9 * time.Millisecond)
		t := r.w.decideReplicaSet(r.setSnapshot(m), script{})
		t.Causes = []telemetry.Cause{{Kind: telemetry.CauseModified, At: t.Queued, Object: "ReplicaSet " + m.name, NewRV: m.rv}}
		r.applySet(m, t)
		r.w.journal.Record(t)
		if !t.Wrote() {
			return
		}
	}
}

// setSnapshot is of a status that was held for long enough: the story publishes at once.
func (r *rollout) setSnapshot(m *modelSet) *replicaset.Snapshot {
	s := &replicaset.Snapshot{Version: replicaset.SnapshotVersion, Now: r.w.now, Held: r.w.now.Add(-decision.StatusWindow), Kind: "ReplicaSet", Found: true, Namespace: "shop", Name: m.name, UID: m.uid, RV: m.rv,
		Generation: m.gen, Owner: r.name, Selector: "app=" + r.name, Want: m.size, Images: []string{m.image}, Burst: 500, Status: m.status}
	for i, p := range m.pods {
		s.Pods = append(s.Pods, replicaset.Pod{Name: p.name, UID: "p-" + p.name, RV: "1", Mine: true, Matches: true, FullLabels: true, Created: p.created, Phase: "Running",
			Node: fmt.Sprintf("node-%d", 1+i%3), Ready: !p.ready.IsZero(), ReadySince: p.ready, Reason: p.stuck, Message: messageOf(p, m.image), Image: imageOf(p, m.image), Since: p.created.Add(3 * time.Second)})
	}
	sort.Slice(s.Pods, func(i, j int) bool { return s.Pods[i].Name < s.Pods[j].Name })
	return s
}

func (r *rollout) applySet(m *modelSet, t *telemetry.Trace) {
	for _, round := range t.Rounds {
		for i := range round.Verdict.Actions {
			r.applyPods(m, &round.Verdict.Actions[i], &round.Outcomes[i])
		}
	}
	if t.Report != nil && t.Report.Outcome != nil {
		s, err := facts.ReplicaSet(testLoops, t)
		if err != nil {
			r.w.t.Fatal(err)
		}
		before := m.status
		core := replicaset.NewSync(s)
		facts.TellAgain(core, t, r.w.now)
		m.status, m.rv = core.Report().Status, t.Report.Outcome.RV
		if m.status.Available != before.Available {
			r.moved = r.w.now
		}
	}
}

func (r *rollout) applyPods(m *modelSet, a *decision.Action, o *decision.Outcome) {
	if a.Kind == decision.CreatePods {
		for range a.Count {
			n := r.w.rv + len(m.pods)*37
			name := fmt.Sprintf("%s-%c%c%c%c%c", m.name, podLetters[n%27], podLetters[n/3%27], podLetters[n/7%27], podLetters[n/11%27], podLetters[(n+len(m.pods))%27])
			m.pods = append(m.pods, &modelPod{name: name, created: r.w.now})
			o.Names = append(o.Names, name)
			r.w.rv++
		}
		return
	}
	for _, v := range a.Victims {
		for i, p := range m.pods {
			if p.name == v.Name {
				m.pods = append(m.pods[:i], m.pods[i+1:]...)
				break
			}
		}
	}
}

// ready lets the first n unready pods of the current template become ready.
func (r *rollout) ready(n int) {
	for _, m := range r.sets {
		for _, p := range m.pods {
			if m.image == r.image && p.ready.IsZero() && p.stuck == "" && n > 0 {
				p.ready = r.w.now
				n--
			}
		}
	}
	for _, m := range r.sets {
		r.syncSet(m)
	}
}

// begin brings ten pods up.
func (r *rollout) begin() {
	r.settle(telemetry.Cause{Kind: telemetry.CauseAdded, Object: "Deployment " + r.name, NewRV: r.rv, Manager: "kubectl"})
	r.w.now = r.w.now.Add(4 * time.Second)
	r.ready(10)
	r.settle(telemetry.Cause{Kind: telemetry.CauseModified, Object: "ReplicaSet " + r.sets[0].name, NewRV: r.sets[0].rv})
}

// roll changes the template, and lets new pods become ready until only stuck
// ones are left.
func (r *rollout) roll(image string, stuck int) {
	r.image = image
	r.gen++
	r.rv = r.w.nextRV()
	r.settle(telemetry.Cause{Kind: telemetry.CauseModified, Object: "Deployment " + r.name, NewRV: r.rv, Manager: "kubectl",
		Fields: []decision.Change{{Field: "spec.template.spec.containers[web].image"}}})
	for range 30 {
		r.jam(stuck)
		if r.unready(image) == 0 {
			return
		}
		r.w.now = r.w.now.Add(41 * time.Second)
		r.ready(1)
		current := r.set(image)
		r.settle(telemetry.Cause{Kind: telemetry.CauseModified, Object: "ReplicaSet " + current.name, NewRV: current.rv,
			Fields: []decision.Change{{Field: "status.availableReplicas", From: fmt.Sprint(current.status.Available - 1), To: fmt.Sprint(current.status.Available)}}})
	}
}

func (r *rollout) set(image string) *modelSet {
	for _, m := range r.sets {
		if m.image == image {
			return m
		}
	}
	r.w.t.Fatalf("no ReplicaSet has image %s", image)
	return nil
}

// jam makes the last pods of a template stay unready forever.
func (r *rollout) jam(n int) {
	m := r.set(r.image)
	for i := len(m.pods) - 1; i >= 0 && int64(len(m.pods)) == m.size && m.size == 10 && n > 0; i-- {
		if m.pods[i].ready.IsZero() {
			m.pods[i].stuck = "ImagePullBackOff"
			n--
		}
	}
}

func (r *rollout) unready(image string) int {
	n := 0
	for _, p := range r.set(image).pods {
		if p.ready.IsZero() && p.stuck == "" {
			n++
		}
	}
	return n
}

// stuckRollout is the journal of the story: shop/web rolls and gets stuck.
func stuckRollout(w *world) *rollout {
	r := w.rollout("web")
	r.begin()
	w.now = storyNow.Add(-16 * time.Minute)
	r.roll("registry.example/shop/web:3.4.0", 3)
	return r
}
