package telemetry

import (
	"context"
	"sync"
	"time"

	"github.com/loopscope/loopscope/telemetry/decision"
)

// Tally counts how often each question was answered in which way since the
// journal began. It is a reader of the journal: a sync does not wait for it. All
// methods are safe for concurrent use.
type Tally struct {
	mu     sync.RWMutex
	loops  map[string]*loopTally
	known  int // answers of all of them
	missed uint64
}

// loopTally is what was counted of one loop.
type loopTally struct {
	syncs   uint64
	answers map[answered]*uint64
}

type answered struct{ question, answer string }

// maxAnswers bounds the different answers that are counted: some questions are
// answered with a name or a number.
const maxAnswers = 4096

// countEvery is the least time between two looks at the journal.
const countEvery = 250 * time.Millisecond

// NewTally returns one that has counted nothing yet.
func NewTally() *Tally { return &Tally{loops: map[string]*loopTally{}} }

// Run counts until ctx ends. It is called once.
func (t *Tally) Run(ctx context.Context, j *Journal) {
	j.follow(ctx, countEvery, t.add) // Nobody looks at counts more often, and being woken costs more than counting.
}

func (t *Tally) add(batch []*Trace, missed uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.missed += missed
	for _, x := range batch {
		l := t.loops[x.Loop]
		if l == nil {
			l = &loopTally{answers: map[answered]*uint64{}}
			t.loops[x.Loop] = l
		}
		l.syncs++
		for r := range x.Rounds {
			t.path(l, x.Rounds[r].Verdict.Path)
		}
		if x.Report != nil {
			t.path(l, x.Report.Path)
		}
	}
}

// path counts the answers of one path. The tally is locked.
func (t *Tally) path(l *loopTally, p decision.Path) {
	for i := range p {
		t.count(l, answered{p[i].Question, p[i].Answer})
	}
}

func (t *Tally) count(l *loopTally, key answered) {
	n := l.answers[key]
	if n == nil {
		if t.known == maxAnswers {
			return
		}
		t.known++
		n = new(uint64)
		l.answers[key] = n
	}
	*n++
}

// Count is how often a question of a loop had that answer.
func (t *Tally) Count(loop, question, answer string) uint64 {
	t.mu.RLock()
	defer t.mu.RUnlock()
	if l := t.loops[loop]; l != nil {
		if n := l.answers[answered{question, answer}]; n != nil {
			return *n
		}
	}
	return 0
}

// Asked is how often a question of a loop was asked.
func (t *Tally) Asked(loop, question string) (n uint64) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	if l := t.loops[loop]; l != nil {
		for key, count := range l.answers {
			if key.question == question {
				n += *count
			}
		}
	}
	return n
}

// Syncs is how many syncs of a loop were counted.
func (t *Tally) Syncs(loop string) uint64 {
	t.mu.RLock()
	defer t.mu.RUnlock()
	if l := t.loops[loop]; l != nil {
		return l.syncs
	}
	return 0
}

// Missed is how many syncs went by faster than they could be counted.
func (t *Tally) Missed() uint64 {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.missed
}
