package replicaset

import (
	"github.com/loopscope/loopscope/controllers/diagnosis"
	"github.com/loopscope/loopscope/telemetry/decision"
)

// withRecentChange adds which pods a settled object lately adopted or released.
func (t *teller) withRecentChange(lead decision.Words) decision.Words {
	n := t.s.Recent
	if n == nil || n.Kind != decision.Adopted && n.Kind != decision.Released {
		return lead
	}
	until := n.Until(t.tally.since)
	if !t.s.Now.Before(until) {
		return lead
	}
	t.out.NoteChange(until, t.s.Now)
	verb, how := "adopted", " matched its selector"
	if n.Kind == decision.Released {
		verb, how = "released", " no longer matched its selector"
	}
	lead = lead.Say("; it " + verb + " pod ").Name(n.Object)
	if n.Kind == decision.Adopted && n.DeletedCount > 0 {
		return tooMany(lead, n)
	}
	if more := n.Others(); more > 0 {
		return diagnosis.Fit(lead.Say(" and ").Count(decision.FactRecentOthers, more).Say(" more that"+how), longLead)
	}
	return diagnosis.Fit(lead.Say(", which"+how), longLead)
}

// tooMany goes on with the pods that had to go for the adopted ones.
func tooMany(lead decision.Words, n *decision.RecentChange) decision.Words {
	if n.Count == 1 && n.DeletedCount == 1 && n.Deleted == n.Object {
		return lead.Say(", one too many, and deleted it")
	}
	if more := n.Others(); more > 0 {
		lead = lead.Say(" and ").Count(decision.FactRecentOthers, more).Say(" more")
	}
	lead = lead.Say(", and deleted pod ").Name(n.Deleted)
	if more := n.DeletedCount - 1; more > 0 {
		return lead.Say(" and ").Count(decision.FactRecentDeletedOthers, more).Say(" more, as these were too many")
	}
	return lead.Say(", as one was too many")
}
