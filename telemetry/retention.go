package telemetry

import (
	"sort"
	"time"

	"github.com/loopscope/loopscope/telemetry/decision"
)

// Class is why a trace is kept longer than the newest ones.
type Class string

// The classes.
const (
	ClassWrote      Class = "wrote"
	ClassFailed     Class = "failed"
	ClassConflicted Class = "conflicted"
	ClassSlow       Class = "slow"
	// ClassQuiet is kept while it is new, and then counted.
	ClassQuiet Class = "quiet"
)

// Classes lists every Class, for metrics that start at zero.
var Classes = []Class{ClassWrote, ClassFailed, ClassConflicted, ClassSlow, ClassQuiet}

const (
	shelfWrote = iota
	shelfFailed
	shelfConflicted
	shelfSlow
	shelfLoaded // of a recording: everything
	shelfEnds   // what tells that an object is gone, while older ones of it are kept
	shelfCount
)

// Class is the first class that the trace belongs to: a conflict before a
// failure, a write, and a sync that ran for slowAfter or longer.
func (t *Trace) Class(slowAfter time.Duration) Class {
	switch {
	case t.conflicted():
		return ClassConflicted
	case t.failed():
		return ClassFailed
	case t.Wrote():
		return ClassWrote
	case t.Took() >= slowAfter:
		return ClassSlow
	}
	return ClassQuiet
}

func (t *Trace) failed() bool {
	switch t.Result {
	case ResultFailed, ResultDropped, ResultPanicked, ResultUnknown:
		return true
	}
	return t.Failure != nil
}

// Wrote reports whether anything of this sync was taken by the API server, also
// if the sync failed afterwards.
func (t *Trace) Wrote() bool {
	if t.Result == ResultWrote {
		return true
	}
	found := false
	t.outcomes(func(_ *decision.Action, o *decision.Outcome) { found = found || took(o) })
	return found
}

// WroteSize reports whether this sync changed how many of something there
// should be or are: it scaled, or created or deleted pods.
func (t *Trace) WroteSize() bool {
	found := false
	t.outcomes(func(a *decision.Action, o *decision.Outcome) {
		found = found || took(o) && a != nil && (a.Size != nil || a.Count > 0)
	})
	return found
}

func took(o *decision.Outcome) bool {
	return o.State == decision.Written || o.State == decision.Partly
}

func (t *Trace) conflicted() bool {
	if t.Result == ResultStale {
		return true
	}
	found := false
	t.outcomes(func(_ *decision.Action, o *decision.Outcome) { found = found || o.State == decision.Conflicted })
	return found
}

// outcomes visits every outcome with its action, and the status write's with nil.
func (t *Trace) outcomes(visit func(*decision.Action, *decision.Outcome)) {
	for r := range t.Rounds {
		round := &t.Rounds[r]
		for i := range min(len(round.Outcomes), len(round.Verdict.Actions)) {
			visit(&round.Verdict.Actions[i], &round.Outcomes[i])
		}
	}
	if t.Report != nil && t.Report.Outcome != nil {
		visit(nil, t.Report.Outcome)
	}
}

// kept is a trace and what holds it: the recent ring and shelves.
type kept struct {
	Mark
	trace   *Trace
	size    int64
	recent  bool
	shelves uint8 // a bit for each
	quiet   bool
	// The history of the trace's object, and its neighbours there.
	history      *objectTraces
	older, newer *kept
}

// hold makes a trace one that is kept, in the history of its object. The journal is locked.
func (j *Journal) hold(t *Trace, steered []Object) *kept {
	k := &kept{Mark: markOf(t), trace: t, size: estimate(t)}
	j.held++
	j.bytes += k.size
	j.objectTracesOf(t.Object).append(k, t, steered)
	return k
}

// keep puts a trace into the recent ring, on its shelves and into the history
// of its object, and lets go of what they have no room for. A trace can stand
// on several shelves. The journal is locked.
func (j *Journal) keep(t *Trace, steered []Object) {
	k := j.hold(t, steered)
	k.recent, k.quiet = true, true
	slots := uint64(len(j.recent))
	for j.oldest <= j.last.Load() && t.Seq-j.oldest >= slots {
		j.dropRecent()
	}
	if t.Seq-j.oldest >= slots { // A record that is followed can leave out many.
		j.oldest = t.Seq - slots + 1
	}
	j.recent[t.Seq%slots].Store(k)
	j.shelve(k, shelfConflicted, t.conflicted())
	j.shelve(k, shelfFailed, t.failed() && !t.conflicted())
	j.shelve(k, shelfWrote, k.Wrote)
	j.shelve(k, shelfSlow, t.Took() >= j.opts.SlowAfter)
	for j.bytes > j.opts.Bytes && j.evictLargest() {
	}
}

