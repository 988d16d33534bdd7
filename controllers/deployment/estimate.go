package deployment

import (
	"slices"
	"time"

	"github.com/loopscope/loopscope/controllers/diagnosis"
	"github.com/loopscope/loopscope/telemetry/decision"
	"github.com/loopscope/loopscope/telemetry/prose"
)

// The codes of an estimate that is not known, beside those of held writes.
const (
	etaNoBasis = "no-basis"
	etaSlower  = "slower"
	etaOver    = "deadline"
	etaEcho    = "echo"
	etaFar     = "far"
	etaLarge   = "large"
)

// farthest bounds what is worth a number.
const farthest = 365 * 24 * time.Hour

// EstimateCodes are what an estimate may say.
var EstimateCodes = decision.Reasons{Scope: "deployment", Kind: "estimate", Or: &diagnosis.Codes, Doc: "When a rollout may complete: `estimate.code` of a trace. There is none where no rollout is under way.", List: []decision.Reason{
	because(decision.EstimateKnown, "A range, from the pods of this template that became ready and the steps that are left.", "The rollout continues.", "It completes.", "Check how many pods it is based on: a few are a weak basis."),
	because(etaNoBasis, "No pod of the new ReplicaSet has shown yet how long one takes, as none is ready or each was restarted first.", "The rollout continues.", "The first pod becomes ready.", "Wait."),
	because(etaSlower, "A new pod takes longer than any before it.", "The rollout waits for it.", "It becomes ready.", readPods),
	because(etaFar, "At the recorded pace it would take more than a year, or never complete.", "The rollout continues.", "It completes, or its pods become ready sooner.", "Look at minReadySeconds and at the bounds of the rollout."),
	because(etaLarge, "It has more pods than are simulated.", "The rollout continues.", "It completes.", "Read its numbers: how many new pods are available of how many that are wanted."),
	because(etaOver, "The progress deadline has passed.", "The rollout continues as soon as it can.", "Progress.", "Check why the new pods are not ready."),
	because(etaEcho, "Its own last write is not in the cache yet, so the numbers are from before it.", byItsEvent, "The watch event.", nothing),
	because(heldPaused, "It is paused.", "Sizes are maintained.", "It is resumed.", "`kubectl rollout resume`."),
}}

// stuckWords say why nobody can know, where no finding does.
var stuckWords = map[string]string{
	etaNoBasis: "no new pod has become ready yet", etaSlower: "a new pod takes longer than any before it",
	etaOver: "its deadline has passed", etaEcho: "its own last write is not in the cache yet",
	etaFar: "at the recorded pace it would take more than a year", etaLarge: "it has too many pods", heldPaused: "it is paused",
	diagnosis.Terminating: "old pods are still terminating", diagnosis.SetTerminating: "the ReplicaSet of its template is being deleted",
	diagnosis.Uncounted: "the status of its ReplicaSet does not count pods that are ready",
}

// endless are findings that no person has to act on and of which nobody knows how
// long they last.
var endless = map[string]bool{diagnosis.Terminating: true, diagnosis.SetTerminating: true, diagnosis.NodeGone: true, diagnosis.Gate: true, diagnosis.Image: true, diagnosis.Namespace: true,
	diagnosis.Quota: true, diagnosis.Node: true}

// Outlook is what is known of the end of a rollout, with what its sync has learnt: how
// long the pods of the template take, or why nobody can know the end. Both are nil where
// no rollout is under way, or where the object itself is wrong.
func Outlook(s *Snapshot, learnt decision.Learnt) (*StartupTimes, *decision.Estimate) {
	return newView(s, learnt, s.Now).outlook()
}

