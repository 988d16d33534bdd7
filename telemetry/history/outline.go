package history

import (
	"time"

	"github.com/loopscope/loopscope/controllers/decision"
	"github.com/loopscope/loopscope/telemetry"
)

// outline is the part of a trace that queries ask for and lists show. It is read
// from the trace's JSON without its facts and snapshot, which are most of it.
type outline struct {
	Epoch string `json:"epoch"`
	Seq   uint64 `json:"seq"`
	telemetry.Object
	Causes   []outlineCause    `json:"causes"`
	Started  time.Time         `json:"started"`
	Ended    time.Time         `json:"ended"`
	Rounds   []outlineRound    `json:"rounds"`
	Report   *outlinePath      `json:"report"`
	Result   telemetry.Result  `json:"result"`
	Sentence decision.Sentence `json:"sentence"`
	Failure  *decision.Failure `json:"failure"`
}

type outlineCause struct {
	Kind telemetry.CauseKind `json:"kind"`
}

type outlineRound struct {
	Verdict outlinePath `json:"verdict"`
}

type outlinePath struct {
	Path []outlineStep `json:"path"`
}

type outlineStep struct {
	Question string `json:"q"`
	Answer   string `json:"answer"`
}

// trace is as much of the trace as the outline has.
func (o *outline) trace() *telemetry.Trace {
	t := &telemetry.Trace{Epoch: o.Epoch, Seq: o.Seq, Object: o.Object, Started: o.Started, Ended: o.Ended, Result: o.Result, Sentence: o.Sentence, Failure: o.Failure}
	for _, c := range o.Causes {
		t.Causes = append(t.Causes, telemetry.Cause{Kind: c.Kind})
	}
	for _, r := range o.Rounds {
		t.Rounds = append(t.Rounds, decision.Round{Verdict: decision.Verdict{Path: r.Verdict.steps()}})
	}
	if o.Report != nil {
		t.Report = &decision.Report{Path: o.Report.steps()}
	}
	return t
}

func (p outlinePath) steps() decision.Path {
	path := make(decision.Path, 0, len(p.Path))
	for _, s := range p.Path {
		path = append(path, decision.Step{Question: s.Question, Answer: s.Answer})
	}
	return path
}
