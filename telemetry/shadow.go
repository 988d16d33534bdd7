package telemetry

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/loopscope/loopscope/telemetry/decision"
)

// ShadowVerdict is how a size that this process would have written compares with
// the one that another controller wrote.
type ShadowVerdict string

// The verdicts. All but the first are differences, and all but the last of
// those are explained.
const (
	ShadowAgrees ShadowVerdict = "agrees"
	// ShadowTiming: the two decided on different versions of something.
	ShadowTiming ShadowVerdict = "cache-timing"
	// ShadowOther: a third program wrote it, which says nothing of the other controller.
	ShadowOther ShadowVerdict = "other-writer"
	// ShadowDeparture: these rules depart from upstream's there, as the register has it.
	ShadowDeparture ShadowVerdict = "departure"
	// ShadowOverdue: nobody wrote it within ShadowWithin.
	ShadowOverdue ShadowVerdict = "overdue"
	// ShadowUnexplained: on the same versions the other controller did something else.
	ShadowUnexplained ShadowVerdict = "unexplained"
)

// ShadowVerdicts lists every ShadowVerdict, the worst first.
var ShadowVerdicts = []ShadowVerdict{ShadowUnexplained, ShadowOverdue, ShadowDeparture, ShadowTiming, ShadowOther, ShadowAgrees}

// ShadowWithin is how long the other controller may take.
const ShadowWithin = 5 * time.Second

// ShadowSettles is how long a difference is only suspected: the caches of a
// process come from watches of their own, and one may be behind the other. What
// another cache shows by then, and was written before, the other controller knew;
// and what it undoes by then as is predicted, it had written without knowing something.
const ShadowSettles = 2 * time.Second

// ControllerManager is the field manager of Kubernetes' own loops, as they are
// usually run. Another one is known by writing what is predicted.
const ControllerManager = "kube-controller-manager"

// knownBy is how often a manager has to write what is predicted before it is
// taken for the other controller.
const knownBy = 3

const (
	// maxDifferences bounds the differences that are kept, the newest of all.
	maxDifferences = 200
	maxPredictions = 10_000
	maxManagers    = 64
)

// Shadow compares the sizes that the loops of a watching process
// decide with those that another controller writes, and learns both from the
// same traces: a decision from its sync, a write from the cause that it is to a
// later one. It is a reader of the journal and holds nobody up. All methods are
// safe for concurrent use.
type Shadow struct {
	loops decision.Loops

	mu          sync.Mutex
	predictions map[shadowTarget]*prediction
	outdated    map[shadowTarget]*prediction // which a later sync no longer came to
	newest      map[Object]*Trace
	state       ShadowState
	agreed      map[string]int // by field manager, up to knownBy
	suspects    []suspect
	counts      map[string]map[ShadowVerdict]uint64
}

// shadowTarget is a ReplicaSet.
type shadowTarget struct{ namespace, name string }

// prediction is a size that this process would have written and nobody has yet.
type prediction struct {
	Difference
	create bool
}

// suspect is a difference that may yet be explained.
type suspect struct {
	Difference
	write sizeWrite
	seen  time.Time
	// before is the sync before it.
	before *Trace
}

// ShadowState is what has been compared. Counts are since the journal began.
type ShadowState struct {
	// Syncs are those of the Deployment loop, of which Silent decided no size,
	// rightly or not: nothing can be compared there.
	Syncs  uint64 `json:"syncs"`
	Silent uint64 `json:"silent"`
	// Together counts writes of the other controller that came into the caches
	// together with what they follow from, so that nothing could be decided before, and
	// that could not be decided afterwards either.
	Together uint64 `json:"together"`
	// Withdrawn counts decisions that a later sync did not come to any more, and that
	// the other controller has not written either.
	Withdrawn uint64 `json:"withdrawn"`
	// Missed counts syncs that went by unseen.
	Missed    uint64           `json:"missed"`
	Questions []ShadowQuestion `json:"questions"`
	// Differences are the newest first.
	Differences []Difference `json:"differences"`
}

// ShadowQuestion is how decisions compare that follow from one question.
type ShadowQuestion struct {
	Question string                   `json:"question"`
	Counts   map[ShadowVerdict]uint64 `json:"counts"`
}

// Count is how many decisions have that verdict, over all questions.
func (s *ShadowState) Count(v ShadowVerdict) (n uint64) {
	for _, q := range s.Questions {
		n += q.Counts[v]
	}
	return n
}

// Difference is a decision that did not come out as it was predicted.
type Difference struct {
	Verdict  ShadowVerdict `json:"verdict"`
	At       time.Time     `json:"at"` // of the decision
	Object   Object        `json:"object"`
	Target   string        `json:"target"` // the ReplicaSet
	Question string        `json:"question"`
	// Predicted and Observed are changes of a size, or the name of what is created.
	Predicted string `json:"predicted"`
	Observed  string `json:"observed,omitempty"`
	Manager   string `json:"manager,omitempty"`
	// Departure is the number of the departure that explains it, in the register.
	Departure int `json:"departure,omitempty"`
	// DecidedOn is the version of the ReplicaSet that was decided on, and WrittenOn
	// the one before the observed write.
	DecidedOn string `json:"decidedOn,omitempty"`
	WrittenOn string `json:"writtenOn,omitempty"`
	// Sync decided, and SeenIn is the sync that the observed write woke.
	Epoch  string `json:"epoch"`
	Sync   uint64 `json:"sync"`
	SeenIn uint64 `json:"seenIn,omitempty"`
}

// NewShadow returns one that has compared nothing yet.
func NewShadow(loops decision.Loops) *Shadow {
	return &Shadow{loops: loops, predictions: map[shadowTarget]*prediction{}, outdated: map[shadowTarget]*prediction{}, newest: map[Object]*Trace{}, agreed: map[string]int{}, counts: map[string]map[ShadowVerdict]uint64{}}
}

// Run compares until ctx ends. It is called once.
func (s *Shadow) Run(ctx context.Context, j *Journal) { j.follow(ctx, 0, s.Add) }

// State is what has been compared as of now: what nobody wrote within
// ShadowWithin is overdue as long as it stays so.
func (s *Shadow) State(now time.Time) ShadowState {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.confirm(now)
	state := s.state
	state.Differences = slices.Clone(s.state.Differences)
	overdue := map[string]uint64{}
	for _, p := range s.predictions {
		if now.Sub(p.At) > ShadowWithin {
			state.Differences = append(state.Differences, p.Difference)
			overdue[p.Question]++
		}
	}
	slices.SortStableFunc(state.Differences, func(a, b Difference) int {
		return cmp.Or(b.At.Compare(a.At), strings.Compare(a.Object.Key(), b.Object.Key()), strings.Compare(a.Target, b.Target))
	})
	state.Questions = s.questions(overdue)
	return state
}

func (s *Shadow) questions(overdue map[string]uint64) []ShadowQuestion {
	list := make([]ShadowQuestion, 0, len(s.counts))
	add := func(question string) {
		q := ShadowQuestion{Question: question, Counts: map[ShadowVerdict]uint64{}}
		for v, n := range s.counts[question] {
			q.Counts[v] = n
		}
		if n := overdue[question]; n > 0 {
			q.Counts[ShadowOverdue] = n
		}
		list = append(list, q)
	}
	for question := range s.counts {
		add(question)
	}
	for question := range overdue {
		if s.counts[question] == nil {
			add(question)
		}
	}
	slices.SortFunc(list, func(a, b ShadowQuestion) int { return strings.Compare(a.Question, b.Question) })
	return list
}
