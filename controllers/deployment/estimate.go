package deployment

import (
	"time"

	"github.com/loopscope/loopscope/controllers/decision"
	"github.com/loopscope/loopscope/controllers/diagnosis"
	"github.com/loopscope/loopscope/controllers/rollingupdate"
)

// The codes of an estimate that is not known, beside those of held writes.
const (
	etaNoBasis = "no-basis"
	etaSlower  = "slower"
	etaOver    = "deadline"
	etaEcho    = "echo"
	etaFar     = "far"
)

// farthest bounds what is worth a number.
const farthest = 365 * 24 * time.Hour

// EstimateCodes are what an estimate may say.
var EstimateCodes = decision.Reasons{Scope: "deployment", Kind: "estimate", Or: &diagnosis.Codes, Doc: "When a rollout may complete: `estimate.code` of a trace. There is none where no rollout is under way.", List: []decision.Reason{
	because(decision.EstimateKnown, "A range, from the pods of this template that became ready and the steps that are left.", "The rollout goes on.", "It completes.", "Read the basis beside it: few pods make a poor one."),
	because(etaNoBasis, "No pod of the new ReplicaSet has shown yet how long one takes to become ready.", "The rollout goes on.", "The first pod becomes ready.", "Wait."),
	because(etaSlower, "A new pod takes longer than any before it.", "The rollout waits for it.", "It becomes ready.", readPods),
	because(etaFar, "By what is recorded it takes more than a year.", "The rollout goes on.", "It completes, or its pods become ready sooner.", "Look at minReadySeconds and at the bounds of the rollout."),
	because(etaOver, "The progress deadline is over.", "The rollout goes on as soon as it can.", "Progress.", "Look why the new pods are not ready."),
	because(etaEcho, "Its own last write is not seen yet, so that the numbers are of before it.", byItsEvent, "The watch event.", nothing),
	because(heldPaused, "It is paused.", "Sizes are kept up.", "It is resumed.", "`kubectl rollout resume`."),
}}

// stuckWords say why nobody can know, where no finding does.
var stuckWords = map[string]string{
	etaNoBasis: "no new pod has shown yet how long one takes", etaSlower: "a new pod takes longer than any before it",
	etaOver: "its deadline is over", etaEcho: "its own last write is not seen yet",
	etaFar: "it takes more than a year by what is recorded", heldPaused: "it is paused",
	diagnosis.Ending: "old pods are still terminating",
}

// endless are findings that no person has to act on and of which nobody knows how
// long they last.
var endless = map[string]bool{diagnosis.Ending: true, diagnosis.NodeGone: true, diagnosis.Gate: true, diagnosis.Image: true, diagnosis.Namespace: true}

// EstimateOf says when the rollout under way may complete; nil where none is, or
// where the object itself is wrong. It rests on the snapshot alone: the pods of
// this template that became ready, and the arithmetic of the steps left.
func EstimateOf(s *Snapshot) *decision.Estimate { return look(s).completes() }

func (v *view) completes() *decision.Estimate {
	s := v.s
	if !s.Found || s.Deleting || s.SelectsAll || s.SelectorError != "" {
		return nil
	}
	if v.boundsErr != nil || s.Strategy != rollingUpdate && s.Strategy != recreate || !v.underWay() {
		return nil
	}
	steps := v.stepsLeft()
	switch code := v.unknowable(); {
	case code == "" && steps == 0:
		return nil
	case code == "":
		return v.estimate(steps)
	case steps == 0 && (v.blocker() == nil || v.blocker().Code != code):
		return nil
	default:
		return v.unknownEstimate(code)
	}
}

// underWay is true while the template is not what runs, and its pods are not
// all available.
func (v *view) underWay() bool {
	if v.changePending() {
		return true
	}
	c := condition(v.s.Status.Conditions, condProgressing)
	return v.missing() > 0 && (c == nil || c.Reason != reasonDone)
}

// unknowable is the code of what no time alone mends; "" where the pods of
// before say how long it takes.
func (v *view) unknowable() string {
	c := condition(v.s.Status.Conditions, condProgressing)
	f := v.blocker()
	switch {
	case !v.s.NamespaceEnding.IsZero(), v.s.Learnt.NamespaceTerminating:
		return diagnosis.Namespace
	case len(v.s.Echo) > 0:
		return etaEcho
	case v.s.Paused:
		return heldPaused
	case f != nil && (f.NeedsAction || endless[f.Code]):
		return f.Code
	case c != nil && c.Reason == reasonDeadline:
		return etaOver
	case v.fresh == nil || v.fresh.Came == nil || v.fresh.Came.Pods == 0:
		return etaNoBasis
	default:
		return ""
	}
}

