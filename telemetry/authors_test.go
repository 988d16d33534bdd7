package telemetry

import (
	"slices"
	"testing"
	"time"

	"github.com/loopscope/loopscope/telemetry/decision"
)

// A change says by whom, and that nobody knows where it is so. The API server signs
// no deletion, and of a creation only what is known is told.
func TestChangesSayByWhom(t *testing.T) {
	size := []decision.Change{{Field: "spec.replicas", From: "3", To: "5"}}
	for want, c := range map[string]Cause{
		"Deployment web was changed by kubectl: spec.replicas 3 → 5":           {Kind: CauseModified, Manager: "kubectl", Fields: size},
		"Deployment web was changed by an unknown writer: spec.replicas 3 → 5": {Kind: CauseModified, Fields: size},
		"Deployment web was changed by kubectl, helm: spec.replicas 3 → 5":     {Kind: CauseModified, Manager: "kubectl" + BetweenManagers + "helm", Fields: size},
		"Deployment web is being deleted: metadata.deletionTimestamp":          {Kind: CauseModified, Fields: []decision.Change{{Field: "metadata.deletionTimestamp"}}},
		"Deployment web was created by helm":                                   {Kind: CauseAdded, Manager: "helm"},
		"Deployment web was created":                                           {Kind: CauseAdded},
	} {
		c.Object = "Deployment web"
		b := Beat{Kind: BeatChange, Cause: &c}
		if got := b.Tell().At(time.Time{}); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestManagersOfACause(t *testing.T) {
	mark := markOf(&Trace{Causes: []Cause{{Manager: "kubectl, helm"}, {Manager: "helm"}, {}, {Manager: "loopscope", Sync: 4}}})
	if want := []string{"kubectl", "helm"}; !slices.Equal(mark.Managers, want) {
		t.Errorf("%v, want %v: every other writer once, and no echo", mark.Managers, want)
	}
	if c := (&Cause{}); c.Managers() != nil {
		t.Error("nobody has a name")
	}
}

// A size that came together with another program's write may be that one's.
func TestShadowOfSeveralWriters(t *testing.T) {
	s := NewShadow(TestLoops)
	if !slices.ContainsFunc((&Cause{Manager: ControllerManager + ", helm"}).Managers(), s.foreign) {
		t.Error("helm is taken for the other controller")
	}
	s.agree([]string{"helm", "flux"})
	if len(s.agreed) != 0 {
		t.Error("one of two is known for what either may have written")
	}
}