func (v *view) outlook() (*StartupTimes, *decision.Estimate) {
	s := v.s
	if !s.Found || s.Deleting || s.SelectsAll || s.SelectorError != "" || v.namespaceTerminating() {
		return nil, nil
	}
	if s.Contest != nil && (s.Contest.Field == ContestedTemplate || s.Contest.Field == ContestedPods) { // The next change comes first.
		return nil, nil
	}
	if v.boundsErr != nil || s.Strategy != rollingUpdate && s.Strategy != recreate || !v.underWay() {
		return nil, nil
	}
	code := v.unknowable()
	switch waits := v.newAvailable() < s.Want; {
	case !waits && (v.blocker() == nil || v.blocker().Code != code):
		return nil, nil
	case code == "":
		return v.newSet.Startup, nil
	case code == etaNoBasis && v.newSet != nil && v.newSet.Ready > 0:
		return nil, &decision.Estimate{Code: code, Words: words("No estimate: no new pod has shown yet how long one takes")}
	default:
		return nil, unknown(code)
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

// unknowable is the code of what time alone does not fix; "" where the pods of
// before say how long it takes.
func (v *view) unknowable() string {
	c := condition(v.s.Status.Conditions, condProgressing)
	f := v.blocker()
	switch {
	case len(v.s.Echo) > 0:
		return etaEcho
	case v.s.Paused:
		return heldPaused
	case f != nil && !v.overcome(f) && (f.NeedsAction || endless[f.Code] || f.Code == diagnosis.Uncounted && !f.Usual):
		return f.Code
	case c != nil && c.Reason == reasonDeadline:
		return etaOver
	case v.newSet == nil || v.newSet.Startup == nil || v.newSet.Startup.Pods == 0:
		return etaNoBasis
	case v.slower():
		return etaSlower
	default:
		return ""
	}
}

// overcome reports whether the rollout completes although what a finding is of lasts: it replaces such pods, or needs
// them no more.
func (v *view) overcome(f *decision.Finding) bool {
	switch {
	case f.Code == diagnosis.Namespace, f.Code == diagnosis.Delete, f.Code == diagnosis.Terminating, f.Code == diagnosis.NodeGone && v.s.Strategy == recreate:
		return false
	case f.Old:
		return !v.s.Paused
	default:
		return v.newAvailable() >= v.s.Want
	}
}

// slower reports whether a new pod takes longer than any before it.
func (v *view) slower() bool {
	return slices.ContainsFunc(v.newSet.Blocking, func(p Pod) bool {
		return !p.Ready && v.now.Sub(p.Created) > v.newSet.Startup.Slowest
	})
}

// unknown says why nobody can know.
func unknown(code string) *decision.Estimate {
	w := words("It cannot complete until that is resolved")
	if why, ok := stuckWords[code]; ok {
		w = words("No estimate: " + why)
	}
	return &decision.Estimate{Code: code, Words: w}
}

// TooLarge is the estimate of one with more pods than are folded, TooFar that of one that comes
// to no end, NoBasis where no new pod has become ready yet, Slower where one takes longer than
// any before it, and Unresolved where that finding keeps it.
func TooLarge() *decision.Estimate              { return unknown(etaLarge) }
func TooFar() *decision.Estimate                { return unknown(etaFar) }
func NoBasis() *decision.Estimate               { return unknown(etaNoBasis) }
func Slower() *decision.Estimate                { return unknown(etaSlower) }
func Unresolved(code string) *decision.Estimate { return unknown(code) }

// Completes is the estimate of a range, after so many steps, given how long pods take to start.
func Completes(now, from, to time.Time, steps int64, startup *StartupTimes) *decision.Estimate {
	if to.Sub(now) > farthest {
		return unknown(etaFar)
	}
	e := &decision.Estimate{Code: decision.EstimateKnown, From: from, To: to, Steps: steps,
		Pods: startup.Pods, Fastest: startup.Fastest, Slowest: startup.Slowest}
	e.Words = knownWords(e, now)
	return e
}

// AsOf is an estimate as it is told at a later moment; nil once its end has passed without another
// sync, as nobody knows any more.
func AsOf(e *decision.Estimate, at time.Time) *decision.Estimate {
	switch {
	case e == nil || e.Code != decision.EstimateKnown || e.From.After(at):
		return e
	case !e.To.After(at):
		return nil
	}
	again := *e
	again.Words = knownWords(e, at)
	return &again
}

func knownWords(e *decision.Estimate, now time.Time) decision.Words {
	w := make(decision.Words, 0, 10)
	switch soon := now.Add(time.Second); {
	case e.To.Before(soon):
		w = w.Say("Completes at any moment")
	case e.From.Before(soon):
		w = w.Say("Completes within ").Until(e.To)
	case e.To.After(e.From):
		w = w.Say("Completes in ").Until(e.From).Say(" to ").Until(e.To)
	default:
		w = w.Say("Completes in ").Until(e.From)
	}
	w = w.Say(", as ").Count("becameReady", e.Pods).Say(prose.Plural(e.Pods, " pod became ready in ", " pods became ready in ")).Quote(spans(e))
	return w.Say("; ").Count("steps", e.Steps).Say(prose.Plural(e.Steps, " step is left", " steps are left"))
}

func spans(e *decision.Estimate) string {
	fastest, slowest := prose.Span(e.Fastest), prose.Span(e.Slowest)
	if fastest == slowest {
		return fastest
	}
	return fastest + " to " + slowest
}
