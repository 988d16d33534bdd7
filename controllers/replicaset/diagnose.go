package replicaset

import (
	"time"

	"github.com/loopscope/loopscope/controllers/diagnosis"
	"github.com/loopscope/loopscope/telemetry/decision"
)

// assumedUsual is how long a pod takes to become ready where nothing is known of it.
const assumedUsual = 30 * time.Second

// Diagnose tells what keeps the claimed pods from being available. Of pods that the
// API server refuses only a sync that wanted to create some knows.
func Diagnose(s *Snapshot) decision.Diagnosis {
	return diagnose(s, nil, nil)
}

// diagnose adds what keeps the pods to what is known to refuse some, and notes in next,
// unless it is nil, when the clock alone makes another diagnosis.
func diagnose(s *Snapshot, known []decision.Finding, next *time.Time) decision.Diagnosis {
	w := diagnosis.Pods{Namespace: s.Namespace, Now: s.Now, Usual: assumedUsual, Next: next}
	if s.Owner == "" && !s.Controlled {
		w.Template = diagnosis.TemplateForNew
	}
	g := diagnosis.Gap{NotCreated: s.Want}
	for _, p := range canonical(s.Pods) {
		switch {
		case !s.claimed(p) && p.Disruption != nil && p.Mine:
			g.Lost = append(g.Lost, decision.DisruptedPod{Name: p.Name, Created: p.Created, Node: p.Node, Disruption: *p.Disruption})
		case !s.claimed(p):
			continue
		case !p.available(s.MinReady, s.Now):
			g.Blocking = append(g.Blocking, p.told())
		}
		if s.claimed(p) {
			g.NotCreated--
		}
	}
	found := append(known, w.Waiting(g.Blocking)...)
	g.Known = found
	found = append(found, w.Disrupted(g)...)
	diagnosis.Rank(found)
	return decision.Diagnosis{Findings: found}
}

// Found is the diagnosis of a sync: what keeps its pods, who refused those that it wanted to
// create or to delete, and what keeps those that have to go.
func Found(s *Snapshot, rounds []decision.Round) decision.Diagnosis {
	s = s.knowing(rounds)
	return found(s, rounds, Diagnose(s))
}

// found is the same of a snapshot with what the rounds found out, and of what keeps its pods.
func found(s *Snapshot, rounds []decision.Round, waiting decision.Diagnosis) decision.Diagnosis {
	a, o := managed(rounds)
	_, unanswered := diagnosis.Unanswered(o)
	switch {
	case o == nil || o.State == decision.Unknown || unanswered: // Nobody refused them.
	case a.Kind == decision.DeletePods:
		return diagnose(s, []decision.Finding{undeleted(s, o)}, nil)
	case o.Failure != nil || failure(o) != nil: // A recording may not say why.
		return diagnose(s, append([]decision.Finding{refusal(s, o)}, stuckPods(s, rounds)...), nil)
	}
	if f := refusedBefore(s, rounds); f != nil {
		return diagnose(s, []decision.Finding{*f}, nil)
	}
	if stuck := stuckPods(s, rounds); stuck != nil {
		return diagnose(s, stuck, nil)
	}
	return waiting
}

// told is the pod as a diagnosis looks at it.
func (p *Pod) told() decision.Pod {
	return decision.Pod{
		Name: p.Name, Created: p.Created, Phase: p.Phase, Node: p.Node, Ready: p.Ready, ReadySince: p.ReadySince,
		Reason: p.Reason, Message: p.Message, Image: p.Image, Since: p.Since, Restarts: p.Restarts, ContainerState: p.ContainerState, Nominated: p.Nominated, Scheduler: p.Scheduler, ResourceClaim: p.ResourceClaim, NodeNamed: p.NodeNamed,
	}
}
