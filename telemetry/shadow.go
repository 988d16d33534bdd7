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

// ShadowVerdict is how something that this process would have written compares with
// what another controller wrote.
type ShadowVerdict string

// The verdicts. The first two agree, as does ShadowDeparture with Kubernetes' own rule; the others but the
// last are explained, or say nothing of the other controller.
const (
	ShadowAgrees ShadowVerdict = "agrees"
	// ShadowBehind: it is what the rules say of a version that a sync here was past by then.
	// A controller decides first and writes later, one write after another.
	ShadowBehind ShadowVerdict = "agrees-behind"
	// ShadowOther: a third program wrote it, which says nothing of the other controller.
	ShadowOther ShadowVerdict = "other-writer"
	// ShadowUnsigned: it is not called for, and nothing says who did it. Nobody signs a deletion, or a number of
	// a status that becomes 0, and the garbage collector releases under the name of kube-controller-manager.
	ShadowUnsigned ShadowVerdict = "unsigned"
	// ShadowDeparture: upstream's own rule says so of such a version, as the register of departures has it.
	ShadowDeparture ShadowVerdict = "departure"
	// ShadowOverdue: nobody wrote it within ShadowWithin, nor another creation or deletion of its sort.
	ShadowOverdue ShadowVerdict = "overdue"
	// ShadowUnexplained: the rules say so of no version that it can have been decided on.
	ShadowUnexplained ShadowVerdict = "unexplained"
)

// ShadowVerdicts lists every ShadowVerdict, the worst first.
var ShadowVerdicts = []ShadowVerdict{ShadowUnexplained, ShadowOverdue, ShadowDeparture, ShadowUnsigned, ShadowOther, ShadowBehind, ShadowAgrees}

// Agrees reports whether both decided the same.
func (v ShadowVerdict) Agrees() bool { return v == ShadowAgrees || v == ShadowBehind }

// Follows reports whether Kubernetes' rules say so, be it where the rules here depart from them.
func (v ShadowVerdict) Follows() bool { return v.Agrees() || v == ShadowDeparture }

// Tells reports whether it tells of the other controller.
func (v ShadowVerdict) Tells() bool { return v != ShadowOther && v != ShadowUnsigned }

// ShadowWithin is how long the other controller may take, and of several creations or deletions for the next one.
const ShadowWithin = 5 * time.Second

// ShadowSettles is how long a difference is only suspected: the caches of a
// process come from watches of their own, and one may be behind the other. What
// another cache shows by then, and was written before, the other controller knew.
const ShadowSettles = 10 * time.Second

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
	// maxLooks bounds the suspects that are looked at once more in one go.
	maxLooks = 8
)

// Shadow compares what the loops of a watching process decide with what
// another controller writes, and learns both from the same traces: a decision from its sync, a
// write from the cause that it is to a later one. It is a reader of the journal and holds nobody
// up. All methods are safe for concurrent use.
type Shadow struct {
	// Record keeps a disagreement as a sync of Comparison; nil to keep none. It is set before Run.
	Record func(*Trace)
	// Rehashes reports whether the other controller is of another release, which gives another hash to
	// one and the same template: what it creates agrees whatever stands behind the last hyphen of its
	// name. nil for no. It is set before Run, and must be safe for concurrent use.
	Rehashes func() bool
	// Outages are the times that are over in which the other controller could write nothing, oldest first; nil for
	// none. It is set before Run, and must be safe for concurrent use.
	Outages func() []Outage

	loops decision.Loops
	due   *dueWrites

	mu       sync.Mutex
	last     *lookBack
	gap      time.Time // when the last missed syncs were over; zero for none
	budget   budget
	state    ShadowState
	agreed   map[string]int // by field manager, up to knownBy
	suspects []suspect
	nobodys  []suspect   // that nobody has signed yet
	judged   []judged    // of the last writes, for the events that tell of them
	heard    []published // the last events
	counts   map[counted]map[ShadowVerdict]uint64
	now      working
}

// counted is what comparisons are counted by.
type counted struct {
	loop string
	decision.Predictable
	question string
}

