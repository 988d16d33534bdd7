package deployment_test

import (
	"fmt"
	"slices"
	"strings"

	"github.com/loopscope/loopscope/controllers/decision"
	"github.com/loopscope/loopscope/controllers/deployment"
	"github.com/loopscope/loopscope/controllers/diagnosis"
)

// contradictions are places of one sync that name different causes. Whoever reads the
// sentence, a held write or the estimate is told the same.
func (p played) contradictions() []string {
	var list []string
	add := func(format string, args ...any) { list = append(list, fmt.Sprintf(format, args...)) }
	found := deployment.Diagnose(p.snapshot)
	matters := diagnosis.Matter(found.Findings)
	has := func(code string) bool {
		return slices.ContainsFunc(matters, func(f decision.Finding) bool { return f.Code == code })
	}
	isFinding := func(code string) bool { return diagnosis.Codes.AnchorOf(code) != "" }
	said := p.sentence.Lead.At(p.snapshot.Now)

	if code := p.sentence.Code; isFinding(code) && code != diagnosis.Namespace && !has(code) {
		add("the sentence names %s, which is not found: %+v", code, found)
	}
	for _, r := range p.rounds {
		for _, h := range r.Verdict.Held {
			if isFinding(h.Code) && !has(h.Code) {
				add("a held write names %s, which is not found", h.Code)
			}
		}
	}
	if e := p.estimate; e != nil && isFinding(e.Code) && isFinding(p.sentence.Code) && e.Code != p.sentence.Code {
		add("the sentence names %s, the estimate %s", p.sentence.Code, e.Code)
	}
	if strings.Contains(said, "not ready") && !has(diagnosis.Probe) && !has(diagnosis.Starting) {
		add("the cluster gives a reason, and the sentence says %q", said)
	}
	if tone := p.sentence.Tone; (tone == decision.ToneWaiting || tone == decision.ToneFailed) && !endsSomehow(p.sentence) {
		add("nothing says what ends it: %s", p.sentence.At(p.snapshot.Now))
	}
	return list
}

// endings are what says how a state ends: by a change, by time, or by the next look.
var endings = []string{"nblocks", "ecovers", "oes on", "ontinues", "ecides", "again", "Looks", "Deadline in", "must stay so", "dropped", "exists but is not in the cache yet", "which the cache does not show yet"}

func endsSomehow(s decision.Sentence) bool {
	text := s.Lead.At(s.Since) + ". " + s.Then.At(s.Since)
	return slices.ContainsFunc(endings, func(e string) bool { return strings.Contains(text, e) })
}
