package scope

import (
	"fmt"
	"slices"
	"time"

	"github.com/loopscope/loopscope/controllers/deployment"
	"github.com/loopscope/loopscope/controllers/replicaset"
	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/decision"
	"github.com/loopscope/loopscope/telemetry/prose"
	"github.com/loopscope/loopscope/views"
	"github.com/loopscope/loopscope/web/facts"
	"github.com/loopscope/loopscope/web/source"
	"github.com/loopscope/loopscope/web/subject"
	"github.com/loopscope/loopscope/web/timeline"
	"github.com/loopscope/loopscope/web/words"
)

// deploymentLanes adds the pods: a lane for each that blocks, one bundle for the
// other new ones and one for the old.
func (s *Drawer) deploymentLanes(v *views.Scope, x *subject.Subject, b scopeBox, now time.Time) {
	snap, err := facts.Deployment(s.Loops, x.Newest)
	if err != nil {
		return
	}
	current := newSet(snap)
	m := newMix()
	for _, child := range s.Children(x.Object) {
		traces := s.Journal.Of(child.Object, source.HistoryRows)
		if !owns(snap, child.Name) || child.Ended.Before(b.from) && facts.NumbersOf(child).Or("pods") == 0 {
			continue
		}
		if timeline.Crowded(child) {
			m.block = append(m.block, b.crowd(v, snap, child.Name)...)
			continue
		}
		lives, _ := timeline.Of(s.Loops, traces, child, b.from)
		for _, l := range lives {
			l.IsNew = current != nil && child.Name == current.Name
			m.add(x, b, child.Name, l, now)
		}
	}
	m.others.note = newNote(snap, current, m.others.lives, now)
	m.draw(v, b, missingPods(current), now)
}

// mix is the pods of a rollout: those that block, the other new ones, and the old ones.
type mix struct {
	block       []*timeline.Pod
	others, old laneKind
}

func newMix() *mix { return &mix{others: laneKind{word: "new"}, old: laneKind{word: "old"}} }

// add puts a pod of that owner where it belongs, if any of it can be seen.
func (m *mix) add(x *subject.Subject, b scopeBox, owner string, l *timeline.Pod, now time.Time) {
	switch {
	case !b.shows(l):
	case l.Name == x.Pod:
		m.block = append([]*timeline.Pod{l}, m.block...)
	case l.IsNew && l.Pod != nil && l.Pod.Active() && !l.Available(now), blockedBy(x.Newest, owner, l):
		m.block = append(m.block, l)
	case l.IsNew:
		m.others.lives = append(m.others.lives, l)
	default:
		m.old.lives = append(m.old.lives, l)
	}
}

// draw makes the lanes, missing among them where that is not nil.
func (m *mix) draw(v *views.Scope, b scopeBox, missing *views.PodLane, now time.Time) {
	v.Pods, v.MorePods, v.MoreNote = b.blockLanes(m.block, now)
	if missing != nil {
		v.Pods = append(v.Pods, *missing)
	}
	m.old.note = stateNote(m.old.lives, now)
	if len(m.old.lives) == 0 {
		m.old.note = views.Say("none in this time range")
	}
	crowds := len(v.Rest) > 0
	for _, k := range []laneKind{m.others, m.old} {
		if len(k.lives) == 0 && (crowds || slices.ContainsFunc(m.block, func(l *timeline.Pod) bool { return l.IsNew == (k.word == "new") })) {
			continue // They have lanes of their own, or are too many to draw.
		}
		l := b.bundle(k, now)
		l.Empty = len(k.lives) == 0
		v.Rest = append(v.Rest, l)
	}
}