// unknownEstimate says why nobody can know.
func (v *view) unknownEstimate(code string) *decision.Estimate {
	w := words("It does not complete before that is resolved")
	if code == diagnosis.Namespace {
		w = words("It does not complete: its namespace is being deleted")
	}
	if why, ok := stuckWords[code]; ok {
		w = words("When it completes is not known: " + why)
	}
	return &decision.Estimate{Code: code, Words: w}
}

// mostFolded bounds the steps that are folded one by one. Beyond it every step
// replaces as many pods as the bounds allow.
const mostFolded = 32

// stepsLeft folds the rules of a rolling update over pods that all become
// available, and counts how often it has to wait for them.
func (v *view) stepsLeft() int64 {
	f := fold{Bounds: v.bounds, size: v.freshSize(), available: v.freshAvailable(), old: v.oldTotal, oldAvailable: v.oldAvailable}
	for steps := range int64(mostFolded) {
		f.move()
		if f.available == f.size {
			return steps // Done, or nothing that becomes available moves it on.
		}
		f.available = f.size
	}
	each := max(1, f.Surge+f.Missing())
	return mostFolded + (max(f.old, f.Want-f.size)+each-1)/each
}

// fold is a rolling update as far as its sizes go.
type fold struct {
	rollingupdate.Bounds
	size, available, old, oldAvailable int64
}

// move writes every size that can be written before a pod becomes available.
func (f *fold) move() {
	for moved := true; moved; {
		before := *f
		if f.size = f.NewSize(f.size, f.size+f.old); f.size > f.Want {
			f.size, f.available = f.Want, min(f.available, f.Want)
		}
		may := max(0, f.MayGo(f.size+f.old, f.size, f.available))
		unhealthy := min(may, f.old-f.oldAvailable)
		healthy := max(0, min(may-unhealthy, f.oldAvailable, f.available+f.oldAvailable-f.Floor()))
		f.old -= unhealthy + healthy
		f.oldAvailable -= healthy
		moved = *f != before
	}
}

// estimate adds up the steps: the pods of the first are under way already.
func (v *view) estimate(steps int64) *decision.Estimate {
	came, stay := v.fresh.Came, seconds(v.minReady())
	from, to := came.Fastest+stay, came.Slowest+stay
	if v.missing() > 0 && len(v.fresh.Blocking) > 0 {
		from, to = 0, 0
		for i := range v.fresh.Blocking {
			p := &v.fresh.Blocking[i]
			age := v.s.Now.Sub(p.Created)
			switch {
			case p.Ready:
				left := p.ReadySince.Add(stay).Sub(v.s.Now)
				from, to = max(from, left), max(to, left)
			case age > came.Slowest:
				return v.unknownEstimate(etaSlower)
			default:
				from, to = max(from, came.Fastest-age+stay), max(to, came.Slowest-age+stay)
			}
		}
	}
	if steps-1 > int64(farthest/(came.Slowest+stay+1)) || to > farthest {
		return v.unknownEstimate(etaFar)
	}
	more := time.Duration(steps - 1)
	e := &decision.Estimate{Code: decision.EstimateKnown, Pods: came.Pods, Fastest: came.Fastest, Slowest: came.Slowest, Steps: steps,
		From: v.s.Now.Add(from + more*(came.Fastest+stay)), To: v.s.Now.Add(to + more*(came.Slowest+stay))}
	e.Words = knownWords(e, v.s.Now)
	return e
}

func knownWords(e *decision.Estimate, now time.Time) decision.Words {
	w := make(decision.Words, 0, 10)
	switch soon := now.Add(time.Second); {
	case e.To.Before(soon):
		w = w.Say("Completes any moment")
	case e.From.Before(soon):
		w = w.Say("Completes within ").Until(e.To)
	case e.To.After(e.From):
		w = w.Say("Completes in ").Until(e.From).Say(" to ").Until(e.To)
	default:
		w = w.Say("Completes in ").Until(e.From)
	}
	w = w.Say(", as ").Count("becameReady", e.Pods).Say(plural(e.Pods, " pod became ready in ", " pods became ready in ")).Quote(spans(e))
	return w.Say("; ").Count("steps", e.Steps).Say(plural(e.Steps, " step is left", " steps are left"))
}

func spans(e *decision.Estimate) string {
	fastest, slowest := decision.Span(e.Fastest), decision.Span(e.Slowest)
	if fastest == slowest {
		return fastest
	}
	return fastest + " to " + slowest
}
