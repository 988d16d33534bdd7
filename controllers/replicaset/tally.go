package replicaset

import (
	"strings"
	"time"

	"github.com/loopscope/loopscope/telemetry/decision"
)

// tally is what the claimed pods add up to as of the snapshot's now.
type tally struct {
	pods, fullLabels, ready, available, terminating int64
	// ended counts its deleted pods that have ended and are not gone.
	ended int64
	// settling counts ready pods that have not been ready for long enough, and
	// settledAt is when the first of them will have been; zero if unknown.
	settling  int64
	settledAt time.Time
	// blocker is the pod that stands for those that are not ready: of the most
	// frequent reason the one that waits longest. blocked counts that reason.
	blocker *Pod
	blocked int64
	// since is when the youngest ready pod got ready.
	since time.Time
}

// count adds up the pods that are claimed, orphans that are to be adopted included.
func count(s *Snapshot) tally {
	var t tally
	waiting := map[string]int64{}
	for i := range s.Pods {
		p := &s.Pods[i]
		if p.terminating() {
			t.terminating++
		}
		if p.Mine && p.Terminating && p.finished() {
			t.ended++
		}
		if !s.claimed(p) {
			continue
		}
		t.add(p, s)
		if !p.Ready {
			waiting[reason(p)]++
		}
	}
	t.findBlocker(s, waiting)
	return t
}

func (t *tally) add(p *Pod, s *Snapshot) {
	t.pods++
	if p.FullLabels {
		t.fullLabels++
	}
	if !p.Ready {
		return
	}
	t.ready++
	if p.ReadySince.After(t.since) {
		t.since = p.ReadySince
	}
	if p.available(s.MinReady, s.Now) {
		t.available++
		return
	}
	t.settling++
	at := p.availableAt(s.MinReady)
	if !p.ReadySince.IsZero() && (t.settledAt.IsZero() || at.Before(t.settledAt)) {
		t.settledAt = at
	}
}

// findBlocker picks the pod that the sentence names.
func (t *tally) findBlocker(s *Snapshot, waiting map[string]int64) {
	if len(waiting) == 0 {
		return
	}
	for _, p := range canonical(s.Pods) {
		if !s.claimed(p) || p.Ready {
			continue
		}
		n := waiting[reason(p)]
		if t.blocker == nil || n > t.blocked || n == t.blocked && p.waitsLonger(t.blocker) {
			t.blocker, t.blocked = p, n
		}
	}
}

// waitsLonger reports whether the pod has waited longer than the other one. A
// pod that does not say since when is taken to have waited since it was created.
func (p *Pod) waitsLonger(q *Pod) bool { return p.waitsSince().Before(q.waitsSince()) }

func (p *Pod) waitsSince() time.Time {
	if p.Since.IsZero() {
		return p.Created
	}
	return p.Since
}

// reason is why the pod is not ready, in Kubernetes' word where there is one.
func reason(p *Pod) string {
	switch {
	case p.Reason != "":
		return p.Reason
	case p.Node == "":
		return "NotScheduled"
	case p.Phase == "Pending":
		return "Pending"
	default:
		return "NotReady"
	}
}

// last is the round that the sync ended with.
func last(rounds []decision.Round) decision.Round {
	if len(rounds) == 0 {
		return decision.Round{Verdict: decision.Verdict{Stop: true}}
	}
	return rounds[len(rounds)-1]
}

// failed finds the outcome of the round's first failed action of the kinds asked for.
func failed(r decision.Round, kinds ...decision.ActionKind) (*decision.Action, *decision.Outcome) {
	for i := range r.Verdict.Actions {
		a := &r.Verdict.Actions[i]
		if i >= len(r.Outcomes) || r.Outcomes[i].OK() || r.Outcomes[i].State == decision.NotTried {
			continue
		}
		for _, k := range kinds {
			if a.Kind == k {
				return a, &r.Outcomes[i]
			}
		}
	}
	return nil, nil
}

// failure is the error that a refused creation or deletion is reported with.
// An error that no retry fixes (the namespace is going) counts as none ([P-4]).
func failure(o *decision.Outcome) *decision.Failure {
	switch {
	case o == nil || o.State == decision.Superseded:
		return nil
	case o.Failure == nil:
		return &decision.Failure{Message: string(o.State)}
	case o.Failure.Terminal:
		return nil
	default:
		return o.Failure
	}
}

// deleteError begins the error of a refused deletion, but not its event ([EV-2]).
const deleteError = "unable to delete pods: "

// cause is the API server's message, whether or not acting has wrapped it.
func cause(f *decision.Failure) string { return strings.TrimPrefix(f.Message, deleteError) }

// managed finds the creation or deletion of the sync that was tried last and failed.
func managed(rounds []decision.Round) (*decision.Action, *decision.Outcome) {
	for i := len(rounds) - 1; i >= 0; i-- {
		if a, o := failed(rounds[i], decision.CreatePods, decision.DeletePods); o != nil {
			return a, o
		}
	}
	return nil, nil
}

// manageError is the sync's error of creating or deleting, the condition reason
// that belongs to it and its text ([RS-8], [RS-9]); "" for none.
func manageError(rounds []decision.Round) (reason, message string) {
	a, o := managed(rounds)
	f := failure(o)
	switch {
	case f == nil:
		return "", ""
	case a.Kind == decision.CreatePods:
		return reasonCreate, f.Message
	default:
		return reasonDelete, deleteError + cause(f)
	}
}

// longest is how many characters are told of a message or of a list of fields.
const longest = 160

// left is how many pods are still missing or too many after a creation or
// deletion that went only so far.
func left(s *Snapshot, t tally, o *decision.Outcome) int64 {
	return max(0, max(s.Want-t.pods, t.pods-s.Want)-o.Done)
}
