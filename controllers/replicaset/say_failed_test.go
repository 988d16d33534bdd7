package replicaset_test

import (
	"testing"

	"github.com/loopscope/loopscope/telemetry/decision"
)

// TestAdoptedFirst: the other one of two controllers is named, in whichever order the API server names them.
func TestAdoptedFirst(t *testing.T) {
	const only = `Pod "a" is invalid: metadata.ownerReferences: Invalid value: []: Only one reference can have Controller set to true. Found "true" in references for `
	const first = "shop/web is waiting: ReplicationController twin adopted pod a first: their selectors overlap. Continues when the cache shows that."
	for message, want := range map[string]string{
		only + "ReplicaSet/web and ReplicationController/twin":        first,
		only + "ReplicationController/twin and ReplicaSet/web":        first,
		only + "ReplicaSet/web and ReplicationController/twin, other": first,
		only + "ReplicaSet/one and ReplicaSet/two":                    "",
		only + "ReplicaSet/web":                                       "",
		only + "ReplicaSet/web and ReplicaSet/":                       "",
	} {
		orphan := running("a")
		orphan.Mine = false
		p := answered(sized(1, orphan), decision.Try{}, decision.Outcome{State: decision.Refused, Failure: &decision.Failure{Code: 422, Reason: "Invalid", Message: message}})
		switch got := p.sentence.At(now); {
		case want == "" && p.sentence.Code != "claim-refused":
			t.Errorf("%s: %s", message, got)
		case want != "" && got != want:
			t.Errorf("%s: %s", message, got)
		}
	}
}