// ShadowState is what has been compared. Counts are since the journal began.
type ShadowState struct {
	// Syncs are those of loops that predict something, of which Silent did not.
	Syncs  uint64 `json:"syncs"`
	Silent uint64 `json:"silent"`
	// Together counts writes that could not be compared, as nothing can be decided again that
	// was known before them, or as they may have been decided on what was there before the first list here, or
	// on what only missed syncs have seen.
	Together uint64 `json:"together"`
	// Missed counts syncs that went by unseen, and LeftOut writes and events that agree with no sync here
	// and were not looked at any further: comparing may take a fifth of a processor, and no more.
	Missed    uint64           `json:"missed"`
	LeftOut   uint64           `json:"leftOut"`
	Events    ShadowEvents     `json:"events"`
	Questions []ShadowQuestion `json:"questions"`
	// Differences are the newest first.
	Differences []Difference `json:"differences"`
}

// ShadowQuestion is how decisions of one aspect compare that follow from one question.
type ShadowQuestion struct {
	Loop string `json:"loop"`
	decision.Predictable
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

// Difference is a write that is not what was predicted.
type Difference struct {
	Verdict ShadowVerdict `json:"verdict"`
	At      time.Time     `json:"at"` // of the decision, or where there was none of the sync that saw the write
	Object  Object        `json:"object"`
	decision.Predictable
	Target   string `json:"target,omitempty"` // what was written, or would have been
	Question string `json:"question"`
	// Predicted and Observed are changes, or the name of what is created or deleted.
	Predicted string `json:"predicted"`
	Observed  string `json:"observed,omitempty"`
	// Manager is the field manager, or who published an event about it.
	Manager string `json:"manager,omitempty"`
	// Departure is the number of the departure that explains it, in the register.
	Departure int `json:"departure,omitempty"`
	// WrittenOn is the version of the target before the observed write.
	WrittenOn string `json:"writtenOn,omitempty"`
	// Sync decided, 0 where nothing was due, and SeenIn is the sync that the observed write woke.
	Epoch  string `json:"epoch"`
	Sync   uint64 `json:"sync,omitempty"`
	SeenIn uint64 `json:"seenIn,omitempty"`
	// Trace is the sync of Comparison that this is, in the same run; 0 for none.
	Trace uint64 `json:"trace,omitempty"`
}

// NewShadow returns one that has compared nothing yet.
func NewShadow(loops decision.Loops) *Shadow {
	return &Shadow{loops: loops, due: newDueWrites(), last: newLookBack(), budget: newBudget(time.Now), agreed: map[string]int{}, counts: map[counted]map[ShadowVerdict]uint64{}}
}

// Run compares until ctx ends. It is called once.
func (s *Shadow) Run(ctx context.Context, j *Journal) { j.follow(ctx, 0, s.Add) }

// State is what has been compared as of now: what nobody wrote within
// ShadowWithin is overdue as long as it stays so.
func (s *Shadow) State(now time.Time) ShadowState {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.begin()
	s.conclusive(now)
	state := s.state
	state.Differences = slices.Clone(s.state.Differences)
	overdue := map[counted]uint64{}
	for _, d := range s.due.late(now, ShadowWithin, s.outages()) {
		state.Differences = append(state.Differences, d)
		overdue[d.counted()]++
	}
	slices.SortStableFunc(state.Differences, func(a, b Difference) int {
		return cmp.Or(b.At.Compare(a.At), strings.Compare(a.Object.Key(), b.Object.Key()), strings.Compare(a.Target, b.Target))
	})
	state.Questions = s.questions(overdue)
	return state
}

func (d *Difference) counted() counted { return counted{d.Object.Loop, d.Predictable, d.Question} }

func (s *Shadow) questions(overdue map[counted]uint64) []ShadowQuestion {
	list := make([]ShadowQuestion, 0, len(s.counts))
	add := func(of counted) {
		q := ShadowQuestion{of.loop, of.Predictable, of.question, map[ShadowVerdict]uint64{}}
		for v, n := range s.counts[of] {
			q.Counts[v] = n
		}
		if n := overdue[of]; n > 0 {
			q.Counts[ShadowOverdue] = n
		}
		list = append(list, q)
	}
	for of := range s.counts {
		add(of)
	}
	for of := range overdue {
		if s.counts[of] == nil {
			add(of)
		}
	}
	slices.SortFunc(list, func(a, b ShadowQuestion) int {
		return cmp.Or(strings.Compare(a.Loop, b.Loop), strings.Compare(string(a.Aspect), string(b.Aspect)), strings.Compare(a.Of, b.Of), strings.Compare(a.Question, b.Question))
	})
	return list
}
