package words

import (
	"github.com/loopscope/loopscope/telemetry/decision"
	"github.com/loopscope/loopscope/telemetry/prose"
	"github.com/loopscope/loopscope/views"
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
