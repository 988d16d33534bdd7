package replay

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/decision"
)

// Rules are the loops that recorded syncs are decided by.
type Rules decision.Loops

// Kind is what became of a trace.
type Kind string

// The kinds of finding.
const (
	// Equal: verdicts, report, numbers and sentence are those recorded.
	Equal Kind = "equal"
	// WordsOnly: what was decided and published is as recorded, and is told otherwise:
	// the sentence, what would release a held write, the numbers of pods in them.
	WordsOnly Kind = "words only"
	// Different: something is not as recorded.
	Different Kind = "different"
	// NotReplayable: the trace does not hold what it takes, for a reason.
	NotReplayable Kind = "not replayable"
)

// The reasons why a trace is not replayable.
const (
	// Unobserved: the sync failed before there was a snapshot, so nothing was decided.
	Unobserved = "the sync failed before it observed anything, so nothing was decided"
	// Unrecorded: there was something to decide on, and the record lacks it.
	Unrecorded = "its snapshot was not recorded"
	// Panicked: what the sync had decided before it panicked is equal; what it
	// would have decided or said after that is not known.
	Panicked = "the sync panicked; what it had decided by then is equal"
	// Unread begins the reason of a snapshot that cannot be read.
	Unread = "its snapshot cannot be read"
)

// Finding is what became of one trace.
type Finding struct {
	Kind Kind
	// Reason says why it is not replayable.
	Reason string
	// Detail is the error behind the reason, where there is one.
	Detail error
	// Difference is the first one found.
	Difference Difference
}

// Difference is a place where the record and the replay part.
type Difference struct {
	// Path is the place in the JSON of the trace: "rounds[0].verdict.path[7].answer".
	Path string
	// Recorded and Now are the JSON of both values, "nothing" for none.
	Recorded, Now string
}

// String is the difference in one line.
func (d Difference) String() string {
	return fmt.Sprintf("%s: recorded %s, now %s", d.Path, d.Recorded, d.Now)
}

// Trace decides and settles one recorded sync again. It changes nothing of it,
// and a panic of the rules is a difference.
func (r Rules) Trace(t *telemetry.Trace) Finding {
	if t.Snapshot.IsZero() {
		if len(t.Rounds) == 0 {
			return Finding{Kind: NotReplayable, Reason: Unobserved}
		}
		return Finding{Kind: NotReplayable, Reason: Unrecorded}
	}
	s, err := r.snapshot(t)
	if err != nil {
		return Finding{Kind: NotReplayable, Reason: Unread, Detail: err}
	}
	return (&again{t: t}).sync(s.Begin(), s.Taken())
}

// Traces replays many at once, on every processor there is, and gives their
// findings in the same order.
func (r Rules) Traces(list []*telemetry.Trace) []Finding {
	findings := make([]Finding, len(list))
	var next atomic.Int64
	var group sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		group.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(list)); i = next.Add(1) - 1 {
				findings[i] = r.Trace(list[i])
			}
		})
	}
	group.Wait()
	return findings
}

// errLoop is the error of a loop whose rules this program does not have.
var errLoop = errors.New("this program does not have its rules")

// snapshot reads what the sync decided on, for the rules of its loop.
func (r Rules) snapshot(t *telemetry.Trace) (decision.Snapshot, error) {
	loop := decision.Loops(r).Of(t.Loop)
	if loop.Decode == nil {
		return nil, fmt.Errorf("loop %q: %w", t.Loop, errLoop)
	}
	return loop.Decode(t.Snapshot.JSON())
}

// wordless is a verdict without what only tells why writes are held back.
func wordless(v decision.Verdict) decision.Verdict {
	held := make([]decision.Held, len(v.Held))
	for i, h := range v.Held {
		held[i] = decision.Held{Question: h.Question, Kind: h.Kind, Target: h.Target, Size: h.Size, Equation: h.Equation}
	}
	v.Held = held
	return v
}

// keyNumbers are those that do not come from a diagnosis.
func keyNumbers(facts []decision.Fact) []decision.Fact {
	var list []decision.Fact
	for _, f := range facts {
		if f.Name != "blocking" && !strings.HasPrefix(f.Name, decision.PodsFact) {
			list = append(list, f)
		}
	}
	return list
}

// panicked reports whether the sync itself did. One that was dropped after its
// last try says so by its failure; a request that panicked did not end its sync.
func panicked(t *telemetry.Trace) bool {
	if t.Result == telemetry.ResultPanicked {
		return true
	}
	n := len(t.Rounds)
	unsettled := t.Report == nil && (n == 0 || !t.Rounds[n-1].Verdict.Stop)
	return unsettled && t.Failure != nil && t.Failure.Reason == "Panic"
}

// listed makes no list of no facts, as the record leaves both out.
func listed(facts []decision.Fact) []decision.Fact {
	if len(facts) == 0 {
		return nil
	}
	return facts
}
