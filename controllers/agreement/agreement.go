// Package agreement holds what is said of one sync against itself: the sentence,
// what would release held writes, and the estimate name the same cause, and every
// sentence says how its state ends. Tests of goldens, of random histories and of
// recordings share it; the program does not use it.
package agreement

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/loopscope/loopscope/controllers/diagnosis"
	"github.com/loopscope/loopscope/telemetry/decision"
	"github.com/loopscope/loopscope/telemetry/prose"
)

// Account is what is said of one sync.
type Account struct {
	// Diagnosis is all that is found in its snapshot, as of Now.
	Diagnosis decision.Diagnosis
	Rounds    []decision.Round
	Sentence  decision.Sentence
	// Estimate is nil where no rollout is under way.
	Estimate *decision.Estimate
	Now      time.Time
}

// Contradictions are the places that name different causes, or that leave out what
// everybody has to be told.
func (a *Account) Contradictions() []string {
	list := slices.Concat(a.codes(), a.unanswered(), a.vague())
	list = append(append(list, a.cut()...), a.slips()...)
	if tone := a.Sentence.Tone; (tone == decision.ToneWaiting || tone == decision.ToneFailed) && !a.ends() {
		list = append(list, "nothing says what ends it: "+a.Sentence.At(a.Now))
	}
	if a.Sentence.Tone == decision.ToneNeutral && strings.HasPrefix(a.Sentence.Then.At(a.Now), "Needs action") {
		list = append(list, "it counts among those that need nothing: "+a.Sentence.At(a.Now))
	}
	return list
}

// codes are causes that were not found.
func (a *Account) codes() (list []string) {
	said := a.Sentence.Code
	if isFinding(said) && said != diagnosis.Namespace && !a.has(said) { // That a namespace ends is known without any pod.
		list = append(list, fmt.Sprintf("the sentence names %s, which is not found: %+v", said, a.Diagnosis))
	}
	for _, r := range a.Rounds {
		for _, h := range r.Verdict.Held {
			if isFinding(h.Code) && h.Code != diagnosis.Namespace && !a.has(h.Code) {
				list = append(list, fmt.Sprintf("a held write names %s, which is not found", h.Code))
			}
		}
	}
	if e := a.Estimate; e != nil && isFinding(e.Code) && isFinding(said) && e.Code != said {
		list = append(list, fmt.Sprintf("the sentence names %s, the estimate %s", said, e.Code))
	}
	return list
}

// unanswered are findings that somebody refused what no API server answered.
func (a *Account) unanswered() (list []string) {
	for _, r := range a.Rounds {
		for i := range r.Outcomes {
			o := &r.Outcomes[i]
			if _, ok := diagnosis.Unanswered(o); !ok {
				continue
			}
			for _, f := range a.Diagnosis.Findings {
				if (f.Code == diagnosis.Refused || f.Code == diagnosis.Delete) && f.Message == o.Failure.Message {
					list = append(list, fmt.Sprintf("nobody answered, and %s says that it was refused: %q", f.Code, f.Message))
				}
			}
		}
	}
	return list
}

// isFinding tells codes of findings from those that only a sentence has.
func isFinding(code string) bool { return diagnosis.Codes.AnchorOf(code) != "" }

// has reports whether a finding of that code is one that a sentence names.
func (a *Account) has(code string) bool {
	return slices.ContainsFunc(diagnosis.Relevant(a.Diagnosis.Findings), func(f decision.Finding) bool { return f.Code == code })
}

// vague is a sentence that says no more than what everybody sees.
func (a *Account) vague() []string {
	said := a.Sentence.Lead.At(a.Now)
	besides := slices.ContainsFunc(diagnosis.Beside(a.Diagnosis.Findings), func(f decision.Finding) bool { return f.Code == diagnosis.Probe })
	if !strings.Contains(said, "not ready") || a.has(diagnosis.Probe) || a.has(diagnosis.Starting) || besides {
		return nil
	}
	return []string{fmt.Sprintf("the cluster gives a reason, and the sentence says %q", said)}
}

// cut are quoted messages without their end, where the answer mostly stands. What
// the record itself has cut has none.
func (a *Account) cut() (list []string) {
	for _, part := range slices.Concat(a.Sentence.Lead, a.Sentence.Then) {
		if part.Kind != decision.Quote || !strings.HasSuffix(part.Text, prose.Ellipsis) || a.Sentence.Code == "conflict" || a.recordedSo() {
			continue // A conflict quotes a list of fields, of which the first are enough.
		}
		list = append(list, fmt.Sprintf("a quoted message loses its end: %q", part.Text))
	}
	return list
}

// recordedSo reports whether a message was too long to be recorded whole.
func (a *Account) recordedSo() bool {
	if slices.ContainsFunc(a.Diagnosis.Findings, func(f decision.Finding) bool { return strings.HasSuffix(f.Message, prose.Ellipsis) }) {
		return true
	}
	for _, r := range a.Rounds {
		for _, o := range r.Outcomes {
			if o.Failure != nil && strings.HasSuffix(o.Failure.Message, prose.Ellipsis) {
				return true
			}
		}
	}
	return false
}

// endings are what says how a state ends: by a change, by time, or by the next look.
var endings = []string{"nblocks", "ecovers", "ontinues", "ecides", "again", "retried", "Looks", "Deadline in", "must stay ready", "until the cache shows", "is removed when", "dropped", "exists but is not in the cache yet", "the cache does not show this yet"}

func (a *Account) ends() bool {
	s := &a.Sentence
	text := s.Lead.At(s.Since) + ". " + s.Then.At(s.Since)
	return slices.ContainsFunc(endings, func(e string) bool { return strings.Contains(text, e) })
}
