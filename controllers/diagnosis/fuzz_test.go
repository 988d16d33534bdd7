package diagnosis_test

import (
	"slices"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/loopscope/loopscope/controllers/diagnosis"
	"github.com/loopscope/loopscope/telemetry/decision"
)

// FuzzWords: whatever the cluster says, it makes a finding that has a reason, says
// what ends it and fits into a sentence.
func FuzzWords(f *testing.F) {
	for _, seed := range []string{
		"", "exceeded quota: , requested: , used: , limited: ", `exceeded quota: small, requested: pods=1, used: pods=3, limited: pods=3`,
		"failed quota: a: must specify b for: c", `failed calling webhook "a": b: c`, `violates PodSecurity "x": a (b (c) d), e`,
		"0/3 nodes are available: 1 Insufficient cpu, 2 node(s) had untolerated taint {a: b}. preemption: none", "0/ nodes are available: , , .",
		`persistentvolumeclaim "a" bound to non-existent persistentvolume "b"`, `couldn't find key a in Secret b`, "Back-off pulling image: ErrImagePull: ",
		"The node was low on resource: .", "Pod was rejected: ", "exceeds",
	} {
		f.Add(seed, "Unschedulable")
		f.Add(seed, "CreateContainerConfigError")
		f.Add(seed, "ErrImagePull")
		f.Add(seed, "Evicted")
	}
	f.Fuzz(func(t *testing.T, message, reason string) {
		refused := diagnosis.OfRefusal(diagnosis.Refusal{Namespace: "shop", Message: message, Count: 2, Since: noon})
		pods := diagnosis.Pods{Namespace: "shop", Now: noon, Usual: time.Minute}.Waiting([]decision.Pod{{Name: "a", Reason: reason, Message: message}, {Name: "b", Message: message, Phase: reason}})
		gone := diagnosis.Pods{Namespace: "shop", Now: noon}.Disrupted(diagnosis.Gap{NotCreated: 1, Lost: []decision.DisruptedPod{
			{Name: "a", Disruption: decision.Disruption{Target: reason, Message: message, At: noon}},
			{Name: "b", Node: reason, Created: noon, Disruption: decision.Disruption{Reason: reason, Message: message, At: noon.Add(time.Second)}},
		}})
		if len(gone) == 0 {
			t.Fatal("nothing tells of pods that are gone")
		}
		for _, f := range append(append(pods, gone...), refused, diagnosis.OfDeletion(diagnosis.Refusal{Message: message, Count: 1})) {
			if _, ok := diagnosis.Codes.Find(f.Code); !ok || len(f.Unblocks) == 0 || len(f.After) == 0 && len(f.Before) == 0 {
				t.Fatalf("%+v", f)
			}
			if utf8.ValidString(message) && utf8.ValidString(reason) {
				fits(t, append(append(decision.Words{}, f.Before...), f.After...))
			}
		}
	})
}

// fits shortens words and proves that ours are still there.
func fits(t *testing.T, w decision.Words) {
	ours := func(p decision.Part) bool {
		return p.Kind != decision.Quote && p.Kind != decision.Told && p.Text != " (" && p.Text != ")"
	}
	all, left := keep(w, ours), keep(diagnosis.Fit(w, 100), ours)
	if !slices.Equal(all, left) {
		t.Fatalf("%+v became %+v", all, left)
	}
}

func keep(w decision.Words, want func(decision.Part) bool) decision.Words {
	return slices.DeleteFunc(slices.Clone(w), func(p decision.Part) bool { return !want(p) })
}
