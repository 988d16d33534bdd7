package sim

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/loopscope/loopscope/controllers/deployment"
	"github.com/loopscope/loopscope/controllers/replicaset"
	"github.com/loopscope/loopscope/controllers/rollingupdate"
	"github.com/loopscope/loopscope/telemetry/decision"
)

// update is a rolling update of ReplicationControllers in a Cluster.
type update struct {
	// s is what the snapshot knows of the update that is in none of the two: its name, and
	// what the new one is to be called and labelled.
	s rollingupdate.Snapshot
	// rcs are the ReplicationControllers, in the order in which they were made.
	rcs    []*replicationController
	strays []rollingupdate.Pod
}

// replicationController is one of an update. Its size, its pods and its status are in the set.
type replicationController struct {
	*set
	// notes are its annotations, labels and conditions.
	notes        rollingupdate.Controller
	request      *rollingupdate.Request
	requestError string
	result       *rollingupdate.Result
}

// The templates of an update: the old one is 0.
const newTemplate = 1

// FromRollingUpdate makes a Cluster of a rolling update: its loop and those of its two
// ReplicationControllers sync. Pods that wait for a reason that time does not fix stay so, as
// with From. The loops of the model release and adopt pods at once.
func FromRollingUpdate(s *rollingupdate.Snapshot) (*Cluster, error) {
	if s.Old == nil && s.New == nil {
		return nil, errors.New("model a snapshot: there is no ReplicationController in it")
	}
	u := &update{s: rollingupdate.Snapshot{Version: s.Version, Namespace: s.Namespace, Name: s.Name, NewName: s.NewName, OldKey: s.OldKey, NewKey: s.NewKey, Apart: s.Apart, Into: s.Into}}
	c := &Cluster{Rules: Rules{Terminate: usualTermination}, now: s.Now.UTC().Round(0), images: map[string]int{}, fates: map[int]Fate{}, template: newTemplate, templates: newTemplate, rolling: u}
	c.spec.Namespace, c.spec.Name, c.due.now, c.wrote = s.Namespace, s.Name, true, c.now
	for template, rc := range []*rollingupdate.Controller{s.Old, s.New} {
		if rc == nil {
			continue
		}
		if rc.Parked != nil {
			template = newTemplate
		}
		c.addController(rc, template)
	}
	asks := u.rcs[0]
	asks.request, asks.requestError, asks.result = s.Request, s.RequestError, s.Result
	u.strays = slices.Clone(s.Strays)
	if s.Old != nil && s.Old.Parked != nil {
		c.takeOver(s)
	}
	if c.count() > MaxPods {
		return nil, fmt.Errorf("model a snapshot: it has more than %d pods", MaxPods)
	}
	return c, nil
}

// takeOver models what the one of the old name waits for: each pod once, although those that
// the new one still has are in the snapshot as its own and as strays.
func (c *Cluster) takeOver(s *rollingupdate.Snapshot) {
	u := c.rolling
	old, fresh := u.rcs[0], u.named(s.Old.Parked.From)
	left := slices.DeleteFunc(u.strays, func(p rollingupdate.Pod) bool { return fresh != nil && fresh.has(p.UID) })
	c.orphan(old, slices.Concat(left, s.Free))
	u.strays = nil
	if fresh != nil && fresh.notes.LetsGo {
		c.letGo(fresh)
	}
	if s.Old.Parked.Account != nil {
		old.adopt()
	}
}

// has reports whether it has that pod.
func (m *set) has(uid string) bool {
	return slices.ContainsFunc(m.pods, func(p *pod) bool { return p.UID == uid })
}

// addController models one of the two as it was recorded.
func (c *Cluster) addController(rc *rollingupdate.Controller, template int) {
	m := &set{template: template, due: timer{now: true}, rs: deployment.ReplicaSet{
		Name: rc.Name, UID: rc.UID, RV: rc.RV, Mine: true, Matches: true, Replicas: rc.Size, MinReady: rc.MinReady,
		Generation: rc.Generation, Deleting: rc.Deleting, Images: imagesOf(rc)}}
	m.status = replicaset.Status{ObservedGeneration: rc.Observed, Replicas: rc.Replicas, FullyLabeled: rc.Replicas}
	if rc.Refusal != "" {
		reason := "FailedCreate"
		if rc.KeepsPods {
			reason = "FailedDelete"
		}
		m.status.Conditions = []decision.Condition{{Type: "ReplicaFailure", Status: "True", Reason: reason, Message: rc.Refusal, Transition: rc.RefusedSince}}
	}
	one := &replicationController{set: m, notes: *rc}
	one.notes.Pods = nil
	for i := range rc.Pods {
		m.pods = append(m.pods, c.taken(m, &rc.Pods[i]))
	}
	c.sets, c.rolling.rcs = append(c.sets, m), append(c.rolling.rcs, one)
}

func imagesOf(rc *rollingupdate.Controller) (list []string) {
	for _, one := range rc.Containers {
		list = append(list, one.Image)
	}
	return list
}

// taken makes a pod as an update's sync has observed it.
func (c *Cluster) taken(m *set, r *rollingupdate.Pod) *pod {
	p := c.newPod(m)
	fate := p.fate
	p.Name, p.UID, p.RV, p.key = r.Name, r.UID, r.RV, r.Key
	p.Created, p.Node, p.Restarts, p.Reason, p.Message, p.Image, p.Since = r.Created, r.Node, r.Restarts, r.Reason, r.Message, r.Image, r.Since
	if r.Phase != "" {
		p.Phase = r.Phase
	}
	switch {
	case r.Ready:
		p.at = time.Time{}
		p.ready(r.ReadySince)
	case !passing[r.Reason]:
		c.fates[m.template] = Stuck(r.Reason)
		p.fate, p.at = c.fates[m.template], time.Time{}
	default:
		p.setFate(fate, c)
	}
	return p
}