// crowd stands for the pods of a ReplicaSet that are too many to draw: those that
// block are drawn from what the Deployment's own snapshot says of them.
func (b scopeBox) crowd(v *views.Scope, snap *deployment.Snapshot, name string) []*timeline.Pod {
	i := slices.IndexFunc(snap.ReplicaSets, func(rs deployment.ReplicaSet) bool { return rs.Name == name })
	if i < 0 {
		return nil
	}
	rs, word := &snap.ReplicaSets[i], "old"
	var block []*timeline.Pod
	if rs.SameTemplate {
		word = "new"
		for _, p := range rs.Blocking {
			l := &timeline.Pod{Name: p.Name, IsNew: true, MinReady: time.Duration(rs.MinReady) * time.Second, Pod: &replicaset.Pod{Name: p.Name, Mine: true, Phase: p.Phase, Node: p.Node,
				Ready: p.Ready, ReadySince: p.ReadySince, Reason: p.Reason, Message: p.Message, Image: p.Image, Since: p.Since}}
			l.Once(timeline.Pending, p.Created)
			if p.Phase == "Running" {
				l.Once(timeline.Running, p.Created)
			}
			block = append(block, l)
		}
	}
	note := views.Sayf("%s available; too many to draw one by one", prose.Thousands(rs.Available))
	if more := rs.Unavailable - int64(len(block)); rs.SameTemplate && more > 0 {
		note = note.Plain(fmt.Sprintf(", %s more that are not available among them", prose.Thousands(more)))
	}
	v.Rest = append(v.Rest, views.PodLane{Name: prose.Thousands(rs.StatusReplicas) + " " + word, Height: laneHeight, Bundle: true, Empty: true, Count: int(rs.StatusReplicas), Note: note})
	return block
}

// shows reports whether any of a pod's life lies in the box.
func (b scopeBox) shows(l *timeline.Pod) bool {
	last := len(l.Steps) - 1
	return last >= 0 && (l.Steps[last].Is != timeline.Gone || l.Steps[last].At.After(b.from)) && l.Steps[0].At.Before(b.to)
}

// blockedBy reports whether the newest sync names the pod as a blocker, or its
// ReplicaSet where it waits for the last of its pods to end.
func blockedBy(t *telemetry.Trace, set string, l *timeline.Pod) bool {
	ends := l.Pod != nil && l.Pod.Terminating && !l.Over()
	for _, h := range facts.Held(t) {
		for _, b := range h.Blockers {
			if b.Kind == "Pod" && b.Name == l.Name || ends && b.Kind == "ReplicaSet" && b.Name == set && h.Kind == decision.CreateReplicaSet {
				return true
			}
		}
	}
	return false
}

// owns reports whether the snapshot holds a ReplicaSet of that name.
func owns(snap *deployment.Snapshot, name string) bool {
	return slices.ContainsFunc(snap.ReplicaSets, func(rs deployment.ReplicaSet) bool { return rs.Name == name })
}

func newSet(snap *deployment.Snapshot) *deployment.ReplicaSet {
	for i := range snap.ReplicaSets {
		if snap.ReplicaSets[i].SameTemplate && snap.ReplicaSets[i].Mine {
			return &snap.ReplicaSets[i]
		}
	}
	return nil
}

// missingPods is an empty lane for those that the new ReplicaSet wants and has
// not, with the reason that it gave.
func missingPods(current *deployment.ReplicaSet) *views.PodLane {
	if current == nil || current.Failure == nil || current.Replicas <= current.StatusReplicas {
		return nil
	}
	note := views.Text{}.Code(current.Failure.Reason)
	if current.Failure.Message != "" {
		note = note.Plain(": " + prose.Clip(current.Failure.Message, 100))
	}
	return &views.PodLane{Name: words.Digits(current.Replicas-current.StatusReplicas) + " not created", Height: laneHeight, Empty: true, Tone: views.Failed, Note: note}
}

