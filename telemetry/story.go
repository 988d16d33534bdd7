package telemetry

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/loopscope/loopscope/telemetry/decision"
)

// quietEnd is the pause after which a story that has come to its end is over:
// what follows has nothing to do with it.
const quietEnd = time.Minute

// Story is one rollout of a Deployment (or whatever else unsettled it) from what
// changed to the sync in which it was settled again, with everything that
// happened to it and its ReplicaSets in between, in order.
type Story struct {
	Object
	UID string `json:"uid,omitempty"`
	// Began is when the first change was seen; Settled is when the sync ended in
	// which it was settled again, zero while it is not.
	Began   time.Time `json:"began"`
	Settled time.Time `json:"settled,omitzero"`
	// Gone is when the sync ended that found it gone, where that is how the story ended.
	Gone time.Time `json:"gone,omitzero"`
	// Replaced is set where none did, as another object of its name was there before: Gone is then the
	// latest that it can have been deleted.
	Replaced bool `json:"replaced,omitempty"`
	// Open is set where the first sync of the story is not in the record any more.
	Open bool `json:"open,omitempty"`
	// Sentence is that of the sync in which it was settled, or of the newest.
	Sentence decision.Sentence `json:"sentence"`
	Text     string            `json:"text"`
	// AsOf is the instant that the sentence is of, where no API server has served since.
	AsOf time.Time `json:"asOf,omitzero"`
	// LastKnown is the end of its last known sync, where nobody knows how it went on.
	LastKnown time.Time   `json:"lastKnown,omitzero"`
	Counts    StoryCounts `json:"counts"`
	Beats     []Beat      `json:"beats"`
}

// OfDifferences reports whether the story is of what a comparison found: each difference is over as it
// is found, and none is ever settled.
func (s *Story) OfDifferences() bool { return s.Loop == comparison }

// StoryCounts says how much there is in a story.
type StoryCounts struct {
	Changes int `json:"changes"` // by others
	Pods    int `json:"pods"`    // transitions
	Syncs   int `json:"syncs"`
	Writes  int `json:"writes"` // that the API server took
	// Refused are writes to which it said no, Conflicts those where another writer was
	// first, and Unanswered those without an answer.
	Refused    int `json:"refused"`
	Conflicts  int `json:"conflicts,omitempty"`
	Unanswered int `json:"unanswered,omitempty"`
	Outages    int `json:"outages,omitempty"`
	Leaders    int `json:"leaders,omitempty"`
	// Missed counts gaps in what was received of leaders.
	Missed   int `json:"missed,omitempty"`
	Restarts int `json:"restarts,omitempty"`
	// Folded are causes that were counted and not kept.
	Folded int `json:"folded,omitempty"`
}

// BeatKind says what a beat is.
type BeatKind string

// The kinds of beat.
const (
	BeatChange  BeatKind = "change" // somebody else changed an object
	BeatPod     BeatKind = "pod"    // a pod changed
	BeatSync    BeatKind = "sync"
	BeatOutage  BeatKind = "outage"  // no API server could serve
	BeatLeader  BeatKind = "leader"  // another process leads
	BeatMissed  BeatKind = "missed"  // syncs of a leader were not received
	BeatRestart BeatKind = "restart" // the program was started anew
)

// Beat is one thing that happened.
type Beat struct {
	Kind BeatKind  `json:"kind"`
	At   time.Time `json:"at"`
	// Object is what it happened to: "Deployment web".
	Object string `json:"object"`
	// Cause is the event, of a change or a pod.
	Cause *Cause `json:"cause,omitempty"`
	// Outage is set of an outage, which is told where it began.
	Outage *StoryOutage `json:"outage,omitempty"`
	// Leader is set of a change of leader.
	Leader *StoryLeader `json:"leader,omitempty"`
	// Missed is set of a gap in what was received of a leader.
	Missed *MissedSyncs `json:"missed,omitempty"`
	// Restart is set of a restart of the program, in which nothing was recorded.
	Restart *Restart `json:"restart,omitempty"`
	// By is the kind of the loop that made a change, where it is one of this program that
	// works on another object. Sync is the sync in which it did.
	By string `json:"by,omitempty"`
	// Sync, Writes and Held are of a sync, and Planned is what it would have written where nobody acts.
	Sync    *Hit            `json:"sync,omitempty"`
	Writes  []Write         `json:"writes,omitempty"`
	Planned []Write         `json:"planned,omitempty"`
	Held    []decision.Held `json:"held,omitempty"`
	// Waited is the pause before a sync in which its object was held up.
	Waited *Waited `json:"waited,omitempty"`
	// Settles is set on the sync in which the Deployment was settled again.
	Settles bool `json:"settles,omitempty"`
	// Quiet is set on a sync that wrote nothing and neither held back nor would have written
	// what the one before it of the same object had not, and on one that only
	// tried once more what an outage keeps undone.
	Quiet bool `json:"quiet,omitempty"`
}

