package scope

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/loopscope/loopscope/controllers/replicaset"
	"github.com/loopscope/loopscope/telemetry/prose"
	"github.com/loopscope/loopscope/views"
	"github.com/loopscope/loopscope/web/timeline"
	"github.com/loopscope/loopscope/web/words"
)

const (
	// openLanes is how many pods that block have a lane each without being asked
	// for, singleLanes how many have one at all: more are grouped by their reason.
	openLanes, singleLanes = 3, 40
	// drawnPods bounds the lines of a bundle, so that each can be told from the next.
	drawnPods = 28
	// laneHeight is that of one pod, bundleHeight the most of a bundle.
	laneHeight, bundleHeight = 20, 68
)

// laneKind is which pods a bundle holds.
type laneKind struct {
	word  string
	lives []*timeline.Pod
	note  views.Text
}

// lanePaths are the paths of one lane, by what is so of the pod.
type lanePaths struct{ pending, thin, thick, terminating strings.Builder }

// draw adds the line of one pod at that height.
func (s *lanePaths) draw(b scopeBox, l *timeline.Pod, now time.Time, y float64) {
	for i, step := range l.Steps {
		until := now
		if i+1 < len(l.Steps) {
			until = l.Steps[i+1].At
		}
		switch step.Is {
		case timeline.Pending:
			b.span(&s.pending, step.At, until, now, y)
		case timeline.Running:
			b.span(&s.thin, step.At, until, now, y)
		case timeline.Ready:
			stays := step.At.Add(l.MinReady)
			b.span(&s.thin, step.At, firstOf(stays, until), now, y)
			b.span(&s.thick, stays, until, now, y)
		case timeline.Terminating:
			b.span(&s.terminating, step.At, until, now, y)
		}
	}
}

// span is a stretch of a line, as far as it lies in the box and before now.
func (b scopeBox) span(d *strings.Builder, from, to, now time.Time, y float64) {
	to = firstOf(to, now)
	if !to.After(from) || !to.After(b.from) || !from.Before(b.to) {
		return
	}
	fmt.Fprintf(d, "M%s %sH%s", b.x(from), coord(y), b.x(to))
}

func firstOf(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// single is the lane of one pod that blocks, with its reason.
func (b scopeBox) single(l *timeline.Pod, now time.Time) views.PodLane {
	var s lanePaths
	s.draw(b, l, now, laneHeight/2)
	owner, own := words.Split(l.Name)
	v := s.lane(views.PodLane{Owner: owner, Own: own, Height: laneHeight, Tone: views.Waiting, Count: 1, Note: podNote(l, now)})
	if word := stateWord(l, now); word == "available" || word == "gone" { // It was asked for and blocks nothing.
		v.Tone, v.Note = views.Idle, views.Say("is "+word)
	}
	for _, x := range l.Steps {
		v.Steps = append(v.Steps, views.PodStep{At: x.At, Is: podWords[x.Is]})
	}
	return v
}

var podWords = [...]string{timeline.Pending: "not running", timeline.Running: "not ready", timeline.Ready: "ready", timeline.Terminating: "terminating", timeline.Gone: "gone"}

func (s *lanePaths) lane(v views.PodLane) views.PodLane {
	v.Pending, v.Thin, v.Thick, v.Terminating = s.pending.String(), s.thin.String(), s.thick.String(), s.terminating.String()
	return v
}

// podNote is what a pod waits for, in the words of its ReplicaSet's loop.
func podNote(l *timeline.Pod, now time.Time) views.Text {
	switch {
	case l.Pod == nil:
		return nil
	case l.Pod.Terminating:
		return views.Say("is terminating, for ").Since(l.Steps[len(l.Steps)-1].At)
	case l.Pod.Ready:
		return views.Say("is ready, available in ").Until(l.Pod.ReadySince.Add(l.MinReady))
	}
	note := waitReasonText(l.Pod, now)
	if since := replicaset.WaitingSince(l.Pod, now); !l.Pod.Since.IsZero() && !since.IsZero() {
		note = note.Plain(", for ").Since(since)
	}
	return note
}

func waitReasonText(p *replicaset.Pod, now time.Time) views.Text {
	return words.Text(replicaset.WaitReason(p, now), false)
}

// bundle is the lanes of many pods as one.
func (b scopeBox) bundle(k laneKind, now time.Time) views.PodLane {
	var s lanePaths
	n := min(len(k.lives), drawnPods)
	pitch := min(4, float64(bundleHeight-6)/float64(max(1, n)))
	height := max(laneHeight, int(pitch*float64(n))+6)
	for i := range n { // Of more than there is room for, every so many.
		s.draw(b, k.lives[i*len(k.lives)/n], now, float64(height)/2+pitch*(float64(i)-float64(n-1)/2))
	}
	v := views.PodLane{Name: words.Digits(len(k.lives)) + " " + k.word, Height: height, Bundle: true, Dense: pitch < 3.5, Count: len(k.lives), Note: k.note}
	if len(k.lives) > n {
		v.Note = v.Note.Plain(fmt.Sprintf("; %d of them are drawn", n))
	}
	return s.lane(v)
}

// blockLanes are the pods that block: one by one, or by their reason where they are many.
func (b scopeBox) blockLanes(block []*timeline.Pod, now time.Time) (open, more []views.PodLane, note string) {
	if len(block) > singleLanes {
		return b.grouped(block, now), nil, ""
	}
	for i, l := range block {
		if v := b.single(l, now); i < openLanes {
			open = append(open, v)
		} else {
			more = append(more, v)
		}
	}
	if n := len(more); n > 0 {
		note = prose.Plural(int64(n), "1 more pod that blocks", words.Digits(n)+" more pods that block")
	}
	return open, more, note
}

func (b scopeBox) grouped(block []*timeline.Pod, now time.Time) []views.PodLane {
	var groups []laneKind
	for _, l := range block {
		note := views.Say("is ready and waits for minReadySeconds")
		if l.Pod != nil && !l.Pod.Ready {
			note = waitReasonText(l.Pod, now)
		}
		i := slices.IndexFunc(groups, func(g laneKind) bool { return g.note.String() == note.String() })
		if i < 0 {
			i, groups = len(groups), append(groups, laneKind{word: "waiting", note: note})
		}
		groups[i].lives = append(groups[i].lives, l)
	}
	slices.SortStableFunc(groups, func(a, b laneKind) int { return len(b.lives) - len(a.lives) })
	lanes := make([]views.PodLane, 0, len(groups))
	for _, g := range groups {
		v := b.bundle(g, now)
		v.Note, v.Tone = views.Say("each ").Join(v.Note), views.Waiting
		lanes = append(lanes, v)
	}
	return lanes
}

// stateNote counts what became of the pods of a bundle.
func stateNote(lives []*timeline.Pod, now time.Time) views.Text {
	counts := map[string]int{}
	for _, l := range lives {
		counts[stateWord(l, now)]++
	}
	var parts []string
	for _, word := range []string{"available", "not available", "terminating", "gone"} {
		if n := counts[word]; n > 0 {
			parts = append(parts, words.Digits(n)+" "+word)
		}
	}
	return views.Say(strings.Join(parts, ", "))
}

func stateWord(l *timeline.Pod, now time.Time) string {
	switch {
	case l.Over():
		return "gone"
	case l.Pod != nil && l.Pod.Terminating, l.Pod == nil && l.Furthest() == timeline.Terminating:
		return "terminating"
	case l.Available(now):
		return "available"
	default:
		return "not available"
	}
}