// newNote is what is to be said of the new pods that do not block.
func newNote(snap *deployment.Snapshot, current *deployment.ReplicaSet, lives []*timeline.Pod, now time.Time) views.Text {
	switch {
	case len(lives) > 0:
		note := stateNote(lives, now)
		if c := current.Startup; c != nil && c.Pods > 0 {
			note = note.Plain("; ready after " + prose.Span(c.Fastest))
			if slow := prose.Span(c.Slowest); slow != prose.Span(c.Fastest) {
				note = note.Plain(" to " + slow)
			}
		}
		return note
	case current == nil:
		return views.Say("none: the template has no ReplicaSet yet")
	case current.Replicas == 0 && snap.Want > 0:
		return views.Say("none: its ReplicaSet has size 0")
	case current.Replicas == 0:
		return views.Say("none wanted")
	}
	return views.Say("none seen in this time range")
}

// Pods is the pods of one ReplicaSet over time, with its syncs.
func (s *Drawer) Pods(at time.Time, x *subject.Subject, snap *replicaset.Snapshot) *views.Scope {
	points := timeline.PodPoints(x.Kept)
	if len(points) == 0 || !x.OnList || snap == nil {
		return nil
	}
	last := points[len(points)-1]
	shown := told(x, timeline.PodPoints, last)
	box, now := scopeBase(points, at, subject.WindowOf(x.Window))
	box.most = max(box.most, shown.Ceiling)
	points = box.within(points)
	known := knownTo(s.Outage(), points, now)
	v := box.sizes(points, known, now)
	v.Windows = x.Windows()
	v.Bounds = []views.ScopeBound{{Y: labelY(box.y(shown.Ceiling)), Text: "wanted " + words.Digits(shown.Ceiling)}, {Y: "168", Text: "0"}}
	v.Limits = "M0 " + box.y(shown.Ceiling) + "H" + words.Digits(scopeWidth)
	box.marks(v, x, points, known, time.Time{})
	v.Legend = podLegend(shown)
	v.Lanes = []views.ScopeLane{s.lane(box, s.KindOf(x.Object.Loop)+" syncs", points)}
	s.setLanes(v, x, box, known)
	s.Outage().FreezeLanes(v, x.Newest)
	v.Label = "Pods from " + v.Span + " UTC. " + words.Digits(last.Ceiling) + " wanted, " + words.Digits(last.NewSize) + " present, " + words.Digits(last.Available) + " available." + laneFinding(v, at)
	return v
}

func podLegend(p timeline.Point) []views.ScopeLegend {
	return []views.ScopeLegend{{Class: "p-lim", Name: "wanted", Value: words.Digits(p.Ceiling)},
		{Class: "p-new", Name: "pods", Value: words.Digits(p.NewSize)}, {Class: "p-av", Name: "available", Value: words.Digits(p.Available)}}
}

func (s *Drawer) setLanes(v *views.Scope, x *subject.Subject, b scopeBox, now time.Time) {
	if timeline.Crowded(x.Newest) {
		v.Rest = append(v.Rest, views.PodLane{Name: prose.Thousands(facts.NumbersOf(x.Newest).Or("pods")) + " pods", Height: laneHeight, Bundle: true, Empty: true,
			Note: views.Say("too many to draw one by one; those that are not available come first below")})
		return
	}
	lives, _ := timeline.Of(s.Loops, x.Kept, x.Newest, b.from)
	lives = slices.DeleteFunc(lives, func(l *timeline.Pod) bool { return !b.shows(l) })
	block, rest := []*timeline.Pod{}, laneKind{word: "pods"}
	for _, l := range lives {
		switch {
		case l.Name == x.Pod:
			block = append([]*timeline.Pod{l}, block...)
		case l.Pod != nil && l.Pod.Active() && !l.Available(now):
			block = append(block, l)
		default:
			rest.lives = append(rest.lives, l)
		}
	}
	v.Pods, v.MorePods, v.MoreNote = b.blockLanes(block, now)
	rest.note = stateNote(rest.lives, now)
	switch {
	case len(rest.lives) == 0 && len(block) > 0:
		return // All of them have lanes of their own.
	case len(rest.lives) == 0:
		rest.note = views.Say("none in this time range")
	case len(block) > 0:
		rest.word = "others"
	}
	l := b.bundle(rest, now)
	l.Empty = len(rest.lives) == 0
	v.Rest = append(v.Rest, l)
}