// Waited is a pause between two syncs of one object, the earlier of which held
// writes back or could not go on.
type Waited struct {
	For time.Duration `json:"for"` // nanoseconds
	// Codes are what held it up: those of the writes held back, or that of the sentence.
	Codes []string `json:"codes"`
	// Text is what it said meanwhile, as of the end of the earlier sync.
	Text string `json:"text"`
	// Over is the event that ended it; nil where none was recorded.
	Over *Cause `json:"over,omitempty"`
}

// Story tells what the sync of a Deployment belongs to, or the newest one before
// it if the Deployment was settled then. It is false where nothing of it is in
// the excerpt, which should hold the syncs of the Deployment and of its ReplicaSets. Those of what an
// object steers belong to its story as those of what it controls do.
func (e *Excerpt) Story(t *Trace) (*Story, bool) {
	syncs, next := e.of(t)
	part, ok := storyRangeOf(e.loops, syncs, slices.Index(syncs, t))
	if !ok {
		return nil, false
	}
	part.next = next
	kin := kinOf(e.loops, t.Object, syncs[part.first:part.last+1]...)
	s := &Story{Object: t.Object, UID: t.UID, Open: part.open, Began: e.began(kin, syncs[part.first], restBefore(syncs, part.first))}
	newest := syncs[part.last]
	switch {
	case part.settled:
		s.Settled = newest.Ended
	case part.gone:
		s.Gone = newest.Ended
	case next != nil:
		s.Gone, s.Replaced = later(newest.Ended, e.deleted(next)), true
	}
	s.Sentence, s.Text = newest.Sentence, newest.Sentence.At(newest.Ended)
	family := e.within(kin, syncs, part, s.Began)
	var before *Trace
	if part.first > 0 {
		before = syncs[part.first-1]
	}
	s.Beats = slices.Concat(e.outageBeats(s, family), e.leaderBeats(s, family), e.missedBeats(s), restartBeats(s, before, family), e.beats(kin, family, newest, part.settled, s.Began))
	slices.SortStableFunc(s.Beats, func(a, b Beat) int { return cmp.Or(a.At.Compare(b.At), rank(a.Kind)-rank(b.Kind)) })
	s.Beats = slices.DeleteFunc(s.Beats, func(b Beat) bool { return b.At.Before(s.Began) }) // Events that a first sync took late.
	s.count(e)
	return s, true
}

// of is every sync of the same object in the excerpt, and the first one of another object
// of that name; nil where there is none.
func (e *Excerpt) of(t *Trace) (list []*Trace, next *Trace) {
	uid := ""
	for _, x := range e.traces {
		switch {
		case x.Object != t.Object:
			continue
		case len(list) > 0 && another(list[len(list)-1], uid, x):
			if slices.Contains(list, t) {
				return list, x
			}
			list, uid = nil, ""
		}
		list, uid = append(list, x), cmp.Or(x.UID, uid)
	}
	return list, nil
}

// another reports whether a sync is of another object than those before it, of which the last
// and the UID are given. One that does not know is of the same, unless that was gone.
func another(last *Trace, uid string, t *Trace) bool {
	if t.UID != "" && uid != "" {
		return t.UID != uid
	}
	return last.Gone && !t.Gone
}

// within are the syncs of the family from the beginning to the end of the
// story: up to where it is quiet after its end, or the next one begins, be it of another
// object of that name.
func (e *Excerpt) within(kin *kin, syncs []*Trace, s storyRange, from time.Time) []*Trace {
	next := time.Time{}
	if s.next != nil {
		next = s.next.Started
	}
	for i, x := range syncs[s.last+1:] {
		if s.settled && unsettled(x) {
			first := max(s.last+1, leadingUp(e.loops, syncs, s.last+1+i))
			next = e.began(kin, syncs[first], restBefore(syncs, first))
			break
		}
	}
	var list []*Trace
	ended, over := s.settled || s.gone, syncs[s.last].Ended
	for _, x := range e.traces {
		if !kin.has(x.Object, x.Owner) || x.Ended.Before(from) || !next.IsZero() && !x.Started.Before(next) {
			continue
		}
		if ended && x.Started.Sub(over) > quietEnd {
			break
		}
		if ended && x.Ended.After(over) && x.Wrote() {
			over = x.Ended
		}
		list = append(list, x)
	}
	return trimmed(list, syncs[s.last])
}

// trimmed leaves out what came after the end and wrote nothing, nor would have, nor took what a pod had
// done before.
func trimmed(list []*Trace, last *Trace) []*Trace {
	for n := len(list); n > 0; n-- {
		t := list[n-1]
		if t.Wrote() || t.Plans() || t.Unanswered() || !t.Started.After(last.Started) || t.tookPod(last.Started) {
			break
		}
		list = list[:n-1]
	}
	return list
}

