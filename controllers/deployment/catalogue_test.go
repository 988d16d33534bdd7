package deployment_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/loopscope/loopscope/controllers/deployment"
	"github.com/loopscope/loopscope/telemetry/decision"
)

// TestCatalogue keeps the catalogue in the form that pages and texts rely on.
func TestCatalogue(t *testing.T) {
	id := regexp.MustCompile(`^[A-Z]+-[0-9]+[ab]?(\.[a-z-]+)?$`)
	seen := map[string]bool{}
	for _, q := range deployment.Catalogue.Questions {
		switch {
		case seen[q.ID]:
			t.Errorf("%s is declared twice", q.ID)
		case !id.MatchString(q.ID):
			t.Errorf("%s is no id", q.ID)
		case !strings.HasSuffix(q.Text, "?") || !strings.HasSuffix(q.Doc, ".") || q.Tag == "":
			t.Errorf("%s lacks a tag, a question or a sentence: %+v", q.ID, q)
		case len(q.Answers) == 0:
			t.Errorf("%s has no answer", q.ID)
		}
		seen[q.ID] = true
		for i, a := range q.Answers {
			if a.Then == "" || a.Is == decision.Any && i != len(q.Answers)-1 {
				t.Errorf("%s: answer %q says nothing, or hides those after it", q.ID, a.Is)
			}
			if slices.ContainsFunc(q.Answers[:i], func(b decision.Answer) bool { return a.Is == b.Is }) {
				t.Errorf("%s: answer %q appears twice", q.ID, a.Is)
			}
		}
	}
	for _, r := range deployment.Codes.List {
		if !regexp.MustCompile(`^[a-z-]+$`).MatchString(r.Code) || strings.Contains(strings.TrimSuffix(r.Means, "."), ". ") {
			t.Errorf("code %q needs one sentence, it has %q", r.Code, r.Means)
		}
	}
}
