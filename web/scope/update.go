package scope

import (
	"time"

	"github.com/loopscope/loopscope/controllers/rollingupdate"
	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/prose"
	"github.com/loopscope/loopscope/views"
	"github.com/loopscope/loopscope/web/facts"
	"github.com/loopscope/loopscope/web/source"
	"github.com/loopscope/loopscope/web/subject"
	"github.com/loopscope/loopscope/web/timeline"
	"github.com/loopscope/loopscope/web/words"
)

// Update draws the sizes of the two ReplicationControllers of a rolling update, and their pods.
func (s *Drawer) Update(at time.Time, x *subject.Subject, snap *rollingupdate.Snapshot) *views.Scope {
	var of []*telemetry.Trace
	for _, o := range s.Steered(x.Newest) {
		if t, ok := s.Journal.Board().Get(o); ok {
			of = append(of, t)
		}
	}
	return s.rollout(at, x, cast{of: of, lanes: func(v *views.Scope, x *subject.Subject, b scopeBox, now time.Time) {
		s.updateLanes(v, x, b, snap, of, now)
	}})
}

// updateLanes adds the pods: a lane for each that blocks, one bundle for the other new ones and
// one for the old.
func (s *Drawer) updateLanes(v *views.Scope, x *subject.Subject, b scopeBox, snap *rollingupdate.Snapshot, of []*telemetry.Trace, now time.Time) {
	m := newMix()
	for _, t := range of {
		fresh := snap.New != nil && t.Name == snap.New.Name
		if timeline.Crowded(t) {
			v.Rest = append(v.Rest, crowded(t, fresh))
			continue
		}
		lives, _ := timeline.Of(s.Loops, s.Journal.Of(t.Object, source.HistoryRows), t, b.from)
		for _, l := range lives {
			l.IsNew = fresh || l.Pod != nil && snap.TookOver()
			m.add(x, b, t.Name, l, now)
		}
	}
	m.others.note = stateNote(m.others.lives, now)
	if len(m.others.lives) == 0 {
		m.others.note = noNewPods(snap)
	}
	m.draw(v, b, refusedPods(snap.New), now)
}

// crowded stands for pods that are too many to draw.
func crowded(t *telemetry.Trace, fresh bool) views.PodLane {
	n, word := facts.NumbersOf(t), " old"
	if fresh {
		word = " new"
	}
	pods := n.Or("pods")
	return views.PodLane{Name: prose.Thousands(pods) + word, Height: laneHeight, Bundle: true, Empty: true, Count: int(pods),
		Note: views.Say(prose.Thousands(n.Or("available")) + " available; too many to draw one by one")}
}

// noNewPods is why there are none.
func noNewPods(snap *rollingupdate.Snapshot) views.Text {
	switch {
	case snap.New == nil && snap.Request == nil && !snap.TookOver():
		return views.Say("none: no update is under way")
	case snap.New == nil:
		return views.Say("none: the new ReplicationController does not exist yet")
	case snap.New.Size == 0:
		return views.Text{}.Plain("none: ").Code(snap.New.Name).Plain(" has size 0")
	}
	return views.Say("none seen in this time range")
}

// refusedPods is an empty lane for those that the new one wants and that were refused.
func refusedPods(c *rollingupdate.Controller) *views.PodLane {
	if c == nil || c.Refusal == "" || c.Size <= int64(len(c.Pods)) {
		return nil
	}
	return &views.PodLane{Name: words.Digits(c.Size-int64(len(c.Pods))) + " not created", Height: laneHeight, Empty: true, Tone: views.Failed, Note: views.Say(prose.Clip(c.Refusal, 120))}
}