// tookPod reports whether a sync took what a pod had done by an instant.
func (t *Trace) tookPod(by time.Time) bool {
	return slices.ContainsFunc(t.Causes, func(c Cause) bool {
		return strings.HasPrefix(c.Object, "Pod ") && !c.At.After(by)
	})
}

// event is a cause as a story knows it: several syncs may have taken the same.
type event struct {
	object, rv string
	kind       CauseKind
}

// beats is what happened from an instant on, each with the sync that took it. An event that
// a loop saw before is left to the one that saw it then.
func (e *Excerpt) beats(kin *kin, syncs []*Trace, last *Trace, settles bool, from time.Time) []Beat {
	var list []Beat
	told := map[event]bool{}
	before, undone := map[Object]*Trace{}, map[Object]*Trace{}
	for _, t := range syncs {
		for i := range t.Causes {
			if t.Causes[i].At.Before(from) {
				continue
			}
			if b, ok := e.happened(kin, t, &t.Causes[i], told); ok {
				list = append(list, b)
			}
		}
		hit := t.Hit(t.Class(DefaultSlow))
		b := Beat{Kind: BeatSync, At: t.Started, Object: t.title(e.loops), Sync: &hit, Writes: t.Writes(e.loops), Planned: t.Planned(e.loops), Held: t.held(), Settles: settles && t == last}
		b.Waited, b.Quiet = e.waited(before[t.Object], t), !b.Settles && (repeats(before[t.Object], t) || triedAgain(e.loops, undone[t.Object], t))
		before[t.Object] = t
		if t.Unanswered() || t.Wrote() {
			undone[t.Object] = t
		}
		list = append(list, b)
	}
	return list
}

// repeats reports whether a sync is no news after the one before it.
func repeats(before, t *Trace) bool {
	if t.Failure != nil || len(t.Writes(nil)) > 0 {
		return false
	}
	if t.plansOtherThan(before) {
		return false
	}
	if before == nil {
		return len(t.held()) == 0
	}
	return slices.EqualFunc(before.held(), t.held(), func(a, b decision.Held) bool {
		return a.Code == b.Code && a.Kind == b.Kind && a.Target.Name == b.Target.Name
	})
}

// rank puts an event before the sync that it woke, and an outage before all that it
// kept, where the clock does not.
func rank(k BeatKind) int {
	switch k {
	case BeatOutage, BeatLeader, BeatMissed, BeatRestart:
		return 0
	case BeatSync:
		return 2
	default:
		return 1
	}
}

// happened is the beat of a cause that is news: something that was not written
// by a sync of the story, and was not told before. What a pod does is always news.
func (e *Excerpt) happened(kin *kin, t *Trace, c *Cause, told map[event]bool) (Beat, bool) {
	if !c.tells() {
		return Beat{}, false
	}
	pod := strings.HasPrefix(c.Object, "Pod ")
	if !pod && e.made(kin, t, c) {
		return Beat{}, false
	}
	id := event{c.Object, cmp.Or(c.NewRV, c.OldRV), c.Kind}
	if c.Kind == CausePodReason { // The same event as its owner was told.
		id.kind = CauseModified
	}
	if told[id] {
		return Beat{}, false
	}
	told[id] = true
	b := Beat{Kind: BeatChange, At: c.At, Object: c.Object, Cause: c}
	if pod {
		b.Kind = BeatPod
	} else if by := e.WriterOf(t, c); by != nil {
		hit := by.Hit(by.Class(DefaultSlow))
		b.By, b.Sync = e.loops.Kind(by.Loop), &hit
	}
	return b, true
}

// made reports whether a cause tells of a write by a sync of the story, or by one of ours of
// which no more is known.
func (e *Excerpt) made(kin *kin, t *Trace, c *Cause) bool {
	by := e.WriterOf(t, c)
	if by == nil {
		return c.Sync != 0
	}
	return kin.has(by.Object, by.Owner)
}

func (t *Trace) held() []decision.Held {
	if n := len(t.Rounds); n > 0 {
		return t.Rounds[n-1].Verdict.Held
	}
	return nil
}

// waited is the pause between two syncs of an object, where the first was held up.
func (e *Excerpt) waited(before, t *Trace) *Waited {
	if before == nil || restarted(before, t) {
		return nil
	}
	w := &Waited{For: t.Started.Sub(before.Ended), Text: before.Sentence.At(before.Ended)}
	for _, h := range before.held() {
		if !slices.Contains(w.Codes, h.Code) {
			w.Codes = append(w.Codes, h.Code)
		}
	}
	tone := before.Sentence.Tone
	rests := tone == decision.ToneNeutral && before.Owner == "" // What its owner has scaled to zero waits for nothing.
	if len(w.Codes) == 0 && (tone == decision.ToneWaiting || tone == decision.ToneFailed || rests) {
		w.Codes = []string{before.Sentence.Code}
	}
	if len(w.Codes) == 0 || w.For <= 0 {
		return nil
	}
	if len(t.Causes) > 0 {
		w.Over = &t.Causes[0]
	}
	return w
}
