package telemetry

import (
	"context"
	"sync"
	"time"

	"github.com/loopscope/loopscope/controllers/decision"
)

// Tally counts how often each question was answered in which way since the
// journal began. It is a reader of the journal: a sync does not wait for it. All
// methods are safe for concurrent use.
type Tally struct {
	mu     sync.RWMutex
	counts map[answered]uint64
	syncs  map[string]uint64
	missed uint64
}

type answered struct{ loop, question, answer string }

// maxAnswers bounds the different answers that are counted: some questions are
// answered with a name or a number.
const maxAnswers = 4096

// countEvery is the least time between two looks at the journal.
const countEvery = 250 * time.Millisecond

// NewTally returns one that has counted nothing yet.
func NewTally() *Tally {
	return &Tally{counts: map[answered]uint64{}, syncs: map[string]uint64{}}
}

// Run counts until ctx ends. It is called once.
func (t *Tally) Run(ctx context.Context, j *Journal) {
	j.follow(ctx, countEvery, t.add) // Nobody looks at counts more often, and being woken costs more than counting.
}

func (t *Tally) add(batch []*Trace, missed uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.missed += missed
	for _, x := range batch {
		t.syncs[x.Loop]++
		for r := range x.Rounds {
			t.path(x.Loop, x.Rounds[r].Verdict.Path)
		}
		if x.Report != nil {
			t.path(x.Loop, x.Report.Path)
		}
	}
}

// path counts the answers of one path. The tally is locked.
func (t *Tally) path(loop string, p decision.Path) {
	for i := range p {
		key := answered{loop, p[i].Question, p[i].Answer}
		if _, known := t.counts[key]; known || len(t.counts) < maxAnswers {
			t.counts[key]++
		}
	}
}

// Count is how often a question of a loop had that answer.
func (t *Tally) Count(loop, question, answer string) uint64 {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.counts[answered{loop, question, answer}]
}

// Asked is how often a question of a loop was asked.
func (t *Tally) Asked(loop, question string) (n uint64) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	for key, count := range t.counts {
		if key.loop == loop && key.question == question {
			n += count
		}
	}
	return n
}

// Syncs is how many syncs of a loop were counted.
func (t *Tally) Syncs(loop string) uint64 {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.syncs[loop]
}

// Missed is how many syncs went by faster than they could be counted.
func (t *Tally) Missed() uint64 {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.missed
}
