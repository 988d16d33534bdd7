package telemetry

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/loopscope/loopscope/controllers/decision"
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
	// ShadowOther: a third program wrote the size.
	ShadowOther ShadowVerdict = "other-writer"
	// ShadowOverdue: nobody wrote it within ShadowWithin.
	ShadowOverdue ShadowVerdict = "overdue"
	// ShadowUnexplained: on the same versions the other controller did something else.
	ShadowUnexplained ShadowVerdict = "unexplained"
)

// ShadowVerdicts lists every ShadowVerdict, the worst first.
var ShadowVerdicts = []ShadowVerdict{ShadowUnexplained, ShadowOverdue, ShadowOther, ShadowTiming, ShadowAgrees}

// ShadowWithin is how long the other controller may take.
const ShadowWithin = 5 * time.Second

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

// Shadow compares the sizes that the Deployment loop of a watching process
// decides with those that another controller writes, and learns both from the
// same traces: a decision from its sync, a write from the cause that it is to a
// later one. It is a reader of the journal and holds nobody up. All methods are
// safe for concurrent use.
type Shadow struct {
	mu          sync.Mutex
	predictions map[shadowTarget]*prediction
	newest      map[Object]*Trace
	state       ShadowState
	agreed      map[string]int // by field manager, up to knownBy
	counts      map[string]map[ShadowVerdict]uint64
}

// shadowTarget is a ReplicaSet.
type shadowTarget struct{ namespace, name string }

// prediction is a size that this process would have written and nobody has yet.
type prediction struct {
	Difference
	create bool
}