func (j *Journal) shelve(k *kept, class int, belongs bool) {
	if !belongs {
		return
	}
	s := &j.shelves[class]
	if len(s.items)-s.gone >= s.limit {
		j.unshelve(class)
	}
	if k.shelves == 0 {
		j.shelved += k.size
	}
	k.shelves |= 1 << class
	k.quiet = false
	s.push(k)
}

// unshelve lets go of the oldest of a shelf.
func (j *Journal) unshelve(class int) {
	k := j.shelves[class].pop()
	k.shelves &^= 1 << class
	if k.shelves == 0 {
		j.shelved -= k.size
	}
	j.release(k)
}

// dropRecent lets go of the oldest of the recent ring.
func (j *Journal) dropRecent() {
	k := j.recent[j.oldest%uint64(len(j.recent))].Swap(nil)
	j.oldest++
	if k == nil { // A record that is followed has gaps.
		return
	}
	k.recent = false
	j.release(k)
}

// evictLargest drops the oldest of whichever holds most bytes, so that one class of
// huge traces does not cost another its few. It is false when there is nothing
// left to drop but the newest trace, which always stays.
func (j *Journal) evictLargest() bool {
	greediest := 0
	for i := range j.shelves[:shelfEnds] { // That one empties with the others.
		if j.shelves[i].bytes > j.shelves[greediest].bytes {
			greediest = i
		}
	}
	s := &j.shelves[greediest]
	// What is on a shelf and in the ring as well is only freed by leaving both.
	inRing := s.bytes == 0 || s.items[s.gone].recent
	if inRing || j.bytes-j.shelved >= s.bytes {
		if j.oldest <= j.last.Load() {
			j.dropRecent()
			return true
		}
		if inRing {
			return false
		}
	}
	j.unshelve(greediest)
	return true
}

// release forgets a trace that nothing holds any more: it leaves its object's
// history, and if it was quiet it is counted there. The count lives as long as
// the object or a trace of it. What ends its object outlives what came before it.
func (j *Journal) release(k *kept) {
	if k.recent || k.shelves&^(1<<shelfEnds) != 0 {
		return
	}
	if k.ends() {
		j.keepEnd(k)
		return
	}
	j.dropEnd(k)
	j.held--
	j.bytes -= k.size
	h, next := k.history, k.newer
	h.remove(k)
	if k.quiet {
		h.folded++
		j.folded++
	}
	if h.newest == nil && !j.board.has(h.object) {
		delete(j.objects, h.object)
	}
	if next != nil { // It may have been kept for this one.
		j.release(next)
	}
}

// shelf is a first-in-first-out list of traces of one class, by number.
type shelf struct {
	limit int
	items []*kept
	gone  int // at the front of items
	bytes int64
}

func (s *shelf) push(k *kept) {
	if s.gone > 64 && s.gone > len(s.items)/2 {
		s.items = append(s.items[:0:0], s.items[s.gone:]...)
		s.gone = 0
	}
	s.items = append(s.items, k)
	s.bytes += k.size
}

func (s *shelf) pop() *kept {
	k := s.items[s.gone]
	s.items[s.gone] = nil
	s.gone++
	s.bytes -= k.size
	return k
}

// behind is the place of the first with a higher number.
func (s *shelf) behind(seq uint64) int {
	return s.gone + sort.Search(len(s.items)-s.gone, func(i int) bool { return s.items[s.gone+i].Seq > seq })
}

// estimate is about how many bytes a trace keeps alive. It has to be cheap
// rather than right: it is there so that large snapshots count as such.
func estimate(t *Trace) int64 {
	n := 1024 + t.Snapshot.Bytes() + 256*len(t.Causes) + 512*len(t.Diagnosis.Findings)
	path := func(p decision.Path) {
		n += 96 * len(p)
		for i := range p {
			n += 56 * len(p[i].Facts)
		}
	}
	for i := range t.Rounds {
		r := &t.Rounds[i]
		path(r.Verdict.Path)
		n += 384*len(r.Verdict.Actions) + 384*len(r.Verdict.Held) + 256*len(r.Outcomes)
	}
	if t.Report != nil {
		path(t.Report.Path)
		n += 128*len(t.Report.Changes) + 128*len(t.Report.Events)
	}
	return int64(n)
}
