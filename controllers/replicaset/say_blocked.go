package replicaset

import (
	"slices"
	"time"

	"github.com/loopscope/loopscope/controllers/diagnosis"
	"github.com/loopscope/loopscope/telemetry/decision"
)

// longLead is how many characters each half of a sentence may have.
const longLead = 150

// blocked tells what the pods that are not ready wait for.
func (t *teller) blocked() bool {
	list := slices.DeleteFunc(slices.Clone(t.waiting.Findings), func(f decision.Finding) bool { return f.Code == diagnosis.MinReady })
	if len(list) == 0 {
		return false
	}
	list = diagnosis.Relevant(list)
	t.is(decision.ToneWaiting, list[0].Code, "waiting")
	t.out.Lead = diagnosis.Fit(t.keeps(list), longLead)
	t.out.Then = diagnosis.Ends(list, longLead)
	t.out.Since = list[0].Since
	return true
}

// keeps names the findings. Where one is about all pods that are not available, they
// are counted once.
func (t *teller) keeps(list []decision.Finding) decision.Words {
	n := t.tally.pods - t.tally.available
	w := decision.Words{}.Count("unavailable", n).Say(" of ").Count("pods", t.tally.pods)
	if len(list) == 1 && list[0].Count == n && n > 1 && !diagnosis.IsDisruption(list[0].Code) {
		return append(w.Say(" pods"), list[0].After...)
	}
	w = w.Say(podsAre(n, t.tally.pods) + " not available; ")
	for i := range list {
		switch {
		case i > 0 && i == len(list)-1:
			w = w.Say(diagnosis.And(w))
		case i > 0:
			w = w.Say(", ")
		}
		w = append(append(w, diagnosis.Subject(&list[i])...), list[i].After...)
	}
	return w
}

// WaitReason says what an active pod that is not ready waits for, without its name.
func WaitReason(p *Pod, now time.Time) decision.Words {
	list := diagnosis.Pods{Now: now}.Waiting([]decision.Pod{p.told()})
	return slices.Clone(list[0].After[1:]) // Without the blank that parts it from the name.
}

// WaitingSince is when an active pod that is not ready came into what it waits for; zero where nobody knows.
func WaitingSince(p *Pod, now time.Time) time.Time {
	told := p.told()
	return diagnosis.Pods{Now: now}.Since(&told)
}
