package deployment

import (
	"slices"

	"github.com/loopscope/loopscope/controllers/diagnosis"
	"github.com/loopscope/loopscope/telemetry/decision"
	"github.com/loopscope/loopscope/telemetry/prose"
)

// withRecentChange adds what others lately did to a settled Deployment, which has its
// new ReplicaSet.
func (p *teller) withRecentChange(lead decision.Words) decision.Words {
	n := p.s.Recent
	if n == nil || !p.stillApplies(n) {
		return lead
	}
	until := n.Until(p.unchangedSince())
	if !p.now.Before(until) {
		return lead
	}
	p.out.NoteChange(until, p.now)
	lead = append(lead.Say("; "), recentChangeWords(n)...)
	if all := append(slices.Clone(lead), runOn(n)...); diagnosis.Length(all) <= longLead {
		return all
	}
	return p.fit(lead)
}

// stillApplies reports whether the clause still describes what is there now.
func (p *teller) stillApplies(n *decision.RecentChange) bool {
	switch n.Kind {
	case decision.ScaledBack:
		return slices.ContainsFunc(p.children, func(rs *ReplicaSet) bool { return rs.Name == n.Object && rs.Replicas == n.To })
	case decision.WentBack:
		return p.newSet.Name == n.Object
	case decision.Released:
		return !slices.ContainsFunc(p.children, func(rs *ReplicaSet) bool { return rs.Name == n.Object })
	default:
		return n.Kind == decision.Adopted
	}
}

func recentChangeWords(n *decision.RecentChange) decision.Words {
	switch n.Kind {
	case decision.ScaledBack:
		return by(n, "somebody").Say(" scaled ReplicaSet ").Name(n.Object).Say(" to ").Count(decision.FactRecentFrom, n.From).
			Say(", and it was scaled back to ").Count(decision.FactRecentTo, n.To)
	case decision.WentBack:
		w := words("it was rolled back")
		if n.By != "" {
			w = by(n, "").Say(" rolled it back")
		}
		return w.Say(" from revision ").Count(decision.FactRecentFrom, n.From).Say(" to the template of revision ").
			Count(decision.FactRecentTo, n.To).Say(", now revision ").Count(decision.FactRecentBecame, n.Became)
	case decision.Released:
		return ofSelector(n, "released", " no longer matched its selector")
	default:
		return ofSelector(n, "adopted", " matched its selector")
	}
}

func ofSelector(n *decision.RecentChange, verb, how string) decision.Words {
	w := words("it " + verb + " ReplicaSet ").Name(n.Object)
	if more := n.Others(); more > 0 {
		return w.Say(" and ").Count(decision.FactRecentOthers, more).Say(" more that" + how)
	}
	return w.Say(", which" + how)
}

// runOn says what became of the pods of released ReplicaSets.
func runOn(n *decision.RecentChange) decision.Words {
	w := words("; " + prose.Plural(n.Count, "its ", "their "))
	switch {
	case n.Kind != decision.Released || n.Pods == 0:
		return nil
	case n.Pods == 1:
		return w.Say("pod runs on")
	default:
		return w.Count(decision.FactRecentPods, n.Pods).Say(" pods run on")
	}
}

// by is who did it. A manager may call itself what it likes, at any length.
func by(n *decision.RecentChange, nobody string) decision.Words {
	if n.By == "" {
		return words(nobody)
	}
	return decision.Words{}.Quote(n.By)
}
