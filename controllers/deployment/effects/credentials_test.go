package effects

import (
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/loopscope/loopscope/controllers/engine"
	"github.com/loopscope/loopscope/telemetry/decision"
	"github.com/loopscope/loopscope/telemetry/redact"
)

// TestConditionsAlikeAreRepeatedApart: two conditions whose masked words are the same are
// each published as they were, and so are revisions that are no numbers.
func TestConditionsAlikeAreRepeatedApart(t *testing.T) {
	var h engine.Redactor
	conditions := map[string]decision.Condition{}
	for _, secret := range []string{"one", "two"} {
		conditions[secret] = h.Condition("Ready"+secret, "True", "Said", "password="+secret)
		if conditions[secret].Message != "password=…" {
			t.Errorf("the record holds %q", conditions[secret].Message)
		}
	}
	for secret, c := range conditions {
		if got := h.UnredactCondition(c).Message; got != "password="+secret {
			t.Errorf("%s is published as %q", secret, got)
		}
	}
	one, two := h.RedactNumber("token=one"), h.RedactNumber("token=two")
	if one == two || strings.Contains(one+two, "token") || h.UnredactNumber(one) != "token=one" || h.UnredactNumber(two) != "token=two" || h.UnredactNumber("7") != "7" {
		t.Errorf("revisions are %q and %q, published as %q and %q", one, two, h.UnredactNumber(one), h.UnredactNumber(two))
	}
	if got := h.Unredact("long…"); got != "long…" {
		t.Errorf("words that end in an ellipsis are published as %q", got)
	}
	rs := &appsv1.ReplicaSet{}
	rs.Annotations = map[string]string{AnnotationHistory: "1,token=x"}
	stamp(rs.Annotations, &decision.Stamp{History: redact.Numbers("1,token=x") + ",2"})
	if got := rs.Annotations[AnnotationHistory]; got != "1,token=x,2" {
		t.Errorf("the list of revisions is written as %q", got)
	}
}
