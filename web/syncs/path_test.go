package syncs

import (
	"testing"

	"github.com/loopscope/loopscope/telemetry/decision"
)

// TestLearnt: a page says what the round before had found out.
func TestLearnt(t *testing.T) {
	for want, l := range map[string]decision.Learnt{
		"": {},
		"Learnt: web-1 exists already, belongs to it and has the same template.": {NameTaken: &decision.NameTaken{Name: "web-1", Mine: true, SameTemplate: true}},
		"Learnt: the name web-1 is taken by another object.":                     {NameTaken: &decision.NameTaken{Name: "web-1", Mine: true}},
		"Learnt by a live read: it is gone.":                                     {Parent: "gone"},
		"Learnt: 2 of its children are gone.":                                    {ChildrenGone: []string{"a", "b"}},
		"Learnt: the namespace is being deleted, so nothing can be created.":     {NamespaceTerminating: true},
		"Learnt: the API server took the write and did not keep it (annotations, minReadySeconds, revision): a policy or webhook takes it away again.": {Unkept: &decision.Unkept{Copy: true, MinReady: true, Revision: "2"}},
	} {
		got := ""
		for _, run := range learnt(l) {
			got += run.Text
		}
		if got != want {
			t.Errorf("%+v: %q, want %q", l, got, want)
		}
	}
}
