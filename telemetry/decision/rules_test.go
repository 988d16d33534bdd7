package decision

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const twoRules = "# Rules\n\nFor readers.\n\n## Q: Questions\n\n<a id=\"q-1\"></a>\n\n### Q-1 The first\n\nIt holds,\nand `Q-2` too.\n\n" +
	"<a id=\"q-2\"></a>\n\n### Q-2 The second\n\nIt does.\n"

func TestParseRules(t *testing.T) {
	got, err := ParseRules(twoRules)
	if err != nil {
		t.Fatal(err)
	}
	want := []RuleGroup{{Letters: "Q", Title: "Questions", Rules: []Rule{{"Q-1", "The first", "It holds, and `Q-2` too."}, {"Q-2", "The second", "It does."}}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestParseRulesSaysWhatIsWrong(t *testing.T) {
	for _, tc := range []struct{ name, old, new, want string }{
		{"no letters", "## Q: Questions", "## Questions", `line 5: the group "## Questions" needs its letters: "## RR: Rolling update"`},
		{"twice", "### Q-2", "### Q-1", "line 16: Q-1 is defined twice"},
		{"of another group", "## Q: Questions", "## X: Questions", `line 9: "Q-1" is no tag of the group X`},
		{"no number", "### Q-2", "### Q", `line 16: "Q" is no tag of the group Q`},
		{"more than a number", "### Q-2 ", "### Q-2! ", `line 16: "Q-2!" is no tag of the group Q`},
		{"no title", "### Q-2 The second", "### Q-2", "line 16: Q-2 has no title"},
		{"another anchor", `<a id="q-2">`, `<a id="q2">`, `line 16: Q-2 needs <a id="q-2"></a> above it, it has "q2"`},
		{"no anchor", "<a id=\"q-2\"></a>\n", "", `line 15: Q-2 needs <a id="q-2"></a> above it, it has "q-1"`},
		{"no text", "It does.\n", "", "Q-2 says nothing"},
		{"an empty group", "## Q: Questions", "## X: Nothing\n\n## Q: Questions", `the group "Nothing" has no rule`},
		{"outside", "<a id=\"q-1\">", "Loose.\n<a id=\"q-1\">", `line 7: "Loose." belongs to no rule`},
	} {
		if _, err := ParseRules(strings.Replace(twoRules, tc.old, tc.new, 1)); err == nil || err.Error() != tc.want {
			t.Errorf("%s: %v, want %s", tc.name, err, tc.want)
		}
	}
}