// orphan gives pods that nobody controls to the one that waits for them, which neither selects
// nor counts them yet.
func (c *Cluster) orphan(to *replicationController, pods []rollingupdate.Pod) {
	for i := range pods {
		p := c.taken(to.set, &pods[i])
		p.Mine, p.Matches = false, false
		to.pods = append(to.pods, p)
	}
}

func (u *update) named(name string) *replicationController {
	i := slices.IndexFunc(u.rcs, func(rc *replicationController) bool { return rc.rs.Name == name })
	if name == "" || i < 0 {
		return nil
	}
	return u.rcs[i]
}

// heir is the one that says that it replaces that name; the first by name.
func (u *update) heir(of string) *replicationController {
	var first *replicationController
	for _, rc := range u.rcs {
		if name, _, _ := strings.Cut(rc.notes.Source, ":"); name == of && (first == nil || rc.rs.Name < first.rs.Name) {
			first = rc
		}
	}
	return first
}

// newName is what the new one is or will be called, as the loop finds it.
func (u *update) newName(old *replicationController) string {
	n := rollingupdate.Names{Next: old.notes.Next, Begun: old.notes.Original != nil}
	if p := old.notes.Parked; p != nil {
		n.Parked = p.From
	}
	if heir := u.heir(old.rs.Name); heir != nil && heir.notes.Source == old.rs.Name+":"+old.rs.UID {
		n.Heir = heir.rs.Name
	}
	if r := old.request; r != nil {
		n.Asked, n.Made = r.To, u.s.NewName
	}
	return n.New()
}

// Update is what the loop of a rolling update would observe now; nil in a Cluster of
// anything else.
func (c *Cluster) Update() *rollingupdate.Snapshot {
	if c.rolling == nil {
		return nil
	}
	return c.updateOf(c.rolling.s.Name)
}

// updateOf is what the loop observes of the update that is known by that name.
func (c *Cluster) updateOf(name string) *rollingupdate.Snapshot {
	u := c.rolling
	s := u.s
	s.Now, s.Name, s.NewName, s.Apart = c.now, name, "", false
	old, asks := u.named(name), u.named(name)
	var n *replicationController
	if old != nil {
		s.NewName = u.newName(old)
		s.Old, n = c.seen(old), u.named(s.NewName)
	} else if n = u.heir(name); n != nil {
		s.NewName, asks = n.rs.Name, n
	}
	if asks != nil {
		s.Request, s.RequestError, s.Result = asks.request, asks.requestError, asks.result
	}
	if n != nil {
		s.New = c.seen(n)
	}
	if old != nil && n != nil {
		a, b := old.notes.SelectorKey, n.notes.SelectorKey
		s.Apart = u.s.Apart || a != "" && b != "" && a != b
	}
	s.Strays = u.strays
	if old != nil {
		s.Free = old.free()
	}
	return &s
}

// free are the pods that wait for it and that nobody controls.
func (rc *replicationController) free() (list []rollingupdate.Pod) {
	for _, p := range rc.pods {
		if !p.Mine && p.Active() {
			list = append(list, seenPod(p))
		}
	}
	slices.SortFunc(list, byName)
	return list
}

func byName(a, b rollingupdate.Pod) int { return strings.Compare(a.Name, b.Name) }

// seen is a ReplicationController as the update's loop observes it.
func (c *Cluster) seen(rc *replicationController) *rollingupdate.Controller {
	out := rc.notes
	out.RV, out.Generation, out.Observed, out.Deleting = rc.rs.RV, rc.rs.Generation, rc.status.ObservedGeneration, rc.rs.Deleting
	out.Size, out.Replicas, out.Refusal, out.RefusedSince = rc.rs.Replicas, rc.status.Replicas, "", time.Time{}
	out.KeepsPods = false
	for _, cond := range rc.status.Conditions {
		if cond.Type == "ReplicaFailure" && cond.Status == "True" {
			out.Refusal, out.RefusedSince, out.KeepsPods = cond.Message, cond.Transition, cond.Reason == "FailedDelete"
		}
	}
	for _, p := range rc.pods {
		if p.Mine && p.Active() {
			out.Pods = append(out.Pods, seenPod(p))
		}
	}
	slices.SortFunc(out.Pods, byName)
	return &out
}

func seenPod(p *pod) rollingupdate.Pod {
	return rollingupdate.Pod{UID: p.UID, RV: p.RV, Key: p.key, Pod: blocking(p)}
}

// survivor is by what the update is known in the end: its old name, or where that is gone that
// of the one with the result.
func (u *update) survivor() string {
	if u.named(u.s.Name) == nil && u.heir(u.s.Name) == nil {
		for _, rc := range u.rcs {
			if rc.result != nil {
				return rc.rs.Name
			}
		}
	}
	return u.s.Name
}

func (u *update) overdue() bool {
	return slices.ContainsFunc(u.rcs, func(rc *replicationController) bool {
		p := rc.notes.Progress
		return p != nil && p.Reason == "ProgressDeadlineExceeded"
	})
}
