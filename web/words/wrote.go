package words

import (
	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/decision"
	"github.com/loopscope/loopscope/telemetry/prose"
	"github.com/loopscope/loopscope/views"
	"github.com/loopscope/loopscope/web/facts"
)

// Facts places facts, long values cut.
func Facts(facts []decision.Fact) []views.Fact {
	list := make([]views.Fact, len(facts))
	for i, f := range facts {
		list[i] = views.Fact{Name: f.Name, Value: prose.Clip(f.Value.String(), 400)}
	}
	return list
}

// actions say what an action of ours does to its target.
var actions = map[decision.ActionKind]string{
	decision.CreateReplicaSet: "create", decision.UpdateReplicaSet: "update", decision.DeleteReplicaSet: "delete",
	decision.UpdateDeployment: "update", decision.Adopt: "adopt", decision.Release: "release",
}

// Verb is what an action does to its target: "create", "update the status of".
func Verb(kind decision.ActionKind) string {
	if verb, ok := actions[kind]; ok {
		return verb
	}
	return kind.Verb()
}

// Size writes a size that is set, or from which one to which it changes.
func Size(kind decision.ActionKind, z *decision.Size) string {
	if kind == decision.CreateReplicaSet {
		return "size " + Digits(z.To)
	}
	return Digits(z.From) + " → " + Digits(z.To)
}

// Victim places a pod that was chosen for deletion.
func Victim(v decision.Victim) views.Victim {
	owner, own := Split(v.Name)
	return views.Victim{Rank: Digits(v.Rank), Owner: owner, Own: own, Facts: Facts(v.Facts)}
}

// Did says in a few words what a sync did.
func Did(t *telemetry.Trace) string {
	var list []string
	for _, r := range t.Rounds {
		for i := range r.Verdict.Actions {
			o := facts.OutcomeAt(r, i)
			if o.State == decision.Written || o.State == decision.Partly {
				list = append(list, didOne(&r.Verdict.Actions[i], o))
			}
		}
	}
	if t.Report != nil && t.Report.Outcome != nil && t.Report.Outcome.State == decision.Written {
		list = append(list, "status")
	}
	if len(list) == 0 {
		return SyncMark(t).Word
	}
	return prose.Some(list, 3)
}

func didOne(a *decision.Action, o *decision.Outcome) string {
	switch {
	case a.Kind == decision.CreatePods:
		return "created " + prose.Count(max(o.Done, int64(len(o.Names))), "pod")
	case a.Kind == decision.DeletePods:
		return "deleted " + prose.Count(max(o.Done, int64(len(o.Names))), "pod")
	case a.Kind == decision.CreateReplicaSet:
		return "created " + a.Target.Name
	case a.Size != nil && a.Size.From != a.Size.To:
		return Own(a.Target.Kind, a.Target.Name) + " " + Size(a.Kind, a.Size)
	case actions[a.Kind] == "":
		return a.Kind.Past() + " " + Own(a.Target.Kind, a.Target.Name)
	default:
		return Verb(a.Kind) + " " + a.Target.Kind
	}
}