// ShadowState is what has been compared. Counts are since the journal began.
type ShadowState struct {
	// Syncs are those of the Deployment loop, of which Silent decided no size,
	// rightly or not: nothing can be compared there.
	Syncs  uint64 `json:"syncs"`
	Silent uint64 `json:"silent"`
	// Together counts writes of the other controller that came into the caches
	// together with what they follow from, so that nothing could be decided before.
	Together uint64 `json:"together"`
	// Withdrawn counts decisions that a later sync did not come to any more.
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
func NewShadow() *Shadow {
	return &Shadow{predictions: map[shadowTarget]*prediction{}, newest: map[Object]*Trace{}, agreed: map[string]int{}, counts: map[string]map[ShadowVerdict]uint64{}}
}

// Run compares until ctx ends. It is called once.
func (s *Shadow) Run(ctx context.Context, j *Journal) {
	for after := uint64(0); ; {
		batch, missed, err := j.Next(ctx, after)
		switch {
		case errors.Is(err, ErrAhead):
			after = 0
			continue
		case err != nil:
			return
		}
		s.Add(batch, missed)
		after = batch[len(batch)-1].Seq
	}
}

// Add compares syncs, which come in their order.
func (s *Shadow) Add(batch []*Trace, missed uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.state.Missed += missed; missed > 0 {
		clear(s.predictions) // What became of them was perhaps among those.
		clear(s.newest)
	}
	for _, t := range batch {
		if t.Loop != LoopDeployment {
			continue
		}
		s.observe(t)
		s.predict(t)
		if s.newest[t.Object] = t; t.Gone {
			delete(s.newest, t.Object)
		}
	}
}

// observe compares what others wrote before this sync.
func (s *Shadow) observe(t *Trace) {
	for i := range t.Causes {
		c := &t.Causes[i]
		name, ok := strings.CutPrefix(c.Object, "ReplicaSet ")
		if !ok || c.Sync != 0 {
			continue
		}
		target := shadowTarget{t.Namespace, name}
		switch size := sizeOf(c); {
		case c.Kind == CauseAdded && s.predictions[target] != nil && s.predictions[target].create:
			s.settle(target, ShadowAgrees, name, c, t)
		case size != nil:
			s.compare(target, size, c, t)
		}
	}
}

// sizeOf is the change of a size that a cause has; nil for none.
func sizeOf(c *Cause) *decision.Change {
	i := slices.IndexFunc(c.Fields, func(f decision.Change) bool { return f.Field == "spec.replicas" })
	if i < 0 || c.Kind != CauseModified {
		return nil
	}
	return &c.Fields[i]
}

// compare judges one observed change of a size.
func (s *Shadow) compare(target shadowTarget, size *decision.Change, c *Cause, t *Trace) {
	p := s.predictions[target]
	observed := size.From + " → " + size.To
	foreign := s.foreign(c.Manager)
	switch {
	case p == nil && s.alone(target, c, t) && !foreign:
		s.surprise(target, observed, c, t)
	case p == nil:
		s.state.Together++
	case p.Predicted == observed:
		s.settle(target, ShadowAgrees, observed, c, t)
	case foreign:
		s.settle(target, ShadowOther, observed, c, t)
	case c.OldRV != p.DecidedOn || len(t.Causes) > 1:
		s.settle(target, ShadowTiming, observed, c, t)
	default:
		s.settle(target, ShadowUnexplained, observed, c, t)
	}
}

// foreign reports whether a manager is not the other controller.
func (s *Shadow) foreign(manager string) bool {
	return manager != "" && manager != ControllerManager && s.agreed[manager] < knownBy
}

// agree notes who wrote what was predicted.
func (s *Shadow) agree(manager string) {
	if n, known := s.agreed[manager]; n < knownBy && (known || len(s.agreed) < maxManagers) {
		s.agreed[manager]++
	}
}

// alone reports whether a write is all that happened since a sync that saw the
// very version that was written on, and decided nothing on it.
func (s *Shadow) alone(target shadowTarget, c *Cause, t *Trace) bool {
	before := s.newest[t.Object]
	if before == nil || len(t.Causes) != 1 || len(before.Rounds) == 0 {
		return false
	}
	var seen struct {
		ReplicaSets []struct{ Name, RV string } `json:"replicaSets"`
	}
	if json.Unmarshal(before.Snapshot, &seen) != nil {
		return false
	}
	return slices.ContainsFunc(seen.ReplicaSets, func(rs struct{ Name, RV string }) bool { return rs.Name == target.name && rs.RV == c.OldRV })
}

// surprise notes a write that nobody predicted, though everything was known.
func (s *Shadow) surprise(target shadowTarget, observed string, c *Cause, t *Trace) {
	before := s.newest[t.Object]
	d := Difference{Verdict: ShadowUnexplained, At: before.Ended, Object: t.Object, Target: target.name, Question: before.Leaf(), Predicted: "none",
		Observed: observed, Manager: c.Manager, DecidedOn: c.OldRV, WrittenOn: c.OldRV, Epoch: before.Epoch, Sync: before.Seq, SeenIn: t.Seq}
	s.note(d)
}

// settle ends a prediction.
func (s *Shadow) settle(target shadowTarget, v ShadowVerdict, observed string, c *Cause, t *Trace) {
	d := s.predictions[target].Difference
	delete(s.predictions, target)
	if v == ShadowAgrees {
		s.agree(c.Manager)
	}
	d.Verdict, d.Observed, d.Manager, d.WrittenOn, d.SeenIn = v, observed, c.Manager, c.OldRV, t.Seq
	s.note(d)
}

// note counts a comparison, and keeps it if it is a difference.
func (s *Shadow) note(d Difference) {
	if s.counts[d.Question] == nil {
		s.counts[d.Question] = map[ShadowVerdict]uint64{}
	}
	s.counts[d.Question][d.Verdict]++
	if d.Verdict != ShadowAgrees {
		if n := len(s.state.Differences); n >= maxDifferences {
			s.state.Differences = slices.Delete(s.state.Differences, 0, 1+n-maxDifferences)
		}
		s.state.Differences = append(s.state.Differences, d)
	}
}

// predict takes the sizes that a sync would have written in the place of what
// the syncs before it said of the same Deployment.
func (s *Shadow) predict(t *Trace) {
	s.state.Syncs++
	made := map[shadowTarget]*prediction{}
	if n := len(t.Rounds); n > 0 {
		for _, a := range t.Rounds[n-1].Verdict.Actions {
			if p := predictionOf(t, &a); p != nil {
				made[shadowTarget{t.Namespace, a.Target.Name}] = p
			}
		}
	}
	if len(made) == 0 {
		s.state.Silent++
	}
	for target, p := range s.predictions {
		if p.Object != t.Object {
			continue
		}
		next := made[target]
		switch {
		case next == nil:
			s.state.Withdrawn++
			delete(s.predictions, target)
		case next.Predicted == p.Predicted: // It has been due since the first sync that said so.
			next.At = p.At
		}
	}
	for target, p := range made {
		if _, known := s.predictions[target]; known || len(s.predictions) < maxPredictions {
			s.predictions[target] = p
		}
	}
}

// predictionOf is the size that an action would have written; nil for none.
func predictionOf(t *Trace, a *decision.Action) *prediction {
	if a.Size == nil || a.Size.From == a.Size.To && a.Kind != decision.CreateReplicaSet {
		return nil
	}
	p := &prediction{create: a.Kind == decision.CreateReplicaSet}
	p.Difference = Difference{Verdict: ShadowOverdue, At: t.Ended, Object: t.Object, Target: a.Target.Name, Question: a.Question, DecidedOn: a.Target.RV, Epoch: t.Epoch, Sync: t.Seq}
	if p.Predicted = strconv.FormatInt(a.Size.From, 10) + " → " + strconv.FormatInt(a.Size.To, 10); p.create {
		p.Predicted = a.Target.Name
	}
	return p
}

// State is what has been compared as of now: what nobody wrote within
// ShadowWithin is overdue as long as it stays so.
func (s *Shadow) State(now time.Time) ShadowState {
	s.mu.Lock()
	defer s.mu.Unlock()
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
